# SPDX-License-Identifier: Apache-2.0
"""Logs without end, files that are none, and readers who do not read."""

import contextlib
import os
import pathlib
import time

import pytest
from attackers import MIB, authorization, connect, watched, within
from support import wait_for

PODS = "/api/v1/namespaces/default/pods"


def run_pod(lab, name, script, **more):
    wait_for("the service account", lambda: lab.http("GET", "/api/v1/namespaces/default/serviceaccounts/default").code == 200)
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "bash", "command": ["/bin/sh", "-c", script]}], **more}
    answer = lab.http("POST", PODS, {"metadata": {"name": name}, "spec": spec})
    assert answer.code == 201, answer.text
    return answer.json["metadata"]["uid"]


def phase(lab, name):
    return lab.get(f"{PODS}/{name}")["status"].get("phase")


def folder_of(lab, uid):
    return pathlib.Path(lab.data) / "pods" / uid / "logs"


@pytest.fixture(scope="module")
def loud(running_victim, size):
    """A pod that has written a large log of numbered lines of 128 bytes."""
    mib = size(40, 1024)
    lines = mib * MIB // 128
    uid = run_pod(running_victim, "loud", f"seq -f '%0127.0f' {lines}")
    with watched(running_victim):
        wait_for("the log is written", lambda: phase(running_victim, "loud") == "Succeeded", within(300), 0.2)
    return lines, uid


def numbers(text):
    return [int(line) for line in text.splitlines()]


def test_a_log_rotates_as_a_kubelets(running_victim, loud):
    files = sorted(folder_of(running_victim, loud[1]).iterdir())
    assert len(files) == 5, files
    assert all(file.stat().st_size < 13 * MIB for file in files)


def test_reading_a_large_log(running_victim, loud):
    lines, _ = loud
    with watched(running_victim, memory=60 * MIB):
        answer = running_victim.http("GET", f"{PODS}/loud/log")
        assert answer.code == 200
        read = numbers(answer.text)
        assert read == list(range(read[0], lines + 1)), "the newest file, whole"
        assert len(answer.body) < 13 * MIB
        assert numbers(running_victim.http("GET", f"{PODS}/loud/log?tailLines=3").text) == [lines - 2, lines - 1, lines]
        assert len(running_victim.http("GET", f"{PODS}/loud/log?limitBytes=1000").body) == 1000
        assert running_victim.http("GET", f"{PODS}/loud/log?sinceTime=2999-01-01T00:00:00Z").text == ""
        assert numbers(running_victim.http("GET", f"{PODS}/loud/log?sinceSeconds=100000").text) == read


def test_readers_who_do_not_read(running_victim, loud, size):
    """Each costs a bounded buffer; who reads on after a while gets the rest."""
    with watched(running_victim, memory=120 * MIB), contextlib.ExitStack() as stack:
        for _ in range(size(30, 150)):
            sock = stack.enter_context(contextlib.closing(connect(running_victim, anonymous=False, receive_buffer=4096)))
            sock.sendall(f"GET {PODS}/loud/log HTTP/1.1\r\nHost: a\r\n{authorization(running_victim)}\r\n".encode())
        time.sleep(size(2, 10))
        late = stack.enter_context(contextlib.closing(running_victim.connection()))
        late.request("GET", f"{PODS}/loud/log", headers={"Authorization": f"Bearer {running_victim.token}"} if running_victim.token else {})
        answer = late.getresponse()
        first = answer.read(1000)
        time.sleep(7)  # longer than a watcher is waited for
        assert numbers((first + answer.read()).decode())[-1] == loud[0]


def test_following_across_files(running_victim, size):
    """What is written while somebody follows comes whole and in order, however often the file changes."""
    lines = size(25, 100) * MIB // 128
    run_pod(running_victim, "followed", f"sleep 1; seq -f '%0127.0f' {lines}; sleep 1")
    wait_for("it runs", lambda: phase(running_victim, "followed") in ("Running", "Succeeded"))
    with watched(running_victim, memory=60 * MIB):
        answer = running_victim.http("GET", f"{PODS}/followed/log?follow=true")
        read = numbers(answer.text)
    assert read[-1] == lines
    assert all(a < b for a, b in zip(read, read[1:]))
    assert len(read) > lines // 4, "it kept up with some files"


def test_files_of_a_step_that_are_none(running_victim):
    """Pipes, links and devices where the node looks: the run fails or goes on, and no other pod waits."""
    script = """cd /tekton/results; mkfifo pipe; ln -s /dev/zero device; ln -s /etc/passwd link
rm -rf /tekton/steps/step-a/exitCode; mkdir -p /tekton/steps/step-a; mkfifo /tekton/steps/step-a/exitCode /tekton/scripts/step-b"""
    results = [{"name": name} for name in ("pipe", "device", "link")]
    steps = [{"name": "a", "image": "bash", "script": "#!/bin/sh\n" + script}, {"name": "b", "image": "bash", "script": "#!/bin/sh\necho ran"}]
    run = {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": "odd"}, "spec": {"taskSpec": {"results": results, "steps": steps}}}
    path = "/apis/tekton.dev/v1/namespaces/default/taskruns"
    answer = running_victim.http("POST", path, run)
    assert answer.code == 201, answer.text
    with watched(running_victim, memory=60 * MIB):
        run_pod(running_victim, "other", "echo fine")
        wait_for("the other pod ends", lambda: phase(running_victim, "other") == "Succeeded")
        done = wait_for("the run ends", lambda: running_victim.get(f"{path}/odd")["status"].get("completionTime") and running_victim.get(f"{path}/odd"))
    assert not done["status"].get("results"), done["status"]
    assert os.path.exists("/etc/passwd")
