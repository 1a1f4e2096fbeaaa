# SPDX-License-Identifier: Apache-2.0
"""Public samples of Kueue, AppWrapper and Tekton on `athanor up` as it is: they run, or wait for a reason that names the way out."""

import json

import pytest
from public_samples import SAMPLES
from support import JOBS, Lab, wait_for

OF_THE_LAB = ("default-flavor", "cluster-queue", "user-queue")  # names that the lab has before a sample replaces the object
# Phases and conditions of an end, by kind.
DONE = {"Succeeded": ("Complete", "Succeeded", "Completed"), "Failed": ("Failed",)}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    one = Lab(tmp_path_factory.mktemp("samples") / "lab", ["--storage", "memory"])
    try:
        one.start()
        wait_for("the lab's queue", lambda: one.kubectl("get", "clusterqueue", "cluster-queue", code=None).code == 0)
        yield one
    finally:
        one.close()


def true_conditions(one):
    return {cond["type"]: cond["status"] for cond in one.get("status", {}).get("conditions", [])}


def ended(one):
    """Succeeded, Failed or empty, by the conditions or the phase of any of the kinds."""
    status, conditions = one.get("status", {}), true_conditions(one)
    for end, words in DONE.items():
        if status.get("phase") in words or status.get("jobStatus") == end.upper() or any(conditions.get(word) == "True" for word in words):
            return end
    return "Failed" if one["apiVersion"].startswith("tekton.dev") and conditions.get("Succeeded") == "False" else ""


def runs(one):
    status, conditions = one.get("status", {}), true_conditions(one)
    if one["kind"] in ("LeaderWorkerSet", "Deployment", "StatefulSet"):
        return status.get("readyReplicas") == one["spec"]["replicas"]
    return status.get("phase") == "Running" or status.get("state") == "ready" or conditions.get("Running") == "True"


@pytest.fixture
def queues_of_the_lab(fresh):
    """Kueue's setup replaces the lab's queue by one without GPUs: the next sample has the lab's again."""
    queue = ["clusterqueue.kueue.x-k8s.io", "cluster-queue"]
    before = json.loads(fresh.kubectl("get", *queue, "-o", "json").out)
    yield
    if json.loads(fresh.kubectl("get", *queue, "-o", "json").out)["spec"] != before["spec"]:
        fresh.kubectl("patch", *queue, "--type=json", "-p", json.dumps([{"op": "replace", "path": "/spec", "value": before["spec"]}]))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_public_sample(fresh, queues_of_the_lab, name):
    sample = SAMPLES[name]
    references = []

    def last():
        return json.loads(fresh.kubectl("get", *references[-1], "-n", "default", "-o", "json").out)

    def events():
        return fresh.kubectl("get", "events", "-n", "default", "-o", "json").out

    try:
        for one in sample.objects:
            verb = "create" if "generateName" in one["metadata"] else "apply"
            made = fresh.kubectl(verb, "-f", "-", "-o", "json", stdin=json.dumps(one), code=None)
            if sample.end == "Refused" and one is sample.objects[-1]:
                assert made.code == 1 and sample.says in made.err, made.out + made.err
                return
            assert made.code == 0, made.err
            kind, version, made_name = (stored := json.loads(made.out))["kind"], stored["apiVersion"], stored["metadata"]["name"]
            references.append((f"{kind.lower()}.{version.rpartition('/')[0]}".rstrip("."), made_name))
        if sample.end in ("Active", "Taken"):
            wait_for("it is stored", lambda: sample.end == "Taken" or true_conditions(last()).get("Active") == "True")
        elif sample.end == "Waiting":
            told = wait_for("the reason", lambda: (out := fresh.athanor("queue", "--explain", references[-1][1], "-n", "default", code=None).out) and sample.says in out and out)
            assert "ends when" in told, told
        elif sample.end == "Running":
            wait_for("it runs", lambda: runs(last()))
            if sample.says:
                wait_for("the event", lambda: sample.says.replace('"', '\\"') in events())
        elif sample.end == "Repeats":
            wait_for("a Job of it has ended", lambda: last()["status"].get("lastSuccessfulTime"))
        elif sample.end == "Stuck":
            wait_for("the reason", lambda: sample.says in fresh.kubectl("get", "pods", "-n", "default", "-o", "json").out)
        else:
            end = wait_for("an end", lambda: ended(last()))
            assert end == sample.end, last()["status"]
            said = json.dumps(last()["status"]) + fresh.kubectl("get", "pods,taskruns,events", "-n", "default", "-o", "json").out
            assert sample.says in said.replace('\\"', '"')
    finally:
        for reference in reversed(references):
            if reference[1] not in OF_THE_LAB and reference[0].split(".")[0] != "priorityclass":
                fresh.kubectl("delete", *reference, "-n", "default", "--wait=true", "--timeout=60s", code=None)


def test_lists_name_what_is_in_other_namespaces(fresh):
    """The samples are in namespace default, jobs in another one: empty lists and missing names say so."""
    fresh.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "waits", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "no"}},
                  "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox", "command": ["true"]}]}}}}))  # fmt: skip
    wait_for("its Workload", lambda: "waits" in fresh.athanor("queue", "-A").out)
    empty = fresh.athanor("queue")
    assert f"in namespace {JOBS}" in empty.err and "athanor queue -A" in empty.err, empty.err
    assert "namespace default has one of this name: -n default" in fresh.athanor("logs", "waits", code=1).err
