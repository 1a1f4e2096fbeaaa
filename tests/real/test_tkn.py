# SPDX-License-Identifier: Apache-2.0
"""tkn, built from its Go module (tests/real/tkn pins it), through its verbs that read, start, stop and remove runs."""

import itertools
import json
import os
import subprocess

import pytest
import yaml
from support import ROOT, Lab, run, wait_for

_numbers = itertools.count(1)
TASK = """
apiVersion: tekton.dev/v1
kind: Task
metadata: {name: greet}
spec:
  description: Says hello.
  params:
  - {name: who, type: string, description: whom to greet}
  - {name: greeting, type: string, default: hello}
  - {name: words, type: array, default: [a, b]}
  workspaces: [{name: notes, optional: true}]
  results: [{name: said, description: what was said}]
  steps:
  - name: say
    image: bash
    script: |
      echo "$(params.greeting) $(params.who)"
      printf '%s' "$(params.who)" > $(results.said.path)
  - {name: more, image: bash, args: ["$(params.words[*])"], script: 'echo "words: $*"'}
"""
PIPELINE = """
apiVersion: tekton.dev/v1
kind: Pipeline
metadata: {name: flow}
spec:
  description: Greets twice.
  params: [{name: who, type: string}, {name: pause, type: string, default: "0"}]
  workspaces: [{name: shared}]
  results: [{name: last, value: "$(tasks.second.results.said)"}]
  tasks:
  - {name: first, taskRef: {name: greet}, params: [{name: who, value: "$(params.who)"}], workspaces: [{name: notes, workspace: shared}]}
  - name: second
    taskRef: {name: greet}
    runAfter: [first]
    params: [{name: who, value: "$(tasks.first.results.said) again"}]
  - {name: wait, runAfter: [first], taskSpec: {steps: [{name: s, image: bash, script: "sleep $(params.pause)"}]}}
  finally:
  - {name: tidy, taskSpec: {steps: [{name: s, image: bash, script: "echo tidied"}]}}
"""
CUSTOM = """
apiVersion: tekton.dev/v1beta1
kind: CustomRun
metadata: {name: other}
spec: {customRef: {apiVersion: example.dev/v1, kind: Approval, name: a}}
"""


@pytest.fixture(scope="module")
def program():
    return subprocess.run([ROOT / "scripts/tkn"], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    one = Lab(tmp_path_factory.mktemp("tkn") / "lab")
    try:
        yield one.start()
    finally:
        one.close()


@pytest.fixture
def ns(lab):
    name = f"tkn-{next(_numbers)}"
    lab.kubectl("create", "namespace", name)
    wait_for("the account", lambda: lab.http("GET", f"/api/v1/namespaces/{name}/serviceaccounts/default").code == 200)
    lab.kubectl("apply", "-n", name, "-f", "-", stdin=TASK)
    lab.kubectl("apply", "-n", name, "-f", "-", stdin=PIPELINE)
    return name


@pytest.fixture
def tkn(lab, ns, program):
    """Runs tkn in the namespace; its standard output. It must warn of nothing."""

    def call(*args, code=0, stdin=None):
        done = run([program, *args, "-n", ns], env={**lab.env, "KUBECONFIG": str(lab.kubeconfig), "NO_COLOR": "1"}, stdin=stdin)
        assert done.code == code, f"tkn {' '.join(args)}: exit {done.code}\n{done.out}\n{done.err}"
        assert "Warning" not in done.err, done.err
        return done.out + (done.err if code else "")

    return call


def test_version_tells_the_release_of_the_lab(lab, program):
    done = run([program, "version"], env={**os.environ, "KUBECONFIG": str(lab.kubeconfig)})
    assert done.code == 0 and "Client version: 0." in done.out, done.out + done.err
    assert "Pipeline version: v1.9.2" in done.out, done.out


def test_each_verb_has_a_row_in_the_guide(program):
    part = (ROOT / "docs/tekton.md").read_text(encoding="utf-8").split("\n## tkn\n")[1].split("\n## ")[0]
    for group in ("customrun", "pipeline", "pipelinerun", "task", "taskrun"):
        text = run([program, group, "--help"]).out.split("Available Commands:\n")[1].split("\n\n")[0]
        for verb in (line.split()[0] for line in text.splitlines()):
            assert f"`{group} {verb}`" in part, f"{group} {verb}"


def test_tasks_are_listed_described_and_removed(tkn):
    assert tkn("task", "list").splitlines()[1].split()[:1] == ["greet"]
    described = tkn("task", "describe", "greet")
    for part in ("Says hello.", "who", "greeting", "said", "notes", "say"):
        assert part in described, described
    assert yaml.safe_load(tkn("task", "describe", "greet", "-o", "yaml"))["spec"]["params"][0]["name"] == "who"
    assert "deleted" in tkn("task", "delete", "greet", "-f").lower()
    assert "No Tasks found" in tkn("task", "list")


def test_a_started_task_shows_its_log(tkn):
    out = tkn("task", "start", "greet", "--param", "who=world", "--param", "words=x,y", "--workspace", "name=notes,emptyDir=", "--use-param-defaults", "--showlog")
    assert "[say] hello world" in out and "[more] words: x y" in out, out
    name = tkn("taskrun", "describe", "--last", "-o", "name").strip().rpartition("/")[2]
    described = tkn("taskrun", "describe", name)
    for part in ("Succeeded", "who", "world", "said", "say", "Completed"):
        assert part in described, described
    assert name in tkn("taskrun", "list") and "Succeeded" in tkn("taskrun", "list")
    assert "[say] hello world" in tkn("taskrun", "logs", name) and "hello" not in tkn("taskrun", "logs", name, "--step", "more")
    assert "hello world" in tkn("task", "logs", "greet", name)
    again = tkn("task", "start", "greet", "--last", "--showlog")
    assert "[say] hello world" in again, again
    third = tkn("task", "start", "greet", "--use-taskrun", name, "--output", "yaml", "--dry-run")
    assert yaml.safe_load(third)["spec"]["params"]
    exported = yaml.safe_load(tkn("taskrun", "export", name))
    assert exported["kind"] == "TaskRun" and "status" not in exported


def test_a_dry_run_and_a_file_start_tasks(tkn, tmp_path):
    shown = yaml.safe_load(tkn("task", "start", "greet", "-p", "who=x", "--use-param-defaults", "--skip-optional-workspace", "--dry-run"))
    assert shown["kind"] == "TaskRun" and shown["spec"]["taskRef"]["name"] == "greet"
    file = tmp_path / "task.yaml"
    file.write_text(TASK.replace("{name: greet}", "{name: filed}").replace("workspaces: [{name: notes, optional: true}]", ""), encoding="utf-8")
    out = tkn("task", "start", "-f", str(file), "-p", "who=file", "--use-param-defaults", "--showlog")
    assert "hello file" in out, out


def test_task_runs_are_cancelled_and_removed(lab, ns, tkn):
    spec = {"taskSpec": {"steps": [{"name": "s", "image": "bash", "script": "echo begun; sleep 600"}]}}
    for name in ("long", "short"):
        body = {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": name}, "spec": spec}
        assert lab.http("POST", f"/apis/tekton.dev/v1/namespaces/{ns}/taskruns", body).code == 201
    wait_for("both run", lambda: tkn("taskrun", "list").count("Running") == 2)
    assert "cancelled" in tkn("taskrun", "cancel", "long")
    wait_for("it is cancelled", lambda: "Cancelled(TaskRunCancelled)" in tkn("taskrun", "list"))
    assert "TaskRunCancelled" in tkn("taskrun", "describe", "long")
    tkn("taskrun", "cancel", "short")
    wait_for("both are over", lambda: tkn("taskrun", "list").count("TaskRunCancelled") == 2)
    tkn("taskrun", "delete", "--keep", "1", "-f")
    assert len(tkn("taskrun", "list", "--no-headers").split("\n")) == 2
    tkn("taskrun", "delete", "--all", "-f")
    assert "No TaskRuns found" in tkn("taskrun", "list")


def test_pipelines_are_listed_described_and_exported(tkn):
    assert "flow" in tkn("pipeline", "list")
    described = tkn("pipeline", "describe", "flow")
    for part in ("Greets twice.", "who", "shared", "first", "second", "last"):
        assert part in described, described
    exported = yaml.safe_load(tkn("pipeline", "export", "flow"))
    assert exported["kind"] == "Pipeline" and "uid" not in exported["metadata"]


def test_a_started_pipeline_shows_its_log_and_its_runs(tkn):
    out = tkn("pipeline", "start", "flow", "--param", "who=world", "--workspace", "name=shared,emptyDir=", "--use-param-defaults", "--showlog")
    for line in ("[first : say] hello world", "[second : say] hello world again", "[tidy : s] tidied"):
        assert line in out, out
    assert "Succeeded" in tkn("pipeline", "list")
    listed = tkn("pipelinerun", "list")
    assert "Succeeded" in listed
    name = json.loads(tkn("pipelinerun", "describe", "--last", "-o", "json"))["metadata"]["name"]
    described = tkn("pipelinerun", "describe", name)
    for part in ("Succeeded", "world", "shared", f"{name}-first", f"{name}-tidy", "last", "world again"):
        assert part in described, described
    assert "hello world again" in tkn("pipelinerun", "logs", name) and "again" not in tkn("pipelinerun", "logs", name, "--task", "first")
    assert "hello world" in tkn("pipeline", "logs", "flow", name)
    exported = yaml.safe_load(tkn("pipelinerun", "export", name))
    assert exported["kind"] == "PipelineRun" and "status" not in exported
    assert "hello world" in tkn("pipeline", "start", "flow", "--use-pipelinerun", name, "--showlog")
    assert "hello world" in tkn("pipeline", "start", "flow", "--last", "--showlog")
    assert len(tkn("pipelinerun", "list", "--no-headers", "--limit", "2").strip().split("\n")) == 2
    tkn("pipelinerun", "delete", "--keep", "1", "-f")
    assert len(tkn("pipelinerun", "list", "--no-headers").strip().split("\n")) == 1


def test_starts_take_timeouts_labels_accounts_and_volumes(lab, ns, tkn, tmp_path):
    template = tmp_path / "claim.yaml"
    template.write_text("spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n", encoding="utf-8")
    pod = tmp_path / "pod.yaml"
    pod.write_text("securityContext: {runAsNonRoot: false}\n", encoding="utf-8")
    name = tkn(
        "pipeline", "start", "flow", "-p", "who=x", "-w", f"name=shared,volumeClaimTemplateFile={template}", "--use-param-defaults", "-l", "team=a", "-s", "default", "--task-serviceaccount", "first=default",
        "--pipeline-timeout", "10m", "--tasks-timeout", "8m", "--finally-timeout", "1m", "--pod-template", str(pod), "--prefix-name", "mine", "-o", "name",
    ).strip()  # fmt: skip
    assert name.startswith("mine-")
    spec = lab.get(f"/apis/tekton.dev/v1/namespaces/{ns}/pipelineruns/{name}")
    assert spec["metadata"]["labels"]["team"] == "a" and spec["spec"]["timeouts"] == {"pipeline": "10m0s", "tasks": "8m0s", "finally": "1m0s"}
    wait_for("it succeeds", lambda: "Succeeded" in tkn("pipelinerun", "list", "--label", "team=a"))


@pytest.mark.parametrize("grace", ["", "CancelledRunFinally", "StoppedRunFinally"])
def test_pipeline_runs_are_cancelled(tkn, grace):
    name = tkn("pipeline", "start", "flow", "-p", "who=x", "-p", "pause=2" if grace.startswith("Stopped") else "pause=600", "-w", "name=shared,emptyDir=", "-o", "name").strip()
    wait_for("it waits", lambda: f"{name}-wait" in tkn("taskrun", "list") and "Running" in tkn("taskrun", "list"))
    tkn("pipelinerun", "cancel", name, *(["--grace", grace] if grace else []))
    wait_for("it is over", lambda: tkn("pipelinerun", "list", "--no-headers").split()[-1] == "Cancelled")
    tidied = f"{name}-tidy" in tkn("taskrun", "list")
    assert tidied == bool(grace)
    assert "cancelled" in tkn("pipelinerun", "describe", name).lower()
    assert "finished" in tkn("pipelinerun", "cancel", name, code=1).lower()


def test_a_failed_pipeline_ends_tkn_with_its_error(tkn):
    out = tkn("pipeline", "start", "flow", "-p", "who=x", "-p", "pause=no-number", "-w", "name=shared,emptyDir=", "--showlog", "--exit-with-pipelinerun-error", code=1)
    assert "failed" in out.lower(), out
    assert "Failed" in tkn("pipelinerun", "list")


def test_missing_objects_are_told(tkn):
    assert 'Pipeline name none does not exist' in tkn("pipeline", "start", "none", code=1)
    assert 'failed to find pipelinerun "none"' in tkn("pipelinerun", "describe", "none", code=1)
    assert "not found" in tkn("taskrun", "logs", "none", code=1).lower()


def test_pipelines_are_removed_with_their_runs(tkn):
    name = tkn("pipeline", "start", "flow", "-p", "who=x", "-w", "name=shared,emptyDir=", "--use-param-defaults", "-o", "name").strip()
    wait_for("it is over", lambda: "Succeeded" in tkn("pipelinerun", "list"))
    tkn("pipeline", "delete", "flow", "--prs", "-f")
    wait_for("its runs are gone", lambda: name not in tkn("pipelinerun", "list"))
    assert "No Pipelines found" in tkn("pipeline", "list")


def test_custom_runs_are_listed_and_removed(lab, ns, tkn):
    lab.kubectl("apply", "-n", ns, "-f", "-", stdin=CUSTOM)
    assert "other" in tkn("customrun", "list")
    tkn("customrun", "delete", "other")
    assert "other" not in tkn("customrun", "list")
