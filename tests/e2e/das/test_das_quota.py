# SPDX-License-Identifier: Apache-2.0
"""Quota and Kueue for slices (docs/spec/das.md 12): both spellings count as one resource, what waits holds no slice, and quota of
slots instead of profiles."""

import json

import pytest
import yaml
from support import ROOT, wait_for

EXAMPLES = ROOT / "examples/das"
CLAIMS = "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/allocationclaims"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"


def claims(lab):
    return lab.get(CLAIMS)["items"]


def job(name, queue, profile, count=1, key="nvidia.com/mig-", parallelism=1, seconds=60):
    return {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {"parallelism": parallelism, "completions": parallelism, "template": {
            "metadata": {"annotations": {"athanor.dev/simulate": json.dumps({"c": {"seconds": seconds}})}}, "spec": {"restartPolicy": "Never", "containers": [{
            "name": "c", "image": "busybox", "command": ["sleep", "3600"], "resources": {"limits": {f"{key}{profile}": str(count)}}}]}}},
    }  # fmt: skip


def create(lab, what, path="/apis/batch/v1/namespaces/default/jobs"):
    answer = lab.http("POST", path, what)
    assert answer.code == 201, answer.text
    return answer.json


def workload_of(lab, name):
    found = [one for one in lab.get(WORKLOADS)["items"] if one["metadata"]["ownerReferences"][0]["name"] == name]
    return found[0] if found else None


def condition(workload, kind):
    return next((one for one in (workload or {}).get("status", {}).get("conditions", []) if one["type"] == kind), {})


def admitted(lab, name):
    return condition(workload_of(lab, name), "Admitted").get("status") == "True"


def usage(lab, name):
    return {
        resource["name"]: resource["resourceUsage"]
        for set_ in workload_of(lab, name)["status"]["admission"]["podSetAssignments"]
        for resource in [{"name": key, "resourceUsage": value} for key, value in set_["resourceUsage"].items()]
    }


@pytest.fixture
def queued(make_lab):
    lab = make_lab("--storage", "memory", "--lab", str(EXAMPLES / "lab.yaml"), "--pods", "timed").start()
    lab.kubectl("apply", "-f", EXAMPLES / "kueue/queues.yaml")
    return lab


def test_both_spellings_count_and_what_waits_holds_nothing(queued):
    create(queued, job("first", "slices", "1g.5gb", count=4))
    wait_for("the first is admitted", lambda: admitted(queued, "first"))
    assert usage(queued, "first")["mig.das.com/1g.5gb"] == "4"
    wait_for("its slices", lambda: len(claims(queued)) == 4)
    # K1: the other spelling is the same resource. K4: what waits holds no claim.
    create(queued, job("second", "slices", "1g.5gb", count=4, key="mig.das.com/"))
    refused = wait_for("the second waits", lambda: condition(workload_of(queued, "second"), "QuotaReserved").get("message"))
    assert "insufficient unused quota for mig.das.com/1g.5gb" in refused, refused
    assert len(claims(queued)) == 4
    # K5: the slices of a job that goes are free for the next.
    queued.kubectl("delete", "job", "first", "--wait=false")
    wait_for("the second is admitted", lambda: admitted(queued, "second"))
    wait_for("its pod has slices", lambda: [c["spec"]["podRef"]["name"].startswith("second") for c in claims(queued)] == [True] * 4)


def test_a_gated_pod_holds_no_claim(queued):
    body = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "gated", "labels": {"kueue.x-k8s.io/queue-name": "slices"}},
        "spec": {"containers": [{"name": "c", "image": "busybox", "command": ["sleep", "3600"],
                                 "resources": {"limits": {"nvidia.com/mig-3g.20gb": "2"}}}]},
    }  # fmt: skip
    made = create(queued, body, "/api/v1/namespaces/default/pods")
    assert made["spec"]["schedulingGates"] and made["spec"]["schedulerName"] == "das-scheduler"
    wait_for("it waits", lambda: "mig.das.com/3g.20gb" in condition(workload_of(queued, "gated"), "QuotaReserved").get("message", ""))
    assert claims(queued) == []
    queued.kubectl("patch", "clusterqueue", "slices", "--type=json", "-p", json.dumps(
        [{"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/3/nominalQuota", "value": 2}]))  # fmt: skip
    wait_for("it has its slices", lambda: len(claims(queued)) == 2)


def test_the_example_job_runs_to_its_end(queued):
    for _ in range(3):
        queued.kubectl("create", "-f", EXAMPLES / "kueue/job.yaml")
    done = lambda: [one["status"].get("succeeded") for one in queued.get("/apis/batch/v1/namespaces/default/jobs")["items"]]  # noqa: E731
    wait_for("all jobs end", lambda: done() == [4, 4, 4])
    wait_for("no claim is left", lambda: claims(queued) == [])


def test_quota_of_slots(make_lab, monkeypatch):
    """K3: a 3g and a 4g need one GPU; with one more 1g they do not fit into eight slots."""
    monkeypatch.setenv("KUEUE_CONFIG", str(ROOT / "deploy/kueue/slots.yaml"))
    lab = make_lab("--storage", "memory", "--lab", str(EXAMPLES / "lab.yaml"), "--pods", "timed").start()
    lab.kubectl("apply", "-f", EXAMPLES / "kueue/slots-queues.yaml")
    create(lab, job("three", "slots", "3g.20gb"))
    create(lab, job("four", "slots", "4g.20gb", key="mig.das.com/"))
    wait_for("both are admitted", lambda: admitted(lab, "three") and admitted(lab, "four"))
    assert usage(lab, "three")["das.io/gpu-slots"] == "4"
    create(lab, job("one", "slots", "1g.5gb"))
    wait_for("the third waits", lambda: "das.io/gpu-slots" in condition(workload_of(lab, "one"), "QuotaReserved").get("message", ""))


def test_resource_quota_counts_slices_after_the_webhook(queued):
    """K6."""
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"requests.mig.das.com/1g.5gb": "1"}}}
    create(queued, quota, "/api/v1/namespaces/default/resourcequotas")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{
        "name": "c", "image": "busybox", "resources": {"limits": {"nvidia.com/mig-1g.5gb": "1"}}}]}}  # fmt: skip
    wait_for("the first pod", lambda: queued.http("POST", "/api/v1/namespaces/default/pods", pod).code in (201, 409))
    pod["metadata"]["name"] = "b"
    refused = lambda: queued.http("POST", "/api/v1/namespaces/default/pods", pod)  # noqa: E731
    answer = refused()
    assert answer.code == 403 and "exceeded quota: q" in answer.text and "requests.mig.das.com/1g.5gb" in answer.text, answer.text


def test_a_quota_of_nvidias_name_is_warned_of(queued):
    """K6."""
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "old"}, "spec": {"hard": {"requests.nvidia.com/mig-1g.5gb": "1"}}}
    create(queued, quota, "/api/v1/namespaces/default/resourcequotas")
    said = queued.kubectl("apply", "-f", EXAMPLES / "test-pod-emulated.yaml", "-n", "default")
    assert "Warning: ResourceQuota \"old\" limits requests.nvidia.com/mig-1g.5gb" in said.err, said.err


def test_gpu_memory_can_be_a_quota(make_lab, monkeypatch):
    """K7."""
    monkeypatch.setenv("DAS_MEMORY_QUOTA_RESOURCE", "example.com/gpu-memory")
    lab = make_lab("--storage", "memory", "--lab", str(EXAMPLES / "lab.yaml"), "--pods", "timed").start()
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "memory"}, "spec": {"hard": {"requests.example.com/gpu-memory": "20Gi"}}}
    create(lab, quota, "/api/v1/namespaces/default/resourcequotas")

    def pod(name, profile):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{
            "name": "c", "image": "busybox", "command": ["sleep", "3600"], "resources": {"limits": {f"nvidia.com/mig-{profile}": "1"}}}]}}  # fmt: skip

    made = create(lab, pod("a", "3g.20gb"), "/api/v1/namespaces/default/pods")
    assert made["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu-memory"] == "20Gi"
    wait_for("the pod runs", lambda: lab.get("/api/v1/namespaces/default/pods/a")["status"]["phase"] == "Running")
    answer = lab.http("POST", "/api/v1/namespaces/default/pods", pod("b", "1g.5gb"))
    assert answer.code == 403 and "exceeded quota: memory" in answer.text, answer.text


def test_events_follow_a_slice(queued):
    """V7."""
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "told"}, "spec": {"containers": [{
        "name": "c", "image": "busybox", "command": ["sleep", "3600"], "resources": {"limits": {"nvidia.com/mig-1g.5gb": "1"}}}]}}  # fmt: skip
    create(queued, body, "/api/v1/namespaces/default/pods")

    def events():
        return {one["reason"]: one["message"] for one in queued.get("/api/v1/events")["items"] if one["involvedObject"]["name"] == "told"}

    wait_for("its slice is told of", lambda: "SliceCreated" in events())
    told = events()
    assert told["SliceStaged"].startswith("1g.5gb on ") and told["SliceCreated"].startswith("1g.5gb on GPU-"), told
    queued.kubectl("delete", "pod", "told", "--wait=false")
    wait_for("its end is told of", lambda: "SliceReleased" in events())


def test_a_slice_that_cannot_be_made_is_told_of(make_lab, monkeypatch):
    """V7, E-B4."""
    monkeypatch.setenv("EMULATED_FAIL_RATE", "1")
    lab = make_lab("--storage", "memory", "--lab", str(EXAMPLES / "lab.yaml"), "--pods", "timed").start()
    lab.kubectl("apply", "-f", EXAMPLES / "test-pod-emulated.yaml")
    reasons = lambda: [one["reason"] for one in lab.get("/api/v1/events")["items"]]  # noqa: E731
    wait_for("the failure is told of", lambda: "SliceCreateFailed" in reasons())


def test_the_configuration_for_a_real_kueue_names_each_profile_once():
    for name in ("slices.yaml", "slots.yaml"):
        config = yaml.safe_load((ROOT / "deploy/kueue" / name).read_text(encoding="utf-8"))
        inputs = [one["input"] for one in config["resources"]["transformations"]]
        assert len(inputs) == len(set(inputs)) and "nvidia.com/mig-1g.5gb.me" in inputs
