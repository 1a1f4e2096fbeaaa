# Thin front of scripts/ and CMake. `make help` lists the targets.
.DEFAULT_GOAL := help
export IMG WNS SNS CNS SYSTEM NAMESPACE
.PHONY: help bootstrap build demo test unit e2e attack test-real bench bench-apiserver bench-hearth bench-das bench-numa bench-appwrapper bench-queue bench-sim bench-controllers sim mutations fuzz sanitize lint format clean \
	info deploy-das deploy-das-ocp undeploy-das run-local build-push bundle-generate build-push-bundle regen-crd regen-crd-k8s generate \
	verify-codegen test-e2e test-e2e-ci lint-sh \
	image image-test docker-build docker-push install run deploy undeploy sync-vault-secrets sync-vault-secrets-dry-run dev-setup dev-run dev-teardown ci-setup ci-run ci-stop

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

bootstrap: ## install the Debian packages that are missing
	@scripts/bootstrap

build: bootstrap ## build build/release/athanor
	@scripts/build release athanor

demo: build ## light a throw-away lab and run the sample job through it
	@scripts/demo

test: bootstrap ## every test: unit, scenarios, simulation, black box with real clients
	@scripts/test

unit: bootstrap ## unit tests, scenarios and simulation alone
	@scripts/test unit

e2e: bootstrap ## black-box tests alone: kubectl, Python client, kopf
	@scripts/test e2e

attack: bootstrap ## the attacks of tests/hostile in full (make test runs them in small), some 20 minutes
	@scripts/attack

test-real: bootstrap ## embedded and real Kubernetes API server side by side (needs Go once)
	@scripts/test-real

bench: build ## speed and size, printed as figures
	@scripts/bench

bench-controllers: ## the engine beside a controller-runtime manager, both on the real kube-apiserver
	@scripts/bench-controllers

bench-apiserver: build ## the API server beside the real one, every target
	@scripts/bench-apiserver

bench-hearth: build ## a thousand target clusters, figures beside their targets
	@scripts/bench-hearth

bench-das: ## slices: packing, one decision, the extender, figures beside their targets
	@scripts/bench-das

bench-numa: ## zones: filter, scores, resync, fingerprints, figures beside their targets
	@scripts/bench-numa

bench-appwrapper: build ## AppWrappers: creation, failures, thousands of lives, waiting ones, figures beside their targets
	@scripts/bench-appwrapper

bench-queue: ## the queueing: one decision, Kueue's published scenarios, figures beside their targets
	@scripts/bench-queue

bench-sim: ## the simulation's speed: a week of 50,000 jobs, steps per second
	@scripts/bench-sim

sim: bootstrap ## simulation with faults: SEEDS=n random runs (200), then single faults
	@scripts/sim $(or $(SEEDS),200)

mutations: bootstrap ## deliberate bugs, each caught by the simulation within 200 seeds
	@scripts/mutations

fuzz: bootstrap ## every parser against random input, 60 s each (TIME=n)
	@scripts/fuzz $(TIME)

sanitize: bootstrap ## the tests under AddressSanitizer, UBSan and ThreadSanitizer
	@scripts/sanitize

lint: bootstrap ## formatting, clang-tidy, the layers (what changed; scripts/lint --all: every file)
	@scripts/lint

format: bootstrap ## format every source file
	@git ls-files '*.cpp' '*.hpp' | xargs clang-format-16 -i

image: ## the container image $(IMG), with buildah (docker-build is the same)
	@scripts/image build

image-test: bootstrap ## the image from the development build, started and looked at
	@scripts/build dev athanor && BINARY=build/dev/athanor IMG=localhost/athanor:test scripts/image all

docker-build: image

docker-push:
	@scripts/image push

install: ## the custom resource definitions, on the cluster of KUBECONFIG (SYSTEM=appwrapper: that operator's alone)
	@scripts/deploy install

run: build ## the AppWrapper operator here, on the cluster of KUBECONFIG (namespace NAMESPACE, by default dev)
	@ATHANOR=build/release/athanor scripts/deploy run

deploy: ## the controllers $(IMG), on the cluster of KUBECONFIG (OVERLAY=production: with monitoring; SYSTEM=appwrapper)
	@scripts/deploy apply $(or $(OVERLAY),default)

undeploy: ## take away what deploy applied (SYSTEM=das: what deploy-das applied)
	@$(if $(filter das,$(SYSTEM)),scripts/das undeploy,scripts/deploy delete $(or $(OVERLAY),default))

dev-setup: build ## an embedded cluster with mock pipelines, to develop the operator on (WNS, SNS, CNS: namespaces)
	@scripts/dev setup

dev-run: build ## the operator in the foreground, on that cluster
	@scripts/dev run

dev-teardown: ## end and forget that cluster
	@scripts/dev teardown

ci-setup: dev-setup

ci-run: build
	@scripts/dev ci-run

ci-stop:
	@scripts/dev ci-stop

sync-vault-secrets: build ## Vault's entries as Secrets of SNS (VAULT_ADDR, VAULT_TOKEN, VAULT_SECRET_PATH; FILES=DIR: from files)
	@build/release/athanor vault sync -n $(or $(SNS),psap-secrets) $(if $(FILES),--from-files $(FILES))

sync-vault-secrets-dry-run: build ## what that would write and delete
	@build/release/athanor vault sync -n $(or $(SNS),psap-secrets) $(if $(FILES),--from-files $(FILES)) --dry-run

# ---- slices of GPUs: the recipes of the seed of DAS (docs/das.md, docs/spec/das.md 13.2)
info: ## the variables of the targets for DAS
	@scripts/das info

deploy-das-ocp: ## slices of GPUs, on the cluster of KUBECONFIG (EMULATED_MODE, IMG)
	@scripts/das deploy

deploy-das: deploy-das-ocp

undeploy-das: ## remove what deploy-das-ocp made
	@scripts/das undeploy

run-local: build ## the controllers of DAS here, for the cluster of KUBECONFIG
	@scripts/das run-local

build-push: image docker-push ## build the image $(IMG) and push it

bundle-generate: ## the OLM bundle of DAS, with everything else under deploy/
	@scripts/das bundle

build-push-bundle: ## the bundle as image $(BUNDLE_IMAGE)
	@scripts/das bundle $(or $(BUNDLE_IMAGE),localhost/das-operator-bundle:0.1.0)

regen-crd regen-crd-k8s generate: ## what is generated under deploy/, from the program
	@scripts/deploy generate

verify-codegen: ## whether that is up to date
	@scripts/deploy generate --check

test-e2e test-e2e-ci: ## black-box tests of DAS (FOCUS=words of their names)
	@scripts/test e2e $(or $(FOCUS),das)

lint-sh: lint

build-push-parallel build-push-scheduler build-push-daemonset build-push-operator build-push-webhook build-push-developer-bundle \
deploy-cert-manager deploy-cert-manager-ocp undeploy-cert-manager-ocp deploy-nfd-ocp deploy-nvidia-ocp undeploy-nvidia-ocp create-related-images \
generate-clients lint-fix lint-sh-fix lint-go lint-go-fix lint-md lint-md-fix lint-just lint-just-fix:
	@scripts/das answer $@

clean: ## remove what was built
	@rm -rf build
