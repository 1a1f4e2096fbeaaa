# SPDX-License-Identifier: Apache-2.0
"""GPUs that athanor-agent shares without slices (docs/spec/das.md 15.2, 15.3): MPS and time-slicing through the fake NVML library and programs that
a test plays, partitions of emulated GPUs of AMD's."""

import json
import os
import signal
import stat
import time

import grpc
import pytest
from fake_kubelet import cdi_file, environment
from support import wait_for
from test_agent import accelerator, add_pod, agent, claims, real, states  # noqa: F401 (fixtures)

SHARING = "das.inference.redhat.com/gpu-sharing"


@pytest.fixture
def shared(real):  # noqa: F811
    """An agent's world with one sliced GPU and one without MIG mode, and the programs of NVIDIA's driver."""
    programs = real.folder / "bin"
    programs.mkdir()
    write(programs / "nvidia-smi", f'echo "$@" >> {real.folder}/smi; exit 0')
    write(programs / "nvidia-cuda-mps-control", f'echo "$CUDA_VISIBLE_DEVICES $CUDA_MPS_PIPE_DIRECTORY $@" >> {real.folder}/mps; while :; do sleep 0.1; done')
    real.tell_gpus(migDisabled=[1])
    real.path = {"PATH": f"{programs}:{os.environ['PATH']}"}
    yield real
    real.close()
    for record in (real.folder / "state/daemons").glob("*.pid"):
        try:
            os.kill(int(record.read_text()), signal.SIGKILL)
        except ProcessLookupError:
            pass


def write(path, body):
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def annotate(world, text):
    world.lab.kubectl("annotate", "node", "gpu-1", "--overwrite", f"{SHARING}={text}")


def count(world, resource):
    return len(world.kubelet.devices.get(resource, {}))


def published(world):
    return accelerator(world)["status"]["nodeResources"]["nodeGpus"]


def pod(world, name, limits):
    add_pod(world, name, limits)
    world.kubelet.wait_bound(name)
    return world.kubelet.admit(name)["c"]


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def test_mps_shares_have_their_daemon(shared):
    annotate(shared, "1=mps:10")
    shared.start(env=shared.path)
    wait_for("shares beside slices", lambda: count(shared, "mps.das.com/gpu-10gb") == 4 and count(shared, "mig.das.com/1g.5gb") == 7)
    uuid = next(g["gpuUuid"] for g in published(shared) if "sharing" in g)
    pipe = f"{shared.folder}/state/mps/{uuid}/pipe"
    assert lines(shared.folder / "mps") == [f"{uuid} {pipe} -f"] and lines(shared.folder / "smi") == [f"-i {uuid} -c EXCLUSIVE_PROCESS"]

    (device,) = pod(shared, "a", {"mps.das.com/gpu-10gb": "2"})
    assert device.startswith("mps.das.com/gpu-10gb=")
    assert environment(shared.cdi, device) == {
        "NVIDIA_VISIBLE_DEVICES": uuid, "CUDA_VISIBLE_DEVICES": "0", "CUDA_MPS_PIPE_DIRECTORY": pipe,
        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "50", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=20480M"}  # fmt: skip
    mounts = cdi_file(shared.cdi, device)["devices"][0]["containerEdits"]["mounts"]
    assert [(m["hostPath"], m["containerPath"]) for m in mounts] == [(pipe, pipe), (f"{shared.folder}/state/mps/shm", "/dev/shm")]
    wait_for("the claims are in use", lambda: states(shared) == ["inUse"] * 2)

    # A restart of the agent leaves the daemon and the pod alone.
    (record,) = (shared.folder / "state/daemons").glob("*.pid")
    daemon = record.read_text()
    assert shared.stop() == 0
    shared.kubelet.registrations.clear()
    shared.start(env=shared.path)
    wait_for("the shares are registered again", lambda: "mps.das.com/gpu-10gb" in shared.kubelet.registrations)
    assert record.read_text() == daemon and os.path.exists(f"/proc/{daemon.strip()}") and len(lines(shared.folder / "mps")) == 1
    assert states(shared) == ["inUse"] * 2 and environment(shared.cdi, device)["CUDA_MPS_PIPE_DIRECTORY"] == pipe

    # A GPU that holds claims stays what it is.
    annotate(shared, "1=timeslice:3:Short")
    time.sleep(3)  # longer than the agent needs to see an annotation
    assert count(shared, "mps.das.com/gpu-10gb") == 4 and count(shared, "ts.das.com/gpu") == 0
    shared.kubelet.finish("a")
    wait_for("the claims go", lambda: not claims(shared) and not shared.files(), deadline=10)
    wait_for("then it changes", lambda: count(shared, "ts.das.com/gpu") == 3)
    wait_for("the daemon is gone", lambda: not os.path.exists(f"/proc/{daemon.strip()}"))
    assert lines(shared.folder / "smi")[-2:] == [f"-i {uuid} -c DEFAULT", f"compute-policy -i {uuid} --set-timeslice=1"]


def test_a_daemon_that_ends_is_started_again(shared):
    annotate(shared, "1=mps:20")
    shared.start(env=shared.path)
    wait_for("shares", lambda: count(shared, "mps.das.com/gpu-20gb") == 2)
    (record,) = (shared.folder / "state/daemons").glob("*.pid")
    daemon = int(record.read_text())
    os.kill(daemon, signal.SIGKILL)
    wait_for("another one runs", lambda: int(record.read_text() or 0) not in (0, daemon))
    wait_for("its devices are healthy", lambda: {d.health for d in shared.kubelet.devices["mps.das.com/gpu-20gb"].values()} == {"Healthy"})
    pod(shared, "a", {"mps.das.com/gpu-20gb": "1"})


def test_what_cannot_be_shared_is_said(shared):
    (shared.folder / "bin/nvidia-cuda-mps-control").unlink()
    annotate(shared, "0=mps:10,1=mps:10")
    shared.start(env={"PATH": str(shared.folder / "bin") + ":/nonexistent"})
    events = lambda: [e["message"] for e in shared.lab.get("/api/v1/events")["items"] if e["reason"] == "InvalidGPUSharing"]  # noqa: E731
    wait_for("MIG mode is named", lambda: "GPU 0 cannot be shared as a whole: its MIG mode is enabled" in events())
    missing = "GPU 1 cannot be shared: "
    wait_for("the program is named", lambda: any(m.startswith(missing) for m in events()))
    wait_for("its devices are unhealthy", lambda: {d.health for d in shared.kubelet.devices.get("mps.das.com/gpu-10gb", {}).values()} == {"Unhealthy"})
    assert count(shared, "mig.das.com/1g.5gb") == 7, "the other GPU goes on"


def test_time_slices(shared):
    annotate(shared, "1=timeslice:2")
    shared.start(env=shared.path)
    wait_for("turns", lambda: count(shared, "ts.das.com/gpu") == 2)
    (device,) = pod(shared, "a", {"ts.das.com/gpu": "1"})
    assert environment(shared.cdi, device)["NVIDIA_VISIBLE_DEVICES"].startswith("GPU-") and "mounts" not in cdi_file(shared.cdi, device)["devices"][0]["containerEdits"]
    assert not lines(shared.folder / "smi"), "the default interval needs no program"
    with pytest.raises(grpc.RpcError) as refused:
        shared.kubelet.allocate("ts.das.com/gpu", ["gpu-1"])
    assert refused.value.details() == "requested 1 allocations but only found 0"
    refusal = shared.lab.kubectl("run", "mixed", "--image=busybox", "--overrides", '{"spec":{"containers":[{"name":"c","image":"busybox","resources":'
                                 '{"limits":{"ts.das.com/gpu":"1","mig.das.com/1g.5gb":"1"}}}]}}', code=1)  # fmt: skip
    assert 'container "c" asks for slices and for shares of GPUs' in refusal.err


def test_pods_share_a_slice(shared):
    annotate(shared, "0=3g.20gb:timeslice:2")
    shared.start(env=shared.path)
    turns = "ts.das.com/3g.20gb"
    wait_for("turns of two slices, and no slices beside them", lambda: {r: len(d) for r, d in shared.kubelet.devices.items() if d} == {turns: 4})
    seen = {}
    for name, instances in (("a", 1), ("b", 1), ("c", 2)):
        (device,) = pod(shared, name, {turns: "1"})
        assert device.startswith("ts.das.com/c3g.20gb=")
        seen[name] = environment(shared.cdi, device)["NVIDIA_VISIBLE_DEVICES"]
        assert len(shared.instances()) == instances, "a slice is made with its first share"
    assert seen["a"] == seen["b"] != seen["c"] and all(one.startswith("MIG-") for one in seen.values())
    assert sorted(c["spec"]["share"]["slice"]["start"] for c in claims(shared).values()) == [0, 0, 4]
    assert not lines(shared.folder / "smi") and not lines(shared.folder / "mps")

    shared.kubelet.finish("a")
    wait_for("one share goes", lambda: sorted(claims(shared)) == ["b", "c"], deadline=10)
    assert len(shared.instances()) == 2
    # A restart of the agent takes both slices over.
    assert shared.stop() == 0
    shared.kubelet.registrations.clear()
    shared.start(env=shared.path)
    wait_for("the turns are registered again", lambda: turns in shared.kubelet.registrations)
    assert states(shared) == ["inUse"] * 2 and len(shared.instances()) == 2
    (device,) = pod(shared, "d", {turns: "1"})
    assert environment(shared.cdi, device)["NVIDIA_VISIBLE_DEVICES"] in (seen["b"], seen["c"])
    for name in "bd":
        shared.kubelet.finish(name)
    wait_for("a slice goes with its last share", lambda: len(shared.instances()) == 1, deadline=10)

    annotate(shared, "0=mig")
    shared.kubelet.finish("c")
    wait_for("nothing is left", lambda: not claims(shared) and not shared.files() and not shared.instances(), deadline=10)
    wait_for("the GPU is sliced again", lambda: count(shared, "mig.das.com/1g.5gb") == 7)


def test_an_emulated_slice_is_shared(agent):  # noqa: F811
    annotate(agent, "0=3g.20gb:mps:10")
    agent.start(env={"EMULATED_DEVICE_IDS": "uuid"})
    shares = "mps.das.com/3g.20gb-10gb"
    wait_for("shares beside slices", lambda: count(agent, shares) == 4 and count(agent, "mig.das.com/1g.5gb") == 7)
    seen = [environment(agent.cdi, pod(agent, name, {shares: "1"})[0]) for name in "abc"]
    devices = [one["NVIDIA_VISIBLE_DEVICES"] for one in seen]
    assert devices[0] == devices[1] != devices[2] and devices[0].startswith("MIG-")
    assert {one["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] for one in seen} == {"0=10240M"}
    for name in "abc":
        agent.kubelet.finish(name)
    wait_for("nothing is left", lambda: not claims(agent) and not agent.files(), deadline=10)


def test_a_slice_with_mps_has_its_own_daemon(shared):
    annotate(shared, "0=3g.20gb:mps:5")
    shared.start(env=shared.path)
    shares = "mps.das.com/3g.20gb-5gb"
    wait_for("shares", lambda: count(shared, shares) == 8)
    uuid = next(g["gpuUuid"] for g in published(shared) if "sharing" in g)
    assert not lines(shared.folder / "mps") and not lines(shared.folder / "smi"), "nothing runs without shares"
    (device,) = pod(shared, "a", {shares: "3"})
    one = environment(shared.cdi, device)
    pipe = f"{shared.folder}/state/mps/{uuid}-0/pipe"
    assert one["NVIDIA_VISIBLE_DEVICES"].startswith("MIG-") and one["CUDA_MPS_PIPE_DIRECTORY"] == pipe
    assert one["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] == "75" and one["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] == "0=15360M"
    assert lines(shared.folder / "mps") == [f"{one['NVIDIA_VISIBLE_DEVICES']} {pipe} -f"] and not lines(shared.folder / "smi")
    (device,) = pod(shared, "b", {shares: "2"})
    assert environment(shared.cdi, device)["CUDA_MPS_PIPE_DIRECTORY"] == pipe.replace("-0/", "-4/"), "shares of a container are of one slice"
    (device,) = pod(shared, "c", {shares: "1"})
    assert environment(shared.cdi, device)["CUDA_MPS_PIPE_DIRECTORY"] == pipe
    assert len(lines(shared.folder / "mps")) == 2 and len(shared.instances()) == 2

    record = shared.folder / f"state/daemons/{uuid}-0.pid"
    daemon = int(record.read_text())
    assert shared.stop() == 0
    shared.kubelet.registrations.clear()
    shared.start(env=shared.path)
    wait_for("the shares are registered again", lambda: shares in shared.kubelet.registrations)
    assert int(record.read_text()) == daemon and len(lines(shared.folder / "mps")) == 2, "a restart leaves daemons alone"
    os.kill(daemon, signal.SIGKILL)
    wait_for("another one runs", lambda: int(record.read_text() or 0) not in (0, daemon))
    daemon = int(record.read_text())
    shared.kubelet.finish("a")
    wait_for("its claims go", lambda: sorted(claims(shared)) == ["b", "c"], deadline=10)
    assert os.path.exists(f"/proc/{daemon}") and len(shared.instances()) == 2
    shared.kubelet.finish("c")
    wait_for("slice and daemon go with the last share", lambda: len(shared.instances()) == 1 and not record.exists(), deadline=10)
    assert not os.path.exists(f"/proc/{daemon}")


@pytest.mark.parametrize("sharing,shares", [("1=mps:10", "mps.das.com/gpu-10gb"), ("0=1g.5gb:timeslice:1", "ts.das.com/1g.5gb")])
def test_two_shares_are_exchanged(shared, sharing, shares):
    """docs/spec/das.md N-B13, of shares: what the younger pod was given is given back with it, and goes to the next."""
    annotate(shared, sharing)
    shared.start(env=shared.path)
    wait_for("shares", lambda: count(shared, shares) > 3)
    for name in ("a", "b"):
        add_pod(shared, name, {shares: "1"})
        shared.kubelet.wait_bound(name)
        time.sleep(1.1)  # ages have whole seconds
    place = lambda: {name: claim["spec"]["share"] for name, claim in claims(shared).items()}  # noqa: E731
    before = place()
    devices = {name: shared.kubelet.admit(name)["c"][0] for name in ("b", "a")}  # the younger one first
    seen = {name: environment(shared.cdi, device)["NVIDIA_VISIBLE_DEVICES"] for name, device in devices.items()}
    wait_for("the claims changed places", lambda: place() == {"a": before["b"], "b": before["a"]})
    names = lambda device: json.loads(cdi_file(shared.cdi, device)["devices"][0]["annotations"]["mig.das.com/allocation"])[0]["spec"]["podRef"]["name"]  # noqa: E731
    wait_for("the files follow", lambda: {name: names(device) for name, device in devices.items()} == {"a": "a", "b": "b"})
    assert {name: environment(shared.cdi, device)["NVIDIA_VISIBLE_DEVICES"] for name, device in devices.items()} == seen
    shared.kubelet.finish("a")
    wait_for("a's share goes", lambda: list(claims(shared)) == ["b"] and len(shared.files()) == 1, deadline=10)
    assert states(shared) == ["inUse"] and environment(shared.cdi, devices["b"])["NVIDIA_VISIBLE_DEVICES"] == seen["b"]
    pod(shared, "c", {shares: "1"})
    assert place() == {"b": before["a"], "c": before["b"]}


def test_a_slice_whose_daemon_cannot_run_is_given_back(shared):
    (shared.folder / "bin/nvidia-cuda-mps-control").unlink()
    annotate(shared, "0=3g.20gb:mps:10")
    shared.start(env={"PATH": str(shared.folder / "bin") + ":/nonexistent"})
    shares = "mps.das.com/3g.20gb-10gb"
    wait_for("shares", lambda: count(shared, shares) == 4)
    add_pod(shared, "a", {shares: "1"})
    shared.kubelet.wait_bound("a")
    with pytest.raises(grpc.RpcError) as refused:
        shared.kubelet.admit("a")
    assert "run the MPS control daemon: nvidia-cuda-mps-control" in refused.value.details()
    assert not shared.instances() and states(shared) == ["created"] and not shared.files()


def test_partitions_of_emulated_gpus_of_another_vendor(agent):  # noqa: F811
    agent.lab.kubectl("annotate", "node", "gpu-1", "das.inference.redhat.com/emulated-gpu-model=MI300X", f"{SHARING}=0=cpx:nps4")
    agent.start()
    wait_for("partitions", lambda: count(agent, "amd.das.com/cpx-nps4") == 8 and count(agent, "amd.das.com/spx-nps1") == 1)
    assert accelerator(agent)["spec"]["acceleratorType"] == "amd-mi300"
    (device,) = pod(agent, "a", {"amd.das.com/cpx-nps4": "2"})
    assert environment(agent.cdi, device)["ROCR_VISIBLE_DEVICES"] == "0,1"
    agent.kubelet.finish("a")
    wait_for("nothing is left", lambda: not claims(agent) and not agent.files(), deadline=10)
