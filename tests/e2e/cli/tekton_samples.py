# SPDX-License-Identifier: Apache-2.0
"""More inputs of the shape of Tekton's examples/v1, by their names: one list of objects each, the last of which is the run. They are started
together. As in public_samples.py the names are theirs, the fields those that decide what becomes of a sample."""

from public_samples import CLAIM, QUEUE, RESULT, Sample, of_task, of_tasks, run, steps, with_params

WORKSPACE = [{"name": "w"}]
BOUND = [{"name": "w", "emptyDir": {}}]
CHECKS = "[[ $(params.v) == x ]]"


def made(kind, name, **more):
    version = {"Task": "tekton.dev/v1", "Pipeline": "tekton.dev/v1", "StepAction": "tekton.dev/v1beta1", "LimitRange": "v1"}.get(kind, "v1")
    return {"apiVersion": version, "kind": kind, "metadata": {"name": f"sample-{name}", "namespace": "default"}, **more}


def secret(name, **data):
    return made("Secret", name, stringData=data)


def config(name, **data):
    return made("ConfigMap", name, data=data)


def action(name, **spec):
    return made("StepAction", name, spec=spec)


def behind(sample, *objects):
    """The sample, after objects that it names."""
    return Sample([*objects, *sample.objects], sample.end, sample.says)


def step(script, name="s", **more):
    return {"name": name, "image": "bash:latest", "script": f"#!/usr/bin/env bash\nset -e\n{script}\n", **more}


def task(*all_steps, **spec):
    return {"steps": list(all_steps), **spec}


def remote(resolver, **params):
    return {"resolver": resolver, "params": [{"name": key, "value": value} for key, value in params.items()]}


def mounted(volume, path="/mnt"):
    return {"volumeMounts": [{"name": volume, "mountPath": path}]}


ECHO = action("echo", image="bash:latest", params=[{"name": "v", "default": "x"}], script="#!/usr/bin/env bash\n[[ $(params.v) == x ]]\n")
GIVES = action("gives", image="bash:latest", results=[{"name": "r"}], script="#!/usr/bin/env bash\necho -n x > $(step.results.r.path)\n")
TAKES = action("takes", image="bash:latest", params=[{"name": "v"}], command=["test"], args=["$(params.v)", "=", "x"])
ENV = action("env", image="bash:latest", env=[{"name": "OWN", "value": "b"}], script="#!/usr/bin/env bash\n[[ $SHARED$OWN == ab ]]\n")

TASK_RUNS = {
    "5080-entrypoint-init-regression.yaml": of_task("regression", task(step("true", workingDir="/tekton/home"))),
    "array-default.yaml": of_task("array-default", {"params": [{"name": "v", "type": "array", "default": ["x", "y"]}], "steps": [{"name": "s", "image": "bash:latest", "args": ["-c", 'test "$0$1" = xy', "$(params.v[*])"]}]}),
    "configmap.yaml": behind(
        of_task("configmap", task(step("grep hello /mnt/message", **mounted("c")), volumes=[{"name": "c", "configMap": {"name": "sample-configmap"}}])), config("configmap", message="hello")
    ),
    "custom-env.yaml": of_task("custom-env", task(step("[[ $FOO == bar ]]", env=[{"name": "FOO", "value": "$(params.v)"}]), params=[{"name": "v", "default": "bar"}])),
    "custom-volume.yaml": of_task("custom-volume", task(step("echo a > /mnt/f", "one", **mounted("c")), step("grep a /mnt/f", "two", **mounted("c")), volumes=[{"name": "c", "emptyDir": {}}])),
    "default_task_params.yaml": behind(
        Sample([run("TaskRun", "default-params", taskRef={"name": "sample-default-params"})], "Succeeded"),
        made("Task", "default-params", spec=task(step(CHECKS), params=[{"name": "v", "default": "$(params.u)"}, {"name": "u", "default": "x"}])),
    ),
    "entrypoint-resolution.yaml": Sample([run("TaskRun", "entrypoint", taskSpec={"steps": [{"name": "s", "image": "hello-world"}]})], "Failed", "is not run here"),
    "home-is-set.yaml": of_task("home-is-set", task(step("[[ $HOME == /tekton/home ]]", env=[{"name": "HOME", "value": "/tekton/home"}]))),
    "home-volume.yaml": of_task("home-volume", task(step("echo a > $HOME/f", "one"), step("grep a $HOME/f", "two"), stepTemplate={"env": [{"name": "HOME", "value": "/tekton/home"}]})),
    "object-param-result.yaml": of_task(
        "object-param", task(step("[[ $(params.v.url) == x ]]; printf '{\"url\": \"y\"}' > $(results.o.path)"), params=[{"name": "v", "type": "object", "properties": {"url": {}}}],
                             results=[{"name": "o", "type": "object", "properties": {"url": {}}}]), params=[{"name": "v", "value": {"url": "x"}}]
    ),  # fmt: skip
    "optional-workspaces.yaml": of_task("optional-workspaces", task(step("[[ $(workspaces.w.bound) == false ]]"), workspaces=[{"name": "w", "optional": True}])),
    "propagating_params_implicit.yaml": of_task("implicit-params", task(step(CHECKS)), params=[{"name": "v", "value": "x"}]),
    "propagating_workspaces.yaml": of_task("implicit-workspaces", task(step("echo a > $(workspaces.w.path)/f")), workspaces=BOUND),
    "readonly-internal-dir.yaml": of_task("readonly", task(step("echo -n a > $(results.r.path)"), **RESULT)),
    "run-steps-as-non-root.yaml": of_task("non-root", task(step("true", securityContext={"runAsNonRoot": True, "runAsUser": 1001}))),
    "secret-env.yaml": behind(
        of_task("secret-env", task(step("[[ $TOKEN == hidden ]]", env=[{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "sample-secret-env", "key": "token"}}}]))), secret("secret-env", token="hidden")
    ),
    "secret-env-from.yaml": behind(of_task("secret-env-from", task(step("[[ $TOKEN == hidden ]]", envFrom=[{"secretRef": {"name": "sample-env-from"}}]))), secret("env-from", TOKEN="hidden")),
    "secret-volume.yaml": behind(
        of_task("secret-volume", task(step("grep hidden /mnt/token", **mounted("c")), volumes=[{"name": "c", "secret": {"secretName": "sample-volume"}}])), secret("volume", token="hidden")
    ),
    "secret-volume-params.yaml": behind(
        of_task("volume-params", task(step("grep hidden /mnt/token", **mounted("c")), params=[{"name": "n"}], volumes=[{"name": "c", "secret": {"secretName": "$(params.n)"}}]),
                params=[{"name": "n", "value": "sample-volume-params"}]), secret("volume-params", token="hidden")
    ),  # fmt: skip
    "sidecar-interp.yaml": of_task(
        "sidecar-interp", task(step("until [[ -f /mnt/x ]]; do sleep 0.1; done", **mounted("c")), params=[{"name": "v", "default": "x"}], volumes=[{"name": "c", "emptyDir": {}}],
                               sidecars=[{"name": "side", "image": "bash:latest", "command": ["/bin/bash"], "args": ["-c", "touch /mnt/$(params.v); sleep 1000"], **mounted("c")}])
    ),  # fmt: skip
    "sidecar-ready-script.yaml": of_task(
        "sidecar-script", task(step("until [[ -f /mnt/x ]]; do sleep 0.1; done", **mounted("c")), volumes=[{"name": "c", "emptyDir": {}}],
                               sidecars=[{"name": "side", "image": "bash:latest", "script": "touch /mnt/x; sleep 1000", **mounted("c")}])
    ),  # fmt: skip
    "step-by-digest.yaml": of_task("digest", task({**step("true"), "image": f"bash@sha256:{64 * '0'}"})),
    "stepaction.yaml": behind(of_task("stepaction", task({"name": "a", "ref": {"name": "sample-echo"}})), ECHO),
    "stepaction-params.yaml": behind(of_task("stepaction-params", task({"name": "a", "ref": {"name": "sample-echo"}, "params": [{"name": "v", "value": "$(params.u)"}]}, params=[{"name": "u", "default": "x"}])), ECHO),
    "stepaction-results.yaml": behind(of_task("stepaction-results", task({"name": "a", "ref": {"name": "sample-gives"}}, results=[{"name": "r", "value": "$(steps.a.results.r)"}])), GIVES),
    "stepaction-passing-results.yaml": behind(
        of_task("stepaction-passing", task({"name": "a", "ref": {"name": "sample-gives"}}, {"name": "b", "ref": {"name": "sample-takes"}, "params": [{"name": "v", "value": "$(steps.a.results.r)"}]})), GIVES, TAKES
    ),
    "stepactions-steptemplate.yaml": behind(of_task("stepaction-template", task({"name": "a", "ref": {"name": "sample-env"}}, stepTemplate={"env": [{"name": "SHARED", "value": "a"}]})), ENV),
    "steps-run-in-order.yaml": of_task("in-order", task(step("sleep 0.3; echo a > /tekton/home/f", "one"), step("grep a /tekton/home/f", "two"))),
    "steptemplate-env-merge.yaml": of_task("env-merge", task(step("[[ $A$B == xz ]]", env=[{"name": "B", "value": "z"}]), stepTemplate={"env": [{"name": "A", "value": "x"}, {"name": "B", "value": "y"}]})),
    "steptemplate-variable-interop.yaml": of_task("template-variables", task(step("[[ $A == x ]]"), params=[{"name": "v", "default": "x"}], stepTemplate={"env": [{"name": "A", "value": "$(params.v)"}]})),
    "task-podtemplate.yaml": of_task("podtemplate", task(step("[[ $A == x ]]")), podTemplate={"env": [{"name": "A", "value": "x"}]}),
    "task-result.yaml": of_task("task-result", task(step("echo -n a | tee $(results.r.path)"), **RESULT)),
    "task-volume-args.yaml": behind(
        of_task("volume-args", task(step("grep hello /mnt/message", **mounted("c")), params=[{"name": "n"}], volumes=[{"name": "c", "configMap": {"name": "$(params.n)"}}]),
                params=[{"name": "n", "value": "sample-volume-args"}]), config("volume-args", message="hello")
    ),  # fmt: skip
    "template-volume.yaml": of_task("template-volume", task(step("echo a > /mnt/f", "one"), step("grep a /mnt/f", "two"), volumes=[{"name": "c", "emptyDir": {}}], stepTemplate=mounted("c"))),
    "unnamed-steps.yaml": of_task("unnamed", {"steps": [{"image": "bash:latest", "script": "true"}, {"image": "bash:latest", "script": "true"}]}),
    "workingdir.yaml": of_task("workingdir", task(step("[[ $PWD == */sub ]]", workingDir="$(workspaces.w.path)/sub"), workspaces=WORKSPACE), workspaces=BOUND),
    "workspace-in-sidecar.yaml": of_task(
        "workspace-sidecar", task(step("until [[ -f $(workspaces.w.path)/x ]]; do sleep 0.1; done"), workspaces=WORKSPACE,
                                  sidecars=[{"name": "side", "image": "bash:latest", "script": "touch $(workspaces.w.path)/x; sleep 1000"}]), workspaces=BOUND
    ),  # fmt: skip
    "workspace-readonly.yaml": of_task("workspace-readonly", task(step("ls $(workspaces.w.path)"), workspaces=[{"name": "w", "readOnly": True}]), workspaces=BOUND),
    "workspace-volume.yaml": of_task("workspace-volume", task(step("echo a > /data/f", "one"), step("grep a /data/f", "two"), workspaces=[{"name": "w", "mountPath": "/data"}]), workspaces=BOUND),
    "no-ci/default-workspaces.yaml": of_task("default-workspaces", task(step("echo a > $(workspaces.w.path)/f"), workspaces=WORKSPACE), workspaces=BOUND),
    "no-ci/pull-private-image.yaml": of_task("private-image", task(step("true")), podTemplate={"imagePullSecrets": [{"name": "none"}]}),
    "no-ci/windows-node-affinity.yaml": Sample(
        [run("TaskRun", "affinity", taskSpec=task(step("true")), podTemplate={"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["windows"]}]}]}}}})], "Stuck", "didn't match Pod's node affinity/selector"
    ),  # fmt: skip
    "no-ci/cluster-resolver.yaml": behind(
        Sample([run("TaskRun", "cluster-resolver", taskRef=remote("cluster", kind="task", name="sample-resolved", namespace="default"))], "Succeeded"),
        made("Task", "resolved", spec=task(step("true"))),
    ),
    "beta/emit-array-results.yaml": of_task("emit-array", task(step("printf '[\"a\",\"b\"]' > $(results.r.path)"), results=[{"name": "r", "type": "array"}])),
    "beta/large-task-result.yaml": of_task("large-result", task(step("printf '%01000d' 0 > $(results.r.path)"), **RESULT)),
    "beta/param_array_indexing.yaml": of_task("array-index", task(step("[[ $(params.v[1]) == b ]]"), params=[{"name": "v", "type": "array"}]), params=[{"name": "v", "value": ["a", "b"]}]),
    "beta/propagated-object-parameters.yaml": of_task("object-params", task(step("[[ $(params.v.url) == x ]]")), params=[{"name": "v", "value": {"url": "x"}}]),
    "beta/workspace-isolation.yaml": of_task(
        "isolation", task(step("echo a > $(workspaces.w.path)/f", "one", workspaces=[{"name": "w"}]), step("true", "two"), workspaces=WORKSPACE), workspaces=BOUND
    ),
    "alpha/stepaction-when.yaml": of_task("step-when", task(step("echo -n no > $(step.results.r.path)", "one", results=[{"name": "r"}]), step("exit 1", "two", when=[{"input": "$(steps.one.results.r)", "operator": "in", "values": ["yes"]}]))),
    "alpha/step-stream-volumes.yaml": of_task(
        "stream", task({"name": "one", "image": "bash:latest", "script": "echo a", "stdoutConfig": {"path": "/mnt/out"}, **mounted("c")}, step("grep a /mnt/out", "two", **mounted("c")), volumes=[{"name": "c", "emptyDir": {}}])
    ),
    "alpha/step-stream-workspace.yaml": of_task(
        "stream-workspace", task({"name": "one", "image": "bash:latest", "script": "echo a", "stdoutConfig": {"path": "$(workspaces.w.path)/out"}}, step("grep a $(workspaces.w.path)/out", "two"), workspaces=WORKSPACE), workspaces=BOUND
    ),
    "alpha/step-stream-results.yaml": of_task("stream-results", task({"name": "one", "image": "bash:latest", "script": "echo a", "stdoutConfig": {"path": "$(results.r.path)"}}, **RESULT)),
    "alpha/param-enum.yaml": Sample([run("TaskRun", "enum", taskSpec=task(step("true"), params=[{"name": "v", "enum": ["a", "b"], "default": "a"}]))], "Refused", "enable-param-enum"),
    "alpha/task-artifacts.yaml": Sample([run("TaskRun", "artifacts", taskSpec=task(step("echo $(step.artifacts.path)")))], "Refused", "enable-artifacts"),
    "step-artifacts.yaml": Sample([run("TaskRun", "artifacts", taskSpec=task(step("echo $(step.artifacts.path)")))], "Refused", "enable-artifacts"),
    "alpha/enable-valuefrom-in-param.yaml": Sample(
        [run("TaskRun", "valuefrom", params=[{"name": "a", "valueFrom": {"configMapKeyRef": {"name": "x", "key": "y"}}}], taskSpec=task(step("true"), params=[{"name": "a"}]))], "Refused", 'unknown field "spec.params[0].valueFrom"'
    ),
    "beta/git-resolver.yaml": Sample([run("TaskRun", "git", taskRef=remote("git", url="https://git.invalid/catalog", revision="main", pathInRepo="task.yaml"))], "Failed", "cannot read 'task.yaml'"),
    "beta/bundles-resolver.yaml": Sample([run("TaskRun", "bundles", taskRef=remote("bundles", bundle=f"registry.invalid/a@sha256:{64 * '0'}", name="t", kind="task"))], "Failed", "set TEKTON_BUNDLES"),
    "beta/hub-resolver.yaml": Sample([run("TaskRun", "hub", taskRef=remote("hub", name="git-clone"))], "Failed", "resolver"),
}


def one(script="true", name="one", spec=None, **more):
    return {"name": name, "taskSpec": {**steps(script), **(spec or {})}, **more}


def gives(name="one", text="7"):
    return one(f"echo -n {text} > $(results.r.path)", name, RESULT)


def takes(value, wanted, name="two", **more):
    return {"name": name, "params": [{"name": "v", "value": value}], "taskSpec": with_params(steps(f"[[ $(params.v) == {wanted} ]]"), "v"), **more}


PIPELINE_RUNS = {
    "4808-regression.yaml": of_tasks("regression-4808", gives(), takes("$(tasks.one.results.r)", 7), spec={"results": [{"name": "out", "value": "$(tasks.one.results.r)"}]}),
    "6139-regression.yaml": of_tasks("regression-6139", one("[[ $(params.a) == $(params.b) ]]"), params=[{"name": "a", "value": "1"}, {"name": "b", "value": "1"}]),
    "pipeline-object-results.yaml": of_tasks(
        "object-results", one("printf '{\"url\": \"u\"}' > $(results.o.path)", spec={"results": [{"name": "o", "type": "object", "properties": {"url": {}}}]}), takes("$(tasks.one.results.o.url)", "u")
    ),
    "pipeline-with-displayname.yaml": of_tasks("displayname", one(displayName="The first"), spec={"displayName": "All"}),
    "pipelinerun-array-results-substitution.yaml": of_tasks(
        "array-results", one("printf '[\"a\",\"b\"]' > $(results.l.path)", spec={"results": [{"name": "l", "type": "array"}]}), takes("$(tasks.one.results.l[1])", "b")
    ),
    "pipelinerun-results-with-params.yaml": of_tasks("results-params", gives(), spec={"params": [{"name": "p", "default": "x"}], "results": [{"name": "out", "value": "$(tasks.one.results.r)"}]}),
    "pipelinerun-using-different-subpaths-of-workspace.yaml": of_tasks(
        "subpaths", *({"name": f"t{i}", "workspaces": [{"name": "w", "workspace": "s", "subPath": f"d{i}"}], "taskSpec": {**steps("echo a > $(workspaces.w.path)/f; [[ $(ls $(workspaces.w.path) | wc -l) == 1 ]]"), "workspaces": WORKSPACE}} for i in (1, 2)),
        spec={"workspaces": [{"name": "s"}]}, workspaces=[{"name": "s", "volumeClaimTemplate": CLAIM}],
    ),  # fmt: skip
    "pipelinerun-using-parameterized-subpath-of-workspace.yaml": of_tasks(
        "subpath-param", {"name": "one", "workspaces": [{"name": "w", "workspace": "s", "subPath": "$(params.d)"}], "taskSpec": {**steps("echo a > $(workspaces.w.path)/f"), "workspaces": WORKSPACE}},
        spec={"params": [{"name": "d", "default": "x"}], "workspaces": [{"name": "s"}]}, workspaces=[{"name": "s", "volumeClaimTemplate": CLAIM}],
    ),  # fmt: skip
    "pipelinerun-with-extra-params.yaml": of_tasks("extra-params", one(), params=[{"name": "unused", "value": "1"}]),
    "pipelinerun-with-matrix-on-tasks.yaml": of_tasks("matrix-tasks", {"name": "m", "matrix": {"params": [{"name": "os", "value": ["a", "b"]}, {"name": "arch", "value": ["c", "d"]}]}, "taskSpec": with_params(steps("true"), "os", "arch")}),
    "pipelinerun-with-parallel-tasks-using-pvc.yaml": of_tasks(
        "parallel", *({"name": f"t{i}", "workspaces": [{"name": "w", "workspace": "s"}], "taskSpec": {**steps(f"echo a > $(workspaces.w.path)/f{i}"), "workspaces": WORKSPACE}} for i in (1, 2)),
        {"name": "last", "runAfter": ["t1", "t2"], "workspaces": [{"name": "w", "workspace": "s"}], "taskSpec": {**steps("ls $(workspaces.w.path)/f1 $(workspaces.w.path)/f2"), "workspaces": WORKSPACE}},
        spec={"workspaces": [{"name": "s"}]}, workspaces=[{"name": "s", "volumeClaimTemplate": CLAIM}],
    ),  # fmt: skip
    "pipelinerun-with-pipelinespec.yaml": behind(of_tasks("pipelinespec", {"name": "one", "taskRef": {"name": "sample-spec"}}), made("Task", "spec", spec=task(step("true")))),
    "pipelinerun-with-pipelinespec-and-taskspec.yaml": of_tasks("taskspec", one()),
    "pipelinerun-with-taskrunspecs-matrix-param-substitution.yaml": of_tasks(
        "taskrunspecs", {"name": "m", "matrix": {"params": [{"name": "os", "value": ["a", "b"]}]}, "taskSpec": with_params(steps("true"), "os")},
        taskRunSpecs=[{"pipelineTaskName": "m", "metadata": {"labels": {"team": "a"}}}],
    ),  # fmt: skip
    "pipelinerun.yaml": behind(
        Sample([run("PipelineRun", "by-name", pipelineRef={"name": "sample-by-name"}, params=[{"name": "v", "value": "x"}])], "Succeeded"),
        made("Task", "by-name", spec=task(step(CHECKS), params=[{"name": "v"}])),
        made("Pipeline", "by-name", spec={"params": [{"name": "v"}], "tasks": [{"name": "one", "taskRef": {"name": "sample-by-name"}, "params": [{"name": "v", "value": "$(params.v)"}]}]}),
    ),
    "propagating-workspaces-in-pipelines.yaml": of_tasks("workspaces-down", one("echo a > $(workspaces.s.path)/f"), one("grep a $(workspaces.s.path)/f", "two", runAfter=["one"]), workspaces=[{"name": "s", "volumeClaimTemplate": CLAIM}]),
    "propagating_params_in_pipeline.yaml": of_tasks("params-down", one("[[ $(params.v) == x ]]"), spec={"params": [{"name": "v", "default": "x"}]}),
    "propagating_params_with_scope_precedence.yaml": of_tasks(
        "precedence", {"name": "one", "params": [{"name": "v", "value": "inner"}], "taskSpec": with_params(steps("[[ $(params.v) == inner ]]"), "v")}, params=[{"name": "v", "value": "outer"}]
    ),
    "propagating_params_with_scope_precedence_default_only.yaml": of_tasks("precedence-default", one("[[ $(params.v) == outer ]]"), params=[{"name": "v", "value": "outer"}]),
    "propagating_results_implicit_resultref.yaml": of_tasks("implicit-result", gives(), one("[[ $(tasks.one.results.r) == 7 ]]", "two")),
    "propagating_workspaces_with_referenced_resources.yaml": behind(
        Sample([run("PipelineRun", "referenced", pipelineSpec={"tasks": [{"name": "one", "taskRef": {"name": "sample-referenced"}}]}, workspaces=[{"name": "w", "emptyDir": {}}])], "Failed", "workspace"),
        made("Task", "referenced", spec=task(step("true"), workspaces=WORKSPACE)),
    ),
    "using-optional-workspaces-in-when-expressions.yaml": of_tasks(
        "optional-when", one(when=[{"input": "$(workspaces.s.bound)", "operator": "in", "values": ["true"]}]), spec={"workspaces": [{"name": "s", "optional": True}]}
    ),
    "workspace-from-volumeclaimtemplate.yaml": of_tasks(
        "claim-template", {"name": "one", "workspaces": [{"name": "w", "workspace": "s"}], "taskSpec": {**steps("echo a > $(workspaces.w.path)/f"), "workspaces": WORKSPACE}},
        spec={"workspaces": [{"name": "s"}]}, workspaces=[{"name": "s", "volumeClaimTemplate": CLAIM}],
    ),  # fmt: skip
    "workspaces-projected.yaml": behind(
        of_tasks("projected", {"name": "one", "workspaces": [{"name": "w", "workspace": "s"}], "taskSpec": {**steps("grep hello $(workspaces.w.path)/message; grep hidden $(workspaces.w.path)/token"), "workspaces": WORKSPACE}},
                 spec={"workspaces": [{"name": "s"}]}, workspaces=[{"name": "s", "projected": {"sources": [{"configMap": {"name": "sample-projected"}}, {"secret": {"name": "sample-projected"}}]}}]),
        config("projected", message="hello"), secret("projected", token="hidden"),
    ),  # fmt: skip
    "beta/7392-regression.yaml": of_tasks("regression-7392", gives(), {"name": "m", "matrix": {"params": [{"name": "v", "value": ["$(tasks.one.results.r)"]}]}, "taskSpec": with_params(steps("true"), "v")}),
    "beta/ignore-task-error.yaml": of_tasks("ignore-task", one("exit 1", onError="continue"), one(name="two", runAfter=["one"])),
    "beta/pipeline-emitting-results.yaml": of_tasks("emitting", gives(), spec={"results": [{"name": "out", "value": "$(tasks.one.results.r)"}]}),
    "beta/pipeline-with-when-expressions-using-array-results.yaml": of_tasks(
        "when-array", one("printf '[\"a\",\"b\"]' > $(results.l.path)", spec={"results": [{"name": "l", "type": "array"}]}), one(name="two", when=[{"input": "a", "operator": "in", "values": ["$(tasks.one.results.l[*])"]}])
    ),
    "beta/pipelinerun-with-matrix-and-results.yaml": of_tasks("matrix-results", gives(), {"name": "m", "params": [{"name": "v", "value": "$(tasks.one.results.r)"}], "matrix": {"params": [{"name": "os", "value": ["a", "b"]}]}, "taskSpec": with_params(steps("[[ $(params.v) == 7 ]]"), "os", "v")}),
    "beta/pipelinerun-with-matrix-array-references.yaml": of_tasks(
        "matrix-array", {"name": "m", "matrix": {"params": [{"name": "os", "value": "$(params.all[*])"}]}, "taskSpec": with_params(steps("true"), "os")},
        spec={"params": [{"name": "all", "type": "array"}]}, params=[{"name": "all", "value": ["a", "b"]}],
    ),  # fmt: skip
    "beta/pipelinerun-with-matrix-context-variables.yaml": of_tasks("matrix-context", {"name": "m", "matrix": {"params": [{"name": "n", "value": ["$(context.pipelineRun.name)", "b"]}]}, "taskSpec": with_params(steps("true"), "n")}),
    "beta/pipelinerun-with-matrix-emitting-results.yaml": of_tasks(
        "matrix-emits", {"name": "m", "matrix": {"params": [{"name": "v", "value": ["a", "b"]}]}, "taskSpec": {**with_params(steps("echo -n $(params.v) > $(results.r.path)"), "v"), **RESULT}},
        {"name": "all", "params": [{"name": "l", "value": ["$(tasks.m.results.r[*])"]}], "taskSpec": {**steps("[[ $(params.l[0]) == a ]]"), "params": [{"name": "l", "type": "array"}]}},
    ),  # fmt: skip
    "beta/pipelinerun-with-matrix-when-include.yaml": of_tasks(
        "matrix-when", {"name": "m", "when": [{"input": "a", "operator": "in", "values": ["a"]}], "matrix": {"include": [{"name": "x", "params": [{"name": "v", "value": "1"}]}]}, "taskSpec": with_params(steps("true"), "v")}
    ),
    "beta/propagated-pipeline-object-param.yaml": of_tasks("object-down", one("[[ $(params.o.url) == u ]]"), params=[{"name": "o", "value": {"url": "u"}}]),
    "alpha/pipelinerun-with-cel-when-expressions.yaml": Sample(
        [run("PipelineRun", "cel", pipelineSpec={"tasks": [one(when=[{"cel": "'a' == 'a'"}])]})], "Refused", "enable-cel-in-whenexpression"
    ),
    "alpha/param-enum.yaml": Sample([run("PipelineRun", "enum", pipelineSpec={"params": [{"name": "v", "enum": ["a", "b"], "default": "a"}], "tasks": [one()]})], "Refused", "enable-param-enum"),
    "alpha/pipelines-in-pipelines.yaml": Sample([run("PipelineRun", "nested", pipelineSpec={"tasks": [{"name": "p", "pipelineSpec": {"tasks": [one()]}}]})], "Refused", 'feature gate to be "alpha"'),
    "alpha/consume-artifacts-from-task.yaml": Sample([run("PipelineRun", "consume", pipelineSpec={"tasks": [one("echo $(step.artifacts.path)")]})], "Refused", "enable-artifacts"),
    "beta/git-resolver.yaml": Sample([run("PipelineRun", "git", pipelineRef=remote("git", url="https://git.invalid/catalog", revision="main", pathInRepo="p.yaml"))], "Failed", "cannot read 'p.yaml'"),
    "beta/http-resolver.yaml": Sample([run("PipelineRun", "http", pipelineRef=remote("http", url="https://127.0.0.1:9/p.yaml"))], "Failed", "cannot fetch"),
    "no-ci/limitrange.yaml": of_tasks("limitrange", one()),
    "no-ci/pipelinerun-taskrunspecs.yaml": of_tasks("runspecs", one(), taskRunSpecs=[{"pipelineTaskName": "one", "podTemplate": {"securityContext": {"runAsUser": 1001}}}]),
    "no-ci/cluster-resolver.yaml": behind(
        Sample([run("PipelineRun", "resolved-pipeline", pipelineRef=remote("cluster", kind="pipeline", name="sample-resolved", namespace="default"))], "Succeeded"),
        made("Pipeline", "resolved", spec={"tasks": [one()]}),
    ),
}

OF_KUEUE = {
    "pod-based-workloads/tekton-pipeline-run.yaml": Sample(
        [made("Task", "kueue-sleep", spec=task(step("true"))), made("Pipeline", "kueue-test", spec={"params": [{"name": "username"}], "tasks": [{"name": "one", "taskRef": {"name": "sample-kueue-sleep"}}]}),
         {**(made_run := run("PipelineRun", "kueue-test", pipelineRef={"name": "sample-kueue-test"}, params=[{"name": "username", "value": "Tekton"}])),
          "metadata": {**made_run["metadata"], "labels": {QUEUE: "user-queue"}}}], "Succeeded"
    ),  # fmt: skip
}

TEKTON_MORE = {f"{folder}{name}": sample for folder, all_ in (("taskruns/", TASK_RUNS), ("pipelineruns/", PIPELINE_RUNS), ("kueue: ", OF_KUEUE)) for name, sample in all_.items()}
