# SPDX-License-Identifier: Apache-2.0
"""athanor-agent as the DRA driver of a real kubelet, with the fake NVML library: pods get the slices of their ResourceClaims through
containerd and CDI, across restarts (docs/spec/das.md 15.1)."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest
from node import RealNode
from support import ATHANOR, ROOT, Lab, wait_for

AGENT = pathlib.Path(os.environ.get("ATHANOR_AGENT", ATHANOR.parent / "athanor-agent"))
DRA = "/apis/resource.k8s.io/v1"
DAS = "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator"


class Agent:
    def __init__(self, node):
        self.node, self.process, self.state = node, None, node.folder / "gpus"

    def start(self):
        kubelet = self.node.folder / "kubelet"
        with (self.node.folder / "agent.log").open("ab") as log:
            self.process = subprocess.Popen(
                [AGENT, "daemonset", f"--kubeconfig={self.node.lab.kubeconfig}", "--listen=0", "--cluster-policy-name=", f"--cdi-dir={self.node.cdi}",
                 f"--pod-resources-socket={self.node.pod_resources}", f"--nvml-library={AGENT.parent / 'libnvidia-ml-fake.so'}",
                 f"--plugins-dir={kubelet / 'plugins'}", f"--plugins-registry-dir={kubelet / 'plugins_registry'}"],
                env={**os.environ, "NODE_NAME": self.node.name, "FAKE_NVML_STATE": str(self.state)}, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            )  # fmt: skip

    def stop(self):
        self.process.terminate()
        self.process.wait(30)

    def slices(self):
        stored = json.loads(self.state.read_text()) if self.state.exists() else {"instances": []}
        return sorted(compute["uuid"] for one in stored["instances"] for compute in one["computes"])


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder, node, agent = pathlib.Path(tempfile.mkdtemp(prefix="athanor-node-")), None, None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAS_ALLOCATION_API", "dra")
        lab = Lab(tmp_path_factory.mktemp("lab") / "lab", ["--lab", str(ROOT / "tests/real/empty-lab.yaml")])
        try:
            lab.start()
            lab.http("POST", "/api/v1/namespaces", {"metadata": {"name": "das-operator"}})
            node = RealNode(folder, lab, lab.data / "pki/ca.crt").start()
            agent = Agent(node)
            agent.start()
            body = {"apiVersion": "inference.redhat.com/v1alpha1", "kind": "DASOperator", "metadata": {"name": "cluster"}, "spec": {}}
            assert lab.http("POST", f"{DAS}/dasoperators", body).code == 201
            wait_for("classes are there", lambda: len(lab.get(f"{DRA}/deviceclasses")["items"]) == 9)
            yield lab, node, agent
        finally:
            if agent and agent.process.poll() is None:
                agent.process.kill()
                agent.process.wait()
            if (folder / "agent.log").exists():
                print((folder / "agent.log").read_text()[-6000:])
            if node:
                node.close()
            lab.close()
            shutil.rmtree(folder, ignore_errors=True)


def add_pod(lab, name):
    template = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": name}, "spec": {"spec": {"devices": {"requests": [
        {"name": "slice", "exactly": {"deviceClassName": "1g.5gb.mig.nvidia.com"}}]}}}}  # fmt: skip
    assert lab.http("POST", f"{DRA}/namespaces/default/resourceclaimtemplates", template).code == 201
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "terminationGracePeriodSeconds": 0, "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": name}], "containers": [
            {"name": "c", "image": "docker.io/library/busybox:latest", "imagePullPolicy": "Never", "command": ["sh", "-c", "env; exec sleep 3600"],
             "resources": {"claims": [{"name": "gpu"}]}}]}}  # fmt: skip
    answer = lab.http("POST", "/api/v1/namespaces/default/pods", body)
    assert answer.code == 201, answer.text


def phase(lab, name):
    return lab.get(f"/api/v1/namespaces/default/pods/{name}").get("status", {}).get("phase")


def test_a_pod_gets_the_slice_of_its_claim(world):
    lab, node, agent = world
    add_pod(lab, "a")
    wait_for("the pod runs", lambda: phase(lab, "a") == "Running")
    (uuid,) = agent.slices()
    wait_for("the log", lambda: f"NVIDIA_VISIBLE_DEVICES={uuid}" in node.log("a"))
    assert "CUDA_VISIBLE_DEVICES=0" in node.log("a")
    assert [c["status"]["state"] for c in lab.get(f"{DAS}/allocationclaims")["items"]] == ["inUse"]


def test_restarts_disturb_nothing_and_nothing_is_left(world):
    lab, node, agent = world
    before = agent.slices()
    agent.stop()
    agent.start()
    node.stop("kubelet")
    node.launch("kubelet")
    add_pod(lab, "b")
    wait_for("the second pod runs", lambda: phase(lab, "b") == "Running")
    assert phase(lab, "a") == "Running" and len(agent.slices()) == 2 and set(before) <= set(agent.slices())
    for name in ("a", "b"):
        lab.http("DELETE", f"/api/v1/namespaces/default/pods/{name}")
    wait_for("nothing is left", lambda: not agent.slices() and not lab.get(f"{DAS}/allocationclaims")["items"] and not list(node.cdi.glob("k8s.*.json")))
