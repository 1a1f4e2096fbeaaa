# SPDX-License-Identifier: Apache-2.0
"""The acceptance scenarios of docs/spec/kueue.md 16.4, each a test of its number, on the served API."""

import os
import re

import pytest
from queue_world import GPU, GROUP, World
from support import DEADLINE, ROOT, wait_for


def soon():
    """One second, as the table says; on a machine that does much else, longer."""
    return 1.0 if os.getloadavg()[0] < os.cpu_count() else DEADLINE


@pytest.fixture
def world(lab, ns):
    one = World(lab, ns)
    one.flavor("f")
    return one


def test_1_who_comes_second_waits_until_the_first_is_gone(world):
    world.queue("q", 8)
    world.submit("a", "q", 8)
    world.await_admitted("a", soon())
    world.submit("b", "q", 8)
    world.await_message("b", "8 more needed")
    world.delete("a")
    world.await_admitted("b", soon())


LOWER = {"withinClusterQueue": "LowerPriority"}


def test_2_a_job_gives_way_to_a_higher_priority(world):
    world.queue("q", 1, resource="cpu", preemption=LOWER)
    a = world.job("a", "q", "1", world.priority("low", 10))
    world.await_admitted(a)
    b = world.submit("b", "q", 1, priority=200, resource="cpu")["metadata"]["uid"]
    wait_for("a is evicted", lambda: world.condition(a, "Evicted").get("status") == "True" or world.condition(a, "Requeued"))
    world.await_admitted("b")
    text = f"Preempted to accommodate a workload (UID: {b}, JobUID: UNKNOWN) due to prioritization in the ClusterQueue; preemptor path: /{world.name('q')}; preemptee path: /{world.name('q')}"
    preempted = world.condition(a, "Preempted")
    assert (preempted["status"], preempted["reason"], preempted["message"]) == ("True", "InClusterQueue", text)
    evicted = world.condition(a, "Evicted")
    assert (evicted["status"], evicted["reason"], evicted["message"]) == ("True", "Preempted", text)
    assert world.condition(a, "QuotaReserved")["status"] == "False" and "admission" not in world.get(a)["status"]
    requeued = world.condition(a, "Requeued")
    assert (requeued["status"], requeued["reason"]) == ("True", "Preempted")
    job = world.lab.get(f"/apis/batch/v1/namespaces/{world.ns}/jobs/a")
    assert job["spec"]["suspend"] is True and not job["status"].get("active")


def test_3_a_raw_workload_keeps_its_quota_until_it_is_deleted(world):
    world.queue("q", 8, preemption=LOWER)
    world.submit("a", "q", 8, priority=10)
    world.await_admitted("a")
    world.submit("b", "q", 8, priority=200)
    world.await_message("b", ". Pending the preemption of 1 workload(s)")
    assert world.condition("a", "Evicted")["reason"] == "Preempted"
    assert world.admitted("a") and not world.admitted("b")
    world.delete("a")
    world.await_admitted("b")


def test_4_what_was_borrowed_is_reclaimed(world):
    reclaim = {"reclaimWithinCohort": "Any"}
    world.queue("one", 8, cohortName="c", preemption=reclaim)
    world.queue("two", 8, cohortName="c", preemption=reclaim)
    world.submit("guest", "one", 12)
    world.await_admitted("guest")
    wait_for("it is counted as borrowed", lambda: world.cluster_queue("one")["status"]["flavorsUsage"][0]["resources"][0]["borrowed"] == "4")
    world.submit("owner", "two", 8)
    wait_for("the guest gives way", lambda: world.condition("guest", "Preempted").get("reason") == "InCohortReclamation")
    world.delete("guest")
    world.await_admitted("owner")


def test_5_a_borrowing_limit_caps_what_a_queue_may_have(world):
    world.queue("one", 8, cohortName="c", limits={"borrowingLimit": "2"})
    world.queue("two", 8, cohortName="c")
    world.submit("w", "one", 12)
    world.await_message("w", "insufficient quota for example.com/gpu in flavor")
    assert "> maximum capacity (10)" in world.message("w")


def test_6_a_lending_limit_caps_what_others_may_have(world):
    world.queue("one", 8, cohortName="c")
    world.queue("two", 8, cohortName="c", limits={"lendingLimit": "2"})
    world.submit("w", "one", 12)
    world.await_message("w", "> maximum capacity (10)")


@pytest.mark.parametrize("strategy, passes", [("StrictFIFO", False), ("BestEffortFIFO", True)])
def test_7_a_small_one_behind_a_head_that_is_too_big(world, strategy, passes):
    world.queue("q", 8, queueingStrategy=strategy)
    world.submit("runs", "q", 4)
    world.await_admitted("runs")
    world.submit("big", "q", 8, priority=1)
    world.await_message("big", "4 more needed")
    world.submit("small", "q", 2)
    if passes:
        world.await_admitted("small")
        return
    # A later one elsewhere is decided: so was this one.
    world.queue("other", 8)
    world.submit("later", "other", 1)
    world.await_admitted("later")
    assert not world.admitted("small")


def test_8_a_selector_on_a_key_of_another_flavor_only(world):
    world.flavor("labelled", nodeLabels={"pool": "a"})
    world.queue("q", 8, flavors=("f", "labelled"))
    world.submit("w", "q", 16, pod={"nodeSelector": {"pool": "b"}})
    world.await_message("w", f"flavor {world.name('f')} doesn't match node affinity")
    assert f"flavor {world.name('labelled')} doesn't match node affinity" in world.message("w")


def test_8_by_the_keys_of_the_flavor_alone(make_lab):
    lab = make_lab("--storage", "memory", "--set", "KUEUE_FLAVOR_SELECTOR_KEYS=flavor").start()
    world = World(lab, "default")
    world.flavor("f")
    world.flavor("labelled", nodeLabels={"pool": "a"})
    world.queue("q", 8, flavors=("f", "labelled"))
    world.submit("w", "q", 8, pod={"nodeSelector": {"pool": "b"}})
    world.await_admitted("w")
    assert world.get("w")["status"]["admission"]["podSetAssignments"][0]["flavors"] == {GPU: world.name("f")}


def test_9_a_drained_queue_evicts_and_starts_again(world):
    world.queue("q", 1, resource="cpu")
    a = world.job("a", "q", "1")
    world.await_admitted(a)
    path = f"{GROUP}/clusterqueues/{world.name('q')}"
    world.patch(path, {"spec": {"stopPolicy": "HoldAndDrain"}})
    wait_for("it gives its quota back", lambda: world.condition(a, "QuotaReserved")["status"] == "False")
    evicted = world.condition(a, "Evicted")
    assert (evicted["reason"], evicted["message"]) == ("ClusterQueueStopped", "The ClusterQueue is stopped")
    wait_for("the queue says so", lambda: (world.active("q")["status"], world.active("q")["reason"]) == ("False", "Stopped"))
    world.patch(path, {"spec": {"stopPolicy": "None"}})
    world.await_admitted(a)
    requeued = world.condition(a, "Requeued")
    assert (requeued["status"], requeued["reason"], requeued["message"]) == ("True", "ClusterQueueRestarted", "The ClusterQueue was restarted after being stopped")


def test_10_a_namespace_is_selected_by_its_labels(world):
    world.queue("q", 8, namespaceSelector={"matchLabels": {"queue-access": "yes"}})
    world.submit("w", "q", 1)
    world.await_message("w", "Workload namespace doesn't match ClusterQueue selector")
    world.patch(f"/api/v1/namespaces/{world.ns}", {"metadata": {"labels": {"queue-access": "yes"}}})
    world.await_admitted("w", soon())
    world.patch(f"/api/v1/namespaces/{world.ns}", {"metadata": {"labels": {"queue-access": None}}})
    world.submit("v", "q", 1)
    world.await_message("v", "Workload namespace doesn't match ClusterQueue selector")


def test_11_another_order_of_resources_is_refused_with_its_path(world):
    world.queue("q", 8)
    two = [{"name": "memory", "nominalQuota": "1"}, {"name": GPU, "nominalQuota": "8"}]
    groups = [{"coveredResources": [GPU, "memory"], "flavors": [{"name": world.name("f"), "resources": two}]}]
    refused = world.patch(f"{GROUP}/clusterqueues/{world.name('q')}", {"spec": {"resourceGroups": groups}}, code=403)
    for place, name in ((0, "memory"), (1, GPU)):
        assert f'spec.resourceGroups[0].flavors[0].resources[{place}].name: Invalid value: "{name}": must match the name in coveredResources' in refused["message"]


def test_12_the_old_versions_class_is_read_as_a_reference(world):
    body = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": "old"},
        "spec": {
            "queueName": "none",
            "priority": 7,
            "priorityClassName": "urgent",
            "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass",
            "podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}],
        },
    }
    world.post(f"/apis/kueue.x-k8s.io/v1beta1/namespaces/{world.ns}/workloads", body)
    assert world.get("old")["spec"]["priorityClassRef"] == {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "urgent"}
    back = world.lab.get(f"/apis/kueue.x-k8s.io/v1beta1/namespaces/{world.ns}/workloads/old")["spec"]
    assert (back["priorityClassName"], back["priorityClassSource"]) == ("urgent", "kueue.x-k8s.io/workloadpriorityclass")


def test_13_a_deleted_queue_stays_until_its_workload_ends(world):
    world.queue("q", 8)
    world.submit("w", "q", 1)
    world.await_admitted("w")
    path = f"{GROUP}/clusterqueues/{world.name('q')}"
    assert world.lab.http("DELETE", path).code == 200
    wait_for("it is terminating", lambda: world.active("q").get("reason") == "Terminating")
    queue = world.cluster_queue("q")
    assert queue["metadata"]["deletionTimestamp"] and world.active("q")["status"] == "False"
    assert world.active("q")["message"] == "Can't admit new workloads; clusterQueue is terminating"
    world.delete("w")
    wait_for("it is gone", lambda: world.lab.http("GET", path).code == 404)


def test_14_fewer_pods_where_that_is_enough(world):
    world.queue("q", 3)
    world.submit("w", "q", 1, count=4, pods={"minCount": 2})
    world.await_admitted("w")
    assert world.get("w")["status"]["admission"]["podSetAssignments"][0]["count"] == 3


def test_15_a_changed_class_changes_the_priority(world):
    cls = world.priority("class", 10)
    ref = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": cls}
    world.submit("w", "none", 1, priority=10, priorityClassRef=ref)
    world.submit("alone", "none", 1, priority=10)
    world.patch(f"{GROUP}/workloadpriorityclasses/{cls}", {"value": 99})
    wait_for("the priority follows", lambda: world.get("w")["spec"]["priority"] == 99)
    assert world.get("alone")["spec"]["priority"] == 10


def test_each_scenario_of_the_specification_has_a_test_here():
    text = (ROOT / "docs/spec/kueue.md").read_text(encoding="utf-8")
    table = text.split("### 16.4 Acceptance scenarios")[1].split("\n## ")[0]
    numbers = set(re.findall(r"^\| (\d+) \|", table, re.M))
    tests = {found.group(1) for name in globals() if (found := re.match(r"test_(\d+)_", name))}
    assert numbers == tests and len(numbers) == 15
