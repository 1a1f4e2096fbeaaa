# SPDX-License-Identifier: Apache-2.0
"""More clusters than one ClusterQueue holds (64): a second Hearth has a queue of its own."""

import os
import signal
import subprocess

import yaml
from support import ATHANOR, DEADLINE, JOBS, ROOT, forge, wait_for

CLUSTERS = "/apis/fournos.dev/v1/namespaces/{}/fournosclusters"
LIMIT = "QuotaLimit"


def clusters(lab, ns="hearth"):
    return {one["metadata"]["name"]: one for one in lab.get(CLUSTERS.format(ns))["items"]}


def synced(one):
    return next((c for c in one.get("status", {}).get("conditions", []) if c["type"] == "KueueSynced"), {})


def places(lab, ns="hearth"):
    """The clusters in the queue, and those that it has no place for."""
    all_of_them = clusters(lab, ns)
    inside = {name for name, one in all_of_them.items() if synced(one).get("status") == "True"}
    return inside, {name for name, one in all_of_them.items() if synced(one).get("reason") == LIMIT}


def bring(lab, ns):
    for file in ("30-tasks.yaml", "31-pipelines.yaml"):
        for one in yaml.safe_load_all((ROOT / "examples/fournos/setup" / file).read_text(encoding="utf-8")):
            one["metadata"].pop("namespace", None)
            lab.kubectl("apply", "-n", ns, "-f", "-", stdin=yaml.safe_dump(one))
    lab.kubectl("create", "configmap", "fournos-mock-config", "-n", ns, "--from-literal=sleep=0")


FLEET = {
    "apiVersion": "athanor.dev/v1",
    "kind": "Lab",
    "namespace": JOBS,
    "nodes": [{"name": "hub", "count": 1, "capacity": {"cpu": 16, "memory": "64Gi", "pods": 500}}],
    "targets": [{"name": "fleet", "count": 70, "nodes": [{"gpus": 8, "model": "NVIDIA-H200"}]}],
    "queues": [{"name": "fournos-queue"}],
}


def test_seventy_clusters_are_more_than_a_queue_holds(make_lab, tmp_path):
    """64 of 70 are in the queue; the others, and jobs on them, say why they are not; the next one comes in for one that goes."""
    file = tmp_path / "fleet.yaml"
    file.write_text(yaml.safe_dump(FLEET), encoding="utf-8")
    lab = make_lab("--lab", file, "--storage", "memory", "--pods", "timed", name="fleet").start()
    wait_for("all have a verdict", lambda: tuple(map(len, places(lab))) == (64, 6))
    inside, outside = places(lab)
    queue = lab.get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/fournos-queue")
    (group,) = queue["spec"]["resourceGroups"]
    assert {flavor["name"] for flavor in group["flavors"]} == inside
    waiting = sorted(outside)[0]
    said = synced(clusters(lab)[waiting])["message"]
    assert "64 flavors" in said, said
    lab.submit(forge(cluster=waiting), "waits")
    wait_for("the job says why it waits", lambda: said in lab.job("waits").get("status", {}).get("message", ""))
    assert "QuotaLimit" in lab.athanor("clusters", "describe", waiting).out
    gone = sorted(inside)[0]
    lab.athanor("clusters", "remove", gone)
    wait_for("another one has its place", lambda: len(places(lab)[0]) == 64 and gone not in places(lab)[0] and len(places(lab)[1]) == 5)


def test_a_second_hearth_has_a_queue_of_its_own(make_lab, tmp_path):
    lab = make_lab("--storage", "memory", "--pods", "timed").start()
    target = make_lab("--storage", "memory", "--pods", "timed", name="target").start()
    for ns in ("hearth-2", "secrets-2", "jobs-2"):
        lab.kubectl("create", "namespace", ns)
    queues = [
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "queue-2"}, "spec": {"namespaceSelector": {}}},
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "fournos-queue", "namespace": "jobs-2"}, "spec": {"clusterQueue": "queue-2"}},
    ]
    lab.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(queues))
    bring(lab, "jobs-2")
    lab.kubectl("label", "namespace", "jobs-2", "fournos.dev/queue-access=true")
    names = {"HEARTH_NAMESPACE": "hearth-2", "HEARTH_SECRETS_NAMESPACE": "secrets-2", "HEARTH_EXECUTION_NAMESPACE": "jobs-2", "HEARTH_KUEUE_CLUSTER_QUEUE_NAME": "queue-2"}
    log = open(tmp_path / "hearth.log", "wb")
    second = subprocess.Popen(
        [ATHANOR, "controllers", "--controllers", "hearth", "--leader-elect=false", "--metrics-address", "127.0.0.1:0"],
        env={**lab.env, **names, "PATH": os.environ["PATH"]}, stdout=log, stderr=log,
    )  # fmt: skip
    try:
        kubeconfig = target.data / "admin.kubeconfig"
        lab.kubectl("create", "secret", "generic", "kubeconfig-far", "-n", "secrets-2", f"--from-file=kubeconfig={kubeconfig}")
        lab.kubectl("create", "secret", "generic", "far-kubeconfig", "-n", "jobs-2", "--from-literal=kubeconfig=mock")
        lab.kubectl("label", "secret", "kubeconfig-far", "-n", "secrets-2", "fournos.dev/cluster-kubeconfig=true")
        wait_for("it is in the second queue", lambda: places(lab, "hearth-2")[0] == {"far"})
        assert clusters(lab) == {}
        lab.submit(forge(cluster="far"), "job", "jobs-2")
        lab.wait_phase("job", "Succeeded", "jobs-2")
    finally:
        second.send_signal(signal.SIGTERM)
        second.wait(DEADLINE)
        log.close()
