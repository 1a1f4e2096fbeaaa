# SPDX-License-Identifier: Apache-2.0
"""athanor-agent beside its targets (docs/spec/das.md 8): the time of Allocate with emulated slices, and memory at rest.

usage: agent_bench.py ATHANOR AGENT     Prints one line a figure; exits with 1 where a target is missed.
"""

import pathlib
import shutil
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tests/e2e/das")]
import support  # noqa: E402

support.ATHANOR, AGENT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
from fake_kubelet import FakeKubelet  # noqa: E402
from test_agent import Agent  # noqa: E402

GPUS, ROUNDS = 16, 4
REST = 10  # seconds; an agent gives memory back once it was not asked for a while
RESOURCE, P99_MS, RSS_MIB = "mig.das.com/1g.5gb", 5.0, 20.0


def rss_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) / 1024


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="agent-bench-"))
    lab = support.Lab(folder / "lab", ["--storage", "memory", "--pods", "timed"], program=support.ATHANOR)
    agent = kubelet = None
    times = []
    try:
        lab.start()
        lab.http("POST", "/api/v1/namespaces", {"metadata": {"name": "das-operator"}})
        kubelet = FakeKubelet(folder / "kubelet", lab).start()
        kubelet.add_node()
        agent = Agent(folder, lab, kubelet, program=AGENT)
        agent.start("--log-level=warn", env={"EMULATED_GPU_COUNT": str(GPUS)})
        support.wait_for("the devices", lambda: len(kubelet.devices.get(RESOURCE, {})) == 7 * GPUS)
        time.sleep(REST)
        rest = rss_mib(agent.process.pid)
        for turn in range(ROUNDS):
            names = [f"p-{turn}-{i}" for i in range(7 * GPUS)]
            for name in names:
                body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [
                    {"name": "c", "image": "busybox", "resources": {"limits": {RESOURCE: "1"}}}]}}  # fmt: skip
                assert lab.http("POST", "/api/v1/namespaces/default/pods", body).code == 201
            for name in names:
                kubelet.wait_bound(name)
            for device, name in zip(kubelet.devices[RESOURCE], names, strict=True):
                began = time.perf_counter()
                kubelet.allocate(RESOURCE, [device])
                times.append((time.perf_counter() - began) * 1000)
                kubelet.set_phase(name, "Running")
            for name in names:
                kubelet.finish(name)
            support.wait_for("every claim is gone", lambda: not agent.files() and not lab.get(
                "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/allocationclaims")["items"])  # fmt: skip
        time.sleep(REST)
        p99 = statistics.quantiles(times, n=100)[98]
        print(f"agent: Allocate with emulated slices, {len(times)} calls: p50 {statistics.median(times):.1f} ms, p99 {p99:.1f} ms (target {P99_MS:.0f})")
        print(f"agent: memory at rest {rest:.1f} MiB, after {len(times)} slices {rss_mib(agent.process.pid):.1f} MiB (target {RSS_MIB:.0f})")
        return int(p99 > P99_MS or rest > RSS_MIB)
    finally:
        if agent:
            agent.close()
        if kubelet:
            kubelet.close()
        lab.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
