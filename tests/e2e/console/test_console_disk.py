# SPDX-License-Identifier: Apache-2.0
"""A full disk below a console: it is named on its pages, live pages work, nothing is lost, and it goes on when there is room."""

import json
import os
import pathlib
import subprocess

import pytest
from console_client import ConsoleProcess
from support import JOBS, wait_for

JOB = {"owner": "disk", "cluster": "cluster-1", "forge": {"project": "testproj/llmd", "args": ["a"]}}


@pytest.fixture
def own(make_lab):
    """A lab without the jobs of other tests, whose history would fill the disk."""
    return make_lab().start()


@pytest.fixture
def small(own, tmp_path):
    """A console whose data are on a file system of 2 MiB that it alone sees, and that folder through /proc."""
    folder = tmp_path / "console"
    folder.mkdir()
    if subprocess.run(["unshare", "-Urm", "mount", "-t", "tmpfs", "-o", "size=1m", "t", str(folder)], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine lets no user mount")
    console = ConsoleProcess(own, folder, wrapper=["unshare", "-Urm", "sh", "-c", f'mount -t tmpfs -o size=2m t {folder} && exec "$0" "$@"'])
    yield console, pathlib.Path(f"/proc/{console.process.pid}/root{folder}")
    console.stop()


def fill(folder):
    with open(folder / "ballast", "ab", buffering=0) as ballast:
        for size in (65536, 4096, 1):
            try:
                while True:
                    ballast.write(b"\0" * size)
            except OSError:
                pass
    assert os.statvfs(folder).f_bavail == 0


def test_a_full_disk_is_named_and_loses_nothing(own, small):
    lab, (console, folder) = own, small
    lab.submit(JOB, name="disk-before")
    lab.wait_phase("disk-before", "Succeeded")
    state = lambda: console.get("/api/v1/system")  # noqa: E731
    archived = lambda: {row["name"] for row in console.get("/api/v1/jobs?limit=1000")["items"]}  # noqa: E731
    wait_for("the first job in the history", lambda: "disk-before" in archived() and state()["history"]["queued"] == 0)
    wait_for("its logs", lambda: state()["logs"]["bytes"] > 0)

    fill(folder)
    lab.submit(JOB, name="disk-full")
    lab.wait_phase("disk-full", "Succeeded")
    history = wait_for("the trouble", lambda: state()["history"]["error"] and state()["history"])
    assert "full" in history["error"] and not history["connected"] and history["queued"] > 0, history
    logs = wait_for("the held logs", lambda: state()["logs"].get("held") and state()["logs"])
    assert "full" in logs["error"], logs
    page = console.get("/api/v1/jobs?limit=1000")
    assert "disk-full" in {row["name"] for row in page["items"]}, "live pages work"
    assert any(text.startswith("history: ") for text in page["unavailable"]), page["unavailable"]
    named = {one["object"]["name"]: one["text"] for one in console.get("/api/v1/problems")["items"] if one["object"]["kind"] == "Console"}
    assert set(named) == {"history", "logs"} and "full" in named["history"], named
    assert "athanor_console_history_connected 0\n" in console.request("GET", "/metrics")[1].decode()
    lab.kubectl("delete", "fournosjob", "disk-full", "-n", JOBS)
    kept = lambda: json.loads(console.request("GET", f"/api/v1/jobs/{JOBS}/disk-full/logs", headers={"Accept": "application/json"})[1])["total"]  # noqa: E731
    wait_for("its logs out of memory", lambda: kept() > 0)

    (folder / "ballast").unlink()
    wait_for("what waited", lambda: state()["history"]["connected"] and state()["history"]["queued"] == 0 and state()["logs"]["held"] == 0)
    after = state()
    assert not after["history"].get("error") and after["history"]["lost"] == 0 and not after["logs"].get("error") and after["logs"]["lost"] == 0, after
    assert not [one for one in console.get("/api/v1/problems")["items"] if one["object"]["kind"] == "Console"]
    rows = [row for row in console.get("/api/v1/jobs?limit=1000")["items"] if row["name"] == "disk-full"]
    assert len(rows) == 1 and rows[0]["archived"], rows
    assert kept() > 0
    phases = [one["phase"] for one in console.get(f"/api/v1/jobs/{JOBS}/disk-full/timeline")["phases"]]
    assert len(phases) >= 3 and phases[-1] == "Succeeded", phases
