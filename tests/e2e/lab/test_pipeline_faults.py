# SPDX-License-Identifier: Apache-2.0
"""Faults of pipelines: restarts of the lab, sidecars that do not end, secrets of other runs."""

import signal
import time

import pytest
from pipeline_runs import outcome, over
from support import wait_for

RUNS = "/apis/tekton.dev/v1/namespaces/{}/{}s"


def post(lab, kind, name, spec, ns="default"):
    body = {"apiVersion": "tekton.dev/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    answer = lab.http("POST", RUNS.format(ns, kind.lower()), body)
    assert answer.code == 201, answer.text


def phase(lab, name, ns="default"):
    answer = lab.http("GET", f"/api/v1/namespaces/{ns}/pods/{name}")
    return answer.json["status"].get("phase") if answer.code == 200 else None


def step(script, **more):
    return {"name": "s", "image": "bash", "script": f"#!/bin/bash\n{script}\n", **more}


@pytest.mark.parametrize("moment", ["work", "last"])
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_finally_runs_once_across_a_restart(make_lab, moment, how):
    lab = make_lab().start()
    long = 'echo "$(context.pipelineRun.name)-begins"; sleep 2'
    pause = {"work": (long, "echo once"), "last": ("exit 1", f"echo once; {long}")}[moment]
    spec = {"pipelineSpec": {part: [{"name": name, "taskSpec": {"steps": [step(script)]}}] for part, name, script in (("tasks", "work", pause[0]), ("finally", "last", pause[1]))}}
    post(lab, "PipelineRun", "run", spec)
    wait_for("the step runs", lambda: phase(lab, f"run-{moment}-pod") == "Running")
    lab.stop(how)
    lab.start()
    run = over(lab, "pipelineruns", "run")
    names = sorted(one["pipelineTaskName"] for one in run["status"]["childReferences"])
    assert names == ["last", "work"]
    runs = lab.http("GET", RUNS.format("default", "taskrun")).json["items"]
    assert sorted(one["metadata"]["name"] for one in runs) == ["run-last", "run-work"]
    assert lab.kubectl("logs", "run-last-pod").out.count("once") == 1


def test_a_sidecar_does_not_keep_its_run_alive(lab, ns):
    sidecar = {"name": "stays", "image": "bash", "script": "#!/bin/bash\ntrap '' TERM\nwhile :; do sleep 1; done\n"}
    begun = time.monotonic()
    post(lab, "TaskRun", "with-sidecar", {"taskSpec": {"sidecars": [sidecar], "steps": [step("echo done")]}}, ns)
    condition = outcome(lab, "taskruns", "with-sidecar", ns)
    assert condition["status"] == "True", condition
    assert time.monotonic() - begun < 25, "the run waited for the end of its sidecar's grace"


def test_secrets_of_a_run_do_not_reach_another(lab, ns):
    word = "sesame-of-the-first"
    assert lab.http("POST", f"/api/v1/namespaces/{ns}/secrets", {"metadata": {"name": "first"}, "stringData": {"word": word}}).code == 201
    env = [{"name": "WORD", "valueFrom": {"secretKeyRef": {"name": "first", "key": "word"}}}]
    volumes = [{"name": "v", "secret": {"secretName": "first"}}]
    holder = step('[ "$WORD" = "$(cat /secret/word)" ]\necho "$WORD" > /tmp/own\nexec sleep 1000', env=env, volumeMounts=[{"name": "v", "mountPath": "/secret"}])
    post(lab, "TaskRun", "holder", {"taskSpec": {"volumes": volumes, "steps": [holder]}}, ns)
    wait_for("the holder runs", lambda: phase(lab, "holder-pod", ns) == "Running")
    # The word is in two parts, so that the search does not find its own text.
    search = 'word="sesame-of-""the-first"\nenv | grep -s "$word" && exit 1\ngrep -rsqF "$word" /tekton /workspace /tmp /var/tmp /run /secret /dev/shm && exit 2\ngrep -sqF "$word" /proc/*/environ && exit 3\nexit 0'
    post(lab, "TaskRun", "finder", {"taskSpec": {"steps": [step(search)]}}, ns)
    condition = outcome(lab, "taskruns", "finder", ns)
    assert condition["status"] == "True", condition
    assert phase(lab, "holder-pod", ns) == "Running"
