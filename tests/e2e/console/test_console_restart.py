# SPDX-License-Identifier: Apache-2.0
"""An API server that restarts under a running console: streams go on, nothing is lost or shown twice (T10)."""

import http.client
import json
import threading

from console_client import ConsoleProcess
from support import JOBS, free_port, wait_for

JOB = {"owner": "restart", "cluster": "cluster-1", "forge": {"project": "testproj/llmd", "args": ["a"]}}


class Stream:
    """Lines of one open stream, read by a thread."""

    def __init__(self, console, topics):
        self.text = ""
        self.ended = False
        self.connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=600)
        self.connection.request("GET", f"/api/v1/stream?topics={topics}", headers={"Host": console.host})
        self.answer = self.connection.getresponse()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            while line := self.answer.readline():
                self.text += line.decode()
        except (OSError, http.client.HTTPException, ValueError, AttributeError):
            pass
        self.ended = True

    def links(self):
        """What the stream says of the API server, in order: true while it answers."""
        events = [block.split("\n") for block in self.text.split("\n\n") if block.startswith("event: state")]
        return [json.loads(line[6:])["connected"] for block in events for line in block if line.startswith("data: ")]


def test_an_api_server_restarts_under_a_console(make_lab, tmp_path):
    lab = make_lab("--pods", "timed")
    lab.port = free_port()
    lab.start()
    (tmp_path / "console").mkdir()
    console = ConsoleProcess(lab, tmp_path / "console")
    try:
        lab.submit(JOB, name="before")
        lab.wait_phase("before", "Succeeded")

        def rows():
            return sorted((row["name"], row["phase"]) for row in console.get("/api/v1/jobs?limit=1000")["items"])

        wait_for("the job's row", lambda: rows() == [("before", "Succeeded")])
        stream = Stream(console, "jobs")
        wait_for("the link", lambda: stream.links()[-1:] == [True])

        lab.stop()
        wait_for("the notice", lambda: stream.links()[-1:] == [False])
        assert rows() == [("before", "Succeeded")], "the last state stays"
        system = console.get("/api/v1/system")
        assert not system["api"]["connected"] and system["api"]["error"], system["api"]
        lag = lambda: next(one["lagSeconds"] for one in console.get("/api/v1/system")["watches"] if one["kind"] == "fournosjobs")  # noqa: E731
        wait_for("the lag of the watch", lambda: lag() > 2)
        assert "athanor_console_watch_lag_seconds{resource=\"fournosjobs\"}" in console.request("GET", "/metrics")[1].decode()
        assert "athanor_console_connected 0\n" in console.request("GET", "/metrics")[1].decode()
        answer, data = console.request("POST", f"/api/v1/jobs/{JOBS}/before/rerun", {})
        assert answer.status in (500, 502, 503, 504), (answer.status, data)

        lab.start()
        wait_for("the link again", lambda: stream.links()[-1:] == [True])
        lab.submit(JOB, name="after")
        wait_for("its change on the same stream", lambda: '"after"' in stream.text)
        assert not stream.ended
        wait_for("a watch that is not behind", lambda: lag() < 1)
        lab.wait_phase("after", "Succeeded")
        wait_for("both jobs, each once", lambda: rows() == [("after", "Succeeded"), ("before", "Succeeded")])
        wait_for("both in the history", lambda: console.get("/api/v1/system")["history"]["jobs"] == 2)
    finally:
        console.stop()
