# SPDX-License-Identifier: Apache-2.0
"""athanor-agent on a GPU of NVIDIA's, through the driver's own libnvidia-ml.so (docs/spec/das.md 8.6, 15.3).

Skipped where no driver is installed, and without an agent where a GPU is in MIG mode: no setting and no slice of the machine changes. Turns of
the default interval need no setting. NVML_LIBRARY names another library."""

import ctypes
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

LIBRARY = os.environ.get("NVML_LIBRARY", "libnvidia-ml.so.1")
try:
    ctypes.CDLL(LIBRARY)
except OSError as error:
    pytest.skip(f"no NVIDIA driver here: {error}", allow_module_level=True)

from fake_kubelet import environment  # noqa: E402
from support import wait_for  # noqa: E402
from test_agent import ACCELERATOR, AGENT, accelerator, add_pod, claims, states, world  # noqa: E402

SHARING = "das.inference.redhat.com/gpu-sharing"


def gpus(*flags):
    done = subprocess.run([AGENT, "gpus", f"--nvml-library={LIBRARY}", *flags], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    return done.stdout


def driver(*fields):
    """The rows of nvidia-smi's table of GPUs."""
    smi = shutil.which("nvidia-smi")
    if not smi:
        pytest.skip("nvidia-smi is not installed")
    done = subprocess.run([smi, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"], capture_output=True, text=True, timeout=60, check=True)
    return [[one.strip() for one in line.split(",")] for line in done.stdout.splitlines()]


@pytest.fixture
def agent(make_lab):
    if any(g["migEnabled"] for g in json.loads(gpus("-o", "json"))["gpus"]):
        pytest.skip("a GPU is in MIG mode: its slices are not this test's")
    one = world(make_lab, real=True, library=LIBRARY)
    yield one
    one.close()
    one.kubelet.close()
    shutil.rmtree(one.folder, ignore_errors=True)


def test_gpus_are_read_as_the_driver_shows_them():
    found = json.loads(gpus("-o", "json"))["gpus"]
    shown = driver("index", "uuid", "name", "memory.total", "mig.mode.current", "pci.bus_id")
    assert [[str(g["index"]), g["uuid"], g["name"], g["migEnabled"]] for g in found] == [[i, uuid, name, mig == "Enabled"] for i, uuid, name, _, mig, _ in shown]
    for gpu, (_, _, _, memory, _, bus) in zip(found, shown, strict=True):
        assert abs(gpu["memoryMiB"] - int(memory)) <= 1024 and gpu["pciBusID"].upper() == bus.upper()
        assert gpu["healthy"]


# NVIDIA's names and places for a GPU of the driver's own: `nvidia-smi mig -lgip` and `-lgipp`, which answer without MIG mode, too.
def test_profiles_are_those_of_the_driver():
    smi = shutil.which("nvidia-smi") or pytest.skip("nvidia-smi is not installed")
    listed, placed = (subprocess.run([smi, "mig", flag], capture_output=True, text=True, timeout=60, check=False).stdout for flag in ("-lgip", "-lgipp"))
    names = {(int(g), int(i)): name for g, name, i in re.findall(r"\|\s+(\d+)\s+MIG (\S+)\s+(\d+)\s", listed)}
    places = {(int(g), int(i)): ([int(s) for s in starts.split(",")], int(size))
              for g, i, starts, size in re.findall(r"GPU\s+(\d+) Profile ID\s+(\d+) Placements?\s*: \{([\d,]+)\}:(\d+)", placed)}  # fmt: skip
    if not names:
        pytest.skip("the driver lists no profiles")
    expected = {(gpu, names[gpu, i], *map(str, place)) for (gpu, i), place in places.items()}
    found = {(g["index"], p["name"], str(p["starts"]), str(p["size"])) for g in json.loads(gpus("-o", "json"))["gpus"] for p in g["profiles"]}
    assert found == expected


def test_text_names_each_gpu():
    text = gpus()
    for uuid, name in driver("uuid", "name"):
        assert f": {name}, {uuid}\n" in text


def test_a_whole_gpu_is_shared_and_a_program_runs_on_it(agent):
    gpu = json.loads(gpus("-o", "json"))["gpus"][0]
    agent.lab.http("PATCH", "/api/v1/nodes/gpu-1", {"metadata": {"annotations": {SHARING: f"{gpu['index']}=timeslice:2"}}}, content_type="application/merge-patch+json")
    agent.start()
    wait_for("two turns", lambda: len(agent.kubelet.devices.get("ts.das.com/gpu", {})) == 2)
    published = accelerator(agent)["status"]["nodeResources"]["nodeGpus"]
    assert gpu["uuid"] in [g["gpuUuid"] for g in published]

    given = []
    for name in ("a", "b"):
        add_pod(agent, name, {"ts.das.com/gpu": "1"})
        agent.kubelet.wait_bound(name)
        given += agent.kubelet.admit(name)["c"]
    wait_for("both claims are in use", lambda: states(agent) == ["inUse"] * 2)
    variables = environment(agent.cdi, given[0])
    assert variables["NVIDIA_VISIBLE_DEVICES"] == gpu["uuid"] and environment(agent.cdi, given[1])["NVIDIA_VISIBLE_DEVICES"] == gpu["uuid"]

    # What a container with this environment sees: the toolkit shows it the named GPU alone, as its first.
    program = "import torch; x = torch.ones(1 << 20, device='cuda:0'); print(torch.cuda.get_device_properties(0).uuid, int((x + x).sum().item()))"
    environments = [environment(agent.cdi, one) for one in given] if importlib.util.find_spec("torch") else []
    runs = [subprocess.Popen([sys.executable, "-c", program], env={**os.environ, **one, "CUDA_VISIBLE_DEVICES": gpu["uuid"]},
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for one in environments]  # fmt: skip
    for run in runs:
        out, err = run.communicate(timeout=120)
        assert run.returncode == 0 and out.split() == [gpu["uuid"].removeprefix("GPU-"), str(2 << 20)], out + err

    # A restart of the agent leaves both alone; what ends is given back.
    assert agent.stop() == 0
    agent.kubelet.registrations.clear()
    agent.start()
    wait_for("the resource is registered again", lambda: "ts.das.com/gpu" in agent.kubelet.registrations)
    assert states(agent) == ["inUse"] * 2 and len(agent.files()) == 2
    for name in ("a", "b"):
        agent.kubelet.finish(name)
    wait_for("claims and CDI files go", lambda: not claims(agent) and not agent.files(), deadline=15)


def test_a_node_without_mig_mode_offers_no_slices(agent):
    agent.start(ready=False)
    ready = lambda: next(c for c in agent.lab.get(ACCELERATOR)["status"]["conditions"] if c["type"] == "Ready")  # noqa: E731
    assert wait_for("the condition", ready, deadline=30)["reason"] == "NoMIGEnabledGPU"
    assert not any(r.startswith("mig.das.com/") for r in agent.kubelet.devices)
