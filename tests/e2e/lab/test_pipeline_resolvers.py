# SPDX-License-Identifier: Apache-2.0
"""Resolvers http and hub: definitions from a server, and servers that mean harm."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pipeline_runs import outcome
from support import Lab

TASK = b"""apiVersion: tekton.dev/v1
kind: Task
metadata: {name: far}
spec:
  params: [{name: word}]
  steps: [{name: s, image: bash, script: "echo far $(params.word)"}]
"""


PIPELINE = """apiVersion: tekton.dev/v1
kind: Pipeline
metadata: {name: far}
spec:
  tasks:
  - name: one
    params: [{name: word, value: piped}]
    taskRef: {resolver: hub, params: [{name: name, value: far}, {name: version, value: "0.1"}]}
"""


def hub_pages():
    """What a mirror of both hubs serves, by path."""
    artifact, tekton = "/hub/api/v1/packages", "/hub/v1/resource/tekton"
    return {
        f"{artifact}/tekton-task/tekton-catalog-tasks/far/0.1.0": {"name": "far", "data": {"manifestRaw": TASK.decode()}},
        f"{artifact}/tekton-pipeline/tekton-catalog-pipelines/far/0.1.0": {"name": "far", "data": {"manifestRaw": PIPELINE}},
        f"{artifact}/tekton-task/tekton-catalog-tasks/bare/0.1.0": {"name": "bare", "data": {"yaml": TASK.decode()}},
        f"{artifact}/tekton-task/tekton-catalog-tasks/list/0.1.0": [],
        f"{tekton}/task/far/0.1/yaml": {"data": {"yaml": TASK.decode()}},
        f"{tekton}/pipeline/far/0.1/yaml": {"data": {"yaml": PIPELINE}},
        f"{tekton}/task/bare/0.1/yaml": {"data": {"manifestRaw": TASK.decode()}},
    }


HUB_PAGES = {path: json.dumps(page).encode() for path, page in hub_pages().items()}


class Pages(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append(self.path)
        moved = {"/moved": "/task.yaml", "/loop": "/loop", "/metadata": "http://169.254.169.254/latest", "/elsewhere": f"http://localhost:{self.server.server_port}/task.yaml"}
        if self.path in moved:
            self.send_response(302)
            self.send_header("Location", moved[self.path])
            self.end_headers()
            return
        body = {"/task.yaml": TASK, "/huge": b"x" * (2 << 20), "/pod": b"kind: Pod", **HUB_PAGES}.get(self.path)
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
    return outcome(lab, "taskruns", name, ns)


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


@pytest.fixture(scope="module")
def hub_lab(pages, tmp_path_factory):
    lab = Lab(tmp_path_factory.mktemp("hub-lab") / "lab", ["--set", f"TEKTON_HUB_URL=http://127.0.0.1:{pages.server_port}/hub"])
    try:
        yield lab.start()
    finally:
        lab.close()


def run_of_hub(lab, kind, run, /, **params):
    ref = {"resolver": "hub", "params": [{"name": key, "value": value} for key, value in params.items()]}
    spec = {"taskRef": ref, "params": [{"name": "word", "value": "away"}]} if kind == "TaskRun" else {"pipelineRef": ref}
    path = f"/apis/tekton.dev/v1/namespaces/default/{kind.lower()}s"
    assert lab.http("POST", path, {"apiVersion": "tekton.dev/v1", "kind": kind, "metadata": {"name": run}, "spec": spec}).code == 201
    return outcome(lab, f"{kind.lower()}s", run)


def test_both_kinds_of_hubs_are_read(hub_lab):
    for number, more in enumerate(({}, {"type": "artifact"}, {"type": "tekton"})):
        for kind, said in (("TaskRun", "far away"), ("PipelineRun", "far piped")):
            name = f"{kind.lower()}-{number}"
            condition = run_of_hub(hub_lab, kind, name, name="far", version="0.1", **more)
            assert condition["status"] == "True", condition
            pod = f"{name}-pod" if kind == "TaskRun" else f"{name}-one-pod"
            assert hub_lab.kubectl("logs", "-n", "default", pod).out == f"{said}\n"


@pytest.mark.parametrize(
    "name, params, text",
    [
        ("gone", {}, "is not found (status 404)"),
        ("gone", {"type": "tekton"}, "is not found (status 404)"),
        ("bare", {}, "the hub's answer holds no data.manifestRaw"),
        ("bare", {"type": "tekton"}, "the hub's answer holds no data.yaml"),
        ("list", {}, "the hub's answer holds no data.manifestRaw"),
        ("far", {"type": "other"}, "type must be either 'artifact' or 'tekton'"),
        ("far", {"catalog": "../.."}, "param catalog is not a name"),
    ],
)
def test_wrong_answers_of_hubs_fail_the_run(hub_lab, name, params, text):
    condition = run_of_hub(hub_lab, "TaskRun", f"{name}-{len(params)}{params.get('type', '')}", name=name, version="0.1", **params)
    assert condition["reason"] == "TaskRunResolutionFailed" and text in condition["message"], condition
