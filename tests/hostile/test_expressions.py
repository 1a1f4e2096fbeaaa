# SPDX-License-Identifier: Apache-2.0
"""Small inputs that are expressions or schemas, and would become gigabytes or minutes."""

import json
import threading
import time

import pytest
from attackers import MIB, RECENT, RETURNED, SANITIZED, resident, user_token, watched, within
from conftest import throw_away
from support import ROOT, wait_for

DEVICES = ROOT / "examples/das/dra/lab.yaml"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BOMBS = "/apis/hostile.example.com/v1/namespaces/default/bombs"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"


@pytest.fixture(scope="module")
def devices(tmp_path_factory):
    """A lab whose scheduler evaluates the selectors of claims."""
    yield from throw_away(tmp_path_factory.mktemp("devices"), "--pods", "timed", "--lab", str(DEVICES))


def formats(levels, width, text="'" + "A" * 100 + "'"):
    """format() of format(): each level multiplies the text."""
    for _ in range(levels):
        text = f"[{text}].map(x, '{'%s' * width}'.format([{','.join(['x'] * width)}]))[0]"
    return f"({text}).size() > 0"


def joins(levels):
    text = "'ab'"
    for _ in range(levels):
        text = f"[{text}].map(x, {list(range(100))}.map(i, x).join(x))[0]"
    return f"({text}).size() > 0"


def loops(levels):
    text = "true"
    for level in range(levels):
        text = f"{list(range(100))}.all(v{level}, {text})"
    return text


def shared_lists(levels):
    """Each list has the one before twice: as a text it doubles with every level."""
    text = "[1]"
    for _ in range(levels):
        text = f"[{text}].map(x, [x, x])[0]"
    return f"'%s'.format([{text}]).size() > 0"


EXPRESSIONS = {"formats": formats(3, 250), "joins": joins(5), "loops": loops(6), "shared": shared_lists(40)}


def replicas_come(lab, name):
    """Seconds until a Deployment has its ReplicaSet: how long another controller waits."""
    labels = {"a": name}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "busybox"}]}}}
    began = time.monotonic()
    made = lab.http("POST", "/apis/apps/v1/namespaces/default/deployments", {"metadata": {"name": name}, "spec": spec})
    assert made.code == 201, made.text
    sets = f"/apis/apps/v1/namespaces/default/replicasets?labelSelector=a%3D{name}"
    wait_for(f"ReplicaSet of {name}", lambda: lab.get(sets)["items"], within(30), 0.02)
    return time.monotonic() - began


def claim_and_pod(lab, ns, name, expression):
    claim = {"metadata": {"name": name}, "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "mig.nvidia.com", "selectors": [{"cel": {"expression": expression}}]}}]}}}
    made = lab.http("POST", CLAIMS.format(ns), claim)
    assert made.code == 201, made.text[:500]
    container = {"name": "w", "image": "busybox", "command": ["true"], "resources": {"claims": [{"name": "g"}]}}
    pod = {"metadata": {"name": name}, "spec": {"restartPolicy": "Never", "resourceClaims": [{"name": "g", "resourceClaimName": name}], "containers": [container]}}
    made = lab.http("POST", f"/api/v1/namespaces/{ns}/pods", pod)
    assert made.code == 201, made.text[:500]


def refusal(lab, ns, name):
    conditions = lab.get(f"/api/v1/namespaces/{ns}/pods/{name}")["status"].get("conditions", [])
    return next((c["message"] for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"), None)


def test_selectors_of_claims_stall_no_controller(devices):
    """Each costs its own pod, which says why, and the next start is not held up either."""
    assert devices.http("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}}).code == 201
    wait_for("devices", lambda: devices.get("/apis/resource.k8s.io/v1/resourceslices")["items"], within(60))
    with watched(devices, memory=150 * MIB):
        for name, expression in EXPRESSIONS.items():
            claim_and_pod(devices, "team", name, expression)
        for name in EXPRESSIONS:
            message = wait_for(f"refusal of {name}", lambda name=name: refusal(devices, "team", name), within(30))
            assert "cost" in message, message
        assert max(replicas_come(devices, f"during-{i}") for i in range(3)) < within(3)
    events = devices.get("/api/v1/namespaces/team/events", fieldSelector="reason=FailedScheduling")["items"]
    assert any("cost limit exceeded" in event["message"] for event in events), events[:2]
    # A pod of another namespace gets its device meanwhile.
    claim_and_pod(devices, "default", "honest", "device.driver != 'x'")
    wait_for("an honest claim", lambda: devices.get(f"{CLAIMS.format('default')}/honest")["status"].get("allocation"), within(30))
    assert devices.stop(timeout=within(20)) == 0
    began = time.monotonic()
    devices.start(wrapper=devices.wrapper)
    assert replicas_come(devices, "again") < within(5)
    assert time.monotonic() - began < within(30)


def test_conditions_of_runs_stall_no_controller(victim):
    """CEL in when expressions: all conditions of a run have one budget, and a run beyond it fails with a sentence."""
    loops = "true"
    for level in range(5):
        loops = f"{list(range(10))}.all(v{level}, {loops})"
    victim.kubectl("patch", "configmap", "feature-flags", "-n", "tekton-pipelines", "--type", "merge", "-p", '{"data":{"enable-cel-in-whenexpression":"true"}}')
    step = {"steps": [{"name": "s", "image": "busybox", "script": "true"}]}
    tasks = [{"name": f"t{task}", "taskSpec": step, "when": [{"cel": f"{loops} && {number} >= 0"} for number in range(task * 30, task * 30 + 30)]} for task in range(40)]
    runs = "/apis/tekton.dev/v1/namespaces/default/pipelineruns"
    body = {"apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "metadata": {"name": "conditions"}, "spec": {"pipelineSpec": {"tasks": tasks}}}
    with watched(victim, memory=150 * MIB):
        made = wait_for("the flag is read", lambda: (answer := victim.http("POST", runs, body)).code == 201 and answer, within(30))
        assert max(replicas_come(victim, f"conditions-{i}") for i in range(3)) < within(5)
        over = lambda: next((c for c in victim.get(f"{runs}/{made.json['metadata']['name']}").get("status", {}).get("conditions", []) if c["status"] == "False"), None)  # noqa: E731
        condition = wait_for("the end of the run", over, within(60))
        assert "conditions cost too much" in condition["message"], condition


def test_selectors_have_a_length_and_a_number(devices):
    def make(selectors):
        request = {"name": "r", "exactly": {"deviceClassName": "mig.nvidia.com", "selectors": [{"cel": {"expression": e}} for e in selectors]}}
        return devices.http("POST", CLAIMS.format("default") + "?dryRun=All", {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [request]}}})

    for selectors in (["true || '" + "a" * 11_000 + "' == ''"], ["true"] * 33, ["device.", "true"]):
        answer = make(selectors)
        assert answer.code == 422 and "selectors" in answer.text, answer.text[:500]
    assert make(["true"] * 32).code == 201


def crd(plural, schema):
    kind = plural[:-1].capitalize()
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": plural, "kind": kind}
    return {"metadata": {"name": f"{plural}.hostile.example.com"}, "spec": {"group": "hostile.example.com", "scope": "Namespaced", "names": names, "versions": [version]}}


def test_defaults_of_items(victim, size):
    """300 KB of empty items, each with the defaults of a wide type: 2 GB."""
    fields = {f"field{i}": {"type": "string", "default": "d" * 40} for i in range(200)}
    items = {"type": "array", "items": {"type": "object", "properties": fields}}
    assert victim.http("POST", CRDS, crd("bombs", {"type": "object", "properties": {"items": items}})).code == 201
    body = {"apiVersion": "hostile.example.com/v1", "kind": "Bomb", "metadata": {"name": "b"}, "items": [{}] * size(50_000, 100_000)}
    text = json.dumps(body, separators=(",", ":"))
    few = json.dumps({**body, "metadata": {"name": "few"}, "items": [{}] * 10})
    wait_for("the kind is served", lambda: victim.http("POST", BOMBS, few).code in (201, 409), within(30))
    before = resident(victim.process.pid)
    with watched(victim, memory=100 * MIB):
        began = time.monotonic()
        senders = [threading.Thread(target=lambda: victim.http("POST", BOMBS, text)) for _ in range(4)]
        for sender in senders:
            sender.start()
        answer = victim.http("POST", BOMBS, text)
        for sender in senders:
            sender.join(within(60))
        assert answer.code == 413 and "defaults" in answer.json["message"], answer.text[:500]
        apply = victim.http("PATCH", f"{BOMBS}/b?fieldManager=f", text, content_type="application/apply-patch+yaml")
        assert apply.code == 413, apply.text[:500]
        assert time.monotonic() - began < within(20)
    if not SANITIZED:
        wait_for("memory is given back", lambda: resident(victim.process.pid) - before < 40 * MIB, 10)
    assert len(victim.get(f"{BOMBS}/few")["items"][0]) == 200
    assert victim.http("DELETE", f"{CRDS}/bombs.hostile.example.com").code == 200


def test_defaults_within_defaults(victim):
    """Every level's default is a list of a thousand items, each with the default of the next."""
    level = {"type": "object", "properties": {"x": {"type": "string", "default": "x"}}}
    for _ in range(4):
        level = {"type": "object", "properties": {"list": {"type": "array", "items": level, "default": [{}] * 1000}}}
    with watched(victim, memory=100 * MIB):
        answer = victim.http("POST", CRDS, crd("nests", level))
        assert answer.code == 422 and "defaults" in answer.text, answer.text[:500]


def test_patterns_that_become_large(victim):
    """Ten letters of a regular expression are megabytes of its program."""
    fields = {f"f{i}": {"type": "string", "pattern": f"^\\pL{{{900 + i % 100}}}{i}$"} for i in range(3000)}
    with watched(victim, memory=150 * MIB):
        answer = victim.http("POST", CRDS, crd("shapes", {"type": "object", "properties": fields}))
        assert answer.code == 422 and "too much memory" in answer.text, answer.text[:500]


def test_rules_and_policies_that_multiply(victim):
    """Rules of a kind and of a policy cost the request that they judge."""
    rule = formats(3, 250, "self.text")
    schema = {"type": "object", "properties": {"text": {"type": "string", "maxLength": 100}}, "x-kubernetes-validations": [{"rule": rule}]}
    rules = victim.http("POST", CRDS, crd("rules", schema))
    match = {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}]}
    match["namespaceSelector"] = {"matchLabels": {"hostile": "yes"}}
    policy = {
        "metadata": {"name": "bomb"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": match,
            "variables": [{"name": f"v{i}", "expression": "[object.data.t].map(x, x + x + x + x + x + x + x + x)[0]"} for i in range(60)],
            "validations": [{"expression": "[" + ",".join(f"variables.v{i}" for i in range(60)) + "].all(v, v.size() > 0)"}, {"expression": formats(3, 250, "object.data.t")}],
        },
    }
    binding = {"metadata": {"name": "bomb"}, "spec": {"policyName": "bomb", "validationActions": ["Deny"]}}
    assert victim.http("POST", "/api/v1/namespaces", {"metadata": {"name": "judged", "labels": {"hostile": "yes"}}}).code == 201
    assert victim.http("POST", POLICIES, policy).code == 201
    assert victim.http("POST", BINDINGS, binding).code == 201
    body = {"metadata": {"name": "m"}, "data": {"t": "a" * MIB}}
    with watched(victim, memory=300 * MIB):
        began = time.monotonic()
        wait_for("the policy judges", lambda: victim.http("POST", "/api/v1/namespaces/judged/configmaps?dryRun=All", body).code == 422, within(30))
        assert time.monotonic() - began < within(30)
        if rules.code == 201:
            one = {"apiVersion": "hostile.example.com/v1", "kind": "Rule", "metadata": {"name": "r"}, "text": "a" * 100}
            url = "/apis/hostile.example.com/v1/namespaces/default/rules"
            wait_for("the rules judge", lambda: victim.http("POST", url, one).code == 422, within(30))
    for path in (f"{POLICIES}/bomb", f"{BINDINGS}/bomb"):
        assert victim.http("DELETE", path).code == 200


@pytest.mark.parametrize("several", [False, True], ids=["one user", "four users"])
def test_conditions_of_many_webhooks(victim, several):
    """20 hooks of 60 cheap conditions each, all within their own limits: the request has one budget for all, and others are served meanwhile."""
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    hooks = [
        {
            "name": f"h{hook}.example.com",
            "clientConfig": {"url": "https://127.0.0.1:9/none"},
            "rules": [rule],
            "namespaceSelector": {"matchLabels": {"hooked": "yes"}},
            "matchConditions": [{"name": f"c{i}", "expression": f"!object.data.t.contains('b{i}')"} for i in range(59)] + [{"name": "last", "expression": "object.data.t.contains('b')"}],
            "failurePolicy": "Ignore",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        for hook in range(20)
    ]
    assert victim.http("POST", "/api/v1/namespaces", {"metadata": {"name": "hooked", "labels": {"hooked": "yes"}}}).code in (201, 409)
    assert victim.http("POST", HOOKS, {"metadata": {"name": "many"}, "webhooks": hooks}).code == 201
    url = "/api/v1/namespaces/hooked/configmaps?dryRun=All"
    tokens = [user_token(victim, "hooked", f"sender-{i}") for i in range(4)] if several else [None] * 4
    answers = []

    def send(token):
        body = {"metadata": {"name": "m"}, "data": {"t": "a" * 1_000_000}}
        began = time.monotonic()
        answer = victim.http("POST", url, body, token=token)
        answers.append((answer.code, time.monotonic() - began))

    with watched(victim, memory=150 * MIB):
        senders = [threading.Thread(target=send, args=(token,)) for token in tokens]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join(within(60))
        assert {code for code, _ in answers} <= {201, 429} and 201 in [code for code, _ in answers], answers
        assert max(seconds for _, seconds in answers) < within(10), answers
    assert victim.http("DELETE", f"{HOOKS}/many").code == 200


def test_many_managers_of_one_object(victim, size):
    """Each manager's fields are as large as the object: the object with them is bounded."""
    data = {f"key-{i:05}-{'k' * 100}": "v" for i in range(2000)}
    whole = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "managed"}, "data": data}
    url = "/api/v1/namespaces/default/configmaps/managed"
    for kept in (RETURNED + RECENT, RETURNED):  # the second time the recent events are as large as they become
        codes = []
        with watched(victim, memory=400 * MIB, kept=kept):
            for i in range(size(80, 150)):
                answer = victim.http("PATCH", f"{url}?fieldManager=m{i}&force=true", whole, content_type="application/apply-patch+yaml")
                codes.append(answer.code)
                if answer.code == 413:
                    break
            assert codes[0] == 201 and codes[-1] == 413, codes
            assert victim.http("DELETE", url).code == 200


def test_columns_of_one_large_value(victim, size):
    """Every column prints the whole object: 1000 columns would be 300 MB."""
    definition = crd("sheets", {"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    columns = [{"name": f"C{i}", "type": "string", "jsonPath": ".spec"} for i in range(size(1_000, 10_000))]
    definition["spec"]["versions"][0]["additionalPrinterColumns"] = columns
    url = "/apis/hostile.example.com/v1/namespaces/default/sheets"
    one = {"apiVersion": "hostile.example.com/v1", "kind": "Sheet", "metadata": {"name": "s"}, "spec": {f"k{i}": "v" for i in range(30_000)}}
    with watched(victim, memory=200 * MIB):
        assert victim.http("POST", CRDS, definition).code == 201
        wait_for("the kind is served", lambda: victim.http("POST", url, one).code == 201, within(30))
        table = victim.http("GET", url, headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
        assert table.code == 200 and len(table.body) < 8 * MIB, len(table.body)
        assert victim.http("DELETE", f"{CRDS}/sheets.hostile.example.com").code == 200
