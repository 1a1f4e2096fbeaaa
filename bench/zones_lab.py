# SPDX-License-Identifier: Apache-2.0
"""Figures of zones that need processes: the exporter's round, memory and writes, and how soon freed cpus are used. Run by scripts/bench-numa."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tests/e2e/numa")]
from numa_lab import LAB, PODS, TOPOLOGIES, container, create, deploy, free, pod, remove, runs  # noqa: E402
from support import ATHANOR, Lab, wait_for  # noqa: E402

EXPORTER = ATHANOR.parent / "resource-topology-exporter"
MISSED = []


def figure(name, value, target, good):
    MISSED.extend([] if good else [name])
    print(f"{name:<58} {value:>16}   target {target:<14} {'ok' if good else 'MISSED'}", flush=True)


def fake_kubelet(folder, pods=110):
    """110 pods with a cpu each on four nodes of 32 cpus."""
    memory = [{"memory_type": "memory", "size": 60 << 30, "topology": {"nodes": [{"ID": zone}]}} for zone in range(4)]
    allocatable = {"cpu_ids": list(range(128)), "memory": memory}
    listed = [{"name": f"pod-{i}", "namespace": "ns", "containers": [{"name": "c", "cpu_ids": [i]}]} for i in range(pods)]
    (folder / "list.json").write_text(json.dumps({"pod_resources": listed}))
    (folder / "get_allocatable_resources.json").write_text(json.dumps(allocatable))


def exporter(lab, folder):
    fake_kubelet(folder)
    flags = [
        "--hostname=measured",
        f"--sysfs={ROOT}/tests/data/numa/sysfs/four-zones",
        f"--podresources-socket=fake://{folder}",
        "--sleep-interval=50ms",
        "--max-events-per-second=0",
        "--podreadiness=false",
        "--add-nrt-owner=false",
        "--metrics-mode=http",
        "--metrics-ip=127.0.0.1",
        "--metrics-port=0",
    ]
    process = subprocess.Popen([EXPORTER, *flags], env=lab.env, stderr=subprocess.PIPE, text=True)
    try:
        address = process.stderr.readline().split()[-1]

        def metrics():
            return urllib.request.urlopen(f"http://{address}/metrics", timeout=10).read().decode()

        wait_for("rounds", lambda: 'operation="unchanged"' in metrics())
        version = lab.http("GET", f"{TOPOLOGIES}/measured").json["metadata"]["resourceVersion"]
        delays = []
        for _ in range(100):
            time.sleep(0.05)
            found = re.search(r'operation_name="node_resource_object_update".*\} ([0-9.]+)', metrics())
            delays.append(float(found.group(1)))
        delays.sort()
        figure("exporter: whole round, nothing changed (p50 / p99)", f"{delays[50]:.2f} / {delays[98]:.2f} ms", "<= 5 ms", delays[98] <= 5)
        changed = lab.http("GET", f"{TOPOLOGIES}/measured").json["metadata"]["resourceVersion"] != version
        figure("exporter: writes while nothing changed", "some" if changed else "0", "0", not changed)
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        resident = int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024
        private = int(re.search(r"RssAnon:\s+(\d+)", status).group(1)) / 1024
        figure("exporter: memory (of it not shared with the program's file)", f"{resident:.1f} ({private:.1f}) MiB", "<= 20 MiB", resident <= 20)
    finally:
        process.terminate()
        process.wait(timeout=20)
        process.stderr.close()


def watch(lab, path, seen):
    """Notes when each event arrives."""

    def follow():
        connection = lab.connection(timeout=600)
        connection.request("GET", f"{path}?watch=1")
        answer = connection.getresponse()
        while line := answer.readline():
            seen.append((time.monotonic(), json.loads(line)["object"]))

    threading.Thread(target=follow, daemon=True).start()


def freed_cpus(lab, rounds=20):
    """From the change of a NodeResourceTopology to the binding of the pod that waited for it, as a client sees both."""
    topologies, pods = [], []
    watch(lab, TOPOLOGIES, topologies)
    watch(lab, PODS, pods)
    create(lab, pod("holder-0", container(cpu="12"), nodeSelector={"kubernetes.io/hostname": "worker-1"}))
    runs(lab, "holder-0")
    times = []
    for number in range(1, rounds + 1):
        wait_for("the cpus to be taken", lambda: free(lab)["worker-1/node-1"] == "0")
        create(lab, pod(f"holder-{number}", container(cpu="12"), nodeSelector={"kubernetes.io/hostname": "worker-1"}))
        time.sleep(0.3)
        begin = time.monotonic()
        remove(lab, f"holder-{number - 1}")
        runs(lab, f"holder-{number}")
        freed = next(
            at
            for at, one in topologies
            if at > begin and one["metadata"]["name"] == "worker-1" and one["zones"][1]["resources"][0]["available"] == "12"
        )
        bound = next(at for at, one in pods if one["metadata"]["name"] == f"holder-{number}" and one["spec"].get("nodeName"))
        times.append(max(0.0, bound - freed) * 1000)
    times.sort()
    high = times[int(0.95 * (len(times) - 1))]
    figure("freed cpus used after their object changed (p50 / p95)", f"{times[len(times) // 2]:.1f} / {high:.1f} ms", "<= 100 ms", high <= 100)


def main():
    with tempfile.TemporaryDirectory(prefix="zones") as name:
        folder = pathlib.Path(name)
        lab = Lab(folder / "lab", ["--storage", "memory", "--lab", str(LAB)])
        try:
            deploy(lab.start())
            (folder / "kubelet").mkdir()
            exporter(lab, folder / "kubelet")
            freed_cpus(lab)
        finally:
            lab.close()
    return 1 if MISSED else 0


if __name__ == "__main__":
    sys.exit(main())
