# SPDX-License-Identifier: Apache-2.0
"""athanor-agent as the driver of ResourceClaims, asked by a kubelet that a test plays (docs/spec/das.md 15.1): emulated GPUs, and the fake
NVML library."""

import contextlib
import json
import random
import shutil
import signal
import socket

import grpc
import pytest
from fake_kubelet import FakeDraManager, dra_api
from support import ROOT, wait_for
from test_agent import world

EXAMPLES = ROOT / "examples/das/dra"
DRA = "/apis/resource.k8s.io/v1"
DAS = "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator"
DRIVER = "das.inference.redhat.com"


def make_world(make_lab, monkeypatch, real, api="dra"):
    monkeypatch.setenv("DAS_ALLOCATION_API", api)
    agent = world(make_lab, real)
    body = {"apiVersion": "inference.redhat.com/v1alpha1", "kind": "DASOperator", "metadata": {"name": "cluster"}, "spec": {"managementState": "Managed"}}
    assert agent.lab.http("POST", f"{DAS}/dasoperators", body).code == 201
    agent.dra = FakeDraManager(agent.folder / "dra", agent.lab)
    return agent


def start(agent):
    agent.start(f"--plugins-registry-dir={agent.dra.registry}", f"--plugins-dir={agent.dra.plugins}", ready=False)
    info = agent.dra.register()
    wait_for("the agent is ready", lambda: agent.get("/readyz")[0] == 200)
    return info


@pytest.fixture
def worlds(make_lab, monkeypatch):
    made = []

    def make(real=False, api="dra"):
        made.append(make_world(make_lab, monkeypatch, real, api))
        return made[-1]

    yield make
    for one in made:
        one.close()
        one.kubelet.close()
        shutil.rmtree(one.folder, ignore_errors=True)


def slices(agent):
    return [s for s in agent.lab.get(f"{DRA}/resourceslices")["items"] if s["spec"]["nodeName"] == "gpu-1"]


def devices(agent):
    return [d["name"] for s in slices(agent) for d in s["spec"].get("devices", [])]


def mirrors(agent):
    return agent.lab.get(f"{DAS}/allocationclaims")["items"]


def states(agent):
    return sorted((c["spec"].get("profile", "whole"), c["spec"]["migPlacement"]["start"], c.get("status", {}).get("state")) for c in mirrors(agent))


def bind(agent, file, pod):
    """Applies an example, waits until its pod is bound; its claims."""
    wait_for("classes are there", lambda: len(agent.lab.get(f"{DRA}/deviceclasses")["items"]) == 9)
    agent.lab.kubectl("apply", "-f", EXAMPLES / file)
    agent.kubelet.wait_bound(pod)
    return claims_of(agent, pod)


def claims_of(agent, pod):
    found = agent.lab.get(f"{DRA}/namespaces/default/resourceclaims")["items"]
    return [c for c in found if any(r["name"] == pod for r in c["status"].get("reservedFor", []))]


def files(agent):
    return sorted(path.name for path in agent.cdi.glob("k8s.*.json"))


def seen(agent, prepared):
    """The environment of each CDI device of an answer, by its requests."""
    found = {}
    for device in prepared.devices:
        for name in device.cdi_device_ids:
            kind, _, short = name.partition("=")
            assert kind == f"k8s.{DRIVER}/claim"
            for file in agent.cdi.glob("k8s.*.json"):
                for one in json.loads(file.read_text())["devices"]:
                    if one["name"] == short:
                        found[tuple(device.request_names)] = dict(e.split("=", 1) for e in one["containerEdits"]["env"])
    return found


def test_a_claim_is_prepared_and_leaves_nothing(worlds):
    agent = worlds()
    info = start(agent)
    assert (info.type, info.name, list(info.supported_versions)) == ("DRAPlugin", DRIVER, ["v1.DRAPlugin"])
    wait_for("the pool is published", lambda: len(devices(agent)) == 52)
    assert {s["spec"]["driver"] for s in slices(agent)} == {DRIVER} and not agent.kubelet.devices, "a GPU belongs to one API"

    (claim,) = bind(agent, "pod.yaml", "dra-pod")
    uid = claim["metadata"]["uid"]
    answer = agent.dra.prepare(claim)[uid]
    assert not answer.error and [(list(d.request_names), d.pool_name) for d in answer.devices] == [(["slice"], "gpu-1")]
    assert seen(agent, answer) == {("slice",): {"NVIDIA_VISIBLE_DEVICES": "test", "CUDA_VISIBLE_DEVICES": "0"}}
    assert states(agent) == [("1g.5gb", 6, "inUse")]
    assert agent.dra.prepare(claim)[uid] == answer, "the same question has the same answer"

    assert not agent.dra.unprepare(claim)[uid].error
    assert not files(agent) and states(agent) == [("1g.5gb", 6, "created")]
    assert not agent.dra.unprepare(claim)[uid].error, "once more changes nothing"
    agent.kubelet.finish("dra-pod")
    wait_for("the mirror goes with the claim", lambda: not mirrors(agent), deadline=10)


def test_containers_see_what_they_name(worlds):
    agent = worlds(real=True)
    start(agent)
    (claim,) = bind(agent, "same-gpu.yaml", "dra-same-gpu")
    answer = agent.dra.prepare(claim)[claim["metadata"]["uid"]]
    assert not answer.error, answer.error
    visible = [env["NVIDIA_VISIBLE_DEVICES"] for env in seen(agent, answer).values()]
    assert len(visible) == 2 and all(one.startswith("MIG-") for one in visible) and len(set(visible)) == 2
    assert sorted(i["start"] for i in agent.instances()) == [0, 6]


def test_slices_outlive_the_agent_and_end_with_their_claim(worlds):
    agent = worlds(real=True)
    start(agent)
    (claim,) = bind(agent, "pod.yaml", "dra-pod")
    uid = claim["metadata"]["uid"]
    first = agent.dra.prepare(claim)[uid]
    assert not first.error and len(agent.instances()) == 1
    agent.stop(signal.SIGKILL)
    (agent.cdi / files(agent)[0]).unlink()
    start(agent)
    assert agent.dra.prepare(claim)[uid] == first and len(agent.instances()) == 1

    # A kubelet that lost its memory does not ask: the agent finds by itself that the claim is gone.
    agent.stop(signal.SIGKILL)
    agent.kubelet.finish("dra-pod")
    wait_for("the claim is gone", lambda: not agent.lab.get(f"{DRA}/namespaces/default/resourceclaims")["items"])
    assert [state for *_, state in states(agent)] == ["inUse"], "nothing ends while its slice may be there"
    start(agent)
    wait_for("the slice is gone", lambda: not agent.instances() and not files(agent))
    wait_for("its mirror, too", lambda: not mirrors(agent), deadline=10)


def test_a_failure_undoes_all_and_the_next_try_succeeds(worlds):
    agent = worlds(real=True)
    start(agent)
    (claim,) = bind(agent, "same-gpu.yaml", "dra-same-gpu")
    uid = claim["metadata"]["uid"]
    agent.tell_gpus(fail={"nvmlGpuInstanceCreateComputeInstance": 999})
    assert agent.dra.prepare(claim)[uid].error
    assert not agent.instances() and not files(agent) and {state for *_, state in states(agent)} == {"created"}
    agent.tell_gpus()
    answer = agent.dra.prepare(claim)[uid]
    assert not answer.error and len(agent.instances()) == 2


def test_what_cannot_be_prepared_says_why(worlds):
    agent = worlds()
    start(agent)
    (claim,) = bind(agent, "pod.yaml", "dra-pod")
    other = {"metadata": {**claim["metadata"], "uid": "other"}}
    assert agent.dra.prepare(other)["other"].error.endswith("has another uid")
    gone = {"metadata": {"namespace": "default", "name": "gone", "uid": "u"}}
    assert '"gone" not found' in agent.dra.prepare(gone)["u"].error
    assert not agent.dra.unprepare(gone)["u"].error
    path = {"metadata": {"namespace": "default", "name": "x", "uid": "../../boot"}}
    assert agent.dra.unprepare(path)["../../boot"].error == '"../../boot" is no uid'
    free = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "free"},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "mig.nvidia.com"}}]}}}  # fmt: skip
    made = agent.lab.http("POST", f"{DRA}/namespaces/default/resourceclaims", free)
    assert made.code == 201, made.text
    free = json.loads(made.text)
    assert f"no device of {DRIVER} is allocated" in agent.dra.prepare(free)[free["metadata"]["uid"]].error


def test_messages_that_are_none_end_nothing(worlds):
    agent = worlds()
    start(agent)
    (claim,) = bind(agent, "pod.yaml", "dra-pod")
    good = dra_api.NodePrepareResourcesRequest(claims=agent.dra._claims([claim])).SerializeToString()
    noise = random.Random(18)
    method = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources"
    for _ in range(300):
        bad = bytearray(good)
        for _ in range(noise.randint(1, 6)):
            bad[noise.randrange(len(bad))] = noise.randrange(256)
        bad = bytes(bad[: noise.randint(0, len(bad))]) + noise.randbytes(noise.randint(0, 20))
        with agent.dra._open(agent.dra.driver.endpoint) as channel, contextlib.suppress(grpc.RpcError):
            channel.unary_unary(method, request_serializer=bytes, response_deserializer=bytes)(bad, timeout=10)
    for _ in range(100):  # no gRPC at all
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(agent.dra.driver.endpoint)
            with contextlib.suppress(OSError):
                raw.sendall(noise.randbytes(noise.randint(1, 400)))
    assert agent.process.poll() is None
    assert not agent.dra.prepare(claim)[claim["metadata"]["uid"]].error


def test_a_gpu_changes_hands_once_it_is_free(worlds):
    agent = worlds(api="both")
    start(agent)
    wait_for("one GPU each", lambda: len(devices(agent)) == 26 and len(agent.kubelet.devices.get("mig.das.com/1g.5gb", [])) == 7)
    agent.lab.kubectl("annotate", "node", "gpu-1", "das.inference.redhat.com/allocation-api=dra")
    wait_for("both belong to DRA", lambda: len(devices(agent)) == 52, deadline=20)
    agent.lab.kubectl("annotate", "node", "gpu-1", "--overwrite", "das.inference.redhat.com/allocation-api=7=dra")
    wait_for("what is wrong is said", lambda: "there is no GPU 7" in agent.lab.kubectl("get", "events", "-A").out, deadline=20)
