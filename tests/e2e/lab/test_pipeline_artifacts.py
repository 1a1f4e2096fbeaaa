# SPDX-License-Identifier: Apache-2.0
"""Artifacts between steps and tasks, behind their flag, and where definitions came from (status.provenance)."""

import json

import pytest
import yaml
from pipeline_runs import outcome, over
from support import wait_for

FLAGS = "/api/v1/namespaces/tekton-pipelines/configmaps/feature-flags"
MERGE = {"Content-Type": "application/merge-patch+json"}
IMAGE = {"name": "image", "values": [{"uri": "pkg:oci/a", "digest": {"sha256": "ab"}}]}
SOURCE = {"name": "source", "values": [{"uri": "pkg:git/b", "digest": {"sha1": "cd"}}]}

RUN = """
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: made}
spec:
  pipelineSpec:
    tasks:
    - name: build
      taskSpec:
        steps:
        - name: make
          image: bash
          script: |
            echo '{"inputs": [SOURCE], "outputs": [IMAGE]}' > $(step.artifacts.path)
        - name: check
          image: bash
          env: [{name: MADE, value: $(steps.make.outputs.image)}]
          script: |
            [ "$MADE" = '$(steps.make.outputs.image)' ]
            echo 'in $(steps.make.inputs.source)'
            echo '{"outputs": [{"name": "log", "values": [{"uri": "file:///log"}]}]}' > $(artifacts.path)
    - name: use
      runAfter: [build]
      params: [{name: made, value: $(tasks.build.outputs.image)}]
      taskSpec:
        params: [{name: made}]
        steps: [{name: s, image: bash, script: "echo '$(params.made) $(tasks.build.outputs.log)'"}]
""".replace("SOURCE", json.dumps(SOURCE)).replace("IMAGE", json.dumps(IMAGE))


def post(lab, text, ns="default"):
    body = yaml.safe_load(text) if isinstance(text, str) else text
    return lab.http("POST", f"/apis/tekton.dev/v1/namespaces/{ns}/{body['kind'].lower()}s", body)


@pytest.fixture(scope="module")
def artifact_lab(tmp_path_factory):
    from support import Lab

    one = Lab(tmp_path_factory.mktemp("artifacts") / "lab")
    try:
        yield one.start()
    finally:
        one.close()


def test_artifacts_need_their_flag(artifact_lab):
    lab = artifact_lab
    refused = post(lab, RUN)
    assert refused.code == 400 and "feature flag enable-artifacts should be set to true" in refused.text
    assert lab.http("PATCH", FLAGS, {"data": {"enable-artifacts": "true"}}, headers=MERGE).code == 200
    made = wait_for("the flag", lambda: (answer := post(lab, RUN)).code == 201 and answer)
    assert made.code == 201, made.text
    run = over(lab, "pipelineruns", "made")
    assert run["status"]["conditions"][0]["status"] == "True", run["status"]
    build = lab.http("GET", "/apis/tekton.dev/v1/namespaces/default/taskruns/made-build").json["status"]
    assert build["steps"][0]["outputs"] == [IMAGE] and build["steps"][0]["inputs"] == [SOURCE]
    log = {"name": "log", "values": [{"uri": "file:///log"}]}
    assert build["artifacts"] == {"inputs": [SOURCE], "outputs": [IMAGE, log]}
    assert build["provenance"]["featureFlags"]["enableArtifacts"] is True
    text = lab.kubectl("logs", "made-use-pod").out.strip().split(" ", 1)
    seen = lab.kubectl("logs", "made-build-pod", "-c", "step-check").out.strip()
    assert json.loads(seen.removeprefix("in ")) == SOURCE["values"]
    assert "pkg:oci/a" in text[0] + text[1] and "file:///log" in text[1]


@pytest.mark.parametrize("script, status, message", [("echo '[]' > $(step.artifacts.path)", "False", "exited with code 1"), ("true", "True", "All Steps")])
def test_files_that_hold_no_artifacts(artifact_lab, script, status, message):
    lab = artifact_lab
    assert lab.http("PATCH", FLAGS, {"data": {"enable-artifacts": "true"}}, headers=MERGE).code == 200
    name = f"file-{status.lower()}"
    body = {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": name}, "spec": {"taskSpec": {"steps": [{"name": "s", "image": "bash", "script": script}]}}}
    wait_for("the flag", lambda: post(lab, body).code == 201)
    condition = outcome(lab, "taskruns", name)
    assert condition["status"] == status and message in condition["message"]


@pytest.mark.parametrize(
    "name, size, uses, step, text",
    [
        ("file", 2 << 20, 0, 0, "/tekton/steps/step-make/artifacts/provenance.json is larger than the 1048576 bytes that the step's results and artifacts leave of 1048576"),
        ("script", 900_000, 5, 1, "$(steps.make.outputs.image) makes the texts of the step larger than 4 MiB"),
    ],
)
def test_large_artifacts_fail_the_step(artifact_lab, name, size, uses, step, text):
    lab = artifact_lab
    assert lab.http("PATCH", FLAGS, {"data": {"enable-artifacts": "true"}}, headers=MERGE).code == 200
    steps = [
        {"name": "make", "image": "bash", "script": "head -c SIZE /dev/zero | tr '\\0' x > /tmp/x; { printf '{\"outputs\": [{\"name\": \"image\", \"values\": [{\"uri\": \"'; cat /tmp/x; printf '\"}]}]}'; } > $(step.artifacts.path)".replace("SIZE", str(size))},
        {"name": "use", "image": "bash", "script": "cat <<END\n" + "$(steps.make.outputs.image)\n" * uses + "END\n"},
    ]
    body = {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": f"large-{name}"}, "spec": {"taskSpec": {"steps": steps}}}
    wait_for("the flag", lambda: post(lab, body).code == 201)
    status = over(lab, "taskruns", f"large-{name}")["status"]
    assert status["conditions"][0]["status"] == "False"
    assert status["steps"][step]["terminated"]["message"] == text, status["steps"]


def test_loose_artifacts_are_refused(artifact_lab):
    lab = artifact_lab
    assert lab.http("PATCH", FLAGS, {"data": {"enable-artifacts": "true"}}, headers=MERGE).code == 200
    body = {"apiVersion": "tekton.dev/v1", "kind": "Task", "metadata": {"name": "loose"}, "spec": {"steps": [{"name": "s", "image": "bash", "script": "echo $(outputs.image)"}]}}

    def refused():
        answer = post(lab, body)
        return answer.code == 400 and "write $(steps.STEP.outputs.image)" in answer.text

    wait_for("the refusal", refused)


def test_the_cluster_resolver_names_its_source(lab, ns):
    task = {"apiVersion": "tekton.dev/v1", "kind": "Task", "metadata": {"name": "kept"}, "spec": {"steps": [{"name": "s", "image": "bash", "script": "true"}]}}
    uid = post(lab, task, ns).json["metadata"]["uid"]
    params = [{"name": name, "value": value} for name, value in (("kind", "task"), ("name", "kept"), ("namespace", ns))]
    run = {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": "far"}, "spec": {"taskRef": {"resolver": "cluster", "params": params}}}
    assert post(lab, run, ns).code == 201
    source = over(lab, "taskruns", "far", ns)["status"]["provenance"]["refSource"]
    assert source["uri"] == f"/apis/tekton.dev/v1/namespaces/{ns}/task/kept@{uid}"
    assert len(source["digest"]["sha256"]) == 64
    local = {**run, "metadata": {"name": "near"}, "spec": {"taskRef": {"name": "kept"}}}
    assert post(lab, local, ns).code == 201
    provenance = over(lab, "taskruns", "near", ns)["status"]["provenance"]
    assert "refSource" not in provenance and provenance["featureFlags"]["enableAPIFields"] == "beta"
