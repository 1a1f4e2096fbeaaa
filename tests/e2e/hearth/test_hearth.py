# SPDX-License-Identifier: Apache-2.0
"""Hearth over real HTTPS: a lab is the target cluster of another one."""

import base64
import json
import os
import re
import subprocess

import pytest
import yaml
from support import ATHANOR, DEADLINE, JOBS, wait_for

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
    onboard(hub, "edge", target.kubeconfig.read_bytes())
    wait_for("the GPUs", lambda: status(hub, "edge").get("gpuSummary") == "16x A100")
    wait_for("the quota", lambda: quotas(hub).get("edge", {}).get("fournos/gpu-a100") == "16")
    now = status(hub, "edge")
    assert now["kubeconfigStatus"] == "Valid" and now["nodeCount"] == 2 and now["serverVersion"].startswith("v1.")
    assert hub.kubectl("get", "fc", "-n", "hearth").out.split("\n")[0].split() == ["NAME", "OWNER", "GPUS", "KUBECONFIG", "LOCKED", "AGE"]

    hub.kubectl("patch", "fc", "edge", "-n", "hearth", "--type=merge", "-p", '{"spec":{"owner":"alice","ttl":"30m"}}')
    wait_for("the lock", lambda: status(hub, "edge").get("lockState") == "Held")
    blocked = hub.submit({"cluster": "edge", "forge": {"project": "p", "args": []}}, name="test-blocked-job")
    wait_for("the job waits", lambda: "edge" in hub.job("test-blocked-job").get("status", {}).get("message", ""))
    assert hub.phase("test-blocked-job") == "Pending", blocked
    hub.kubectl("patch", "fc", "edge", "-n", "hearth", "--type=merge", "-p", '{"spec":{"owner":""}}')
    wait_for("the job may start", lambda: hub.phase("test-blocked-job") in ("Admitted", "Running", "Succeeded"))

    hub.kubectl("delete", "fc", "edge", "-n", "hearth", "--wait=false")
    hub.kubectl("delete", "fj", "test-blocked-job", "-n", "fournos-local-dev")
    wait_for("the cluster is gone", lambda: not cluster(hub, "edge"))
    assert "edge" not in quotas(hub)
    secret = hub.get("/api/v1/namespaces/psap-secrets/secrets/kubeconfig-edge")
    assert "fournos.dev/offboarded" in secret["metadata"]["annotations"]


def test_targets_that_do_not_answer_say_why(labs):
    hub, target = labs
    onboard(hub, "refused", target.kubeconfig.read_bytes().replace(str(target.address[1]).encode(), b"1"))
    onboard(hub, "stranger", hub.kubeconfig.read_bytes().replace(str(hub.address[1]).encode(), str(target.address[1]).encode()))
    for name, key, value in (("sni", "tls-server-name", "no-such-name.example.com"), ("proxy", "proxy-url", "http://127.0.0.1:1")):
        config = yaml.safe_load(target.kubeconfig.read_text(encoding="utf-8"))
        config["clusters"][0]["cluster"][key] = value
        onboard(hub, name, yaml.safe_dump(config).encode())
    onboard(hub, "exec", b"current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\nclusters: [{name: k, cluster: {server: 'https://x'}}]\nusers: [{name: u, user: {exec: {command: touch}}}]\n")
    wait_for("the refusal", lambda: "connection refused" in cluster(hub, "refused").get("spec", {}).get("hardware", {}).get("lastError", ""))
    wait_for("the wrong certificate", lambda: "TLS: " in cluster(hub, "stranger").get("spec", {}).get("hardware", {}).get("lastError", ""))
    for name in ("sni", "proxy"):  # Unreachable after five such probes: unit/systems/hearth/discovery_test.cpp
        wait_for(f"the {name}", lambda name=name: "Failed to connect to cluster" in cluster(hub, name).get("spec", {}).get("hardware", {}).get("lastError", ""))
    wait_for("the refused program", lambda: status(hub, "exec").get("kubeconfigStatus") == "Invalid")
    token = base64.b64encode(b"-----BEGIN").decode()[:10]
    for one in hub.get(CLUSTERS)["items"]:
        assert token not in str(one)


PLUGIN = """#!/bin/sh
echo ran >>{mark}
printf '%s' '{{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {{"clientCertificateData": {certificate}, "clientKeyData": {key}}}}}'
"""


def exec_kubeconfig(target, folder):
    """The target's kubeconfig, with its credentials from a program; and the file that it leaves a mark in."""
    config = yaml.safe_load(target.kubeconfig.read_text(encoding="utf-8"))
    user = config["users"][0]["user"]
    pem = {name: json.dumps(base64.b64decode(user.pop(f"client-{name}-data")).decode()) for name in ("certificate", "key")}
    program, mark = folder / "plugin", folder / "mark"
    program.write_text(PLUGIN.format(mark=mark, **pem), encoding="utf-8")
    program.chmod(0o755)
    user["exec"] = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program), "interactiveMode": "Never"}
    return yaml.safe_dump(config).encode(), mark


def test_a_kubeconfig_may_not_run_a_program(labs, tmp_path):
    """Unless HEARTH_ALLOW_EXEC_CREDENTIALS says so (A21)."""
    hub, target = labs
    kubeconfig, mark = exec_kubeconfig(target, tmp_path)
    onboard(hub, "program", kubeconfig)
    wait_for("the refusal", lambda: status(hub, "program").get("kubeconfigStatus") == "Invalid")
    why = next(c["message"] for c in status(hub, "program")["conditions"] if c["type"] == "KubeconfigValid")
    assert why.startswith("Invalid kubeconfig for cluster 'program': ") and "exec credentials would run a program, which is not allowed" in why
    assert cluster(hub, "program")["spec"]["hardware"]["lastError"] == why
    assert not mark.exists(), "it was not run"


def test_a_program_of_a_kubeconfig_is_run_where_that_is_allowed(make_lab, labs, tmp_path):
    _, target = labs
    kubeconfig, mark = exec_kubeconfig(target, tmp_path)
    text = "apiVersion: athanor.dev/v1\nkind: Lab\nnamespace: psap-automation\ntargets: [{name: spare, onboard: false}]\nqueues: [{name: fournos-queue}]\nsettings: {HEARTH_ALLOW_EXEC_CREDENTIALS: true}\n"
    (tmp_path / "hub.yaml").write_text(text, encoding="utf-8")
    hub = make_lab("--storage", "memory", "--pods", "timed", "--lab", str(tmp_path / "hub.yaml"), name="allowing").start()
    onboard(hub, "program", kubeconfig)
    wait_for("the GPUs", lambda: status(hub, "program").get("gpuSummary") == "16x A100")
    assert mark.exists()
    for one in (hub.get(CLUSTERS), hub.get("/api/v1/namespaces/hearth/events")):
        assert "PRIVATE KEY" not in json.dumps(one)


def test_metrics_tell_of_clusters_and_of_no_secret(labs):
    hub, target = labs
    onboard(hub, "edge", target.kubeconfig.read_bytes())
    wait_for("the GPUs", lambda: status(hub, "edge").get("gpuSummary") == "16x A100")
    onboard(hub, "refused", target.kubeconfig.read_bytes().replace(str(target.address[1]).encode(), b"1"))
    # Asked again and again: whoever looks late sees more than one.
    failures = r'^hearth_probe_failures_total\{cluster="refused"\} [1-9]'
    wait_for("a failed probe", lambda: re.search(failures, hub.http("GET", "/metrics").text, re.M))
    for line in (
        'hearth_clusters{kubeconfig_status="Valid"} 2', 'hearth_gpus{cluster="edge",vendor="nvidia",short_name="a100"} 16', 'hearth_lock_state{cluster="edge",state="Unlocked"} 1',
        'hearth_probe_failures_total{cluster="edge"} 0', 'hearth_probe_duration_seconds_count{cluster="edge"} 1', 'hearth_clusterqueue_writes_total{result="success"}',
        "hearth_reconcile_duration_seconds_bucket{", "hearth_reconcile_errors_total ",
    ):
        wait_for(line, lambda line=line: line in hub.http("GET", "/metrics").text)
    text = hub.http("GET", "/metrics").text
    user = yaml.safe_load(target.kubeconfig.read_text(encoding="utf-8"))["users"][0]["user"]
    assert not any(value[:40] in text for value in user.values())
    hub.kubectl("delete", "fc", "refused", "-n", "hearth")
    wait_for("its series go along", lambda: 'cluster="refused"' not in hub.http("GET", "/metrics").text)


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
            wait_for("the GPUs", lambda: status(hub, "edge").get("gpuSummary") == "16x A100")
            wait_for("the quota", lambda: quotas(hub).get("edge", {}).get("fournos/gpu-a100") == "16")
        finally:
            controllers.terminate()
        assert controllers.wait(DEADLINE) == 0
