# SPDX-License-Identifier: Apache-2.0
"""Environment variables of a running console: paths, TLS, days of the history, templates (docs/spec/dashboard.md B6)."""

import http.client
import json
import re
import sqlite3
import ssl
import subprocess

import pytest
from console_client import ConsoleProcess
from support import ATHANOR, JOBS, wait_for


@pytest.fixture
def start(lab, tmp_path):
    """start(CONSOLE_BASE_PATH="/console") starts a console."""
    running = []

    def one(**environment):
        folder = tmp_path / str(len(running))
        folder.mkdir()
        running.append(ConsoleProcess(lab, folder, **environment))
        return running[-1]

    yield one
    for console in running:
        console.stop()


def test_all_addresses_are_below_the_base_path(start):
    console = start(CONSOLE_BASE_PATH="/console/")
    answer, data = console.request("GET", "/console/jobs")
    assert answer.status == 200 and b'<base href="/console/">' in data
    script = re.search(rb'src="(?:\./)?(assets/[^"]+)"', data).group(1).decode()
    assert console.request("GET", f"/console/{script}")[0].status == 200
    assert console.get("/console/api/v1/session")["readOnly"] is False
    answer, _ = console.request("GET", "/console/?tab=history")
    assert answer.getheader("Location").startswith("/console/jobs?")


def test_the_public_address_is_the_only_host(start):
    console = start(CONSOLE_PUBLIC_URL="https://console.example.com/", CONSOLE_AUTH="none")
    assert console.request("GET", "/api/v1/session", headers={"Host": "console.example.com"})[0].status == 200
    assert console.request("GET", "/api/v1/session", headers={"Host": "other.example.com"})[0].status == 421
    change = {"Host": "console.example.com", "Origin": "https://other.example.com"}
    assert console.request("POST", f"/api/v1/jobs/{JOBS}/none/stop", {}, change)[0].status == 403
    change["Origin"] = "https://console.example.com"
    assert console.request("POST", f"/api/v1/jobs/{JOBS}/none/stop", {}, change)[0].status == 404


def test_pages_are_served_over_tls(lab, tmp_path):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", certificate, *names], check=True, capture_output=True)
    folder = tmp_path / "tls"
    folder.mkdir()
    with open(folder / "out", "wb") as out:
        process = subprocess.Popen(
            [ATHANOR, "console", "--address", "127.0.0.1:0", "--data", folder, "--kubeconfig", lab.kubeconfig],
            stdout=out, stderr=out, env={"PATH": "/usr/bin:/bin", "CONSOLE_TLS_CERT": str(certificate), "CONSOLE_TLS_KEY": str(key)},
        )  # fmt: skip
    try:
        found = wait_for("its address", lambda: re.search(r"console: https://127\.0\.0\.1:(\d+)/", (folder / "out").read_text()))
        context = ssl.create_default_context(cafile=certificate)
        connection = http.client.HTTPSConnection("127.0.0.1", int(found.group(1)), context=context, timeout=60)
        connection.request("GET", "/healthz")
        assert connection.getresponse().read() == b"ok"
    finally:
        process.terminate()
        process.wait(60)


def test_old_entries_leave_the_history(lab, start, tmp_path):
    """CONSOLE_HISTORY_DAYS: a console that keeps a day forgets a job of last year when it starts."""
    console = start()
    lab.submit({"owner": "days", "cluster": "cluster-1", "forge": {"project": "testproj/llmd", "args": ["a"]}}, name="days-kept")
    lab.wait_phase("days-kept", "Succeeded")
    names = lambda one: {row["name"] for row in one.get("/api/v1/jobs?limit=1000&filter=archived%3Atrue")["items"]}  # noqa: E731
    lab.kubectl("delete", "fournosjob", "days-kept", "-n", JOBS)
    wait_for("the archived row", lambda: "days-kept" in names(console))
    console.stop()
    with sqlite3.connect(tmp_path / "0" / "console.db") as database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            if "created" in columns and "name" in columns:
                database.execute(f"UPDATE {table} SET created = '2020-01-01T00:00:00Z' WHERE name = 'days-kept'")
            if "created_at" in columns and "name" in columns:
                database.execute(f"UPDATE {table} SET created_at = '2020-01-01T00:00:00Z' WHERE name = 'days-kept'")
    again = ConsoleProcess(lab, tmp_path / "0", CONSOLE_HISTORY_DAYS="1")
    try:
        wait_for("the sweep", lambda: again.get("/api/v1/system")["history"]["connected"] and "days-kept" not in names(again))
    finally:
        again.stop()


def test_templates_are_kept_on_the_server(start):
    console = start()
    job = {"apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": {"name": "x"}, "spec": {"owner": "a", "cluster": "cluster-1", "forge": {"project": "p", "args": ["a"]}}}
    answer, data = console.request("PUT", "/api/v1/templates/settings-test", job)
    assert answer.status in (200, 201), data
    assert "settings-test" in json.dumps(console.get("/api/v1/form")["templates"])
    assert console.request("DELETE", "/api/v1/templates/settings-test", "")[0].status == 200
    assert "settings-test" not in json.dumps(console.get("/api/v1/form")["templates"])
