# SPDX-License-Identifier: Apache-2.0
"""Pruning: runs that ended go by a namespace's annotations, with what they own; those that go on stay."""

from support import wait_for

TEKTON = "/apis/tekton.dev/v1/namespaces"
MERGE = {"Content-Type": "application/merge-patch+json"}


def put_run(lab, ns, name, script):
    task = {"name": "only", "taskSpec": {"steps": [{"name": "s", "image": "bash", "script": script}]}}
    body = {"apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "metadata": {"name": name}, "spec": {"pipelineSpec": {"tasks": [task]}}}
    answer = lab.http("POST", f"{TEKTON}/{ns}/pipelineruns", body)
    assert answer.code == 201, answer.text


def names(lab, ns, plural):
    group = "/api/v1/namespaces" if plural == "pods" else TEKTON
    return sorted(one["metadata"]["name"] for one in lab.http("GET", f"{group}/{ns}/{plural}").json["items"])


def annotate(lab, ns, **fields):
    notes = {f"operator.tekton.dev/prune.{key.replace('_', '-')}": value for key, value in fields.items()}
    answer = lab.http("PATCH", f"/api/v1/namespaces/{ns}", {"metadata": {"annotations": notes}}, headers=MERGE)
    assert answer.code == 200, answer.text


def test_ended_runs_go_with_what_they_own(lab, ns):
    for number in range(3):
        put_run(lab, ns, f"done-{number}", "exit 0")
        wait_for("its end", lambda number=number: lab.http("GET", f"{TEKTON}/{ns}/pipelineruns/done-{number}").json["status"]["completionTime"])
    put_run(lab, ns, "busy", "exec sleep 1000")
    wait_for("a busy run", lambda: "busy-only-pod" in names(lab, ns, "pods"))
    annotate(lab, ns, schedule="@every 1s", keep="1")
    wait_for("two runs", lambda: len(names(lab, ns, "pipelineruns")) == 2)
    left = names(lab, ns, "pipelineruns")
    assert "busy" in left
    wait_for("their TaskRuns", lambda: names(lab, ns, "taskruns") == sorted(f"{one}-only" for one in left))
    wait_for("their pods", lambda: names(lab, ns, "pods") == sorted(f"{one}-only-pod" for one in left))


def test_wrong_annotations_are_named(lab, ns):
    annotate(lab, ns, keep="few")

    def notes():
        events = lab.http("GET", "/api/v1/events").json["items"]
        return [one["message"] for one in events if one["reason"] == "PruneAnnotationIgnored" and one["involvedObject"]["name"] == ns]

    assert wait_for("an event", notes)[0] == 'operator.tekton.dev/prune.keep must be a whole number above 0: "few"'


def test_the_general_rules_are_checked(lab):
    path = "/api/v1/namespaces/tekton-pipelines/configmaps/config-pruner"
    for data, text in (
        ({"schedule": "soon"}, "schedule is no schedule"),
        ({"keep": "3", "keep-since": "60"}, "expected exactly one, got both: keep, keep-since"),
        ({"resources": "pods"}, "resources must be taskrun, pipelinerun or both"),
    ):
        answer = lab.http("PATCH", f"{path}?dryRun=All", {"data": data}, headers=MERGE)
        assert answer.code == 400 and text in answer.text, answer.text
