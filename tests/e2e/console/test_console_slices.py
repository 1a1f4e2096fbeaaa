# SPDX-License-Identifier: Apache-2.0
"""Slices that came and went, as the console keeps them (docs/spec/dashboard.md B4.7, replay)."""

import json

from console_client import Console, ConsoleProcess
from support import JOBS, ROOT, wait_for
from test_console_access import Viewer

POD = ROOT / "examples/das/test-pod-emulated.yaml"


def test_slices_that_came_and_went_are_kept(make_lab, monkeypatch):
    monkeypatch.setenv("EMULATED_MODE", "enabled")
    lab = make_lab().start()
    console = Console(lab)

    def changes(*types):
        found = console.get("/api/v1/mig/history?hours=1")["changes"]
        return found if [one["type"] for one in found] == list(types) else None

    lab.kubectl("apply", "-f", POD)
    (added,) = wait_for("the slice", lambda: changes("ADDED"))
    gpus = [gpu for node in console.get("/api/v1/mig")["nodes"] for gpu in node["gpus"]]
    (holder,) = [holder for gpu in gpus if gpu["uuid"] == added["gpu"] for holder in gpu["holders"]]
    assert {name: holder[name] for name in ("start", "size", "profile", "pod")} == {name: added[name] for name in ("start", "size", "profile", "pod")}
    lab.kubectl("delete", "-f", POD, "--wait=false")
    _, deleted = wait_for("the slice's end", lambda: changes("ADDED", "DELETED"))
    assert deleted["at"] > added["at"] and deleted["gpu"] == added["gpu"]

    lab.stop()
    lab.start()
    console = Console(lab)
    wait_for("the same changes after a restart", lambda: changes("ADDED", "DELETED"))

    for hours in ("0", "2161", "x", "-1", "1.5", ""):
        answer, data = console.request("GET", f"/api/v1/mig/history?hours={hours}")
        assert (answer.status, json.loads(data)["error"]["field"]) == (400, "hours"), hours


def test_slices_hide_pods_of_others(make_lab, monkeypatch, tmp_path):
    """Who may list NodeAccelerators sees which slots are taken, and the pods' names only where they may list pods (B9 X2)."""
    monkeypatch.setenv("EMULATED_MODE", "enabled")
    lab = make_lab().start()
    lab.kubectl("apply", "-f", POD)
    wait_for("the namespace", lambda: lab.http("GET", f"/api/v1/namespaces/{JOBS}").code == 200)
    lab.kubectl("create", "serviceaccount", "neighbour", "-n", JOBS)
    lab.kubectl("create", "clusterrole", "accelerators", "--verb=get,list,watch", "--resource=nodeaccelerators.inference.redhat.com")
    lab.kubectl("create", "clusterrolebinding", "accelerators", "--clusterrole=accelerators", f"--serviceaccount={JOBS}:neighbour")
    console = ConsoleProcess(lab, tmp_path, CONSOLE_AUTH="token")
    try:
        viewer = Viewer(console, lab.kubectl("create", "token", "neighbour", "-n", JOBS).out.strip())

        def holders():
            return [one for node in viewer.get("/api/v1/mig")["nodes"] for gpu in node["gpus"] for one in gpu["holders"]]

        (holder,) = wait_for("the slice", holders)
        assert holder["profile"] == "1g.5gb" and holder["size"] == 1, holder
        assert {holder[name] for name in ("claim", "namespace", "pod", "container")} == {""}, holder
        wait_for("its record", lambda: viewer.get("/api/v1/mig/history?hours=1")["changes"])
        lab.kubectl("delete", "-f", POD, "--force", "--grace-period=0")
        for path in ("mig", "mig/history?hours=1", "problems", "overview"):
            assert b"test-pod-emulated" not in viewer.request("GET", f"/api/v1/{path}")[1], path
    finally:
        console.stop()
