# SPDX-License-Identifier: Apache-2.0
"""The console's JSON API in a lab: what it serves is what kubectl sees (docs/spec/dashboard.md B5, A3, B9)."""

import datetime
import gzip
import http.client
import json
import re
import threading
import urllib.parse

import pytest
from console_client import Console
from support import JOBS, ROOT, forge, wait_for


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
        if "application/json" in answer.getheader("Content-Type", ""):
            json.loads(data)


def test_bodies_and_errors_are_described(console):
    """Answers are compared with their schemas by test_console_schemas.py."""
    document = console.get("/openapi.json")
    for path, method in (("/api/v1/jobs", "post"), ("/api/v1/clusters/{name}/lock", "put"), ("/api/v1/schedules", "post"), ("/api/v1/numa/fit", "post")):
        assert document["paths"][path][method]["requestBody"]["content"]["application/json"]["schema"]["properties"], path
        assert document["paths"][path][method]["responses"]["default"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Error"}


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


def test_explanations_are_those_of_the_command_line(lab, console):
    """A number is never computed twice: the page shows what `athanor queue --explain` prints, member for member."""
    lab.submit({"owner": "explained", "cluster": "cluster-1", "hardware": {"gpuType": "a100", "gpuCount": 9000}, "forge": {"project": "testproj/llmd", "args": ["a"]}}, name="console-explained")
    shown = wait_for("the explanation", lambda: (found := console.get(f"/api/v1/jobs/{JOBS}/console-explained/explain")).get("causes") and found)
    assert shown["quotas"]

    def agree():  # other jobs of the lab may end between the two
        printed = json.loads(lab.athanor("queue", "--explain", "console-explained", "-n", JOBS, "-o", "json").out)
        now = console.get(f"/api/v1/jobs/{JOBS}/console-explained/explain")
        return {name: now[name] for name in printed} == printed

    wait_for("both say the same", agree)
    lab.kubectl("delete", "fournosjob", "console-explained", "-n", JOBS, "--wait=false")


def test_lists_filter_sort_and_cut(console, done_job):
    only = console.get("/api/v1/jobs?" + urllib.parse.urlencode({"filter": "owner:console-test", "fields": "phase"}))
    assert all(set(row) <= {"ns", "name", "uid", "phase"} for row in only["items"])
    for query, field in (("filter=colour:red", "filter"), ("sort=colour", "sort"), ("limit=1001", "limit"), ("fields=x", "fields")):
        answer, data = console.request("GET", f"/api/v1/jobs?{query}")
        assert answer.status == 400
        assert json.loads(data)["error"]["field"] == field


def test_rows_of_the_jobs_page_are_small(lab, console, done_job):
    """G4: at most 400 bytes a row on their way to a browser."""
    source = (ROOT / "web/src/pages/jobs/model.tsx").read_text(encoding="utf-8")
    fields = re.search(r'kRowFields = "([^"]+)"', source)[1]
    never = {"owner": "small", "cluster": "cluster-1", "hardware": {"gpuType": "a100", "gpuCount": 9000}, "forge": {"project": "testproj/llmd", "args": ["a"]}}
    for number in range(40):
        lab.submit(never, name=f"console-small-{number}")
    path = f"/api/v1/jobs?limit=1000&fields={fields}"
    wait_for("the rows", lambda: len([row for row in console.get(path)["items"] if row.get("message")]) > 40)
    answer, packed = console.request("GET", path, headers={"Accept-Encoding": "gzip"})
    assert answer.getheader("Content-Encoding") == "gzip" and "Accept-Encoding" in answer.getheader("Vary")
    rows = json.loads(gzip.decompress(packed))["items"]
    assert len(rows) > 40 and all(set(row) <= {*fields.split(","), "ns", "name", "uid"} for row in rows)
    assert len(packed) / len(rows) <= 400, (len(packed), len(rows))
    assert console.request("GET", "/api/v1/session", headers={"Accept-Encoding": "gzip"})[0].getheader("Content-Encoding") is None
    for number in range(40):
        lab.http("DELETE", f"/apis/fournos.dev/v1/namespaces/{JOBS}/fournosjobs/console-small-{number}")


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


ODD_BODIES = [
    None, 5, True, "x", [], {}, [[]], {"": {}}, {"kind": "FournosJob", "metadata": 5}, {"kind": "FournosJob", "metadata": []}, {"kind": "FournosJob", "metadata": {"name": 5, "namespace": {}}},
    {"kind": "FournosJob", "metadata": {"labels": 5}, "spec": "x"}, {"form": {"project": {}, "cluster": [1]}}, {"form": 5}, {"name": {}, "project": [], "cluster": 1, "cron_expr": {}},
    {"owner": {}, "ttl": []}, {"owner": "a\u0000b", "ttl": "9999999999h"}, {"profile": [], "count": -1}, {"profile": "1g.5gb", "count": 1e99}, {"requests": 5}, {"requests": {"cpu": {}}},
    {"name": "x", "like": 5, "capacity": 5}, {"merge": 5, "spec": []}, {"until": {}}, {"metadata": {"name": "../x"}, "kind": "FournosJob", "apiVersion": "fournos.dev/v1"},
]  # fmt: skip


def test_odd_bodies_are_answered(console):
    """Each route that changes something refuses what is no body of it, with a reason: no connection ends without an answer."""
    routes = json.loads(console.request("GET", "/openapi.json")[1])["paths"]
    asked = 0
    for path, verbs in routes.items():
        for method in (one.upper() for one in verbs if one != "get"):
            where = re.sub(r"\{\w+\}", "no-such", path)
            for body in ODD_BODIES:
                answer, data = console.request(method, where, json.dumps(body), {"Content-Type": "application/json"})
                # Those of fournos-ui answer failures with 500 (docs/spec/dashboard.md A3).
                assert answer.status < 500 or not path.startswith("/api/v1/"), (method, where, body, answer.status, data[:300])
                assert answer.status < 300 or json.loads(data).keys() & {"error", "detail"}, (method, where, body, data[:300])
                asked += 1
    assert asked > 400, asked
    for path in ("fleet/timeline?from=yesterday", "fleet/timeline?to=x", f"jobs/{JOBS}/none/logs?follow=1&since=x", "gpus?range=x", "insights?range=1y", "mig/history?hours=x"):
        assert console.request("GET", f"/api/v1/{path}")[0].status in (400, 404), path


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


def test_archived_jobs_of_one_name_are_compared(lab, console):
    uids = []
    for _ in range(2):
        make_job(lab, "console-twice")
        uids.append(listed(lab, "fournosjob", "console-twice", "-n", JOBS)["metadata"]["uid"])
        wait_for("its end", lambda: listed(lab, "fournosjob", "console-twice", "-n", JOBS)["status"].get("phase") in ("Succeeded", "Failed"))
        lab.kubectl("delete", "fournosjob", "console-twice", "-n", JOBS)
    path = "/api/v1/jobs/compare?" + "&".join(f"job={JOBS}/console-twice@{uid}" for uid in uids)
    wait_for("both in the history", lambda: console.request("GET", path)[0].status == 200)
    assert [one["uid"] for one in console.get(path)["jobs"]] == uids
    answer, data = console.request("GET", f"{path}x")
    assert answer.status == 404 and json.loads(data)["error"]["field"] == "job", data


def test_failures_name_their_job(lab, console):
    lab.wait_phase(lab.submit(forge(pipeline="no-such-pipeline"))["metadata"]["name"], "Failed")
    for failure in wait_for("a failure", lambda: console.get("/api/v1/overview")["failures"]):
        assert set(failure["job"]) == {"ns", "name", "uid", "archived"}, failure
        assert console.request("GET", f"/jobs/{failure['job']['name']}?ns={failure['job']['ns']}")[0].status == 200


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


def test_a_log_is_followed_from_where_a_reader_is(lab, console):
    """L2: `since` leaves out what the reader has, line by line; a carriage return of a hostile line begins no field of the stream."""
    script = "for i in 1 2 3 4 5 6; do echo line-$i; sleep 0.05; done; printf 'a\\revent: forged\\n'"
    pod = {"metadata": {"name": "since"}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox", "command": ["sh", "-c", script]}]}}
    assert lab.http("POST", f"/api/v1/namespaces/{JOBS}/pods", pod).code == 201
    path = f"/api/v1/logs/{JOBS}/since/c"
    try:
        wait_for("its end", lambda: lab.http("GET", f"/api/v1/namespaces/{JOBS}/pods/since").json["status"]["phase"] == "Succeeded")
        lines = json.loads(console.request("GET", path, headers={"Accept": "application/json"})[1])["lines"]
        whole, fraction = lines[2]["at"].removesuffix("Z").split(".")
        seconds = int(datetime.datetime.fromisoformat(whole + "+00:00").timestamp())
        stream = console.request("GET", f"{path}?follow=1&since={seconds}{fraction.ljust(9, '0')}")[1].decode()
        texts = [json.loads(line[6:])["text"] for line in stream.splitlines() if line.startswith('data: {"n"')]
        assert texts[:3] == ["line-4", "line-5", "line-6"], stream
        assert not re.search(r"^event: forged", stream, re.M), stream
    finally:
        lab.kubectl("delete", "pod", "since", "-n", JOBS, "--wait=false")


def test_a_job_is_followed_from_its_wait_to_its_end(lab, console):
    """One stream has the lines of pods that begin after it was opened, and ends after the job."""
    name = "console-followed"
    path = f"/api/v1/jobs/{JOBS}/{name}"
    lab.submit({"owner": "follower", "cluster": "cluster-1", "lockOnly": True}, name="console-follow-lock")
    answer = {}
    try:
        wait_for("the lock", lambda: lab.job("console-follow-lock")["status"]["phase"] == "Admitted")
        make_job(lab, name)
        wait_for("its wait", lambda: console.get(path)["job"]["phase"] == "Pending")
        connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=60)
        connection.request("GET", f"{path}/logs?follow=1", headers={"Host": console.host})
        stream = connection.getresponse()
        assert stream.status == 200
        reader = threading.Thread(target=lambda: answer.update(text=stream.read().decode()), daemon=True)
        reader.start()
        assert console.get(path)["job"]["phase"] == "Pending"
    finally:
        lab.kubectl("delete", "fournosjob", "console-follow-lock", "-n", JOBS)
    wait_for("the stream's end", lambda: not reader.is_alive())
    connection.close()
    assert lab.job(name)["status"]["phase"] == "Succeeded"
    assert "event: end" in answer["text"]
    followed = {json.loads(line[6:])["source"] for line in answer["text"].splitlines() if line.startswith('data: {"n"')}
    read = json.loads(console.request("GET", f"{path}/logs?lines=100000", headers={"Accept": "application/json"})[1])
    assert len(read["sources"]) > 1 and followed == {line["source"] for line in read["lines"]}


def test_a_log_has_what_came_before_a_restart(lab, console):
    """L1: the instance before the last restart is part of a job's log, as a source of its own."""
    labels = {"fournos.dev/job-name": "restarted"}
    script = "echo said; exit 1"
    pod = {"metadata": {"name": "restarted", "labels": labels}, "spec": {"containers": [{"name": "c", "image": "busybox", "command": ["sh", "-c", script]}]}}
    lab.submit({"owner": "api", "cluster": "cluster-1", "forge": {"project": "testproj/llmd", "args": ["a"]}}, name="restarted")
    assert lab.http("POST", f"/api/v1/namespaces/{JOBS}/pods", pod).code == 201
    try:
        wait_for("a restart", lambda: lab.http("GET", f"/api/v1/namespaces/{JOBS}/pods/restarted").json["status"]["containerStatuses"][0]["restartCount"] >= 1)
        sources = lambda: json.loads(console.request("GET", f"/api/v1/jobs/{JOBS}/restarted/logs", headers={"Accept": "application/json"})[1])["sources"]  # noqa: E731
        wait_for("both instances", lambda: {"restarted/c", "restarted/c (previous)"} <= set(sources()))
    finally:
        lab.kubectl("delete", "pod", "restarted", "-n", JOBS, "--wait=false")


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


def submitted_by(lab, schedule):
    """Trigger types of the jobs that a schedule submitted."""
    return [one["metadata"]["labels"]["fournos-launcher/trigger-type"] for one in listed(lab, "fournosjobs", "-n", JOBS, "-l", f"fournos-launcher/schedule-name={schedule}")["items"]]


def test_a_schedule_of_the_page_submits_its_job(lab, console):
    form = {"name": "console-starts", "project": "llm", "cluster": "cluster-1", "cron_expr": "0 3 1 1 *"}
    answer, data = console.request("POST", "/api/v1/schedules", {**form, "service_account": "ghost"})
    assert answer.status == 422 and json.loads(data)["error"]["field"] == "service_account", data
    answer, data = console.request("POST", "/schedules", urllib.parse.urlencode(form), {"Content-Type": "application/x-www-form-urlencoded"})
    assert answer.status == 303, data
    answer, data = console.request("POST", "/api/v1/schedules/console-starts/trigger", {})
    assert answer.status == 200, data
    assert wait_for("its job", lambda: submitted_by(lab, "console-starts")) == ["manual"]
    assert console.request("DELETE", "/api/v1/schedules/console-starts")[0].status == 200


def test_a_lab_says_that_it_runs_no_resolver(lab, console):
    form = {"name": "console-resolves", "project": "llm", "cluster": "cluster-1", "cron_expr": "0 3 1 1 *", "resolver_script": "print(1)", "resolver_filename": "r.py"}
    assert console.request("POST", "/api/v1/schedules", form)[0].status == 201
    assert console.get("/api/v1/schedules/console-resolves/resolver") == {"filename": "r.py", "content": "print(1)"}
    assert console.request("POST", "/api/v1/schedules/console-resolves/trigger", {})[0].status == 200

    def said():
        pods = listed(lab, "pods", "-n", JOBS)["items"]
        return [one["status"].get("message", "") for one in pods if one["metadata"]["name"].startswith("console-resolves-manual") and one["status"].get("phase") == "Failed"]

    assert "a lab runs no resolver scripts" in wait_for("its end", said)[0]
    assert submitted_by(lab, "console-resolves") == []
    assert console.request("DELETE", "/api/v1/schedules/console-resolves")[0].status == 200


def test_an_edit_keeps_what_the_form_leaves_out(lab, console):
    """An upstream CronJob with resolver, zone and Forbid; only its time changes."""
    one = schedule_of_the_old_ui("from-upstream-kept")
    one["metadata"]["annotations"].update({"fournos-launcher/resolver-configmap": "from-upstream-kept-resolver", "fournos-launcher/resolver-filename": "r.py"})
    one["spec"].update(timeZone="Europe/Berlin", concurrencyPolicy="Forbid")
    pod = one["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    pod["initContainers"] = [{"name": "resolver", "image": "python:3.12-slim", "command": ["python3", "/resolver/r.py"]}]
    lab.kubectl("create", "-f", "-", stdin=json.dumps(one))
    script = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "from-upstream-kept-resolver", "namespace": JOBS, "labels": {"fournos-launcher/managed-by": "fournos-dashboard"}}, "data": {"r.py": "print(2)"}}
    lab.kubectl("create", "-f", "-", stdin=json.dumps(script))
    before = listed(lab, "cronjob", "from-upstream-kept", "-n", JOBS)
    answer, data = console.request("PUT", "/api/v1/schedules/from-upstream-kept", {"cron_expr": "30 4 * * *"})
    assert answer.status == 200, data
    after = listed(lab, "cronjob", "from-upstream-kept", "-n", JOBS)
    assert after["spec"].pop("schedule") == "30 4 * * *"
    before["spec"].pop("schedule")
    for spec in (before["spec"], after["spec"]):  # an account that does not exist is replaced
        for member in ("serviceAccount", "serviceAccountName"):
            spec["jobTemplate"]["spec"]["template"]["spec"].pop(member, None)
    assert after["spec"] == before["spec"] and after["metadata"]["annotations"] == before["metadata"]["annotations"]

    answer, data = console.request("PUT", "/api/v1/schedules/from-upstream-kept", {"name": "from-upstream-renamed"})
    assert answer.status == 200, data
    assert console.get("/api/v1/schedules/from-upstream-renamed/resolver") == {"filename": "r.py", "content": "print(2)"}
    assert console.request("DELETE", "/api/v1/schedules/from-upstream-renamed")[0].status == 200


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


def test_pages_and_old_links(console, done_job):
    answer, data = console.request("GET", "/jobs")
    assert answer.status == 200 and b'<base href="/">' in data
    answer, _ = console.request("GET", "/?tab=history&status=Failed")
    assert answer.status == 302 and answer.getheader("Location").startswith("/jobs?filter=archived%3Atrue")
    answer, _ = console.request("GET", "/?project=llm")
    assert answer.status == 302 and answer.getheader("Location") == "/jobs?filter=archived%3Afalse%20project%3A%22llm%22"
    assert console.request("GET", "/?tab=nonsense")[0].status == 422
    assert console.request("GET", "/no/such/page")[0].status == 404
    answer, data = console.request("GET", "/jobs/ghost")
    assert (answer.status, json.loads(data)) == (404, {"detail": "Job not found"})
    answer, data = console.request("GET", "/jobs/ghost", headers={"Accept": "text/html,*/*"})
    assert answer.status == 404 and b'<base href="/">' in data, "a page that says so"
    assert console.request("GET", f"/jobs/{done_job}")[0].status == 200


def test_secrets_are_masked(console, lab):
    lab.kubectl("create", "secret", "generic", "console-secret", "-n", JOBS, "--from-literal=password=topsecret")
    _, data = console.request("GET", f"/api/v1/objects?apiVersion=v1&kind=Secret&ns={JOBS}&name=console-secret")
    assert json.loads(data)["object"]["data"] == {"password": "***"}
    assert b"dG9wc2VjcmV0" not in data
