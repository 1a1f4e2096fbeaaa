# SPDX-License-Identifier: Apache-2.0
"""DRA in the lab (docs/spec/das.md 15.1): what is published, what pods with ResourceClaims get, and GPUs of either API."""

import json

import pytest
from support import ROOT, wait_for

EXAMPLES = ROOT / "examples/das/dra"
GROUP = "/apis/resource.k8s.io/v1"


def objects(lab, path):
    answer = lab.http("GET", path)
    assert answer.code == 200, answer.text
    return json.loads(answer.text)["items"]


def mirrors(lab):
    return objects(lab, "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/allocationclaims")


def states(lab):
    return sorted(
        (c["spec"].get("profile", "whole"), c["spec"]["migPlacement"]["start"], c.get("status", {}).get("state")) for c in mirrors(lab)
    )


def pod(lab, name):
    return json.loads(lab.kubectl("get", "pod", name, "-o", "json").out)


def phase(lab, name):
    return pod(lab, name)["status"].get("phase")


@pytest.fixture
def dra_lab(make_lab):
    lab = make_lab("--storage", "memory", "--lab", str(EXAMPLES / "lab.yaml")).start()
    wait_for("the pool is published", lambda: len(objects(lab, f"{GROUP}/resourceslices")) == 2)
    wait_for("classes are there", lambda: len(objects(lab, f"{GROUP}/deviceclasses")) == 9)
    return lab


def test_pools_are_published_and_pods_get_their_slices(dra_lab):
    lab = dra_lab
    counters, devices = objects(lab, f"{GROUP}/resourceslices")
    assert [s["name"] for s in counters["spec"]["sharedCounters"]] == ["gpu-0-counter-set", "gpu-1-counter-set"]
    assert len(devices["spec"]["devices"]) == 52
    node = json.loads(lab.kubectl("get", "node", "gpu-node", "-o", "json").out)
    assert not [r for r in node["status"]["allocatable"] if r.startswith("mig.das.com/")], "a GPU belongs to one API"

    lab.kubectl("apply", "-f", EXAMPLES / "pod.yaml")
    wait_for("the pod runs", lambda: phase(lab, "dra-pod") == "Running")
    assert states(lab) == [("1g.5gb", 6, "inUse")], "the last start leaves the most room"
    wait_for("the log", lambda: "NVIDIA_VISIBLE_DEVICES=test" in lab.kubectl("logs", "dra-pod").out)
    assert "CUDA_VISIBLE_DEVICES=0" in lab.kubectl("logs", "dra-pod").out
    cdi = list((lab.data / "nodes/gpu-node/var/run/cdi").iterdir())
    assert [p.name.startswith("k8s.das.inference.redhat.com-claim_") for p in cdi] == [True]
    assert "allocated,reserved" in lab.kubectl("get", "resourceclaims").out
    assert "1g.5gb  default/dra-pod  inUse" in lab.athanor("slices").out

    lab.kubectl("apply", "-f", EXAMPLES / "extended.yaml")
    wait_for("the pod runs", lambda: phase(lab, "dra-extended") == "Running")
    status = pod(lab, "dra-extended")["status"]["extendedResourceClaimStatus"]
    assert status["requestMappings"][0]["resourceName"] == "mig.das.com/2g.10gb"
    wait_for("the log", lambda: "NVIDIA_VISIBLE_DEVICES=test" in lab.kubectl("logs", "dra-extended").out)

    lab.kubectl("delete", "pod", "dra-pod", "dra-extended", "--wait=false")
    wait_for("nothing is left", lambda: mirrors(lab) == [] and not list((lab.data / "nodes/gpu-node/var/run/cdi").iterdir()))
    wait_for("claims go with their pods", lambda: objects(lab, f"{GROUP}/resourceclaims") == [])


def test_a_limit_of_whole_gpus_gets_a_claim(dra_lab):
    """`shared/cases` 93: NVIDIA's own DeviceClass has the extended resource name nvidia.com/gpu."""
    lab = dra_lab
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox", "command": ["sleep", "3600"], "resources": {"limits": {"nvidia.com/gpu": 1}}}]}
    lab.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "whole"}, "spec": spec}))
    wait_for("the pod runs", lambda: phase(lab, "whole") == "Running")
    assert [state[0::2] for state in states(lab)] == [("whole", "inUse")]
    assert pod(lab, "whole")["status"]["extendedResourceClaimStatus"]["requestMappings"][0]["resourceName"] == "nvidia.com/gpu"


def test_opaque_configuration_is_warned_of(dra_lab):
    lab = dra_lab
    parameters = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig", "sharing": {"strategy": "TimeSlicing"}}
    claim = {"devices": {
        "requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}],
        "config": [{"requests": ["gpu"], "opaque": {"driver": "gpu.nvidia.com", "parameters": parameters}}],
    }}  # fmt: skip
    lab.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "shared"}, "spec": claim}))
    container = {"name": "c", "image": "busybox", "command": ["sleep", "3600"], "resources": {"claims": [{"name": "gpu"}]}}
    spec = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "shared"}], "containers": [container]}
    lab.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "shares"}, "spec": spec}))
    wait_for("the warning", lambda: "opaque configuration GpuConfig of driver gpu.nvidia.com has no effect" in lab.kubectl("get", "events").out)
    wait_for("the pod runs", lambda: phase(lab, "shares") == "Running")


def test_slices_of_one_gpu_for_two_containers(dra_lab):
    lab = dra_lab
    lab.kubectl("apply", "-f", EXAMPLES / "same-gpu.yaml")
    wait_for("the pod runs", lambda: phase(lab, "dra-same-gpu") == "Running")
    assert states(lab) == [("1g.5gb", 6, "inUse"), ("3g.20gb", 0, "inUse")]
    assert len({c["spec"]["gpuUUID"] for c in mirrors(lab)}) == 1
    for container in ("first", "second"):
        wait_for("the log", lambda c=container: "CUDA_VISIBLE_DEVICES=0\n" in lab.kubectl("logs", "dra-same-gpu", "-c", c).out)


def test_a_full_node_says_so_and_goes_on(dra_lab):
    lab = dra_lab
    lab.kubectl("apply", "-f", EXAMPLES / "pod.yaml")
    template = pod(lab, "dra-pod")
    for number in range(14):
        made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}"}, "spec": {
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "small-slice"}],
            "containers": [{"name": "c", "image": "busybox", "command": ["sleep", "3600"], "resources": {"claims": [{"name": "gpu"}]}}],
        }}  # fmt: skip
        lab.kubectl("apply", "-f", "-", stdin=json.dumps(made))
    assert template["metadata"]["name"] == "dra-pod"
    wait_for("fourteen slices", lambda: len([s for s in states(lab) if s[2] == "inUse"]) == 14)

    def waiting():
        pods = json.loads(lab.kubectl("get", "pods", "-o", "json").out)["items"]
        return [p for p in pods if not p["spec"].get("nodeName")]

    (last,) = waiting()
    assert "1 cannot allocate all claims" in json.dumps(last["status"])
    taken = {(c["spec"]["gpuUUID"], c["spec"]["migPlacement"]["start"]) for c in mirrors(lab)}
    assert len(taken) == 14
    lab.kubectl("delete", "pod", "dra-pod", "--wait=false")
    wait_for("the last runs", lambda: not waiting())


def test_a_gpu_belongs_to_one_api(make_lab, monkeypatch):
    monkeypatch.setenv("DAS_ALLOCATION_API", "both")
    lab = make_lab("--storage", "memory", "--lab", str(ROOT / "examples/das/lab.yaml")).start()

    def devices():
        return [d["name"] for s in objects(lab, f"{GROUP}/resourceslices") for d in s["spec"].get("devices", [])]

    wait_for("one GPU is published", lambda: len(devices()) == 26)
    assert all(name.startswith("gpu-1") for name in devices())
    allocatable = ("get", "node", "gpu-node", "-o", r"jsonpath={.status.allocatable.mig\.das\.com/1g\.5gb}")
    wait_for("the other is a plugin's", lambda: lab.kubectl(*allocatable).out == "7")
    lab.kubectl("apply", "-f", ROOT / "examples/das/test-pod-emulated.yaml", "-f", EXAMPLES / "pod.yaml")
    wait_for("both run", lambda: [s[2] for s in states(lab)] == ["inUse", "inUse"])
    assert len({c["spec"]["gpuUUID"] for c in mirrors(lab)}) == 2

    annotate = ("annotate", "node", "gpu-node", "--overwrite")
    lab.kubectl(*annotate, "das.inference.redhat.com/allocation-api=dra")
    lab.kubectl("delete", "pod", "test-pod-emulated", "--wait=false")
    wait_for("the free GPU changes hands", lambda: len(devices()) == 52)
    wait_for("no devices of plugins", lambda: lab.kubectl(*allocatable).out == "")
    generations = {s["spec"]["pool"]["generation"] for s in objects(lab, f"{GROUP}/resourceslices")}
    assert len(generations) == 1 and generations.pop() > 1
    lab.kubectl(*annotate, "das.inference.redhat.com/allocation-api=5=dra")
    wait_for("an event says what is wrong", lambda: "there is no GPU 5" in lab.kubectl("get", "events", "-A").out)


def test_a_killed_lab_keeps_what_claims_hold(make_lab):
    lab = make_lab("--lab", str(EXAMPLES / "lab.yaml")).start()
    lab.kubectl("apply", "-f", EXAMPLES / "pod.yaml")
    wait_for("the pod runs", lambda: phase(lab, "dra-pod") == "Running" and states(lab) == [("1g.5gb", 6, "inUse")])
    before = mirrors(lab)[0]["metadata"]["uid"]
    lab.process.kill()
    lab.process.wait(60)
    lab.start()
    wait_for("the pod runs again", lambda: phase(lab, "dra-pod") == "Running")
    assert [c["metadata"]["uid"] for c in mirrors(lab)] == [before]
