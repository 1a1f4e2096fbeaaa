# SPDX-License-Identifier: Apache-2.0
"""Objects that operators apply (docs/controllers.md, What others may change): every owned object with every kind of addition."""

import copy
import re
import signal

import pytest
from manifests import faults
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


# What others may write (the table of docs/controllers.md).
AUTHORITY = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="
CONVERSION = {"strategy": "Webhook", "webhook": {
    "clientConfig": {"url": "https://192.0.2.1/convert", "caBundle": AUTHORITY}, "conversionReviewVersions": ["v1"]}}  # fmt: skip
ALLOWED = {
    "/apis/apps/v1/deployments": {"spec.replicas": (("spec", "replicas"), 5)},
    "/api/v1/serviceaccounts": {
        "secrets": (("secrets",), [{"name": "added"}]),
        "imagePullSecrets": (("imagePullSecrets",), [{"name": "added"}]),
    },
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": {"spec.conversion": (("spec", "conversion"), CONVERSION)},
}
# Rows of the table that no object of these labs can show, and where they are tried.
ALLOWED_ELSEWHERE = {
    "labels, annotations, finalizers, owners": "test_additions.py::test_metadata_of_others_stays",
    "status": "every kubelet, scheduler and controller of the lab writes it",
    "caBundle": "test_das_deploy.py::test_what_was_deployed_can_be_removed",
    "clusterIP": "the lab's API server writes them for every Service",
}


def applies(body, path):
    """Whether an operator applies this field."""
    for one in body["metadata"].get("managedFields", []):
        fields = one["fieldsV1"]
        if one["operation"] == "Apply" and one["manager"] in OPERATORS:
            for name in path:
                fields = fields.get(f"f:{name}")
                if fields is None:
                    break
            else:
                return True
    return False


def field_of(body, path):
    for name in path:
        body = body.get(name, {})
    return body


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
        wait_for(f"{path} as before", lambda path=path, before=before: content(lab.get(path)) == before)
        metadata = lab.get(path)["metadata"]
        assert metadata["labels"]["added"] == metadata["annotations"]["added"] == "x", path


def test_what_others_may_write_stays(lab):
    needed = {"/api/v1/serviceaccounts", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"}
    objects = wait_for("owned objects", lambda: (found := owned(lab)) and needed <= set(found.values()) and found)
    written = {}
    for path, collection in objects.items():
        body = lab.get(path)
        for name, (field, value) in ALLOWED.get(collection, {}).items():
            if applies(body, field):
                continue  # a number that the manifest has is the operator's
            change = value
            for part in reversed(field):
                change = {part: change}
            answer = lab.http("PATCH", f"{path}?fieldManager=somebody", change, content_type="application/merge-patch+json")
            assert answer.code == 200, (path, name, answer.text)
            written.setdefault(path, []).append((name, field, value))
    assert {name for fields in written.values() for name, _, _ in fields} >= {"secrets", "imagePullSecrets", "spec.conversion"}
    for path, fields in written.items():  # an addition goes, so the operator has seen the others
        before = content(lab.get(path))
        change_of = next(iter(ADDITIONS[objects[path]].values()))

        def changed(path=path, change_of=change_of):
            body = lab.get(path)
            change_of(body)
            return lab.http("PUT", f"{path}?fieldManager=somebody", body).code == 200

        wait_for(f"{path} is changed", changed)
        wait_for(f"{path} as before", lambda path=path, before=before: content(lab.get(path)) == before)
        for name, field, value in fields:
            assert field_of(lab.get(path), field) == value, (path, name)


def test_every_row_of_what_others_may_write_is_tried():
    table = (ROOT / "docs/controllers.md").read_text(encoding="utf-8").split("Others may write:\n")[1].split("\n\n")[0]
    rows = [row for row in re.findall(r"^\| (.*?) \|", table, re.M) if row != "Field"]
    assert len(rows) == 7, rows
    for row in rows:
        names = re.findall(r"`([^`]+)`", row)
        here = [name for fields in ALLOWED.values() for name in fields if name in names]
        there = [key for key in ALLOWED_ELSEWHERE if key in row]
        assert here or there, row
        assert not (here and there), row


def test_every_operator_that_applies_takes_additions_out_and_is_tried():
    """A new operator that applies manifests is named in OPERATORS, by the manager that its code names."""
    appliers, named = set(), set()
    for path in [*(ROOT / "src/systems").rglob("*.?pp"), *(ROOT / "src/embedded").rglob("*.?pp")]:
        text = path.read_text(encoding="utf-8")
        named.update(re.findall(r'k\w*Applier = "([^"]+)"', text))
        if re.search(r"\bApply\{", text):
            appliers.add(path.name)
            assert "removal_of_additions" in text, f"{path}: what others add to what it applies stays"
    assert appliers >= {"operator.cpp", "owned.cpp"}
    assert named == OPERATORS


CHECKED = {
    "/api/v1": ("serviceaccounts", "configmaps", "secrets", "services"),
    "/apis/apps/v1": ("deployments", "daemonsets", "statefulsets"),
    RBAC: ("roles", "rolebindings", "clusterroles", "clusterrolebindings"),
    "/apis/networking.k8s.io/v1": ("networkpolicies",),
    "/apis/policy/v1": ("poddisruptionbudgets",),
}  # fmt: skip


def test_what_the_numa_operators_make_fits_together(lab):
    """The checks of test_ways.py on the operands themselves. Those of a deployed DAS: test_das_deploy.py; a lab's own has no pods behind its Services."""
    names = {resource["name"]: resource["kind"] for group in CHECKED for resource in lab.get(group)["resources"]}

    def fitting():
        found = [{**one, "kind": names[plural]} for group, plurals in CHECKED.items() for plural in plurals for one in lab.get(f"{group}/{plural}")["items"]]
        made = {one["kind"] for one in found if one["metadata"].get("namespace") == "numaresources"}
        assert {"DaemonSet", "ServiceAccount", "Role", "RoleBinding", "NetworkPolicy"} <= made, made
        assert [line for line in faults(found) if "numaresources/" in line] == []
        return found

    there = wait_for("operands that fit together", fitting)
    for one in there:  # the checks do see them
        if one["metadata"].get("namespace") == "numaresources" and one["kind"] == "DaemonSet":
            one["spec"]["template"]["spec"]["serviceAccountName"] = "no"
    assert any("numaresources/" in line and "there is no ServiceAccount no" in line for line in faults(there))
