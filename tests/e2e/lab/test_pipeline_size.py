# SPDX-License-Identifier: Apache-2.0
"""A pipeline of 1,000 tasks: each runs once, in its order."""

from support import DEADLINE, wait_for

RUNS = "/apis/tekton.dev/v1/namespaces/default/pipelineruns"
COUNT = 1000
STAGE = 250  # tasks side by side


def pipeline():
    tasks = []
    for i in range(COUNT):
        after = {"runAfter": [f"t-{i - STAGE}"]} if i >= STAGE else {}
        tasks.append({"name": f"t-{i}", "taskSpec": {"steps": [{"name": "s", "image": "bash", "script": "true"}]}, **after})
    return {"tasks": tasks}


def test_a_thousand_tasks_run_once_each(make_lab):
    lab = make_lab("--storage", "memory", "--pods", "timed", "--console", "off").start()
    made = lab.http("POST", RUNS, {"apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "metadata": {"name": "large"}, "spec": {"pipelineSpec": pipeline()}})
    assert made.code == 201, made.text
    run = wait_for("its end", lambda: (one := lab.get(f"{RUNS}/large")).get("status", {}).get("completionTime") and one, deadline=4 * DEADLINE, interval=1)
    (condition,) = run["status"]["conditions"]
    assert condition["status"] == "True" and f"Tasks Completed: {COUNT} (Failed: 0" in condition["message"], condition
    tasks = {one["metadata"]["labels"]["tekton.dev/pipelineTask"]: one["status"] for one in lab.get("/apis/tekton.dev/v1/namespaces/default/taskruns")["items"]}
    assert len(tasks) == COUNT
    early = [name for i in range(STAGE, COUNT) if tasks[name := f"t-{i}"]["startTime"] < tasks[f"t-{i - STAGE}"]["completionTime"]]
    assert early == []
    assert len(lab.get("/api/v1/namespaces/default/pods")["items"]) == COUNT
