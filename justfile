# Upstream's recipes of DAS under their names: each is the target of the Makefile (docs/upstream.md).
set dotenv-load

default:
    @{{ just_executable() }} --list

# the black-box tests of DAS, or those whose names have these words
test-e2e *focus:
    @make -s test-e2e FOCUS="{{ replace(focus, "focus=", "") }}"

undeploy:
    @make -s undeploy-das

build-push:
    @make -s build-push

build-push-bundle:
    @make -s build-push-bundle

build-push-daemonset:
    @make -s build-push-daemonset

build-push-developer-bundle:
    @make -s build-push-developer-bundle

build-push-operator:
    @make -s build-push-operator

build-push-parallel:
    @make -s build-push-parallel

build-push-scheduler:
    @make -s build-push-scheduler

build-push-webhook:
    @make -s build-push-webhook

bundle-generate:
    @make -s bundle-generate

create-related-images:
    @make -s create-related-images

deploy-cert-manager:
    @make -s deploy-cert-manager

deploy-cert-manager-ocp:
    @make -s deploy-cert-manager-ocp

deploy-das-ocp:
    @make -s deploy-das-ocp

deploy-nfd-ocp:
    @make -s deploy-nfd-ocp

deploy-nvidia-ocp:
    @make -s deploy-nvidia-ocp

generate:
    @make -s generate

generate-clients:
    @make -s generate-clients

info:
    @make -s info

lint:
    @make -s lint

lint-fix:
    @make -s lint-fix

lint-go:
    @make -s lint-go

lint-go-fix:
    @make -s lint-go-fix

lint-just:
    @make -s lint-just

lint-just-fix:
    @make -s lint-just-fix

lint-md:
    @make -s lint-md

lint-md-fix:
    @make -s lint-md-fix

lint-sh:
    @make -s lint-sh

lint-sh-fix:
    @make -s lint-sh-fix

regen-crd:
    @make -s regen-crd

regen-crd-k8s:
    @make -s regen-crd-k8s

run-local:
    @make -s run-local

test-e2e-ci:
    @make -s test-e2e-ci

undeploy-cert-manager-ocp:
    @make -s undeploy-cert-manager-ocp

undeploy-nvidia-ocp:
    @make -s undeploy-nvidia-ocp

verify-codegen:
    @make -s verify-codegen
