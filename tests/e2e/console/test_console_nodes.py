# SPDX-License-Identifier: Apache-2.0
"""Nodes of a lab on the console's page: one fails, recovers, and one is added (docs/spec/dashboard.md B4.9)."""

import json

import pytest
from console_browser import chromium, tabs  # noqa: F401
from console_client import Console, ConsoleProcess
from support import Lab, wait_for


@pytest.fixture(scope="module")
def own_lab(tmp_path_factory):
    """A lab whose nodes no other test needs."""
    one = Lab(tmp_path_factory.mktemp("nodes") / "lab", ["--pods", "timed", "--storage", "memory"])
    try:
        one.start()
        yield one
    finally:
        one.close()


@pytest.fixture(scope="module")
def console(own_lab):
    return Console(own_lab)


def node(lab, name):
    return json.loads(lab.kubectl("get", "node", name, "-o", "json").out)


def ready(lab, name):
    return next(one["status"] for one in node(lab, name)["status"]["conditions"] if one["type"] == "Ready")


def row(console, name):
    return next((one for one in console.get("/api/v1/nodes")["items"] if one["name"] == name), {})


def refused(console, method, path, body=None):
    answer, data = console.request(method, path, body)
    return answer.status, json.loads(data)["error"].get("field"), json.loads(data)["error"]["message"]


def test_a_node_fails_and_recovers(own_lab, console):
    name = wait_for("the nodes", lambda: console.get("/api/v1/nodes")["items"])[0]["name"]
    assert console.request("POST", f"/api/v1/nodes/{name}/fail", {})[0].status == 200
    wait_for("the failed row", lambda: (row(console, name)["state"], row(console, name)["failed"]) == ("NotReady", True))
    assert ready(own_lab, name) == "Unknown"
    taints = lambda: {(one["key"], one["effect"]) for one in node(own_lab, name)["spec"].get("taints", [])}  # noqa: E731
    wait_for("its taints", lambda: ("node.kubernetes.io/unreachable", "NoExecute") in taints())
    pod = {"metadata": {"name": "pinned"}, "spec": {"nodeName": name, "containers": [{"name": "c", "image": "busybox"}]}}
    assert own_lab.http("POST", "/api/v1/namespaces/default/pods", pod).code == 201
    other = next(one["name"] for one in console.get("/api/v1/nodes")["items"] if one["name"] != name)
    elsewhere = {"metadata": {"name": "elsewhere"}, "spec": {"nodeName": other, "containers": [{"name": "c", "image": "busybox"}]}}
    assert own_lab.http("POST", "/api/v1/namespaces/default/pods", elsewhere).code == 201
    phase = lambda pod_name: own_lab.http("GET", f"/api/v1/namespaces/default/pods/{pod_name}").json["status"]["phase"]  # noqa: E731
    wait_for("the pod on the other node", lambda: phase("elsewhere") in ("Running", "Succeeded"))
    assert phase("pinned") == "Pending", "its kubelet is silent"

    assert console.request("POST", f"/api/v1/nodes/{name}/recover", {})[0].status == 200
    wait_for("the ready row", lambda: (row(console, name)["state"], row(console, name)["failed"]) == ("Ready", False))
    wait_for("no taints", lambda: not taints())
    wait_for("the pod", lambda: phase("pinned") in ("Running", "Succeeded"))
    assert ready(own_lab, name) == "True"
    audit = [(one["action"], one["object"], one["outcome"]) for one in console.get("/api/v1/system")["audit"]]
    assert [one for one in audit if one[1] == f"Node/{name}"] == [("recover", f"Node/{name}", "done"), ("fail", f"Node/{name}", "done")]


def test_a_node_is_added(own_lab, console):
    own_lab.kubectl("label", "node", wait_for("a node", lambda: console.get("/api/v1/nodes")["items"])[0]["name"], "rack=r1")
    model = console.get("/api/v1/nodes")["items"][0]["name"]
    wait_for("the label", lambda: row(console, model)["labels"].get("rack") == "r1")
    answer, data = console.request("POST", "/api/v1/nodes", {"name": "added", "like": model, "capacity": {"cpu": "3", "nvidia.com/gpu": 2}})
    assert answer.status == 201, data
    wait_for("its readiness", lambda: row(console, "added").get("state") == "Ready")
    made = node(own_lab, "added")
    assert (made["status"]["capacity"]["cpu"], made["status"]["allocatable"]["nvidia.com/gpu"]) == ("3", "2")
    assert made["metadata"]["labels"]["rack"] == "r1" and made["metadata"]["labels"]["kubernetes.io/hostname"] == "added"
    assert row(console, "added")["emulated"] and "0/2" in row(console, "added")["gpus"]
    assert refused(console, "POST", "/api/v1/nodes", {"name": "added"})[0] == 409
    assert refused(console, "POST", "/api/v1/nodes", {"name": "Not_A_Name"})[:2] == (422, "name")
    assert refused(console, "POST", "/api/v1/nodes", {})[:2] == (400, "name")
    assert refused(console, "POST", "/api/v1/nodes", {"name": "x", "like": "ghost"})[:2] == (400, "like")
    for capacity in ({"cpu": "many"}, {"cpu": "-1"}, {"cpu": ""}, ["cpu"], "cpu"):
        assert refused(console, "POST", "/api/v1/nodes", {"name": "x", "capacity": capacity})[:2] == (400, "capacity"), capacity
    assert own_lab.http("GET", "/api/v1/nodes/x").code == 404


def test_other_nodes_are_left_alone(own_lab, console, tmp_path):
    assert own_lab.http("POST", "/api/v1/nodes", {"metadata": {"name": "real"}}).code == 201
    wait_for("its row", lambda: row(console, "real"))
    assert refused(console, "POST", "/api/v1/nodes/real/fail", {}) == (409, None, "node real is not emulated")
    assert refused(console, "POST", "/api/v1/nodes/ghost/fail", {})[0] == 404
    assert refused(console, "POST", "/api/v1/nodes", {"name": "like-real", "like": "real"})[:2] == (400, "like")
    apart = ConsoleProcess(own_lab, tmp_path)
    try:
        name = next(one["name"] for one in wait_for("the nodes", lambda: apart.get("/api/v1/nodes")["items"]) if one["emulated"])
        for method, path in (("fail", f"/api/v1/nodes/{name}/fail"), ("add", "/api/v1/nodes")):
            status, _, message = refused(apart, "POST", path, {"name": "x"})
            assert status == 409 and "lab" in message, (method, message)
        assert ready(own_lab, name) == "True"
    finally:
        apart.stop()


def test_the_page_lets_a_node_fail_recover_and_adds_one(own_lab, console, tabs):  # noqa: F811
    tab = tabs(f"http://{console.host}")
    page = tab.open("/nodes")
    name = next(one["name"] for one in console.get("/api/v1/nodes")["items"] if one["emulated"])
    state = page.locator(f"[data-testid=row-node--{name}]")
    page.get_by_role("button", name=f"Fail {name}").click()
    tab.check_access()
    page.locator("[data-testid=confirm]").click()
    page.get_by_role("button", name=f"Recover {name}").wait_for()
    wait_for("the state", lambda: "NotReady" in state.inner_text())
    page.get_by_role("button", name=f"Recover {name}").click()
    page.locator("[data-testid=confirm]").click()
    page.get_by_role("button", name=f"Fail {name}").wait_for()
    page.locator("[data-testid=add-node]").click()
    tab.check_access()
    page.locator("[data-testid=node-name]").fill("from-the-page")
    page.locator("[data-testid=node-like]").select_option(name)
    page.locator("[data-testid=node-capacity]").fill("cpu=many")
    page.get_by_role("button", name="Add", exact=True).click()
    page.locator("dialog .field.wrong").wait_for()
    page.locator("[data-testid=node-capacity]").fill("cpu=5, memory=8Gi")
    page.get_by_role("button", name="Add", exact=True).click()
    page.locator("[data-testid=row-node--from-the-page]").wait_for()
    wait_for("its capacity", lambda: node(own_lab, "from-the-page")["status"]["capacity"]["cpu"] == "5")
    tab.faults = [fault for fault in tab.faults if "400 (Bad Request)" not in fault]
    page = tab.open(f"/nodes/{name}?tab=events")
    page.locator("table[aria-label=Events] td", has_text="NodeNotReady").first.wait_for()
