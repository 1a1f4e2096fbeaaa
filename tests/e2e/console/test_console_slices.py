# SPDX-License-Identifier: Apache-2.0
"""Slices that came and went, as the console keeps them (docs/spec/dashboard.md B4.7, replay)."""

import json

from console_client import Console
from support import ROOT, wait_for

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
