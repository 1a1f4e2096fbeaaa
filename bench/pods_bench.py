# SPDX-License-Identifier: Apache-2.0
"""Process pods with their overlay and network: creation to Running, a hundred at once, deletion, names inside a pod, the cpu that probes cost; and the idle lab.

Started by scripts/bench-pods. Prints one line a figure, beside its target; exits with 1 where a target is missed.
"""

import json
import pathlib
import statistics
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from support import Lab, ProbeTarget, cpu_share, wait_for  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
SINGLE, BURST, LOOKUPS, PROBED = 50, 100, 500, 500
PROBING = 20  # seconds
IDLE = 20  # seconds
NAMES = f"""
import socket, time
name = "kubernetes.default.svc.cluster.local"
socket.getaddrinfo(name, 443)
took = []
for _ in range({LOOKUPS}):
    began = time.perf_counter()
    socket.getaddrinfo(name, 443, socket.AF_INET, socket.SOCK_STREAM)
    took.append((time.perf_counter() - began) * 1000)
took.sort()
print(took[len(took) // 2], took[len(took) * 99 // 100])
"""


class Arrivals:
    """When each pod was first seen Running, or gone, by a watch that is open before they are created."""

    def __init__(self, lab):
        self.running, self.gone, self.changed = {}, {}, threading.Condition()
        self.connection = lab.connection(timeout=600)
        self.connection.request("GET", f"{PODS}?watch=true&resourceVersion=0")
        self.answer = self.connection.getresponse()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        buffer = b""
        while chunk := self.answer.read1(1 << 16):
            now = time.perf_counter()
            *lines, buffer = (buffer + chunk).split(b"\n")
            with self.changed:
                for line in lines:
                    event = json.loads(line)
                    name = event["object"]["metadata"]["name"]
                    if event["type"] == "DELETED":
                        self.gone.setdefault(name, now)
                    elif event["object"].get("status", {}).get("phase") == "Running":
                        self.running.setdefault(name, now)
                self.changed.notify_all()

    def wait(self, times, names, seconds=120):
        with self.changed:
            if not self.changed.wait_for(lambda: all(name in times for name in names), seconds):
                raise RuntimeError(f"only {sum(name in times for name in names)} of {len(names)} after {seconds} s")
            return [times[name] for name in names]


def pod(name, more=()):
    container = {"name": "c", "image": "busybox", "command": ["sleep", "100000"], **dict(more)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]}}


class Bench:
    def __init__(self, lab):
        self.lab, self.arrivals, self.missed = lab, Arrivals(lab), 0
        self.connection = lab.connection(timeout=60)

    def show(self, figure, value, unit, target):
        self.missed += value > target
        print(f"{figure:62} {value:8.1f} {unit:6} target {target:g}{'   MISSED' if value > target else ''}", flush=True)

    def create(self, name, container=()):
        self.connection.request("POST", PODS, body=json.dumps(pod(name, container)), headers={"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 201:
            raise RuntimeError(text.decode())

    def delete(self, name):
        self.connection.request("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
        self.connection.getresponse().read()

    def one_by_one(self):
        took = []
        for i in range(SINGLE):
            began = time.perf_counter()
            self.create(f"single-{i}")
            (seen,) = self.arrivals.wait(self.arrivals.running, [f"single-{i}"])
            took.append((seen - began) * 1000)
        self.show("a pod from its creation to Running, p50", statistics.median(took), "ms", 30)
        self.show("  p99", sorted(took)[SINGLE * 99 // 100], "ms", 150)
        for i in range(SINGLE):
            self.delete(f"single-{i}")
        self.arrivals.wait(self.arrivals.gone, [f"single-{i}" for i in range(SINGLE)])

    def at_once(self):
        names = [f"burst-{i}" for i in range(BURST)]
        began = time.perf_counter()
        for name in names:
            self.create(name)
        self.show(f"{BURST} pods at once, all Running", max(self.arrivals.wait(self.arrivals.running, names)) - began, "s", 2)
        began = time.perf_counter()
        for name in names:
            self.delete(name)
        self.show(f"{BURST} pods deleted at once, all gone", max(self.arrivals.wait(self.arrivals.gone, names)) - began, "s", 2)

    def probes(self):
        """Each pod is asked each second; all of them ask one port of this program, so that only the lab's own work is measured."""
        with ProbeTarget() as target:
            names = [f"probed-{i}" for i in range(PROBED)]
            for name in names:
                self.create(name, {"livenessProbe": target.probe()})
            self.arrivals.wait(self.arrivals.running, names, 300)
            wait_for("a second round of probes", lambda: target.asked >= 2 * PROBED, 60)
            asked = target.asked
            self.show(f"cpu of the lab, {PROBED} pods with probes each second", cpu_share(self.lab.process.pid, PROBING), "%", 10)
            asked = target.asked - asked
            if asked < PROBED * PROBING * 0.8:
                raise RuntimeError(f"only {asked} probes were asked in {PROBING} s")
        for name in names:
            self.delete(name)
        self.arrivals.wait(self.arrivals.gone, names, 300)

    def names(self):
        container = {"name": "c", "image": "python", "command": ["python3", "-c", NAMES]}
        body = {**pod("names"), "spec": {"restartPolicy": "Never", "containers": [container]}}
        if self.lab.http("POST", PODS, body).code != 201:
            raise RuntimeError("the pod was refused")
        wait_for("its end", lambda: self.lab.get(f"{PODS}/names")["status"].get("phase") in ("Succeeded", "Failed"), 120)
        p50, p99 = map(float, self.lab.http("GET", f"{PODS}/names/log").text.split())
        self.show("a name of a Service inside a pod, p50", p50, "ms", 1)
        self.show("  p99", p99, "ms", 10)

    def idle(self):
        memory = {key: int(text.split()[0]) / 1024 for key, _, text in (line.partition(":") for line in pathlib.Path(f"/proc/{self.lab.process.pid}/status").read_text().splitlines()) if key == "VmRSS"}
        self.show("memory of the idle lab, before any pod", memory["VmRSS"], "MiB", 50)


def main():
    with tempfile.TemporaryDirectory(prefix="athanor-bench-") as folder:
        lab = Lab(pathlib.Path(folder) / "lab")
        try:
            lab.start()
            time.sleep(IDLE)  # until what the start has used is given back
            bench = Bench(lab)
            bench.idle()
            bench.one_by_one()
            bench.at_once()
            bench.names()
            bench.probes()
        finally:
            lab.close()
    sys.exit(1 if bench.missed else 0)


if __name__ == "__main__":
    main()
