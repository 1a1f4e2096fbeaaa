# SPDX-License-Identifier: Apache-2.0
"""GPUs of other vendors in the lab: partitions of AMD's, virtual functions of Intel's (docs/spec/das.md 15.3)."""

import json

import pytest
from support import ROOT, wait_for

EXAMPLES = ROOT / "examples/das/vendors"
GROUP = "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator"


@pytest.fixture
def lab(make_lab):
    return make_lab("--storage", "memory", "--lab", str(EXAMPLES / "lab.yaml")).start()


def claims(lab, kind):
    return [c for c in lab.get(f"{GROUP}/allocationclaims")["items"] if c["spec"].get("type", "mig") == kind]


def allocatable(lab, node):
    found = json.loads(lab.kubectl("get", "node", node, "-o", "json").out)["status"].get("allocatable", {})
    return {k: v for k, v in found.items() if "das.com" in k}


def test_partitions_and_functions_are_handed_out(lab):
    wait_for("AMD's partitions", lambda: allocatable(lab, "amd-node") == {"amd.das.com/cpx-nps4": "8", "amd.das.com/spx-nps1": "1"})
    wait_for("Intel's functions", lambda: allocatable(lab, "intel-node") == {"intel.das.com/vf": "2"})
    types = {n["metadata"]["name"]: n["spec"]["acceleratorType"] for n in lab.get(f"{GROUP}/nodeaccelerators")["items"]}
    assert types == {"amd-node": "amd-mi300", "intel-node": "intel-xe", "gpu-node": "nvidia-mig"}

    lab.kubectl("apply", "-f", EXAMPLES / "amd.yaml")
    wait_for("the log", lambda: "ROCR_VISIBLE_DEVICES=0,1" in lab.kubectl("logs", "amd-pod").out)
    found = claims(lab, "partition")
    assert sorted(c["spec"]["share"]["index"] for c in found) == [0, 1] and {c["spec"]["share"]["memoryMiB"] for c in found} == {24576}
    assert {c["status"]["state"] for c in found} == {"inUse"} and {c["spec"]["nodename"] for c in found} == {"amd-node"}

    lab.kubectl("apply", "-f", EXAMPLES / "intel.yaml")
    wait_for("two run", lambda: lab.kubectl("get", "deployment", "functions", "-o", "jsonpath={.status.readyReplicas}").out == "2")
    wait_for("the third waits", lambda: "Insufficient intel.das.com/vf" in lab.kubectl("get", "pods", "-l", "app=functions", "-o", "json").out)
    assert sorted(c["spec"]["share"]["index"] for c in claims(lab, "vf")) == [0, 1]

    # A slice goes to NVIDIA's GPU, whatever else there is.
    lab.kubectl("apply", "-f", ROOT / "examples/das/test-pod-emulated.yaml")
    wait_for("the slice", lambda: [c["spec"]["nodename"] for c in claims(lab, "mig") if c.get("status", {}).get("state") == "inUse"] == ["gpu-node"])


def test_a_gpu_is_divided_anew_once_it_is_drained(lab):
    lab.kubectl("apply", "-f", EXAMPLES / "amd.yaml")
    wait_for("the partitions are in use", lambda: [c.get("status", {}).get("state") for c in claims(lab, "partition")] == ["inUse"] * 2)
    annotate = ("annotate", "node", "amd-node", "--overwrite")
    lab.kubectl(*annotate, "das.inference.redhat.com/gpu-sharing=0=mig")
    wait_for("what is wrong is said", lambda: "INDEX=spx, dpx, qpx or cpx" in lab.kubectl("get", "events", "-A").out)
    lab.kubectl(*annotate, "das.inference.redhat.com/gpu-sharing=0=qpx,1=dpx")
    wait_for("the free GPU follows", lambda: allocatable(lab, "amd-node") == {"amd.das.com/cpx-nps4": "8", "amd.das.com/dpx-nps1": "2"})
    lab.kubectl("delete", "pod", "amd-pod", "--wait=false")
    wait_for("the drained one, too", lambda: allocatable(lab, "amd-node") == {"amd.das.com/qpx-nps1": "4", "amd.das.com/dpx-nps1": "2"})


def test_an_unknown_type_concerns_its_node_alone(lab):
    wait_for("AMD's partitions", lambda: "amd.das.com/cpx-nps4" in allocatable(lab, "amd-node"))
    # The scheduler sees the type that another agent publishes; this lab's own agent has to leave the node first.
    lab.kubectl("label", "node", "intel-node", "das.inference.redhat.com/accelerator-")
    lab.kubectl("patch", "nodeaccelerator", "intel-node", "-n", "das-operator", "--type=merge", "-p", '{"spec":{"acceleratorType":"other-gpu"}}')
    lab.kubectl("apply", "-f", EXAMPLES / "amd.yaml")
    wait_for("other nodes go on", lambda: lab.kubectl("get", "pod", "amd-pod", "-o", "jsonpath={.status.phase}").out == "Running")
