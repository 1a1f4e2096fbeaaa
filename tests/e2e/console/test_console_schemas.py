# SPDX-License-Identifier: Apache-2.0
"""Each answer of the JSON API has the members that openapi.json describes, and no others (docs/spec/dashboard.md B5): every route is asked in a lab
that has all kinds, and changes are made and taken back."""

import json
import re
import urllib.parse

import pytest
from console_client import Console
from console_schemas import Schemas
from support import ROOT, wait_for
from tutorial_lab import tutorial_lab

NS, CLUSTER = "fournos-local-dev", "edge"
JOB = {"owner": "ann", "cluster": "cluster-1", "pipeline": "fournos-benchmark", "forge": {"project": "llmd", "args": ["a"]}}
SCHEDULE = {"name": "nightly", "project": "llmd", "cluster": "cluster-1", "cron_expr": "0 3 * * *", "resolver_script": "print(1)"}


def manifest(name, **spec):
    return {"apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": {"name": name, "namespace": NS}, "spec": {**JOB, **spec}}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The lab of the tutorial with GPUs that are sliced, zones, a lock, a schedule, an AppWrapper, and jobs of each end."""
    with pytest.MonkeyPatch.context() as patch, tutorial_lab(tmp_path_factory.mktemp("schemas"), patch) as one:
        for name in ("das/test-pod-emulated", "appwrapper/appwrapper"):
            one.kubectl("apply", "-f", ROOT / f"examples/{name}.yaml")
        yield one


@pytest.fixture(scope="module")
def console(lab):
    """A console whose lab has something for every page."""
    client = Console(lab)
    for body in (manifest("done"), manifest("gone"), manifest("failed", pipeline="no-such-pipeline")):
        lab.kubectl("apply", "-f", "-", stdin=json.dumps(body))
    assert client.request("POST", "/api/v1/schedules", SCHEDULE)[0].status == 201
    phase = lambda name: client.get(f"/api/v1/jobs/{NS}/{name}")["job"]["phase"]  # noqa: E731
    for name, ends in (("done", "Succeeded"), ("gone", "Succeeded"), ("failed", "Failed")):
        wait_for(f"the end of {name}", lambda name=name, ends=ends: phase(name) == ends)
    lab.kubectl("delete", "fournosjob", "gone", "-n", NS)
    wait_for("the cluster", lambda: any(one["name"] == CLUSTER and one["state"] == "Valid" for one in client.get("/api/v1/clusters")["items"]))
    assert client.request("PUT", f"/api/v1/clusters/{CLUSTER}/lock", {"owner": "bob", "ttl": "2h"})[0].status == 200
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(manifest("waits", cluster=CLUSTER, hardware={"gpuType": "a100", "gpuCount": 2})))
    wait_for("the slice", lambda: any(gpu["holders"] for node in client.get("/api/v1/mig")["nodes"] for gpu in node["gpus"]))
    wait_for("the zones", lambda: client.get("/api/v1/numa")["nodes"])
    wait_for("the lock", lambda: client.get("/api/v1/locks")["items"])
    wait_for("the waiting job", lambda: client.get(f"/api/v1/jobs/{NS}/waits/explain").get("causes"))
    wait_for("the archived job", lambda: any(one["archived"] and one["name"] == "gone" for one in client.get("/api/v1/jobs")["items"]))
    wait_for("the AppWrapper's pods", lambda: client.get("/api/v1/appwrappers/default/sample/tree")["tree"]["children"])
    return client


@pytest.fixture(scope="module")
def schemas(console):
    return Schemas(console.get("/openapi.json"))


def filled(path, console):
    """Routes with names that the lab has: each of those that show a thing in several states is asked for all of them."""
    names = {"ns": [NS], "name": ["done"], "clusterqueue": ["fournos-queue"], "project": ["llmd"], "container": ["c"], "pod": ["no-pod"]}
    part = path.removeprefix("/api/v1/").partition("/")[0]
    if part == "jobs":
        names["name"] = ["done", "failed", "waits", "gone"]
    elif part == "workloads":
        names["name"] = [row["name"] for row in console.get("/api/v1/workloads")["items"] if row["ns"] == NS]
    elif part == "clusters":
        names["name"] = ["cluster-1", CLUSTER]
    elif part == "appwrappers":
        names.update(ns=["default"], name=["sample"])
    elif part == "nodes":
        names["name"] = [row["name"] for row in console.get("/api/v1/nodes")["items"]]
    elif part == "schedules":
        names["name"] = ["nightly"]
    elif part == "logs":
        pod = console.get(f"/api/v1/jobs/{NS}/done")["pods"][0]
        names.update(pod=[pod["name"]], container=[pod["containers"][-1]["name"]])
    paths = [path]
    for name in re.findall(r"\{(\w+)\}", path):
        paths = [one.replace("{%s}" % name, urllib.parse.quote(value)) for one in paths for value in names[name]]
    return paths


QUERIES = {
    "/api/v1/jobs/compare": f"?job={NS}/done&job={NS}/failed",
    "/api/v1/whatif": "?change=job&cluster=cluster-1&days=1",
    "/api/v1/objects": f"?kind=FournosJob&ns={NS}&name=done",
    "/api/v1/objects/tree": f"?kind=FournosJob&ns={NS}&name=done",
    "/api/v1/schedules/preview": "?cron=0+3+*+*+*",
    "/api/v1/logs/{ns}/{pod}/{container}/search": "?q=a",
    "/api/v1/jobs/{ns}/{name}/logs": "?tail=5",
}


def test_each_answer_has_the_described_members(console, schemas):
    wrong, asked, refused = [], set(), {}
    for path, operations in schemas.document["paths"].items():
        if "get" not in operations or not path.startswith("/api/v1/"):
            continue
        schema = schemas.answer("GET", path)
        if schema is None:
            continue
        for one in filled(path, console):
            answer, data = console.request("GET", one + QUERIES.get(path, ""), headers={"Accept": "application/json"})
            value = json.loads(data)
            if answer.status == 200:
                asked.add(path)
                wrong += schemas.faults(value, schema, path)
            else:
                refused[path] = value
                wrong += schemas.faults(value, {"$ref": "#/components/schemas/Error"}, path)
    assert not wrong, "\n".join(sorted(set(wrong)))
    # A lab has no results place; all else is there.
    missing = {path for path in refused if path not in asked}
    assert not missing, refused


def test_each_change_answers_as_described(lab, console, schemas):
    """Changes that can be taken back, one after the other."""
    node = next(row["name"] for row in console.get("/api/v1/nodes")["items"] if row["emulated"])
    again = {**SCHEDULE, "name": "again"}
    steps = [
        ("POST", "/api/v1/jobs", "/api/v1/jobs?dryRun=1", manifest("dry")),
        ("POST", "/api/v1/jobs", "/api/v1/jobs", manifest("never", hardware={"gpuType": "a100", "gpuCount": 9000})),
        ("POST", "/api/v1/jobs/{ns}/{name}/stop", f"/api/v1/jobs/{NS}/never/stop", {}),
        ("POST", "/api/v1/jobs/{ns}/{name}/terminate", f"/api/v1/jobs/{NS}/never/terminate", {}),
        ("DELETE", "/api/v1/jobs/{ns}/{name}", f"/api/v1/jobs/{NS}/never", None),
        ("POST", "/api/v1/jobs/{ns}/{name}/rerun", f"/api/v1/jobs/{NS}/gone/rerun", {}),
        ("PUT", "/api/v1/clusters/{name}/lock", f"/api/v1/clusters/{CLUSTER}/lock", {"owner": "bob", "ttl": "3h"}),
        ("POST", "/api/v1/clusters/{name}/cordon", f"/api/v1/clusters/{CLUSTER}/cordon", {}),
        ("POST", "/api/v1/clusters/{name}/uncordon", f"/api/v1/clusters/{CLUSTER}/uncordon", {}),
        ("POST", "/api/v1/clusters/{name}/rediscover", f"/api/v1/clusters/{CLUSTER}/rediscover", {}),
        ("DELETE", "/api/v1/clusters/{name}/lock", f"/api/v1/clusters/{CLUSTER}/lock", None),
        ("POST", "/api/v1/mig/whatif", "/api/v1/mig/whatif", {"profile": "1g.5gb", "count": 100}),
        ("POST", "/api/v1/numa/fit", "/api/v1/numa/fit", {"requests": {"cpu": "1", "memory": "1Gi"}}),
        ("POST", "/api/v1/appwrappers/{ns}/{name}/suspend", "/api/v1/appwrappers/default/sample/suspend", {}),
        ("POST", "/api/v1/appwrappers/{ns}/{name}/resume", "/api/v1/appwrappers/default/sample/resume", {}),
        ("POST", "/api/v1/nodes", "/api/v1/nodes", {"name": "added", "capacity": {"cpu": "8"}}),
        ("POST", "/api/v1/nodes/{name}/cordon", f"/api/v1/nodes/{node}/cordon", {}),
        ("POST", "/api/v1/nodes/{name}/uncordon", f"/api/v1/nodes/{node}/uncordon", {}),
        ("POST", "/api/v1/nodes/{name}/fail", "/api/v1/nodes/added/fail", {}),
        ("POST", "/api/v1/nodes/{name}/recover", "/api/v1/nodes/added/recover", {}),
        ("POST", "/api/v1/schedules", "/api/v1/schedules", again),
        ("PUT", "/api/v1/schedules/{name}", "/api/v1/schedules/again", {"cron_expr": "0 4 * * *"}),
        ("POST", "/api/v1/schedules/{name}/pause", "/api/v1/schedules/again/pause", {}),
        ("POST", "/api/v1/schedules/{name}/resume", "/api/v1/schedules/again/resume", {}),
        ("POST", "/api/v1/schedules/{name}/trigger", "/api/v1/schedules/again/trigger", {}),
        ("DELETE", "/api/v1/schedules/{name}", "/api/v1/schedules/again", None),
        ("PUT", "/api/v1/templates/{name}", "/api/v1/templates/mine", manifest("template")),
        ("DELETE", "/api/v1/templates/{name}", "/api/v1/templates/mine", None),
        ("DELETE", "/api/v1/appwrappers/{ns}/{name}", "/api/v1/appwrappers/default/sample", None),
        ("POST", "/api/v1/clusters/{name}/offboard", f"/api/v1/clusters/{CLUSTER}/offboard", {}),
        ("POST", "/api/v1/logout", "/api/v1/logout", {}),
    ]  # fmt: skip
    wrong = []
    for method, path, sent, body in steps:
        if path == "/api/v1/nodes/{name}/fail":
            wait_for("the node", lambda: any(row["name"] == "added" for row in console.get("/api/v1/nodes")["items"]))
        if path == "/api/v1/schedules/{name}":
            wait_for("the schedule", lambda: any(row["name"] == "again" for row in console.get("/api/v1/schedules")["items"]))
        answer, data = console.request(method, sent, body)
        assert answer.status in (200, 201), (method, sent, answer.status, data)
        wrong += schemas.faults(json.loads(data), schemas.answer(method, path), f"{method} {path}")
    assert not wrong, "\n".join(wrong)
    changes = {(method.upper(), path) for path, operations in schemas.document["paths"].items() for method in operations if method != "get" and path.startswith("/api/v1/")}
    assert changes - {(method, path) for method, path, _, _ in steps} == {("POST", "/api/v1/login")}, "see test_console_access.py for the login"
