# SPDX-License-Identifier: Apache-2.0
"""deploy/chart/das by Helm (docs/spec/das.md 13): it is deploy/das, its values arrive, and a release leaves nothing behind."""

import json
import pathlib
import re
import signal
import sys

import pytest
import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
sys.path.insert(0, str(HERE.parent / "e2e/deploy"))
from manifests import faults  # noqa: E402
from replica import Replica  # noqa: E402
from support import ATHANOR, ROOT, Lab, wait_for  # noqa: E402
from test_chart import by_identity, helm, identity  # noqa: E402, F401
from test_ways import OPERANDS  # noqa: E402

CHART, DAS = ROOT / "deploy/chart/das", ROOT / "deploy/das"
NAMESPACE = "das-operator"
HOOK = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/das-mutating-webhook-configuration"


def template(call, *values, namespace=NAMESPACE):
    flags = [part for value in values for part in ("--set-json" if re.search(r"=[\[{]", value) else "--set", value)]
    return by_identity(call("template", "das", CHART, "-n", namespace, "--kube-version", "v1.35.4", "--no-hooks", *flags).out)


def manifests(*names, text=lambda one: one):
    found = [one for name in names for one in yaml.safe_load_all(text((DAS / name).read_text(encoding="utf-8"))) if one]
    return {identity(one): one for one in found}


def deployed(**change):
    names = [one.name for one in sorted(DAS.glob("0[1-5]_*.yaml")) if one.name != "01_namespace.yaml"]  # helm makes the release's own
    return manifests(*names, **change)


def named(one):
    """Images have a tag in the chart."""
    return json.loads(json.dumps(one).replace('"athanor:0.1.0"', '"athanor"').replace('"athanor-agent:0.1.0"', '"athanor-agent"'))


def test_the_chart_is_deploy_das(helm):  # noqa: F811
    ours, theirs = template(helm, "monitoring.enabled=true"), {**deployed(), **manifests("06_monitoring.yaml")}
    assert ours.keys() == theirs.keys()
    for one, manifest in theirs.items():
        assert named(ours[one]) == manifest, one
    assert template(helm).keys() == deployed().keys()
    for path in (CHART / "crds").iterdir():
        assert yaml.safe_load(path.read_text(encoding="utf-8")) == yaml.safe_load((DAS / f"00_{path.name}").read_text(encoding="utf-8"))
    assert len(list((CHART / "crds").iterdir())) == len(list(DAS.glob("00_*")))


@pytest.mark.parametrize("namespace", [NAMESPACE, "furnace"])
@pytest.mark.parametrize("values", [[], ["monitoring.enabled=true"]], ids=" ".join)
def test_what_the_chart_names_is_there_and_what_it_calls_is_let_in(helm, values, namespace):  # noqa: F811
    """The checks of tests/e2e/deploy/test_ways.py, in a namespace that deploy/das does not have."""
    operands = json.loads(json.dumps(OPERANDS).replace(f'"namespace": "{NAMESPACE}"', f'"namespace": "{namespace}"'))
    assert faults([*template(helm, *values, namespace=namespace).values(), *operands]) == []


def test_another_namespace_is_named_everywhere(helm):  # noqa: F811
    def moved(text):
        text = re.sub(r"(namespace: |-operator\n {8}- name: INSTASLICE_NAMESPACE\n {10}value: )das-operator$", r"\1furnace", text, flags=re.M)
        text = re.sub(r"(INSTASLICE_NAMESPACE\n {10}value: )das-operator$", r"\1furnace", text, flags=re.M)
        text = re.sub(r"(values:\n {6}- )das-operator$", r"\1furnace", text, flags=re.M)
        return text.replace(".das-operator.svc", ".furnace.svc")

    ours = template(helm, namespace="furnace")
    assert {one: named(manifest) for one, manifest in ours.items()} == deployed(text=moved)


def test_values_arrive_where_they_belong(helm):  # noqa: F811
    digest = "sha256:" + "a" * 64
    objects = template(
        helm,
        "image.repository=registry.example/athanor",
        "image.tag=v7",
        "agentImage.repository=registry.example/agent",
        f"agentImage.digest={digest}",
        "schedulerImage.tag=v1.34.1",
        "emulatedMode=enabled",
        'settings={"DAS_PLACEMENT_POLICY":"fragmin","EMULATED_GPU_COUNT":"4"}',
        "operator.logLevel=Trace",
        "operator.operatorLogLevel=Debug",
        'operator.nodeSelector={"zone":"a"}',
        "operator.runtimeClass=nvidia",
        "replicas=1",
        'resources={"limits":{"memory":"1Gi"}}',
        'tolerations=[{"operator":"Exists"}]',
        'nodeSelector={"a":"b"}',
        "priorityClassName=high",
        'imagePullSecrets=[{"name":"pull"}]',
        "monitoring.enabled=true",
        'monitoring.labels={"release":"prometheus"}',
    )
    for name in ("das-operator", "das-extender"):
        spec = objects["Deployment", NAMESPACE, name]["spec"]
        pod = spec["template"]["spec"]
        (container,) = pod["containers"]
        environment = {one["name"]: one.get("value") for one in container["env"]}
        assert spec["replicas"] == 1 and container["image"] == "registry.example/athanor:v7" and container["resources"]["limits"] == {"memory": "1Gi"}
        assert pod["tolerations"] == [{"operator": "Exists"}] and pod["nodeSelector"] == {"a": "b"} and pod["priorityClassName"] == "high"
        assert environment["DAS_PLACEMENT_POLICY"] == "fragmin" and environment["EMULATED_GPU_COUNT"] == "4" and environment["INSTASLICE_NAMESPACE"] == NAMESPACE
        if name == "das-operator":
            assert environment["EMULATED_MODE"] == "enabled"
            assert environment["RELATED_IMAGE_DAEMONSET_IMAGE"] == f"registry.example/agent@{digest}"
            assert environment["RELATED_IMAGE_SCHEDULER_IMAGE"] == "registry.k8s.io/kube-scheduler:v1.34.1"
    for account in ("das-operator", "das-extender", "das-scheduler", "das-daemonset"):
        assert objects["ServiceAccount", NAMESPACE, account]["imagePullSecrets"] == [{"name": "pull"}]
    operator = objects["DASOperator", NAMESPACE, "cluster"]
    assert operator["spec"] == {"managementState": "Managed", "logLevel": "Trace", "operatorLogLevel": "Debug", "nodeSelector": {"zone": "a"}}
    assert operator["metadata"]["annotations"] == {"das.inference.redhat.com/runtime-class": "nvidia"}
    assert template(helm, "operator.runtimeClass=")["DASOperator", NAMESPACE, "cluster"]["metadata"]["annotations"] == {"das.inference.redhat.com/runtime-class": ""}
    assert objects["ServiceMonitor", NAMESPACE, "das-extender"]["metadata"]["labels"]["release"] == "prometheus"


def test_the_scheduler_is_of_the_clusters_version(helm):  # noqa: F811
    text = helm("template", "das", CHART, "-n", NAMESPACE, "--kube-version", "v1.33.4+distribution.7").out
    assert "registry.k8s.io/kube-scheduler:v1.33.4\n" in text


@pytest.mark.parametrize("value", ["replica=3", "emulatedMode=on", "operator.logLevel=Loud", "image.digest=abc", "settings.EMULATED_MODE=enabled", "settings.other=x"])
def test_values_that_mean_nothing_are_refused(helm, value):  # noqa: F811
    done = helm("template", "das", CHART, "--kube-version", "1.35.4", "--set", value, code=1)
    assert "values don't meet the specifications of the schema" in done.err


def test_the_chart_is_without_blemish(helm):  # noqa: F811
    assert "0 chart(s) failed" in helm("lint", "--strict", CHART).out


def test_a_release_works_and_leaves_nothing_but_the_kinds(helm, tmp_path):  # noqa: F811
    lab = Lab(tmp_path / "lab", ["--storage", "memory", "--pods", "timed", "--controllers", "*,-das-operator,-das-claims,-das-daemonset"])
    operator = None
    try:
        lab.start()
        release = lambda *args: helm(*args, "-n", NAMESPACE, env=lab.env)  # noqa: E731
        crds = [f"{plural}.inference.redhat.com" for plural in ("dasoperators", "allocationclaims", "nodeaccelerators")]
        lab.kubectl("delete", "crd", *crds)  # the lab has them by itself
        release("install", "das", CHART, "--create-namespace", "--set", "emulatedMode=enabled")
        pod = lab.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/das-operator")["spec"]["template"]["spec"]
        access = yaml.safe_load(lab.kubeconfig.read_text(encoding="utf-8"))
        access["users"][0]["user"] = {"token": lab.kubectl("create", "token", pod["serviceAccountName"], "-n", NAMESPACE).out.strip()}
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(access), encoding="utf-8")
        (container,) = pod["containers"]
        fields = {"metadata.name": "das-operator-0", "metadata.namespace": NAMESPACE}
        environment = {one["name"]: one.get("value") or fields[one["valueFrom"]["fieldRef"]["fieldPath"]] for one in container["env"]}
        flags = [re.sub(r"^(--[a-z]+-address=):\d+$", r"\g<1>127.0.0.1:0", one) for one in container["args"] if one != "--metrics-secure=true"]
        operator = Replica([ATHANOR, *flags], tmp_path / "operator.log", env={**environment, "KUBECONFIG": str(tmp_path / "kubeconfig")}, cwd="/")
        wait_for("the agents", lambda: lab.http("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets/das-daemonset").code == 200)
        wait_for("the authorities are in the registration", lambda: lab.get(HOOK)["webhooks"][0]["clientConfig"].get("caBundle"))
        release("upgrade", "das", CHART, "--set", "emulatedMode=enabled", "--set", "operator.operatorLogLevel=Debug")
        assert lab.get(HOOK)["webhooks"][0]["clientConfig"].get("caBundle"), "an upgrade keeps what the operator wrote"
        assert lab.get(f"/apis/inference.redhat.com/v1alpha1/namespaces/{NAMESPACE}/dasoperators/cluster")["spec"]["operatorLogLevel"] == "Debug"
        assert not operator.denied(), operator.denied()
        release("uninstall", "das", "--wait", "--timeout", "90s")
        assert lab.http("GET", HOOK).code == 404
        assert lab.get("/apis/inference.redhat.com/v1alpha1/dasoperators")["items"] == []
        wait_for("the operands are collected", lambda: lab.http("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets/das-daemonset").code == 404)
    finally:
        if operator:
            operator.end(signal.SIGKILL)
        lab.close()
