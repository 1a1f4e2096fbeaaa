# SPDX-License-Identifier: Apache-2.0
"""What one viewer may take of a console: sessions and followed logs (docs/spec/dashboard.md B9); others keep theirs."""

import http.client
import json

import pytest
from console_client import ConsoleProcess
from support import JOBS, wait_for
from test_console_access import Viewer

SESSIONS, LOGS = 100, 24  # kMostOfOneUser, kMostOfViewer


@pytest.fixture(scope="module")
def tokens(lab):
    """Tokens of two viewers, who may read everything."""
    found = []
    for name in ("greedy", "modest"):
        lab.kubectl("create", "serviceaccount", name, "-n", JOBS)
        lab.kubectl("create", "clusterrolebinding", name, "--clusterrole=view", f"--serviceaccount={JOBS}:{name}")
        found.append(lab.kubectl("create", "token", name, "-n", JOBS).out.strip())
    yield found
    lab.kubectl("delete", "clusterrolebinding", "greedy", "modest")


@pytest.fixture(scope="module")
def console(lab, tmp_path_factory):
    one = ConsoleProcess(lab, tmp_path_factory.mktemp("limits"), CONSOLE_AUTH="token")
    yield one
    one.stop()


def test_the_oldest_session_of_a_user_goes(console, tokens):
    """Sessions of one token end at the same time: the one that was opened first is the oldest."""
    other = Viewer(console, tokens[1])
    sessions = [Viewer(console, tokens[0]) for _ in range(SESSIONS + 2)]
    states = [one.request("GET", "/api/v1/session")[0].status for one in sessions]
    assert states == [401, 401] + [200] * SESSIONS
    assert other.request("GET", "/api/v1/session")[0].status == 200


@pytest.fixture
def talker(lab):
    """The path of a log that goes on."""
    command = ["sh", "-c", "while true; do echo word; sleep 0.5; done"]
    pod = {"metadata": {"name": "limits-talker"}, "spec": {"containers": [{"name": "c", "image": "busybox", "command": command}]}}
    assert lab.http("POST", f"/api/v1/namespaces/{JOBS}/pods", pod).code == 201
    yield f"/api/v1/logs/{JOBS}/limits-talker/c"
    lab.kubectl("delete", "pod", "limits-talker", "-n", JOBS, "--wait=false")


def test_one_viewer_leaves_logs_to_others(console, tokens, talker):
    greedy, modest = (Viewer(console, token) for token in tokens)
    wait_for("the log", lambda: b"word" in greedy.request("GET", talker)[1])
    open_ones = []

    def follow(viewer):
        connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=120)
        open_ones.append(connection)
        connection.request("GET", f"{talker}?follow=1", headers={"Host": console.host, "Cookie": viewer.cookie})
        return connection.getresponse()

    try:
        for _ in range(LOGS):
            assert follow(greedy).status == 200
        answer = follow(greedy)
        assert answer.status == 503
        assert json.loads(answer.read())["error"]["message"] == f"you follow {LOGS} logs already"
        other = follow(modest)
        assert "word" in "".join(other.readline().decode() for _ in range(6)), "another viewer"
        open_ones[0].close()

        def again():
            answer = follow(greedy)
            if answer.status != 200:
                answer.read()
            return answer.status == 200

        wait_for("the place that became free", again)
    finally:
        for one in open_ones:
            one.close()
