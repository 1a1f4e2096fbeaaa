# SPDX-License-Identifier: Apache-2.0
"""The console's JSON API in a lab: what it serves is what kubectl sees (docs/spec/dashboard.md B5, A3, B9)."""

import gzip
import http.client
import json
import re
import urllib.parse

import pytest
from console_client import Console
from support import JOBS, wait_for


@pytest.fixture(scope="module")
def console(lab):
    return Console(lab)


def listed(lab, *args):
    """What kubectl prints as JSON."""
    return json.loads(lab.kubectl("get", *args, "-o", "json").out)


def make_job(lab, name):
    lab.kubectl(
        "apply",
        "-f",
        "-",
        stdin=json.dumps(
            {
                "apiVersion": "fournos.dev/v1",
                "kind": "FournosJob",
                "metadata": {"name": name, "namespace": JOBS},
                "spec": {"owner": "console-test", "displayName": "<b>hostile</b>", "cluster": "cluster-1", "forge": {"project": "testproj/llmd", "args": ["a"]}},
            }
        ),
    )


@pytest.fixture(scope="module")
def done_job(lab):
    make_job(lab, "console-done")
    wait_for(
        "the job's end",
        lambda: listed(lab, "fournosjob", "console-done", "-n", JOBS)["status"].get("phase") in ("Succeeded", "Failed"),
    )
    return "console-done"


def test_probes_and_headers(console):
    answer, data = console.request("GET", "/healthz")
    assert (answer.status, data) == (200, b"ok")
    wait_for("readiness", lambda: console.request("GET", "/readyz")[0].status == 200)
    assert "default-src 'self'" in answer.getheader("Content-Security-Policy")
    assert answer.getheader("X-Content-Type-Options") == "nosniff"
    assert answer.getheader("Referrer-Policy") == "no-referrer"
    assert b"athanor_console_viewers" in console.request("GET", "/metrics")[1]


def test_every_described_route_answers(console, done_job):
    document = console.get("/openapi.json")
    names = {"ns": JOBS, "name": done_job, "clusterqueue": "fournos-queue", "pod": "no-pod", "container": "c", "project": "p"}
    for path, operations in document["paths"].items():
        if "get" not in operations or path in ("/api/v1/stream", "/api/github/open-prs"):
            continue
        filled = re.sub(r"\{(\w+)\}", lambda part: names[part.group(1)], path)
        answer, data = console.request("GET", filled)
        assert answer.status in (200, 400, 404), (path, answer.status, data[:300])
        if operations["get"]["responses"]["200"]["content"].get("application/json") and answer.status != 404:
            json.loads(data)


def test_jobs_are_those_of_kubectl(lab, console, done_job):
    row = wait_for("the row", lambda: [one for one in console.get("/api/v1/jobs?limit=1000")["items"] if one["name"] == done_job])[0]
    job = listed(lab, "fournosjob", done_job, "-n", JOBS)
    assert row["uid"] == job["metadata"]["uid"]
    assert row["phase"] == job["status"]["phase"]
    assert row["cluster"] == job["status"]["cluster"]
    assert row["displayName"] == "<b>hostile</b>"
    page = console.get(f"/api/v1/jobs/{JOBS}/{done_job}")
    assert page["object"]["metadata"]["uid"] == job["metadata"]["uid"]
    assert "managedFields" not in page["object"]["metadata"]
    described = json.loads(lab.athanor("describe", f"job/{done_job}", "-n", JOBS, "-o", "json").out)
    assert page["description"]["facts"] == described["facts"]
    pipeline = console.get(f"/api/v1/jobs/{JOBS}/{done_job}/pipeline")
    runs = listed(lab, "taskruns", "-n", JOBS, "-l", f"fournos.dev/job-name={done_job}")["items"]
    assert {task.get("taskRun") for task in pipeline["tasks"] if task.get("taskRun")} == {run["metadata"]["name"] for run in runs}


def test_lists_filter_sort_and_cut(console, done_job):
    only = console.get("/api/v1/jobs?" + urllib.parse.urlencode({"filter": "owner:console-test", "fields": "phase"}))
    assert all(set(row) <= {"ns", "name", "uid", "phase"} for row in only["items"])
    for query, field in (("filter=colour:red", "filter"), ("sort=colour", "sort"), ("limit=1001", "limit"), ("fields=x", "fields")):
        answer, data = console.request("GET", f"/api/v1/jobs?{query}")
        assert answer.status == 400
        assert json.loads(data)["error"]["field"] == field


def test_nodes_and_clusters_are_those_of_kubectl(lab, console):
    nodes = {one["metadata"]["name"] for one in listed(lab, "nodes")["items"]}
    assert {row["name"] for row in console.get("/api/v1/nodes")["items"]} == nodes
    clusters = {one["metadata"]["name"] for one in listed(lab, "fournosclusters", "-A")["items"]}
    assert {row["name"] for row in console.get("/api/v1/clusters")["items"] if row["managed"]} == clusters
    queues = {one["metadata"]["name"] for one in listed(lab, "clusterqueues")["items"]}
    assert {row["name"] for row in console.get("/api/v1/queue")["clusterQueues"]} == queues


def test_clusters_say_what_may_be_done(console):
    for row in console.get("/api/v1/clusters")["items"]:
        page = console.get(f"/api/v1/clusters/{row['name']}")
        assert set(page["actions"]) == {"lock", "unlock", "rediscover", "cordon", "uncordon", "offboard"}
        for action in page["actions"].values():
            assert action["allowed"] == row["managed"] and bool(action.get("why")) != action["allowed"], (row, action)


def test_changes_need_the_own_origin(console, done_job):
    path = f"/api/v1/jobs/{JOBS}/{done_job}/rerun"
    for origin in ("https://elsewhere.example", "null", ""):
        answer, data = console.request("POST", path, {}, {"Origin": origin})
        assert answer.status == 403, (origin, data)
        assert json.loads(data)["error"]["reason"] == "Forbidden"


def test_foreign_host_is_refused(console):
    assert console.request("GET", "/api/v1/jobs", headers={"Host": "rebound.example"})[0].status == 421


def test_old_form_submits_a_job(lab, console):
    form = urllib.parse.urlencode({"project": "llm", "cluster": "cluster-1", "preset": "fast", "pipeline": "fournos-full"})
    answer, data = console.request("POST", "/submit", form, {"Content-Type": "application/x-www-form-urlencoded"})
    assert answer.status == 303, data
    name = answer.getheader("Location").rsplit("/", 1)[1]
    job = listed(lab, "fournosjob", name, "-n", JOBS)
    assert job["spec"]["executionEngine"]["forge"]["project"] == "llm"
    assert job["spec"]["owner"] == "fournos-dashboard"
    answer, data = console.request("POST", f"/api/jobs/{name}/cancel", "")
    assert json.loads(data) == {"status": "ok", "message": f"Shutdown requested for {name}"}
    assert listed(lab, "fournosjob", name, "-n", JOBS)["spec"]["shutdown"] == "Stop"
    assert console.request("POST", "/submit", "project=x", {"Content-Type": "application/x-www-form-urlencoded"})[0].status == 422


def test_deleted_job_stays_in_history(lab, console):
    make_job(lab, "console-gone")
    wait_for("its end", lambda: listed(lab, "fournosjob", "console-gone", "-n", JOBS)["status"].get("phase") in ("Succeeded", "Failed"))
    lab.kubectl("delete", "fournosjob", "console-gone", "-n", JOBS)

    def archived():
        rows = [row for row in console.get("/api/v1/jobs?limit=1000")["items"] if row["name"] == "console-gone"]
        return len(rows) == 1 and rows[0]["archived"]

    wait_for("the archived row", archived)
    answer, data = console.request("POST", f"/api/v1/jobs/{JOBS}/console-gone/rerun", {})
    assert answer.status == 201, data
    again = json.loads(data)["job"]["name"]
    assert listed(lab, "fournosjob", again, "-n", JOBS)["spec"]["owner"] == "console-test"


def test_stream_pushes_changes(lab, console):
    connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=60)
    connection.request("GET", "/api/v1/stream?topics=jobs", headers={"Host": console.host})
    stream = connection.getresponse()
    assert stream.getheader("Content-Type") == "text/event-stream"
    make_job(lab, "console-streamed")
    seen = ""
    while "console-streamed" not in seen:
        seen += stream.readline().decode()
    assert "event: jobs" in seen
    connection.close()
    last = re.findall(r"^id: (\d+)$", seen, re.MULTILINE)[-1]
    connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=60)
    connection.request("GET", "/api/v1/stream?topics=jobs", headers={"Host": console.host, "Last-Event-ID": "1"})
    stream = connection.getresponse()
    text = b"".join(stream.readline() for _ in range(4)).decode()
    assert "event: reset" in text, (last, text)
    connection.close()


def test_logs_are_merged_and_searched(console, done_job):
    answer, data = console.request("GET", f"/api/v1/jobs/{JOBS}/{done_job}/logs", headers={"Accept": "application/json"})
    page = json.loads(data)
    assert answer.status == 200 and page["total"] > 0, page
    assert page["sources"]
    path = f"/api/v1/jobs/{JOBS}/{done_job}/logs"
    answer, plain = console.request("GET", f"{path}?download=1")
    assert answer.status == 200 and answer.getheader("Content-Disposition") == f'attachment; filename="{done_job}.log"'
    answer, packed = console.request("GET", f"{path}?download=gzip")
    assert (answer.getheader("Content-Type"), answer.getheader("Content-Disposition")) == ("application/gzip", f'attachment; filename="{done_job}.log.gz"')
    assert gzip.decompress(packed) == plain and plain.count(b"\n") == page["total"]
    word = re.search(r"\w{4,}", " ".join(line["text"] for line in page["lines"])).group(0)
    found = console.get(f"/api/v1/jobs/{JOBS}/{done_job}/logs?q={word}")
    assert found["total"] >= 1


def test_schedules_live_as_cron_jobs(lab, console):
    answer, data = console.request("POST", "/api/v1/schedules", {"name": "console-nightly", "project": "llm", "cluster": "cluster-1", "cron_expr": "0 3 * * *"})
    assert answer.status == 201, data
    cron_job = listed(lab, "cronjob", "console-nightly", "-n", JOBS)
    assert cron_job["metadata"]["labels"]["fournos-launcher/managed-by"] == "fournos-dashboard"
    row = wait_for("the row", lambda: [one for one in console.get("/api/v1/schedules")["items"] if one["name"] == "console-nightly"])[0]
    assert row["words"] == "every day at 03:00" and len(row["next"]) == 5
    assert console.request("POST", "/api/schedules/console-nightly/toggle", "")[0].status == 200
    assert listed(lab, "cronjob", "console-nightly", "-n", JOBS)["spec"]["suspend"] is True
    absent = console.get("/api/v1/schedules/console-nightly/absent")
    assert (absent["items"], absent["total"], absent["unavailable"]) == ([], 0, []) and absent["since"], absent
    lab.kubectl("create", "cronjob", "foreign", "-n", JOBS, "--image=x", "--schedule=@daily")
    assert console.request("GET", "/api/v1/schedules/foreign/absent")[0].status == 404, "not managed"
    assert console.request("POST", "/api/schedules/foreign/toggle", "")[0].status == 404, "not managed"
    assert console.request("DELETE", "/api/v1/schedules/console-nightly")[0].status == 200
    lab.kubectl("delete", "cronjob", "foreign", "-n", JOBS)


def schedule_of_the_old_ui(name):
    """A CronJob as fournos-ui makes it (docs/spec/dashboard.md A7)."""
    about = {"project": "llm", "cluster": "cluster-1", "pipeline": "forge-test-only", "preset": "fast", "owner": "alice"}
    job = {
        "apiVersion": "fournos.dev/v1",
        "kind": "FournosJob",
        "metadata": {
            "generateName": "forge-llm-sched-", "namespace": JOBS,
            "labels": {"fournos-launcher/schedule-name": name, "fournos-launcher/trigger-type": "scheduled"},
        },
        "spec": {"owner": "alice", "cluster": "cluster-1", "exclusive": True, "executionEngine": {"forge": {"project": "llm", "args": ["fast"]}}},
    }  # fmt: skip
    container = {"name": "submit", "image": "python:3.12-slim", "command": ["python", "-c", "pass"], "env": [{"name": "FJOB_JSON", "value": json.dumps(job)}]}
    pod = {"restartPolicy": "Never", "serviceAccountName": "fournos-dashboard-sa", "containers": [container]}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {
            "name": name, "namespace": JOBS,
            "labels": {"fournos-launcher/managed-by": "fournos-dashboard", "fournos-launcher/project": "llm"},
            "annotations": {f"fournos-launcher/{key}": value for key, value in about.items()},
        },
        "spec": {
            "schedule": "0 3 * * *", "suspend": False, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 3,
            "jobTemplate": {"spec": {"backoffLimit": 0, "template": {"spec": pod}}},
        },
    }  # fmt: skip


def test_a_schedule_of_the_old_ui_keeps_working(lab, console):
    """T2: listed, paused, edited, triggered, deleted."""
    lab.kubectl("create", "-f", "-", stdin=json.dumps(schedule_of_the_old_ui("from-upstream")))
    rows = wait_for("the row", lambda: [one for one in console.get("/api/v1/schedules")["items"] if one["name"] == "from-upstream"])
    assert (rows[0]["project"], rows[0]["cluster"], rows[0]["owner"]) == ("llm", "cluster-1", "alice")
    assert console.request("POST", "/api/v1/schedules/from-upstream/pause", {})[0].status == 200
    assert listed(lab, "cronjob", "from-upstream", "-n", JOBS)["spec"]["suspend"] is True
    assert console.request("POST", "/api/v1/schedules/from-upstream/resume", {})[0].status == 200

    form = {"name": "from-upstream", "project": "llm", "cluster": "cluster-2", "cron_expr": "30 4 * * *", "preset": "fast", "owner": "bob", "edit_target": "from-upstream"}
    answer, data = console.request("POST", "/schedules", urllib.parse.urlencode(form), {"Content-Type": "application/x-www-form-urlencoded"})
    assert answer.status == 303, data
    edited = listed(lab, "cronjob", "from-upstream", "-n", JOBS)
    assert edited["spec"]["schedule"] == "30 4 * * *" and edited["metadata"]["annotations"]["fournos-launcher/cluster"] == "cluster-2"
    assert edited["metadata"]["labels"]["fournos-launcher/managed-by"] == "fournos-dashboard"

    answer, data = console.request("POST", "/api/schedules/from-upstream/trigger", "")
    assert answer.status == 200, data
    name = json.loads(data)["job_name"]
    assert re.fullmatch(r"from-upstream-manual-\d{8}-\d{6}", name)
    job = listed(lab, "job", name, "-n", JOBS)
    assert job["metadata"]["labels"]["fournos-launcher/triggered-by"] == "manual"
    assert job["metadata"]["annotations"]["cronjob.kubernetes.io/instantiate"] == "manual"
    variables = {one["name"]: one.get("value") for one in job["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert variables["FOURNOS_TRIGGER_TYPE"] == "manual" and json.loads(variables["FJOB_JSON"])["spec"]["owner"] == "bob"

    assert console.request("POST", "/api/schedules/from-upstream/delete", "")[0].status == 200
    wait_for("its end", lambda: lab.kubectl("get", "cronjob", "from-upstream", "-n", JOBS, code=None).code != 0)


def test_pauses_end_by_themselves(lab, console):
    form = {"name": "console-paused", "project": "llm", "cluster": "cluster-1", "cron_expr": "0 3 * * *"}
    assert console.request("POST", "/api/v1/schedules", form)[0].status == 201
    path = "/api/v1/schedules/console-paused"
    for until in ("tomorrow", "2020-01-01T00:00:00Z", 5):
        answer, data = console.request("POST", f"{path}/pause", {"until": until})
        assert answer.status == 400, (until, data)

    def schedule():
        one = listed(lab, "cronjob", "console-paused", "-n", JOBS)
        return one["spec"]["suspend"], one["metadata"]["annotations"].get("fournos-launcher/paused-until")

    assert schedule() == (False, None)
    answer, data = console.request("POST", f"{path}/pause", {"until": "2099-01-01T00:00:00Z"})
    assert answer.status == 200, data
    assert schedule() == (True, "2099-01-01T00:00:00Z")
    answer, data = console.request("PUT", path, {**form, "cron_expr": "0 4 * * *"})
    assert answer.status == 200, data
    assert schedule() == (True, "2099-01-01T00:00:00Z"), "an edit keeps the pause"
    lab.kubectl("annotate", "cronjob", "console-paused", "-n", JOBS, "--overwrite", "fournos-launcher/paused-until=2020-01-01T00:00:00Z")
    wait_for("the end of the pause", lambda: schedule() == (False, None))
    assert console.request("DELETE", path)[0].status == 200


def test_pages_and_old_links(console):
    answer, data = console.request("GET", "/jobs")
    assert answer.status == 200 and b'<base href="/">' in data
    answer, _ = console.request("GET", "/?tab=history&status=Failed")
    assert answer.status == 302 and answer.getheader("Location").startswith("/jobs?filter=archived%3Atrue")
    assert console.request("GET", "/?tab=nonsense")[0].status == 422
    assert console.request("GET", "/no/such/page")[0].status == 404


def test_secrets_are_masked(console, lab):
    lab.kubectl("create", "secret", "generic", "console-secret", "-n", JOBS, "--from-literal=password=topsecret")
    _, data = console.request("GET", f"/api/v1/objects?apiVersion=v1&kind=Secret&ns={JOBS}&name=console-secret")
    assert json.loads(data)["object"]["data"] == {"password": "***"}
    assert b"dG9wc2VjcmV0" not in data
