# SPDX-License-Identifier: Apache-2.0
"""athanor-agent between a lab's API server and a kubelet that a test plays (docs/spec/das.md 8): emulated GPUs, and the fake NVML library."""

import datetime
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import grpc
import pytest
import yaml
from fake_kubelet import FakeKubelet, cdi_file, environment
from support import ATHANOR, DEADLINE, free_port, run, wait_for

AGENT = pathlib.Path(os.environ.get("ATHANOR_AGENT", ATHANOR.parent / "athanor-agent"))
FAKE_NVML = AGENT.parent / "libnvidia-ml-fake.so"
CLAIMS = "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/allocationclaims"
ACCELERATOR = "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/nodeaccelerators/gpu-1"
A100 = {"1g.10gb": 8, "1g.5gb": 14, "1g.5gb-plus-me": 2, "2g.10gb": 6, "3g.20gb": 4, "4g.20gb": 2, "7g.40gb": 2}


class Agent:
    """One athanor-agent, with what it needs in one folder."""

    def __init__(self, folder, lab, kubelet, real=False, program=AGENT, library=FAKE_NVML):
        self.folder, self.lab, self.kubelet, self.real, self.program = pathlib.Path(folder), lab, kubelet, real, program
        self.library = library
        self.cdi, self.port, self.process, self.runs = self.folder / "cdi", free_port(), None, 0
        self.kubeconfig = lab.kubeconfig
        self.boot = self.folder / "boot"
        self.boot.write_text("boot-1\n")
        self.control = self.folder / "control"
        self.state = self.folder / "gpus"

    def start(self, *flags, env=None, ready=True):
        self.runs += 1
        mode = {"EMULATED_MODE": "disabled", "FAKE_NVML_STATE": str(self.state), "FAKE_NVML_CONTROL": str(self.control)} if self.real else {"EMULATED_MODE": "enabled"}
        self.log = self.folder / f"agent-{self.runs}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [self.program, "daemonset", f"--kubeconfig={self.kubeconfig}", f"--listen=127.0.0.1:{self.port}", f"--device-plugin-dir={self.kubelet.folder}",
                 f"--pod-resources-socket={self.kubelet.pod_resources}", f"--cdi-dir={self.cdi}", f"--boot-id-file={self.boot}",
                 f"--nvml-library={self.library}", f"--state-dir={self.folder / 'state'}", *([] if any("cluster-policy" in f for f in flags) else ["--cluster-policy-name="]), *(flags if any("log-level" in f for f in flags) else ["--log-level=debug", *flags])],
                env={**os.environ, "NODE_NAME": self.kubelet.node, **mode, **(env or {})}, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        if ready:
            wait_for("the agent is ready", lambda: self.get("/readyz")[0] == 200)
        return self

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(DEADLINE)

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for log in sorted(self.folder.glob("agent-*.log")):  # pytest shows it with a failure
            print(f"--- {log.name}\n{log.read_text(errors='replace')[-6000:]}")

    def get(self, path):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            with urllib.request.urlopen(f"https://127.0.0.1:{self.port}{path}", context=context, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def tell_gpus(self, **what):
        new = self.folder / "control.new"
        new.write_text(json.dumps(what))
        new.rename(self.control)

    def instances(self):
        return json.loads(self.state.read_text())["instances"] if self.state.exists() else []

    def files(self):
        return sorted(path.name for path in self.cdi.glob("*.cdi.json"))


def world(make_lab, real, library=FAKE_NVML):
    lab = make_lab("--storage", "memory", "--pods", "timed").start()
    assert lab.http("POST", "/api/v1/namespaces", {"metadata": {"name": "das-operator"}}).code == 201
    folder = pathlib.Path(tempfile.mkdtemp(prefix="agent-"))
    kubelet = FakeKubelet(folder / "kubelet", lab).start()
    kubelet.add_node()
    return Agent(folder, lab, kubelet, real, library=library)


@pytest.fixture
def agent(make_lab):
    one = world(make_lab, real=False)
    yield one
    one.close()
    one.kubelet.close()
    shutil.rmtree(one.folder, ignore_errors=True)


@pytest.fixture
def real(make_lab):
    one = world(make_lab, real=True)
    yield one
    one.close()
    one.kubelet.close()
    shutil.rmtree(one.folder, ignore_errors=True)


def add_pod(agent, name, limits, **spec):
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {**spec, "containers": [
        {"name": "c", "image": "busybox", "resources": {"limits": limits}}]}}  # fmt: skip
    answer = agent.lab.http("POST", "/api/v1/namespaces/default/pods", body)
    assert answer.code == 201, answer.text


def run_pod(agent, name, limits, **spec):
    """The CDI devices of the container of a pod that was bound and admitted."""
    wait_capacity(agent)
    add_pod(agent, name, limits, **spec)
    agent.kubelet.wait_bound(name)
    return agent.kubelet.admit(name)["c"]


def wait_capacity(agent):
    wait_for("the node has its devices", lambda: len(agent.kubelet.devices) == 7)


def claims(agent):
    return {c["spec"]["podRef"]["name"]: c for c in agent.lab.get(CLAIMS)["items"]}


def states(agent):
    return sorted(c.get("status", {}).get("state", "") for c in agent.lab.get(CLAIMS)["items"])


def accelerator(world):
    """The NodeAccelerator with its status: devices are registered before it is written."""

    def written():
        found = world.lab.get(ACCELERATOR)
        return found if found["status"]["nodeResources"] else None

    return wait_for("the node is published", written)


def test_an_address_without_a_host_means_every_address(agent):
    agent.start(f"--listen=:{agent.port}")
    assert agent.get("/healthz") == (200, "ok")


def test_devices_are_registered_once_and_counted(agent):
    agent.start()
    wait_capacity(agent)
    assert {r.removeprefix("mig.das.com/"): len(d) for r, d in agent.kubelet.devices.items()} == A100
    assert sorted(agent.kubelet.registrations) == sorted(f"mig.das.com/{p}" for p in A100)
    assert all(d.health == "Healthy" for one in agent.kubelet.devices.values() for d in one.values())
    assert set(agent.kubelet.lists.values()) == {1}, "the first list is the full one"
    published = accelerator(agent)
    assert published["spec"]["acceleratorType"] == "nvidia-mig" and len(published["status"]["nodeResources"]["nodeGpus"]) == 2
    assert published["status"]["nodeResources"]["bootId"] == "boot-1"
    assert published["metadata"]["ownerReferences"][0]["kind"] == "Node"
    code, text = agent.get("/metrics")
    assert code == 200 and "das_allocate_seconds" not in text
    assert agent.get("/healthz") == (200, "ok")


def test_a_pod_gets_its_slices_and_leaves_nothing(agent):
    agent.start()
    (device,) = run_pod(agent, "a", {"nvidia.com/mig-1g.5gb": "3"})
    assert environment(agent.cdi, device) == {"NVIDIA_VISIBLE_DEVICES": "test,test,test", "CUDA_VISIBLE_DEVICES": "0,1,2"}
    assert (agent.cdi / agent.files()[0]).stat().st_mode & 0o777 == 0o644
    annotation = json.loads(cdi_file(agent.cdi, device)["devices"][0]["annotations"]["mig.das.com/allocation"])
    assert len(annotation) == 3 and annotation[0]["spec"]["podRef"]["name"] == "a"
    wait_for("claims are in use", lambda: states(agent) == ["inUse"] * 3)
    conditions = [c["type"] for c in claims(agent)["a"]["status"]["conditions"]]
    assert {"State", "Processing", "InUse"} <= set(conditions)
    agent.kubelet.finish("a")
    wait_for("nothing is left", lambda: not claims(agent) and not agent.files(), deadline=5)
    assert "das_allocate_seconds" in agent.get("/metrics")[1]


def test_a_pod_that_ended_gives_its_slice_back(agent):
    agent.start()
    run_pod(agent, "a", {"nvidia.com/mig-1g.5gb": "1"}, restartPolicy="Never")
    agent.kubelet.finish("a", "Succeeded")
    wait_for("the slice is free", lambda: not claims(agent) and not agent.files(), deadline=5)


def test_nothing_is_allocated_without_claims(agent):
    agent.start()
    wait_capacity(agent)
    with pytest.raises(grpc.RpcError) as refused:
        agent.kubelet.allocate("mig.das.com/1g.5gb", ["1g.5gb-0", "1g.5gb-1"])
    assert refused.value.code() == grpc.StatusCode.FAILED_PRECONDITION
    assert refused.value.details() == "requested 2 allocations but only found 0"
    assert not agent.files()


def test_a_new_kubelet_finds_every_device(agent):
    agent.start()
    run_pod(agent, "a", {"nvidia.com/mig-1g.5gb": "1"})
    agent.kubelet.stop()
    agent.kubelet.start()
    wait_for("the plugins are registered again", lambda: sorted(agent.kubelet.registrations) == sorted(f"mig.das.com/{p}" for p in A100), deadline=8)
    wait_for("the full lists", lambda: {r.removeprefix("mig.das.com/"): len(d) for r, d in agent.kubelet.devices.items()} == A100)
    assert states(agent) == ["inUse"] and len(agent.files()) == 1
    run_pod(agent, "b", {"nvidia.com/mig-1g.5gb": "1"})


def test_sockets_that_vanish_during_registration_cost_one_call(agent):
    """A kubelet that restarts between the agent's look at its sockets and its registrations."""
    agent.kubelet.clears_late = True
    agent.start()
    wait_capacity(agent)
    assert agent.kubelet.calls == 7 + 1


def test_a_kubelet_that_does_not_listen_yet_is_tried_again_at_once(agent):
    """A kubelet that starts makes its socket first, and soon after rejects pods whose devices are not there."""
    agent.kubelet.stop()
    with socket.socket(socket.AF_UNIX) as early:
        early.bind(str(agent.kubelet.folder / "kubelet.sock"))
        agent.start(ready=False)

        def refused():
            lines = [json.loads(line) for line in agent.log.read_text().splitlines() if "a device plugin is not registered" in line]
            return [datetime.datetime.fromisoformat(line["ts"].replace("Z", "+00:00")) for line in lines]

        wait_for("the agent tries again and again", lambda: len(refused()) >= 12)
    times = refused()
    assert (times[11] - times[0]).total_seconds() < 5, times
    agent.kubelet.start()
    wait_capacity(agent)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_of_the_agent_disturbs_nobody(agent, number):
    agent.start()
    (device,) = run_pod(agent, "a", {"nvidia.com/mig-1g.5gb": "2"})
    before = {name: c["metadata"]["uid"] for name, c in claims(agent).items()}, agent.files()
    ended = agent.stop(number)
    assert number == signal.SIGKILL or ended == 0
    assert agent.files() == before[1]
    agent.kubelet.registrations.clear()
    agent.start()
    wait_for("the plugins are registered again", lambda: len(agent.kubelet.registrations) == 7, deadline=10)
    assert ({name: c["metadata"]["uid"] for name, c in claims(agent).items()}, agent.files()) == before
    ids = agent.kubelet.held[("default", "a", "c")]["mig.das.com/1g.5gb"]
    wait_for("the devices are known again", lambda: agent.kubelet.allocate("mig.das.com/1g.5gb", ids) == [[device]])
    run_pod(agent, "b", {"nvidia.com/mig-1g.5gb": "1"})


def test_pods_that_went_while_the_agent_was_down(agent):
    agent.start()
    run_pod(agent, "a", {"nvidia.com/mig-1g.5gb": "1"})
    agent.stop()
    agent.kubelet.finish("a")
    agent.start()
    wait_for("nothing is left", lambda: not claims(agent) and not agent.files())


def end_lost_pod(agent, name):
    """The agent marks the claims of a pod whose slices are gone; the controllers delete it, its kubelet ends it."""
    wait_for("the pod is deleted", lambda: "deletionTimestamp" in agent.lab.http("GET", f"/api/v1/namespaces/default/pods/{name}").json.get("metadata", {}))
    (state,) = states(agent)
    assert state == "orphaned"
    agent.kubelet.finish(name)


def test_a_reboot_ends_what_it_lost(agent):
    agent.start()
    run_pod(agent, "a", {"nvidia.com/mig-1g.5gb": "1"})
    agent.stop()
    agent.boot.write_text("boot-2\n")
    agent.kubelet.held = {}
    agent.start()
    end_lost_pod(agent, "a")
    wait_for("claim and file are gone", lambda: not claims(agent) and not agent.files())
    wait_for("the new boot is published", lambda: agent.lab.get(ACCELERATOR)["status"]["nodeResources"]["bootId"] == "boot-2")


def test_a_file_that_vanished_is_written_again(agent):
    agent.start()
    run_pod(agent, "a", {"nvidia.com/mig-1g.5gb": "1"}, restartPolicy="Always")
    (name,) = agent.files()
    (agent.cdi / name).unlink()
    wait_for("the file is back", lambda: agent.files() == [name], deadline=5)


def test_pods_served_in_another_order_keep_their_own_slices(real):
    """docs/spec/das.md N-B13: the kubelet does not say which pod asks; deleting one must not destroy the other's slice."""
    real.start()
    wait_capacity(real)
    for name in ("a", "b"):
        add_pod(real, name, {"nvidia.com/mig-1g.5gb": "1"})
        real.kubelet.wait_bound(name)
        time.sleep(1.1)  # ages have whole seconds
    before = {name: c["spec"]["migPlacement"]["start"] for name, c in claims(real).items()}
    devices = {name: real.kubelet.admit(name)["c"][0] for name in ("b", "a")}  # the younger one first
    slices = {name: environment(real.cdi, device)["NVIDIA_VISIBLE_DEVICES"] for name, device in devices.items()}
    wait_for("the claims changed places", lambda: {n: c["spec"]["migPlacement"]["start"] for n, c in claims(real).items()} == {"a": before["b"], "b": before["a"]})
    assert {name: environment(real.cdi, device)["NVIDIA_VISIBLE_DEVICES"] for name, device in devices.items()} == slices
    real.kubelet.finish("a")
    wait_for("the slice of a is destroyed", lambda: [c["uuid"] for i in real.instances() for c in i["computes"]] == [slices["b"]])
    assert environment(real.cdi, devices["b"])["NVIDIA_VISIBLE_DEVICES"] == slices["b"]
    wait_for("the claim of a is deleted", lambda: list(claims(real)) == ["b"])


def test_slices_are_made_and_destroyed_through_nvml(real):
    real.start()
    (device,) = run_pod(real, "a", {"nvidia.com/mig-2g.10gb": "2"})
    uuids = environment(real.cdi, device)["NVIDIA_VISIBLE_DEVICES"].split(",")
    made = real.instances()
    assert sorted(c["uuid"] for i in made for c in i["computes"]) == sorted(uuids) and all(u.startswith("MIG-") for u in uuids)
    assert {i["profile"] for i in made} == {"2g.10gb"}
    published = accelerator(real)["status"]["nodeResources"]
    assert published["migPlacement"]["1g.10gb"]["ciProfileId"] == 0 and "foreign" not in published["nodeGpus"][0]
    real.kubelet.finish("a")
    wait_for("the slices are destroyed", lambda: not real.instances() and not claims(real), deadline=10)


def test_a_failing_gpu_leaves_nothing(real):
    real.start()
    wait_capacity(real)
    real.tell_gpus(fail={"nvmlGpuInstanceCreateComputeInstance": 999})
    add_pod(real, "a", {"nvidia.com/mig-1g.5gb": "1"})
    real.kubelet.wait_bound("a")
    with pytest.raises(grpc.RpcError) as failed:
        real.kubelet.admit("a")
    assert "create compute instance: " in failed.value.details()
    assert not real.instances() and not real.files()
    wait_for("the claim waits for another try", lambda: states(real) == ["created"])
    real.tell_gpus()
    real.kubelet.admit("a")
    assert len(real.instances()) == 1


def test_slots_that_another_program_took_are_published_with_the_failure(real):
    """docs/spec/das.md 8.6: without an event of the driver; the next pod is placed elsewhere."""
    real.start()
    run_pod(real, "seed", {"nvidia.com/mig-1g.5gb": "1"})
    add_pod(real, "a", {"nvidia.com/mig-3g.20gb": "1"})
    real.kubelet.wait_bound("a")
    place = claims(real)["a"]["spec"]["migPlacement"]
    assert place == {"size": 4, "start": 4}
    state = json.loads(real.state.read_text())
    state["instances"].append({"gpu": 0, "id": 77, "profile": "3g.20gb", "start": 4, "size": 4, "computes": [{"id": 0, "profile": 2, "uuid": "MIG-foreign"}]})
    real.state.write_text(json.dumps(state))
    with pytest.raises(grpc.RpcError) as failed:
        real.kubelet.admit("a")
    assert "Insufficient Resources" in failed.value.details()
    wait_for("the slots are published", lambda: real.lab.get(ACCELERATOR)["status"]["nodeResources"]["nodeGpus"][0].get("foreign") == [{"size": 4, "start": 4}], deadline=5)
    assert claims(real)["a"]["status"]["state"] == "orphaned"
    real.kubelet.finish("a", "Failed")
    wait_for("the claim is gone", lambda: "a" not in claims(real))
    run_pod(real, "b", {"nvidia.com/mig-3g.20gb": "1"})
    assert claims(real)["b"]["spec"]["gpuUUID"] != claims(real)["seed"]["spec"]["gpuUUID"]
    assert 77 in [i["id"] for i in real.instances()]


def test_foreign_slices_and_lost_gpus_are_told(real):
    foreign = {"gpu": 0, "id": 77, "profile": "4g.20gb", "start": 0, "size": 4, "computes": [{"id": 0, "profile": 3, "uuid": "MIG-foreign"}]}
    real.state.write_text(json.dumps({"next": 78, "instances": [foreign]}))
    real.start()
    wait_capacity(real)
    gpus = accelerator(real)["status"]["nodeResources"]["nodeGpus"]
    assert gpus[0]["foreign"] == [{"size": 4, "start": 0}] and "foreign" not in gpus[1]
    real.tell_gpus(lost=[1], event=1, gpu=1)
    wait_for("half of the devices are unhealthy",
             lambda: [d.health for d in real.kubelet.devices["mig.das.com/7g.40gb"].values()] == ["Healthy", "Unhealthy"])  # fmt: skip
    wait_for("it is published", lambda: real.lab.get(ACCELERATOR)["status"]["conditions"][0]["reason"] == "GPUUnhealthy")
    add_pod(real, "a", {"nvidia.com/mig-3g.20gb": "1"})
    real.kubelet.wait_bound("a")
    assert claims(real)["a"]["spec"]["migPlacement"] == {"size": 4, "start": 4}, "the foreign slice's slots are left alone"
    real.stop()
    real.tell_gpus()
    real.start()
    assert [i["id"] for i in real.instances()] == [77]


def test_a_driver_that_counts_gpus_differently_changes_no_slice(real):
    """The order of GPUs is the driver's own at each of its starts; their UUIDs stay."""
    real.start()
    run_pod(real, "a", {"nvidia.com/mig-1g.5gb": "1"})
    before = claims(real)["a"]["spec"], real.instances(), real.files()
    order = [gpu["gpuUuid"] for gpu in accelerator(real)["status"]["nodeResources"]["nodeGpus"]]
    real.stop()
    real.tell_gpus(order=[1, 0])
    real.start()
    wait_for("the node counts as its driver does", lambda: [gpu["gpuUuid"] for gpu in accelerator(real)["status"]["nodeResources"]["nodeGpus"]] == order[::-1])
    assert (claims(real)["a"]["spec"], real.instances(), real.files()) == before and states(real) == ["inUse"]
    run_pod(real, "b", {"nvidia.com/mig-7g.40gb": "1"})
    assert claims(real)["b"]["spec"]["gpuUUID"] != before[0]["gpuUUID"]
    for name in ("a", "b"):
        real.kubelet.finish(name)
    wait_for("nothing is left", lambda: not real.instances() and not claims(real) and not real.files())


def test_a_claim_returns_with_its_gpu(real):
    """docs/spec/das.md 3.1: the pod runs on with the slice that it had."""
    real.start()
    run_pod(real, "a", {"nvidia.com/mig-7g.40gb": "1"})
    before = real.instances()
    real.tell_gpus(lost=[0, 1], event=1, gpu=0)
    wait_for("the claim is orphaned", lambda: states(real) == ["orphaned"])
    real.tell_gpus(event=2, gpu=0)
    wait_for("the claim is in use again", lambda: states(real) == ["inUse"])
    assert real.instances() == before
    # As well if the agent starts while the GPU is gone, and the other GPU works on.
    gone = before[0]["gpu"]
    real.stop()
    real.tell_gpus(lost=[gone])
    real.start()
    wait_for("the claim is orphaned", lambda: states(real) == ["orphaned"])
    add_pod(real, "b", {"nvidia.com/mig-3g.20gb": "1"})  # the node counts a's device still
    real.kubelet.wait_bound("b")
    real.kubelet.admit("b")
    real.kubelet.finish("b")
    wait_for("its claim goes", lambda: list(claims(real)) == ["a"])
    real.tell_gpus(event=3, gpu=0)
    wait_for("the claim is in use again", lambda: states(real) == ["inUse"])
    assert real.instances() == before and len(real.files()) == 1


def test_slices_of_dead_runs_are_collected(real):
    """docs/spec/das.md G6, G7: killed between making a slice and telling it, and pods that went meanwhile."""
    real.start()
    run_pod(real, "a", {"nvidia.com/mig-1g.5gb": "1"})
    real.stop(signal.SIGKILL)
    (claim,) = claims(real).values()
    real.kubelet.finish("a")
    assert real.lab.http("DELETE", f"{CLAIMS}/{claim['metadata']['name']}").code == 200
    real.start()
    wait_for("nothing is left", lambda: not real.instances() and not real.files())


def logged(agent, message):
    return [one for one in map(json.loads, agent.log.read_text().splitlines()) if one["msg"] == message]


def notes(agent, kind, name):
    """What Warning events SliceDestroyFailed about the object say."""
    events = agent.lab.get("/apis/events.k8s.io/v1/events")["items"]
    return [e["note"] for e in events if e["reason"] == "SliceDestroyFailed" and e["type"] == "Warning" and (e["regarding"]["kind"], e["regarding"]["name"]) == (kind, name)]


def test_a_busy_slice_is_orphaned_until_it_is_free(real):
    real.start()
    run_pod(real, "a", {"nvidia.com/mig-1g.5gb": "1"})
    real.tell_gpus(inUse=["*"])
    real.kubelet.finish("a")
    wait_for("the claim is orphaned", lambda: states(real) == ["orphaned"])
    assert len(real.instances()) == 1
    wait_for("an event about the pod", lambda: notes(real, "Pod", "a"))
    assert logged(real, "a slice cannot be destroyed; tried again in a minute")


def test_a_gpu_instance_that_stays_once_is_logged_and_destroyed(real):
    """The compute instance is gone by then: a look for its UUID finds nothing, and nothing may be left."""
    real.start()
    run_pod(real, "a", {"nvidia.com/mig-1g.5gb": "1"})
    real.tell_gpus(at=1, only="nvmlGpuInstanceDestroy", code=19)
    real.kubelet.finish("a")
    wait_for("nothing is left", lambda: not real.instances() and not claims(real))
    (line,) = logged(real, "a slice was not destroyed; tried again")
    assert "In use by another client" in line["error"], line
    assert not notes(real, "Pod", "a"), "the second try succeeded"


def test_a_slice_without_claim_that_stays_is_told_of_its_node(real):
    """docs/spec/das.md 8.6: an instance of ours that is left is found at the start."""
    real.start()
    run_pod(real, "a", {"nvidia.com/mig-1g.5gb": "1"})
    real.stop(signal.SIGKILL)
    (claim,) = claims(real).values()
    real.kubelet.finish("a")
    assert real.lab.http("DELETE", f"{CLAIMS}/{claim['metadata']['name']}").code == 200
    real.tell_gpus(fail={"nvmlGpuInstanceDestroy": 19})
    real.start()
    wait_for("an event about the node's accelerator", lambda: notes(real, "NodeAccelerator", "gpu-1"))
    assert "1g.5gb on GPU-" in notes(real, "NodeAccelerator", "gpu-1")[0]
    (line, *_) = logged(real, "what is left of a slice cannot be destroyed")
    assert line["claim"] == claim["metadata"]["name"] and len(real.instances()) == 1
    real.tell_gpus()
    wait_for("nothing is left", lambda: not real.instances() and not real.files(), deadline=60 + DEADLINE)


def test_a_full_disk_under_the_cdi_folder_loses_nothing(real):
    if os.geteuid() != 0:
        pytest.skip("only root can mount a disk of 64 KiB")
    real.cdi.mkdir()
    mounted = run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", real.cdi])
    if mounted.code != 0:
        pytest.skip(f"no disk of 64 KiB can be mounted here: {mounted.err}")
    try:
        real.start()
        wait_capacity(real)
        add_pod(real, "a", {"nvidia.com/mig-1g.5gb": "1"})
        real.kubelet.wait_bound("a")
        filler = real.cdi / "filler"
        with pytest.raises(OSError, match="No space left"), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        for _ in range(2):
            with pytest.raises(grpc.RpcError) as failed:
                real.kubelet.admit("a")
            assert "No space left" in failed.value.details(), failed.value.details()
            assert not real.instances() and not real.files()
            wait_for("the claim waits for another try", lambda: states(real) == ["created"])
        assert real.get("/healthz") == (200, "ok")
        filler.unlink()
        (device,) = real.kubelet.admit("a")["c"]
        assert environment(real.cdi, device)["NVIDIA_VISIBLE_DEVICES"] == real.instances()[0]["computes"][0]["uuid"]
        real.kubelet.finish("a")
        wait_for("nothing is left", lambda: not real.instances() and not real.files() and not claims(real))
        real.stop()
    finally:
        real.close()
        run(["umount", "--lazy", real.cdi])


def test_a_real_agent_waits_for_the_gpu_operator(real):
    real.start("--cluster-policy-name=gpu-cluster-policy", ready=False)
    wait_for("it waits", lambda: "waiting for the GPU operator" in real.log.read_text())
    assert not real.kubelet.registrations and real.get("/readyz")[0] == 503
    assert real.stop() == 0


def test_no_driver_is_waited_for(real):
    real.tell_gpus(fail={"nvmlInit_v2": 9})
    real.start(ready=False)
    wait_for("it tries again", lambda: "nvmlInit: Driver Not Loaded" in real.log.read_text())
    real.tell_gpus()
    wait_for("the agent is ready", lambda: real.get("/readyz")[0] == 200)


def test_the_operator_keeps_the_agents_daemon_set(make_lab):
    """docs/spec/das.md 8.1, 10: `athanor controllers` on a cluster, which has an image and hardware."""
    lab = make_lab("--storage", "memory", "--pods", "timed", "--controllers", "").start()
    lab.http("POST", "/api/v1/namespaces", {"metadata": {"name": "das-operator"}})
    operator = {"apiVersion": "inference.redhat.com/v1alpha1", "kind": "DASOperator", "metadata": {"name": "cluster"}, "spec": {"nodeSelector": {"pool": "gpus"}}}
    assert lab.http("POST", "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/dasoperators", operator).code == 201
    controllers = subprocess.Popen(
        [ATHANOR, "controllers", "--controllers", "das", "--kubeconfig", lab.kubeconfig, "--all-namespaces", "--leader-elect=false", "--metrics-address=127.0.0.1:0"],
        env={**os.environ, "RELATED_IMAGE_DAEMONSET_IMAGE": "registry/agent:1"}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        path = "/apis/apps/v1/namespaces/das-operator/daemonsets/das-daemonset"
        wait_for("the DaemonSet", lambda: lab.http("GET", path).code == 200)
        pod = lab.get(path)["spec"]["template"]["spec"]
        assert pod["containers"][0]["image"] == "registry/agent:1" and pod["nodeSelector"]["pool"] == "gpus"
        account = "/api/v1/namespaces/das-operator/serviceaccounts/das-daemonset"
        wait_for("its account", lambda: lab.http("GET", account).code == 200)
        lab.http("DELETE", path)
        wait_for("it comes back", lambda: lab.http("GET", path).code == 200)
    finally:
        controllers.terminate()
        assert controllers.wait(DEADLINE) == 0


def token_of(agent, node=None):
    """A token of the agents' account, bound to a node as those of an agent's pod are."""
    bound = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": agent.lab.get(f"/api/v1/nodes/{node}")["metadata"]["uid"]} if node else None
    spec = {"boundObjectRef": bound} if bound else {}
    answer = agent.lab.http("POST", "/api/v1/namespaces/das-operator/serviceaccounts/das-daemonset/token", {"spec": spec})
    assert answer.code == 201, answer.text
    return answer.json["status"]["token"]


SLICES = "/apis/resource.k8s.io/v1/resourceslices"


def resource_slice(name, node="gpu-1"):
    pool = {"name": f"{node}-{name}", "generation": 1, "resourceSliceCount": 1}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"{node}-{name}"},
            "spec": {"driver": "das.inference.redhat.com", "nodeName": node, "pool": pool, "devices": [{"name": "gpu-0"}]}}  # fmt: skip


def write_as(agent, token, method, path, body):
    kind = {"content_type": "application/merge-patch+json"} if method == "PATCH" else {}
    return agent.lab.http(method, path, body, token=token, **kind)


def test_agents_write_objects_of_their_own_node_alone(agent):
    """docs/spec/das.md O-B8: one stolen node is not the fleet."""
    agent.lab.kubectl("apply", "-f", "-", stdin=run([AGENT, "rbac"]).out)
    agent.lab.http("POST", "/api/v1/nodes", {"metadata": {"name": "gpu-2"}})
    agent.start()
    run_pod(agent, "a", {"nvidia.com/mig-1g.5gb": "1"})
    (claim,) = claims(agent).values()
    path = f"{CLAIMS}/{claim['metadata']['name']}"
    own, other, unbound = token_of(agent, "gpu-1"), token_of(agent, "gpu-2"), token_of(agent)
    label = {"metadata": {"labels": {"touched": "yes"}}}
    there = agent.lab.http("POST", SLICES, resource_slice("there"))
    assert there.code == 201, there.text
    kept = f"{SLICES}/{there.json['metadata']['name']}"
    writes = [
        ("POST", SLICES, resource_slice("new")),
        ("PUT", kept, {**there.json, "metadata": {**there.json["metadata"], **label["metadata"]}}),
        ("DELETE", kept, None),
        ("PATCH", path, label),
        ("PATCH", f"{path}/status", {"status": {"state": "inUse"}}),
        ("PATCH", ACCELERATOR, label),
        ("PATCH", f"{ACCELERATOR}/status", {"status": {"touched": True}}),
        ("PATCH", "/api/v1/nodes/gpu-1/status", {"status": {"capacity": {"x.y/z": "1"}}}),
        ("DELETE", path, None),
    ]

    def denied(token, message):
        answers = [write_as(agent, token, *one) for one in writes]
        return all(one.code in (403, 422) and message in one.text for one in answers)

    wait_for("the policy is in force", lambda: denied(other, "an agent writes objects of its own node alone"))
    assert denied(unbound, "the token of an agent must be bound to its pod or node")
    for one in writes:
        answer = write_as(agent, own, *one)
        assert answer.code in (200, 201), (one, answer.text)
    foreign_slice = write_as(agent, own, "POST", SLICES, resource_slice("foreign", node="gpu-2"))
    assert foreign_slice.code in (403, 422) and "an agent writes objects of its own node alone" in foreign_slice.text, foreign_slice.text
    foreign = {"apiVersion": "inference.redhat.com/v1alpha1", "kind": "NodeAccelerator", "metadata": {"name": "gpu-1"}}
    assert agent.lab.http("PUT", ACCELERATOR, foreign, token=other).code == 403
    assert agent.lab.http("DELETE", "/api/v1/namespaces/default/pods/a", token=own).code == 403, "agents delete no pods"


def test_the_printed_rights_are_enough(agent):
    """docs/spec/das.md O-B8: `athanor-agent rbac`."""
    agent.lab.kubectl("apply", "-f", "-", stdin=run([AGENT, "rbac"]).out)
    token = token_of(agent, "gpu-1")
    config = yaml.safe_load(agent.lab.kubeconfig.read_text(encoding="utf-8"))
    config["users"][0]["user"] = {"token": token}
    agent.kubeconfig = agent.folder / "kubeconfig"
    agent.kubeconfig.write_text(yaml.safe_dump(config), encoding="utf-8")
    agent.start()
    run_pod(agent, "a", {"nvidia.com/mig-1g.5gb": "1"})
    agent.stop()
    agent.boot.write_text("boot-2\n")
    agent.kubelet.held = {}
    agent.start()
    end_lost_pod(agent, "a")
    wait_for("claim and file are gone", lambda: not claims(agent) and not agent.files())
    wait_capacity(agent)
    run_pod(agent, "b", {"nvidia.com/mig-1g.5gb": "1"})
    agent.kubelet.finish("b")
    wait_for("nothing is left", lambda: not claims(agent))
    wait_for("the events are there", lambda: {"SliceCreated", "SliceReleased"} <= {e["reason"] for e in agent.lab.get("/api/v1/namespaces/default/events")["items"]})
    for number in (1, 2):
        assert "orbidden" not in (agent.folder / f"agent-{number}.log").read_text()


def test_what_cannot_be_is_said():
    env = {"PATH": os.environ["PATH"], "NODE_NAME": "n", "HOME": "/nonexistent"}
    for extra, code, text in (
        ({"EMULATED_MODE": "perhaps"}, 1, 'invalid EMULATED_MODE "perhaps": must be "enabled" or "disabled"'),
        ({"NODE_NAME": ""}, 1, "NODE_NAME environment variable is required"),
        ({"EMULATED_MODE": "enabled", "EMULATED_GPU_MODEL": "G1"}, 1, 'unknown emulated GPU model "G1"; known: A100-PCIE-40GB'),
    ):
        done = run([AGENT, "daemonset"], env={**env, **extra})
        assert done.code == code and text in done.err, done.err
    assert run([AGENT], env=env).code == 2
    assert run([AGENT, "daemonset", "--nonsense"], env=env).code == 2
    assert "daemonset" in run([AGENT, "--help"], env=env).out


def test_an_unknown_model_of_the_node_ends_the_agent(agent):
    agent.lab.http("PATCH", "/api/v1/nodes/gpu-1", {"metadata": {"annotations": {"das.inference.redhat.com/emulated-gpu-model": "G1"}}},
                   content_type="application/merge-patch+json")  # fmt: skip
    agent.start(ready=False)
    assert agent.process.wait(DEADLINE) == 1
    assert 'unknown emulated GPU model "G1"; known:' in agent.log.read_text()


def test_tls_of_the_status_port(agent):
    agent.start("--tls-min-version=VersionTLS13")
    old = ssl.create_default_context()
    old.check_hostname, old.verify_mode, old.maximum_version = False, ssl.CERT_NONE, ssl.TLSVersion.TLSv1_2
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"https://127.0.0.1:{agent.port}/healthz", context=old, timeout=10)
    agent.stop()
    agent.start("--tls-min-version=VersionTLS99", "--tls-cipher-suites=NOT_A_CIPHER")
    assert "VersionTLS99" in agent.log.read_text() and "NOT_A_CIPHER" in agent.log.read_text()


def test_a_changed_file_ends_the_agent(agent):
    watched = agent.folder / "watched"
    watched.write_text("1")
    agent.start(f"--terminate-on-files={watched}")
    watched.write_text("22")
    assert agent.process.wait(DEADLINE) == 0


def test_gpus_are_shown_without_a_cluster(tmp_path):
    fake = {**os.environ, "FAKE_NVML_GPUS": "A100-PCIE-40GB:2", "FAKE_NVML_STATE": str(tmp_path / "gpus"), "FAKE_NVML_CONTROL": str(tmp_path / "control")}
    shown = subprocess.run([AGENT, "gpus", f"--nvml-library={FAKE_NVML}"], env=fake, capture_output=True, text=True, timeout=DEADLINE)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("GPU 0: ") and "\nGPU 1: " in shown.stdout and "MIG is enabled: " in shown.stdout and "  no slices\n" in shown.stdout
    report = json.loads(subprocess.run([AGENT, "gpus", f"--nvml-library={FAKE_NVML}", "-o", "json"], env=fake, capture_output=True, timeout=DEADLINE, check=True).stdout)
    assert [gpu["migEnabled"] for gpu in report["gpus"]] == [True, True]
    assert sum(len(p["starts"]) for p in report["gpus"][0]["profiles"] if p["name"] == "1g.5gb") == 7
    missing = subprocess.run([AGENT, "gpus", "--nvml-library=/nowhere/libnvidia-ml.so.1"], capture_output=True, text=True, timeout=DEADLINE)
    assert missing.returncode == 1 and "NVML cannot be loaded: /nowhere/libnvidia-ml.so.1" in missing.stderr
    assert subprocess.run([AGENT, "gpus", "-o", "yaml"], capture_output=True, timeout=DEADLINE).returncode == 2
