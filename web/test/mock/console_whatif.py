# SPDX-License-Identifier: Apache-2.0
"""The mock console's answer to "what if": invented reports in the form of the simulator's."""

import math

import console_data as data

WORDS = {
    "node": "{cluster} has one more node (8 a100)",
    "cluster": "there is one more cluster like {cluster}",
    "gpus": "{cluster} has {gpus} more GPUs of type {gpuType}",
    "unlock": "{cluster} is not locked",
    "job": "a job with {gpus} {gpuType} is submitted now",
}


def waits(jobs, mean):
    return {
        "jobs": jobs,
        "meanSeconds": mean,
        "p50Seconds": round(0.6 * mean),
        "p90Seconds": 2 * mean,
        "p95Seconds": 3 * mean,
        "p99Seconds": 4 * mean,
        "maxSeconds": 5 * mean,
    }


def report(name, load):
    course = [
        {
            "hours": round(1.4 * i + 0.7, 3),
            "queued": round(max(0.0, 6 * load * (1 + math.sin(i / 9)) - 2), 3),
            "utilisation": {kind: round(min(1.0, load * (0.6 + 0.3 * math.sin(i / 12 + shift))), 3) for shift, kind in enumerate(("a100", "h200"))},
        }
        for i in range(240)
    ]
    return {
        "fleet": name,
        "jobs": 412,
        "succeeded": 412,
        "failed": 0,
        "unfinished": 0,
        "evictions": 0,
        "failures": {},
        "hours": 336.5,
        "waiting": {
            "all": waits(412, round(2400 * load)),
            "byOwner": {owner: waits(100, round((1800 + 300 * i) * load)) for i, owner in enumerate((*data.OWNERS, data.HOSTILE))},
            "byGpuType": {"a100": waits(280, round(2900 * load)), "h200": waits(132, round(1300 * load))},
        },
        "utilisation": {"a100": {"gpus": 16, "mean": round(0.7 * load, 3), "max": 1.0}, "h200": {"gpus": 8, "mean": round(0.5 * load, 3), "max": 1.0}},
        "overTime": course,
        "work": {"reconciles": {}, "writes": {}},
    }


def answer(query):
    """Returns the answer, or the name of a parameter that is wrong."""
    change = query.get("change", "")
    if change not in WORDS:
        return "change"
    shape = {"cluster": "", "gpus": "", "gpuType": "", **query}
    text = WORDS[change].format(**shape)
    found = {
        "text": text,
        "now": data.ago(0),
        "days": float(query.get("days", 14)),
        "jobs": {"running": 6, "waiting": 3, "locks": 1, "ended": 403, "leftOut": 2},
        "assumptions": [
            "the 403 jobs of the last 14.0 days come again, from now on",
            "9 jobs that run or wait take as long as the median of their project and pipeline",
        ],
        "leftOut": [],
        "without": report("as it is", 1.0),
        "with": report("with the change", 0.6),
        "waiting": [
            {"ns": data.NS, "name": f"forge-notebooks-0000{i}", "owner": data.OWNERS[i], "without": 3600.0 * i, "with": 1500.0 * i if i < 3 else None}
            for i in range(1, 4)
        ],
    }
    if change == "job":
        found["job"] = {"waitSeconds": 754.0}
    return found
