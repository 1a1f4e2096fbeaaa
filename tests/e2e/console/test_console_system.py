# SPDX-License-Identifier: Apache-2.0
"""Controllers on the page about the system: of the lab, or of an endpoint and a Lease (docs/spec/dashboard.md B4.12)."""

import http.server
import json
import threading

import pytest
from console_client import Console, ConsoleProcess
from support import wait_for

METRICS = 'workqueue_depth{name="fournosjob"} 4\nleader_election_master_status{name="athanor"} 1\n'
QUEUE = {"keys": [{"controller": "fournosjob", "key": "n/a", "state": "backoff", "error": "no answer", "failures": 3}], "controllers": {"fournosjob": {"waitsForLists": []}}}
WATCHES = [{"resource": "pods", "group": "", "listed": True, "watching": True, "lists": 1, "events": 7, "lagSeconds": 2.0, "quietSeconds": 3.5}]
READY = "[+]caches ok\n[+]apiserver ok\n"


@pytest.fixture
def endpoint():
    """What `athanor controllers` serves of itself."""
    pages = {"/metrics": METRICS, "/debug/queue": json.dumps(QUEUE), "/debug/watches": json.dumps(WATCHES), "/readyz": READY}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append((self.path, self.headers.get("Authorization")))
            body = pages.get(self.path.split("?")[0], "").encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    seen = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server, seen
    server.shutdown()
    server.server_close()


def test_a_lab_shows_its_own_controllers(lab):
    console = Console(lab)
    page = console.get("/api/v1/system")["controllers"]
    assert page["source"] == "this lab" and page["errors"] == [], page
    rows = {one["name"]: one for one in page["items"]}
    assert {"kubelet", "emulated-node", "node-lifecycle-controller"} <= set(rows), sorted(rows)
    assert all(isinstance(one["queue"], int) for one in rows.values())
    wait_for("no stuck controller", lambda: not [one for one in console.get("/api/v1/system")["controllers"]["items"] if one["state"] in ("stuck", "waiting")])
    assert page["ready"] and all(one["ok"] for one in page["ready"]), page["ready"]
    queue = json.loads(lab.kubectl("get", "--raw", "/debug/queue").out)
    assert set(queue["controllers"]) <= set(rows)


def test_an_endpoint_and_a_lease_are_shown(lab, endpoint, tmp_path):
    server, seen = endpoint
    lease = {"metadata": {"name": "console-leader"}, "spec": {"holderIdentity": "pod-1", "leaseDurationSeconds": 3600, "renewTime": "2026-01-01T00:00:00.000000Z"}}
    assert lab.http("POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases", lease).code == 201
    console = ConsoleProcess(lab, tmp_path, CONSOLE_CONTROLLERS_URL=f"http://127.0.0.1:{server.server_port}/", CONSOLE_CONTROLLERS_LEASE="default/console-leader")
    try:
        page = console.get("/api/v1/system")["controllers"]
        assert [(one["name"], one["state"], one["queue"], one["lastError"]) for one in page["items"]] == [("fournosjob", "failing", 4, "n/a: no answer")]
        assert [(one["kind"], one["lagSeconds"], one["quietSeconds"]) for one in page["watches"]] == [("pods", 2.0, 3.5)]
        assert page["leads"] and [one["ok"] for one in page["ready"]] == [True, True]
        assert (page["leader"]["holder"], page["leader"]["held"]) == ("pod-1", False), "it was renewed too long ago"
        assert {path.split("?")[0] for path, _ in seen} == {"/metrics", "/debug/queue", "/debug/watches", "/readyz"}
        assert all(token is None for _, token in seen), "no token goes to an endpoint without TLS"
        server.shutdown()
        server.server_close()
        page = wait_for("the errors", lambda: (found := console.get("/api/v1/system")["controllers"])["errors"] and found)
        assert page["items"] == [] and any("/metrics" in text for text in page["errors"]), page
        assert page["leader"]["holder"] == "pod-1"
    finally:
        console.stop()
        lab.http("DELETE", "/apis/coordination.k8s.io/v1/namespaces/default/leases/console-leader")


def test_without_an_endpoint_the_page_says_so(lab, tmp_path):
    console = ConsoleProcess(lab, tmp_path, CONSOLE_CONTROLLERS_LEASE="default/none")
    try:
        page = console.get("/api/v1/system")["controllers"]
        assert "CONSOLE_CONTROLLERS_URL" in page["absent"] and page["items"] == []
        assert any("default/none" in text for text in page["errors"]), page["errors"]
    finally:
        console.stop()
