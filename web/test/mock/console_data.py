# SPDX-License-Identifier: Apache-2.0
"""Data of the mock console: a small fleet at work, the same in each run, with names and logs that attack the page."""

import datetime
import random

NS = "fournos-jobs"
HOSTILE = "<img src=x onerror=alert(1)>"


def now():
    return datetime.datetime.now(datetime.UTC)


def ago(seconds):
    return (now() - datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def hence(seconds):
    return ago(-seconds)


PHASES = ["Running", "Pending", "Admitted", "Resolving", "Succeeded", "Failed", "Stopped", "Stopping"]
PROJECTS = ["llmd", "cks", "mcp_gateway", "notebooks"]
OWNERS = ["alice", "bob", "carol", "perf-team"]
CLUSTERS = ["cluster-1", "cluster-2", "cluster-3"]
GPUS = {"cluster-1": "a100", "cluster-2": "h200", "cluster-3": "a100"}
MESSAGES = {
    "Pending": "waits for a100: cluster-1 lacks 2",
    "Failed": "Tasks Completed: 3 (Failed: 1, Cancelled 0), Skipped: 2",
    "Succeeded": "Pipeline completed successfully",
    "Stopped": "stopped by alice",
    "Resolving": "resolving secrets",
}


def job(number, phase=None, archived=False, **changes):
    rng = random.Random(number)
    phase = phase or rng.choice(PHASES[4:7])
    cluster = CLUSTERS[number % 3]
    created = 400 + number * 97 if archived else 60 + number * 41
    count = rng.choice([1, 2, 4, 8])
    project = PROJECTS[number % 4]
    row = {
        "ns": NS,
        "name": f"forge-{project.replace('_', '-')}-{number:05d}",
        "uid": f"uid-{number}",
        "resourceVersion": str(1000 + number),
        "archived": archived,
        "phase": phase,
        "displayName": f"{project} {['default', 'nightly'][number % 2]}",
        "project": project,
        "preset": ["default", "nightly"][number % 2],
        "owner": OWNERS[number % 4],
        "requestedCluster": cluster if number % 2 else "",
        "cluster": "" if phase in ("Pending", "Resolving") else cluster,
        "hardware": {"gpuType": GPUS[cluster], "gpuCount": count, "text": f"{count}× {GPUS[cluster]}"},
        "exclusive": number % 5 == 0,
        "priority": "nightly" if number % 2 else "",
        "pipeline": "forge-full" if number % 3 else "forge-test-only",
        "message": MESSAGES.get(phase, ""),
        "created": ago(created),
        "waitSeconds": float(rng.randrange(2, 900)),
        "trigger": ["manual", "scheduled", "direct"][number % 3],
        "labels": {"team": "x" if number % 2 else "y"},
        "links": {},
    }
    if number % 3 == 1:
        row["schedule"] = "nightly-llmd"
    if phase in ("Running", "Stopping"):
        row.update(step="run-benchmark", stepSince=ago(30), progress={"done": 2, "total": 5})
    if phase not in ("Pending", "Resolving"):
        row["started"] = ago(created - 20)
    if phase in ("Succeeded", "Failed", "Stopped"):
        run = rng.randrange(60, 340)
        row.update(completed=ago(created - 20 - run), runSeconds=float(run))
        row["links"] = {"mlflow": "https://mlflow.example.com/run/1"}
    if number % 4 == 0:
        row["links"]["pullRequest"] = "https://github.com/openshift-psap/forge/pull/7"
        row["pullRequest"] = "#7"
    row.update(changes)
    return row


def jobs(archived=60):
    live = [job(i, PHASES[[0, 0, 0, 1, 1, 2, 3, 4, 5, 0, 1, 7][i % 12]]) for i in range(24)]
    live.append(
        job(
            900,
            "Failed",
            name="hostile",
            displayName=HOSTILE,
            owner=HOSTILE,
            message=f"{HOSTILE} \u202egnp.exe",
            links={"mlflow": "javascript:alert(1)"},
        )
    )
    for place, one in enumerate([one for one in live if one["phase"] == "Pending"]):
        one["queuePosition"] = place + 1
    return live + [job(1000 + i, archived=True) for i in range(archived)]


def bars(row):
    """What a timeline shows of a job: its wait, then what it does since."""
    one = {"job": row["name"], "ns": row["ns"], "owner": row["owner"]}
    if not row.get("started"):
        return [{**one, "phase": row["phase"], "from": row["created"]}]
    end = {"to": row["completed"]} if row.get("completed") else {}
    return [{**one, "phase": "Pending", "from": row["created"], "to": row["started"]}, {**one, "phase": row["phase"], "from": row["started"], **end}]


def clusters():
    rows = []
    for i, name in enumerate([*CLUSTERS, "cluster-4"]):
        kind = GPUS.get(name, "h200")
        rows.append(
            {
                "name": name,
                "ns": NS,
                "uid": f"cluster-{i}",
                "resourceVersion": "5",
                "state": "DiscoveryFailed" if i == 3 else "Valid",
                "managed": True,
                "gpus": [{"type": kind, "total": 8, "used": [5, 8, 2, 0][i]}],
                "slots": {"total": 100, "used": [3, 4, 1, 0][i]},
                "details": f"{kind} {[5, 8, 2, 0][i]}/8",
                "runningJobs": [3, 4, 1, 0][i],
                "nextJob": "forge-notebooks-00003" if i == 0 else "",
                "nextJobNs": NS if i == 0 else "",
                "lastProbe": ago([4, 11, 7, 900][i]),
                "failures": 9 if i == 3 else 0,
                "serverVersion": "v1.33.2",
                "nodes": 4,
                "owner": "",
                "cordoned": False,
                "troubles": ["the API server does not answer: connection refused"] if i == 3 else [],
                "created": ago(864000),
            }
        )
    rows[1]["lock"] = {
        "ns": NS,
        "cluster": "cluster-2",
        "state": "Held",
        "holder": "bob",
        "since": ago(5400),
        "expires": hence(1800),
        "job": "lock-cluster-2",
        "waitsFor": [],
        "blocks": [f"{NS}/forge-cks-00001"],
    }
    return rows


def pods(name):
    return [
        {
            "ns": NS,
            "name": f"{name}-forge-test-pod",
            "uid": "pod-1",
            "phase": "Running",
            "node": "node-1",
            "created": ago(200),
            "task": "forge-test",
            "resources": {"nvidia.com/gpu": "2"},
            "mig": ["1g.5gb"],
            "zone": "node-0",
            "containers": [
                {
                    "name": "prepare",
                    "init": True,
                    "state": "terminated",
                    "reason": "Completed",
                    "exitCode": 0,
                    "restarts": 0,
                    "started": ago(199),
                    "finished": ago(190),
                    "logs": True,
                },
                {"name": "step-run", "init": False, "state": "running", "restarts": 1, "started": ago(188), "ready": True, "logs": True},
            ],
        }
    ]


def pipeline(failed):
    def task(name, state, begin, length, after=(), **more):
        one = {
            "name": name,
            "taskRun": f"tr-{name}",
            "state": state,
            "after": list(after),
            "finally": False,
            "retries": 0,
            "pod": f"pod-{name}",
            "steps": [],
        }
        if begin is not None:
            one["started"] = ago(begin)
            if length:
                one["completed"] = ago(begin - length)
            steps = [("prepare", 0.2), ("run", 0.8)]
            at = begin
            for step, part in steps:
                span = (length or begin) * part
                bad = state == "Failed" and step == "run"
                good = state == "Failed" and step == "prepare"
                one["steps"].append(
                    {
                        "name": step,
                        "container": f"step-{step}",
                        "state": "Succeeded" if good else state,
                        "exitCode": 1 if bad else 0,
                        "started": ago(at),
                        **({"completed": ago(at - span)} if length else {}),
                    }
                )
                at -= span
        one.update(more)
        return one

    middle = (
        task(
            "forge-test",
            "Failed",
            150,
            90,
            ["forge-prepare"],
            reason="Failed",
            message='"step-run" exited with code 1',
            tail=[
                "\x1b[32mINFO\x1b[0m: starting",
                "Traceback (most recent call last):",
                f"ERROR: {HOSTILE}",
                "\x1b[31mRuntimeError: out of memory\x1b[0m",
            ],
        )
        if failed
        else task("forge-test", "Running", 150, 0, ["forge-prepare"])
    )
    return {
        "run": "pr-1",
        "state": "Failed" if failed else "Running",
        "started": ago(260),
        "parameters": [{"name": "kubeconfig-secret", "value": "cluster-1-kubeconfig"}, {"name": "args", "value": ["cks", "fast"]}],
        "results": [{"name": "tokens-per-second", "value": "1234.5"}],
        "tasks": [
            task("fetch", "Succeeded", 258, 20),
            task("forge-prepare", "Succeeded", 236, 80, ["fetch"]),
            task("warm-cache", "Succeeded", 236, 45, ["fetch"]),
            middle,
            task("report", "Skipped" if failed else "Pending", None, 0, ["forge-test", "warm-cache"], reason="parent task failed" if failed else ""),
            task("cleanup", "Succeeded" if failed else "Pending", 58 if failed else None, 20, **{"finally": True}),
        ],
    }


def explanation(name):
    return {
        "workload": f"{NS}/{name}",
        "owner": f"FournosJob/{name}",
        "localQueue": "fournos",
        "clusterQueue": "fournos",
        "state": "waits",
        "position": 2,
        "causes": [
            {
                "kind": "QuotaInUse",
                "object": "ResourceFlavor/cluster-1",
                "text": "insufficient unused quota for fournos/gpu-a100 in flavor cluster-1, 2 more needed",
                "unblockedBy": "a workload that holds fournos/gpu-a100 ends",
            }
        ],
        "ahead": [
            {"workload": f"{NS}/forge-llmd-00004", "position": 0, "priority": 100},
            {"workload": f"{NS}/forge-cks-00001", "position": 1, "priority": 0},
        ],
        "quotas": [
            {
                "flavor": "cluster-1",
                "resource": "fournos/gpu-a100",
                "nominal": "8",
                "used": "6",
                "available": "2",
                "borrowable": "0",
                "capacity": "8",
                "wanted": "4",
                "holders": [
                    {
                        "workload": f"{NS}/forge-llmd-00000",
                        "clusterQueue": "fournos",
                        "priority": 100,
                        "holds": "4",
                        "owner": "FournosJob/forge-llmd-00000",
                        "person": "alice",
                        "since": ago(3700),
                        "notPreempted": "its priority is higher",
                    },
                    {"workload": f"{NS}/forge-cks-00009", "clusterQueue": "fournos", "priority": 0, "holds": "2", "owner": "FournosJob/forge-cks-00009", "person": "bob", "since": ago(400)},
                ],
            },
        ],
        "preempts": [],
        "estimate": {"runs": 12, "earliest": hence(420), "latest": hence(1500)},
        "lock": {"cluster": "cluster-2", "holder": "bob", "expires": hence(1800), "state": "Held"},
        "text": "waits for a100",
    }


def workloads():
    rows = []
    for i, one in enumerate(jobs(0)[:24]):
        state = {"Pending": "waits", "Running": "runs", "Admitted": "has quota"}.get(one["phase"])
        if state:
            waits = state == "waits"
            rows.append(
                {
                    "ns": NS,
                    "name": one["name"],
                    "uid": f"wl-{i}",
                    "resourceVersion": "9",
                    "state": state,
                    "queue": "fournos",
                    "clusterQueue": "fournos",
                    "position": sum(r["state"] == "waits" for r in rows) + 1 if waits else 0,
                    "priority": 100 if i % 2 else 0,
                    "owner": f"FournosJob/{one['name']}",
                    "job": one["name"],
                    "requests": f"fournos/cluster-slot=1,fournos/gpu-a100={one['hardware']['gpuCount']}",
                    "reason": "waits for a100: cluster-1 lacks 2" if waits else "",
                    "says": "couldn't assign flavors" if waits else "cluster-1",
                    "created": one["created"],
                }
            )
    ended = next(one for one in jobs(0) if one["phase"] == "Succeeded" and not one["archived"])
    rows.append(
        {
            "ns": NS,
            "name": ended["name"],
            "uid": "wl-ended",
            "resourceVersion": "9",
            "state": "finished",
            "queue": "fournos",
            "clusterQueue": "fournos",
            "priority": 0,
            "owner": f"FournosJob/{ended['name']}",
            "job": ended["name"],
            "requests": "fournos/cluster-slot=1",
            "reason": "all pods have succeeded",
            "says": "all pods have succeeded",
            "created": ended["created"],
        }
    )
    return rows


def queue():
    quotas = []
    for name in CLUSTERS:
        used = {"cluster-1": 5, "cluster-2": 8, "cluster-3": 2}[name]
        quotas.append(
            {
                "flavor": name,
                "resource": f"fournos/gpu-{GPUS[name]}",
                "shortResource": GPUS[name],
                "nominal": "8",
                "used": str(used),
                "reserved": str(min(8, used + 1)),
                "borrowed": "0",
                "lent": "0",
                "nominalNumber": 8.0,
                "usedNumber": float(used),
                "reservedNumber": float(min(8, used + 1)),
            }
        )
        quotas.append(
            {
                "flavor": name,
                "resource": "fournos/cluster-slot",
                "shortResource": "slots",
                "nominal": "100",
                "used": "3",
                "reserved": "3",
                "borrowed": "0",
                "lent": "0",
                "nominalNumber": 100.0,
                "usedNumber": 3.0,
                "reservedNumber": 3.0,
            }
        )
    team = [
        {
            "flavor": "default",
            "resource": "cpu",
            "shortResource": "cpu",
            "nominal": "16",
            "used": "20",
            "reserved": "20",
            "borrowed": "4",
            "lent": "0",
            "nominalNumber": 16.0,
            "usedNumber": 20.0,
            "reservedNumber": 20.0,
        }
    ]
    cells = [
        {"row": name, "column": GPUS[name], "used": {"cluster-1": 5, "cluster-2": 8, "cluster-3": 2}[name], "total": 8, "locked": name == "cluster-2"}
        for name in CLUSTERS
    ] + [{"row": name, "column": "slots", "used": 3, "total": 100, "locked": False} for name in CLUSTERS]
    return {
        "clusterQueues": [
            {"name": "fournos", "cohort": "", "active": True, "strategy": "BestEffortFIFO", "waiting": 6, "admitted": 9, "quotas": quotas},
            {
                "name": "team",
                "cohort": "research",
                "active": False,
                "inactiveReason": "FlavorNotFound: can't admit new workloads: references missing ResourceFlavor spot",
                "strategy": "StrictFIFO",
                "waiting": 1,
                "admitted": 2,
                "quotas": team,
            },
        ],
        "localQueues": [
            {"ns": NS, "name": "fournos", "clusterQueue": "fournos", "waiting": 6, "admitted": 9, "active": True},
            {"ns": "team", "name": "lq", "clusterQueue": "team", "waiting": 1, "admitted": 2, "active": False},
        ],
        "tree": [],
        "matrix": {"rows": CLUSTERS, "columns": ["a100", "h200", "slots"], "cells": cells},
    }


def mig():
    def gpu(index, holders, **more):
        taken = {slot for one in holders for slot in range(one["start"], one["start"] + one["size"])}
        free = [slot for slot in range(8) if slot not in taken]
        places = {"1g.5gb": [{"start": s, "size": 1} for s in range(7)], "3g.20gb": [{"start": s, "size": 4} for s in (0, 4)]}
        room = {name: sum(set(range(p["start"], p["start"] + p["size"])) <= set(free) for p in all_places) for name, all_places in places.items()}
        return {
            "node": "node-1",
            "index": index,
            "name": "NVIDIA A100-SXM4-40GB",
            "uuid": f"GPU-{index:04d}",
            "memory": "40Gi",
            "largestFree": max((name for name in room if room[name]), key=lambda name: places[name][0]["size"], default=""),
            "health": "Healthy",
            "mode": "mig",
            "resource": "",
            "total": 8,
            "free": len(free),
            "foreign": [],
            "holders": holders,
            "room": room,
            "placements": places,
            "fragmentation": {"3g.20gb": 0.25 * (index % 2)},
            **more,
        }

    def holder(profile, start, size, pod, state="inUse"):
        return {
            "claim": f"claim-{pod}",
            "profile": profile,
            "namespace": "team",
            "pod": pod,
            "container": "main",
            "state": state,
            "created": ago(4000),
            "start": start,
            "size": size,
        }

    return {
        "nodes": [
            {
                "node": "node-1",
                "gpus": [
                    gpu(0, [holder("1g.5gb", 0, 1, "small"), holder("3g.20gb", 4, 4, "large")]),
                    gpu(1, [holder("2g.10gb", 2, 2, "mid", "created")]),
                    gpu(2, []),
                ],
            },
            {
                "node": "node-2",
                "gpus": [gpu(3, [holder("7g.40gb", 0, 8, "whole")]), gpu(4, [], health="Unhealthy", free=0, foreign=[{"start": 0, "size": 2}])],
            },
        ],
        "lost": [],
        "problems": [{"object": "AllocationClaim/claim-x", "text": "overlaps claim-y at slots 2-3 of GPU-0001"}],
        "totals": [
            {"profile": "1g.5gb", "free": 14},
            {"profile": "2g.10gb", "free": 6},
            {"profile": "3g.20gb", "free": 4},
            {"profile": "7g.40gb", "free": 1},
        ],
        "slots": {"used": 15, "total": 40},
        "waiting": [{"ns": "team", "name": "hungry", "profiles": ["7g.40gb", "7g.40gb"], "fits": False, "reason": "no node has two free GPUs"}],
        "claims": 4,
    }


def numa():
    gib = 1024**3

    def zone(i, used, gpu):
        return {
            "name": f"node-{i}",
            "id": i,
            "resources": [
                {"name": "cpu", "unit": "cores", "capacity": 32, "allocatable": 30.5, "available": 30.5 - used, "used": used, "reserved": 1.5},
                {
                    "name": "memory",
                    "unit": "bytes",
                    "capacity": 128 * gib,
                    "allocatable": 124 * gib,
                    "available": (124 - 4 * used) * gib,
                    "used": 4 * used * gib,
                    "reserved": 4 * gib,
                },
                {"name": "nvidia.com/gpu", "unit": "count", "capacity": 4, "allocatable": 4, "available": 4 - gpu, "used": gpu, "reserved": 0},
            ],
            "distances": [{"zone": f"node-{j}", "value": 10 if i == j else 21} for j in range(2)],
        }

    nodes = [
        {
            "node": f"node-{n}",
            "policy": ["single-numa-node", "restricted", "best-effort"][n % 3],
            "scope": ["container", "pod"][n % 2],
            "updated": ago(5),
            "updated": ago(5 if n != 3 else 400),
            "stale": n == 3,
            "fingerprint": "pfp0v001fe53c4dbd2c5f4a0",
            "zones": [zone(0, 29 if n == 1 else 8 + n, n % 5), zone(1, 4 * n % 24, 1)],
            "pods": [{"ns": "team", "name": f"pinned-{n}", "requests": "cpu=8,memory=32Gi", "zone": "node-0" if n % 2 else "unknown"}],
        }
        for n in range(1, 5)
    ]
    return {
        "nodes": nodes,
        "problems": [{"object": "Node/node-7", "text": "has no NodeResourceTopology"}, {"object": "node-1/node-0", "text": "cpu is used to 95 %"}],
    }


def appwrappers():
    phases = ["Running", "Suspended", "Resetting", "Succeeded", "Failed"]
    return [
        {
            "ns": "team",
            "name": f"train-{i}",
            "uid": f"aw-{i}",
            "resourceVersion": "3",
            "phase": phase,
            "user": OWNERS[i % 4],
            "queue": "lq",
            "components": {"ready": 1, "total": 2},
            "pods": {"running": 3 if i == 0 else 0, "succeeded": 4 if i == 3 else 0, "failed": int(i == 4), "expected": 4},
            "retries": (1, 0, 1, 0, 3)[i],
            "created": ago(3600 * (i + 1)),
            "conditions": [
                {
                    "type": "QuotaReserved",
                    "status": "True" if i != 1 else "False",
                    "reason": "Suspended" if i == 1 else "QuotaReserved",
                    "message": "",
                }
            ],
            "text": ["", "waits for cpu: default lacks 4", "reset 1 of 3: pod train-2-0 failed", "", "retry limit reached"][i],
            "suspended": i == 1,
        }
        for i, phase in enumerate(phases)
    ]


def nodes():
    return [
        {
            "name": f"node-{i}",
            "uid": f"node-{i}",
            "resourceVersion": "2",
            "state": ["Ready", "Ready", "SchedulingDisabled", "NotReady"][i % 4],
            "roles": ["worker"],
            "gpus": f"{i % 5}/8 a100",
            "gpuList": [{"resource": "nvidia.com/gpu", "type": "a100", "used": i % 5, "total": 8, "shared": False}],
            "numaPolicy": "single-numa-node",
            "pods": 4 + i,
            "pressure": ["Memory"] if i == 3 else [],
            "taints": ["gpu=true:NoSchedule"] if i % 2 else [],
            "emulated": True,
            "created": ago(90000),
        }
        for i in range(1, 9)
    ]


def next_starts(cron):
    """The next five starts of @hourly, or of a schedule with a minute, an hour and perhaps a day of the week."""
    at = now().replace(minute=0, second=0, microsecond=0)
    minute, hour, *_, day = ("0", "*", "*") if cron == "@hourly" else cron.split()
    starts = []
    while len(starts) < 5:
        at += datetime.timedelta(hours=1)
        if hour in ("*", str(at.hour)) and day in ("*", str(at.isoweekday())):
            starts.append((at + datetime.timedelta(minutes=int(minute))).strftime("%Y-%m-%dT%H:%M:%SZ"))
    return starts


def schedules():
    return [
        {
            "ns": NS,
            "name": name,
            "uid": f"cj-{i}",
            "resourceVersion": "4",
            "state": state,
            "project": PROJECTS[i % 4],
            "preset": "nightly",
            "pipeline": "forge-full",
            "cluster": CLUSTERS[i % 3],
            "owner": "perf-team",
            "schedule": cron,
            "words": words,
            "next": next_starts(cron),
            "lastRun": ago(now().minute * 60 + now().second) if cron == "@hourly" else ago(7200),
            "successRate": rate,
            "overlap": "Forbid",
            "resolver": "pick.py" if i == 1 else "",
            "managed": True,
        }
        for i, (name, state, cron, words, rate) in enumerate(
            [
                ("nightly-llmd", "Active", "0 3 * * *", "every day at 03:00", 0.95),
                ("hourly-smoke", "Active", "@hourly", "every hour", 0.6),
                ("weekly-full", "Paused", "0 2 * * 1", "on Mondays at 02:00", 1.0),
            ]
        )
    ]


def log_lines(count):
    """A log with all that the viewer must stand: colours, HTML, control bytes, sections, levels."""
    head = [
        "==== prepare",
        "INFO: cloning",
        "\x1b[1;34mstep\x1b[0m one",
        "<script>alert(1)</script>",
        "bell \x07 and \x1b[38;5;208m256 colours\x1b[0m, \x1b[38;2;120;200;80mRGB\x1b[0m",
        "~~ TASK: run benchmark",
        "WARN: slow disk",
        "| python bench.py",
        "ERROR: out of memory",
        "done",
    ]
    return [
        {
            "n": i + 1,
            "at": f"{now():%Y-%m-%d}T00:{i // 60000:02d}:{i // 1000 % 60:02d}.{i % 1000:03d}000000Z",
            "text": head[i] if i < len(head) else f"INFO: iteration {i} took {i % 97} ms",
            "source": "forge-test/run" if i % 3 else "prepare/setup",
        }
        for i in range(count)
    ]


def related_tree(kind, ns, name):
    """An object below its owner, with a pod."""
    pod = {"kind": "Pod", "apiVersion": "v1", "ns": NS, "name": f"{name}-pod", "uid": "p-1", "state": "Running", "created": ago(600), "children": []}
    one = {"kind": kind, "apiVersion": "v1", "ns": ns, "name": name, "uid": "o-1", "state": "", "current": True, "children": [pod]}
    if kind in ("Node", "FournosCluster", "AppWrapper"):
        return one
    return {"kind": "FournosJob", "apiVersion": "fournos.dev/v1", "ns": NS, "name": name, "uid": "o-0", "state": "Pending", "children": [one]}
