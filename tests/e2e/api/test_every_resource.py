# SPDX-License-Identifier: Apache-2.0
"""Every built-in resource that can be written, through every verb (docs/spec/apiserver.md 22, A2). The objects are as small as can be."""

import base64
import json
import pathlib
import subprocess

import pytest
from support import DEADLINE, ROOT, wait_for

POD = {"containers": [{"name": "c", "image": "busybox"}]}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
SELECTOR = {"matchLabels": {"a": "b"}}
NOBODY = {"service": {"name": "no", "namespace": "no"}}
CRD_VERSION = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
CSI = "csi.example.com"

# GROUP/VERSION/RESOURCE → the object without its name.
MINIMAL = {
    "v1/configmaps": {},
    "v1/endpoints": {},
    "v1/events": {"involvedObject": {"kind": "Pod", "namespace": "NS", "name": "p"}},
    "v1/limitranges": {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "64"}}]}},
    "v1/namespaces": {},
    "v1/nodes": {},
    "v1/persistentvolumeclaims": {
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none", "resources": {"requests": {"storage": "1Gi"}}}
    },
    "v1/persistentvolumes": {
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "none", "hostPath": {"path": "/none"}}
    },
    "v1/pods": {"spec": {**POD, "schedulingGates": [{"name": "e2e.example.com/gate"}]}},
    "v1/podtemplates": {"template": {"spec": POD}},
    "v1/replicationcontrollers": {"spec": {"replicas": 0, "selector": {"a": "b"}, "template": TEMPLATE}},
    "v1/resourcequotas": {"spec": {"hard": {"count/jobs.none": "1"}}},
    "v1/secrets": {},
    "v1/serviceaccounts": {},
    "v1/services": {"spec": {"ports": [{"port": 80}]}},
    "apiregistration.k8s.io/v1/apiservices": {
        "spec": {"group": "NAME.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1, "insecureSkipTLSVerify": True, **NOBODY}
    },
    "apps/v1/controllerrevisions": {"revision": 1, "data": {}},
    "apps/v1/daemonsets": {"spec": {"selector": SELECTOR, "template": {**TEMPLATE, "spec": {**POD, "nodeSelector": {"no": "node"}}}}},
    "apps/v1/deployments": {"spec": {"replicas": 0, "selector": SELECTOR, "template": TEMPLATE}},
    "apps/v1/replicasets": {"spec": {"replicas": 0, "selector": SELECTOR, "template": TEMPLATE}},
    "apps/v1/statefulsets": {"spec": {"replicas": 0, "selector": SELECTOR, "serviceName": "s", "template": TEMPLATE}},
    "events.k8s.io/v1/events": {
        "eventTime": "2026-11-21T00:00:00.000000Z", "reportingController": "e2e.example.com/a", "reportingInstance": "a-0", "action": "A", "reason": "R",
        "type": "Normal", "regarding": {"kind": "Pod", "namespace": "NS", "name": "p"},
    },
    "autoscaling/v1/horizontalpodautoscalers": {"spec": {"maxReplicas": 1, "scaleTargetRef": {"kind": "Deployment", "name": "no", "apiVersion": "apps/v1"}}},
    "autoscaling/v2/horizontalpodautoscalers": {"spec": {"maxReplicas": 1, "scaleTargetRef": {"kind": "Deployment", "name": "no", "apiVersion": "apps/v1"}}},
    "batch/v1/cronjobs": {
        "spec": {"schedule": "0 0 29 2 *", "suspend": True, "jobTemplate": {"spec": {"template": {"spec": {**POD, "restartPolicy": "Never"}}}}}
    },
    "batch/v1/jobs": {"spec": {"suspend": True, "template": {"spec": {**POD, "restartPolicy": "Never"}}}},
    "certificates.k8s.io/v1/certificatesigningrequests": {"spec": {"request": "CSR", "signerName": "example.com/none", "usages": ["client auth"]}},
    "networking.k8s.io/v1/ingressclasses": {"spec": {"controller": "example.com/none"}},
    "networking.k8s.io/v1/ingresses": {"spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}},
    "networking.k8s.io/v1/ipaddresses": {"spec": {"parentRef": {"resource": "things", "name": "t", "group": "example.com"}}},
    "networking.k8s.io/v1/networkpolicies": {"spec": {"podSelector": {}}},
    "networking.k8s.io/v1/servicecidrs": {"spec": {"cidrs": ["10.211.0.0/28"]}},
    "policy/v1/poddisruptionbudgets": {"spec": {"minAvailable": 1, "selector": SELECTOR}},
    "rbac.authorization.k8s.io/v1/clusterrolebindings": {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}},
    "rbac.authorization.k8s.io/v1/clusterroles": {"rules": []},
    "rbac.authorization.k8s.io/v1/rolebindings": {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}},
    "rbac.authorization.k8s.io/v1/roles": {"rules": []},
    "storage.k8s.io/v1/csidrivers": {"spec": {}},
    "storage.k8s.io/v1/csinodes": {"spec": {"drivers": []}},
    "storage.k8s.io/v1/csistoragecapacities": {"storageClassName": "none"},
    "storage.k8s.io/v1/storageclasses": {"provisioner": CSI},
    "storage.k8s.io/v1/volumeattachments": {"spec": {"attacher": CSI, "nodeName": "no", "source": {"persistentVolumeName": "no"}}},
    "storage.k8s.io/v1/volumeattributesclasses": {"driverName": CSI, "parameters": {"a": "b"}},
    "admissionregistration.k8s.io/v1/mutatingwebhookconfigurations": {},
    "admissionregistration.k8s.io/v1/validatingwebhookconfigurations": {},
    "admissionregistration.k8s.io/v1/validatingadmissionpolicies": {
        "spec": {
            "matchConstraints": {"resourceRules": [{"apiGroups": ["no.such"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["x"]}]},
            "validations": [{"expression": "true"}],
        }
    },
    "admissionregistration.k8s.io/v1/validatingadmissionpolicybindings": {"spec": {"policyName": "none", "validationActions": ["Audit"]}},
    "apiextensions.k8s.io/v1/customresourcedefinitions": {
        "spec": {"group": "e2e.example.com", "scope": "Namespaced", "names": {"plural": "NAMEs", "kind": "KIND"}, "versions": [CRD_VERSION]}
    },
    "scheduling.k8s.io/v1/priorityclasses": {"value": 7},
    "coordination.k8s.io/v1/leases": {},
    "node.k8s.io/v1/runtimeclasses": {"handler": "none"},
    "discovery.k8s.io/v1/endpointslices": {"addressType": "IPv4", "endpoints": []},
    "resource.k8s.io/v1/deviceclasses": {"spec": {}},
    "resource.k8s.io/v1/resourceclaims": {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c.example.com"}}]}}},
    "resource.k8s.io/v1/resourceclaimtemplates": {
        "spec": {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c.example.com"}}]}}}
    },
    "resource.k8s.io/v1/resourceslices": {"spec": {"driver": CSI, "nodeName": "no", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}}},
    "flowcontrol.apiserver.k8s.io/v1/flowschemas": {"spec": {"priorityLevelConfiguration": {"name": "global-default"}, "matchingPrecedence": 9999}},
    "flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations": {
        "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}}
    },
}

# What a name must look like where it is not free.
NAMES = {
    "networking.k8s.io/v1/ipaddresses": "10.212.0.7",
    "apiregistration.k8s.io/v1/apiservices": "v1.every.example.com",
    "apiextensions.k8s.io/v1/customresourcedefinitions": "everys.e2e.example.com",
}


def appendix():
    """GROUP/VERSION/RESOURCE → (kind, namespaced, verbs), out of Appendix D."""
    rows = {}
    for line in pathlib.Path(ROOT / "src/kube/schema/data/resources.md").read_text(encoding="utf-8").splitlines():
        cells = line.split("|")
        if len(cells) == 9 and (cells[7] == "*" or "watch" in cells[7]):
            rows[f"{cells[0]}/{cells[1]}"] = (cells[3], cells[4] == "ns", cells[7])
    return rows


RESOURCES = appendix()


@pytest.fixture(scope="module")
def request_pem(tmp_path_factory):
    folder = tmp_path_factory.mktemp("csr")
    subprocess.run(
        ["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=e2e", "-keyout", folder / "key",
         "-out", folder / "csr"], check=True, capture_output=True,
    )  # fmt: skip
    return base64.b64encode((folder / "csr").read_bytes()).decode()


def test_the_table_has_every_resource():
    assert set(MINIMAL) == set(RESOURCES)


def test_discovery_offers_every_resource_with_its_verbs(lab):
    every = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
    for resource, (kind, namespaced, verbs) in RESOURCES.items():
        group_version, name = resource.rsplit("/", 1)
        listed = lab.get(("/api/" if "/" not in group_version else "/apis/") + group_version)["resources"]
        found = next(entry for entry in listed if entry["name"] == name)
        assert (found["kind"], found["namespaced"]) == (kind, namespaced), resource
        assert found["verbs"] == (every if verbs == "*" else verbs.split(",")), resource


def test_the_verbs_of_every_resource(lab, ns, request_pem):
    failures = []
    for resource in sorted(RESOURCES):
        try:
            walk(lab, ns, resource, request_pem)
        except AssertionError as failure:
            failures.append(f"{resource}: {failure}")
    assert not failures, "\n".join(failures)


def walk(lab, ns, resource, request_pem):
    """Create, get, list, update, all patches, delete; and what a watch said of it."""
    kind, namespaced, _ = RESOURCES[resource]
    group_version, plural = resource.rsplit("/", 1)
    root = ("/apis/" if "/" in group_version else "/api/") + group_version
    collection = f"{root}/namespaces/{ns}/{plural}" if namespaced else f"{root}/{plural}"
    name = NAMES.get(resource, f"every-{group_version.rsplit('/', 1)[-1]}")
    text = json.dumps(MINIMAL[resource]).replace('"NS"', f'"{ns}"').replace('"CSR"', f'"{request_pem}"').replace("NAME", "every").replace("KIND", "Every")
    head = {"apiVersion": group_version, "kind": kind}
    item = f"{collection}/{name}"

    def ask(method, path, body=None, code=200, media="application/json"):
        answer = lab.http(method, path, body, headers={"Content-Type": media})
        assert answer.code in (code if isinstance(code, tuple) else (code,)), f"{method} {path}: {answer.code} {answer.text[:400]}"
        return answer.json

    begin = ask("GET", collection)["metadata"]["resourceVersion"]
    made = ask("POST", collection, {**head, "metadata": {"name": name}, **json.loads(text)}, 201)
    try:
        assert (made["apiVersion"], made["kind"]) == (group_version, kind)
        assert made["metadata"]["name"] == name and made["metadata"]["uid"] and made["metadata"]["creationTimestamp"]
        ask("POST", collection, {**head, "metadata": {"name": name}, **json.loads(text)}, 409)
        assert ask("GET", item)["metadata"]["uid"] == made["metadata"]["uid"]
        listed = ask("GET", f"{collection}?fieldSelector=metadata.name%3D{name}")
        assert listed["kind"] == kind + "List" and [one["metadata"]["name"] for one in listed["items"]] == [name]
        ask("PATCH", item, {"metadata": {"labels": {"merge": "1"}}}, media="application/merge-patch+json")
        ask("PATCH", item, {"metadata": {"labels": {"strategic": "1"}}}, media="application/strategic-merge-patch+json")
        ask("PATCH", item, [{"op": "add", "path": "/metadata/labels/json", "value": "1"}], media="application/json-patch+json")
        applied = {**head, "metadata": {"name": name, "labels": {"apply": "1"}}}
        whole = ask("PATCH", f"{item}?fieldManager=e2e", applied, media="application/apply-patch+yaml")
        assert {"merge", "strategic", "json", "apply"} <= set(whole["metadata"]["labels"])
        for _ in range(20):  # controllers may be faster
            whole = ask("GET", item)
            whole["metadata"]["labels"]["put"] = "1"
            if ask("PUT", item, whole, (200, 409))["kind"] == kind:
                break
        assert ask("GET", item)["metadata"]["labels"]["put"] == "1"
        stale = {**whole, "metadata": {**whole["metadata"], "resourceVersion": "1"}}
        ask("PUT", item, stale, 409)
    finally:
        ask("DELETE", item, {"propagationPolicy": "Background"}, (200, 202))
    wait_for(f"{item} is gone", lambda: lab.http("GET", item).code == 404)
    told = watched(lab, f"{collection}?watch=1&timeoutSeconds={DEADLINE:.0f}&resourceVersion={begin}&fieldSelector=metadata.name%3D{name}")
    kinds = [event["type"] for event in told]
    assert kinds[0] == "ADDED" and set(kinds[1:-1]) == {"MODIFIED"}, kinds
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in told]
    assert versions == sorted(set(versions)), versions


def watched(lab, path):
    """The events of a watch to the first deletion."""
    connection = lab.connection()
    try:
        connection.request("GET", path)
        told = []
        for line in connection.getresponse():
            told.append(json.loads(line))
            if told[-1]["type"] not in ("ADDED", "MODIFIED"):
                break
        assert told and told[-1]["type"] == "DELETED", told
        return told
    finally:
        connection.close()
