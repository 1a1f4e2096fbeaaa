# SPDX-License-Identifier: Apache-2.0
"""Pipelines on the lab: what steps see, what v1beta1 says, what the engine warns of, how it is set up."""

import json

import pytest
import yaml
from support import ATHANOR, JOBS, TIMEOUT, Lab, run, wait_for

RUN = """
apiVersion: tekton.dev/v1beta1
kind: PipelineRun
metadata: {name: everything}
spec:
  timeout: 5m
  serviceAccountName: default
  params: [{name: count, value: 3}]
  pipelineSpec:
    params: [{name: count}, {name: loud, default: true}]
    tasks:
    - name: work
      params: [{name: count, value: $(params.count)}, {name: loud, value: $(params.loud)}]
      taskSpec:
        params: [{name: count}, {name: loud}]
        results: [{name: kept}]
        volumes: [{name: shared, emptyDir: {}}]
        sidecars:
        - name: server
          image: busybox
          volumeMounts: [{name: shared, mountPath: /shared}]
          script: |
            #!/bin/ash
            echo served > /shared/file
            exec sleep 1000
        steps:
        - name: first
          image: alpine
          resources: {requests: {cpu: 10m}}
          workingDir: /workspace/deep/er
          results: [{name: go}]
          script: |
            #!/bin/ash -e
            pwd
            echo "count=$(params.count) loud=$(params.loud)"
            printf yes > $(step.results.go.path)
        - name: skipped
          image: alpine
          when: [{input: $(steps.first.results.go), operator: notin, values: ["yes"]}]
          script: exit 3
        - name: args
          image: bash:5
          args: [-c, 'until [ -e /shared/file ]; do sleep 0.05; done; cat /shared/file; echo go=$(steps.first.results.go)']
          volumeMounts: [{name: shared, mountPath: /shared}]
          stdoutConfig: {path: $(results.kept.path)}
"""


def finished(lab, ns, name):
    def over():
        one = lab.http("GET", f"/apis/tekton.dev/v1/namespaces/{ns}/pipelineruns/{name}").json
        return one["status"]["conditions"][0]["status"] != "Unknown" and one

    return wait_for(f"{name} is over", over)


def test_steps_sidecars_guards_and_v1beta1(lab, ns):
    lab.http("POST", f"/apis/tekton.dev/v1beta1/namespaces/{ns}/pipelineruns", yaml.safe_load(RUN))
    one = finished(lab, ns, "everything")
    logs = lab.kubectl("logs", "-n", ns, "everything-work-pod", "--all-containers", "--prefix").out
    assert one["status"]["conditions"][0]["reason"] == "Succeeded", (one["status"], logs)
    assert one["spec"]["timeouts"] == {"pipeline": "5m0s"} and one["spec"]["taskRunTemplate"]["serviceAccountName"] == "default"
    assert "/workspace/deep/er" in logs and "count=3 loud=true" in logs and "go=yes" in logs
    task = lab.http("GET", f"/apis/tekton.dev/v1/namespaces/{ns}/taskruns/everything-work").json["status"]
    assert task["results"] == [{"name": "kept", "type": "string", "value": "served\ngo=yes\n"}]
    assert [step["terminationReason"] for step in task["steps"]] == ["Completed", "Skipped", "Completed"]

    def stopped():
        sidecar = lab.http("GET", f"/apis/tekton.dev/v1/namespaces/{ns}/taskruns/everything-work").json["status"]["sidecars"][0]
        return sidecar.get("terminated") and sidecar

    sidecar = wait_for("the sidecar is stopped", stopped)
    assert (sidecar["name"], sidecar["terminated"]["exitCode"]) == ("server", 0)
    old = lab.http("GET", f"/apis/tekton.dev/v1beta1/namespaces/{ns}/taskruns/everything-work").json["status"]
    assert old["taskResults"] == task["results"] and "results" not in old


def test_steps_wait_for_probes_of_sidecars(lab, ns):
    mounts = {"image": "busybox", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    server = {"name": "server", "script": "sleep 1; touch /v/ready; exec sleep 1000", **mounts}
    server["readinessProbe"] = {"exec": {"command": ["test", "-e", "/v/ready"]}, "periodSeconds": 1}
    server["lifecycle"] = {"postStart": {"exec": {"command": ["touch", "/v/hooked"]}}}
    spec = {"volumes": [{"name": "v", "emptyDir": {}}], "sidecars": [server], "steps": [{"name": "s", "script": "ls /v", **mounts}]}
    body = {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": "waits", "namespace": ns}, "spec": {"taskSpec": spec}}
    done = lab.kubectl("create", "-f", "-", stdin=json.dumps(body))
    assert "Warning" not in done.err
    lab.kubectl("wait", "taskrun/waits", "-n", ns, "--for=condition=Succeeded", TIMEOUT)
    assert lab.kubectl("logs", "-n", ns, "waits-pod", "-c", "step-s").out == "hooked\nready\n"


def test_an_image_that_is_not_known_says_so(lab, ns):
    lab.http(
        "POST",
        f"/apis/tekton.dev/v1/namespaces/{ns}/taskruns",
        {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": "odd"}, "spec": {"taskSpec": {"steps": [{"name": "s", "image": "quay.io/team/tool:1", "args": ["-q"]}]}}},
    )
    status = wait_for("the end", lambda: (one := lab.http("GET", f"/apis/tekton.dev/v1/namespaces/{ns}/taskruns/odd").json["status"])["conditions"][0]["status"] == "False" and one)
    assert 'image "quay.io/team/tool:1" is not run here' in status["steps"][0]["terminated"]["message"]
    assert 'image "quay.io/team/tool:1" is not run here' in lab.kubectl("logs", "-n", ns, "odd-pod").out


def test_what_has_no_effect_is_warned_of(lab, ns):
    done = lab.kubectl("patch", "configmap", "feature-flags", "-n", "tekton-pipelines", "--type", "merge", "--dry-run=server", "-p", '{"data":{"coschedule":"workspaces"}}')
    assert "Warning: " in done.err and 'coschedule: "workspaces" has no effect' in done.err
    task = {"apiVersion": "tekton.dev/v1", "kind": "Task", "metadata": {"name": "t", "namespace": ns}}
    task["spec"] = {"steps": [{"image": "i"}], "sidecars": [{"name": "s", "image": "i", "volumeDevices": [{"name": "d", "devicePath": "/dev/d"}]}]}
    done = lab.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(task))
    assert "spec.sidecars[0].volumeDevices has no effect" in done.err
    ref = {"resolver": "cluster", "params": [{"name": "name", "value": "t"}, {"name": "cache", "value": "always"}]}
    run = {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": "r", "namespace": ns}, "spec": {"taskRef": ref}}
    done = lab.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(run))
    assert "spec.taskRef.params[1] (cache) has no effect" in done.err


@pytest.fixture
def small_lab(make_lab, tmp_path):
    def make(*args, settings=None):
        file = tmp_path / "lab.yaml"
        file.write_text(yaml.safe_dump({"apiVersion": "athanor.dev/v1", "kind": "Lab", "settings": settings or {}}), encoding="utf-8")
        return make_lab("--pods", "timed", "--lab", file, *args)

    return make


def minutes(lab: Lab):
    return lab.http("GET", "/api/v1/namespaces/tekton-pipelines/configmaps/config-defaults").json["data"]["default-timeout-minutes"]


def test_settings_of_the_lab_file_the_environment_and_the_flag(small_lab, monkeypatch):
    one = small_lab(settings={"TEKTON_DEFAULT_TIMEOUT_MINUTES": 7}).start()
    assert minutes(one) == "7"
    assert one.stop() == 0
    monkeypatch.setenv("TEKTON_DEFAULT_TIMEOUT_MINUTES", "8")
    assert minutes(one.start()) == "8"
    assert one.stop() == 0
    one.args += ["--set", "TEKTON_DEFAULT_TIMEOUT_MINUTES=9"]
    assert minutes(one.start()) == "9"


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("TEKTON_RUN_PROFILE=v2", "TEKTON_RUN_PROFILE=v2: must be v1.9 or current"),
        ("TEKTON_RUN_PROFIL=v1.9", "TEKTON_RUN_PROFIL: there is no such setting, did you mean TEKTON_RUN_PROFILE?"),
        ("TEKTON_RUN_PROFILE", "is not NAME=VALUE"),
    ],
)
def test_wrong_settings_are_refused(tmp_path, setting, says):
    done = run([ATHANOR, "up", "--data", tmp_path / "d", "--port", "0", "--set", setting])
    assert done.code == 2 and says in done.err, done.err


@pytest.mark.parametrize("how", ["environment", "flag"])
def test_the_namespace_of_jobs_moves_the_whole_lab(make_lab, monkeypatch, how):
    if how == "environment":
        monkeypatch.setenv("FOURNOS_NAMESPACE", "bench")
        one = make_lab("--pods", "timed").start()
    else:
        one = make_lab("--pods", "timed", "--set", "FOURNOS_NAMESPACE=bench", "--set", "FOURNOS_SECRETS_NAMESPACE=vault").start()
    for path in (
        "/apis/kueue.x-k8s.io/v1beta2/namespaces/bench/localqueues/fournos-queue",
        "/api/v1/namespaces/bench/secrets/cluster-1-kubeconfig",
        "/apis/tekton.dev/v1/namespaces/bench/pipelines/fournos-full",
        f"/api/v1/namespaces/{'vault' if how == 'flag' else 'psap-secrets'}/secrets/kubeconfig-cluster-1",
    ):
        assert one.http("GET", path).code == 200, path
    assert one.http("GET", f"/api/v1/namespaces/{JOBS}").code == 404
    job = {"apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": {"name": "moved"}}
    job["spec"] = {"cluster": "cluster-1", "pipeline": "mock-engine", "exclusive": False, "executionEngine": {"mix": {}}}
    assert one.http("POST", "/apis/fournos.dev/v1/namespaces/bench/fournosjobs", job).code == 201
    wait_for("the job's end", lambda: one.http("GET", "/apis/fournos.dev/v1/namespaces/bench/fournosjobs/moved").json["status"]["phase"] == "Succeeded")
