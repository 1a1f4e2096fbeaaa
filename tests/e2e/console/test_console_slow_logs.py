# SPDX-License-Identifier: Apache-2.0
"""A reader that is slower than a log (docs/spec/dashboard.md B7 L3, A11 F4): what is skipped is said, and can be loaded."""

import json
import os
import re
import socket

import pytest
from console_client import Console
from support import DEADLINE, JOBS, wait_for

LINES = 45_000  # with their times below 10 MiB: a longer log is rotated
POD = "slow-reader"
GO = f"/tmp/slow-go-{os.getpid()}"  # where containers have no layer of their own, it is this machine's
SPEC = {"owner": "slow", "cluster": "cluster-1", "hardware": {"gpuType": "a100", "gpuCount": 9000}, "forge": {"project": "testproj/llmd", "args": ["a"]}}


@pytest.fixture(scope="module")
def console(lab):
    return Console(lab)


@pytest.fixture(scope="module")
def job(lab):
    """A job that waits for ever, whose pod writes many lines once a file is there."""
    lab.submit(SPEC, name="slow-log")
    script = f"until [ -e {GO} ]; do sleep 0.1; done; rm -f {GO}; seq {LINES} | sed 's/.*/line & {'x' * 160}/'"
    pod = {
        "metadata": {"name": POD, "labels": {"fournos.dev/job-name": "slow-log"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox", "command": ["sh", "-c", script]}]},
    }
    assert lab.http("POST", f"/api/v1/namespaces/{JOBS}/pods", pod).code == 201
    phase = lambda: lab.http("GET", f"/api/v1/namespaces/{JOBS}/pods/{POD}").json["status"]["phase"]  # noqa: E731
    wait_for("the pod", lambda: phase() == "Running")
    yield phase
    lab.kubectl("delete", "pod", POD, "-n", JOBS, "--wait=false")
    lab.kubectl("delete", "fournosjob", "slow-log", "-n", JOBS, "--wait=false")


def test_a_slow_reader_learns_what_was_skipped(lab, console, job):
    readers = {}
    for path in (f"/api/v1/logs/{JOBS}/{POD}/c?follow=1", f"/api/jobs/slow-log/logs/{POD}"):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.connect(("127.0.0.1", console.port))
        one.settimeout(DEADLINE)
        one.sendall(f"GET {path} HTTP/1.0\r\nHost: {console.host}\r\n\r\n".encode())
        readers[path] = one
    lab.kubectl("exec", "-n", JOBS, POD, "--", "touch", GO)
    wait_for("the end of the log", lambda: job() in ("Succeeded", "Failed"))
    assert job() == "Succeeded", lab.kubectl("logs", "-n", JOBS, POD, "--tail=3").out
    events, plain = (b"".join(iter(lambda one=one: one.recv(1 << 20), b"")).decode() for one in readers.values())
    for one in readers.values():
        one.close()
    gaps = [json.loads(data) for data in re.findall(r"event: gap\r?\ndata: (.*)", events)]
    lines = re.findall(r'"text":"line (\d+) ', events)
    assert gaps and sum(gap["skipped"] for gap in gaps) + len(lines) == LINES, (gaps, len(lines))
    assert lines[-1] == str(LINES) and all(gap["load"] for gap in gaps)
    answer, whole = console.request("GET", gaps[0]["load"])
    assert answer.status == 200 and b"line 2 " in whole, "the link loads what was skipped"
    skipped = re.findall(r"^data: ==== (\d+) lines skipped", plain, re.M)
    shown = re.findall(r"^data: line (\d+) ", plain, re.M)
    assert skipped and sum(map(int, skipped)) + len(shown) == LINES, (skipped, len(shown))
