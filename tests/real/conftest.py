# SPDX-License-Identifier: Apache-2.0
"""Both servers: every test that takes `lab` runs against the embedded API server and against the real one."""

import itertools
import pathlib
import re
import subprocess
import sys

import pytest
import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e"), str(HERE.parent / "e2e/api")]
pytest.register_assert_rewrite("test_http", "test_kubectl_read", "test_kubectl_write", "test_clients", "test_every_resource")
from support import ROOT, Lab, wait_for  # noqa: E402

SCRIPT = ROOT / "scripts/real"
_numbers = itertools.count(1)


class RealLab(Lab):
    """etcd, kube-apiserver and kube-controller-manager behind the interface of a lab."""

    def start(self):
        done = subprocess.run([SCRIPT, "up", self.data, "kcm"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        self._load_credentials()
        return self

    def close(self):
        subprocess.run([SCRIPT, "down", self.data], check=False)

    @property
    def address(self):
        server = yaml.safe_load(self.kubeconfig.read_text(encoding="utf-8"))["clusters"][0]["cluster"]["server"]
        found = re.fullmatch(r"https://([0-9.]+):(\d+)", server)
        return found.group(1), int(found.group(2))


@pytest.fixture(scope="session", params=["embedded", "real"])
def lab(request, tmp_path_factory):
    one = (Lab if request.param == "embedded" else RealLab)(tmp_path_factory.mktemp(request.param) / "lab")
    try:
        one.start()
        yield one
    finally:
        one.close()


@pytest.fixture
def ns(lab):
    """A fresh namespace with its service account, removed afterwards without waiting for it."""
    name = f"both-{next(_numbers)}"
    lab.kubectl("create", "namespace", name)
    wait_for("default service account", lambda: lab.http("GET", f"/api/v1/namespaces/{name}/serviceaccounts/default").code == 200)
    yield name
    lab.http("DELETE", f"/api/v1/namespaces/{name}")
