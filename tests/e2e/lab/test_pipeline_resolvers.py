# SPDX-License-Identifier: Apache-2.0
"""Resolver http: tasks from a server, and servers that mean harm."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support import wait_for

TASK = b"""apiVersion: tekton.dev/v1
kind: Task
metadata: {name: far}
spec:
  params: [{name: word}]
  steps: [{name: s, image: bash, script: "echo far $(params.word)"}]
"""


class Pages(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append(self.path)
        moved = {"/moved": "/task.yaml", "/loop": "/loop", "/metadata": "http://169.254.169.254/latest", "/elsewhere": f"http://localhost:{self.server.server_port}/task.yaml"}
        if self.path in moved:
            self.send_response(302)
            self.send_header("Location", moved[self.path])
            self.end_headers()
            return
        body = {"/task.yaml": TASK, "/huge": b"x" * (2 << 20), "/pod": b"kind: Pod"}.get(self.path)
        self.send_response(200 if body else 404)
        self.end_headers()
        try:
            self.wfile.write(body or b"nothing")
        except OSError:
            pass

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def pages():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    server.seen = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def run(lab, ns, name, url):
    ref = {"resolver": "http", "params": [{"name": "url", "value": url}]}
    spec = {"taskRef": ref, "params": [{"name": "word", "value": "away"}]}
    body = {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": name}, "spec": spec}
    lab.http("POST", f"/apis/tekton.dev/v1/namespaces/{ns}/taskruns", body)

    def over():
        one = lab.http("GET", f"/apis/tekton.dev/v1/namespaces/{ns}/taskruns/{name}").json
        condition = one.get("status", {}).get("conditions", [{"status": "Unknown"}])[0]
        return condition["status"] != "Unknown" and condition

    return wait_for(f"{name} is over", over)


def test_a_task_is_fetched_and_run(lab, ns, pages):
    base = f"http://127.0.0.1:{pages.server_port}"
    assert run(lab, ns, "direct", f"{base}/task.yaml")["status"] == "True"
    assert lab.kubectl("logs", "-n", ns, "direct-pod").out == "far away\n"
    assert run(lab, ns, "moved", f"{base}/moved")["status"] == "True"
    source = lab.http("GET", f"/apis/tekton.dev/v1/namespaces/{ns}/taskruns/direct").json["status"]["provenance"]["refSource"]
    assert source == {"uri": f"{base}/task.yaml", "digest": {"sha256": hashlib.sha256(TASK).hexdigest()}}
    seen = len(pages.seen)
    assert run(lab, ns, "again", f"{base}/task.yaml")["status"] == "True"
    assert len(pages.seen) == seen, "an answer counts for ten minutes"


@pytest.mark.parametrize(
    "path, text",
    [
        ("gone", "is not found (status 404)"),
        ("huge", "exceeds the limit"),
        ("pod", "is no Task of tekton.dev"),
        ("loop", "redirects more than 5 times"),
        ("metadata", "neither the same server nor https"),
        ("elsewhere", "neither the same server nor https"),
    ],
)
def test_hostile_answers_fail_the_run(lab, ns, pages, path, text):
    condition = run(lab, ns, path, f"http://127.0.0.1:{pages.server_port}/{path}")
    assert condition["reason"] == "TaskRunResolutionFailed" and text in condition["message"], condition


def test_addresses_of_clouds_are_refused(lab, ns):
    condition = run(lab, ns, "cloud", "http://169.254.169.254/latest/meta-data")
    assert "link-local addresses" in condition["message"], condition
