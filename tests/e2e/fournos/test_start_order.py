# SPDX-License-Identifier: Apache-2.0
"""Jobs of one second start in the order of their submission (docs/spec/kueue.md 7.2: uids of a lab sort by creation)."""

from support import JOBS, forge, wait_for

# In another order than that of their names; several within each second.
NAMES = ["job-7", "job-10", "job-1", "job-9", "job-3", "job-2", "job-8", "job-4", "job-6", "job-5"]
PENDING = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/fournos-queue/pendingworkloads"


def waiting(lab):
    """The jobs that wait, in the order of the queue."""
    workloads = {one["metadata"]["name"]: one["metadata"]["ownerReferences"][0]["name"] for one in lab.get(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{JOBS}/workloads")["items"]}
    return [workloads[one["metadata"]["name"]] for one in lab.get(PENDING)["items"]]


def test_jobs_of_one_loop_start_in_their_order(make_lab):
    lab = make_lab().start()
    lab.kubectl("create", "configmap", "fournos-mock-config", "-n", JOBS, "--from-literal=sleep=600")
    first = lab.submit(forge(exclusive=True))["metadata"]["name"]
    lab.wait_phase(first, "Running")
    for name in NAMES:
        lab.submit(forge(exclusive=True), name=name)
    created = [lab.job(name)["metadata"] for name in NAMES]
    assert len({one["creationTimestamp"] for one in created}) < len(NAMES), "some are of one second"
    assert [one["uid"] for one in created] == sorted(one["uid"] for one in created)
    wait_for("all wait", lambda: len(waiting(lab)) == len(NAMES))
    assert waiting(lab) == NAMES
    lab.stop()
    lab.start()
    wait_for("all wait", lambda: len(waiting(lab)) == len(NAMES))
    assert waiting(lab) == NAMES, "also after a restart"
    for done, following in zip([first, *NAMES], NAMES[:3], strict=False):
        lab.athanor("cancel", done)
        lab.wait_phase(following, "Running")
        assert all(lab.phase(name) != "Running" for name in NAMES if name != following)
