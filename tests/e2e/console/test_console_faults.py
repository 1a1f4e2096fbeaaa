# SPDX-License-Identifier: Apache-2.0
"""Faults around a console: kinds that the API server refuses, many viewers that do not read, a browser that slept."""

import http.client
import json
import pathlib
import re
import socket
import time
import urllib.parse

import playwright.sync_api
import pytest
from console_browser import chromium, console, make_console, tabs  # noqa: F401
from console_client import ConsoleProcess
from faulty_server import Door
from support import JOBS, ROOT, Lab, wait_for

SLOW, LABELS, CHANGES = 200, 300, 40
JOB = {"owner": "faults", "cluster": "cluster-1", "forge": {"project": "testproj/llmd", "args": ["a"]}}
REFUSED = re.compile(r"/(nodes|pods|workloads|pipelineruns|nodeaccelerators|resourceflavors|appwrappers)(\?|$)")


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    """A lab whose jobs take no time."""
    one = Lab(tmp_path_factory.mktemp("faults") / "lab", ["--pods", "timed"])
    try:
        one.start()
        yield one
    finally:
        one.close()


def test_half_of_the_kinds_are_forbidden(timed, tmp_path):
    """What is refused is named; all else works, and comes back by itself."""
    door = Door(timed, tmp_path)
    timed.submit(JOB, name="half")
    timed.wait_phase("half", "Succeeded")
    refuse = lambda _method, path: (403, "Forbidden", f"{path.split('?')[0]} is forbidden", {}) if REFUSED.search(path) else None  # noqa: E731
    folder = tmp_path / "console"
    folder.mkdir()
    with door.answering(refuse):
        console = ConsoleProcess(door, folder, FOURNOS_NAMESPACE=JOBS)  # noqa: F811
        try:
            assert [row["name"] for row in wait_for("the jobs", lambda: console.get("/api/v1/jobs")["items"])] == ["half"]
            watches = wait_for("the refusals", lambda: [one for one in console.get("/api/v1/system")["watches"] if "forbidden" in one.get("error", "")])
            assert {"nodes", "pods", "workloads"} <= {one["kind"].lower() + ("" if one["kind"].endswith("s") else "s") for one in watches}, watches
            features = {one["name"]: one for one in console.get("/api/v1/session")["features"]}
            assert not features["nodes"]["present"] and "may not list nodes" in features["nodes"]["reason"], features["nodes"]
            assert features["jobs"]["present"] and features["clusters"]["present"]
            for path in ("overview", "problems", "queue", "clusters", "locks", "nodes", "workloads", "mig", "numa", "appwrappers", "insights?range=7d", "gpus", "jobs/" + JOBS + "/half"):
                answer, data = console.request("GET", f"/api/v1/{path}")
                assert answer.status == 200, (path, answer.status, data[:300])
            door.answer = lambda _method, _path: None
            wait_for("the nodes", lambda: console.get("/api/v1/nodes")["items"], deadline=180)
        finally:
            console.stop()
            door.close()


def rss_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) / 1024


def test_slow_viewers_slow_no_one(timed, tmp_path):
    """Viewers that never read cost the server neither memory nor the time of others."""
    folder = tmp_path / "console"
    folder.mkdir()
    console = ConsoleProcess(timed, folder)  # noqa: F811
    viewers = []
    try:
        labels = {f"label-{i}": "x" * 60 for i in range(LABELS)}  # a row of 20 KB
        body = {"apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": {"name": "wide", "labels": labels}, "spec": JOB}
        assert timed.http("POST", f"/apis/fournos.dev/v1/namespaces/{JOBS}/fournosjobs", body).code == 201
        wait_for("its row", lambda: any(row["name"] == "wide" for row in console.get("/api/v1/jobs")["items"]))
        for _ in range(SLOW):
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect(("127.0.0.1", console.port))
            one.sendall(f"GET /api/v1/stream?topics=jobs HTTP/1.1\r\nHost: {console.host}\r\n\r\n".encode())
            viewers.append(one)
        wait_for("all viewers", lambda: console.get("/api/v1/system")["viewers"] >= SLOW)
        before = rss_mib(console.process.pid)
        quick = http.client.HTTPConnection("127.0.0.1", console.port, timeout=120)
        quick.request("GET", "/api/v1/stream?topics=jobs", headers={"Host": console.host})
        stream = quick.getresponse()
        for number in range(CHANGES):
            text = f"changed-{number}"
            timed.http("PATCH", f"/apis/fournos.dev/v1/namespaces/{JOBS}/fournosjobs/wide", {"spec": {"owner": text}}, content_type="application/merge-patch+json")
            line = ""
            while text not in line:
                line = stream.readline().decode()
                assert line, "the stream of the quick viewer ended"
        began = time.monotonic()
        assert console.get("/api/v1/jobs")["total"] >= 1
        assert time.monotonic() - began < 10
        # All changes for all of them would be 160 MB more.
        assert rss_mib(console.process.pid) - before < 80
        assert console.get("/api/v1/system")["viewers"] >= SLOW, "nobody was sent away"
    finally:
        for one in viewers:
            one.close()
        console.stop()


def test_a_browser_sleeps_for_an_hour(console, tabs):  # noqa: F811
    """The clock jumps while the connection is away: the page says so, then shows the present without doubled rows."""
    tab = tabs(console.url)
    tab.page.clock.install()
    page = tab.open("/jobs?filter=archived:false")
    wait_for("the stream", lambda: console.streams)
    rows = page.locator("[data-testid=table-jobs] tbody tr[data-index]")
    count = rows.count()
    console.down(10)
    page.clock.fast_forward("01:00:00")
    wait_for("the banner", lambda: (page.clock.run_for(200), page.locator("[data-testid=stale-banner]").count())[1])
    wait_for("the stream again", lambda: (page.clock.run_for(1000), console.streams)[1])
    console.push("jobs", "MODIFIED", dict(console.rows["jobs"][0], owner="after-the-sleep"))
    wait_for("the change", lambda: (page.clock.run_for(500), page.locator("[data-testid=cell-owner]", has_text="after-the-sleep").count())[1] == 1)
    assert rows.count() == count
    assert page.locator("[data-testid=stale-banner]").count() == 0
    tab.faults = [fault for fault in tab.faults if "503" not in fault and "ERR_" not in fault]


def test_a_session_of_another_console_is_none(timed, tmp_path):
    """A cookie is of the console that gave it: a copy elsewhere, and a changed one, open nothing."""
    folders = [tmp_path / name for name in ("one", "other")]
    for folder in folders:
        folder.mkdir()
    consoles = [ConsoleProcess(timed, folder, CONSOLE_AUTH="token") for folder in folders]
    try:
        timed.kubectl("create", "serviceaccount", "faults", "-n", JOBS)
        token = timed.kubectl("create", "token", "faults", "-n", JOBS).out.strip()
        answer, data = consoles[0].request("POST", "/api/v1/login", {"token": token})
        assert answer.status == 200, data
        cookie = answer.getheader("Set-Cookie").split(";")[0]
        assert consoles[0].request("GET", "/api/v1/session", headers={"Cookie": cookie})[0].status == 200
        for console, given in ((consoles[1], cookie), (consoles[0], cookie[:-1] + ("0" if cookie[-1] != "0" else "1")), (consoles[0], cookie + "0")):  # noqa: F402
            answer, data = console.request("GET", "/api/v1/session", headers={"Cookie": given})
            assert (answer.status, json.loads(data)["error"]["reason"]) == (401, "Unauthorized"), given
    finally:
        for one in consoles:
            one.stop()


def test_a_session_ends_below_an_open_page(timed, tmp_path, tabs):  # noqa: F811
    """The page asks for a login once the session's time is over, and then shows what it showed."""
    console = ConsoleProcess(timed, tmp_path, "--web", ROOT / "web/dist", CONSOLE_AUTH="token", CONSOLE_SESSION_TIME="8s")  # noqa: F811
    try:
        timed.kubectl("create", "serviceaccount", "sleeper", "-n", JOBS)
        timed.kubectl("create", "clusterrolebinding", "sleeper", "--clusterrole=view", f"--serviceaccount={JOBS}:sleeper")
        token = timed.kubectl("create", "token", "sleeper", "-n", JOBS).out.strip()
        tab = tabs(f"http://{console.host}")
        page = tab.page
        page.goto(f"{tab.url}/jobs?filter=owner:nobody")

        def log_in():
            """False: a slow machine shows the page after the session's time."""
            wait_for("the login", lambda: page.evaluate("location.pathname") == "/login")
            page.get_by_label("Bearer token").fill(token)
            page.locator("form.login button[type=submit]").click()
            try:
                page.wait_for_selector("[data-testid=table-jobs]", timeout=10_000)
            except playwright.sync_api.TimeoutError:
                return False
            return "/jobs?filter=owner:nobody" in urllib.parse.unquote(page.evaluate("location.href"))

        for _ in range(2):
            wait_for("the page", log_in)
    finally:
        tab.faults = [fault for fault in tab.faults if "401" not in fault]
        console.stop()
        timed.kubectl("delete", "clusterrolebinding", "sleeper")
