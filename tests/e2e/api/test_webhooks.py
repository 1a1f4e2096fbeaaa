# SPDX-License-Identifier: Apache-2.0
"""Servers outside the lab: admission webhooks, conversion webhooks and an aggregated API, all one Python HTTPS server."""

import base64
import http.server
import json
import ssl
import threading

import pytest

from support import DEADLINE, wait_for

VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, body, code=200):
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, review, self.headers.get("User-Agent")))
        request = review["request"]
        response = {"uid": request["uid"], "allowed": True}
        path = self.path.split("?")[0]
        if path == "/deny":
            response |= {"allowed": False, "status": {"code": 403, "reason": "Forbidden", "message": "no way"}}
        elif path == "/label":
            labels = request["object"]["metadata"].get("labels") or {}
            patch = [{"op": "add", "path": "/metadata/labels", "value": labels | {"hooked": "yes"}}]
            response |= {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
        elif path == "/slow":
            self.server.slow.wait(DEADLINE)
        elif path == "/convert":
            objects = [dict(o, apiVersion=request["desiredAPIVersion"]) for o in request["objects"]]
            response = {"uid": request["uid"], "convertedObjects": objects, "result": {"status": "Success"}}
        self.reply({"kind": review["kind"], "apiVersion": review["apiVersion"], "response": response})

    def do_GET(self):
        self.server.asked.append((self.path, None, self.headers.get("X-Remote-User")))
        resource = {"name": "things", "singularName": "thing", "namespaced": False, "kind": "Thing", "verbs": ["get", "list"]}
        if self.path.split("?")[0] == "/apis/other.ex.com/v1":
            return self.reply({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "other.ex.com/v1", "resources": [resource]})
        user = self.headers.get("X-Remote-User")
        subject = self.connection.getpeercert() or {}
        name = dict(pair[0] for pair in subject.get("subject", ())).get("commonName")
        item = {"kind": "Thing", "apiVersion": "other.ex.com/v1", "metadata": {"name": "one"}, "user": user, "peer": name}
        return self.reply({"kind": "ThingList", "apiVersion": "other.ex.com/v1", "metadata": {}, "items": [item]})


class Server(http.server.ThreadingHTTPServer):
    """Serves with the lab's own certificate (127.0.0.1 is among its names), and takes the front proxy's."""

    daemon_threads = True

    def __init__(self, lab):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = []
        self.slow = threading.Event()  # what is asked at /slow is answered from now on
        pki = next(lab.data.rglob("front-proxy-ca.crt")).parent
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pki / "apiserver.crt", pki / "apiserver.key")
        context.load_verify_locations(pki / "front-proxy-ca.crt")
        context.verify_mode = ssl.CERT_OPTIONAL
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.ca = base64.b64encode((pki / "ca.crt").read_bytes()).decode()
        self.url = f"https://127.0.0.1:{self.server_address[1]}"


@pytest.fixture
def hooks(lab):
    server = Server(lab)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.slow.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def configure(lab, hooks, ns):
    made = []

    def make(kind, path, **more):
        name = f"{ns}-{len(made)}"
        hook = {
            "name": f"hook-{len(made)}.ex.com",
            "clientConfig": {"url": hooks.url + path, "caBundle": hooks.ca},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ns}},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        } | more
        answer = lab.http("POST", kind, {"metadata": {"name": name}, "webhooks": [hook]})
        assert answer.code == 201, answer.text
        made.append(f"{kind}/{name}")

    yield make
    for path in made:
        lab.http("DELETE", path)


def create(lab, ns, name):
    return lab.http("POST", f"/api/v1/namespaces/{ns}/configmaps", {"metadata": {"name": name}})


def test_webhooks_change_and_refuse_writes(lab, hooks, ns, configure):
    configure(MUTATING, "/label")
    answer = create(lab, ns, "one")
    assert answer.code == 201 and answer.json["metadata"]["labels"] == {"hooked": "yes"}
    assert hooks.asked[0][2] == "kube-apiserver-admission"
    configure(VALIDATING, "/deny")
    answer = create(lab, ns, "two")
    assert answer.code == 403
    assert answer.json["message"] == 'admission webhook "hook-1.ex.com" denied the request: no way'


def test_failures_are_told_as_go_tells_them(lab, hooks, ns, configure):
    configure(VALIDATING, "/slow", timeoutSeconds=1)
    answer = create(lab, ns, "one")
    prefix = 'Internal error occurred: failed calling webhook "hook-0.ex.com": failed to call webhook: '
    assert (answer.code, answer.json["message"]) == (500, f'{prefix}Post "{hooks.url}/slow?timeout=1s": context deadline exceeded')


def test_nobody_waits_for_a_slow_webhook(lab, hooks, ns, configure):
    configure(VALIDATING, "/slow", timeoutSeconds=30)
    slow = [threading.Thread(target=create, args=(lab, ns, f"slow-{i}")) for i in range(8)]
    for thread in slow:
        thread.start()
    wait_for("the webhook is being called", lambda: len(hooks.asked) == 8)
    assert lab.http("GET", f"/api/v1/namespaces/{ns}/configmaps").code == 200
    assert all(thread.is_alive() for thread in slow), "two workers, eight waiting writes"
    hooks.slow.set()
    for thread in slow:
        thread.join()
    assert len(lab.get(f"/api/v1/namespaces/{ns}/configmaps")["items"]) >= 8


def test_services_lead_to_their_endpoint(lab, hooks, ns, configure):
    port = hooks.server_address[1]
    service = {"metadata": {"name": "kubernetes", "annotations": {"athanor.dev/endpoint": f"127.0.0.1:{port}"}}, "spec": {"ports": [{"port": 443}]}}
    assert lab.http("POST", f"/api/v1/namespaces/{ns}/services", service).code == 201
    configure(VALIDATING, "", clientConfig={"service": {"name": "kubernetes", "namespace": ns, "path": "/allow"}, "caBundle": hooks.ca})
    answer = create(lab, ns, "one")
    assert answer.code == 500, "the certificate names kubernetes.default.svc"
    assert f"x509: certificate is not valid for kubernetes.{ns}.svc" in answer.json["message"]


def test_custom_resources_are_converted(lab, hooks, ns):
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    crd = {
        "metadata": {"name": "gizmos.conv.ex.com"},
        "spec": {
            "group": "conv.ex.com",
            "scope": "Namespaced",
            "names": {"plural": "gizmos", "kind": "Gizmo"},
            "conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": f"{hooks.url}/convert", "caBundle": hooks.ca}}},
            "versions": [{"name": v, "served": True, "storage": v == "v1", "schema": schema} for v in ("v1", "v2")],
        },
    }
    assert lab.http("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).code == 201
    try:
        path = f"/apis/conv.ex.com/{{}}/namespaces/{ns}/gizmos"
        assert lab.http("POST", path.format("v1"), {"apiVersion": "conv.ex.com/v1", "kind": "Gizmo", "metadata": {"name": "a"}}).code == 201
        items = lab.get(path.format("v2"))["items"]
        assert [item["apiVersion"] for item in items] == ["conv.ex.com/v2"]
        assert hooks.asked[-1][0] == "/convert?timeout=30s"
    finally:
        lab.http("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gizmos.conv.ex.com")


def test_an_aggregated_api_is_served_through_the_lab(lab, hooks, ns):
    port = hooks.server_address[1]
    service = {"metadata": {"name": "other", "annotations": {"athanor.dev/endpoint": f"127.0.0.1:{port}"}}, "spec": {"ports": [{"port": 443}]}}
    assert lab.http("POST", f"/api/v1/namespaces/{ns}/services", service).code == 201
    api = {
        "metadata": {"name": "v1.other.ex.com"},
        "spec": {
            "group": "other.ex.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
            "insecureSkipTLSVerify": True, "service": {"name": "other", "namespace": ns},
        },
    }
    services = "/apis/apiregistration.k8s.io/v1/apiservices"
    assert lab.http("POST", services, api).code == 201
    try:
        wait_for("the API is available", lambda: [c for c in lab.get(f"{services}/v1.other.ex.com")["status"].get("conditions", []) if c["status"] == "True"])
        item = lab.get("/apis/other.ex.com/v1/things")["items"][0]
        assert (item["user"], item["peer"]) == ("kubernetes-admin", "front-proxy-client")
        assert "things" in lab.kubectl("api-resources", "--api-group=other.ex.com").out
    finally:
        lab.http("DELETE", f"{services}/v1.other.ex.com")
