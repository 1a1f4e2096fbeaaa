# SPDX-License-Identifier: Apache-2.0
"""GPUs shared by MPS and time-slicing in the lab (docs/spec/das.md 15.2)."""

import json
from collections import Counter

import pytest
import yaml
from support import ATHANOR, ROOT, run, wait_for

EXAMPLES = ROOT / "examples/das/sharing"


@pytest.fixture
def lab(make_lab):
    return make_lab("--storage", "memory", "--lab", str(EXAMPLES / "lab.yaml")).start()


def claims(lab):
    answer = lab.http("GET", "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/allocationclaims")
    return json.loads(answer.text)["items"]


def allocatable(lab):
    node = json.loads(lab.kubectl("get", "node", "gpu-node", "-o", "json").out)
    return {k: v for k, v in node["status"].get("allocatable", {}).items() if "das.com" in k}


def test_shares_are_handed_out_and_come_back(lab):
    wait_for("shares beside slices", lambda: allocatable(lab).get("mps.das.com/gpu-10gb") == "4")
    assert allocatable(lab)["ts.das.com/gpu"] == "2" and allocatable(lab)["mig.das.com/1g.5gb"] == "7"

    lab.kubectl("apply", "-f", EXAMPLES / "mps.yaml")
    wait_for("the log", lambda: "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=20480M" in lab.kubectl("logs", "mps-pod").out)
    log = lab.kubectl("logs", "mps-pod").out
    assert "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50" in log and "CUDA_MPS_PIPE_DIRECTORY=/var/run/das/mps/GPU-" in log
    assert "NVIDIA_VISIBLE_DEVICES=test" in log
    assert json.loads(lab.kubectl("get", "pod", "mps-pod", "-o", "json").out)["spec"]["schedulerName"] == "das-scheduler"
    assert sorted((c["spec"]["type"], c["spec"]["share"]["memoryMiB"], c["status"]["state"]) for c in claims(lab)) == [("mps", 10240, "inUse")] * 2

    lab.kubectl("apply", "-f", EXAMPLES / "timeslice.yaml")
    wait_for("two run", lambda: lab.kubectl("get", "deployment", "turns", "-o", "jsonpath={.status.readyReplicas}").out == "2")
    wait_for("the third waits", lambda: "Insufficient ts.das.com/gpu" in lab.kubectl("get", "pods", "-l", "app=turns", "-o", "json").out)

    # A slice goes to the GPU that is sliced, and nowhere else.
    lab.kubectl("apply", "-f", ROOT / "examples/das/test-pod-multi-resource.yaml")
    wait_for("slices of the third GPU", lambda: len([c for c in claims(lab) if "migPlacement" in c["spec"] and c.get("status", {}).get("state") == "inUse"]) == 2)
    by_gpu = {}
    for claim in claims(lab):
        by_gpu.setdefault(claim["spec"]["gpuUUID"], set()).add(claim["spec"].get("type", "mig"))
    assert sorted(map(sorted, by_gpu.values())) == [["mig"], ["mps"], ["timeslice"]]

    lab.kubectl("delete", "pod", "mps-pod", "--wait=false")
    lab.kubectl("delete", "deployment", "turns", "--wait=false")
    wait_for("shares come back", lambda: {c["spec"].get("type", "mig") for c in claims(lab)} == {"mig"})


def test_a_mode_changes_once_the_gpu_is_free(lab):
    lab.kubectl("apply", "-f", EXAMPLES / "mps.yaml")
    wait_for("the shares are in use", lambda: [c.get("status", {}).get("state") for c in claims(lab)] == ["inUse"] * 2)
    lab.kubectl("annotate", "node", "gpu-node", "--overwrite", "das.inference.redhat.com/gpu-sharing=0=timeslice:5,1=mig,9=mig")
    wait_for("what is wrong is said", lambda: "there is no GPU 9" in lab.kubectl("get", "events", "-A").out)
    lab.kubectl("annotate", "node", "gpu-node", "--overwrite", "das.inference.redhat.com/gpu-sharing=0=timeslice:5,1=mig")
    wait_for("the free GPU is sliced", lambda: allocatable(lab).get("mig.das.com/1g.5gb") == "14")
    assert allocatable(lab)["mps.das.com/gpu-10gb"] == "4" and "ts.das.com/gpu" not in allocatable(lab)
    lab.kubectl("delete", "pod", "mps-pod", "--wait=false")
    wait_for("the other follows", lambda: allocatable(lab).get("ts.das.com/gpu") == "5" and "mps.das.com/gpu-10gb" not in allocatable(lab))


def test_slices_that_are_shared(make_lab, tmp_path):
    file = tmp_path / "lab.yaml"
    node = {"name": "gpu-node", "capacity": {"cpu": 32, "memory": "128Gi"}, "gpus": {"model": "A100-PCIE-40GB", "count": 2, "sharing": "0=3g.20gb:timeslice:2,1=2g.10gb:mps:5"}}
    body = {"apiVersion": "athanor.dev/v1", "kind": "Lab", "settings": {"EMULATED_DEVICE_IDS": "uuid"}, "nodes": [node]}
    file.write_text(yaml.safe_dump(body), encoding="utf-8")
    lab = make_lab("--storage", "memory", "--lab", str(file)).start()
    wait_for("shares of slices", lambda: {k: v for k, v in allocatable(lab).items() if v != "0"} == {"ts.das.com/3g.20gb": "4", "mps.das.com/2g.10gb-5gb": "6"})
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox", "command": ["sh", "-c", "env; sleep 3600"]}]}}
    for name, resource in (("a", "ts.das.com/3g.20gb"), ("b", "ts.das.com/3g.20gb"), ("c", "ts.das.com/3g.20gb"), ("m", "mps.das.com/2g.10gb-5gb")):
        pod["metadata"] = {"name": name}
        pod["spec"]["containers"][0]["resources"] = {"limits": {resource: "1"}}
        lab.kubectl("apply", "-f", "-", stdin=json.dumps(pod))
        wait_for(f"{name} runs", lambda: "NVIDIA_VISIBLE_DEVICES=MIG-" in lab.kubectl("logs", name, code=None).out)
    device = {name: next(x for x in lab.kubectl("logs", name).out.split() if x.startswith("NVIDIA_VISIBLE")) for name in "abcm"}
    assert device["a"] == device["b"] and len(set(device.values())) == 3
    assert "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=5120M" in lab.kubectl("logs", "m").out
    assert Counter(c["spec"]["share"]["slice"]["profile"] for c in claims(lab)) == {"3g.20gb": 3, "2g.10gb": 1}

    node["gpus"]["sharing"] = "0=9g.99gb:mps:5"
    file.write_text(yaml.safe_dump(body), encoding="utf-8")
    refused = run([ATHANOR, "up", "--lab", file, "--storage", "memory"])
    assert refused.code != 0 and "A100-PCIE-40GB has no profile 9g.99gb" in refused.err
