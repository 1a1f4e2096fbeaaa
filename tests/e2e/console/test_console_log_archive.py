# SPDX-License-Identifier: Apache-2.0
"""Logs that outlive their pods, and streams of silent containers (docs/spec/dashboard.md L2, L4)."""

import contextlib
import http.client
import json
import sqlite3

import pytest
from console_client import ConsoleProcess
from support import JOBS, wait_for


@pytest.fixture(scope="module")
def console(lab, tmp_path_factory):
    one = ConsoleProcess(lab, tmp_path_factory.mktemp("archive"), CONSOLE_LOG_ARCHIVE_MB="1")
    wait_for("readiness", lambda: one.request("GET", "/readyz")[0].status == 200)
    yield one
    one.stop()


@pytest.fixture
def pod(lab):
    """pod("a", "echo x") makes a pod of the job of its name."""
    made = []

    def make(name, script, **spec):
        mounts = [{"name": one["name"], "mountPath": f"/{one['name']}"} for one in spec.get("volumes", ())]
        container = {"name": "c", "image": "busybox", "command": ["sh", "-c", script], "volumeMounts": mounts}
        body = {"metadata": {"name": name, "labels": {"fournos.dev/job-name": name}}, "spec": {"restartPolicy": "Never", "containers": [container], **spec}}
        assert lab.http("POST", f"/api/v1/namespaces/{JOBS}/pods", body).code == 201
        made.append(name)

    yield make
    for name in made:
        lab.kubectl("delete", "pod", name, "-n", JOBS, "--wait=false", "--ignore-not-found")


def kept(console, name):
    """A log as the archive has it, or None."""
    answer, data = console.request("GET", f"/api/v1/logs/{JOBS}/{name}/c?lines=200000", headers={"Accept": "application/json"})
    page = json.loads(data)
    return [line["text"] for line in page["lines"]] if answer.status == 200 and page["archived"] else None


def stored(console, name):
    """A log in the archive's file, also while its pod is there."""
    with contextlib.closing(sqlite3.connect(console.out_path.parent / "logs.db")) as database:
        return b"".join(row[0] for row in database.execute("SELECT text FROM athanor_logs WHERE pod = ?", [name])).decode()


def archive(lab, console, pod, name, script):
    """Runs a pod, and deletes it once its log is in the archive."""
    pod(name, script)
    wait_for("its end", lambda: lab.http("GET", f"/api/v1/namespaces/{JOBS}/pods/{name}").json["status"]["phase"] == "Succeeded")
    wait_for("its log in the archive", lambda: stored(console, name))
    lab.kubectl("delete", "pod", name, "-n", JOBS)


def test_the_oldest_logs_go_first(lab, console, pod):
    long = "i=0; while [ $i -lt 6000 ]; do echo " + "x" * 100 + "; i=$((i+1)); done"
    archive(lab, console, pod, "archive-first", long)
    assert len(wait_for("the first", lambda: kept(console, "archive-first"))) == 6000
    archive(lab, console, pod, "archive-second", long)
    assert len(wait_for("the second", lambda: kept(console, "archive-second"))) == 6000
    wait_for("room", lambda: kept(console, "archive-first") is None)
    assert console.get("/api/v1/system")["logs"]["bytes"] <= 1 << 20


def test_a_container_that_starts_again_is_archived_again(lab, console, pod):
    """The log of its last instance is kept, not only that of the first."""
    name, path = "archive-again", f"/api/v1/namespaces/{JOBS}/pods/archive-again"
    script = "if [ -e /kept/go ]; then echo second; exit; fi; echo first; until [ -e /kept/go ]; do sleep 0.1; done; exit 1"
    pod(name, script, restartPolicy="OnFailure", volumes=[{"name": "kept", "emptyDir": {}}])
    wait_for("its first line", lambda: "first" in lab.http("GET", f"{path}/log").text)
    ended = [{"op": "replace", "path": "/status/containerStatuses/0/state", "value": {"terminated": {"exitCode": 1}}}]  # as a kubelet says before it starts one again
    assert lab.http("PATCH", f"{path}/status", ended, content_type="application/json-patch+json").code == 200
    wait_for("the first in the archive", lambda: "first" in stored(console, name))
    lab.kubectl("exec", name, "-n", JOBS, "--", "touch", "/kept/go")
    wait_for("its end", lambda: lab.http("GET", path).json["status"]["phase"] == "Succeeded")
    assert lab.http("GET", path).json["status"]["containerStatuses"][0]["restartCount"] == 1
    wait_for("the second in the archive", lambda: "second" in stored(console, name))
    lab.kubectl("delete", "pod", name, "-n", JOBS)
    assert wait_for("its log", lambda: kept(console, name)) == ["second"]


def test_a_silent_stream_has_a_heartbeat(lab, console, pod):
    pod("archive-silent", "echo begun; exec sleep 600")
    wait_for("its start", lambda: lab.http("GET", f"/api/v1/namespaces/{JOBS}/pods/archive-silent").json["status"]["phase"] == "Running")
    connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=20)
    connection.request("GET", f"/api/v1/logs/{JOBS}/archive-silent/c?follow=1", headers={"Host": console.host})
    answer = connection.getresponse()

    def read_to(mark):
        while mark not in (line := answer.readline()):  # each within the connection's 20 s
            assert line, "the stream ended"

    for mark in (b"begun", b": heartbeat", b": heartbeat"):
        read_to(mark)
    connection.close()
