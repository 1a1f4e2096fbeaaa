# SPDX-License-Identifier: Apache-2.0
"""Concurrent PipelineRuns of timed tasks, each task after the one before it: TaskRun transitions per second when everything is due at
once, and the time from a pod's end to the next TaskRun when the ends are spread.

Started by scripts/bench-pipelines. Prints one line a figure, beside its target; exits with 1 where a target is missed.
"""

import argparse
import http.client
import json
import multiprocessing
import pathlib
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from support import Lab  # noqa: E402

GROUP = "/apis/tekton.dev/v1/namespaces/default"
CLIENTS = 8
LIMIT = 1800  # seconds of one part


def watch(lab, path, ready, over, results):
    """In a process of its own: the arrival of each event of a watch. Events are read at once and parsed afterwards."""
    connection = lab.connection(timeout=LIMIT)
    connection.request("GET", f"{path}?watch=true&resourceVersion=0")
    answer = connection.getresponse()
    ready.set()
    seen, buffer = [], b""
    while True:
        chunk = answer.read1(1 << 16)
        if not chunk:
            break
        now = time.monotonic()
        *lines, buffer = (buffer + chunk).split(b"\n")
        seen += [(now, line) for line in lines if line]
        if over.is_set():
            break
    rows = []
    for when, line in seen:
        one = json.loads(line)["object"]
        status = one.get("status", {})
        condition = next(iter(c for c in status.get("conditions", []) if c["type"] == "Succeeded"), {})
        rows.append((when, one["metadata"]["name"], status.get("phase", ""), condition.get("status", ""), condition.get("reason", "")))
    results.put(rows)


class Load:
    """Creates runs with several clients on kept connections."""

    def __init__(self, lab):
        self.lab = lab

    def send(self, paths_and_bodies, pace=0.0):
        began = time.monotonic()
        work = list(enumerate(paths_and_bodies))
        lock = threading.Lock()
        problems = []

        def client():
            connection = self.lab.connection(timeout=60)
            while True:
                with lock:
                    if not work or problems:
                        return
                    number, (path, body) = work.pop(0)
                wait = began + number * pace - time.monotonic()
                if wait > 0:
                    time.sleep(wait)
                headers = {"Content-Type": "application/json"}
                connection.request("POST", path, body=json.dumps(body), headers=headers)
                answer = connection.getresponse()
                text = answer.read()
                if answer.status != 201:
                    problems.append(text)

        threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if problems:
            raise RuntimeError(problems[0].decode())


def pipeline(name, tasks, seconds):
    def task(number):
        step = {"name": "s", "image": "busybox", "command": ["sleep", f"{seconds:g}"]}
        one = {"name": f"t{number}", "taskSpec": {"steps": [step]}}
        return {**one, "runAfter": [f"t{number - 1}"]} if number else one

    # Timed pods take the time of steps from here, not from their commands.
    times = json.dumps({f"t{number}/s": {"seconds": seconds} for number in range(tasks)})
    metadata = {"name": name, "annotations": {"athanor.dev/simulate": times}}
    return {"apiVersion": "tekton.dev/v1", "kind": "Pipeline", "metadata": metadata, "spec": {"tasks": [task(number) for number in range(tasks)]}}


def runs_ended(lab):
    """By the lab's own count: a run that has not been seen yet is not over."""
    lines = lab.http("GET", "/metrics").text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("tekton_pipelines_controller_pipelinerun_total"))


def run_all(lab, name, runs, tasks, seconds, pace):
    """Runs of one pipeline until all are over; the events of TaskRuns and pods, and the seconds that it took."""
    load = Load(lab)
    load.send([(f"{GROUP}/pipelines", pipeline(name, tasks, seconds))])
    over, results, watchers = multiprocessing.Event(), [], []
    for path in (f"{GROUP}/taskruns", "/api/v1/namespaces/default/pods"):
        ready, queue = multiprocessing.Event(), multiprocessing.Queue()
        watcher = multiprocessing.Process(target=watch, args=(lab, path, ready, over, queue))
        watcher.start()
        ready.wait(60)
        watchers.append(watcher)
        results.append(queue)
    began, before = time.monotonic(), runs_ended(lab)
    body = {"apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "spec": {"pipelineRef": {"name": name}}}
    load.send([(f"{GROUP}/pipelineruns", {**body, "metadata": {"name": f"{name}-{number}"}}) for number in range(runs)], pace)
    while (ended := runs_ended(lab) - before) < runs:
        if time.monotonic() > began + LIMIT:
            raise RuntimeError(f"{runs - ended:g} runs go on after {LIMIT} s")
        time.sleep(0.5)
    over.set()
    # One more event of both kinds, which the watches end with.
    last = {"steps": [{"name": "s", "image": "busybox", "command": ["sleep", "0"]}]}
    load.send([(f"{GROUP}/taskruns", {**body, "kind": "TaskRun", "metadata": {"name": f"end-{name}"}, "spec": {"taskSpec": last}})])
    rows = [queue.get(timeout=600) for queue in results]
    for watcher in watchers:
        watcher.join()
    mine = [[row for row in part if row[1].startswith(f"{name}-")] for part in rows]
    ended = len({row[1] for row in mine[0] if row[3] == "True"})
    if ended != runs * tasks:
        raise RuntimeError(f"{ended} of {runs * tasks} TaskRuns have succeeded")
    return mine


def transitions(task_runs):
    """The number of TaskRuns made and of changes of their condition, and the seconds from the first to the last."""
    last, count = {}, 0
    for _, name, _, status, reason in task_runs:
        if last.get(name) != (status, reason):
            last[name] = (status, reason)
            count += 1
    return count, task_runs[-1][0] - task_runs[0][0]


def gaps(task_runs, pods, tasks):
    """Seconds from the event of a pod's end to that of the next task's TaskRun."""
    made, ended = {}, {}
    for when, name, *_ in task_runs:
        made.setdefault(name, when)
    for when, name, phase, *_ in pods:
        if phase == "Succeeded":
            ended.setdefault(name.removesuffix("-pod"), when)
    found = []
    for name, when in ended.items():
        run, _, task = name.rpartition("-t")
        if int(task) + 1 < tasks:
            found.append(made[f"{run}-t{int(task) + 1}"] - when)
    return sorted(found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--tasks", type=int, default=10)
    options = parser.parse_args()
    missed = False

    def figure(name, value, unit, goal, met):
        nonlocal missed
        missed = missed or not met
        print(f"{name:<58} {value:>10.1f} {unit:<4}  target {goal:<14} {'ok' if met else 'MISSED'}", flush=True)

    with tempfile.TemporaryDirectory(prefix="athanor-bench.") as work:
        file = pathlib.Path(work) / "lab.yaml"
        file.write_text("apiVersion: athanor.dev/v1\nkind: Lab\nnodes: [{name: hub, count: 4, capacity: {cpu: 400000, memory: 16Ti, pods: 100000}}]\n", encoding="utf-8")
        lab = Lab(pathlib.Path(work) / "lab", ["--pods", "timed", "--storage", "memory", "--lab", str(file)])
        try:
            lab.start()
            what = f"{options.runs} runs of {options.tasks} tasks"
            task_runs, _ = run_all(lab, "dense", options.runs, options.tasks, 0, 0)
            count, seconds = transitions(task_runs)
            figure(f"TaskRun transitions, {what} at once", count / seconds, "/s", ">= 1000 /s", count / seconds >= 1000)
            # 50 pods end in a second, one after the other.
            length = max(1.0, options.runs / 50)
            task_runs, pods = run_all(lab, "spread", options.runs, options.tasks, length, length / options.runs)
            found = gaps(task_runs, pods, options.tasks)
            for share, goal in ((50, 0), (99, 5)):
                value = 1000 * found[min(len(found) - 1, len(found) * share // 100)]
                figure(f"next task after a pod's end, p{share}, {what}, {options.runs / length:g} ends/s", value, "ms", f"<= {goal} ms" if goal else "-", not goal or value <= goal)
        except (RuntimeError, http.client.HTTPException, OSError) as error:
            print(f"bench-pipelines: {error}", file=sys.stderr)
            return 1
        finally:
            lab.close()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
