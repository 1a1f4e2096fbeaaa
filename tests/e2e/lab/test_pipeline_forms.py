# SPDX-License-Identifier: Apache-2.0
"""Forms of tasks that Tekton accepts: old versions, variables in params, credentials of service accounts."""

import json
import re

import yaml
from pipeline_runs import outcome, over
from support import ROOT, wait_for

VARIABLES = """
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: forms}
spec:
  pipelineSpec:
    tasks:
    - name: fan
      matrix: {params: [{name: os, value: [l, m]}]}
      taskSpec:
        params: [{name: os}]
        results: [{name: out}]
        steps: [{name: m, image: bash, script: "printf $(params.os) > $(results.out.path)"}]
    - name: use
      displayName: "$(tasks.fan.matrix.length) of fan"
      params:
      - {name: count, value: "$(tasks.fan.matrix.length) $(tasks.fan.matrix.out.length)"}
      - {name: outs, value: ["$(tasks.fan.results.out[*])"]}
      - {name: say, value: "cat $(results.product.path)"}
      taskSpec:
        params: [{name: count}, {name: outs, type: array}, {name: say}]
        results: [{name: product}]
        steps:
        - {name: a, image: bash, onError: continue, script: "printf '$(params.count) $(inputs.params.count)' > $(results.product.path); exit 3"}
        - {image: bash, onError: continue, script: "exit 5"}
        - {name: b, image: bash, args: [-c, 'echo outs "$@"; cat $(steps.step-a.exitCode.path); echo; echo unnamed `cat $(steps.step-unnamed-1.exitCode.path)`', x, "$(params.outs[*])"]}
        - {name: c, image: bash, script: "$(params.say)"}
"""

ACCOUNT = """
apiVersion: v1
kind: Secret
type: kubernetes.io/basic-auth
metadata: {name: forge, annotations: {tekton.dev/git-0: https://forge.example.com}}
stringData: {username: ann, password: secret-word}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
secrets: [{name: forge}]
---
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: clone}
spec:
  serviceAccountName: robot
  taskSpec:
    steps:
    - name: s
      image: bash
      script: |
        cat $HOME/.git-credentials $(credentials.path)/.gitconfig
        ls /tekton/creds-secrets/forge
        stat -c %a $HOME/.git-credentials
        echo more >> $HOME/.gitconfig
"""

OLD = """
apiVersion: tekton.dev/v1beta1
kind: Task
metadata: {name: old.task}
spec:
  resources: {inputs: [{name: cluster, type: cluster}]}
  steps: [{name: s, image: bash, script: "echo hi"}]
---
apiVersion: tekton.dev/v1alpha1
kind: StepAction
metadata: {name: act}
spec: {image: bash, params: [{name: words, type: array}], command: [echo], args: ["$(params.words[*])"]}
---
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: acts}
spec:
  taskSpec:
    steps: [{name: s, ref: {name: act}, params: [{name: words, value: [one, two]}]}]
"""


LOOSE = """
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: loose}
spec:
  workspaces: [{name: w, emptyDir: {}}]
  taskSpec:
    workspaces: [{name: w, mountpath: /data/w}]
    volumes: [{name: v, emptydir: {}}]
    steps:
    - name: s
      image: bash
      workingdir: /data/w
      volumemounts: [{name: v, mountpath: /data/v}]
      script: "pwd; ls -d /data/v"
"""

LETTERS = """
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: letters, annotations: {note: "測試"}}
spec:
  params: [{name: word, value: "Grüße, 漢字 🚀"}]
  pipelineSpec:
    params: [{name: word}]
    results: [{name: all, value: "$(tasks.say.results.said)!"}]
    tasks:
    - name: say
      displayName: "测试 $(params.word)"
      params: [{name: w, value: "$(params.word)"}]
      taskSpec: {params: [{name: w}], results: [{name: said}], steps: [{name: s, image: bash, script: "printf '%s' '$(params.w)' | tee $(results.said.path)"}]}
"""


DOTTED = """
apiVersion: tekton.dev/v1
kind: Task
metadata: {name: say.it}
spec: {steps: [{name: s, image: bash, script: "echo $(context.task.name)"}]}
---
apiVersion: tekton.dev/v1
kind: Pipeline
metadata: {name: release.v1.2}
spec:
  results: [{name: which, value: "$(tasks.own.results.name)"}]
  tasks:
  - {name: say, taskRef: {name: say.it}}
  - name: own
    taskSpec: {results: [{name: name}], steps: [{name: s, image: bash, script: "printf $(context.taskRun.name) > $(results.name.path)"}]}
---
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run.of.v1}
spec: {pipelineRef: {name: release.v1.2}}
"""


def create(lab, ns, text):
    return lab.kubectl("create", "-n", ns, "-f", "-", stdin=text)


def logs(lab, ns, pod, *args):
    return lab.kubectl("logs", "-n", ns, pod, "--all-containers", *args).out


def test_variables_reach_scripts_through_params(lab, ns):
    create(lab, ns, VARIABLES)
    one = over(lab, "pipelineruns", "forms", ns)
    text = logs(lab, ns, "forms-use-pod")
    assert one["status"]["conditions"][0]["reason"] == "Succeeded", (one["status"], text)
    assert "outs l m\n3" in text and "unnamed 5\n" in text and "2 2 2 2" in text, text
    shown = {child["pipelineTaskName"]: child.get("displayName") for child in one["status"]["childReferences"]}
    assert shown["use"] == "2 of fan"


def test_steps_get_credentials_of_their_account(lab, ns):
    create(lab, ns, ACCOUNT)
    one = over(lab, "taskruns", "clone", ns)
    text = logs(lab, ns, "clone-pod")
    assert one["status"]["conditions"][0]["status"] == "True", (one["status"], text)
    for line in ("https://ann:secret-word@forge.example.com", "username = ann", "password", "600"):
        assert line in text, text


def test_old_versions_are_read(lab, ns):
    done = create(lab, ns, OLD)
    assert "spec.resources has no effect" in done.err, done.err
    assert outcome(lab, "taskruns", "acts", ns)["status"] == "True"
    assert logs(lab, ns, "acts-pod") == "one two\n"
    old = yaml.safe_load(lab.kubectl("get", "tasks.v1beta1.tekton.dev", "old.task", "-n", ns, "-o", "yaml").out)
    assert old["spec"]["resources"]["inputs"][0]["name"] == "cluster"


def test_names_of_fields_are_read_in_any_case(lab, ns):
    """As Tekton's programs, which are in Go, read inline specs: `mountpath`."""
    create(lab, ns, LOOSE)
    one = over(lab, "taskruns", "loose", ns)
    assert one["status"]["conditions"][0]["status"] == "True", one["status"]
    assert logs(lab, ns, "loose-pod") == "/data/w\n/data/v\n"


def test_letters_of_all_languages_pass_through(lab, ns):
    create(lab, ns, LETTERS)
    status = over(lab, "pipelineruns", "letters", ns)["status"]
    assert status["results"] == [{"name": "all", "value": "Grüße, 漢字 🚀!"}], status
    assert status["childReferences"][0]["displayName"] == "测试 Grüße, 漢字 🚀"
    assert logs(lab, ns, "letters-say-pod") == "Grüße, 漢字 🚀"
    for good, bad in (("name: say", "name: säy"), ("name: word", "name: wörd"), ("name: letters", "name: buchstäben")):
        refused = lab.kubectl("create", "-n", ns, "-f", "-", stdin=LETTERS.replace(good, bad), code=1).err
        assert bad.removeprefix("name: ") in refused and "nvalid" in refused, refused


def test_pipelines_within_pipelines_follow_the_flag(make_lab):
    lab = make_lab(name="nested").start()
    inner = {"tasks": [{"name": "say", "taskSpec": {"results": [{"name": "said"}], "steps": [{"name": "s", "image": "bash", "script": "printf '%s' \"$(params.word)\" > $(results.said.path)"}]}}], "results": [{"name": "out", "value": "$(tasks.say.results.said)"}]}
    outer = {
        "params": [{"name": "word", "value": "deep"}],
        "pipelineSpec": {"params": [{"name": "word"}], "tasks": [{"name": "child", "pipelineSpec": inner}], "results": [{"name": "all", "value": "$(tasks.child.results.out)"}]},
    }
    body = {"apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "metadata": {"name": "nested"}, "spec": outer}
    path = "/apis/tekton.dev/v1/namespaces/default/pipelineruns"
    refused = lab.http("POST", path, body)
    assert refused.code == 400 and 'requires "enable-api-fields" feature gate to be "alpha" but it is "beta"' in refused.json["message"]
    lab.kubectl("patch", "configmap", "feature-flags", "-n", "tekton-pipelines", "--type", "merge", "-p", '{"data":{"enable-api-fields":"alpha"}}')
    warned = lab.kubectl("patch", "configmap", "feature-flags", "-n", "tekton-pipelines", "--type", "merge", "--dry-run=server", "-p", '{"data":{"enable-api-fields":"stable"}}')
    assert 'enable-api-fields: "stable" has no effect' in warned.err
    wait_for("the flag counts", lambda: lab.http("POST", path, body).code == 201)
    done = wait_for("it is over", lambda: (one := lab.get(f"{path}/nested")).get("status", {}).get("completionTime") and one)
    assert done["status"]["results"] == [{"name": "all", "value": "deep"}]
    assert [(one["kind"], one["name"]) for one in done["status"]["childReferences"]] == [("PipelineRun", "nested-child")]
    assert lab.kubectl("get", "pr,tr", "-o", "name").out.split() == ["pipelinerun.tekton.dev/nested", "pipelinerun.tekton.dev/nested-child", "taskrun.tekton.dev/nested-child-say"]
    lab.kubectl("delete", "pr", "nested")
    wait_for("the children go with it", lambda: not lab.kubectl("get", "pr,tr,pods", "-o", "name").out)


def test_expressions_in_steps_follow_the_flag(make_lab):
    lab = make_lab(name="cel").start()
    steps = [
        {"name": "first", "image": "bash", "results": [{"name": "branch"}], "script": "printf main > $(step.results.branch.path)"},
        {"name": "taken", "image": "bash", "script": "echo taken", "when": [{"cel": "'$(steps.first.results.branch)' in ['$(params.p)', 'next']"}]},
        {"name": "left", "image": "bash", "script": "echo left", "when": [{"cel": "'$(steps.first.results.branch)'.startsWith('x')"}]},
    ]
    spec = {"params": [{"name": "p", "value": "main"}], "taskSpec": {"params": [{"name": "p"}], "steps": steps}}
    path = "/apis/tekton.dev/v1/namespaces/default/taskruns"
    body = {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": "guarded"}, "spec": spec}
    refused = lab.http("POST", path, body)
    assert refused.code == 400 and "feature flag enable-cel-in-whenexpression should be set to true to use CEL" in refused.json["message"]
    lab.kubectl("patch", "configmap", "feature-flags", "-n", "tekton-pipelines", "--type", "merge", "-p", '{"data":{"enable-cel-in-whenexpression":"true"}}')
    wait_for("the flag counts", lambda: lab.http("POST", path, body).code == 201)
    one = over(lab, "taskruns", "guarded")
    assert one["status"]["conditions"][0]["reason"] == "Succeeded", one["status"]
    assert [step.get("terminationReason") for step in one["status"]["steps"]] == ["Completed", "Completed", "Skipped"]
    assert logs(lab, "default", "guarded-pod") == "taken\n"
    steps[1]["when"] = [{"cel": "size('$(steps.first.results.branch)')"}]
    assert lab.http("POST", path, {**body, "metadata": {"name": "vague"}}).code == 201
    one = over(lab, "taskruns", "vague")
    assert one["status"]["conditions"][0]["status"] == "False", one["status"]
    assert [step["terminated"]["exitCode"] for step in one["status"]["steps"]] == [0, 1, 1]


def test_task_runs_make_their_claims(lab, ns):
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    steps = [{"name": "s", "image": "bash", "script": "echo kept > $(workspaces.w.path)/a; cat $(workspaces.w.path)/a; echo $(workspaces.w.claim)"}]
    spec = {"workspaces": [{"name": "w", "volumeClaimTemplate": template}], "taskSpec": {"workspaces": [{"name": "w"}], "steps": steps}}
    create(lab, ns, json.dumps({"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": "claims"}, "spec": spec}))
    one = over(lab, "taskruns", "claims", ns)
    (claim,) = lab.get(f"/api/v1/namespaces/{ns}/persistentvolumeclaims")["items"]
    assert one["status"]["conditions"][0]["reason"] == "Succeeded", one["status"]
    assert logs(lab, ns, "claims-pod") == f"kept\n{claim['metadata']['name']}\n"
    lab.kubectl("delete", "taskrun", "claims", "-n", ns)
    wait_for("the claim goes with it", lambda: not lab.get(f"/api/v1/namespaces/{ns}/persistentvolumeclaims")["items"])


def test_names_with_dots_run(lab, ns):
    create(lab, ns, DOTTED)
    one = over(lab, "pipelineruns", "run.of.v1", ns)
    assert one["status"]["conditions"][0]["reason"] == "Succeeded", one["status"]
    assert one["metadata"]["labels"]["tekton.dev/pipeline"] == "release.v1.2"
    children = {child["pipelineTaskName"]: child["name"] for child in one["status"]["childReferences"]}
    assert children == {"say": "run.of.v1-say", "own": "run.of.v1-own"} and one["status"]["results"] == [{"name": "which", "value": "run.of.v1-own"}]
    assert logs(lab, ns, "run.of.v1-say-pod") == "say.it\n"


def test_documented_metrics_are_served_after_a_run(lab, ns):
    page = (ROOT / "docs/tekton.md").read_text(encoding="utf-8").split("\n## Metrics\n")[1].split("\n## ")[0]
    rows = [line.split(" | ")[0] for line in page.splitlines() if line.startswith("| `")]
    names = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert len(names) > 10
    create(lab, ns, DOTTED)
    create(lab, ns, LOOSE)
    over(lab, "pipelineruns", "run.of.v1", ns)
    over(lab, "taskruns", "loose", ns)
    # One that fits on no node, and one that a quota refuses.
    step = {"name": "s", "image": "bash", "script": "true"}
    huge = {**step, "computeResources": {"requests": {"cpu": "100000"}}}
    for name, one in (("large", huge), ("refused", step)):
        body = {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": name}, "spec": {"taskSpec": {"steps": [one]}}}
        assert lab.http("POST", f"/apis/tekton.dev/v1/namespaces/{ns}/taskruns", body).code == 201
        wait_for("its pod", lambda name=name: name == "refused" or lab.http("GET", f"/api/v1/namespaces/{ns}/pods/{name}-pod").code == 200)
        quota = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
        assert lab.http("POST", f"/api/v1/namespaces/{ns}/resourcequotas", quota).code in (201, 409)

    def missing():
        return set(names) - set(re.findall(r"^# TYPE tekton_pipelines_controller_(\w+) ", lab.http("GET", "/metrics").text, re.MULTILINE))

    wait_for("every name", lambda: not missing())
    lab.kubectl("delete", "taskruns", "--all", "-n", ns)
