# SPDX-License-Identifier: Apache-2.0
"""deploy/ with the programs that will read it: Helm renders and installs the chart, Prometheus' engine evaluates the alerts."""

import json
import pathlib
import re
import subprocess
import sys

import pytest
import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
from manifests import faults  # noqa: E402
from support import KUBECTL, ROOT, Lab, run, wait_for  # noqa: E402
from test_go_clients import built, go  # noqa: E402

CHART = ROOT / "deploy/chart/athanor"
SYSTEM = "athanor-system"


@pytest.fixture(scope="module")
def helm():
    program = built("helm.sh/helm/v3/cmd/helm", "helm", "helm")

    def call(*args, code=0, env=None):
        done = run([program, *args], env=env, timeout=180)
        if code is not None:
            assert done.code == code, f"helm {' '.join(map(str, args))}: exit {done.code}\n{done.out}\n{done.err}"
        return done

    return call


def identity(manifest):
    return manifest["kind"], manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]


def by_identity(text):
    found = [one for one in yaml.safe_load_all(text) if one]
    assert len({identity(one) for one in found}) == len(found)
    return {identity(one): one for one in found}


def kustomized(overlay):
    done = run([KUBECTL, "kustomize", ROOT / "deploy/kustomize/overlays" / overlay])
    assert done.code == 0, done.err
    objects = by_identity(done.out)
    del objects["Namespace", "", SYSTEM]  # helm makes the release's own
    return objects


def template(helm, *values, namespace=SYSTEM):
    flags = [part for value in values for part in ("--set-json" if "=[" in value or "={" in value else "--set", value)]
    return by_identity(helm("template", "athanor", CHART, "-n", namespace, "--kube-version", "1.32.0", *flags).out)


@pytest.mark.parametrize(("overlay", "values"), [("default", []), ("production", ["monitoring.enabled=true"]), ("queueing", ["queueing.enabled=true"]), ("console", ["console.enabled=true"])])
def test_the_chart_is_the_kustomization(helm, overlay, values):
    ours, theirs = template(helm, *values), kustomized(overlay)
    assert ours.keys() == theirs.keys()
    for one, manifest in theirs.items():
        assert ours[one] == manifest, one


@pytest.mark.parametrize("namespace", [SYSTEM, "furnace"])
@pytest.mark.parametrize("values", [[], ["monitoring.enabled=true"], ["queueing.enabled=true"], ["console.enabled=true"],
                                    ["monitoring.enabled=true", "queueing.enabled=true", "console.enabled=true"]], ids=" ".join)  # fmt: skip
def test_what_the_chart_names_is_there_and_what_it_calls_is_let_in(helm, values, namespace):
    """The checks of tests/e2e/deploy/test_ways.py, with values and in a namespace that no overlay has."""
    assert faults([*template(helm, *values, namespace=namespace).values()]) == []


def test_other_namespaces_are_named_everywhere(helm):
    ours = template(helm, "namespaces.workload=jobs", "namespaces.secrets=keys", "namespaces.clusters=fleet", "monitoring.enabled=true", namespace="furnace")
    text = yaml.safe_dump_all(kustomized("production").values())
    for old, new in ((SYSTEM, "furnace"), ("psap-automation", "jobs"), ("psap-secrets", "keys")):
        text = text.replace(old, new)
    text = re.sub(r"(?<=: )hearth$", "fleet", text, flags=re.M)  # a system is called so, too
    assert ours == by_identity(text)


def test_a_namespace_that_looks_like_a_number_stays_a_text(helm):
    roles = [one for one in template(helm, "namespaces.workload=jobs", namespace="007").values() if one["kind"] == "ServiceAccount"]
    assert "007" in {one["metadata"]["namespace"] for one in roles}


def test_values_arrive_where_they_belong(helm):
    objects = template(
        helm,
        "image.repository=registry.example/athanor",
        "image.digest=sha256:" + "a" * 64,
        "replicas=3",
        'settings={"FOURNOS_GC_INTERVAL_SEC":"60"}',
        "config.log-level=debug",
        'resources={"limits":{"memory":"1Gi"}}',
        'tolerations=[{"operator":"Exists"}]',
        'imagePullSecrets=[{"name":"pull"}]',
        'nodeSelector={"a":"b"}',
        "priorityClassName=high",
        'podAnnotations={"c":"d"}',
        'networkPolicy.scrapers=["watchers"]',
        "monitoring.enabled=true",
        'monitoring.labels={"release":"prometheus"}',
    )
    deployment = objects["Deployment", SYSTEM, "athanor-controllers"]["spec"]
    pod = deployment["template"]["spec"]
    container = pod["containers"][0]
    assert deployment["replicas"] == 3 and container["image"] == "registry.example/athanor@sha256:" + "a" * 64
    assert {"name": "FOURNOS_GC_INTERVAL_SEC", "value": "60"} in container["env"]
    config = yaml.safe_load(objects["ConfigMap", SYSTEM, "athanor-controllers"]["data"]["controllers.yaml"])
    assert config == {"controllers": "fournos,hearth", "log-level": "debug", "metrics-address": ":8080"}
    assert container["resources"]["limits"]["memory"] == "1Gi"
    assert pod["tolerations"] == [{"operator": "Exists"}] and pod["imagePullSecrets"] == [{"name": "pull"}]
    assert pod["nodeSelector"] == {"a": "b"} and pod["priorityClassName"] == "high"
    assert deployment["template"]["metadata"]["annotations"]["c"] == "d"
    policy = objects["NetworkPolicy", SYSTEM, "athanor-controllers"]["spec"]["ingress"][0]["from"][0]
    assert policy["namespaceSelector"]["matchExpressions"][0]["values"] == ["watchers"]
    for kind in ("ServiceMonitor", "PrometheusRule"):
        assert objects[kind, SYSTEM, "athanor-controllers"]["metadata"]["labels"]["release"] == "prometheus"


def test_what_is_switched_off_is_not_there(helm):
    objects = template(helm, "crds.install=false", "namespaces.create=false", "networkPolicy.enabled=false", "podDisruptionBudget.enabled=false")
    assert not {"CustomResourceDefinition", "Namespace", "NetworkPolicy", "PodDisruptionBudget"} & {kind for kind, _, _ in objects}


@pytest.mark.parametrize(
    "value", ["replica=3", "replicas=-1", "image.pullPolicy=Sometimes", "image.digest=abc", "namespaces.workload=Not_A_Name", "settings.lower=x", "monitoring.enabled=maybe"]
)
def test_values_that_mean_nothing_are_refused(helm, value):
    done = helm("template", "athanor", CHART, "--kube-version", "1.32.0", "--set", value, code=1)
    assert "values don't meet the specifications of the schema" in done.err


def test_the_chart_is_without_blemish(helm):
    assert "0 chart(s) failed" in helm("lint", "--strict", CHART).out


def test_a_release_installs_upgrades_rolls_back_and_leaves_what_people_made(helm, tmp_path):
    lab = Lab(tmp_path / "lab", ["--pods", "timed", "--lab", str(ROOT / "tests/e2e/data/cluster.yaml")])
    try:
        lab.start()
        release = lambda *args: helm(*args, "-n", SYSTEM, env=lab.env)  # noqa: E731
        # The lab has our custom kinds by itself: what a first installation meets is a cluster without.
        lab.kubectl("delete", "crd", *[one for one in lab.kubectl("get", "crd", "-o", "name").out.replace("customresourcedefinition.apiextensions.k8s.io/", "").split() if one.endswith(".fournos.dev")])
        # The lab has namespaces of ours, too: they change hands.
        release("install", "athanor", CHART, "--create-namespace", "--take-ownership", "--wait", "--timeout", "90s")
        lab.kubectl("-n", SYSTEM, "rollout", "status", "deployment/athanor-controllers", "--timeout=60s")
        lab.kubectl("apply", "-f", "-", stdin=json.dumps(
            {"apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": {"name": "kept", "namespace": "psap-automation"},
             "spec": {"owner": "a", "cluster": "c", "forge": {"project": "p", "args": []}}}))
        release("upgrade", "athanor", CHART, "--set", "replicas=3", "--wait", "--timeout", "90s")
        replicas = lambda: lab.get(f"/apis/apps/v1/namespaces/{SYSTEM}/deployments/athanor-controllers")["spec"]["replicas"]  # noqa: E731
        assert replicas() == 3
        release("rollback", "athanor", "1", "--wait", "--timeout", "90s")
        assert replicas() == 2
        release("uninstall", "athanor", "--wait", "--timeout", "90s")
        wait_for("the Deployment is gone", lambda: lab.http("GET", f"/apis/apps/v1/namespaces/{SYSTEM}/deployments/athanor-controllers").code == 404)
        assert lab.job("kept", "psap-automation")["metadata"]["name"] == "kept"
    finally:
        lab.close()


def test_alerts_fire_when_they_should_and_panels_are_queries():
    done = go("test", "-count=1", "./...", cwd=HERE / "alerts")
    assert done.code == 0, done.out[-8000:] + done.err[-2000:]
