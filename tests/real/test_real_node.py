# SPDX-License-Identifier: Apache-2.0
"""A real kubelet and containerd joined to the embedded control plane: what tests of device plugins and pod resources stand on."""

import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import time

import pytest
from node import RealNode
from support import ATHANOR, ROOT, Lab, run, wait_for

AGENT = pathlib.Path(os.environ.get("ATHANOR_AGENT", ATHANOR.parent / "athanor-agent"))

@pytest.fixture(scope="module")
def node(tmp_path_factory):
    lab = Lab(tmp_path_factory.mktemp("lab") / "lab", ["--lab", str(ROOT / "tests/real/empty-lab.yaml")])
    folder = pathlib.Path(tempfile.mkdtemp(prefix="athanor-node-"))
    one = None
    try:
        lab.start()
        one = RealNode(folder, lab, lab.data / "pki/ca.crt").start()
        yield one
    finally:
        if one:
            one.close()
        lab.close()
        shutil.rmtree(folder, ignore_errors=True)


def test_a_pod_runs_on_the_real_kubelet(node):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "hello"}, "spec": {"restartPolicy": "Never", "containers": [
        {"name": "c", "image": "docker.io/library/busybox:latest", "imagePullPolicy": "Never", "command": ["sh", "-c", "echo hello from $HOSTNAME"]}]}}  # fmt: skip
    answer = node.lab.http("POST", "/api/v1/namespaces/default/pods", pod)
    assert answer.code == 201, answer.text
    wait_for("the pod succeeds", lambda: node.lab.get("/api/v1/namespaces/default/pods/hello")["status"].get("phase") == "Succeeded")
    assert node.log("hello") == "hello from hello\n"


# --- athanor-agent beside the real kubelet, with the fake NVML library (docs/spec/das.md 8) ----------------------------------------------
CLAIMS = "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/allocationclaims"


FOREIGN = {"gpu": 1, "id": 77, "profile": "1g.5gb", "start": 6, "size": 1, "computes": [{"id": 0, "profile": 0, "uuid": "MIG-foreign"}]}


class Agent:
    """athanor-agent on the node, with GPUs of the fake library."""

    def __init__(self, node):
        self.node, self.process, self.runs = node, None, 0
        self.state = node.folder / "gpus"
        self.control = node.folder / "control"
        self.log = node.folder / "agent.log"

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [AGENT, "daemonset", f"--kubeconfig={self.node.lab.kubeconfig}", "--listen=0", "--cluster-policy-name=", f"--cdi-dir={self.node.cdi}",
                 f"--pod-resources-socket={self.node.pod_resources}", f"--nvml-library={AGENT.parent / 'libnvidia-ml-fake.so'}", "--log-level=debug"],
                env={**os.environ, "NODE_NAME": self.node.name, "FAKE_NVML_STATE": str(self.state), "FAKE_NVML_CONTROL": str(self.control)}, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        return self

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            assert self.process.wait(30) == 0
        return self

    def kill_and_start(self, **trouble):
        """The next run has this trouble with its GPUs."""
        self.process.kill()
        self.process.wait()
        self.set_foreign(trouble.pop("foreign", False))
        new = self.control.with_suffix(".new")
        new.write_text(json.dumps(trouble), encoding="utf-8")
        new.rename(self.control)
        return self.start()

    def instances(self):
        return json.loads(self.state.read_text())["instances"] if self.state.exists() else []

    def set_foreign(self, there):
        """Another program's instance, where there is room. No agent runs."""
        others = [one for one in self.instances() if one["id"] != FOREIGN["id"]]
        free = all(one["gpu"] != FOREIGN["gpu"] or one["start"] + one["size"] <= FOREIGN["start"] for one in others)
        if self.state.exists():
            self.state.write_text(json.dumps({"instances": [*others, *([FOREIGN] if there and free else [])]}), encoding="utf-8")

    def slices(self):
        return sorted(compute["uuid"] for one in self.instances() if one["id"] != FOREIGN["id"] for compute in one["computes"])


@pytest.fixture(scope="module")
def agent(node):
    lab = node.lab
    lab.http("POST", "/api/v1/namespaces", {"metadata": {"name": "das-operator"}})
    lab.http("PATCH", f"/api/v1/nodes/{node.name}", {"metadata": {"labels": {"nvidia.com/mig.capable": "true"}}}, content_type="application/merge-patch+json")
    one = Agent(node)
    try:
        one.start()
        node.wait_allocatable("mig.das.com/1g.5gb", 14)
        yield one
    finally:
        if one.process and one.process.poll() is None:
            one.process.kill()
            one.process.wait()


def add_pod(node, name, limits, script, **spec):
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"terminationGracePeriodSeconds": 0, **spec, "containers": [
        {"name": "c", "image": "docker.io/library/busybox:latest", "imagePullPolicy": "Never", "command": ["sh", "-c", script],
         "resources": {"limits": limits}}]}}  # fmt: skip
    answer = node.lab.http("POST", "/api/v1/namespaces/default/pods", body)
    assert answer.code == 201, answer.text


def status(node, name):
    return node.lab.get(f"/api/v1/namespaces/default/pods/{name}").get("status", {})


def claims(node):
    return {c["metadata"]["uid"]: c["status"].get("state") for c in node.lab.get(CLAIMS)["items"]}


def seen(node, name):
    """NVIDIA_VISIBLE_DEVICES of each start of the pod's container, as it printed them."""
    return [line.split("=", 1)[1] for line in node.log(name).splitlines() if line.startswith("NVIDIA_VISIBLE_DEVICES=")]


def gone(node, agent):
    return not claims(node) and not agent.slices() and not list(node.cdi.glob("*.cdi.json"))


def offered(node, resource):
    """How many devices of the resource the kubelet would hand out; it rejects pods until their plugin has registered."""
    done = run([ATHANOR, "numa", "podresources", f"--socket=unix://{node.pod_resources}", "allocatable"], env=node.lab.env)
    assert done.code == 0, done.err
    return sum(len(one["device_ids"]) for one in json.loads(done.out).get("devices", []) if one["resource_name"] == resource)


def delete(node, name):
    node.lab.http("DELETE", f"/api/v1/namespaces/default/pods/{name}")


def test_a_pod_gets_its_slices_through_cdi(node, agent):
    add_pod(node, "slices", {"nvidia.com/mig-1g.5gb": "2"}, "env; exec sleep 100000")
    wait_for("the pod runs", lambda: status(node, "slices").get("phase") == "Running")
    wait_for("it printed its environment", lambda: seen(node, "slices"))
    assert sorted(seen(node, "slices")[0].split(",")) == agent.slices() and len(agent.slices()) == 2
    assert "CUDA_VISIBLE_DEVICES=0,1\n" in node.log("slices")
    assert sorted(claims(node).values()) == ["inUse", "inUse"]
    delete(node, "slices")
    wait_for("slices, claims and files are gone", lambda: gone(node, agent))


def test_a_restarted_container_has_the_same_slice(node, agent):
    """docs/spec/das.md N-B15 and 17.7."""
    add_pod(node, "restarts", {"nvidia.com/mig-1g.5gb": "1"}, "env; sleep 1; exit 1", restartPolicy="OnFailure")
    wait_for("it was started again", lambda: status(node, "restarts")["containerStatuses"][0]["restartCount"] >= 1)
    wait_for("its second start printed, too", lambda: seen(node, "restarts"))
    assert len(claims(node)) == 1
    assert seen(node, "restarts")[0] == agent.slices()[0]
    delete(node, "restarts")
    wait_for("the slice is destroyed", lambda: gone(node, agent))


def test_a_pod_that_has_ended_holds_nothing(node, agent):
    add_pod(node, "ends", {"nvidia.com/mig-2g.10gb": "1"}, "env", restartPolicy="Never")
    wait_for("the pod succeeds", lambda: status(node, "ends").get("phase") == "Succeeded")
    wait_for("slices, claims and files are gone", lambda: gone(node, agent), deadline=15)
    assert seen(node, "ends")[0].startswith("MIG-")
    delete(node, "ends")


def test_restarts_of_agent_kubelet_and_containerd_disturb_nobody(node, agent):
    """docs/spec/das.md 17.8."""
    add_pod(node, "stays", {"nvidia.com/mig-1g.5gb": "1", "nvidia.com/mig-2g.10gb": "1"}, "env; exec sleep 100000")
    wait_for("the pod runs", lambda: status(node, "stays").get("phase") == "Running")
    before = claims(node), agent.slices(), status(node, "stays")["containerStatuses"][0]["containerID"]
    assert len(before[0]) == 2
    agent.stop().start()
    node.wait_allocatable("mig.das.com/1g.5gb", 14)
    node.stop("kubelet")
    node.launch("kubelet")
    wait_for("the devices are there again", lambda: offered(node, "mig.das.com/1g.5gb") == 14)
    add_pod(node, "later", {"nvidia.com/mig-1g.5gb": "1"}, "env; exec sleep 100000")
    wait_for("a later pod runs", lambda: status(node, "later").get("phase") == "Running")
    delete(node, "later")
    wait_for("the later pod is gone", lambda: len(claims(node)) == 2)
    assert (claims(node), agent.slices(), status(node, "stays")["containerStatuses"][0]["containerID"]) == before
    assert status(node, "stays")["containerStatuses"][0]["restartCount"] == 0
    delete(node, "stays")
    wait_for("slices, claims and files are gone", lambda: gone(node, agent))


def test_what_went_while_the_agent_was_down_is_collected(node, agent):
    add_pod(node, "goes", {"nvidia.com/mig-3g.20gb": "1"}, "exec sleep 100000")
    wait_for("the pod runs", lambda: status(node, "goes").get("phase") == "Running")
    agent.stop()
    delete(node, "goes")
    wait_for("the pod is gone", lambda: node.lab.http("GET", "/api/v1/namespaces/default/pods/goes").code == 404)
    agent.start()
    wait_for("slices, claims and files are gone", lambda: gone(node, agent), deadline=60)


KILLS = int(os.environ.get("NODE_KILLS", "100"))
# What a driver and other programs do in every second round (tests/fake_nvml).
TROUBLES = (
    {"createMs": 300, "destroyMs": 300},
    {"at": 1, "only": "nvmlGpuInstanceDestroy", "code": 19},
    {"at": 1, "only": "nvmlDeviceCreateGpuInstanceWithPlacement", "code": 999},
    {"at": 1, "only": "nvmlGpuInstanceCreateComputeInstance", "code": 999, "late": True},
    {"inUse": ["*"]},
    {"lost": [1]},
    {"order": [1, 0]},
    {"foreign": True},
)
LIMITS = ({"nvidia.com/mig-1g.5gb": "2"}, {"nvidia.com/mig-1g.5gb": "1", "nvidia.com/mig-2g.10gb": "1"}, {"nvidia.com/mig-3g.20gb": "1"})


def test_an_agent_that_is_killed_again_and_again_leaves_nothing(node, agent):
    """At any moment of the lives of three pods. A pod that the kubelet admits while no plugin answers fails, as everywhere; one that runs has slices of its own."""
    moments, kills, rounds = random.Random(35), 0, 0
    ran, rejected = {True: 0, False: 0}, {True: 0, False: 0}  # by whether there was trouble

    def kill_within(seconds, trouble=None):
        nonlocal kills
        time.sleep(moments.uniform(0, seconds))  # the moment itself
        agent.kill_and_start(**(trouble or {}))
        kills += 1

    def ended_or_runs(name):
        one = status(node, name)
        return one.get("phase") == "Failed" or (one.get("phase") == "Running" and seen(node, name))

    while kills < KILLS:
        names = [f"round-{kills}-{i}" for i in range(len(LIMITS))]
        for name, limits in zip(names, LIMITS, strict=True):
            add_pod(node, name, limits, "env; exec sleep 100000", restartPolicy="Never")
        troubled, rounds = rounds % 2 == 1, rounds + 1
        for _ in range(2):
            kill_within(1, moments.choice(TROUBLES) if troubled else None)
        kill_within(1)
        for name in names:
            wait_for(f"{name} runs or is rejected", lambda name=name: ended_or_runs(name), deadline=60)
        running = [name for name in names if status(node, name)["phase"] == "Running"]
        given = [uuid for name in running for uuid in seen(node, name)[0].split(",")]
        assert len(given) == len(set(given)) and set(given) <= set(agent.slices()), (given, agent.slices())
        ran[troubled] += len(running)
        rejected[troubled] += len(names) - len(running)
        for name in names:
            delete(node, name)
        kill_within(0.5, moments.choice(TROUBLES) if troubled else None)
        kill_within(1)
        wait_for("slices, claims and files are gone", lambda: gone(node, agent), deadline=90)
        wait_for("the devices are offered again", lambda: offered(node, "mig.das.com/1g.5gb") == 14, deadline=60)
    print(f"{kills} kills: {ran} pods ran, {rejected} were rejected while no plugin answered or their slice was not made (True: with trouble)")
    assert ran[False] > rejected[False] and ran[True] > 0
