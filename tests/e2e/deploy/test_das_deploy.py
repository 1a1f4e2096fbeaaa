# SPDX-License-Identifier: Apache-2.0
"""deploy/das (docs/spec/das.md 13): its order, what the recipes do on a cluster, and the OLM bundle."""

import json
import os
import re
import signal

import pytest
import yaml
from manifests import faults
from replica import Replica
from support import ATHANOR, KUBECTL, ROOT, run, wait_for

DAS = ROOT / "deploy/das"
ORDER = [
    "00_allocationclaims.crd.yaml",
    "00_dasoperators.crd.yaml",
    "00_nodeaccelerators.crd.yaml",
    "01_namespace.yaml",
    "01_operator_sa.yaml",
    "01_operator_use_privileged_scc.yaml",
    "02_operator_rbac.yaml",
    "02_own_node_policy.yaml",
    "02_people.yaml",
    "03_instaslice_operator.cr.yaml",
    "04_deployment.yaml",
    "05_webhook.yaml",
]


def load(path):
    return [one for one in yaml.safe_load_all((DAS / path).read_text(encoding="utf-8")) if one]


def test_the_order_and_the_kustomization():
    assert sorted(p.name for p in DAS.glob("0*.yaml")) == [*ORDER, "06_monitoring.yaml"]
    assert load("kustomization.yaml")[0]["resources"] == ORDER
    rendered = run([KUBECTL, "kustomize", DAS])
    assert rendered.code == 0, rendered.err
    assert len([d for d in yaml.safe_load_all(rendered.out) if d]) == sum(len(load(name)) for name in ORDER)
    (namespace,) = load("01_namespace.yaml")
    assert namespace["metadata"]["labels"]["openshift.io/cluster-monitoring"] == "true"  # docs/spec/das.md 11, V3
    (configuration,) = load("03_instaslice_operator.cr.yaml")
    assert configuration["spec"] == {"managementState": "Managed", "logLevel": "Normal", "operatorLogLevel": "Normal"}


def test_the_scheduler_elects_under_a_lease_of_its_own():
    """Upstream defect of section 1: there the default scheduler's Lease keeps das-scheduler from ever leading."""
    printed = run([ATHANOR, "extender", "--print-scheduler-config"])
    (config,) = [d for d in yaml.safe_load_all(printed.out) if d]
    assert config["leaderElection"]["resourceName"] == "das-scheduler" and config["leaderElection"]["resourceNamespace"] == "das-operator"
    deployments = {one["metadata"]["name"]: one["spec"]["template"]["spec"]["containers"][0] for one in load("04_deployment.yaml") if one["kind"] == "Deployment"}
    for name, lease in (("das-operator", "instaslice-operator-lock"), ("das-extender", "das-scheduler-lock")):
        flags = {f"--leader-elect-resource-name={lease}", "--lease-duration=137s", "--renew-deadline=107s", "--retry-period=26s"}
        assert flags <= set(deployments[name]["args"]), name


@pytest.fixture
def cluster(make_lab):
    """A lab stands for the cluster; its own operands of DAS are off, as no node has GPUs."""
    return make_lab("--storage", "memory", "--pods", "timed").start()


def recipe(lab, *words, code=0, **variables):
    done = run([ROOT / "scripts/das", *words], env={**lab.env, "KUBECTL": KUBECTL, "ATHANOR": str(ATHANOR), **variables}, timeout=200)
    assert done.code == code, done.out + done.err
    return done


NAMESPACE = "/apis/apps/v1/namespaces/das-operator"


def may(lab, account, verb, resource, ns="das-operator", name=""):
    """Whether a service account of the deployment has a right; the group is after a dot: "pods", "leases.coordination.k8s.io"."""
    plural, _, group = resource.partition(".")
    plural, _, sub = plural.partition("/")
    attributes = {"namespace": ns, "verb": verb, "group": group, "resource": plural, "subresource": sub, "name": name}
    spec = {"user": f"system:serviceaccount:das-operator:{account}", "groups": ["system:serviceaccounts"], "resourceAttributes": attributes}
    return lab.http("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec}).json["status"]["allowed"]


def test_deploy_and_undeploy(cluster):
    lab = cluster
    wrong = recipe(lab, "deploy", code=1, EMULATED_MODE="on")
    assert 'invalid EMULATED_MODE "on": must be "enabled" or "disabled"' in wrong.err
    recipe(lab, "deploy", IMG="registry.example/athanor:7", EMULATED_MODE="enabled")
    recipe(lab, "deploy", IMG="registry.example/athanor:7", EMULATED_MODE="enabled")
    operator = lab.get("/apis/apps/v1/namespaces/das-operator/deployments/das-operator")
    (container,) = operator["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example/athanor:7"
    # Upstream defect of 9.1: there the mode never reaches the operator's Deployment.
    assert {"name": "EMULATED_MODE", "value": "enabled"} in container["env"]
    variables = {one["name"]: one.get("value") for one in container["env"]}
    assert variables["RELATED_IMAGE_DAEMONSET_IMAGE"] == "registry.example/athanor-agent:7"
    assert variables["RELATED_IMAGE_SCHEDULER_IMAGE"] == "registry.k8s.io/kube-scheduler:" + lab.get("/version")["gitVersion"].split("+")[0]
    for right in (("patch", "allocationclaims.inference.redhat.com"), ("patch", "nodeaccelerators/status.inference.redhat.com"), ("watch", "pods"), ("patch", "nodes/status", "")):
        assert may(lab, "das-daemonset", *right), right
    assert not may(lab, "das-daemonset", "get", "secrets") and not may(lab, "das-daemonset", "delete", "pods", "default")
    policy = lab.get("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/das-daemonset-own-node")
    assert "system:serviceaccount:das-operator:das-daemonset" in policy["spec"]["matchConditions"][0]["expression"]
    for right in (("create", "pods/binding", "default"), ("watch", "nodes", ""), ("update", "leases.coordination.k8s.io", "das-operator", "das-scheduler")):
        assert may(lab, "das-scheduler", *right), right
    assert not may(lab, "das-scheduler", "update", "leases.coordination.k8s.io", "kube-system", "kube-scheduler")
    assert may(lab, "das-extender", "update", "leases.coordination.k8s.io", "das-operator", "das-scheduler-lock")
    assert may(lab, "das-extender", "create", "allocationclaims.inference.redhat.com") and not may(lab, "das-extender", "get", "secrets")
    for name in ("das-operator", "das-extender"):
        wait_for(f"{name} has its pods", lambda n=name: lab.get(f"/apis/apps/v1/namespaces/das-operator/deployments/{n}").get("status", {}).get("replicas") == 2)
    (hook,) = lab.get("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/das-mutating-webhook-configuration")["webhooks"]
    assert hook["clientConfig"]["service"] == {"namespace": "das-operator", "name": "das-operator-webhook", "path": "/mutate-pod", "port": 8443}
    assert "startsWith('nvidia.com/')" in hook["matchConditions"][0]["expression"] and hook["timeoutSeconds"] == 5
    recipe(lab, "undeploy")
    assert lab.http("GET", "/api/v1/namespaces/das-operator").code == 404
    assert lab.http("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/das-operator").code == 404
    assert lab.http("GET", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/das-mutating-webhook-configuration").code == 404
    recipe(lab, "undeploy")  # absent objects are ignored


def test_the_images_can_be_named(cluster):
    recipe(cluster, "deploy", IMG="registry.example:5000/athanor", DAEMONSET_IMAGE="other.example/agent@sha256:12", SCHEDULER_IMAGE="other.example/scheduler:1")
    (container,) = cluster.get(f"{NAMESPACE}/deployments/das-operator")["spec"]["template"]["spec"]["containers"]
    variables = {one["name"]: one.get("value") for one in container["env"]}
    assert container["image"] == "registry.example:5000/athanor"
    assert variables["RELATED_IMAGE_DAEMONSET_IMAGE"] == "other.example/agent@sha256:12"
    assert variables["RELATED_IMAGE_SCHEDULER_IMAGE"] == "other.example/scheduler:1"
    assert "DAEMONSET_IMAGE registry.example:5000/athanor-agent\n" in recipe(cluster, "info", IMG="registry.example:5000/athanor").out
    refused = recipe(cluster, "deploy", IMG="registry.example/athanor@sha256:12", code=1)
    assert "IMG has a digest: name the agent's image, too (DAEMONSET_IMAGE)" in refused.err


SERVICE_MONITOR = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "servicemonitors.monitoring.coreos.com"},
    "spec": {"group": "monitoring.coreos.com", "scope": "Namespaced",
             "names": {"kind": "ServiceMonitor", "plural": "servicemonitors", "singular": "servicemonitor", "listKind": "ServiceMonitorList"},
             "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]},
}  # fmt: skip


def test_every_component_is_monitored_where_there_is_a_prometheus(cluster):
    """docs/spec/das.md 11, V6: each monitor leads to a Service, each Service to a port of the component's pods."""
    monitors = "/apis/monitoring.coreos.com/v1/namespaces/das-operator/servicemonitors"
    cluster.kubectl("delete", "crd", "servicemonitors.monitoring.coreos.com")
    recipe(cluster, "deploy")
    assert cluster.http("GET", monitors).code == 404, "without the kind the rest is deployed"
    cluster.kubectl("apply", "-f", "-", stdin=json.dumps(SERVICE_MONITOR))
    cluster.kubectl("wait", "--for=condition=Established", "crd/servicemonitors.monitoring.coreos.com")
    recipe(cluster, "deploy")
    services = cluster.get("/api/v1/namespaces/das-operator/services")["items"]
    pods = {one["metadata"]["name"]: one["spec"]["template"] for one in load("04_deployment.yaml") if one["kind"] == "Deployment"}
    found = {}
    for one in cluster.get(monitors)["items"]:
        (endpoint,) = one["spec"]["endpoints"]
        assert endpoint["interval"] == "15s" and endpoint["scheme"] == "https"
        wanted = one["spec"]["selector"]["matchLabels"].items()
        (service,) = [s for s in services if wanted <= s["metadata"].get("labels", {}).items()]
        (port,) = [p for p in service["spec"]["ports"] if p["name"] == endpoint["port"]]
        found[one["metadata"]["name"]] = (service["spec"]["selector"], port["port"])
        if template := pods.get(one["metadata"]["name"]):
            assert service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
            assert port["port"] in [p["containerPort"] for p in template["spec"]["containers"][0]["ports"] if p["name"] == port["targetPort"]]
    assert set(found) == {"das-operator", "das-extender", "das-scheduler", "das-daemonset"}
    assert found["das-scheduler"] == ({"app": "das-scheduler"}, 10259) and found["das-daemonset"] == ({"name": "das-daemonset"}, 8443)
    for right in (("create", "tokenreviews.authentication.k8s.io", ""), ("create", "subjectaccessreviews.authorization.k8s.io", "")):
        assert may(cluster, "das-operator", *right) and may(cluster, "das-extender", *right), right


@pytest.fixture
def deployed(make_lab, tmp_path):
    """(lab, operator): deploy/das on a lab without DAS of its own, its operator with the Deployment's flags, variables and rights."""
    lab = make_lab("--storage", "memory", "--pods", "timed", "--controllers", "*,-das-operator,-das-claims,-das-daemonset").start()
    recipe(lab, "deploy", IMG="registry.example/athanor:7", EMULATED_MODE="enabled")
    pod = lab.get(f"{NAMESPACE}/deployments/das-operator")["spec"]["template"]["spec"]
    access = yaml.safe_load(lab.kubeconfig.read_text(encoding="utf-8"))
    access["users"][0]["user"] = {"token": lab.kubectl("create", "token", pod["serviceAccountName"], "-n", "das-operator").out.strip()}
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(access), encoding="utf-8")
    (container,) = pod["containers"]
    fields = {"metadata.name": "das-operator-0", "metadata.namespace": "das-operator"}
    environment = {one["name"]: one.get("value") or fields[one["valueFrom"]["fieldRef"]["fieldPath"]] for one in container["env"]}
    flags = [re.sub(r"^(--[a-z]+-address=):\d+$", r"\g<1>127.0.0.1:0", one) for one in container["args"] if one != "--metrics-secure=true"]
    operator = Replica([ATHANOR, *flags], tmp_path / "operator.log", env={**environment, "KUBECONFIG": str(tmp_path / "kubeconfig")}, cwd="/")
    yield lab, operator
    operator.end(signal.SIGKILL)


def test_the_deployed_operator_makes_its_operands(deployed):
    """docs/spec/das.md 10.1: agent and scheduler; nothing is denied to the operator."""
    lab, operator = deployed
    wait_for("the agents", lambda: lab.http("GET", f"{NAMESPACE}/daemonsets/das-daemonset").code == 200)
    (agent,) = lab.get(f"{NAMESPACE}/daemonsets/das-daemonset")["spec"]["template"]["spec"]["containers"]
    assert agent["image"] == "registry.example/athanor-agent:7"
    wait_for("the scheduler's pods", lambda: lab.get(f"{NAMESPACE}/deployments/das-scheduler").get("status", {}).get("replicas") == 2)
    wait_for("the policies", lambda: len(lab.get("/apis/networking.k8s.io/v1/namespaces/das-operator/networkpolicies")["items"]) == 7)
    made = [lab.get(f"{NAMESPACE}/{one}") for one in ("daemonsets/das-daemonset", "deployments/das-scheduler")]
    made += lab.get("/apis/networking.k8s.io/v1/namespaces/das-operator/networkpolicies")["items"] + lab.get("/api/v1/namespaces/das-operator/configmaps")["items"]
    for one in made:  # items of a list have no kind
        one.setdefault("kind", "ConfigMap" if "data" in one else "NetworkPolicy")
    assert not faults([one for name in ORDER for one in load(name)] + made)
    config = lab.get("/api/v1/namespaces/das-operator/configmaps/das-scheduler-config")["data"]["config.yaml"]
    printed = run([ATHANOR, "extender", "--print-scheduler-config", "--systems=das", "--url=https://das-extender.das-operator.svc:9443", "--ca-file=/etc/das-extender/ca.crt"])
    assert yaml.safe_load(config) == yaml.safe_load(printed.out)
    wait_for("readiness", operator.ready)
    assert lab.get("/apis/coordination.k8s.io/v1/namespaces/das-operator/leases/instaslice-operator-lock")["spec"]["leaseDurationSeconds"] == 137
    secret = lab.get("/api/v1/namespaces/das-operator/secrets/webhook-server-cert")
    assert secret["data"]["ca.crt"] and lab.get("/api/v1/namespaces/das-operator/services/das-extender")["spec"]["ports"][0]["port"] == 9443
    operands = lambda: lab.get("/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/dasoperators/cluster").get("status", {}).get("conditions", [])  # noqa: E731
    wait_for("the status", operands)
    assert not operator.denied(), operator.denied()
    assert "forbidden" not in operator.text.lower()


def test_what_was_deployed_can_be_removed(deployed):
    """docs/spec/das.md 10.5: the webhook's registration is the operator's; the DASOperator does not end before it."""
    lab, operator = deployed
    hook = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/das-mutating-webhook-configuration"
    bundle = lambda: lab.get(hook)["webhooks"][0]["clientConfig"].get("caBundle")  # noqa: E731
    wait_for("the authorities are in it", bundle)
    path = "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/dasoperators/cluster"

    def manage(state):
        assert lab.http("PATCH", path, {"spec": {"managementState": state}}, content_type="application/merge-patch+json").code == 200

    manage("Removed")
    wait_for("it is gone", lambda: lab.http("GET", hook).code == 404)
    wait_for("the agents are gone", lambda: lab.http("GET", f"{NAMESPACE}/daemonsets/das-daemonset").code == 404)
    manage("Managed")
    wait_for("it is back", bundle)
    recipe(lab, "undeploy")
    assert lab.http("GET", hook).code == 404 and lab.http("GET", "/api/v1/namespaces/das-operator").code == 404


def test_roles_are_what_the_program_asks_for():
    roles = load("02_operator_rbac.yaml")
    cluster = {one["metadata"]["name"]: one for one in roles if one["kind"] == "ClusterRole"}
    assert set(cluster) - {"das-operator-metrics"} == {"das-operator", "das-extender", "das-daemonset", "das-scheduler"}
    for one in cluster.values():
        for rule in one["rules"]:
            assert "*" not in rule["verbs"] and "*" not in rule.get("resources", [])
            if "secrets" in rule.get("resources", []):
                pytest.fail("no secrets of the whole cluster (O-B8)")
    bindings = [one for one in roles if one["kind"].endswith("Binding")]
    assert {(s["name"], s["namespace"]) for one in bindings for s in one["subjects"]} == {(name, "das-operator") for name in set(cluster) - {"das-operator-metrics"}}
    accounts = {one["metadata"]["name"] for one in load("01_operator_sa.yaml")}
    assert accounts == set(cluster) - {"das-operator-metrics"}


def test_the_bundle():
    annotations = load("bundle/metadata/annotations.yaml")[0]["annotations"]
    prefix = "operators.operatorframework.io.bundle."
    assert annotations == {
        f"{prefix}mediatype.v1": "registry+v1",
        f"{prefix}manifests.v1": "manifests/",
        f"{prefix}metadata.v1": "metadata/",
        f"{prefix}package.v1": "das-operator",
        f"{prefix}channels.v1": "alpha",
        f"{prefix}channel.default.v1": "alpha",
    }
    labels = dict(re.findall(r"^LABEL (\S+)=(\S+)$", (DAS / "bundle/Dockerfile").read_text(encoding="utf-8"), re.MULTILINE))
    assert labels == annotations
    (version,) = load("bundle/manifests/das-operator.clusterserviceversion.yaml")
    spec = version["spec"]
    assert version["metadata"]["name"] == "das-operator.v0.1.0" == f"das-operator.v{spec['version']}"
    assert spec["displayName"] == "Dynamic Accelerator Slicer" and spec["maturity"] == "alpha" and spec["minKubeVersion"] == "1.16.0"
    assert [one["type"] for one in spec["installModes"] if one["supported"]] == ["AllNamespaces"]
    notes = version["metadata"]["annotations"]
    assert notes["capabilities"] == "Basic Install" and notes["categories"] == "Drivers and plugins"
    assert notes["operatorframework.io/suggested-namespace"] == "das-operator" and notes["features.operators.openshift.io/tls-profiles"] == "true"
    assert json.loads(notes["alm-examples"]) == load("03_instaslice_operator.cr.yaml")
    owned = {(one["name"], one["kind"], one["version"]) for one in spec["customresourcedefinitions"]["owned"]}
    served = {load(name)[0]["metadata"]["name"]: load(name)[0] for name in ORDER if name.startswith("00_")}
    assert owned == {(name, crd["spec"]["names"]["kind"], "v1alpha1") for name, crd in served.items()}
    assert all(one["description"] for one in spec["customresourcedefinitions"]["owned"])
    images = {one["name"]: one["image"] for one in spec["relatedImages"]}
    (operator, *_) = [one["spec"]["template"]["spec"]["containers"][0] for one in spec["install"]["spec"]["deployments"]]
    variables = {one["name"]: one.get("value") for one in operator["env"]}
    assert images["webhook-image"] == operator["image"] == "athanor" and images["daemonset-image"] == "athanor-agent"
    assert images["daemonset-image"] == variables["RELATED_IMAGE_DAEMONSET_IMAGE"] and images["scheduler-image"] == variables["RELATED_IMAGE_SCHEDULER_IMAGE"]
    install = spec["install"]["spec"]
    roles = {}
    for one in load("02_operator_rbac.yaml"):
        if one["kind"].endswith("Role") and one["metadata"].get("namespace") != "das-operator":
            account = one["metadata"]["name"].removesuffix("-metrics")
            roles[account] = roles.get(account, []) + one["rules"]
    (constraints, binding) = load("01_operator_use_privileged_scc.yaml")
    assert binding["roleRef"]["name"] == constraints["metadata"]["name"]
    roles["das-daemonset"] += constraints["rules"]
    assert {one["serviceAccountName"]: one["rules"] for one in install["clusterPermissions"]} == roles
    assert {one["name"] for one in install["deployments"]} == {"das-operator", "das-extender"}
    # Every file of the bundle is a manifest of one object.
    for path in (DAS / "bundle/manifests").iterdir():
        assert len(load(path.relative_to(DAS))) == 1


def test_recipes_of_the_seed_have_an_answer():
    """docs/spec/das.md 13.2: a target of that name, or a sentence that says what to do instead."""
    text = (ROOT / "docs/spec/das.md").read_text(encoding="utf-8")
    table = text[text.index("### 13.2") : text.index("Variables: `PODMAN`")]
    names = []
    for cell in re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE):
        for one in re.findall(r"`([^`]+)`", cell):
            one = one.split(" [")[0]
            group = re.fullmatch(r"(.*)\{(.*)\}", one)
            optional = re.fullmatch(r"(.*)\[(-fix)\]", one)
            names += [group[1] + part for part in group[2].split(",")] if group else [optional[1], optional[1] + optional[2]] if optional else [one]
    names = [n for n in names if n not in ("make test", "RELATED_IMAGES")]
    assert len(names) > 30, names
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    targets = {name for line in re.findall(r"^([a-z][a-z0-9 -]*):", makefile, re.MULTILINE) for name in line.split()}
    assert set(names) <= targets, set(names) - targets
    for name in ("generate-clients", "deploy-cert-manager", "lint-go", "build-push-webhook", "build-push-scheduler"):
        done = run(["make", "-s", name], cwd=ROOT, env={**os.environ})
        assert done.code == 0 and len(done.out.splitlines()) == 1, done.out + done.err
    refused = run([ROOT / "scripts/das", "answer", "other"])
    assert refused.code == 1 and 'unknown recipe "other"' in refused.err
