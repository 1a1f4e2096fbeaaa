# SPDX-License-Identifier: Apache-2.0
"""athanor queues, and why a job waits: the tree with its bars, causes, who is ahead, whom preemption would stop."""

import json
import os
import time

import pytest
from support import ATHANOR, run, wait_for

GROUP = "kueue.x-k8s.io/v1beta2"


def athanor(lab, *args, code=0):
    done = run([ATHANOR, *args], env={**os.environ, "KUBECONFIG": str(lab.kubeconfig), "NO_COLOR": "1"})
    assert done.code == code, done.out + done.err
    return done


def queue(name, cohort, nominal, **spec):
    quota = {"name": "cpu", "nominalQuota": nominal}
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "tree", "resources": [quota]}]}]
    return {"apiVersion": GROUP, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": {"cohortName": cohort, "namespaceSelector": {}, "resourceGroups": groups, **spec}}


@pytest.fixture(scope="module")
def queues(lab):
    objects = [
        {"apiVersion": GROUP, "kind": "ResourceFlavor", "metadata": {"name": "tree"}},
        queue("tree-a", "tree", "4", preemption={"withinClusterQueue": "LowerPriority"}),
        queue("tree-b", "tree", "2"),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tree"}},
        {"apiVersion": GROUP, "kind": "LocalQueue", "metadata": {"name": "a", "namespace": "tree"}, "spec": {"clusterQueue": "tree-a"}},
        {"apiVersion": GROUP, "kind": "LocalQueue", "metadata": {"name": "lost", "namespace": "tree"}, "spec": {"clusterQueue": "nowhere"}},
    ]
    for one in objects:
        lab.kubectl("apply", "-f", "-", stdin=json.dumps(one))
    return lab


def job(lab, name, cpu, local="a", priority=None, **spec):
    container = {"name": "c", "image": "busybox:1", "command": ["sleep", "900"], "resources": {"requests": {"cpu": cpu}}}
    labels = {"kueue.x-k8s.io/queue-name": local, **({"kueue.x-k8s.io/max-exec-time-seconds": spec.pop("seconds")} if "seconds" in spec else {})}
    pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container], **({"priorityClassName": priority} if priority else {})}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "tree", "labels": labels}, "spec": {"suspend": True, "template": {"spec": pod}, **spec}}
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(body))


def explained(lab, name):
    return json.loads(athanor(lab, "queue", "--explain", name, "-n", "tree", "-o", "json").out)


def hold(lab):
    """A Job of 3 CPUs that runs."""
    job(lab, "holds", "3", seconds="600")
    wait_for("it runs", lambda: explained(lab, "holds")["state"] == "runs")


def test_why_a_job_waits(queues):
    lab = queues
    hold(lab)
    job(lab, "waits", "4")
    why = wait_for("it waits", lambda: (e := explained(lab, "waits"))["state"] == "waits" and e["causes"] and e)
    assert why["clusterQueue"] == "tree-a" and why["owner"] == "Job/waits" and why["position"] == 0
    assert why["causes"][0]["object"] == "ClusterQueue/tree-a"
    assert "insufficient unused quota in cohort for cpu in flavor tree" in why["causes"][0]["text"] or "insufficient unused quota for cpu in flavor tree" in why["causes"][0]["text"]
    # tree-b's 2 may be borrowed: 3 of 4 are in use, 3 are available.
    assert why["causes"][0]["unblockedBy"] == "1 more cpu of flavor tree becomes free"
    assert why["estimate"]["earliest"] <= why["estimate"]["latest"] and not why["preempts"]
    (quota,) = [one for one in why["quotas"] if one["resource"] == "cpu"]
    assert (quota["flavor"], quota["wanted"], quota["used"], quota["nominal"]) == ("tree", "4", "3", "4")
    assert (quota["available"], quota["borrowable"], quota["capacity"]) == ("3", "2", "6")
    assert quota["holders"][0]["notPreempted"].startswith("its priority 0 is not below 0")
    # The same over HTTP.
    name = why["workload"].split("/")[1]
    served = lab.http("GET", f"/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/tree/workloads/{name}/explain")
    assert served.code == 200 and served.json["explanation"]["causes"] == why["causes"]
    assert lab.http("GET", "/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/tree/workloads/none/explain").code == 404
    time.sleep(1.1)  # whoever is older, by the second, goes first
    job(lab, "behind", "4")
    behind = wait_for("it waits, too", lambda: (e := explained(lab, "behind")).get("position") == 1 and e)
    assert [one["workload"] for one in behind["ahead"]] == [why["workload"]]
    assert f"ahead at place 1: {why['workload']} " in athanor(lab, "queues", "explain", "behind", "-n", "tree").out
    text = athanor(lab, "queues", "explain", "waits", "-n", "tree").out
    assert "waits in ClusterQueue tree-a, 0 ahead of it" in text and "estimate: starts" in text
    for asked in (why["workload"], "Job/waits", "jobs.batch/waits", "tree/waits"):  # as its first line has them
        assert athanor(lab, "queues", "explain", asked, "-n", "tree").out.startswith(f"{why['workload']} (Job/waits) waits"), asked
    assert 'no workload or job "waits" in namespace nowhere' in athanor(lab, "queues", "explain", "nowhere/waits", "-n", "tree", code=1).err
    assert "ends when 1 more cpu of flavor tree becomes free" in text
    shown = json.loads(athanor(lab, "describe", "queues/tree-a", "-o", "json").out)
    states = {child["name"].split("/")[1].rsplit("-", 1)[0]: child["state"] for child in shown["children"] if child["kind"] == "Workload"}
    assert states["job-waits"] == "waits at 1" and states["job-behind"] == "waits at 2", shown


def test_whether_a_request_would_fit(queues):
    lab = queues
    assert "fits: it would be admitted to ClusterQueue tree-a now" in athanor(lab, "queues", "--fits", "cpu=1", "a", "-n", "tree").out
    said = json.loads(athanor(lab, "queues", "--fits", "cpu=1", "--count", "50", "a", "-n", "tree", "-o", "json", code=1).out)
    assert said["fits"] is False and "maximum capacity" in said["causes"][0]["text"]
    hold(lab)
    high = json.loads(athanor(lab, "queues", "--fits", "cpu=4", "--priority", "7", "a", "-n", "tree", "-o", "json", code=1).out)
    assert [one["workload"] for one in high["preempts"]] == [one["workload"] for one in high["quotas"][0]["holders"]]
    assert "must be RESOURCE=QUANTITY" in athanor(lab, "queues", "--fits", "cpu", "a", "-n", "tree", code=2).err
    assert not [w for w in lab.get("/apis/kueue.x-k8s.io/v1beta2/namespaces/tree/workloads")["items"] if w["metadata"]["name"] == "trial"]


def test_what_is_missing_has_a_name(queues):
    lab = queues
    job(lab, "lost", "1", local="lost")
    why = wait_for("its Workload", lambda: explained(lab, "lost"))
    assert {"kind": "QueueMissing", "object": "ClusterQueue/nowhere", "text": "does not exist", "unblockedBy": "it is created"} in why["causes"]
    done = athanor(lab, "queue", "--explain", "wait", "-n", "tree", code=1)
    assert 'no workload or job "wait"' in done.err and "did you mean waits?" in done.err
    assert 'no cohort, ClusterQueue or LocalQueue "none"' in athanor(lab, "queues", "none", code=1).err


def test_whom_it_would_preempt(queues):
    lab = queues
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "tree-high"}, "value": 1000}
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(high))
    # The lab's queueing preempts at once; a stopped queue shows what it would do.
    lab.kubectl("patch", "localqueue", "a", "-n", "tree", "--type=merge", "-p", '{"spec": {"stopPolicy": "Hold"}}')
    job(lab, "urgent", "4", priority="tree-high")
    why = wait_for("it waits", lambda: (e := explained(lab, "urgent"))["preempts"] and e)
    assert [one["clusterQueue"] for one in why["preempts"]] == ["tree-a"]
    assert {"kind": "QueueInactive", "object": "LocalQueue/tree/a", "text": "is stopped: spec.stopPolicy", "unblockedBy": "spec.stopPolicy becomes None"} in why["causes"]
    assert why["preempts"][0]["frees"] == [{"flavor": "tree", "resource": "cpu", "amount": "3"}]
    assert "which frees 3 cpu of flavor tree" in athanor(lab, "queue", "--explain", "urgent", "-n", "tree").out


def test_the_tree_with_its_bars(queues):
    text = athanor(queues, "queues", "tree").out
    lines = text.splitlines()
    assert lines[0] == "Cohort tree" and any("tree/cpu" in line and "[##########..........] 3 of 6" in line for line in lines[:2])
    assert any(line.strip().startswith("ClusterQueue tree-a: ") for line in lines)
    rows = json.loads(athanor(queues, "queues", "tree", "-o", "json").out)["items"]
    assert [(one["kind"], one["name"], one.get("parent")) for one in rows] == [("Cohort", "tree", None), ("ClusterQueue", "tree-a", "tree"), ("ClusterQueue", "tree-b", "tree")]
    assert {"flavor": "tree", "resource": "cpu", "quota": "6", "used": "3", "borrowed": "0", "share": 50}.items() <= rows[0].items()
    assert rows[1]["localQueues"] == ["tree/a"], rows
    columns = athanor(queues, "queues", "tree", "-o", "custom-columns=NAME:.name,PARENT:.parent,FLAVOR:.flavor,USED:.used").out.splitlines()
    assert [line.split() for line in columns] == [["NAME", "PARENT", "FLAVOR", "USED"], ["tree", "<none>", "tree", "3"], ["tree-a", "tree", "tree", "3"], ["tree-b", "tree", "tree", "0"]]
    assert athanor(queues, "queues", "tree", "-o", "jsonpath={.items[*].quota}").out.split() == ["6", "4", "2"]
    wide = athanor(queues, "queues", "tree", "-o", "wide", "--no-headers").out.splitlines()
    assert [line.split()[1] for line in wide] == [one["name"] for one in rows]
    assert "ClusterQueue fournos-queue" in athanor(queues, "queues").out
