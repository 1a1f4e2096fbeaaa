# SPDX-License-Identifier: Apache-2.0
"""Forms of tasks that Tekton accepts: old versions, variables in params, credentials of service accounts."""

import yaml
from support import wait_for

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
        - {name: b, image: bash, args: [-c, 'echo outs "$@"; cat $(steps.step-a.exitCode.path)', x, "$(params.outs[*])"]}
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


def create(lab, ns, text):
    return lab.kubectl("create", "-n", ns, "-f", "-", stdin=text)


def finished(lab, ns, kind, name):
    def over():
        one = lab.http("GET", f"/apis/tekton.dev/v1/namespaces/{ns}/{kind}/{name}").json
        return one.get("status", {}).get("conditions", [{"status": "Unknown"}])[0]["status"] != "Unknown" and one

    return wait_for(f"{name} is over", over)


def logs(lab, ns, pod, *args):
    return lab.kubectl("logs", "-n", ns, pod, "--all-containers", *args).out


def test_variables_reach_scripts_through_params(lab, ns):
    create(lab, ns, VARIABLES)
    one = finished(lab, ns, "pipelineruns", "forms")
    text = logs(lab, ns, "forms-use-pod")
    assert one["status"]["conditions"][0]["reason"] == "Succeeded", (one["status"], text)
    assert "outs l m\n3" in text and "2 2 2 2" in text, text
    shown = {child["pipelineTaskName"]: child.get("displayName") for child in one["status"]["childReferences"]}
    assert shown["use"] == "2 of fan"


def test_steps_get_credentials_of_their_account(lab, ns):
    create(lab, ns, ACCOUNT)
    one = finished(lab, ns, "taskruns", "clone")
    text = logs(lab, ns, "clone-pod")
    assert one["status"]["conditions"][0]["status"] == "True", (one["status"], text)
    for line in ("https://ann:secret-word@forge.example.com", "username = ann", "password", "600"):
        assert line in text, text


def test_old_versions_are_read(lab, ns):
    done = create(lab, ns, OLD)
    assert "spec.resources has no effect" in done.err, done.err
    assert finished(lab, ns, "taskruns", "acts")["status"]["conditions"][0]["status"] == "True"
    assert logs(lab, ns, "acts-pod") == "one two\n"
    old = yaml.safe_load(lab.kubectl("get", "tasks.v1beta1.tekton.dev", "old.task", "-n", ns, "-o", "yaml").out)
    assert old["spec"]["resources"]["inputs"][0]["name"] == "cluster"


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
