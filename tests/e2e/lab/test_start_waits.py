# SPDX-License-Identifier: Apache-2.0
"""A start with objects of the lab that the server refuses: it succeeds, says what waits, and has them once the way is clear."""

import pytest
from support import wait_for

HELD = ["example.com/held"]
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/fournosjobs.fournos.dev"
NAMESPACE = "/api/v1/namespaces/fournos-local-dev"
MERGE = "application/merge-patch+json"


def merge(lab, path, patch):
    return lab.http("PATCH", path, patch, content_type=MERGE)


def there(lab, path):
    answer = lab.http("GET", path)
    return answer.code == 200 and "deletionTimestamp" not in answer.json["metadata"]


@pytest.mark.parametrize(("path", "name"), [(NAMESPACE, "Namespace fournos-local-dev"), (CRD, "CustomResourceDefinition fournosjobs.fournos.dev")])
def test_what_is_being_deleted_waits_for_its_end(make_lab, path, name):
    lab = make_lab(name="waits").start()
    assert merge(lab, path, {"metadata": {"finalizers": HELD}}).code == 200
    uid = lab.http("GET", path).json["metadata"]["uid"]
    assert lab.http("DELETE", path).code == 200
    for _ in range(2):
        assert lab.stop() == 0
        lab.start()
        wait_for("the output names what waits", lambda: f"{name}: is being deleted" in lab.out)
        assert lab.http("GET", path).json["metadata"]["uid"] == uid
    assert merge(lab, path, {"metadata": {"finalizers": None}}).code == 200
    wait_for("it is made again", lambda: there(lab, path) and lab.http("GET", path).json["metadata"]["uid"] != uid)
    wait_for("so is what belongs to it", lambda: there(lab, f"/apis/kueue.x-k8s.io/v1beta2{NAMESPACE[7:]}/localqueues/fournos-queue"))
    assert lab.stop() == 0
    assert "objects of the lab wait" not in lab.start().out


@pytest.mark.parametrize("kind", ["quota", "policy", "webhook"])
def test_what_is_refused_waits_and_the_rest_works(make_lab, kind):
    lab = make_lab(name="refused").start()
    policies = "/apis/admissionregistration.k8s.io/v1/"
    rule = {"apiGroups": ["kueue.x-k8s.io"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["localqueues"]}
    if kind == "quota":
        made = [(f"{NAMESPACE}/resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"count/localqueues.kueue.x-k8s.io": "0"}}})]
    elif kind == "policy":
        spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "false"}]}
        made = [
            (policies + "validatingadmissionpolicies", {"metadata": {"name": "q"}, "spec": spec}),
            (policies + "validatingadmissionpolicybindings", {"metadata": {"name": "q"}, "spec": {"policyName": "q", "validationActions": ["Deny"]}}),
        ]
    else:
        hook = {"name": "q.example.com", "sideEffects": "None", "failurePolicy": "Fail", "admissionReviewVersions": ["v1"], "timeoutSeconds": 1}
        hook |= {"clientConfig": {"url": "https://127.0.0.1:1/"}, "rules": [rule]}
        made = [(policies + "validatingwebhookconfigurations", {"metadata": {"name": "q"}, "webhooks": [hook]})]
    for path, body in made:
        assert lab.http("POST", path, body).code == 201
    queues = f"/apis/kueue.x-k8s.io/v1beta2{NAMESPACE[7:]}/localqueues"
    name = lab.get(queues)["items"][0]["metadata"]["name"]
    assert lab.http("DELETE", f"{queues}/{name}").code == 200
    wait_for("the queue is gone", lambda: lab.http("GET", f"{queues}/{name}").code == 404)
    assert lab.stop() == 0
    lab.start()
    assert f"LocalQueue {name}" in lab.out, lab.out
    assert lab.http("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "works"}}).code == 201
    for path, body in made:
        assert lab.http("DELETE", f"{path}/{body['metadata']['name']}").code == 200
    wait_for("the queue is there again", lambda: there(lab, f"{queues}/{name}"))
