# SPDX-License-Identifier: Apache-2.0
"""Objects on their pages: owners and what they own (G7), and the transitions of AppWrappers (B4.6 of docs/spec/dashboard.md)."""

import json
import urllib.parse

import pytest
from console_browser import chromium, tabs  # noqa: F401
from console_client import Console
from support import JOBS, ROOT, wait_for

FAILING = ROOT / "examples/appwrapper/failing-job.yaml"
AW = ("workload.codeflare.dev/v1beta2", "AppWrapper", "default", "failing-job")


@pytest.fixture(scope="module")
def console(lab):
    lab.kubectl("apply", "-f", FAILING)
    lab.kubectl("create", "-f", ROOT / "examples/fournos/sample-job.yaml")
    yield Console(lab)
    lab.kubectl("delete", "-f", FAILING, "--wait=false")


def tree(console, api_version, kind, ns, name):
    query = urllib.parse.urlencode({"apiVersion": api_version, "kind": kind, "ns": ns, "name": name})
    return console.get(f"/api/v1/objects/tree?{query}")


def nodes(tree):
    return [tree, *(one for child in tree["children"] for one in nodes(child))]


def test_an_appwrapper_keeps_its_transitions(lab, console):
    path = "/api/v1/appwrappers/default/failing-job/tree"
    wait_for("the end", lambda: (page := console.get(path))["appwrapper"]["phase"] == "Failed" and page["transitions"][-1]["phase"] == "Failed")
    page = console.get(path)
    seen = page["transitions"]
    phases = [one["phase"] for one in seen]
    assert phases[-1] == "Failed" and phases.count("Resetting") == 2, phases
    assert [one["at"] for one in seen] == sorted(one["at"] for one in seen)
    assert seen[-1]["retries"] == page["appwrapper"]["retries"] == 2
    resets = [one for one in seen if one["phase"] == "Resetting"]
    assert [one["retries"] for one in resets] == [1, 2]
    assert all(one["condition"] == "Unhealthy" and one["reason"] for one in resets), resets
    assert len({(one["phase"], one["retries"]) for one in seen}) == len(seen), "each once"


def test_an_appwrapper_names_its_workload(console):
    names = {(one["kind"], one.get("current", False)) for one in nodes(tree(console, *AW))}
    assert ("AppWrapper", True) in names and ("Workload", False) in names, names


def test_a_workload_is_below_its_job_and_a_node_above_its_pods(lab, console):
    spec = {"owner": "objects", "cluster": "cluster-1", "hardware": {"gpuType": "a100", "gpuCount": 9000}, "forge": {"project": "testproj/llmd", "args": ["a"]}}
    lab.submit(spec, name="never-fits")
    job = wait_for("the job's Workload", lambda: [one for one in console.get("/api/v1/workloads?limit=1000")["items"] if one.get("job") == "never-fits"])[0]
    root = tree(console, "kueue.x-k8s.io/v1beta2", "Workload", JOBS, job["name"])
    assert (root["kind"], root["name"]) == ("FournosJob", job["job"])
    assert [one["name"] for one in nodes(root) if one.get("current")] == [job["name"]]
    node = json.loads(lab.kubectl("get", "nodes", "-o", "json").out)["items"][0]["metadata"]["name"]
    pod = {"metadata": {"name": "on-a-node"}, "spec": {"nodeName": node, "containers": [{"name": "c", "image": "busybox", "command": ["sleep", "600"]}]}}
    assert lab.http("POST", "/api/v1/namespaces/default/pods", pod).code == 201
    try:
        on_node = lambda: {(one["kind"], one["name"]) for one in nodes(tree(console, "v1", "Node", "", node))}  # noqa: E731
        wait_for("the pod below its node", lambda: ("Pod", "on-a-node") in on_node())
        assert "FournosJob" not in {kind for kind, _ in on_node()}
    finally:
        lab.kubectl("delete", "pod", "on-a-node", "--wait=false")
        lab.kubectl("delete", "fournosjob", "never-fits", "-n", JOBS, "--wait=false")


def test_a_job_names_its_copied_secrets_and_no_value(lab, console):
    name = "with-secret"
    secret = {"metadata": {"name": f"copied-{name}", "namespace": JOBS, "labels": {"fournos.dev/job-name": name}}, "stringData": {"key": "p4ssw0rd"}}
    assert lab.http("POST", f"/api/v1/namespaces/{JOBS}/secrets", secret).code == 201
    lab.submit({"owner": "objects", "cluster": "cluster-1", "forge": {"project": "testproj/llmd", "args": ["a"]}}, name=name)
    found = wait_for("the job's tree", lambda: (one := console.request("GET", f"/api/v1/jobs/{JOBS}/{name}/tree"))[0].status == 200 and one[1])
    assert f"copied-{name}" in {one["name"] for one in nodes(json.loads(found))}
    assert b"p4ssw0rd" not in found and b"cDRzc3cwcmQ" not in found


def test_unknown_trees_are_refused(console):
    for query, status in (("kind=Secret&ns=default&name=x", 400), ("kind=Node", 400), ("kind=Node&name=ghost", 404), ("kind=Nothing&name=x", 400)):
        assert console.request("GET", f"/api/v1/objects/tree?{query}")[0].status == status, query


def test_the_tabs_show_them(console, tabs):  # noqa: F811
    tab = tabs(f"http://{console.host}")
    page = tab.open("/appwrappers/default/failing-job?tab=related")
    page.locator(".tree b", has_text="AppWrapper/failing-job").wait_for()
    page = tab.open("/appwrappers/default/failing-job")
    page.locator("[data-testid=transitions] td", has_text="Unhealthy").first.wait_for()
    tab.check_access()
    page = tab.open(f"/nodes/{console.get('/api/v1/nodes')['items'][0]['name']}?tab=related")
    page.locator(".tree b", has_text="Node/").wait_for()
