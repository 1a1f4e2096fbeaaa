# SPDX-License-Identifier: Apache-2.0
"""A job of high priority takes the cluster from one of low priority, which starts anew afterwards (docs/fournos.md, docs/spec/kueue.md 7.8)."""

import json

import pytest
from support import JOBS, forge, wait_for

CLUSTER = "cluster-3"


@pytest.fixture
def long_runs(lab):
    """Jobs that start meanwhile run until the fixture's value is called."""

    def set_duration(seconds):
        lab.kubectl("patch", "cm", "fournos-mock-config", "-n", JOBS, "--type=merge", "-p", json.dumps({"data": {"sleep": seconds}}))

    set_duration("600")
    yield lambda: set_duration("0.1")
    set_duration("0.1")


def workload(lab, name):
    return lab.get(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{JOBS}/workloads/{name}")


def condition(lab, name, kind):
    found = [c for c in workload(lab, name)["status"].get("conditions", []) if c["type"] == kind]
    return found[0] if found else None


def test_a28_a_higher_priority_takes_the_cluster_and_the_lower_comes_back(lab, long_runs):
    low = lab.submit(forge(cluster=CLUSTER, exclusive=True, priority="adhoc"))["metadata"]["name"]
    lab.wait_phase(low, "Running")
    first_run = lab.job(low)["status"]["pipelineRun"]
    uid = workload(lab, low)["metadata"]["uid"]

    high = lab.submit(forge(cluster=CLUSTER, exclusive=True, priority="manual"))["metadata"]["name"]
    lab.wait_phase(high, "Running")
    wait_for("the lower one to wait", lambda: lab.phase(low) == "Pending")
    status = lab.job(low)["status"]
    noticed = [c for c in status["conditions"] if c["type"] == "WorkloadAdmitted"][0]
    assert noticed["status"] == "False", noticed

    events = lab.get(f"/api/v1/namespaces/{JOBS}/events")["items"]
    told = {e["reason"]: e["message"] for e in events if e["involvedObject"].get("uid") == uid}
    assert "due to prioritization in the ClusterQueue; preemptor path: /fournos-queue; preemptee path: /fournos-queue" in told["EvictedDueToPreempted"]
    assert told["Preempted"].startswith(told["EvictedDueToPreempted"])
    run = lab.http("GET", f"/apis/tekton.dev/v1/namespaces/{JOBS}/pipelineruns/{first_run}")
    assert run.code == 404 or run.json["spec"]["status"] == "CancelledRunFinally"

    # Nobody keeps it from its place any longer.
    long_runs()
    lab.kubectl("patch", "fj", high, "-n", JOBS, "--type=merge", "-p", '{"spec":{"shutdown":"Stop"}}')
    lab.wait_phase(high, "Stopped")
    job = lab.wait_phase(low, "Succeeded")
    assert job["status"]["cluster"] == CLUSTER


def test_an_equal_priority_waits(lab, long_runs):
    first = lab.submit(forge(cluster=CLUSTER, exclusive=True, priority="nightly"))["metadata"]["name"]
    lab.wait_phase(first, "Running")
    second = lab.submit(forge(cluster=CLUSTER, exclusive=True, priority="nightly"))["metadata"]["name"]
    wait_for("its turn to be looked at", lambda: condition(lab, second, "QuotaReserved"))
    assert condition(lab, second, "QuotaReserved")["message"].endswith(f"insufficient unused quota for fournos/cluster-slot in flavor {CLUSTER}, 100 more needed")
    assert condition(lab, first, "Evicted") is None
    long_runs()
    lab.kubectl("patch", "fj", first, "-n", JOBS, "--type=merge", "-p", '{"spec":{"shutdown":"Stop"}}')
    lab.wait_phase(second, "Succeeded")


def test_a28_a_higher_priority_overtakes_who_waits(lab, long_runs):
    holder = lab.submit(forge(cluster=CLUSTER, exclusive=True, priority="manual"))["metadata"]["name"]
    lab.wait_phase(holder, "Running")
    adhoc = lab.submit(forge(cluster=CLUSTER, exclusive=True, priority="adhoc"))["metadata"]["name"]
    wait_for("the first to wait", lambda: condition(lab, adhoc, "QuotaReserved"))
    manual = lab.submit(forge(cluster=CLUSTER, exclusive=True, priority="manual"))["metadata"]["name"]
    wait_for("the second to wait", lambda: condition(lab, manual, "QuotaReserved"))
    lab.kubectl("patch", "fj", holder, "-n", JOBS, "--type=merge", "-p", '{"spec":{"shutdown":"Stop"}}')
    lab.wait_phase(manual, "Running")
    assert lab.phase(adhoc) == "Pending"
    long_runs()
    lab.kubectl("patch", "fj", manual, "-n", JOBS, "--type=merge", "-p", '{"spec":{"shutdown":"Stop"}}')
    lab.wait_phase(adhoc, "Succeeded")
