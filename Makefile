# Short names for scripts/ and CMake. `make help` lists the targets.
.DEFAULT_GOAL := help
export IMG DAEMONSET_IMAGE SCHEDULER_IMAGE WNS SNS CNS SYSTEM NAMESPACE REPO VERSION BUNDLE_IMG CONTAINER_ENGINE
.PHONY: help bootstrap build web web-test demo test unit e2e attack test-real bench bench-apiserver bench-hearth bench-das bench-numa bench-appwrapper bench-queue bench-pipelines bench-pods bench-sim bench-console bench-controllers sim mutations fuzz sanitize lint format package clean \
	info deploy-das deploy-das-ocp undeploy-das run-local build-push build-push-daemonset bundle-generate build-push-bundle regen-crd regen-crd-k8s generate \
	verify-codegen test-e2e test-e2e-ci lint-sh container-build container-push bundle bundle-build bundle-push kind-push uninstall \
	image image-test docker-build docker-push install run deploy undeploy sync-vault-secrets sync-vault-secrets-dry-run dev-setup dev-run dev-teardown ci-setup ci-run ci-stop

help: ## print this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

bootstrap: ## install missing Debian packages
	@scripts/bootstrap

build: bootstrap ## build build/release/athanor; the console's pages, too, if they changed and Node is there
	@scripts/web refresh
	@scripts/build release athanor

demo: build ## start a temporary lab and run the sample job in it
	@scripts/demo

test: bootstrap ## run all tests: unit, scenarios, simulation, black box with real clients
	@scripts/test

web: ## build the console's pages into web/dist (needs Node)
	@scripts/web build

web-test: ## check the types of the console's pages and run their unit tests (needs Node)
	@scripts/web test

unit: bootstrap ## run only unit tests, scenarios and simulation
	@scripts/test unit

e2e: bootstrap ## run only black-box tests: kubectl, Python client, kopf
	@scripts/test e2e

attack: bootstrap ## run the attacks of tests/hostile at full size, about 20 minutes (make test: reduced size)
	@scripts/attack

test-real: bootstrap ## compare the embedded with the real Kubernetes API server (the first run needs Go)
	@scripts/test-real

bench: build ## measure speed and size, each figure beside its target
	@scripts/bench

bench-controllers: ## compare the engine with a controller-runtime manager, both on the real kube-apiserver
	@scripts/bench-controllers

bench-apiserver: build ## compare the API server with the real one, each figure beside its target
	@scripts/bench-apiserver

bench-hearth: build ## measure Hearth with a thousand target clusters, beside targets
	@scripts/bench-hearth

bench-das: ## measure slices: packing, one decision, the extender, beside targets
	@scripts/bench-das

bench-numa: ## measure zones: filter, scores, resync, fingerprints, beside targets
	@scripts/bench-numa

bench-appwrapper: build ## measure AppWrappers: creation, failures, whole lives, waiting ones, beside targets
	@scripts/bench-appwrapper

bench-queue: ## measure the queueing: one decision, Kueue's published scenarios, beside targets
	@scripts/bench-queue

bench-pipelines: ## measure a thousand PipelineRuns of ten tasks, beside targets
	@scripts/bench-pipelines

bench-pods: ## measure process pods: creation to Running, a hundred at once, names, the idle lab, beside targets
	@scripts/bench-pods

bench-console: ## measure the console in a browser: first view, filter, scrolling, changes, 50 viewers, beside targets
	@scripts/bench-console

bench-sim: ## measure the simulation: a week of 50,000 jobs, steps per second
	@scripts/bench-sim

sim: bootstrap ## simulate with faults: SEEDS=n random runs (200), then single faults
	@scripts/sim $(or $(SEEDS),200)

mutations: bootstrap ## check that the simulation finds each deliberate bug within 200 seeds
	@scripts/mutations

fuzz: bootstrap ## fuzz every parser, 60 s each (TIME=n)
	@scripts/fuzz $(TIME)

sanitize: bootstrap ## run the tests under AddressSanitizer, UBSan and ThreadSanitizer
	@scripts/sanitize

lint: bootstrap ## check formatting, headers, clang-16 and clang-tidy of changed files (scripts/lint --all: all files)
	@scripts/lint

format: bootstrap ## format every source file
	@git ls-files '*.cpp' '*.hpp' | xargs clang-format-16 -i

image: ## build the container image $(IMG) with buildah (docker-build is the same)
	@scripts/image build

image-test: bootstrap ## build the image from the development build, start it and check it
	@scripts/build dev athanor resource-topology-exporter && BINARY=build/dev/athanor IMG=localhost/athanor:test scripts/image all

docker-build: image

docker-push:
	@scripts/image push

install: ## install the custom resource definitions on the cluster of KUBECONFIG (SYSTEM=appwrapper: only that operator's)
	@scripts/deploy install

run: build ## run the AppWrapper operator on this machine for the cluster of KUBECONFIG (NAMESPACE: its namespace, default dev)
	@ATHANOR=build/release/athanor scripts/deploy run

deploy: ## deploy the controllers $(IMG) to the cluster of KUBECONFIG (OVERLAY=production: with monitoring; SYSTEM=appwrapper)
	@scripts/deploy apply $(or $(OVERLAY),default)

uninstall: ## delete what install made, including all objects of these kinds (SYSTEM=appwrapper: only that operator's)
	@scripts/deploy uninstall

kind-push:
	@echo "there is no kind cluster: the image of make docker-build runs where its registry is reached (make docker-push); a lab needs none"

undeploy: ## delete the objects of deploy (SYSTEM=das: those of deploy-das)
	@$(if $(filter das,$(SYSTEM)),scripts/das undeploy,scripts/deploy delete $(or $(OVERLAY),default))

dev-setup: build ## start an embedded cluster with mock pipelines for development of the operator (WNS, SNS, CNS: namespaces)
	@scripts/dev setup

dev-run: build ## run the operator in the foreground on the cluster of dev-setup
	@scripts/dev run

dev-teardown: ## stop the cluster of dev-setup and delete its state
	@scripts/dev teardown

ci-setup: dev-setup

ci-run: build
	@scripts/dev ci-run

ci-stop:
	@scripts/dev ci-stop

sync-vault-secrets: build ## write Vault's entries as Secrets of SNS (VAULT_ADDR, VAULT_TOKEN, VAULT_SECRET_PATH; FILES=DIR: from files)
	@build/release/athanor vault sync -n $(or $(SNS),psap-secrets) $(if $(FILES),--from-files $(FILES))

sync-vault-secrets-dry-run: build ## show the changes of sync-vault-secrets
	@build/release/athanor vault sync -n $(or $(SNS),psap-secrets) $(if $(FILES),--from-files $(FILES)) --dry-run

# ---- slices of GPUs: upstream's recipes for DAS (docs/das.md, docs/spec/das.md 13.2)
info: ## print the variables of the targets for DAS
	@scripts/das info

deploy-das-ocp: ## deploy DAS (slices of GPUs) to the cluster of KUBECONFIG (EMULATED_MODE, IMG)
	@scripts/das deploy

deploy-das: deploy-das-ocp

undeploy-das: ## delete the objects of deploy-das-ocp
	@scripts/das undeploy

run-local: build ## run the controllers of DAS on this machine for the cluster of KUBECONFIG
	@scripts/das run-local

build-push: image docker-push build-push-daemonset ## build the images $(IMG) and $(DAEMONSET_IMAGE) and push them

build-push-daemonset: ## build the image of the agent and push it ($(DAEMONSET_IMAGE), default: $(IMG) with -agent after its name)
	@scripts/das build-push-daemonset

bundle-generate: ## generate the OLM bundle of DAS, and all other generated files of deploy/
	@scripts/das bundle

build-push-bundle: ## build and push the bundle as image $(BUNDLE_IMAGE)
	@scripts/das bundle $(or $(BUNDLE_IMAGE),localhost/das-operator-bundle:0.1.0)

regen-crd regen-crd-k8s generate: ## generate the files of deploy/ that come from the program
	@scripts/deploy generate

verify-codegen: ## check that the generated files of deploy/ are up to date
	@scripts/deploy generate --check

test-e2e test-e2e-ci: ## run the black-box tests of DAS (FOCUS=words of their names)
	@scripts/test e2e $(or $(FOCUS),das)

lint-sh: lint

build-push-parallel build-push-scheduler build-push-operator build-push-webhook build-push-developer-bundle \
deploy-cert-manager deploy-cert-manager-ocp undeploy-cert-manager-ocp deploy-nfd-ocp deploy-nvidia-ocp undeploy-nvidia-ocp create-related-images \
generate-clients lint-fix lint-sh-fix lint-go lint-go-fix lint-md lint-md-fix lint-just lint-just-fix:
	@scripts/das answer $@

# ---- zones: upstream's targets of the NUMA operator
container-build: ## build the image $(IMG), or $(REPO)/numaresources-operator:$(VERSION), with buildah
	@scripts/numa container-build

container-push:
	@scripts/numa container-push

bundle: build ## write the OLM bundle of the NUMA operator to build/numa-bundle
	@scripts/numa bundle

bundle-build: ## build that bundle as the image $(BUNDLE_IMG)
	@scripts/numa bundle-build

bundle-push:
	@scripts/numa bundle-push

package: bootstrap ## build a .deb and a tar archive in build/release/packages
	@scripts/package

clean: ## delete build/
	@rm -rf build
