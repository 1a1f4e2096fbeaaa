# SPDX-License-Identifier: Apache-2.0
"""Routes of fournos-ui do what they did: forms, fragments, reruns (docs/spec/dashboard.md A3, A6, B8)."""

import json
import re
import time
import urllib.parse

import pytest
from console_client import ConsoleProcess
from support import JOBS, wait_for

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
PROJECTS = """
projects:
- {name: llm, cluster: cluster-1, presets: [fast, slow], config_keys: [a.b]}
- {cluster: nameless}
"""


@pytest.fixture(scope="module")
def console(lab, tmp_path_factory):
    folder = tmp_path_factory.mktemp("legacy")
    (folder / "projects.yaml").write_text(PROJECTS, encoding="utf-8")
    one = ConsoleProcess(lab, folder, PROJECTS_CONFIG_PATH=str(folder / "projects.yaml"))
    wait_for("readiness", lambda: one.request("GET", "/readyz")[0].status == 200)
    yield one
    one.stop()


def submitted(lab, console, **fields):
    answer, data = console.request("POST", "/submit", urllib.parse.urlencode(fields), FORM)
    assert answer.status == 303, data
    return lab.job(answer.getheader("Location").rsplit("/", 1)[1])


def test_each_field_of_the_form_is_in_the_job(lab, console):
    """T1: named fields, byte for byte."""
    job = submitted(
        lab, console, project="mcp_gateway", cluster="cluster-1", pipeline="forge-test-only", preset="fast", version="v1.2", owner="ann", exclusive="on",
        config_overrides_raw="a.b: 1\r\nno colon\r\n url : http://x:1 \r\n", pull_sha="abcdef0",
    )  # fmt: skip
    assert re.fullmatch(r"forge-mcp-gateway-\d{8}-\d{6}(-\w{5})?", job["metadata"]["name"])
    spec = job["spec"]
    forge = {"project": "mcp_gateway", "args": ["fast"], "configOverrides": {"a.b": "1", "url": "http://x:1", "infrastructure.mcp_gateway_version": "v1.2"}}
    assert spec["executionEngine"]["forge"] == forge
    assert (spec["cluster"], spec["pipeline"], spec["owner"], spec["exclusive"], spec["env"]) == ("cluster-1", "forge-test-only", "ann", True, {"PULL_PULL_SHA": "abcdef0"})
    assert "mcp_gateway" in spec["displayName"] and "fast" in spec["displayName"]


def test_absent_fields_take_their_defaults(lab, console):
    job = submitted(lab, console, project="llm", cluster="cluster-1")
    spec = job["spec"]
    assert (spec["pipeline"], spec["owner"], spec.get("exclusive", False)) == ("forge-test-only", "fournos-dashboard", False)
    assert spec["executionEngine"]["forge"]["args"] == [] and "configOverrides" not in spec["executionEngine"]["forge"] and "env" not in spec


def test_two_forms_of_one_second_make_two_jobs(lab, console):
    names = {submitted(lab, console, project="llm", cluster="cluster-1")["metadata"]["name"] for _ in range(2)}
    assert len(names) == 2


def test_projects_are_those_of_the_file(console):
    _, data = console.request("GET", "/api/project-info/llm")
    assert json.loads(data) == {"presets": ["fast", "slow"], "cluster": "cluster-1"}
    answer, data = console.request("GET", "/api/project-info/nobody")
    assert (answer.status, json.loads(data)) == (200, {"presets": [], "cluster": ""})


def test_fragments_show_the_jobs(lab, console):
    name = submitted(lab, console, project="llm", cluster="cluster-1", owner="frag<b>")["metadata"]["name"]
    wait_for("its row", lambda: name.encode() in console.request("GET", "/api/jobs-table")[1])
    answer, data = console.request("GET", "/api/jobs-table?owner=nobody")
    assert answer.status == 200 and name.encode() not in data
    answer, data = console.request("GET", f"/api/jobs/{name}/detail-partial")
    assert answer.status == 200 and f"<h2>{name}</h2>".encode() in data and b"<b>" not in data
    answer, data = console.request("GET", "/api/jobs/ghost/detail-partial")
    assert (answer.status, data) == (200, b"")


def test_an_archived_job_runs_again(lab, console):
    """Also once its object is gone; a name that comes again is a second entry (B8)."""
    first = submitted(lab, console, project="llm", cluster="cluster-1", preset="fast")
    name = first["metadata"]["name"]
    assert console.request("POST", f"/api/jobs/{name}/cancel", "")[0].status == 200
    wait_for("its end", lambda: lab.job(name).get("status", {}).get("phase") in ("Stopped", "Succeeded", "Failed"))
    lab.kubectl("delete", "fournosjob", name, "-n", JOBS)
    rows = lambda: [one for one in console.get("/api/v1/jobs?limit=1000")["items"] if one["name"] == name]  # noqa: E731
    wait_for("the archived row", lambda: [one for one in rows() if one.get("archived")])
    wait_for("a second of another name", lambda: time.strftime("%Y%m%d-%H%M%S", time.gmtime()) not in name)
    answer, data = console.request("POST", f"/api/jobs/{name}/rerun", "")
    assert answer.status == 200, data
    again = json.loads(data)
    assert again["status"] == "ok" and again["redirect"] == f"/jobs/{again['job_name']}" and again["job_name"] != name
    job = lab.job(again["job_name"])
    assert job["spec"]["executionEngine"] == first["spec"]["executionEngine"] and "shutdown" not in job["spec"]
    assert console.request("POST", "/api/jobs/ghost/rerun", "")[0].status == 404

    second = {"apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": {"name": name, "namespace": JOBS}, "spec": first["spec"]}
    lab.kubectl("create", "-f", "-", stdin=json.dumps(second))
    uid = lab.job(name)["metadata"]["uid"]
    assert uid != first["metadata"]["uid"]
    wait_for("the newest", lambda: console.get(f"/api/v1/jobs/{JOBS}/{name}")["job"]["uid"] == uid)
    lab.kubectl("delete", "fournosjob", name, "-n", JOBS)
    old = console.get(f"/api/v1/jobs/{JOBS}/{name}?uid={first['metadata']['uid']}")
    assert old["job"]["archived"] and old["job"]["uid"] == first["metadata"]["uid"]


def test_a_schedule_lists_its_runs(lab, console):
    label = {"fournos-launcher/schedule-name": "legacy-nightly", "fournos-launcher/trigger-type": "scheduled"}
    job = {"apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": {"name": f"legacy-run-{int(time.time())}", "namespace": JOBS, "labels": label}, "spec": {"owner": "a", "cluster": "cluster-1", "forge": {"project": "testproj/llmd", "args": ["a"]}}}
    lab.kubectl("create", "-f", "-", stdin=json.dumps(job))
    runs = wait_for("the run", lambda: console.get("/api/v1/schedules/legacy-nightly/runs")["items"])
    assert [(one["name"], one["trigger"]) for one in runs] == [(job["metadata"]["name"], "scheduled")]
    assert console.request("GET", "/schedules/legacy-nightly/runs")[0].status == 200
    answer, data = console.request("GET", "/api/schedules/legacy-nightly/resolver")
    assert (answer.status, set(json.loads(data))) == (404, {"detail"})
