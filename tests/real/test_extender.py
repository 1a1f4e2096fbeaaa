# SPDX-License-Identifier: Apache-2.0
"""The real kube-scheduler with `athanor extender` beside it, on the embedded API server: slices of emulated GPUs (docs/spec/das.md 7)."""

import os
import subprocess

import pytest
import yaml
from conftest import SCRIPT
from support import ATHANOR, ROOT, Lab, free_port, run, wait_for

SLOW = 120.0
CLAIMS = "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/allocationclaims"


@pytest.fixture(scope="module")
def scheduled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("extender")
    lab = Lab(folder / "lab", ["--controllers", "*,-default-scheduler", "--pods", "timed", "--lab", str(ROOT / "examples/das/lab.yaml")])
    logs, extender = folder / "scheduler", None
    try:
        lab.start()
        port = free_port()
        extender = subprocess.Popen(
            [ATHANOR, "extender", "--kubeconfig", lab.kubeconfig, f"--address=127.0.0.1:{port}", "--metrics-address=127.0.0.1:0", "--leader-elect=false"],
            stdout=subprocess.DEVNULL, stderr=(folder / "extender.log").open("wb"),
        )  # fmt: skip
        wait_for("the extender answers", lambda: "the cluster is seen" in (folder / "extender.log").read_text())
        printed = run([ATHANOR, "extender", "--print-scheduler-config", "--url", f"http://127.0.0.1:{port}", "--profile", "das-scheduler,default-scheduler"])
        config = yaml.safe_load(printed.out)
        config["clientConnection"] = {"kubeconfig": str(lab.kubeconfig)}
        config["leaderElection"] = {"leaderElect": False}
        (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        done = subprocess.run(
            [SCRIPT, "against", logs, lab.kubeconfig, "scheduler"], capture_output=True, text=True, check=False,
            env={**os.environ, "SCHEDULER_FLAGS": f"--config {folder / 'config.yaml'}"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        lab.logs = logs
        yield lab
    finally:
        subprocess.run([SCRIPT, "down", logs], check=False)
        if extender:
            extender.kill()
            extender.wait()
        lab.close()


def claims(lab):
    return lab.get(CLAIMS)["items"]


def phases(lab, names):
    return [lab.get(f"/api/v1/namespaces/default/pods/{name}").get("status", {}).get("phase") for name in names]


def pod(lab, name, limits, **spec):
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {**spec, "containers": [
        {"name": "c", "image": "busybox", "command": ["sleep", "100000"], "resources": {"limits": limits}}]}}  # fmt: skip
    answer = lab.http("POST", "/api/v1/namespaces/default/pods", body)
    assert answer.code == 201, answer.text
    return answer.json


def message(lab, name):
    conditions = lab.get(f"/api/v1/namespaces/default/pods/{name}").get("status", {}).get("conditions", [])
    return next((one.get("message", "") for one in conditions if one["type"] == "PodScheduled"), "")


def test_slices_through_the_real_scheduler(scheduled):
    names = [f"p{i}" for i in range(14)]
    for name in names:
        pod(scheduled, name, {"nvidia.com/mig-1g.5gb": "1"})
    wait_for("fourteen pods run", lambda: phases(scheduled, names) == ["Running"] * 14, SLOW)
    slots = {(c["spec"]["gpuUUID"], c["spec"]["migPlacement"]["start"]) for c in claims(scheduled)}
    assert len(slots) == 14
    pod(scheduled, "late", {"nvidia.com/mig-1g.5gb": "1"})
    wait_for("the next one is refused", lambda: "Insufficient mig.das.com/1g.5gb" in message(scheduled, "late"), SLOW)
    scheduled.kubectl("delete", "pod", "p0", "--wait=false")
    wait_for("it runs once a slot is free", lambda: phases(scheduled, ["late"]) == ["Running"], SLOW)
    for name in [*names[1:], "late"]:
        scheduled.kubectl("delete", "pod", name, "--wait=false")
    wait_for("no claim is left", lambda: claims(scheduled) == [], SLOW)


def test_what_fits_nowhere_says_so_and_preempts(scheduled):
    scheduled.kubectl("create", "priorityclass", "high", "--value=1000")
    for name in ("a", "b"):
        pod(scheduled, name, {"nvidia.com/mig-4g.20gb": "1"})
    wait_for("both run", lambda: phases(scheduled, ["a", "b"]) == ["Running"] * 2, SLOW)
    pod(scheduled, "whole", {"nvidia.com/mig-7g.40gb": "1"})
    wait_for("no slot for a whole GPU", lambda: "no GPU available" in message(scheduled, "whole"), SLOW)
    pod(scheduled, "urgent", {"nvidia.com/mig-7g.40gb": "1"}, priorityClassName="high")
    wait_for("a pod made room", lambda: phases(scheduled, ["urgent"]) == ["Running"], SLOW)
    left = {c["spec"]["podRef"]["name"] for c in claims(scheduled)}
    assert "urgent" in left and len(left & {"a", "b"}) == 1


def test_pods_without_slices_are_not_its_business(scheduled):
    pod(scheduled, "plain", {"cpu": "10m"})
    wait_for("it runs", lambda: phases(scheduled, ["plain"]) == ["Running"], SLOW)
