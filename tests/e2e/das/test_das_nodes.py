# SPDX-License-Identifier: Apache-2.0
"""The lab's nodes in a process of their own, `athanor controllers --controllers nodes`: what the systems add to nodes comes with them."""

import pytest
from replica import Replica
from support import ATHANOR, ROOT, wait_for


@pytest.fixture
def lab(make_lab, monkeypatch):
    """Without nodes of its own; those of the lab file stay unready until somebody plays them."""
    monkeypatch.setenv("EMULATED_MODE", "enabled")
    return make_lab("--storage", "memory", "--pods", "timed", "--controllers", "*,-kubelet,-emulated-node", "--lab", str(ROOT / "examples/das/lab.yaml")).start()


def test_slices_reach_pods_of_nodes_elsewhere(lab, tmp_path):
    command = [ATHANOR, "controllers", "--controllers", "nodes", "-A", "--kubeconfig", lab.kubeconfig, "--metrics-address", "127.0.0.1:0"]
    nodes = Replica(command, tmp_path / "nodes.log")
    try:
        lab.kubectl("apply", "-f", str(ROOT / "examples/das/test-pod-emulated.yaml"))
        phase = lambda: lab.get("/api/v1/namespaces/default/pods/test-pod-emulated")["status"]["phase"]  # noqa: E731
        wait_for("the pod runs", lambda: phase() == "Running")
        (claim,) = lab.get("/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/allocationclaims")["items"]
        assert claim["status"]["state"] == "inUse", claim
        wait_for("its readiness", nodes.ready)
    finally:
        nodes.end()
