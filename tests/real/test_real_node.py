# SPDX-License-Identifier: Apache-2.0
"""A real kubelet and containerd joined to the embedded control plane: what tests of device plugins and pod resources stand on."""

import pathlib
import shutil
import tempfile

import pytest
from node import RealNode
from support import ROOT, Lab, wait_for


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    lab = Lab(tmp_path_factory.mktemp("lab") / "lab", ["--lab", str(ROOT / "tests/real/empty-lab.yaml")])
    folder = pathlib.Path(tempfile.mkdtemp(prefix="athanor-node-"))
    one = None
    try:
        lab.start()
        one = RealNode(folder, lab, lab.data / "pki/ca.crt").start()
        yield one
    finally:
        if one:
            one.close()
        lab.close()
        shutil.rmtree(folder, ignore_errors=True)


def test_a_pod_runs_on_the_real_kubelet(node):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "hello"}, "spec": {"restartPolicy": "Never", "containers": [
        {"name": "c", "image": "docker.io/library/busybox:latest", "imagePullPolicy": "Never", "command": ["sh", "-c", "echo hello from $HOSTNAME"]}]}}  # fmt: skip
    answer = node.lab.http("POST", "/api/v1/namespaces/default/pods", pod)
    assert answer.code == 201, answer.text
    wait_for("the pod succeeds", lambda: node.lab.get("/api/v1/namespaces/default/pods/hello")["status"].get("phase") == "Succeeded")
    assert node.log("hello") == "hello from hello\n"
