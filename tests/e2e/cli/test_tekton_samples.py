# SPDX-License-Identifier: Apache-2.0
"""Tekton's examples by name, on `athanor up` as it is: all are started at once, each has its end."""

import json

import pytest
from tekton_samples import TEKTON_MORE
from support import Lab, wait_for


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """The lab, and the name of each sample's run or what kubectl says of it."""
    one = Lab(tmp_path_factory.mktemp("tekton") / "lab", ["--storage", "memory"])
    try:
        one.start()
        needs = {json.dumps(need): need for sample in TEKTON_MORE.values() for need in sample.objects[:-1]}
        one.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(needs.values())}))
        runs = {}
        for name, sample in TEKTON_MORE.items():
            done = one.kubectl("create", "-f", "-", "-o", "name", stdin=json.dumps(sample.objects[-1]), code=None)
            runs[name] = done.out.strip() or done.err
        yield one, runs
    finally:
        one.close()


@pytest.mark.parametrize("name", TEKTON_MORE)
def test_a_tekton_sample(started, name):
    lab, runs = started
    sample, run = TEKTON_MORE[name], runs[name]
    if sample.end == "Refused":
        assert sample.says in run
        return
    assert ".tekton.dev/" in run, run

    def status():
        return json.loads(lab.kubectl("get", run, "-n", "default", "-o", "json").out).get("status", {})

    if sample.end == "Stuck":
        wait_for("the reason", lambda: sample.says in json.dumps(json.loads(lab.kubectl("get", "pods", "-n", "default", "-l", f"tekton.dev/taskRun={run.split('/')[1]}", "-o", "json").out)))
        return
    ended = wait_for("an end", lambda: next((one for one in status().get("conditions", []) if one["type"] == "Succeeded" and one["status"] != "Unknown"), None))
    assert (ended["status"] == "True") == (sample.end == "Succeeded"), ended
    if sample.says:
        assert sample.says in json.dumps(status()) + lab.kubectl("get", "events", "-n", "default", "-o", "json").out, ended
