# SPDX-License-Identifier: Apache-2.0
"""The history in a real PostgreSQL (docs/spec/dashboard.md A9, B8): fournos-ui's tables, and a database that goes away."""

import json
import subprocess

import pytest
from console_client import ConsoleProcess
from postgres_server import PostgresServer, programs
from support import ATHANOR, DEADLINE, JOBS, ROOT, wait_for

pytestmark = pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed: scripts/bootstrap installs it")

# What fournos-ui leaves: one job that ended long ago, whose FournosJob is gone, and one that is not over.
FOURNOS_UI = """
CREATE TABLE jobs(id TEXT PRIMARY KEY, name TEXT UNIQUE NOT NULL, project TEXT NOT NULL, cluster TEXT NOT NULL, preset TEXT,
  pipeline TEXT, owner TEXT, status TEXT DEFAULT 'Pending', message TEXT, error_message TEXT, mlflow_url TEXT, ci_artifacts_url TEXT,
  created_at TIMESTAMPTZ, completed_at TIMESTAMPTZ, duration_seconds DOUBLE PRECISION, config_overrides JSONB, fjob_spec JSONB,
  fjob_status JSONB, tags TEXT[], triggered_by_schedule TEXT, trigger_type TEXT DEFAULT 'manual');
CREATE TABLE job_events(id TEXT PRIMARY KEY, job_id TEXT REFERENCES jobs(id) ON DELETE CASCADE, phase TEXT, message TEXT, timestamp TIMESTAMPTZ);
INSERT INTO jobs(id, name, project, cluster, preset, pipeline, owner, status, message, created_at, completed_at, duration_seconds, fjob_spec,
  fjob_status, tags, triggered_by_schedule, trigger_type)
VALUES('0b6e1f3a-0000-4000-8000-000000000001', 'old-job', 'llm', 'cluster-1', 'fast', 'forge-test-only', 'ann', 'Failed', 'step failed',
  '2026-01-31 08:00:00.25+02', '2026-01-31 09:00:00+02', 3599.75,
  '{"owner":"ann","cluster":"cluster-1","displayName":"old","pipeline":"forge-test-only","executionEngine":{"forge":{"project":"llm","args":["fast"]}}}',
  '{"phase":"Failed","message":"step failed"}', '{a,b}', 'nightly', 'scheduled'),
 ('0b6e1f3a-0000-4000-8000-000000000002', 'not-over', 'llm', 'cluster-1', NULL, NULL, NULL, 'Running', NULL, '2026-01-31 08:00:00+02', NULL, NULL,
  '{}', '{}', NULL, NULL, 'manual');
INSERT INTO job_events VALUES('e1', '0b6e1f3a-0000-4000-8000-000000000001', 'Running', 'started', '2026-01-31 08:00:01+02'),
 ('e2', '0b6e1f3a-0000-4000-8000-000000000001', 'Failed', 'step failed', '2026-01-31 09:00:00+02');
"""


@pytest.fixture
def server():
    one = PostgresServer()
    yield one
    one.close()


@pytest.fixture
def start(lab, tmp_path):
    """Starts consoles for a database's URL."""
    started = []

    def begin(url):
        folder = tmp_path / f"console-{len(started)}"
        folder.mkdir()
        started.append(ConsoleProcess(lab, folder, DATABASE_URL=url))
        return started[-1]

    yield begin
    for one in started:
        one.stop()


def submit(lab, name, **spec):
    lab.submit({"owner": "pg-test", "displayName": name, "cluster": "cluster-1", "forge": {"project": "testproj/llmd", "args": ["a"]}, **spec}, name=name)


def rows(console, name):
    return [row for row in console.get("/api/v1/jobs?limit=1000")["items"] if row["name"] == name]


def history(console):
    return console.get("/api/v1/system")["history"]


def wait_connected(console):
    wait_for("the history", lambda: history(console)["connected"])


def test_tables_of_fournos_ui_are_read(lab, server, start):
    server.sql(FOURNOS_UI)
    columns = "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_name IN ('jobs', 'job_events') ORDER BY 1, ordinal_position"
    before = server.sql(columns)
    console = start(server.url)
    (row,) = wait_for("the old job", lambda: rows(console, "old-job"))
    assert row["archived"] and row["phase"] == "Failed" and row["project"] == "llm" and row["schedule"] == "nightly", row
    assert rows(console, "not-over") == []
    page = console.get(f"/api/v1/jobs/{JOBS}/old-job")
    assert page["object"]["metadata"]["creationTimestamp"] == "2026-01-31T06:00:00Z"
    answer, data = console.request("POST", f"/api/v1/jobs/{JOBS}/old-job/rerun", {})
    assert answer.status == 201, data
    again = json.loads(data)["job"]["name"]
    assert lab.job(again)["spec"]["executionEngine"]["forge"] == {"project": "llm", "args": ["fast"]}
    wait_for("its row", lambda: server.sql(f"SELECT status FROM jobs WHERE name = '{again}'"))
    assert server.sql("SELECT tags, created_at AT TIME ZONE 'UTC' FROM jobs WHERE name = 'old-job'") == "{a,b}|2026-01-31 06:00:00.25", "unchanged"
    assert server.sql(columns) == before
    answer, data = console.request("DELETE", "/api/history/old-job")
    assert answer.status == 200, data
    assert server.sql("SELECT count(*) FROM jobs WHERE name = 'old-job'") == "0"
    assert server.sql("SELECT count(*) FROM job_events WHERE job_id LIKE '0b6e1f3a%1'") == "0"


def test_jobs_are_written_as_fournos_ui_does(lab, server, start):
    console = start(server.url)
    submit(lab, "pg-written")
    lab.wait_phase("pg-written", "Succeeded")
    wait_for("the row", lambda: server.sql("SELECT status FROM jobs WHERE name = 'pg-written'") == "Succeeded")
    job = lab.job("pg-written")
    row = json.loads(server.sql("SELECT to_jsonb(jobs) FROM jobs WHERE name = 'pg-written'"))
    assert row["id"] == job["metadata"]["uid"]
    assert row["fjob_spec"] == job["spec"]
    assert (row["project"], row["cluster"], row["owner"], row["trigger_type"]) == ("testproj/llmd", "cluster-1", "pg-test", "manual")
    wait_for("its end", lambda: server.sql("SELECT completed_at >= created_at AND duration_seconds >= 0 FROM jobs WHERE name = 'pg-written'") == "t")
    phases = server.sql("SELECT phase FROM job_events JOIN jobs ON jobs.id = job_id WHERE name = 'pg-written' ORDER BY timestamp").split("\n")
    assert phases[-1] == "Succeeded" and "Running" in phases, phases
    assert "secret" not in json.dumps(console.get("/api/v1/system"))
    console.stop()
    again = start(server.url)
    wait_connected(again)
    assert len(rows(again, "pg-written")) == 1
    lab.kubectl("delete", "fournosjob", "pg-written", "-n", JOBS)
    (row,) = wait_for("the archived row", lambda: [one for one in rows(again, "pg-written") if one["archived"]])
    assert row["phase"] == "Succeeded"
    assert server.sql("SELECT count(*) FROM athanor_jobs WHERE name = 'pg-written'") == "1"


def test_transitions_outlive_consoles(lab, server, start):
    """Owner and phases of a job, phases and resets of an AppWrapper, and who changed what: the same after another start, each once."""
    manifest = (ROOT / "examples/appwrapper/failing-job.yaml").read_text(encoding="utf-8").replace("failing-job", "pg-failing")
    path = "/api/v1/appwrappers/default/pg-failing/tree"
    console = start(server.url)
    wait_connected(console)
    lab.kubectl("apply", "-f", "-", stdin=manifest)
    try:
        submit(lab, "pg-owned")
        lab.wait_phase("pg-owned", "Succeeded")
        lab.http("PATCH", f"/apis/fournos.dev/v1/namespaces/{JOBS}/fournosjobs/pg-owned", {"spec": {"owner": "next-owner"}}, content_type="application/merge-patch+json")
        wait_for("the owner", lambda: server.sql("SELECT owner FROM jobs WHERE name = 'pg-owned'") == "next-owner")
        assert console.request("POST", f"/api/v1/jobs/{JOBS}/pg-owned/rerun", {})[0].status == 201
        wait_for("the end", lambda: (seen := console.get(path)["transitions"]) and seen[-1]["phase"] == "Failed")

        def kept(one):
            job = one.get(f"/api/v1/jobs/{JOBS}/pg-owned/timeline")
            return one.get(path)["transitions"], job, one.get("/api/v1/system")["audit"]

        before = kept(console)
        assert [one["retries"] for one in before[0] if one["phase"] == "Resetting"] == [1, 2], before[0]
        assert before[1]["phases"][0]["phase"] == "Pending" and before[2][0]["object"].startswith("FournosJob"), before
        wait_for("the queue", lambda: history(console)["queued"] == 0)
        stored = "SELECT count(*) FROM athanor_appwrappers"
        assert int(server.sql(stored)) >= len(before[0])
        console.stop()
        again = start(server.url)
        wait_connected(again)
        wait_for("the AppWrapper", lambda: again.request("GET", path)[0].status == 200)
        wait_for("the same after a restart", lambda: kept(again) == before)
    finally:
        lab.kubectl("delete", "appwrapper", "pg-failing", "--wait=false")


def test_a_database_that_vanishes_loses_nothing(lab, server, start):
    console = start(server.url)
    wait_connected(console)
    server.stop()
    submit(lab, "pg-gone", displayName="zero \0 byte")
    lab.wait_phase("pg-gone", "Succeeded")
    state = wait_for("the notice", lambda: (found := history(console))["queued"] > 0 and not found["connected"] and found)
    assert state["error"] and state["lost"] == 0, state
    metrics = console.request("GET", "/metrics")[1].decode()
    assert "athanor_console_history_connected 0\n" in metrics and "athanor_console_history_lost_total 0\n" in metrics
    assert rows(console, "pg-gone")[0]["phase"] == "Succeeded", "live pages work"
    server.start()
    wait_for("what was queued", lambda: (found := history(console))["connected"] and found["queued"] == 0)
    assert server.sql("SELECT status, fjob_spec->>'displayName' FROM jobs WHERE name = 'pg-gone'") == "Succeeded|zero \N{REPLACEMENT CHARACTER} byte"
    assert server.sql("SELECT count(*) FROM athanor_jobs WHERE name = 'pg-gone'") == "1"
    phases = server.sql("SELECT job_events.phase FROM job_events JOIN jobs ON jobs.id = job_id WHERE name = 'pg-gone' ORDER BY timestamp").split("\n")
    assert phases[-1] == "Succeeded" and phases.count("Succeeded") == 1 and len(phases) > 1, phases


def test_a_full_disk_loses_nothing(lab, server, start):
    console = start(server.url)
    wait_connected(console)
    # What the server answers when it cannot lengthen a file.
    server.sql(
        "CREATE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$ LANGUAGE plpgsql;"
        "CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION full_disk()"
    )
    submit(lab, "pg-full")
    state = wait_for("the notice", lambda: (found := history(console))["queued"] > 0 and found)
    wait_for("its reason", lambda: "No space left on device" in history(console).get("error", ""))
    assert state["lost"] == 0
    server.sql("DROP TRIGGER full_disk ON jobs")
    lab.wait_phase("pg-full", "Succeeded")
    wait_for("the row", lambda: server.sql("SELECT status FROM jobs WHERE name = 'pg-full'") == "Succeeded")


def test_a_refused_entry_does_not_block_others(lab, server, start):
    console = start(server.url)
    wait_connected(console)
    server.sql("ALTER TABLE jobs ADD CONSTRAINT no_bad CHECK (name <> 'pg-bad')")
    submit(lab, "pg-bad")
    submit(lab, "pg-good")
    lab.wait_phase("pg-good", "Succeeded")
    wait_for("the good row", lambda: server.sql("SELECT status FROM jobs WHERE name = 'pg-good'") == "Succeeded")
    wait_for("the count of what is lost", lambda: history(console)["lost"] > 0)


def test_a_console_starts_before_its_database(lab, server, start):
    server.stop()
    console = start(server.url)
    assert console.get("/api/v1/jobs")["items"] is not None
    assert not history(console)["connected"]
    server.start()
    wait_connected(console)


@pytest.mark.parametrize("url", ["mysql://u:topsecret@h/d", "postgresql://u:topsecret@h:port/d?no=such", "topsecret"])
def test_a_wrong_url_is_refused(lab, url, tmp_path):
    environment = {"DATABASE_URL": url, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [ATHANOR, "console", "--address", "127.0.0.1:0", "--data", tmp_path, "--kubeconfig", lab.kubeconfig],
        env=environment,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert done.returncode == 1 and "DATABASE_URL" in done.stderr, done
    assert "topsecret" not in done.stderr
