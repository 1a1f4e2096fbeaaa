# SPDX-License-Identifier: Apache-2.0
"""FOURNOS_API=current: the exact schema of v0.4.2 on a lab, and the lives of its jobs (docs/spec/fournos.md 21, A17 to A26)."""

import json
import subprocess

import pytest
from support import JOBS, KUBECTL, Lab, wait_for

PATH = f"/apis/fournos.dev/v1/namespaces/{JOBS}/fournosjobs"
ENGINE = {"mix": {}}


@pytest.fixture(scope="module")
def current(tmp_path_factory):
    lab = Lab(tmp_path_factory.mktemp("current") / "lab", ["--set", "FOURNOS_API=current"])
    try:
        lab.start()
        lab.http("POST", f"/api/v1/namespaces/{JOBS}/configmaps", {"metadata": {"name": "fournos-mock-config"}, "data": {"sleep": "0.1"}})
        yield lab
    finally:
        lab.close()


def slow(lab, seconds):
    patch = json.dumps({"data": {"sleep": str(seconds)}})
    assert lab.http("PATCH", f"/api/v1/namespaces/{JOBS}/configmaps/fournos-mock-config", patch, content_type="application/merge-patch+json").code == 200


def conditions(job):
    return [(one["type"], one["status"], one["reason"]) for one in job["status"]["conditions"]]


def refused(lab, name, spec):
    lab.submit(spec, name=name)
    job = lab.wait_phase(name, "Failed")
    assert "conditions" not in job["status"] or job["status"]["conditions"] == []
    return job["status"]["message"]


def test_the_schema_is_that_of_the_release(current):
    schema = current.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/fournosjobs.fournos.dev")["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    spec = schema["spec"]["properties"]
    assert sorted(spec) == sorted(
        ["owner", "displayName", "pipeline", "cluster", "hardware", "executionEngine", "env", "secretRefs", "exclusive", "priority", "clusterless", "lockOnly", "shutdown"]
    )
    assert spec["exclusive"]["default"] is True and spec["lockOnly"]["default"] is False and spec["clusterless"]["default"] is False
    assert spec["pipeline"]["default"] == "fournos-full" and spec["shutdown"]["enum"] == ["Stop", "Terminate"]
    assert "required" not in schema["spec"] and "x-kubernetes-validations" not in json.dumps(schema)
    status = schema["status"]["properties"]
    assert sorted(status) == ["cluster", "conditions", "dashboardURL", "engineStatus", "message", "phase", "pipelineRun"]
    assert set(status["phase"]["enum"]) == {"Resolving", "Pending", "Admitted", "Running", "Stopping", "Stopped", "Succeeded", "Failed"}


def test_fields_of_other_releases_are_pruned_with_a_warning(current):
    body = {"apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": {"name": "other", "namespace": JOBS}}
    body["spec"] = {"forge": {"project": "p", "args": []}, "ttl": "1h", "schedule": "* * * * *", "lockUntil": "2030-01-01T00:00:00Z", "scheduledStartTime": "2030-01-01T00:00:00Z"}
    done = current.kubectl("create", "--dry-run=server", "--validate=warn", "-o", "json", "-f", "-", stdin=json.dumps(body))
    for field in body["spec"]:
        assert f'unknown field "spec.{field}"' in done.err
    assert json.loads(done.out)["spec"] == {"pipeline": "fournos-full", "exclusive": True, "clusterless": False, "lockOnly": False}


def test_phases_conditions_and_fields_of_a_life(current):
    marker = current.submit({"cluster": "cluster-4", "executionEngine": ENGINE, "shutdown": "Stop"}, name="marker")["metadata"]["name"]
    watch = subprocess.Popen(
        [KUBECTL, "get", "fj", "-n", JOBS, "-w", "--no-headers", "-o", "custom-columns=N:.metadata.name,P:.status.phase"],
        env=current.env, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert any(line.split()[0] == marker for line in watch.stdout)
        hardware = {"gpuType": "h200", "gpuCount": 1}
        current.submit({"cluster": "cluster-3", "pipeline": "mock-engine", "hardware": hardware, "executionEngine": ENGINE}, name="life")
        phases = []
        for line in watch.stdout:
            name, phase = line.split()
            if name == "life" and phase != "<none>" and phase not in phases:
                phases.append(phase)
            if phases[-1:] in (["Succeeded"], ["Failed"]):
                break
    finally:
        watch.terminate()
        watch.wait()
    assert phases == ["Resolving", "Pending", "Admitted", "Running", "Succeeded"]
    job = current.job("life")
    assert job["spec"]["hardware"] == hardware, "what a user gives is kept"
    assert job["metadata"]["labels"]["fournos.dev/exclusive-cluster"] == "cluster-3" and job["spec"]["exclusive"] is True
    assert conditions(job) == [("Resolved", "True", "Resolved"), ("WorkloadAdmitted", "True", "Admitted"), ("PipelineRunReady", "True", "Succeeded")]
    assert sorted(job["status"]) in (sorted(["cluster", "conditions", "message", "phase", "pipelineRun", *extra]) for extra in ([], ["dashboardURL"]))
    run = current.get(f"/apis/tekton.dev/v1/namespaces/{JOBS}/pipelineruns/life")
    assert [one["name"] for one in run["spec"]["params"]] == ["fjob-name", "fournos-workload-namespace", "kubeconfig-secret"]
    assert run["spec"]["params"][2]["value"] == "life-kubeconfig"
    assert run["spec"]["timeouts"] == {"pipeline": "25h0m0s", "tasks": "24h0m0s", "finally": "1h0m0s"}
    volume = next(one for one in run["spec"]["taskRunTemplate"]["podTemplate"]["volumes"] if one["name"] == "vault-secrets")
    assert [one["secret"]["name"] for one in volume["projected"]["sources"]] == ["life-placeholder"]


def test_the_resolver_fills_in_hardware_before_the_workload(current):
    current.submit({"cluster": "cluster-1", "exclusive": False, "pipeline": "mock-engine", "executionEngine": ENGINE}, name="filled")
    job = current.wait_phase("filled", "Succeeded")
    assert job["spec"]["hardware"] == {"gpuType": "a100", "gpuCount": 2} and job["spec"]["secretRefs"] == ["placeholder"]


@pytest.mark.parametrize(
    ("name", "spec", "text"),
    [
        ("lock-nowhere", {"lockOnly": True}, "lockOnly: true requires 'cluster' to be set"),
        ("no-engine", {"cluster": "cluster-1"}, "spec.executionEngine is required for non-lockOnly jobs"),
        ("both", {"clusterless": True, "lockOnly": True, "cluster": "cluster-1"}, "clusterless: true cannot be combined with lockOnly: true"),
        ("alone", {"clusterless": True, "executionEngine": ENGINE}, "clusterless: true requires exclusive: false"),
        ("placed", {"clusterless": True, "exclusive": False, "cluster": "cluster-1", "executionEngine": ENGINE}, "clusterless: true cannot be combined with cluster specification"),
        ("nowhere", {"executionEngine": ENGINE}, "exclusive: true requires 'cluster' to be set"),
        ("unknown", {"cluster": "cluster-9", "executionEngine": ENGINE}, "Cluster 'cluster-9' not found"),
    ],
)
def test_refusals_at_creation(current, name, spec, text):
    assert refused(current, name, spec) == text


@pytest.mark.parametrize(
    ("name", "pipeline", "refs", "reason", "text"),
    [
        ("no-pipeline", "none", [], "PipelineNotFound", "Failed to fetch Pipeline 'none': Not Found"),
        ("no-image", "bare", [], "MissingResolveImage", "Pipeline 'bare' is missing the 'fournos.dev/resolve-image' annotation"),
    ],
)
def test_refusals_while_resolving(current, name, pipeline, refs, reason, text):
    bare = {"apiVersion": "tekton.dev/v1", "kind": "Pipeline", "metadata": {"name": "bare"}, "spec": {"tasks": [{"name": "t", "taskSpec": {"steps": [{"name": "s", "image": "bash", "script": "true"}]}}]}}
    current.http("POST", f"/apis/tekton.dev/v1/namespaces/{JOBS}/pipelines", bare)
    current.submit({"cluster": "cluster-1", "exclusive": False, "pipeline": pipeline, "executionEngine": ENGINE, "secretRefs": refs}, name=name)
    job = current.wait_phase(name, "Failed")
    assert job["status"]["message"] == text and conditions(job) == [("Resolved", "False", reason)]


@pytest.mark.parametrize(("how", "intent", "cleaned"), [("Stop", "CancelledRunFinally", True), ("Terminate", "Cancelled", False)])
def test_a_running_job_is_shut_down(current, how, intent, cleaned):
    name = f"halt-{how.lower()}"
    slow(current, 600)
    try:
        current.submit({"cluster": "cluster-2", "pipeline": "mock-engine", "executionEngine": ENGINE}, name=name)
        current.wait_phase(name, "Running")
        wait_for("the step runs", lambda: any(
            one["status"].get("phase") == "Running" for one in current.get(f"/api/v1/namespaces/{JOBS}/pods", labelSelector=f"fournos.dev/job-name={name}")["items"] if "run-run" in one["metadata"]["name"] or one["metadata"]["name"].endswith("-run-pod")))  # fmt: skip
        patch = json.dumps({"spec": {"shutdown": how}})
        engine = json.dumps({"status": {"engineStatus": {"step": {"n": 1}}}})
        assert current.http("PATCH", f"{PATH}/{name}/status", engine, content_type="application/merge-patch+json").code == 200
        assert current.http("PATCH", f"{PATH}/{name}", patch, content_type="application/merge-patch+json").code == 200
        job = current.wait_phase(name, "Stopped")
    finally:
        slow(current, 0.1)
    assert job["status"]["engineStatus"] == {"step": {"n": 1}}
    run = current.get(f"/apis/tekton.dev/v1/namespaces/{JOBS}/pipelineruns/{name}")
    assert run["spec"]["status"] == intent and run["status"]["completionTime"]
    ended = {one["pipelineTaskName"] for one in run["status"]["childReferences"]}
    assert ("cleanup" in ended) == cleaned
    wait_for("its place is free", lambda: current.http("GET", f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{JOBS}/workloads/{name}").code == 404)


def test_a_clusterless_job_has_no_workload(current):
    current.submit({"clusterless": True, "exclusive": False, "pipeline": "mock-engine", "executionEngine": ENGINE}, name="hub")
    job = current.wait_phase("hub", "Succeeded")
    assert job["status"]["cluster"] == "[clusterless]"
    params = current.get(f"/apis/tekton.dev/v1/namespaces/{JOBS}/pipelineruns/hub")["spec"]["params"]
    assert params[2] == {"name": "kubeconfig-secret", "value": "fournos-clusterless-placeholder"}


def test_a_lock_holds_its_cluster_until_it_is_deleted(current):
    current.submit({"lockOnly": True, "cluster": "cluster-2"}, name="lock")
    wait_for("it is held", lambda: current.job("lock").get("status", {}).get("message") == "Cluster lock held on cluster-2")
    assert current.http("GET", f"/apis/tekton.dev/v1/namespaces/{JOBS}/pipelineruns/lock").code == 404
    current.submit({"cluster": "cluster-2", "exclusive": False, "pipeline": "mock-engine", "hardware": {"gpuType": "a100", "gpuCount": 1}, "executionEngine": ENGINE}, name="behind")
    wait_for("it waits", lambda: current.job("behind").get("status", {}).get("message") == "Cluster cluster-2 is exclusively locked by job lock, waiting for it to finish")
    current.kubectl("delete", "fj", "lock", "-n", JOBS)
    current.wait_phase("behind", "Succeeded")
