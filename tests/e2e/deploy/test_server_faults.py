# SPDX-License-Identifier: Apache-2.0
"""`athanor controllers` while its API server is gone, overloaded, or fails behind its door: nothing is lost, nothing is doubled, and the
jobs go on once it is over. FAULTS names the test of every fault that issue "Production" lists."""

import re
import signal
import time

import pytest
import yaml
from faulty_server import Door
from replica import Replica
from support import ATHANOR, DEADLINE, JOBS, ROOT, Lab, forge, has_test, run, wait_for

# Each fault, the test that shows what happens, and the alerts that say so if it stays; "": nothing stands still. tests/real needs the real
# control plane (scripts/test-real).
FAULTS = {
    "API server gone": ("tests/e2e/deploy/test_server_faults.py::test_the_server_is_gone_for_20_seconds", "AthanorApiErrors"),
    "API server restarts": ("tests/real/test_operators.py::test_the_api_server_restarts", "AthanorApiErrors"),
    "etcd gone": ("tests/real/test_operators.py::test_etcd_stands_still_for_20_seconds", "AthanorApiErrors"),
    "storm of 429": ("tests/e2e/deploy/test_server_faults.py::test_a_storm_of_refusals", "AthanorWritesFailing"),
    "storm of 5xx": ("tests/e2e/deploy/test_server_faults.py::test_a_storm_of_refusals", "AthanorWritesFailing AthanorApiErrors"),
    "webhook server down": ("tests/real/test_appwrapper.py::test_without_the_operator_nothing_is_created", "AppWrapperOperatorDown"),
    "webhook of a dependency down": ("tests/e2e/deploy/test_server_faults.py::test_a_job_goes_on_when_a_webhook_of_its_dependencies_is_back", "AthanorWritesFailing"),
    "API server gone, for all systems": ("tests/e2e/deploy/test_server_faults.py::test_every_system_goes_on_after_the_server_was_gone", "AthanorApiErrors AppWrapperApiErrors AcceleratorsApiErrors"),
    "expired tokens": ("tests/e2e/deploy/test_server_faults.py::test_a_token_that_expired_is_read_again", "AthanorForbidden"),
    "tokens of the real server": ("tests/real/test_operators.py::test_credentials_are_rotated", "AthanorForbidden"),
    "certificates renewed": ("tests/e2e/deploy/test_controllers_webhooks.py::test_the_certificate_is_renewed_while_requests_flow", ""),
    "certificates of the server renewed": ("tests/real/test_operators.py::test_certificates_are_rotated", "AthanorApiErrors"),
    "disk full": ("tests/e2e/lab/test_faults.py::test_a_full_disk_is_an_error_to_the_writer_and_passes", ""),
    "disk full under the CDI folder": ("tests/e2e/das/test_agent.py::test_a_full_disk_under_the_cdi_folder_loses_nothing", "SliceFailures"),
    "a kind missing and back": ("tests/e2e/deploy/test_missing_kinds.py::test_a_missing_kind_of_our_own_is_named", "AthanorKindMissing"),
    "a kind removed while it is used, and back": ("tests/e2e/deploy/test_server_faults.py::test_a_kind_that_vanishes_under_a_job_and_returns", "AthanorKindMissing"),
    "clock steps, of the engine": ("tests/unit/runtime/engine/engine_host_test.cpp::EngineHostTest.WakesSleepersWhenClockGoesBack", ""),
    "clock steps, of the leader": ("tests/unit/runtime/engine/elector_test.cpp::Elector.WaitsForTheHolderByItsOwnClock", "AthanorNoLeader"),
    "two replicas at once": ("tests/e2e/deploy/test_deployed.py::test_the_other_replica_is_ready_and_takes_over", "AthanorReplicaDown"),
    "two versions at once": ("tests/real/test_upgrade.py::test_an_upgrade_and_its_way_back_lose_nothing", "AthanorSeveralLeaders"),
    "etcd killed": ("tests/real/test_operators.py::test_a_killed_etcd_comes_back", "AthanorApiErrors"),
    "leader killed": ("tests/real/test_operators.py::test_a_killed_leader_is_replaced", "AthanorNoLeader AthanorReplicaDown"),
    "lease lost": ("tests/real/test_operators.py::test_a_lost_lease_ends_the_process_and_nothing_is_written", "AthanorRestarting"),
    "API server gone, with the real Kueue and Tekton": ("tests/real/test_stack.py::test_the_server_is_gone_for_20_seconds", "AthanorApiErrors AppWrapperApiErrors AcceleratorsApiErrors"),
    "Kueue stands still": ("tests/real/test_stack.py::test_kueue_stands_still_for_30_seconds", "AthanorWritesFailing"),
    "webhook servers down, and pods without need of them": ("tests/real/test_stack.py::test_all_controllers_are_killed_under_work", "AppWrapperOperatorDown AcceleratorsOperatorDown"),
    "extender killed": ("tests/real/test_stack.py::test_all_controllers_are_killed_under_work", "ExtenderDown"),
    "a definition deleted with its objects": ("tests/real/test_stack.py::test_a_definition_that_is_deleted_comes_back", "AppWrapperKindMissing"),
}
FOURNOS = ["fournosjob", "fournos-gc-workloads", "fournos-gc-pipelineruns", "fournos-gc-jobs", "fournos-gc-secrets"]
GONE_FOR = 20


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_has_a_test(fault):
    test = FAULTS[fault][0]
    assert "::" in test and has_test(test), test


# Alerts of the controllers' replicas and requests that no single fault fires.
UNFIRED = {"AthanorDown": "needs the loss of every replica"}


def test_faults_and_alerts_name_each_other():
    known = {}
    for path in (ROOT / "deploy").rglob("prometheusrule.yaml"):
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["spec"]["groups"]:
            known[group["name"]] = {rule["alert"] for rule in group["rules"] if "alert" in rule}
    named = {alert for _, alerts in FAULTS.values() for alert in alerts.split()}
    assert named - set().union(*known.values()) == set()
    assert (known["athanor.availability"] | known["athanor.api"]) - named == set(UNFIRED)


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


def readiness(one):
    """(status, body) of /readyz."""
    return one.ask("/readyz")


def shut_and_named(door, one):
    """The server is shut, and /readyz says so."""
    wait_for("/readyz to name the server", lambda: readiness(one)[0] == 503 and "[-]apiserver failed" in readiness(one)[1])


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
        began = time.monotonic()
        shut_and_named(door, replica)
        time.sleep(max(0, began + GONE_FOR - time.monotonic()))  # the absence itself, not a wait for something
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


@pytest.mark.parametrize(
    ("resource", "webhook", "group"),
    [("pipelineruns", "webhook.pipeline.tekton.dev", "tekton.dev/v1"), ("workloads", "vworkload.kb.io", "kueue.x-k8s.io/v1beta2")],
)
def test_a_job_goes_on_when_a_webhook_of_its_dependencies_is_back(door, replica, resource, webhook, group):
    def refuse(method, path):
        if method == "POST" and f"/{resource}" in path:
            return 500, "InternalError", f'Internal error occurred: failed calling webhook "{webhook}": connection refused', {}
        return None

    made = lambda: {one["metadata"]["name"] for one in door.lab.get(f"/apis/{group}/namespaces/{JOBS}/{resource}")["items"]}  # noqa: E731
    before, there = door.answered, made()
    with door.answering(refuse):
        job = submit(door.lab)
        # Pauses of 1, 2, 4, 7.5, 7.5 s: the longest that there is.
        wait_for("six refusals", lambda: door.answered >= before + 6)
    back = time.monotonic()
    wait_for("it is made", lambda: made() - there)
    assert time.monotonic() - back < 10 + DEADLINE / 30, "10 s, and the time to see it; the next pause would be 15 s longer"
    ran_once(door, replica, [job])
    assert door.answered - before < 20, "no storm of ours"


def test_a_kind_that_vanishes_under_a_job_and_returns(door, replica):
    """A CRD that is removed and installed again, as the process sees it: 404 for all of its requests."""

    def gone(_method, path):
        return (404, "NotFound", "the server could not find the requested resource", {}) if "/pipelineruns" in path else None

    def missing():
        return re.search(r'^athanor_kind_missing\{kind="pipelineruns.tekton.dev"\} (\S+)$', replica.get("/metrics"), re.M).group(1)

    job = submit(door.lab)
    door.lab.wait_phase(job, "Running")
    assert float(missing()) == 0
    with door.answering(gone):
        with door.shut_for_a_while():
            pass  # the watches end
        wait_for("/readyz to name the kind", lambda: "[-]pipelineruns.tekton.dev: the cluster does not have this kind" in readiness(replica)[1])
        assert readiness(replica)[0] == 503 and float(missing()) == 1
        other = submit(door.lab)
        wait_for("the new job says what it waits for", lambda: "pipelineruns.tekton.dev" in door.lab.get(f"/apis/fournos.dev/v1/namespaces/{JOBS}/fournosjobs/{other}").get("status", {}).get("message", ""))
        assert door.lab.phase(job) == "Running" and door.lab.phase(other) != "Failed"
    for name in (job, other):  # the kind is looked for every 60 to 90 s
        door.lab.wait_phase(name, "Succeeded", deadline=90 + DEADLINE)
    ran_once(door, replica, [job, other])
    assert float(missing()) == 0


def test_a_token_that_expired_is_read_again(door, tmp_path):
    """The kubelet writes a new one into the file; requests in between are refused."""
    token = tmp_path / "token"
    token.write_text("first", encoding="utf-8")
    config = yaml.safe_load(door.kubeconfig.read_text(encoding="utf-8"))
    config["users"][0]["user"] = {"tokenFile": str(token)}
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(config), encoding="utf-8")
    door.token = "first"
    one = Replica(
        [ATHANOR, "controllers", "--kubeconfig", kubeconfig, "--controllers", "fournos", "--metrics-address=127.0.0.1:0", "--leader-elect=false"],
        tmp_path / "log", env={"FOURNOS_WORKLOAD_NAMESPACE": JOBS, "POD_NAME": "with-token"},
    )  # fmt: skip
    try:
        wait_for("the address of its metrics", lambda: '"metrics are served"' in one.text)
        wait_for("readiness", one.ready)
        with door.shut_for_a_while():
            door.token, before = "second", door.unauthorized
        job = submit(door.lab)
        wait_for("refusals", lambda: door.unauthorized > before + 2 and one.denied())
        assert door.lab.phase(job) == "" and one.process.poll() is None
        token.with_suffix(".new").write_text("second", encoding="utf-8")
        token.with_suffix(".new").rename(token)
        ran_once(door, one, [job])
    finally:
        one.end(signal.SIGKILL)
        door.token = None


SYSTEMS = ("fournos", "hearth", "appwrapper", "das")
WRAPPERS = "/apis/workload.codeflare.dev/v1beta2/namespaces/default/appwrappers"
CLAIMS = "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/allocationclaims"


def wrapper(name):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    return {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": {"name": name}, "spec": {"components": [{"template": pod}]}}


def test_every_system_goes_on_after_the_server_was_gone(tmp_path, monkeypatch):
    monkeypatch.setenv("EMULATED_MODE", "enabled")
    names = yaml.safe_load(run([ATHANOR, "systems", "-o", "yaml"]).out)
    refused = run([ATHANOR, "up", "--data", tmp_path / "none", "--controllers=nobody"])
    of_labs = set(refused.err.split("known are: ")[1].strip().split(", ")) - {"das-daemonset", "das-operator"}  # the lab's emulated agents stay
    ours = [one for system in names if system["name"] in SYSTEMS for one in system["controllers"] if one in of_labs]
    assert len(ours) > 10
    lab = Lab(tmp_path / "lab", ["--storage", "memory", "--pods", "timed", "--controllers", ",".join(["*", *(f"-{one}" for one in ours)])])
    door = one = None
    try:
        lab.start()
        door = Door(lab, tmp_path)
        one = Replica(
            [ATHANOR, "controllers", "--kubeconfig", door.kubeconfig, "--controllers", ",".join([*SYSTEMS, "-das-daemonset", "-das-operator"]),
             "--metrics-address=127.0.0.1:0", "--leader-elect=false"],
            tmp_path / "log", env={"FOURNOS_WORKLOAD_NAMESPACE": JOBS, "HEARTH_NAMESPACE": "hearth", "POD_NAME": "behind"},
        )  # fmt: skip
        wait_for("the address of its metrics", lambda: '"metrics are served"' in one.text)
        wait_for("readiness", one.ready)
        assert lab.http("POST", WRAPPERS, wrapper("before")).code == 201
        jobs = [submit(lab)]
        with door.shut_for_a_while():
            jobs.append(submit(lab))
            assert lab.http("POST", WRAPPERS, wrapper("meanwhile")).code == 201
            claim = {"apiVersion": "inference.redhat.com/v1alpha1", "kind": "AllocationClaim", "metadata": {"name": "of-nobody"},
                     "spec": {"profile": "1g.5gb", "nodename": "gone", "gpuUUID": "GPU-0", "migPlacement": {"start": 0, "size": 1},
                              "podRef": {"kind": "Pod", "namespace": "default", "name": "gone", "uid": "gone"}}}  # fmt: skip
            assert lab.http("POST", CLAIMS, claim).code == 201
            shut_and_named(door, one)
            assert lab.get(f"{WRAPPERS}/meanwhile").get("status") is None
        for name in ("before", "meanwhile"):
            wait_for(f"AppWrapper {name} succeeds", lambda name=name: lab.get(f"{WRAPPERS}/{name}").get("status", {}).get("phase") == "Succeeded")
        wait_for("the claim of nobody is collected", lambda: not [one for one in lab.get(CLAIMS)["items"] if one["metadata"]["name"] == "of-nobody"])
        ran_once(door, one, jobs)
    finally:
        if one:
            one.end(signal.SIGKILL)
        if door:
            door.close()
        lab.close()
