# SPDX-License-Identifier: Apache-2.0
"""Every way of installing, rendered without a cluster: what its objects name is there, what is called is let in, and each account holds
the rights that the program prints for what it runs. What the operators make themselves is checked where they run."""

import functools

import pytest
from manifests import Way, faults, load, missing_rights, rights_of
from support import ATHANOR, KUBECTL, ROOT, run

DEPLOY = ROOT / "deploy"
IMAGE = "registry.example/athanor:1"
# What the DAS operator makes (test_das_deploy.py compares it with the operator's own), as far as Services of deploy/das name it.
OPERANDS = [
    {
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": "das-operator"},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
            "serviceAccountName": name, "containers": [{"name": name, "ports": [{"name": "https", "containerPort": port}]}]}}},
    }
    for kind, name, labels, port in (("DaemonSet", "das-daemonset", {"name": "das-daemonset"}, 8443), ("Deployment", "das-scheduler", {"app": "das-scheduler"}, 10259))
]  # fmt: skip
BASE = "kustomize/overlays/default"
# What `--controllers` may name besides: their webhooks reach the pods of the Deployment, too.
WITH_WEBHOOKS = ("appwrapper", "das", "kueue", "tekton", "kueue,tekton,appwrapper,das")


@functools.cache
def output(*command):
    done = run(command)
    assert done.code == 0, done.err
    return done.out


def kustomized(folder):
    return load(output(KUBECTL, "kustomize", DEPLOY / folder))


def files(*names):
    return [one for name in names for one in load((DEPLOY / name).read_text(encoding="utf-8"))]


def with_webhooks(systems):
    controllers = f"fournos,hearth,{systems}"
    printed = load(output(ATHANOR, "webhooks", "--controllers", controllers)) + load(output(ATHANOR, "rbac", "--controllers", controllers, "--webhooks"))
    named = {(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in printed}
    return [one for one in kustomized(BASE) if (one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) not in named] + printed


def component(base, name):
    """A component's own objects beside what it is a component of."""
    return kustomized(base) + [one for path in sorted((DEPLOY / name).glob("*.yaml")) if path.name != "kustomization.yaml" for one in load(path.read_text(encoding="utf-8"))]


def bundle(tmp_path, *command):
    output(*command, f"--output={tmp_path}")
    return [one for path in sorted((tmp_path / "manifests").glob("*.yaml")) for one in load(path.read_text(encoding="utf-8"))]


WAYS = {
    **{f"kustomize {name}": functools.partial(kustomized, f"kustomize/overlays/{name}") for name in ("default", "production", "openshift", "queueing", "console")},
    "console, monitored": lambda: component("kustomize/overlays/console", "kustomize/components/console-monitoring"),
    "default, results": lambda: component("kustomize/overlays/default", "kustomize/components/results"),
    "console, published": lambda: component("kustomize/overlays/console", "kustomize/components/console-ingress"),
    **{f"webhooks of {systems}": functools.partial(with_webhooks, systems) for systems in WITH_WEBHOOKS},
    "argocd": lambda: kustomized("."),
    "appwrapper": lambda: kustomized("appwrapper/default"),
    "appwrapper, monitored": lambda: component("appwrapper/default", "appwrapper/monitoring"),
    "appwrapper, slack queue": lambda: component("appwrapper/default", "appwrapper/slack-queue"),
    "das": lambda: kustomized("das") + OPERANDS,
    "das, monitored": lambda: kustomized("das") + files("das/06_monitoring.yaml") + OPERANDS,
    "das, OLM": lambda: [
        *(one for path in sorted((DEPLOY / "das/bundle/manifests").glob("*.yaml")) for one in load(path.read_text(encoding="utf-8"))), *OPERANDS,
    ],
    "numa render": lambda: load(output(ATHANOR, "numa", "render", f"--render-image={IMAGE}")),
    "numa deployer": lambda: load(output(ATHANOR, "numa", "render", "api", "topology-updater", "scheduler-plugin")),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_what_is_named_is_there_and_what_is_called_is_let_in(way):
    assert not faults(WAYS[way]())


def test_the_bundle_of_the_numa_operator(tmp_path):
    assert not faults(bundle(tmp_path, ATHANOR, "numa", "bundle"))


def printed(*flags):
    """What `athanor rbac` prints for these controllers."""
    objects = load(output(ATHANOR, "rbac", *flags))
    return {right for one in objects if one["kind"] in ("Role", "ClusterRole") for right in rights_of(one["rules"])}


DAS = ("--controllers=das", "--webhooks", "--webhook-secret=webhook-server-cert", "--leader-elect-resource-name=instaslice-operator-lock")
AW = ("--controllers=appwrapper", "--webhooks", "--webhook-secret=appwrapper-webhook-server-cert")
ACCOUNTS = {
    "kustomize console": ("athanor-system", "athanor-console", ("--console",)),
    "das": ("das-operator", "das-operator", DAS),
    "das, OLM": ("das-operator", "das-operator", DAS),
    "numa render": ("numaresources", "numaresources-controller-manager", ("--controllers=numa",)),
    "appwrapper": ("appwrapper-system", "appwrapper-controller-manager", AW),
}
# Kinds that an administrator adds before they can be wrapped (docs/appwrapper.md), and what a component of deploy/appwrapper grants.
ADDED = {
    "appwrapper": {
        "configmaps", "persistentvolumeclaims", "secrets", "serviceaccounts", "daemonsets", "replicasets", "jaxjobs", "mpijobs", "paddlejobs", "tfjobs",
        "xgboostjobs", "leaderworkersets", "ingresses", "networkpolicies", "rolebindings", "roles",
        "customresourcedefinitions",  # listed every 30 s
    },
}  # fmt: skip


@pytest.mark.parametrize("way", ACCOUNTS)
def test_an_account_holds_what_the_program_declares(way):
    namespace, account, flags = ACCOUNTS[way]
    held = Way(WAYS[way]()).rights(namespace, account)
    missing = missing_rights(held, printed(*flags))
    assert not {one for one in missing if one[2] not in ADDED.get(way, ())}


def test_a_fault_of_each_sort_is_found():
    """The checks themselves: what each of them finds when one thing is taken away."""

    def with_change(kind, name, change, overlay="queueing"):
        objects = kustomized(f"kustomize/overlays/{overlay}")
        (one,) = [one for one in objects if one["kind"] == kind and one["metadata"]["name"] == name]
        change(one)
        return "\n".join(faults(objects))

    name = "athanor-queueing"
    container = lambda one: one["spec"]["template"]["spec"]["containers"][0]  # noqa: E731
    unnamed = with_change("Deployment", name, lambda one: container(one)["ports"].pop())
    assert "port webhooks is none of" in unnamed and "--webhook-address has port 9443" in unnamed
    assert "keeps the API server from port 9443" in with_change("NetworkPolicy", name, lambda one: one["spec"]["ingress"].pop())
    assert "asks port no" in with_change("Deployment", name, lambda one: container(one)["readinessProbe"]["httpGet"].update(port="no"))
    assert "selects no pods" in with_change("Service", "athanor-queueing-webhooks", lambda one: one["spec"]["selector"].update(a="b"))
    assert "there is no Service" in with_change("Service", "athanor-queueing-webhooks", lambda one: one["metadata"].update(name="other"))
    assert "has no port 443" in with_change("Service", "athanor-queueing-webhooks", lambda one: one["spec"]["ports"][0].update(port=444))
    assert "there is no ClusterRole" in with_change("ClusterRoleBinding", name, lambda one: one["roleRef"].update(name="no"))
    assert "there is no ServiceAccount" in with_change("Deployment", name, lambda one: one["spec"]["template"]["spec"].update(serviceAccountName="no"))
    assert "selects no pods" in with_change("PodDisruptionBudget", name, lambda one: one["spec"]["selector"]["matchLabels"].update(a="b"))
    console = functools.partial(with_change, overlay="console")
    assert "calls port 8080 of Service athanor-system/athanor-controllers, which is not there" in console("Service", "athanor-controllers", lambda one: one["spec"]["ports"][0].update(port=81))
    assert "no NetworkPolicy lets it in" in console("NetworkPolicy", "athanor-controllers", lambda one: one["spec"]["ingress"].pop(1))
    assert "no NetworkPolicy lets it out" in console("NetworkPolicy", "athanor-console", lambda one: one["spec"]["egress"].pop())
