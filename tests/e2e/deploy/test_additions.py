# SPDX-License-Identifier: Apache-2.0
"""Objects that operators apply (docs/controllers.md, What others may change): every owned object with every kind of addition."""

import copy
import signal

import pytest
from replica import Replica
from support import ATHANOR, ROOT, wait_for

OPERATORS = {"numaresources", "numaresourcesscheduler", "numaresources-kubeletconfig", "numaresources-hosted-kubeletconfig", "das-operator"}
RBAC = "/apis/rbac.authorization.k8s.io/v1"
OPENSHIFT = "/apis/machineconfiguration.openshift.io/v1"


def template(body):
    return body["spec"]["template"]["spec"]


def container(body):
    return template(body)["containers"][0]


def subject(body):
    body.setdefault("subjects", []).append({"kind": "User", "name": "added", "apiGroup": "rbac.authorization.k8s.io"})


def rule(body):
    body.setdefault("rules", []).append({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})


WORKLOAD = {
    "hostPID": lambda b: template(b).update(hostPID=True),
    "hostIPC": lambda b: template(b).update(hostIPC=True),
    "hostNetwork": lambda b: template(b).update(hostNetwork=True),
    "shareProcessNamespace": lambda b: template(b).update(shareProcessNamespace=True),
    "priorityClassName": lambda b: template(b).setdefault("priorityClassName", "system-cluster-critical"),
    "node selector": lambda b: template(b).setdefault("nodeSelector", {}).update(added="x"),
    "toleration": lambda b: template(b).setdefault("tolerations", []).append({"key": "added", "operator": "Exists"}),
    "host alias": lambda b: template(b).update(hostAliases=[{"ip": "127.0.0.1", "hostnames": ["added"]}]),
    "container": lambda b: template(b)["containers"].append({"name": "added", "image": "i"}),
    "init container": lambda b: template(b).setdefault("initContainers", []).append({"name": "added-init", "image": "i"}),
    "volume": lambda b: template(b).setdefault("volumes", []).append({"name": "added", "emptyDir": {}}),
    "argument": lambda b: container(b).setdefault("args", []).append("--added"),
    "variable": lambda b: container(b).setdefault("env", []).append({"name": "ADDED", "value": "x"}),
    "variables of a map": lambda b: container(b).update(envFrom=[{"configMapRef": {"name": "added"}}]),
    "port": lambda b: container(b).setdefault("ports", []).append({"containerPort": 9999}),
    "capability": lambda b: container(b).setdefault("securityContext", {}).setdefault("capabilities", {}).update(add=["SYS_PTRACE"]),
    "run as root": lambda b: container(b).setdefault("securityContext", {}).setdefault("runAsUser", 0),
    "limit": lambda b: container(b).setdefault("resources", {}).setdefault("limits", {}).update({"example.com/added": "1"}),
    "hook": lambda b: container(b).update(lifecycle={"preStop": {"exec": {"command": ["sh"]}}}),
}
ADDITIONS = {
    "/apis/apps/v1/daemonsets": WORKLOAD,
    "/apis/apps/v1/deployments": WORKLOAD,
    "/api/v1/configmaps": {
        "key": lambda b: b.setdefault("data", {}).update(added="x"),
        "binary key": lambda b: b.setdefault("binaryData", {}).update(added="eA=="),
    },
    "/api/v1/services": {
        "port": lambda b: b["spec"]["ports"].append({"name": "added", "port": 9999}),
        "external address": lambda b: b["spec"].update(externalIPs=["192.0.2.1"]),
        "selector": lambda b: b["spec"].setdefault("selector", {}).update(added="x"),
    },
    "/api/v1/serviceaccounts": {"automount": lambda b: b.setdefault("automountServiceAccountToken", False)},
    f"{RBAC}/clusterroles": {"rule": rule, "aggregation": lambda b: b.update(aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"added": "x"}}]})},
    f"{RBAC}/roles": {"rule": rule},
    f"{RBAC}/rolebindings": {"subject": subject},
    f"{RBAC}/clusterrolebindings": {"subject": subject},
    "/apis/networking.k8s.io/v1/networkpolicies": {
        "ingress": lambda b: b["spec"].setdefault("ingress", []).append({}),
        "egress": lambda b: b["spec"].setdefault("egress", []).append({}),
        "selector": lambda b: b["spec"]["podSelector"].setdefault("matchLabels", {}).update(added="x"),
    },
    "/apis/security.openshift.io/v1/securitycontextconstraints": {
        "user": lambda b: b.setdefault("users", []).append("added"),
        "capability": lambda b: b.setdefault("allowedCapabilities", []).append("SYS_ADMIN"),
    },
    f"{OPENSHIFT}/machineconfigs": {"kernel argument": lambda b: b["spec"].update(kernelArguments=["added"])},
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies": {
        "exemption": lambda b: b["spec"].setdefault("matchConditions", []).append({"name": "added", "expression": "false"}),
        "rule": lambda b: b["spec"]["matchConstraints"].update(excludeResourceRules=[{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]),
    },
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings": {
        "selector": lambda b: b["spec"].update(matchResources={"namespaceSelector": {"matchLabels": {"added": "x"}}}),
    },
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": {"category": lambda b: b["spec"]["names"].update(categories=["added"])},
}


def path_of(collection, body):
    base, _, plural = collection.rpartition("/")
    namespace = body["metadata"].get("namespace")
    return f"{base}/namespaces/{namespace}/{plural}/{body['metadata']['name']}" if namespace else f"{collection}/{body['metadata']['name']}"


def applied(body):
    return {one["manager"] for one in body["metadata"].get("managedFields", []) if one["operation"] == "Apply"} & OPERATORS


def content(body):
    """What is not metadata, but for that of a pod template, nor status."""
    return {key: value for key, value in body.items() if key not in ("metadata", "status")}


@pytest.fixture(params=["in the lab", "beside it"])
def lab(request, make_lab, monkeypatch, tmp_path):
    """All operators of a lab; or the NUMA operators as a process of their own, which makes more objects."""
    monkeypatch.setenv("EMULATED_MODE", "enabled")
    beside = request.param == "beside it"
    flags = ["--controllers", ",".join(["*", *(f"-{one}" for one in sorted(OPERATORS - {"das-operator"}))])] if beside else []
    lab = make_lab("--storage", "memory", "--lab", str(ROOT / "examples/numa/lab.yaml"), *flags).start()
    for name in ("operator", "scheduler", "kubelet-config"):
        lab.kubectl("apply", "-f", str(ROOT / f"examples/numa/{name}.yaml"))
    wait_for("the agents", lambda: lab.get("/apis/apps/v1/daemonsets")["items"])
    if not beside:
        for kind in ("numaresourcesoperator", "numaresourcesscheduler"):
            lab.kubectl("wait", kind, "--all", "--for=condition=Available", "--timeout=60s")
        yield lab
        return
    program = tmp_path / "numaresources-operator"
    program.symlink_to(ATHANOR)
    env = {**lab.env, "NAMESPACE": "numaresources", "SCHEDULER_IMAGE_VALIDATION": "false"}
    one = Replica([program, "-metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.2:0"], tmp_path / "operator.log", env=env)
    wait_for("the exporter", lambda: lab.get("/apis/apps/v1/namespaces/numaresources/daemonsets/numaresourcesoperator-worker"))
    wait_for("the scheduler", lambda: lab.get("/apis/apps/v1/namespaces/numaresources/deployments/secondary-scheduler"))
    yield lab
    one.end(signal.SIGKILL)


def owned(lab):
    """The paths of the objects that operators apply, of every kind that the server has."""
    found = {}
    for group in ["/api/v1", *(f"/apis/{one['preferredVersion']['groupVersion']}" for one in lab.get("/apis")["groups"])]:
        for resource in lab.get(group)["resources"]:
            if "/" in resource["name"] or not {"list", "patch"} <= set(resource["verbs"]):
                continue
            collection = f"{group}/{resource['name']}"
            for body in lab.get(collection)["items"]:
                if applied(body):
                    found[path_of(collection, body)] = collection
    return found


def test_additions_to_owned_objects_are_taken_out(lab):
    objects = wait_for("owned objects", lambda: owned(lab))
    unknown = {collection for collection in objects.values() if collection not in ADDITIONS}
    assert not unknown, f"no additions for {unknown}"
    before = {path: content(lab.get(path)) for path in objects}
    rounds = max(len(ADDITIONS[collection]) for collection in objects.values())
    added = 0
    for index in range(rounds):
        changed = {}
        for path, collection in objects.items():
            kinds = list(ADDITIONS[collection].items())
            if index >= len(kinds):
                continue
            name, change = kinds[index]
            body = lab.get(path)
            changed_body = copy.deepcopy(body)
            change(changed_body)
            changed_body["metadata"].pop("resourceVersion")  # its status may change meanwhile
            if content(changed_body) == content(body):
                continue
            answer = lab.http("PUT", f"{path}?fieldManager=somebody", changed_body)
            if answer.code == 422:
                continue
            assert answer.code == 200, (path, name, answer.text)
            changed[path] = name
        added += len(changed)
        for path, name in changed.items():  # a binding may wait 30 s for its role, whose added rights the operator lacks
            wait_for(f"{path} without the added {name}", lambda path=path: content(lab.get(path)) == before[path], deadline=60)
    assert added > 100


def test_metadata_of_others_stays(lab):
    objects = wait_for("owned objects", lambda: owned(lab))
    change = {"metadata": {"labels": {"added": "x"}, "annotations": {"added": "x"}}}
    for path, collection in objects.items():
        both = {**change, "spec": {"template": change}} if ADDITIONS[collection] is WORKLOAD else change
        answer = lab.http("PATCH", path, both, content_type="application/merge-patch+json")
        assert answer.code == 200, answer.text
    for path, collection in objects.items():  # an addition goes, so the operator has seen the labels
        before = content(lab.get(path))
        change_of = next(iter(ADDITIONS[collection].values()))

        def changed(path=path, change_of=change_of):
            body = lab.get(path)
            change_of(body)
            return lab.http("PUT", f"{path}?fieldManager=somebody", body).code == 200

        wait_for(f"{path} is changed", changed)
        wait_for(f"{path} as before", lambda path=path, before=before: content(lab.get(path)) == before, deadline=60)
        metadata = lab.get(path)["metadata"]
        assert metadata["labels"]["added"] == metadata["annotations"]["added"] == "x", path
