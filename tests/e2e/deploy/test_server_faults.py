# SPDX-License-Identifier: Apache-2.0
"""`athanor controllers` while its API server is gone, overloaded, or fails behind its door: nothing is lost, nothing is doubled, and the
jobs go on once it is over. FAULTS names the test of every fault that issue "Production" lists."""

import re
import signal
import time

import pytest
from faulty_server import Door
from replica import Replica
from support import ATHANOR, JOBS, ROOT, Lab, forge, wait_for

# Each fault, and the test that shows what happens. tests/real needs the real control plane (scripts/test-real).
FAULTS = {
    "API server gone": "tests/e2e/deploy/test_server_faults.py::test_the_server_is_gone_for_20_seconds",
    "API server restarts": "tests/real/test_operators.py::test_the_api_server_restarts",
    "etcd gone": "tests/real/test_operators.py::test_etcd_stands_still_for_20_seconds",
    "storm of 429": "tests/e2e/deploy/test_server_faults.py::test_a_storm_of_refusals",
    "storm of 5xx": "tests/e2e/deploy/test_server_faults.py::test_a_storm_of_refusals",
    "webhook server down": "tests/real/test_appwrapper.py::test_without_the_operator_nothing_is_created",
    "webhook of a dependency down": "tests/e2e/deploy/test_server_faults.py::test_a_job_goes_on_when_the_webhook_of_its_runs_is_back",
    "expired tokens": "tests/real/test_operators.py::test_credentials_are_rotated",
    "certificates renewed": "tests/e2e/deploy/test_controllers_webhooks.py::test_the_certificate_is_renewed_while_requests_flow",
    "certificates of the server renewed": "tests/real/test_operators.py::test_certificates_are_rotated",
    "disk full": "tests/e2e/lab/test_faults.py::test_a_full_disk_is_an_error_to_the_writer_and_passes",
    "disk full under the CDI folder": "tests/unit/systems/das/agent/allocate_test.cpp::AllocateFailureTest.LeavesNothingAndSucceedsAtTheNextTry",
    "a kind missing and back": "tests/e2e/deploy/test_missing_kinds.py::test_a_missing_kind_of_our_own_is_named",
    "a kind removed while it is used, and back": "tests/unit/systems/fournos/seed_test.cpp::SeedJob.KindsThatVanishStopNothing",
    "clock steps, of the engine": "tests/unit/runtime/engine/engine_host_test.cpp::EngineHostTest.WakesSleepersWhenClockGoesBack",
    "clock steps, of the leader": "tests/unit/runtime/engine/elector_test.cpp::Elector.WaitsForTheHolderByItsOwnClock",
    "two replicas at once": "tests/e2e/deploy/test_deployed.py::test_the_other_replica_is_ready_and_takes_over",
    "leader killed": "tests/real/test_operators.py::test_a_killed_leader_is_replaced",
    "lease lost": "tests/real/test_operators.py::test_a_lost_lease_ends_the_process_and_nothing_is_written",
}
FOURNOS = ["fournosjob", "fournos-gc-workloads", "fournos-gc-pipelineruns", "fournos-gc-jobs", "fournos-gc-secrets"]
GONE_FOR = 20


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_has_a_test(fault):
    file, _, name = FAULTS[fault].partition("::")
    begin = rf"def {name}\(" if file.endswith(".py") else r"TEST(_F|_P)?\({}, {}\)".format(*name.split("."))
    assert re.search(f"^{begin}", (ROOT / file).read_text(encoding="utf-8"), re.M), f"{file} has no {name}"


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    """The door of a lab whose FournosJobs are left to others."""
    folder = tmp_path_factory.mktemp("door")
    lab = Lab(folder / "lab", ["--storage", "memory", "--controllers", ",".join(["*", *(f"-{name}" for name in FOURNOS)])])
    one = None
    try:
        lab.start()
        one = Door(lab, folder)
        yield one
    finally:
        if one:
            one.close()
        lab.close()


@pytest.fixture(scope="module")
def replica(door, tmp_path_factory):
    """The controllers of FournosJobs behind it."""
    one = Replica(
        [ATHANOR, "controllers", "--kubeconfig", door.kubeconfig, "--controllers", "fournos", "--metrics-address=127.0.0.1:0", "--leader-elect=false"],
        tmp_path_factory.mktemp("replica") / "log", env={"FOURNOS_WORKLOAD_NAMESPACE": JOBS, "POD_NAME": "behind"},
    )  # fmt: skip
    try:
        wait_for("the address of its metrics", lambda: '"metrics are served"' in one.text)
        wait_for("readiness", one.ready)
        yield one
    finally:
        one.end(signal.SIGKILL)


def submit(lab):
    return lab.submit(forge())["metadata"]["name"]


def ran_once(door, replica, jobs):
    """All succeed, each with one run, and the process is the one that it was."""
    for job in jobs:
        door.lab.wait_phase(job, "Succeeded")
    runs = door.lab.get(f"/apis/tekton.dev/v1/namespaces/{JOBS}/pipelineruns")["items"]
    owners = [owner["name"] for one in runs for owner in one["metadata"].get("ownerReferences", [])]
    assert sorted(name for name in owners if name in jobs) == sorted(jobs), "each ran once"
    assert replica.process.poll() is None, replica.text[-2000:]
    wait_for("readiness", replica.ready)
    assert "broken invariant" not in replica.text


def test_the_server_is_gone_for_20_seconds(door, replica):
    jobs = [submit(door.lab) for _ in range(2)]
    with door.shut_for_a_while():
        jobs.append(submit(door.lab))
        time.sleep(GONE_FOR)  # the absence itself, not a wait for something
        assert door.lab.phase(jobs[-1]) == ""
    ran_once(door, replica, jobs)


@pytest.mark.parametrize(
    ("code", "reason", "headers"),
    [(429, "TooManyRequests", {"Retry-After": "1"}), (500, "InternalError", {}), (503, "ServiceUnavailable", {}), (504, "Timeout", {})],
)
def test_a_storm_of_refusals(door, replica, code, reason, headers):
    jobs = [submit(door.lab)]
    before = door.answered
    with door.answering(lambda _method, _path: (code, reason, "a storm", headers)), door.shut_for_a_while():
        pass  # the watches end, so that reads are refused as well as writes
    with door.answering(lambda _method, _path: (code, reason, "a storm", headers)):
        jobs.append(submit(door.lab))
        wait_for("refusals", lambda: door.answered > before + 5)
    ran_once(door, replica, jobs)


def test_a_job_goes_on_when_the_webhook_of_its_runs_is_back(door, replica):
    def refuse(method, path):
        if method == "POST" and "/pipelineruns" in path:
            return 500, "InternalError", 'Internal error occurred: failed calling webhook "webhook.pipeline.tekton.dev": connection refused', {}
        return None

    before = door.answered
    with door.answering(refuse):
        job = submit(door.lab)
        # Pauses of 1, 2, 4, 7.5, 7.5 s: the longest that there is.
        wait_for("six refusals", lambda: door.answered >= before + 6)
    ran_once(door, replica, [job])
    assert door.answered - before < 20, "no storm of ours"
