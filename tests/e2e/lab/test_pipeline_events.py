# SPDX-License-Identifier: Apache-2.0
"""CloudEvents of runs: what a sink gets, a sink that is away for a while, and sinks that are refused."""

import collections
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support import wait_for

CONFIGS = "/api/v1/namespaces/tekton-pipelines/configmaps"
RUNS = "/apis/tekton.dev/v1/namespaces/default"


class Sink(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers["Ce-Id"]
        self.server.tries[key] += 1
        away = self.server.tries[key] <= self.server.away
        self.send_response(503 if away else 202)
        self.end_headers()
        if not away:
            self.server.events.append((dict(self.headers), json.loads(body)))

    def log_message(self, *args):
        pass


@pytest.fixture
def sink():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    server.events, server.tries, server.away = [], collections.Counter(), 0
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def configure(lab, name, data):
    answer = lab.http("PATCH", f"{CONFIGS}/{name}", {"data": data}, headers={"Content-Type": "application/merge-patch+json"})
    return answer


def put_run(lab, name, script):
    task = {"name": "only", "taskSpec": {"steps": [{"name": "s", "image": "bash", "script": script}]}}
    body = {"apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "metadata": {"name": name}, "spec": {"pipelineSpec": {"tasks": [task]}}}
    answer = lab.http("POST", f"{RUNS}/pipelineruns", body)
    assert answer.code == 201, answer.text


def types(sink, subject):
    return sorted(head["Ce-Type"] for head, _ in list(sink.events) if head["Ce-Subject"] == subject)


def test_a_sink_gets_each_change_once(make_lab, sink):
    lab = make_lab("--pods", "timed").start()
    url = f"http://127.0.0.1:{sink.server_port}/"
    assert configure(lab, "config-events", {"sink": url}).code == 200
    sink.away = 2  # of each event: the third attempt is accepted
    put_run(lab, "good", "exit 0")
    run = [f"dev.tekton.event.pipelinerun.{stage}.v1" for stage in ("running", "started", "successful")]
    wait_for("the run's events", lambda: types(sink, "good") == run)
    task = ["started", "successful"]
    wait_for("the task's events", lambda: {f"dev.tekton.event.taskrun.{stage}.v1" for stage in task} <= set(types(sink, "good-only")))
    head, body = next(one for one in sink.events if one[0]["Ce-Type"].endswith("pipelinerun.successful.v1"))
    assert head["Ce-Specversion"] == "1.0" and head["Content-Type"] == "application/json" and head["Ce-Time"] and head["Ce-Id"]
    assert head["Ce-Source"] == "/apis/tekton.dev/v1beta1/namespaces/default/pipelineruns/good"
    assert list(body) == ["pipelineRun"]
    assert body["pipelineRun"]["metadata"]["name"] == "good"
    assert body["pipelineRun"]["status"]["conditions"][0]["status"] == "True"
    assert len({head["Ce-Id"] for head, _ in sink.events}) == len(sink.events), "no event comes twice"
    assert all(sink.tries[head["Ce-Id"]] == 3 for head, _ in list(sink.events))

    assert configure(lab, "config-events", {"sink": ""}).code == 200
    put_run(lab, "quiet", "exit 0")
    wait_for("the quiet run's end", lambda: lab.http("GET", f"{RUNS}/pipelineruns/quiet").json["status"]["completionTime"])
    assert types(sink, "quiet") == types(sink, "quiet-only") == []

    assert configure(lab, "config-defaults", {"default-cloud-events-sink": url}).code == 200
    sink.away = 0
    put_run(lab, "old-way", "exit 0")
    wait_for("events of the old setting", lambda: "dev.tekton.event.pipelinerun.successful.v1" in types(sink, "old-way"))


def test_custom_runs_are_announced_behind_their_flag(make_lab, sink):
    lab = make_lab("--pods", "timed").start()
    assert configure(lab, "config-events", {"sink": f"http://127.0.0.1:{sink.server_port}/"}).code == 200
    path = "/apis/tekton.dev/v1beta1/namespaces/default/customruns"

    def custom(name):
        body = {"apiVersion": "tekton.dev/v1beta1", "kind": "CustomRun", "metadata": {"name": name}, "spec": {"customRef": {"apiVersion": "example.dev/v1", "kind": "Wait"}}}
        assert lab.http("POST", path, body).code == 201

    def judge(name, status):
        condition = {"type": "Succeeded", "status": status, "reason": "Own", "message": "by its controller"}
        patch = {"status": {"conditions": [condition]}}
        assert lab.http("PATCH", f"{path}/{name}/status", patch, headers={"Content-Type": "application/merge-patch+json"}).code == 200

    custom("silent")
    put_run(lab, "marker", "exit 0")
    wait_for("a later event", lambda: types(sink, "marker"))
    assert types(sink, "silent") == []
    assert configure(lab, "feature-flags", {"send-cloudevents-for-runs": "true"}).code == 200
    custom("loud")
    for status, stage in ((None, "started"), ("Unknown", "running"), ("False", "failed")):
        if status:
            judge("loud", status)
        wait_for(stage, lambda stage=stage: f"dev.tekton.event.customrun.{stage}.v1" in types(sink, "loud"))
    assert len(types(sink, "loud")) == 3


def test_sinks_that_are_no_sinks(make_lab):
    lab = make_lab("--pods", "timed").start()
    for data, text in (
        ({"sink": "ftp://there"}, "sink must be an http(s) URL"),
        ({"formats": ""}, "formats cannot be empty"),
        ({"formats": "cdevents"}, "invalid format: cdevents"),
        ({"formats": "tektonv1,tektonv1"}, "duplicate format: tektonv1"),
    ):
        answer = configure(lab, "config-events", data)
        assert answer.code == 400 and text in answer.text, answer.text
    assert configure(lab, "config-events", {"sink": "http://169.254.169.254/latest"}).code == 200
    put_run(lab, "cloud", "exit 0")

    def failures():
        events = lab.http("GET", "/api/v1/namespaces/default/events").json["items"]
        return [one["message"] for one in events if one["reason"] == "CloudEventFailed" and one["involvedObject"]["name"] == "cloud"]

    assert "link-local addresses" in wait_for("the refusal's event", failures)[0]
