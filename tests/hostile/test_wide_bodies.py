# SPDX-License-Identifier: Apache-2.0
"""Bodies of 2 to 3 MB whose work must not grow with the square of their size, and requests that must end under way."""

import json
import signal
import threading
import time

import pytest
from attackers import MIB, connect, watched, within

MAPS = "/api/v1/namespaces/default/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDE = "/apis/hostile.example.com/v1/namespaces/default/wides"
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
KIND = {
    "metadata": {"name": "wides.hostile.example.com"},
    "spec": {
        "group": "hostile.example.com",
        "scope": "Namespaced",
        "names": {"plural": "wides", "kind": "Wide"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": OPEN}}],
    },
}
PATCHES = ("application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json")
JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH = PATCHES
APPLY = "application/apply-patch+yaml"


@pytest.fixture(scope="module")
def wide(victim, size):
    """An object with one wide list and one wide map."""
    assert victim.http("POST", CRDS, KIND).code in (201, 409)
    count = size(30_000, 90_000)
    body = {
        "apiVersion": "hostile.example.com/v1",
        "kind": "Wide",
        "metadata": {"name": "w"},
        "list": [0] * (count * 5),
        "map": {f"k{i}": "v" for i in range(count)},
    }
    deadline = time.monotonic() + within(60)
    while (answer := victim.http("POST", WIDE, json.dumps(body, separators=(",", ":")))).code == 404 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert answer.code == 201, answer.text[:500]
    return count


def operations(kind, count, wide):
    every = max(1, wide // count)
    if kind == "list":
        return [{"op": "add", "path": "/list/0", "value": 1} if i % 2 else {"op": "remove", "path": "/list/0"} for i in range(count)]
    if kind == "map":
        return [{"op": "replace", "path": f"/map/k{i * every}", "value": "w"} for i in range(count)]
    return [{"op": "move", "from": f"/map/k{i}", "path": f"/map/m{i}"} for i in range(count)]


@pytest.mark.parametrize("kind", ["list", "map", "moves"])
def test_json_patches_of_many_operations(victim, wide, kind):
    patch = operations(kind, 9_999, wide)
    with watched(victim, memory=500 * MIB):
        began = time.monotonic()
        answer = victim.http("PATCH", f"{WIDE}/w?dryRun=All", patch, content_type=JSON_PATCH)
        assert answer.code == 200, answer.text[:500]
        assert time.monotonic() - began < within(20)


@pytest.mark.parametrize("kind", [MERGE_PATCH, STRATEGIC_PATCH, APPLY])
def test_patches_of_wide_maps(victim, size, kind):
    count = size(20_000, 60_000)
    name = f"wide-{PATCHES.index(kind) if kind in PATCHES else 'apply'}"
    half = {f"key-{i:06}": "a" for i in range(0, count, 2)}
    whole = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {f"key-{i:06}": "b" for i in range(count)}}
    manager = "?fieldManager=f&force=true" if kind == APPLY else ""
    made = victim.http("POST", MAPS, {"metadata": {"name": name}, "data": half})
    assert made.code == 201, made.text[:500]
    with watched(victim, memory=700 * MIB):
        began = time.monotonic()
        for _ in range(2):
            answer = victim.http("PATCH", f"{MAPS}/{name}{manager}", whole, content_type=kind)
            assert answer.code in (200, 413), answer.text[:500]
            whole["data"] = {key: "c" for key in whole["data"]}
        assert time.monotonic() - began < within(40)
    assert victim.http("DELETE", f"{MAPS}/{name}").code == 200


def test_repeated_keys_below_a_long_one(victim, size):
    """A message that named each with its path would have 100 GB."""
    count = size(20_000, 100_000)
    repeated = ",".join(f'"a":1,"b{i}":1,"b{i}":1' for i in range(count // 4))
    body = '{"metadata":{"name":"repeated"},"%s":{%s}}' % ("k" * 10 * count, repeated)
    with watched(victim, memory=200 * MIB):
        for validation, code in (("Warn", 201), ("Strict", 400), ("Ignore", 201)):
            answer = victim.http("POST", f"{MAPS}?dryRun=All&fieldValidation={validation}", body)
            assert answer.code == code, answer.text[:500]


def test_equal_ports(victim, size):
    """One warning for each pair would be 50 million."""
    container = {"name": "c", "image": "i", "ports": [{"containerPort": 1}] * size(10_000, 60_000)}
    pod = {"metadata": {"name": "ports"}, "spec": {"containers": [container]}}
    with watched(victim, memory=300 * MIB):
        answer = victim.http("POST", "/api/v1/namespaces/default/pods?dryRun=All", pod)
        assert answer.code == 201, answer.text[:500]


def names(count, value="1"):
    return {f"a.b/k{i}": value for i in range(count)}


def pod_spec(**more):
    return {"containers": [{"name": "c", "image": "i", **more}]}


# Two wide parts that the rules of a kind compare with each other, by its path.
WIDE_PARTS = {
    "limit ranges": ("/api/v1/namespaces/default/limitranges", lambda n: {"spec": {"limits": [
        {"type": "Container", "max": names(n), "min": names(n), "default": names(n), "maxLimitRequestRatio": names(n)}]}}),  # fmt: skip
    "config maps": (MAPS, lambda n: {"data": {f"a{i}": "1" for i in range(n)}, "binaryData": {f"b{i}": "MQ==" for i in range(n)}}),
    "secrets": ("/api/v1/namespaces/default/secrets", lambda n: {"data": {f"a{i}": "MQ==" for i in range(n)}, "stringData": {f"b{i}": "1" for i in range(n)}}),
    "selectors": ("/apis/apps/v1/namespaces/default/deployments", lambda n: {"spec": {
        "selector": {"matchLabels": names(n)}, "template": {"metadata": {"labels": names(n)}, "spec": pod_spec()}}}),  # fmt: skip
    "resources": ("/api/v1/namespaces/default/pods", lambda n: {"spec": pod_spec(resources={"limits": names(n), "requests": names(n)})}),
    "mounts": ("/api/v1/namespaces/default/pods", lambda n: {"spec": pod_spec(
        volumeMounts=[{"name": "v", "mountPath": f"/m{i}"} for i in range(n)],
        volumeDevices=[{"name": f"d{i}", "devicePath": f"/d{i}"} for i in range(n)])}),  # fmt: skip
    "custom": (WIDE, lambda n: {"apiVersion": "hostile.example.com/v1", "kind": "Wide", **{f"k{i}": 1 for i in range(2 * n)}}),
}


@pytest.mark.parametrize("what", WIDE_PARTS)
def test_wide_parts_that_are_compared(victim, wide, size, what):
    """Lookups name by name in a list of names took 90 s for limit ranges of 24,000 resources."""
    path, body = WIDE_PARTS[what]
    text = json.dumps({"metadata": {"name": "parts"}, **body(size(8_000, 20_000))}, separators=(",", ":"))
    with watched(victim, memory=500 * MIB):
        began = time.monotonic()
        answer = victim.http("POST", f"{path}?dryRun=All", text)
        assert answer.code == (422 if what == "mounts" else 201), answer.text[:500]
        assert time.monotonic() - began < within(20)


def test_a_request_ends_when_its_time_is_over(victim, wide):
    """A timeout below what the patch takes: 504, and nothing was written."""
    before = victim.http("GET", f"{WIDE}/w").json["metadata"]["resourceVersion"]
    patch = operations("map", 9_999, wide)
    answer = victim.http("PATCH", f"{WIDE}/w?timeout=5ms", patch, content_type=JSON_PATCH)
    assert answer.code == 504, answer.text[:500]
    assert answer.json["reason"] == "Timeout"
    assert victim.http("GET", f"{WIDE}/w").json["metadata"]["resourceVersion"] == before


def send_patch(lab, path, body):
    """Sends a request of that size and reads nothing."""
    sock = connect(lab, anonymous=False)
    token = f"Authorization: Bearer {lab.token}\r\n" if lab.token else ""
    head = f"PATCH {path} HTTP/1.1\r\nHost: a\r\n{token}Content-Type: {JSON_PATCH}\r\nContent-Length: {len(body)}\r\n\r\n"
    sock.sendall(head.encode() + body)
    return sock


def test_clients_that_go_away(victim, wide, size):
    body = json.dumps(operations("moves", 9_999, wide)).encode()
    with watched(victim, memory=700 * MIB):
        for _ in range(size(10, 100)):
            send_patch(victim, f"{WIDE}/w?dryRun=All", body).close()


def test_sigterm_ends_the_program_in_time(own_victim, size):
    """With requests under way on every worker, and clients that read nothing."""
    assert own_victim.http("POST", CRDS, KIND).code == 201
    count = size(30_000, 90_000)
    body = json.dumps({"apiVersion": "hostile.example.com/v1", "kind": "Wide", "metadata": {"name": "w"}, "map": {f"k{i}": "v" for i in range(count)}})
    deadline = time.monotonic() + within(60)
    while own_victim.http("POST", WIDE, body).code != 201 and time.monotonic() < deadline:
        time.sleep(0.1)
    patch = json.dumps(operations("moves", 9_999, count)).encode()
    over = threading.Event()

    def loop():
        while not over.is_set():
            try:
                sock = send_patch(own_victim, f"{WIDE}/w?dryRun=All", patch)
                sock.settimeout(0.5)
                sock.recv(1)
            except OSError:
                over.wait(0.1)
            else:
                sock.close()

    threads = [threading.Thread(target=loop, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    began = time.monotonic()
    own_victim.process.send_signal(signal.SIGTERM)
    code = own_victim.process.wait(within(30))
    took = time.monotonic() - began
    over.set()
    assert took < within(7), f"{took:.1f} s"
    assert code == 0, own_victim.err[-2000:]
