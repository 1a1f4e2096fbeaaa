# SPDX-License-Identifier: Apache-2.0
"""FOURNOS_RECONCILE_MODE=poll: a program that looks every few seconds sees every phase, as upstream's tests do."""

import pytest
from support import forge, run, wait_for

PHASES = ["Pending", "Admitted", "Running", "Succeeded"]


def phases_seen(lab, name, every):
    """What a program sees that looks at a job every so many seconds, until the job has succeeded."""
    seen = []

    def look():
        phase = lab.phase(name)
        if phase and phase not in seen:
            seen.append(phase)
        return phase == "Succeeded"

    wait_for("its end", look, interval=every)
    return seen


@pytest.mark.parametrize(("setting", "every"), [("FOURNOS_RECONCILE_MODE=poll", 2), ("FOURNOS_MIN_PHASE_SEC=10", 3)])
def test_a_slow_reader_sees_every_phase(make_lab, setting, every):
    lab = make_lab("--storage", "memory", "--pods", "timed", "--set", setting).start()
    lab.submit(forge(), "slow")
    assert phases_seen(lab, "slow", every) == PHASES


def test_a_slow_reader_sees_every_phase_of_an_engine_job(make_lab):
    settings = ("--set", "FOURNOS_API=current", "--set", "FOURNOS_RECONCILE_MODE=poll")
    lab = make_lab("--storage", "memory", "--pods", "timed", *settings).start()
    lab.submit({"cluster": "cluster-1", "exclusive": False, "pipeline": "mock-engine", "executionEngine": {"mix": {}}}, "engine")
    assert phases_seen(lab, "engine", 2) == ["Resolving", *PHASES]


def test_a_wrong_mode_is_refused(make_lab):
    lab = make_lab("--storage", "memory")
    wrong = run([lab.program, "up", "--data", lab.data, "--port", "0", "--set", "FOURNOS_RECONCILE_MODE=sometimes"])
    assert wrong.code == 2 and "FOURNOS_RECONCILE_MODE" in wrong.err, wrong
