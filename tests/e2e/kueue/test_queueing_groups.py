# SPDX-License-Identifier: Apache-2.0
"""Groups of pods, Jobs that change while they run, and ends of queued objects and of queues, by kubectl on a lab's node (docs/spec/kueue.md 9, 10)."""

import pytest
import yaml
from queue_world import GROUP, World
from support import KUBECTL, run, wait_for


@pytest.fixture
def world(lab, ns):
    one = World(lab, ns)
    one.flavor("f")
    return one


def kubectl(world, *args, stdin=None, check=True):
    done = run([KUBECTL, "--kubeconfig", world.lab.kubeconfig, "-n", world.ns, *args], stdin=stdin)
    assert done.code == 0 or not check, done.err
    return done


def member(name, command, total=2, cpu="1", **spec):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {"kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/pod-group-name": "grp"},
            "annotations": {"kueue.x-k8s.io/pod-group-total-count": str(total)},
        },
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "c", "image": "busybox:1.36", "command": ["sh", "-c", command], "resources": {"requests": {"cpu": cpu}}}],
            **spec,
        },
    }


def create(world, *objects):
    kubectl(world, "create", "-f", "-", stdin=yaml.safe_dump_all(objects))


def pod(world, name):
    return world.lab.get(f"/api/v1/namespaces/{world.ns}/pods/{name}")


def phase(world, name):
    return pod(world, name)["status"].get("phase")


def held(world):
    return world.cluster_queue("q")["status"]["flavorsReservation"][0]["resources"][0]["total"]


def names(world, plural):
    return [one["metadata"]["name"] for one in world.lab.get(f"{plural}")["items"]]


def test_twenty_equal_pods_are_one_pod_set(world):
    world.queue("q", 4, resource="cpu")
    create(world, *[member(f"p{i}", "sleep 1", total=20, cpu="100m") for i in range(20)])
    wait_for("the group finishes", lambda: world.condition("grp", "Finished")["message"] == "Pods succeeded: 20/20.", 60)
    assert [one["count"] for one in world.get("grp")["spec"]["podSets"]] == [20]


def test_a_waiting_group_goes_with_its_pods(world):
    world.queue("q", 1, resource="cpu")
    create(world, member("a", "sleep 600"), member("b", "sleep 600"))
    wait_for("it waits", lambda: world.condition("grp", "QuotaReserved").get("status") == "False")
    kubectl(world, "delete", "pods", "--all", "--timeout=15s")
    wait_for("its Workload goes", lambda: names(world, world.workloads) == [])
    assert held(world) == "0"
    groups = world.lab.get(f"{GROUP}/clusterqueues/{world.name('q')}")["spec"]["resourceGroups"]
    groups[0]["flavors"][0]["resources"][0]["nominalQuota"] = "4"
    world.patch(f"{GROUP}/clusterqueues/{world.name('q')}", {"spec": {"resourceGroups": groups}})
    wait_for("the ClusterQueue is seen again", lambda: world.cluster_queue("q")["metadata"]["generation"] == world.cluster_queue("q")["status"]["conditions"][0]["observedGeneration"])
    world.submit("later", "q", 1, resource="cpu")
    world.await_admitted("later")  # the scheduler has seen the quota, and the dead pods hold none of it
    wait_for("only the new one holds quota", lambda: held(world) == "1" and names(world, world.workloads) == ["later"])


def test_a_replacement_starts_when_its_predecessor_has_ended(world):
    world.queue("q", 2, resource="cpu")
    slow = "trap '' TERM; sleep 600 & wait; sleep 600"
    create(world, member("a", slow, terminationGracePeriodSeconds=4), member("b", slow, terminationGracePeriodSeconds=4))
    wait_for("both run", lambda: [phase(world, one) for one in "ab"] == ["Running", "Running"])
    kubectl(world, "delete", "pod", "a", "--wait=false")
    create(world, member("a2", slow, terminationGracePeriodSeconds=4))
    assert pod(world, "a2")["spec"]["schedulingGates"], "the quota is still its predecessor's"
    wait_for("it runs", lambda: phase(world, "a2") == "Running", 30)
    assert phase(world, "b") == "Running"
    assert "a" not in names(world, f"/api/v1/namespaces/{world.ns}/pods")


def test_a_failed_member_is_replaced(world):
    world.queue("q", 2, resource="cpu")
    create(world, member("a", "exit 1"), member("b", "exit 0"))
    wait_for("both end", lambda: [phase(world, one) for one in "ab"] == ["Failed", "Succeeded"])
    wait_for("the group waits", lambda: world.condition("grp", "WaitingForReplacementPods").get("status") == "True")
    assert world.condition("grp", "Finished") == {}
    create(world, member("a2", "exit 0"))
    wait_for("the group finishes", lambda: world.condition("grp", "Finished")["message"] == "Pods succeeded: 2/2.")


def test_another_parallelism_of_a_running_job_stays(world):
    world.queue("q", 3, resource="cpu")
    spec = member("x", "trap 'exit 0' TERM; sleep 600 & wait")["spec"]
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "grow", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
        "spec": {"parallelism": 2, "template": {"spec": spec}},
    }
    create(world, job)
    read = lambda: world.lab.get(f"/apis/batch/v1/namespaces/{world.ns}/jobs/grow")
    state = lambda: (read()["spec"]["suspend"], read()["spec"]["parallelism"], read().get("status", {}).get("active", 0))
    wait_for("it runs", lambda: state() == (False, 2, 2))
    kubectl(world, "patch", "job", "grow", "--type=merge", "-p", '{"spec":{"parallelism":1}}')
    wait_for("it runs with one", lambda: state() == (False, 1, 1) and held(world) == "1", 30)
    kubectl(world, "patch", "job", "grow", "--type=merge", "-p", '{"spec":{"parallelism":5}}')
    wait_for("it waits for five", lambda: state() == (True, 5, 0) and held(world) == "0", 30)


def queued_job(name, spec):
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "q"}},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, **spec}}},
    }


def usage(world):
    """What the only Workload uses of the quota; an error that wait_for() waits out until it is there and admitted."""
    items = world.lab.get(world.workloads)["items"]
    assert len(items) == 1, names(world, world.workloads)
    return items[0]["status"]["admission"]["podSetAssignments"][0]["resourceUsage"]


def test_sidecars_count_and_a_queued_job_with_them_completes(world):
    world.queue("q", 10, resource="cpu")
    request = lambda cpu: {"resources": {"requests": {"cpu": cpu}}}
    spec = {
        "initContainers": [
            {"name": "proxy", "image": "busybox", "restartPolicy": "Always", "command": ["sleep", "600"], **request("1")},
            {"name": "prep", "image": "busybox", "command": ["true"], **request("2")},
        ],
        "containers": [{"name": "c", "image": "busybox", "command": ["sleep", "1"], **request("1")}],
    }
    create(world, queued_job("side", spec))
    wait_for("the sidecar counts beside what is larger, init container or container", lambda: usage(world) == {"cpu": "3"})
    kubectl(world, "wait", "job/side", "--for=condition=Complete", "--timeout=60s")


def test_a_limit_of_the_pod_is_no_request(world):
    """A pod's request that is left out is the sum of its containers, not its limit."""
    world.queue("q", 10, resource="cpu")
    container = {"name": "c", "image": "busybox", "command": ["sleep", "600"], "resources": {"requests": {"cpu": "1"}}}
    create(world, queued_job("lvl", {"resources": {"limits": {"cpu": "4"}}, "containers": [container]}))
    wait_for("its Workload is admitted", lambda: usage(world) == {"cpu": "1"})
    pods = wait_for("its pod", lambda: world.lab.get(f"/api/v1/namespaces/{world.ns}/pods")["items"])
    assert pods[0]["spec"]["resources"] == {"limits": {"cpu": "4"}, "requests": {"cpu": "1"}}


def test_a_job_that_is_deleted_in_the_foreground_goes(world):
    world.queue("q", 1, resource="cpu")
    world.job("first", "q", "1")
    world.job("second", "q", "1")
    wait_for("one runs", lambda: held(world) == "1")
    kubectl(world, "delete", "jobs", "--all", "--cascade=foreground", "--timeout=20s")
    wait_for("their Workloads go", lambda: names(world, world.workloads) == [])
    wait_for("the quota is free", lambda: held(world) == "0")


def test_a_reservation_is_released_by_apply_as_kueue_does(world):
    """Controllers built on Kueue's jobframework apply the status without admission, as its manager."""
    world.queue("q", 1, resource="cpu")
    world.submit("w", "q", 1, resource="cpu")
    world.await_admitted("w")
    managers = {(one["manager"], one["operation"], one.get("subresource")) for one in world.get("w")["metadata"]["managedFields"]}
    assert ("kueue-admission", "Apply", "status") in managers
    world.patch(f"{GROUP}/clusterqueues/{world.name('q')}", {"spec": {"stopPolicy": "Hold"}})
    some = {"reason": "Pending", "message": "released", "lastTransitionTime": "2026-01-05T00:00:00Z"}
    conditions = [{"type": kind, "status": "False", **some} for kind in ("QuotaReserved", "Admitted")]
    body = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": "w"}, "status": {"conditions": conditions}}
    answer = world.lab.http("PATCH", f"{world.workloads}/w/status?fieldManager=kueue-admission&force=true", body, content_type="application/apply-patch+yaml")
    assert answer.code == 200, answer.text
    assert "admission" not in answer.json["status"]
    wait_for("the quota is free", lambda: held(world) == "0")


def test_series_of_a_removed_queue_go(world):
    world.queue("q", 1, resource="cpu")
    world.submit("w", "q", 1, resource="cpu")
    world.await_admitted("w")

    def series(part):
        text = world.lab.http("GET", "/metrics").text.splitlines()
        return [one for one in text if part in one and (world.name("q") in one or f'namespace="{world.ns}"' in one)]

    wait_for("both have counters", lambda: series("kueue_admitted_workloads_total") and series("kueue_local_queue_admitted_workloads_total"))
    world.delete("w")
    local, cluster = f"{GROUP}/namespaces/{world.ns}/localqueues/q", f"{GROUP}/clusterqueues/{world.name('q')}"
    assert world.lab.http("DELETE", local).code == 200
    wait_for("those of the LocalQueue go", lambda: series("kueue_local_queue_") == [])
    assert series("kueue_admitted_workloads_total")
    assert world.lab.http("DELETE", cluster).code == 200
    wait_for("all go", lambda: series("kueue_") == [])
