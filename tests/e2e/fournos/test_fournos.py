# SPDX-License-Identifier: Apache-2.0
"""A FournosJob's life through kubectl, and every refusal of docs/spec/fournos.md 2.4 and section 5 (seed dialect)."""

import json
import re
import subprocess
import threading

import pytest
from support import DEADLINE, JOBS, KUBECTL, ROOT, forge, wait_for

JOBS_PATH = f"/apis/fournos.dev/v1/namespaces/{JOBS}/fournosjobs"
SAMPLE = ROOT / "examples/fournos/sample-job.yaml"


def job_object(spec, **metadata):
    return {"apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": {"namespace": JOBS, **(metadata or {"generateName": "bad-"})}, "spec": spec}


def children(lab, job):
    listed = lab.kubectl("get", "workloads,pipelineruns,taskruns,pods", "-n", JOBS, "-l", f"fournos.dev/job-name={job}", "-o", "name")
    return listed.out.split()


@pytest.fixture(scope="module")
def finished(lab):
    """The sample job, created by kubectl and run to its end; the phases that `kubectl get -w` has shown."""
    marker = lab.submit(forge())["metadata"]["name"]
    watch = subprocess.Popen(
        [KUBECTL, "get", "fj", "-n", JOBS, "-w", "--no-headers", "-o", "custom-columns=N:.metadata.name,P:.status.phase"],
        env=lab.env, stdout=subprocess.PIPE, text=True,
    )
    stop = threading.Timer(DEADLINE, watch.kill)  # a line that never comes ends the loops below
    stop.start()
    try:
        # Once it has listed it misses nothing more.
        assert any(line.split()[0] == marker for line in watch.stdout), "the watch shows no job"
        name = re.search(r"fournosjob.fournos.dev/(\S+) created", lab.kubectl("create", "-f", SAMPLE).out).group(1)
        phases = []
        for line in watch.stdout:
            job, phase = line.split()
            if job == name and phase != "<none>" and phase not in phases:
                phases.append(phase)
            if phases[-1:] == ["Succeeded"]:
                break
        lab.wait_phase(name, "Succeeded")
    finally:
        stop.cancel()
        watch.terminate()
        watch.wait(DEADLINE)
    return name, phases


def test_phases_appear_in_order_and_none_is_skipped(finished):
    assert finished[1] == ["Pending", "Admitted", "Running", "Succeeded"]


def test_the_finished_job_says_where_and_how(lab, finished):
    job = lab.job(finished[0])
    status = job["status"]
    assert status["cluster"] == "cluster-1" and status["pipelineRun"] == finished[0]
    assert status["message"] == "Pipeline completed successfully"
    conditions = {c["type"]: (c["status"], c["reason"]) for c in status["conditions"]}
    assert conditions["WorkloadAdmitted"] == ("True", "Admitted")
    assert job["spec"]["exclusive"] is False, "the effective value is made visible"


def test_everything_of_a_job_carries_its_label(lab, finished):
    kinds = {name.split("/")[0] for name in children(lab, finished[0])}
    assert {"pipelinerun.tekton.dev", "taskrun.tekton.dev", "pod"} <= kinds


def test_describe_shows_conditions_and_events(lab, finished):
    out = lab.kubectl("describe", "fj", finished[0], "-n", JOBS).out
    assert "WorkloadAdmitted" in out and "Events:" in out and "Succeeded" in out


def test_the_step_saw_parameters_environment_and_secrets(lab, finished):
    pods = lab.kubectl("get", "pods", "-n", JOBS, "-l", f"fournos.dev/job-name={finished[0]},tekton.dev/pipelineTask=run", "-o", "name").out.split()
    log = lab.kubectl("logs", pods[0], "-n", JOBS, "--all-containers").out
    for text in (
        "[mock-run] job-name=nightly regression",
        "[mock-run] forge-project=llmd",
        "batch_size: 64",
        "OCPCI_SUITE=",
        "[mock-run] kubeconfig-secret=cluster-1-kubeconfig",
        "[mock-run] gpu-count=0",
        "[mock-run] done",
    ):
        assert text in log, log


def test_logs_follow_a_running_step(lab):
    name = lab.submit(forge(displayName="followed"))["metadata"]["name"]
    selector = f"fournos.dev/job-name={name},tekton.dev/pipelineTask=run"

    def running():
        pods = lab.get(f"/api/v1/namespaces/{JOBS}/pods", labelSelector=selector)["items"]
        states = {s["name"]: s["state"] for s in pods[0]["status"]["containerStatuses"]}
        return states["step-run"].keys() & {"running", "terminated"} and pods[0]

    pod = wait_for("the run step", running, interval=0.01)["metadata"]["name"]
    out = lab.kubectl("logs", "-f", pod, "-n", JOBS, "-c", "step-run").out
    assert out.startswith("[mock-run] job-name=followed\n") and out.endswith("[mock-run] done\n"), out
    lab.wait_phase(name, "Succeeded")
    assert lab.kubectl("logs", pod, "-n", JOBS, "-c", "step-run", "--tail=1").out == "[mock-run] done\n"


def test_deleting_a_job_removes_everything_it_made(lab):
    name = lab.submit(forge())["metadata"]["name"]
    wait_for("its children", lambda: len(children(lab, name)) >= 2)
    lab.kubectl("delete", "fj", name, "-n", JOBS)
    wait_for("its children to vanish", lambda: not children(lab, name))


def test_a_job_in_another_namespace_is_left_alone(lab, ns):
    lab.submit(forge(), "elsewhere", ns)
    here = lab.submit(forge(), ns=JOBS)["metadata"]["name"]
    lab.wait_phase(here, "Succeeded")
    assert "status" not in lab.job("elsewhere", ns)


def test_the_message_says_what_a_job_waits_for(lab):
    greedy = lab.submit({"hardware": {"gpuType": "a100", "gpuCount": 9}, "forge": {"project": "p", "args": []}})["metadata"]["name"]
    texts = ("Waiting for admission: ", "couldn't assign flavors to pod set launcher", "fournos/gpu-a100")
    wait_for("the reason", lambda: all(text in lab.job(greedy)["status"]["message"] for text in texts))
    assert lab.phase(greedy) == "Pending"
    lab.kubectl("delete", "fj", greedy, "-n", JOBS)


def test_hardware_alone_picks_the_first_cluster_that_has_it(lab):
    name = lab.submit({"hardware": {"gpuType": "h200", "gpuCount": 2}, "forge": {"project": "p", "args": []}})["metadata"]["name"]
    assert lab.wait_phase(name, "Succeeded")["status"]["cluster"] == "cluster-3"


@pytest.fixture
def long_benchmark(lab):
    """The mock benchmark of what starts meanwhile lasts longer than any test; gives the means to end that earlier."""

    def set_duration(seconds):
        lab.kubectl("patch", "cm", "fournos-mock-config", "-n", JOBS, "--type=merge", "-p", json.dumps({"data": {"sleep": seconds}}))

    set_duration("600")
    yield lambda: set_duration("0.1")
    set_duration("0.1")


def test_an_exclusive_job_waits_for_the_cluster_and_then_has_it_alone(lab, long_benchmark):
    shared = lab.submit(forge(cluster="cluster-4", displayName="holder"))["metadata"]["name"]
    selector = f"fournos.dev/job-name={shared},tekton.dev/pipelineTask=run"
    wait_for("the holder's benchmark", lambda: lab.get(f"/api/v1/namespaces/{JOBS}/pods", labelSelector=selector)["items"][0]["status"]["phase"] == "Running")
    lab.wait_phase(shared, "Running")
    long_benchmark()
    alone = lab.submit(forge(cluster="cluster-4", exclusive=True))["metadata"]["name"]
    wait_for("its message", lambda: lab.job(alone)["status"]["message"] == "Waiting for exclusive access to cluster cluster-4 (other jobs are still running)")
    assert (lab.phase(alone), lab.phase(shared)) == ("Pending", "Running")
    lab.kubectl("patch", "fj", shared, "-n", JOBS, "--type=merge", "-p", '{"spec":{"shutdown":"Stop"}}')
    job = lab.wait_phase(alone, "Succeeded")
    assert job["metadata"]["labels"]["fournos.dev/exclusive-cluster"] == "cluster-4"
    lab.wait_phase(shared, "Stopped")


def test_shutdown_stops_a_running_job(lab, long_benchmark):
    name = lab.submit(forge())["metadata"]["name"]
    lab.wait_phase(name, "Running")
    lab.kubectl("patch", "fj", name, "-n", JOBS, "--type=merge", "-p", '{"spec":{"shutdown":"Stop"}}')
    lab.wait_phase(name, "Stopped")


# --- docs/spec/fournos.md 2.4: what the API server refuses ---------------------------------------------------------
INVALID = [
    ({"hardware": {}}, ["spec.hardware.gpuType: Required value", "spec.hardware.gpuCount: Required value"]),
    (
        {"hardware": {"gpuType": "a100", "gpuCount": 0}},
        ["spec.hardware.gpuCount: Invalid value: 0: spec.hardware.gpuCount in body should be greater than or equal to 1"],
    ),
    (
        {"hardware": {"gpuType": "A100", "gpuCount": 1}},
        ["spec.hardware.gpuType: Invalid value: \"A100\": spec.hardware.gpuType in body should match '^[a-z0-9]+$'"],
    ),
    (
        {"hardware": {"gpuType": "fournos/gpu-a100", "gpuCount": 1}},
        ["spec.hardware.gpuType: Invalid value: \"fournos/gpu-a100\": spec.hardware.gpuType in body should match '^[a-z0-9]+$'"],
    ),
    ({"shutdown": "Pause"}, ['spec.shutdown: Unsupported value: "Pause": supported values: "Stop", "Terminate"']),
    ({"env": {"A": 1}}, ['spec.env.A: Invalid value: "integer": spec.env.A in body must be of type string: "integer"']),
    ({"forge": {"project": "p"}}, ["spec.forge.args: Required value"]),
    ({"forge": {"args": []}}, ["spec.forge.project: Required value"]),
    ({"hardware": {"gpuType": "a100", "gpuCount": "two"}}, ['spec.hardware.gpuCount: Invalid value: "string"']),
]


@pytest.mark.parametrize(("spec", "texts"), INVALID, ids=lambda v: json.dumps(v)[:40] if isinstance(v, dict) else None)
def test_schema_refusals(lab, spec, texts):
    full = forge(**spec)
    answer = lab.http("POST", JOBS_PATH, job_object(full))
    assert (answer.code, answer.json["reason"]) == (422, "Invalid")
    for text in texts:
        assert text in answer.json["message"], answer.json["message"]
    done = lab.kubectl("create", "-f", "-", stdin=json.dumps(job_object(full)), code=1)
    for text in texts:
        assert text in done.err


def test_one_refusal_byte_for_byte(lab):
    spec = forge(hardware={"gpuType": "a100", "gpuCount": 0})
    answer = lab.http("POST", JOBS_PATH, job_object(spec, name="exact"))
    text = "Invalid value: 0: spec.hardware.gpuCount in body should be greater than or equal to 1"
    assert answer.json == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'FournosJob.fournos.dev "exact" is invalid: spec.hardware.gpuCount: {text}',
        "reason": "Invalid",
        "details": {
            "name": "exact",
            "group": "fournos.dev",
            "kind": "FournosJob",
            "causes": [{"reason": "FieldValueInvalid", "message": text, "field": "spec.hardware.gpuCount"}],
        },
        "code": 422,
    }


def test_unknown_fields_are_refused_to_who_asks_and_pruned_for_the_rest(lab):
    body = job_object(forge(nope=1, cluster=None))
    done = lab.kubectl("create", "-f", "-", stdin=json.dumps(body), code=1)
    assert 'strict decoding error: unknown field "spec.nope"' in done.err
    answer = lab.http("POST", JOBS_PATH, body)
    assert answer.code == 201 and "nope" not in answer.json["spec"]
    assert answer.headers["Warning"] == '299 - "unknown field \\"spec.nope\\""'


def test_status_phase_is_an_enumeration(lab):
    name = lab.submit(forge(cluster=None))["metadata"]["name"]
    lab.wait_phase(name, "Failed")
    answer = lab.http(
        "PATCH", f"{JOBS_PATH}/{name}/status", {"status": {"phase": "Foo"}}, content_type="application/merge-patch+json"
    )
    assert answer.code == 422
    assert 'status.phase: Unsupported value: "Foo": supported values: "' in answer.json["message"]
    assert '"Succeeded"' in answer.json["message"]


# --- section 5, seed dialect: what the operator refuses ---------------------------------------------------------
REFUSED = [
    ({"cluster": None}, "Must specify 'cluster', 'hardware', or both"),
    ({"cluster": None, "hardware": {"gpuType": "a100", "gpuCount": 1}, "exclusive": True}, "exclusive: true requires 'cluster' to be set"),
    ({"cluster": "nowhere"}, "Cluster 'nowhere' not found"),
    ({"hardware": {"gpuType": "b200", "gpuCount": 1}}, "GPU type 'b200' not available. Valid types: a100, h200"),
    ({"env": {"2B": "x"}}, "Invalid environment variable name: '2B'"),
    ({"priority": "urgent"}, "Priority class 'urgent' not found"),
    ({"executionEngine": {"forge": {}}}, "spec.forge and spec.executionEngine are mutually exclusive"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_the_operator_fails_a_job_it_cannot_run(lab, change, message):
    name = lab.submit(forge(**change))["metadata"]["name"]
    job = lab.wait_phase(name, "Failed")
    assert job["status"]["message"] == message
    assert children(lab, name) == [], "nothing may be created for a refused job"


def test_a_name_too_long_for_a_label(lab):
    name = "n" * 64
    lab.submit(forge(), name)
    assert lab.wait_phase(name, "Failed")["status"]["message"] == "metadata.name must be at most 63 characters"


def test_a_job_created_stopped_never_starts(lab):
    name = lab.submit(forge(shutdown="Stop"))["metadata"]["name"]
    assert lab.wait_phase(name, "Stopped")["status"]["message"] == "Job stopped by user"
    assert children(lab, name) == []


def test_a_pipeline_that_does_not_exist(lab):
    name = lab.submit(forge(pipeline="no-such-pipeline"))["metadata"]["name"]
    assert "no-such-pipeline" in lab.wait_phase(name, "Failed")["status"]["message"]


def test_a_failing_step_fails_the_job_and_its_cleanup_still_runs(lab):
    task = {
        "apiVersion": "tekton.dev/v1",
        "kind": "Pipeline",
        "metadata": {"name": "fails", "namespace": JOBS},
        "spec": {
            "tasks": [{"name": "boom", "taskSpec": {"steps": [{"name": "s", "image": "busybox", "script": "#!/bin/sh\necho dying >&2\nexit 7\n"}]}}],
            "finally": [{"name": "tidy", "taskSpec": {"steps": [{"name": "s", "image": "busybox", "script": "#!/bin/sh\necho tidied\n"}]}}],
        },
    }
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(task))
    name = lab.submit(forge(pipeline="fails"))["metadata"]["name"]
    lab.wait_phase(name, "Failed")
    pods = lab.get(f"/api/v1/namespaces/{JOBS}/pods", labelSelector=f"fournos.dev/job-name={name}")["items"]
    by_task = {p["metadata"]["labels"]["tekton.dev/pipelineTask"]: p for p in pods}
    assert by_task["boom"]["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 7
    assert by_task["tidy"]["status"]["phase"] == "Succeeded"
    assert lab.kubectl("logs", by_task["boom"]["metadata"]["name"], "-n", JOBS).out == "dying\n"
