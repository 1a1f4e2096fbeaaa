# SPDX-License-Identifier: Apache-2.0
"""Hearth over real HTTPS: a lab is the target cluster of another one."""

import base64
import os
import subprocess
import time

import pytest
from support import ATHANOR, JOBS, wait_for

GPU_LAB = """
apiVersion: athanor.dev/v1
kind: Lab
namespace: elsewhere
nodes:
- name: gpu
  count: 2
  capacity: {cpu: 8, memory: 16Gi, pods: 10, nvidia.com/gpu: 8}
  labels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}
"""
CLUSTERS = "/apis/fournos.dev/v1/namespaces/hearth/fournosclusters"
QUEUE = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/fournos-queue"


@pytest.fixture
def labs(make_lab, tmp_path):
    (tmp_path / "gpu.yaml").write_text(GPU_LAB, encoding="utf-8")
    target = make_lab("--lab", str(tmp_path / "gpu.yaml"), "--storage", "memory", "--pods", "timed", name="target").start()
    hub = make_lab("--storage", "memory", "--pods", "timed", name="hub").start()
    return hub, target


def onboard(hub, name, kubeconfig):
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"kubeconfig-{name}", "labels": {"fournos.dev/cluster-kubeconfig": "true"}},
        "data": {"kubeconfig": base64.b64encode(kubeconfig).decode()},
    }
    answer = hub.http("POST", "/api/v1/namespaces/psap-secrets/secrets", secret)
    assert answer.code == 201, answer.text


def cluster(hub, name):
    answer = hub.http("GET", f"{CLUSTERS}/{name}")
    return answer.json if answer.code == 200 else {}


def status(hub, name):
    return cluster(hub, name).get("status", {})


def quotas(hub):
    return {
        flavor["name"]: {one["name"]: str(one["nominalQuota"]) for one in flavor["resources"]}
        for group in hub.get(QUEUE)["spec"].get("resourceGroups", [])
        for flavor in group["flavors"]
    }


def test_a_cluster_comes_is_locked_and_leaves(labs):
    hub, target = labs
    wait_for("the target's nodes", lambda: all("nvidia.com/gpu" in n.get("status", {}).get("allocatable", {}) for n in target.get("/api/v1/nodes")["items"]))
    started = time.monotonic()
    onboard(hub, "edge", target.kubeconfig.read_bytes())
    wait_for("the GPUs", lambda: status(hub, "edge").get("gpuSummary") == "16x A100", 10)
    wait_for("the quota", lambda: quotas(hub).get("edge", {}).get("fournos/gpu-a100") == "16", 10)
    assert time.monotonic() - started < 10
    now = status(hub, "edge")
    assert now["kubeconfigStatus"] == "Valid" and now["nodeCount"] == 2 and now["serverVersion"].startswith("v1.")
    assert hub.kubectl("get", "fc", "-n", "hearth").out.split("\n")[0].split() == ["NAME", "OWNER", "GPUS", "KUBECONFIG", "LOCKED", "AGE"]

    hub.kubectl("patch", "fc", "edge", "-n", "hearth", "--type=merge", "-p", '{"spec":{"owner":"alice","ttl":"30m"}}')
    wait_for("the lock", lambda: status(hub, "edge").get("lockState") == "Held", 10)
    blocked = hub.submit({"cluster": "edge", "forge": {"project": "p", "args": []}}, name="test-blocked-job")
    wait_for("the job waits", lambda: "edge" in hub.job("test-blocked-job").get("status", {}).get("message", ""))
    assert hub.phase("test-blocked-job") == "Pending", blocked
    hub.kubectl("patch", "fc", "edge", "-n", "hearth", "--type=merge", "-p", '{"spec":{"owner":""}}')
    wait_for("the job may start", lambda: hub.phase("test-blocked-job") in ("Admitted", "Running", "Succeeded"), 10)

    hub.kubectl("delete", "fc", "edge", "-n", "hearth", "--wait=false")
    hub.kubectl("delete", "fj", "test-blocked-job", "-n", "fournos-local-dev")
    wait_for("the cluster is gone", lambda: not cluster(hub, "edge"), 15)
    assert "edge" not in quotas(hub)
    secret = hub.get("/api/v1/namespaces/psap-secrets/secrets/kubeconfig-edge")
    assert "fournos.dev/offboarded" in secret["metadata"]["annotations"]


def test_targets_that_do_not_answer_say_why(labs):
    hub, target = labs
    onboard(hub, "refused", target.kubeconfig.read_bytes().replace(str(target.address[1]).encode(), b"1"))
    onboard(hub, "stranger", hub.kubeconfig.read_bytes().replace(str(hub.address[1]).encode(), str(target.address[1]).encode()))
    onboard(hub, "exec", b"contexts: [{name: c, context: {cluster: k, user: u}}]\nclusters: [{name: k, cluster: {server: 'https://x'}}]\nusers: [{name: u, user: {exec: {command: touch}}}]\n")
    wait_for("the refusal", lambda: "connection refused" in cluster(hub, "refused").get("spec", {}).get("hardware", {}).get("lastError", ""), 20)
    wait_for("the wrong certificate", lambda: "TLS: " in cluster(hub, "stranger").get("spec", {}).get("hardware", {}).get("lastError", ""), 20)
    wait_for("the refused program", lambda: status(hub, "exec").get("kubeconfigStatus") == "Invalid")
    token = base64.b64encode(b"-----BEGIN").decode()[:10]
    for one in hub.get(CLUSTERS)["items"]:
        assert token not in str(one)


def test_the_controllers_of_a_cluster_do_the_same(make_lab, tmp_path):
    (tmp_path / "gpu.yaml").write_text(GPU_LAB, encoding="utf-8")
    target = make_lab("--lab", str(tmp_path / "gpu.yaml"), "--storage", "memory", "--pods", "timed", name="target").start()
    without = "*,-fournoscluster,-hearth-queue,-hearth-discovery,-hearth-sentinels"
    hub = make_lab("--storage", "memory", "--pods", "timed", "--controllers", without, name="hub").start()
    command = [ATHANOR, "controllers", "--kubeconfig", hub.kubeconfig, "--controllers", "hearth", "--metrics-address", "127.0.0.1:0"]
    variables = {**os.environ, "FOURNOS_WORKLOAD_NAMESPACE": JOBS, "HEARTH_EXECUTION_NAMESPACE": JOBS}
    with subprocess.Popen([str(word) for word in command], env=variables, stderr=subprocess.DEVNULL) as controllers:
        try:
            onboard(hub, "edge", target.kubeconfig.read_bytes())
            wait_for("the GPUs", lambda: status(hub, "edge").get("gpuSummary") == "16x A100", 15)
            wait_for("the quota", lambda: quotas(hub).get("edge", {}).get("fournos/gpu-a100") == "16", 10)
        finally:
            controllers.terminate()
        assert controllers.wait(20) == 0
