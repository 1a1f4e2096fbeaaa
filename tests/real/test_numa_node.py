# SPDX-License-Identifier: Apache-2.0
"""The exporter of NUMA zones on a real kubelet with static CPU and memory managers and policy single-numa-node (docs/spec/numa.md 9)."""

import json
import pathlib
import shutil
import subprocess
import tempfile

import pytest
from node import RealNode
from support import ATHANOR, ROOT, Lab, run, wait_for

CONFIG = """cpuManagerPolicy: static
reservedSystemCPUs: "0"
cpuManagerReconcilePeriod: 1s
memoryManagerPolicy: Static
reservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]
evictionHard: {memory.available: 100Mi}
topologyManagerPolicy: single-numa-node
topologyManagerScope: container"""
TOPOLOGY = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/node-0"
PODS = "/api/v1/namespaces/default/pods"
MEMORY = 64 * 1024 * 1024


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    lab = Lab(tmp_path_factory.mktemp("lab") / "lab", ["--lab", str(ROOT / "tests/real/empty-lab.yaml")])
    folder = pathlib.Path(tempfile.mkdtemp(prefix="athanor-numa-"))
    one = exporter = None
    try:
        lab.start()
        lab.kubectl("apply", "-f", "-", stdin=lab.athanor("numa", "operator", "--render-nrt-crd").out)
        one = RealNode(folder, lab, lab.data / "pki/ca.crt", config=CONFIG).start()
        flags = [
            "--hostname=node-0",
            f"--podresources-socket=unix://{one.pod_resources}",
            f"--kubelet-config-file={folder}/kubelet.yaml",
            "--sleep-interval=500ms",
            "--max-events-per-second=0",
            "--refresh-node-resources",
            "--podreadiness=false",
        ]
        with open(folder / "exporter.log", "wb") as log:
            exporter = subprocess.Popen([ATHANOR, "numa", "exporter", *flags], env=lab.env, stderr=log)
        yield one
    finally:
        if exporter:
            exporter.terminate()
            exporter.wait(timeout=20)
        if one:
            one.close()
        lab.close()
        shutil.rmtree(folder, ignore_errors=True)


def topology(node):
    answer = node.lab.http("GET", TOPOLOGY)
    return answer.json if answer.code == 200 else {}


def resource(node, name, key="available"):
    return next((int(one[key]) for zone in topology(node).get("zones", []) for one in zone["resources"] if one["name"] == name), None)


def attributes(node):
    return {one["name"]: one["value"] for one in topology(node).get("attributes", [])}


def pod(node, name, cpu="1", limits=True):
    amounts = {"cpu": cpu, "memory": str(MEMORY)}
    container = {"name": "c", "image": "docker.io/library/busybox:latest", "imagePullPolicy": "Never", "command": ["sleep", "1000"]}
    container["resources"] = {"requests": amounts, "limits": amounts} if limits else {"requests": amounts}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"nodeName": "node-0", "terminationGracePeriodSeconds": 0, "containers": [container]},
    }
    answer = node.lab.http("POST", PODS, body)
    assert answer.code == 201, answer.text


def phase(node, name):
    answer = node.lab.http("GET", f"{PODS}/{name}")
    return answer.json.get("status", {}).get("phase") if answer.code == 200 else None


def asked(node, *words):
    done = run([ATHANOR, "numa", "podresources", f"--socket=unix://{node.pod_resources}", *words], env=node.lab.env)
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_a_true_topology_is_published_for_a_real_kubelet(node):
    wait_for("the first object", lambda: topology(node))
    allocatable = asked(node, "allocatable")
    assert 0 not in allocatable["cpu_ids"], "cpu 0 is the system's"
    assert resource(node, "cpu", "allocatable") == len(allocatable["cpu_ids"])
    assert resource(node, "cpu", "capacity") == len(allocatable["cpu_ids"]) + 1
    assert resource(node, "memory", "allocatable") == sum(one["size"] for one in allocatable["memory"] if one["memory_type"] == "memory")
    assert attributes(node)["topologyManagerPolicy"] == "single-numa-node"
    assert attributes(node)["topologyManagerScope"] == "container"
    assert topology(node)["metadata"]["ownerReferences"][0]["uid"] == node.node()["metadata"]["uid"]


def test_exclusive_cpus_and_memory_are_accounted_and_given_back(node):
    wait_for("the first object", lambda: topology(node))
    cpus, memory = resource(node, "cpu"), resource(node, "memory")
    quiet = attributes(node)["nodeTopologyPodsFingerprint"]
    pod(node, "shared", cpu="0", limits=False)
    wait_for("the pod without cpus of its own", lambda: phase(node, "shared") == "Running")
    pod(node, "exclusive")
    wait_for("the pod with one", lambda: phase(node, "exclusive") == "Running")
    wait_for("its cpu and memory to be taken", lambda: (resource(node, "cpu"), resource(node, "memory")) == (cpus - 1, memory - MEMORY))
    # The pod's own answer, its cpu, and the fingerprint of the pods with such resources: the scheduler computes the same.
    got = asked(node, "get", "default/exclusive")["pod_resources"]
    assert got["name"] == "exclusive" and len(got["containers"][0]["cpu_ids"]) == 1
    assert [one["name"] for one in asked(node, "list")["pod_resources"] if one["containers"][0]["cpu_ids"]] == ["exclusive"]
    assert attributes(node)["nodeTopologyPodsFingerprint"] != quiet
    assert node.lab.athanor("numa", "cache-check", "--node=node-0", "--dump").out == "node-0: clean\n"
    assert "npv0v001::ve=leb89::cc=1::nn=1::bn=0" == attributes(node)["topology.node.k8s.io/numaplacement-metadata"]
    missing = run([ATHANOR, "numa", "podresources", f"--socket=unix://{node.pod_resources}", "get", "default/nobody"], env=node.lab.env)
    assert missing.code == 2 and "not found" in missing.err, missing.err
    node.lab.http("DELETE", f"{PODS}/exclusive")
    wait_for("both to be given back", lambda: (resource(node, "cpu"), resource(node, "memory")) == (cpus, memory))
    assert attributes(node)["nodeTopologyPodsFingerprint"] == quiet


def test_a_kubelet_that_restarts_is_waited_for(node):
    wait_for("the first object", lambda: topology(node))
    cpus = wait_for("its cpus", lambda: resource(node, "cpu"))
    pod(node, "kept")
    wait_for("a pod with a cpu of its own", lambda: phase(node, "kept") == "Running")
    wait_for("its cpu to be taken", lambda: resource(node, "cpu") == cpus - 1)
    node.stop("kubelet")
    log = node.folder / "exporter.log"
    wait_for("failed rounds", lambda: "podresources: " in log.read_text())
    node.launch("kubelet")
    answered = []

    def rounds():
        """The kubelet has answered for 30 looks, a round of the exporter each; the cpu was never shown as free."""
        if resource(node, "cpu") != cpus - 1:
            raise RuntimeError(f"{resource(node, 'cpu')} cpus are shown as free while a pod has one of {cpus}")
        answered.append(asked(node, "get", "default/kept")["pod_resources"]["containers"][0]["cpu_ids"])
        return len(answered) >= 30

    wait_for("the kubelet's answers", rounds, interval=0.5, deadline=90)
    assert phase(node, "kept") == "Running" and len(answered[-1]) == 1
    node.lab.http("DELETE", f"{PODS}/kept")
    wait_for("its cpu to be given back", lambda: resource(node, "cpu") == cpus)
    before = topology(node)["zones"]

    def runs():
        """A kubelet that starts may still count cpus of pods that are gone: it refuses for good, so the pod is made again."""
        if phase(node, "again") == "Failed":
            node.lab.http("DELETE", f"{PODS}/again")
        if node.lab.http("GET", f"{PODS}/again").code == 404:
            pod(node, "again")
        return phase(node, "again") == "Running"

    wait_for("the pod", runs, interval=1)
    wait_for("its cpu to be taken", lambda: topology(node)["zones"] != before)
    node.lab.http("DELETE", f"{PODS}/again")
