# SPDX-License-Identifier: Apache-2.0
"""Requests that aim at the server itself: each costs its own answer, and the server answers the next one."""

import json
import signal

import pytest
from attackers import MIB, watched
from support import DEADLINE

MAPS = "/api/v1/namespaces/default/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEEP = "/apis/hostile.example.com/v1/namespaces/default/deeps"
KINDS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "deeps.hostile.example.com"},
    "spec": {
        "group": "hostile.example.com",
        "scope": "Namespaced",
        "names": {"plural": "deeps", "kind": "Deep"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def check_alive(lab):
    assert lab.process.poll() is None, lab.err[-2000:]
    assert lab.http("GET", "/readyz").code == 200


def nested_envelopes(count):
    """ControllerRevisions, each the data of the one around it; heads only, as nothing follows the innermost."""
    names = b"\x0a\x07apps/v1\x12\x12ControllerRevision"
    kind = b"\x0a" + bytes([len(names)]) + names
    heads, inside = [b"{}"], 2
    for _ in range(count):
        for tag in (b"\x0a", b"\x12", b"\x12"):
            length, left = b"", inside
            while left >= 128:
                length += bytes([left & 127 | 128])
                left >>= 7
            heads.append(tag + length + bytes([left]))
            inside += len(heads[-1])
        heads.append(b"k8s\0" + kind)
        inside += len(heads[-1])
    return b"".join(reversed(heads))


def nested(levels, inner="x"):
    text = json.dumps(inner)
    return '{"a":' * levels + text + "}" * levels


@pytest.mark.parametrize("path", ["/apis/apps/v1/namespaces/default/controllerrevisions", MAPS, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"])
def test_envelopes_within_envelopes(victim, path):
    with watched(victim):
        answer = victim.http("POST", path, nested_envelopes(50_000), content_type="application/vnd.kubernetes.protobuf")
        assert answer.code == 400, answer.text[:500]


def test_patches_that_double(victim):
    made = victim.http("POST", MAPS, {"metadata": {"name": "doubled"}, "data": {"t": "x" * 1000}})
    assert made.code == 201, made.text
    levels, deeper = 1, []
    for _ in range(15):
        deeper.append({"op": "copy", "from": "/data", "path": "/data" + "/a" * levels})
        levels *= 2
    larger = [{"op": "copy", "from": "/data", "path": f"/data/k{i}"} for i in range(22)]
    with watched(victim, memory=300 * MIB):
        for patch in (deeper, larger):
            answer = victim.http("PATCH", f"{MAPS}/doubled", patch, content_type="application/json-patch+json")
            assert answer.code in (400, 413, 422), answer.text[:500]


def test_what_was_acknowledged_can_be_read_back(victim):
    assert victim.http("POST", CRDS, KINDS).code in (201, 409)
    kept = []
    for levels in (100, 180, 185, 190, 195, 199):
        body = f'{{"apiVersion":"hostile.example.com/v1","kind":"Deep","metadata":{{"name":"d{levels}"}},"more":{nested(levels - 1)}}}'
        answer = victim.http("POST", DEEP, body)
        assert answer.code in (201, 400), answer.text[:500]
        kept += [f"d{levels}"] if answer.code == 201 else []
    assert "d100" in kept and "d199" not in kept
    grow = [{"op": "copy", "from": "/more", "path": "/more" + "/a" * 99}]
    assert victim.http("PATCH", f"{DEEP}/d100", grow, content_type="application/json-patch+json").code in (400, 422)
    victim.process.send_signal(signal.SIGKILL)
    victim.process.wait(DEADLINE)
    victim.start(wrapper=victim.wrapper)
    assert [item["metadata"]["name"] for item in victim.get(DEEP)["items"]] == kept


@pytest.mark.parametrize("versions", ["absent", [], None, [None], "x"])
def test_definitions_without_versions(victim, versions):
    crd = json.loads(json.dumps(KINDS).replace("deeps", "nones").replace("Deep", "None"))
    crd["spec"]["versions"] = versions
    if versions == "absent":
        del crd["spec"]["versions"]
    answer = victim.http("POST", CRDS, crd)
    assert answer.code in (400, 422), answer.text
    check_alive(victim)


@pytest.mark.parametrize("kind", ["TaskRun", "PipelineRun"])
@pytest.mark.parametrize("spec", ["x", [], 3, {"taskRunTemplate": "x"}, {"timeouts": "x"}, {"podTemplate": "x"}, {"taskSpec": []}])
def test_runs_whose_members_are_of_the_wrong_type(victim, kind, spec):
    run = {"apiVersion": "tekton.dev/v1", "kind": kind, "metadata": {"name": "wrong"}, "spec": spec}
    answer = victim.http("POST", f"/apis/tekton.dev/v1/namespaces/default/{kind.lower()}s", run)
    assert answer.code in (400, 422), answer.text
    check_alive(victim)
