# SPDX-License-Identifier: Apache-2.0
"""What idle viewers cost the API server (T5 of docs/spec/dashboard.md): streams of many viewers are fed by the watches of one, and ask for nothing."""

import http.client
import re
import time

import pytest
from console_client import ConsoleProcess
from support import Lab, wait_for

VIEWERS = 24
TOPICS = "jobs,workloads,clusters,appwrappers,nodes,schedules,mig,numa,queue,locks,problems"


@pytest.fixture(scope="module")
def idle(tmp_path_factory):
    """A lab without controllers, so that all requests are the console's, and its console."""
    lab = Lab(tmp_path_factory.mktemp("idle") / "lab", ["--storage", "memory", "--pods", "timed", "--controllers", "", "--console", "off"])
    try:
        lab.start()
        console = ConsoleProcess(lab, tmp_path_factory.mktemp("idle-console"))
        try:
            yield lab, console
        finally:
            console.stop()
    finally:
        lab.close()


def counters(lab):
    """Requests answered so far, and streams that are open now. The reading of them is a request, too."""
    text = lab.http("GET", "/metrics").text
    return [int(sum(float(value) for value in re.findall(rf"^{name}{{.*}} (\S+)", text, re.M))) for name in ("apiserver_request_total", "apiserver_longrunning_requests")]


def follow(console):
    """An open stream; lines are read from the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=60)
    connection.request("GET", f"/api/v1/stream?topics={TOPICS}", headers={"Host": console.host})
    answer = connection.getresponse()
    assert answer.status == 200
    return connection, answer


def read_to(answer, mark):
    while mark not in (line := answer.readline()):  # each within the connection's time
        assert line, "the stream ended"


def test_idle_viewers_ask_the_api_server_for_nothing(idle):
    lab, console = idle
    streams = [follow(console)]
    try:
        read_to(streams[0][1], b"event: bookmark")
        wait_for("the caches", lambda: all(one["listed"] or one.get("error") for one in console.get("/api/v1/system")["watches"]))
        _, watches = counters(lab)
        streams += [follow(console) for _ in range(VIEWERS - 1)]
        for _, answer in streams[1:]:
            read_to(answer, b"event: bookmark")
        wait_for("all viewers", lambda: console.get("/api/v1/system")["viewers"] == VIEWERS)
        before, now = counters(lab)
        assert now == watches, "viewers have opened watches"
        began = time.monotonic()
        for _, answer in streams:  # 15 s without a change
            read_to(answer, b": heartbeat")
        after, now = counters(lab)
        assert now == watches
        requests = after - before - 1  # without the first reading of the counters
        assert requests <= time.monotonic() - began, f"{requests} requests"
        assert console.get("/api/v1/system")["viewers"] == VIEWERS
    finally:
        for connection, _ in streams:
            connection.close()
