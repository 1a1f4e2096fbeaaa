# SPDX-License-Identifier: Apache-2.0
"""Random worlds of queues are decided as by Kueue's real scheduler (tests/real/kueue, built once from its pinned module)."""

import os

import queue_worlds
from support import ROOT
from test_go_clients import built

SEEDS = int(os.environ.get("QUEUE_WORLDS", "1000"))
OURS = ROOT / "build/dev/tests/queue_worlds/athanor_queue_worlds"


def test_worlds_of_queues_are_decided_as_kueue_does():
    kueue = built(".", "kueue", "queue-worlds")
    found = queue_worlds.differences(kueue, OURS, range(SEEDS))
    assert found == [], f"of {SEEDS} worlds"
