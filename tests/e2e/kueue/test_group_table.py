# SPDX-License-Identifier: Apache-2.0
"""The table of docs/spec/kueue.md 10.3: in each state of a pod group each event has its row in tests/scenarios/kueue/groups, or a reason."""

import pytest
import yaml
from support import ROOT

FOLDER = ROOT / "tests/scenarios/kueue/groups"
EVENTS = (
    "a pod is deleted", "all pods are deleted", "a pod fails", "a pod succeeds", "another pod comes", "quota becomes free", "it is evicted", "the Workload is deleted", "time passes",
)  # fmt: skip
NO_WORKLOAD = "without a Workload there is no quota and nothing to evict or delete"
GATED = "its pods wait behind their gate and do not run"
HELD = "it has its quota"
ENDED = "its pods have ended"
FREED = "it holds no quota"
# A cell is the name of a row (several: a tuple), or a reason why there is none.
TABLE = {
    "incomplete": {
        "a pod is deleted": "its pod is deleted", "all pods are deleted": "its pod is deleted", "a pod fails": "its pod fails", "a pod succeeds": (GATED,),
        "another pod comes": ["the other pod comes", "two more pods come"], "quota becomes free": (NO_WORKLOAD,), "it is evicted": (NO_WORKLOAD,),
        "the Workload is deleted": (NO_WORKLOAD,), "time passes": "nobody else comes",
    },
    "waiting": {
        "a pod is deleted": ["a pod is deleted", "a pod is deleted and replaced"], "all pods are deleted": "all are deleted", "a pod fails": (GATED,), "a pod succeeds": (GATED,),
        "another pod comes": "one pod too many comes", "quota becomes free": "quota becomes free", "it is evicted": "it is deactivated",
        "the Workload is deleted": "the Workload is deleted", "time passes": ("it waits as long as it must",),
    },
    "running": {
        "a pod is deleted": ["a pod is deleted", "a pod is deleted and replaced before its end", "a pod that has succeeded is deleted"],
        "all pods are deleted": ["all are deleted", "all are deleted after one has succeeded"],
        "a pod fails": ["a pod fails", "a pod fails and the other one succeeds", "a failed pod is deleted"], "a pod succeeds": ["a pod succeeds", "both pods succeed"],
        "another pod comes": "one pod too many comes", "quota becomes free": (HELD,), "it is evicted": "it is evicted", "the Workload is deleted": "the Workload is deleted",
        "time passes": ("it runs as long as its pods do",),
    },
    "evicted": {
        "a pod is deleted": "its replacements are deleted", "all pods are deleted": "its replacements are deleted", "a pod fails": (ENDED,), "a pod succeeds": (ENDED,),
        "another pod comes": ["one pod is replaced", "both are replaced before the pause is over"], "quota becomes free": "others came while its pods were replaced",
        "it is evicted": (FREED,), "the Workload is deleted": "the Workload is deleted",
        "time passes": ["nobody replaces its pods", "nobody replaces its pods for ten minutes"],
    },
    "failed": {
        "a pod is deleted": "a pod is deleted", "all pods are deleted": "all are deleted", "a pod fails": (ENDED,), "a pod succeeds": (ENDED,), "another pod comes": "others come",
        "quota becomes free": (HELD,), "it is evicted": ("as a running one: running.yaml",), "the Workload is deleted": "the Workload is deleted", "time passes": "nothing happens",
    },
    "finished": {
        "a pod is deleted": "all are deleted", "all pods are deleted": "all are deleted", "a pod fails": (ENDED,), "a pod succeeds": (ENDED,),
        "another pod comes": "another group takes its name", "quota becomes free": (FREED,), "it is evicted": (FREED,), "the Workload is deleted": "the Workload is deleted",
        "time passes": ("its end is final",),
    },
    "unretriable": {
        "a pod is deleted": ("as a retriable one: running.yaml",), "all pods are deleted": ("as a retriable one: running.yaml",),
        "a pod fails": ["a pod fails", "a pod fails and the other one succeeds", "all fail"], "a pod succeeds": "a pod fails and the other one succeeds",
        "another pod comes": ("as a retriable one: running.yaml",), "quota becomes free": (HELD,), "it is evicted": "it is evicted",
        "the Workload is deleted": ("as a retriable one: running.yaml",), "time passes": ("it runs as long as its pods do",),
    },
}  # fmt: skip


@pytest.mark.parametrize("state", TABLE)
def test_each_state_has_a_row_for_each_event(state):
    rows = {one["name"] for one in yaml.safe_load((FOLDER / f"{state}.yaml").read_text(encoding="utf-8"))["rows"]}
    assert tuple(TABLE[state]) == EVENTS
    named = {name for cell in TABLE[state].values() if not isinstance(cell, tuple) for name in ([cell] if isinstance(cell, str) else cell)}
    assert named == rows, "every row has its cell, and every cell its row"
