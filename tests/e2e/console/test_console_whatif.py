# SPDX-License-Identifier: Apache-2.0
"""Questions about the live fleet: the same figures as `athanor simulate`, refusals, and the page."""

import json
import urllib.parse

import pytest
from console_browser import chromium, console, make_console, tabs  # noqa: F401
from console_client import Console
from support import ROOT, Lab, wait_for

NS, CLUSTER = "psap-automation", "cluster-a-1"
JOB = {"owner": "whatif", "cluster": CLUSTER, "hardware": {"gpuType": "a100", "gpuCount": 8}, "forge": {"project": "llmd", "args": ["cks"]}}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """A lab in which four jobs of all GPUs of one cluster have run one after another, and its console."""
    lab = Lab(tmp_path_factory.mktemp("whatif") / "lab", ["--pods", "timed", "--lab", str(ROOT / "examples/hearth/lab.yaml")])
    try:
        lab.start()
        asks = Console(lab)
        wait_for("the hardware", lambda: asks.get(f"/api/v1/clusters/{CLUSTER}")["nodes"])
        wait_for("the quota", lambda: any(one["quota"] == one["discovered"] == "8" for one in asks.get(f"/api/v1/clusters/{CLUSTER}")["quota"]))
        for number in range(4):
            lab.submit(JOB, name=f"whatif-{number}", ns=NS)
        for number in range(4):
            lab.wait_phase(f"whatif-{number}", "Succeeded", ns=NS)
        wait_for("the history", lambda: asks.get("/api/v1/system")["history"]["jobs"] == 4)
        yield lab, asks
    finally:
        lab.close()


def ask(asks, **question):
    answer, data = asks.request("GET", "/api/v1/whatif?" + urllib.parse.urlencode(question))
    return answer.status, json.loads(data)


def test_the_figures_are_those_of_the_command_line(fleet, tmp_path):
    lab, asks = fleet
    status, answer = ask(asks, change="gpus", cluster=CLUSTER, gpuType="a100", gpus=8, days=1)
    assert status == 200, answer
    assert answer["jobs"] == {"running": 0, "waiting": 0, "locks": 0, "ended": 4, "leftOut": 0}
    file = tmp_path / "fleet.yaml"
    file.write_text(lab.athanor("clusters", "-o", "fleet").out, encoding="utf-8")
    trace = lab.athanor("jobs", "-n", NS, "-o", "trace").out
    [report] = json.loads(lab.athanor("simulate", "-", "--fleet", file, "-o", "json", stdin=trace).out)["fleets"]
    same = ("jobs", "succeeded", "hours", "waiting", "utilisation", "overTime")
    assert {name: answer["without"][name] for name in same} == {name: report[name] for name in same}
    before, after = (answer[side]["waiting"]["all"] for side in ("without", "with"))
    assert before["maxSeconds"] > after["maxSeconds"] >= 0
    assert answer["with"]["utilisation"]["a100"]["gpus"] == answer["without"]["utilisation"]["a100"]["gpus"] + 8


def test_locks_and_new_jobs_are_played(fleet):
    _, asks = fleet
    answer, data = asks.request("PUT", f"/api/v1/clusters/{CLUSTER}/lock", {"owner": "alice", "ttl": "2h"})
    assert answer.status == 200, data
    wait_for("the lock", lambda: asks.get(f"/api/v1/clusters/{CLUSTER}")["cluster"]["lock"]["state"] == "Held")
    status, job = ask(asks, change="job", cluster=CLUSTER, gpuType="a100", gpus=1, duration="30m", days=1)
    assert status == 200, job
    assert 7000 < job["job"]["waitSeconds"] <= 7300, "the lock ends in two hours"
    status, unlocked = ask(asks, change="unlock", cluster=CLUSTER, days=1)
    assert status == 200 and unlocked["jobs"]["locks"] == 1, unlocked
    status, node = ask(asks, change="node", cluster=CLUSTER)
    assert status == 200 and "8 a100" in node["text"], node
    assert asks.request("DELETE", f"/api/v1/clusters/{CLUSTER}/lock")[0].status == 200
    wait_for("the end of the lock", lambda: ask(asks, change="unlock", cluster=CLUSTER)[0] == 400)


@pytest.mark.parametrize(
    ("question", "field", "says"),
    [
        ({"change": "more"}, "change", "must be node, cluster"),
        ({"change": "node", "cluster": "nowhere"}, "cluster", "cluster-a-1, cluster-a-2"),
        ({"change": "gpus", "cluster": CLUSTER, "gpuType": "a100", "gpus": "-1"}, "gpus", "whole number"),
        ({"change": "job", "gpuType": "b200", "gpus": "1"}, "", "fit in no cluster"),
        ({"change": "job", "cluster": CLUSTER, "priority": "none-such"}, "", "none-such"),
        ({"change": "node", "cluster": CLUSTER, "days": "0"}, "days", "1 to 90"),
    ],
)
def test_questions_without_an_answer_are_refused(fleet, question, field, says):
    status, answer = ask(fleet[1], **question)
    assert status == 400 and answer["error"].get("field", "") == field and says in answer["error"]["message"], answer


def test_other_sites_cannot_ask(fleet):
    answer, _ = fleet[1].request("GET", "/api/v1/whatif?change=node&cluster=cluster-a-1", headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status == 403


def test_a_cluster_shows_its_nodes_and_hardware(fleet):
    """Each is waited for: a busy machine may miss a probe of the cluster, and see it whole again later."""
    _, asks = fleet
    page = lambda: asks.get(f"/api/v1/clusters/{CLUSTER}")  # noqa: E731
    wait_for("its node", lambda: {(one["gpu"], one["allocatable"], one["ready"]) for one in page()["nodes"]} == {("a100", 8, True)})
    wait_for("its hardware", lambda: (last := page()["hardware"][-1])["byType"] == {"a100": 8} and last["gpus"] == 8)
    bars = lambda: {bar["job"] for lane in asks.get("/api/v1/fleet/timeline?cluster=cluster-a-1")["lanes"] for bar in lane["bars"]}  # noqa: E731
    wait_for("the bars of its jobs", lambda: bars() >= {f"whatif-{number}" for number in range(4)})


def test_a_question_is_asked_on_the_page(console, tabs):  # noqa: F811
    tab = tabs(console.url)
    page = tab.open("/queue")
    page.get_by_role("link", name="What if…").click()
    page.locator("[data-testid=change-gpus]").click()
    page.locator("[data-testid=question-cluster]").select_option("cluster-2")
    page.locator("[data-testid=question-type]").fill("h200")
    page.locator("[data-testid=question-gpus]").fill("16")
    page.locator("[data-testid=simulate]").click()
    assert "cluster-2 has 16 more GPUs of type h200" in page.locator("[data-testid=whatif-answer]").inner_text()
    asked = [path for _, path in console.requests if "/whatif" in path and "/api/" in path]
    assert asked == ["/api/v1/whatif?change=gpus&cluster=cluster-2&gpuType=h200&gpus=16&days=14"]
    page.reload()
    page.wait_for_selector("[data-testid=whatif-answer]")
    assert page.locator("[data-testid=question-gpus]").input_value() == "16", "the address holds the question"
