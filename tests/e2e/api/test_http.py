# SPDX-License-Identifier: Apache-2.0
"""Raw HTTPS: the answers that no polite client asks for (docs/spec/apiserver.md sections 2, 3, 5, 6, 8, 9)."""

import json
import time

import pytest
from support import DEADLINE

CORE = "/api/v1/namespaces/{ns}/configmaps"


def status(answer):
    body = answer.json
    assert body["kind"] == "Status" and body["status"] == "Failure" and body["code"] == answer.code
    return answer.code, body.get("reason"), body["message"]


@pytest.mark.parametrize("path", ["/nope", "/apis/nope.io", "/apis/nope.io/v1/x", "//api/v1"])
def test_unknown_paths_are_plain_text(lab, path):
    answer = lab.http("GET", path)
    assert (answer.code, answer.text) == (404, "404 page not found\n")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("path", ["/api/v2", "/api/v1/nopes", "/apis/apps/v9/deployments", "/apis/apps/v1/nopes", "/api/v1/namespaces/default/pods/x/nope"])
def test_unknown_resources_of_known_groups_are_a_status(lab, path):
    code, reason, message = status(lab.http("GET", path))
    assert (code, reason, message) == (404, "NotFound", "the server could not find the requested resource")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v1/namespaces/default/configmaps/x"),
        ("PUT", "/api/v1/namespaces/default/configmaps"),
        ("POST", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/namespaces"),
    ],
)
def test_methods_a_resource_does_not_have(lab, method, path):
    code, reason, message = status(lab.http(method, path, {}))
    assert (code, reason) == (405, "MethodNotAllowed")
    assert message == "the server does not allow this method on the requested resource"


@pytest.mark.parametrize(
    ("body", "content_type", "code", "reason", "text"),
    [
        ("{", "application/json", 400, "BadRequest", "the object provided is unrecognized (must be of type ConfigMap): "),
        ("nonsense", "application/json", 400, "BadRequest", "the object provided is unrecognized (must be of type ConfigMap): "),
        ("a: [", "application/yaml", 400, "BadRequest", ""),
        ('{"metadata":{"name":"t"},"data":{"a":1}}', "application/json", 400, "BadRequest", 'ConfigMap in version "v1" cannot be handled as a ConfigMap: '),
        ('{"kind":"Secret","apiVersion":"v1","metadata":{"name":"t"}}', "application/json", 400, "BadRequest", 'Secret in version "v1" cannot be handled as a ConfigMap: '),
        ("k8s", "application/vnd.kubernetes.protobuf", 400, "BadRequest", "the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        ("a=b", "application/x-www-form-urlencoded", 415, "UnsupportedMediaType",
         "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf"),
        ('{"data":{}}', "application/json", 422, "Invalid", 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required'),
        ('{"metadata":{"name":"A_b"}}', "application/json", 422, "Invalid",
         'ConfigMap "A_b" is invalid: metadata.name: Invalid value: "A_b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters'),
        ('{"metadata":{"name":"t","namespace":"other"}}', "application/json", 400, "BadRequest",
         "the namespace of the provided object does not match the namespace sent on the request"),
        ('{"metadata":{"name":"t","labels":{"-bad":"x"}}}', "application/json", 422, "Invalid", "name part must consist of alphanumeric characters"),
        ('{"metadata":{"name":"t","resourceVersion":"5"}}', "application/json", 500, None, "resourceVersion should not be set on objects to be created"),
    ],
)
def test_bodies(lab, ns, body, content_type, code, reason, text):
    answer = lab.http("POST", CORE.format(ns=ns), body, content_type=content_type)
    got = status(answer)
    assert got[0] == code and (reason is None or got[1] == reason), got
    assert text in got[2], got[2]


def test_a_custom_resource_takes_no_protobuf(lab, ns):
    answer = lab.http("POST", f"/apis/fournos.dev/v1/namespaces/{ns}/fournosjobs", b"k8s\0", content_type="application/vnd.kubernetes.protobuf")
    code, reason, message = status(answer)
    assert (code, reason) == (415, "UnsupportedMediaType")
    assert message == "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml"


def test_oversized_bodies(lab, ns):
    body = json.dumps({"metadata": {"name": "big"}, "data": {"a": "x" * (3 * 1024 * 1024)}})
    code, reason, message = status(lab.http("POST", CORE.format(ns=ns), body))
    assert (code, reason, message) == (413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728")
    assert lab.http("GET", "/readyz").code == 200
    patch = json.dumps([{"op": "add", "path": "/data/a", "value": "b"}] * 10_001)
    lab.http("POST", CORE.format(ns=ns), {"metadata": {"name": "ops"}})
    code, reason, message = status(lab.http("PATCH", CORE.format(ns=ns) + "/ops", patch, content_type="application/json-patch+json"))
    assert (code, reason) == (413, "RequestEntityTooLarge")
    assert message == "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"


@pytest.mark.parametrize(
    ("query", "code", "text"),
    [
        ("labelSelector=%3Dx", 400, "found '=', expected: !, identifier, or 'end of string'"),
        ("labelSelector=a%20b", 400, "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("fieldSelector=data.k%3D1", 400, '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"'),
        ("fieldSelector=bad", 400, "invalid selector: 'bad'; can't understand 'bad'"),
        ("resourceVersion=abc", 400, 'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'),
        ("limit=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("continue=broken&limit=1", 400, "continue"),
        ("resourceVersionMatch=Exact", 422, "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"),
        ("resourceVersion=1&resourceVersionMatch=Foo", 422, 'Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""'),
        ("sendInitialEvents=true", 422, "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"),
        ("watch=1&sendInitialEvents=true", 422, "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
        ("watch=1&timeoutSeconds=x", 400, ""),
        ("timeout=zz", 400, 'invalid timeout specified in the request URL - time: invalid duration "zz"'),
    ],
)
def test_bad_list_options(lab, ns, query, code, text):
    got = status(lab.http("GET", CORE.format(ns=ns) + "?" + query))
    assert got[0] == code and text in got[2], got


def test_a_resource_version_of_the_future(lab, ns):
    begin = time.monotonic()
    answer = lab.http("GET", CORE.format(ns=ns) + "?resourceVersion=999999999")
    assert time.monotonic() - begin > 2.5  # it may still come
    code, reason, message = status(answer)
    assert (code, reason) == (504, "Timeout")
    assert message.startswith("Timeout: Too large resource version: 999999999, current: ")
    assert answer.json["details"]["causes"] == [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]


@pytest.mark.parametrize(
    ("method", "query", "text"),
    [
        ("POST", "dryRun=Some", 'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"'),
        ("POST", "fieldValidation=Bad", 'fieldValidation: Unsupported value: "Bad": supported values: "", "Ignore", "Strict", "Warn"'),
        ("POST", "fieldManager=" + "m" * 129, "fieldManager: Too long: may not be more than 128 bytes"),
    ],
)
def test_bad_write_options(lab, ns, method, query, text):
    code, reason, message = status(lab.http(method, CORE.format(ns=ns) + "?" + query, {"metadata": {"name": "o"}}))
    assert (code, reason) == (422, "Invalid") and text in message, message


@pytest.mark.parametrize(
    ("content_type", "body", "code", "text"),
    [
        ("application/json-patch+json", {"op": "add"}, 400, "error decoding patch: "),
        ("application/json-patch+json", [{"op": "test", "path": "/data/a", "value": "no"}], 422, "the server rejected our request due to an error in our request"),
        ("application/merge-patch+json", "[]", 400, "error decoding patch: "),
        ("application/merge-patch+json", "", 400, "error decoding patch: unexpected end of JSON input"),
        ("application/json", {}, 415, "415: Unsupported Media Type"),
        ("application/merge-patch+json", {"metadata": {"resourceVersion": "1"}}, 409, "the object has been modified; please apply your changes to the latest version and try again"),
        ("application/merge-patch+json", {"metadata": {"name": "other"}}, 400, "the name of the object (other) does not match the name on the URL (p)"),
    ],
)
def test_bad_patches(lab, ns, content_type, body, code, text):
    lab.http("POST", CORE.format(ns=ns), {"metadata": {"name": "p"}, "data": {"a": "1"}})
    before = lab.get(CORE.format(ns=ns) + "/p")
    got = status(lab.http("PATCH", CORE.format(ns=ns) + "/p", body, content_type=content_type))
    assert got[0] == code and text in got[2], got
    assert lab.get(CORE.format(ns=ns) + "/p") == before


def test_apply_needs_a_manager(lab, ns):
    answer = lab.http("PATCH", CORE.format(ns=ns) + "/a", {}, content_type="application/apply-patch+yaml")
    code, _, message = status(answer)
    assert code == 422
    assert message == 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'


def test_strangers_and_forgers(lab):
    assert status(lab.http("GET", "/api/v1/namespaces", token="nonsense")) == (401, "Unauthorized", "Unauthorized")
    code, reason, message = status(lab.http("GET", "/api/v1/namespaces", anonymous=True))
    assert (code, reason) == (403, "Forbidden")
    assert message == 'namespaces is forbidden: User "system:anonymous" cannot list resource "namespaces" in API group "" at the cluster scope'
    assert lab.http("GET", "/version", anonymous=True).code == 200
    assert lab.http("GET", "/livez", anonymous=True).text == "ok"


def test_every_answer_has_its_headers(lab):
    answer = lab.http("GET", "/api/v1/namespaces/default", headers={"Audit-ID": "my-own-id"})
    assert answer.headers["Audit-Id"] == "my-own-id"
    assert answer.headers["Cache-Control"] == "no-cache, private" and answer.headers["Date"]
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.body.endswith(b"}\n") and b"\n  " not in answer.body
    assert b'\n  "' in lab.http("GET", "/api/v1/namespaces/default?pretty=true").body
    refused = status(lab.http("GET", "/api/v1/namespaces/default", headers={"Accept": "text/csv"}))
    assert refused[0] == 406 and refused[2].startswith("406: Not Acceptable\n\nAvailable representations: application/json")


def test_what_is_no_http_does_not_hurt(lab):
    connection = lab.connection()
    connection.connect()
    connection.sock.sendall(b"\x00\x01garbage\r\n\r\n")
    connection.sock.settimeout(10)
    answer = connection.sock.recv(64)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400")
    connection.close()
    assert lab.http("GET", "/readyz").code == 200


def test_names_conflicts_and_missing_things(lab, ns):
    path = CORE.format(ns=ns)
    lab.http("POST", path, {"metadata": {"name": "a"}})
    code, reason, message = status(lab.http("POST", path, {"metadata": {"name": "a"}}))
    assert (code, reason, message) == (409, "AlreadyExists", 'configmaps "a" already exists')
    assert status(lab.http("GET", path + "/zzz")) == (404, "NotFound", 'configmaps "zzz" not found')
    assert status(lab.http("POST", CORE.format(ns="nono"), {"metadata": {"name": "a"}}))[2] == 'namespaces "nono" not found'
    assert status(lab.http("PUT", path + "/a", {"metadata": {"name": "b"}}))[2] == "the name of the object (b) does not match the name on the URL (a)"
    assert lab.http("GET", CORE.format(ns="nono")).json["items"] == []


def test_a_watch_sees_every_change_once_and_in_order(lab, ns):
    path = CORE.format(ns=ns)
    version = lab.get(path)["metadata"]["resourceVersion"]
    query = f"{path}?watch=1&allowWatchBookmarks=true&resourceVersion={version}&fieldSelector=metadata.name%3Dw"
    connection = lab.connection()
    try:
        connection.request("GET", f"{query}&timeoutSeconds={DEADLINE:.0f}")
        stream = connection.getresponse()
        assert stream.status == 200
        lab.http("POST", path, {"metadata": {"name": "w"}})
        lab.http("POST", path, {"metadata": {"name": "unseen"}})
        lab.http("PATCH", path + "/w", {"data": {"a": "1"}}, content_type="application/merge-patch+json")
        lab.http("DELETE", path + "/w")
        changes = []
        while not changes or changes[-1]["type"] != "DELETED":
            event = json.loads(stream.readline())
            if event["type"] != "BOOKMARK":
                changes.append(event)
    finally:
        connection.close()
    assert [e["type"] for e in changes] == ["ADDED", "MODIFIED", "DELETED"]
    versions = [int(e["object"]["metadata"]["resourceVersion"]) for e in changes]
    assert versions == sorted(set(versions)) and versions[0] > int(version)
    # Another one from there sees the same, and hears how far it got before it ends.
    events = [json.loads(line) for line in lab.http("GET", f"{query}&timeoutSeconds=5").body.splitlines()]
    assert events[:3] == changes and {e["type"] for e in events[3:]} == {"BOOKMARK"}
    assert int(events[-1]["object"]["metadata"]["resourceVersion"]) >= versions[-1]


def test_the_legacy_watch_paths_stream_as_the_parameter_does(lab, ns):
    """docs/spec/apiserver.md 3: /api/v1/watch/namespaces/NS/configmaps[/NAME]."""
    path = CORE.format(ns=ns)
    for name in ("a", "b"):
        assert lab.http("POST", path, {"metadata": {"name": name}}).code == 201
    legacy = path.replace("/api/v1/", "/api/v1/watch/")

    def names(where):
        answer = lab.http("GET", f"{where}?timeoutSeconds=1")
        assert answer.code == 200, answer.text
        events = [json.loads(line) for line in answer.body.splitlines()]
        assert {e["type"] for e in events} == {"ADDED"}
        return {e["object"]["metadata"]["name"] for e in events}

    assert {"a", "b"} <= names(legacy)
    assert names(f"{legacy}/a") == {"a"}
