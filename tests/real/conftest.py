# SPDX-License-Identifier: Apache-2.0
"""Both servers: every test that takes `lab` runs against the embedded API server and against the real one."""

import datetime
import itertools
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e"), str(HERE.parent / "e2e/api")]
pytest.register_assert_rewrite("test_http", "test_kubectl_read", "test_kubectl_write", "test_clients", "test_every_resource")
from support import ROOT, Lab, alive, wait_for  # noqa: E402

SCRIPT = ROOT / "scripts/real"
START = 120.0  # seconds, of a component
_numbers = itertools.count(1)


def now():
    """As an audit log writes it: such texts compare as the times do."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class RealLab(Lab):
    """etcd, kube-apiserver and kube-controller-manager behind the interface of a lab."""

    def __init__(self, *args):
        super().__init__(*args)
        self.outages = []  # (the API server is killed, it is ready again)

    def start(self):
        done = subprocess.run([SCRIPT, "up", self.data, "kcm"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        self._load_credentials()
        return self

    def close(self):
        subprocess.run([SCRIPT, "down", self.data], check=False)

    def pid(self, component):
        return int((self.data / f"{component}.pid").read_text(encoding="ascii"))

    def restart(self, component, pause=0, meanwhile=lambda: None):
        """Kills a component as a crash does, calls meanwhile(), and starts it again as it was, on the same port, no earlier than after the pause."""
        pid = self.pid(component)
        killed = now()
        command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[:-1]
        os.kill(pid, signal.SIGKILL)
        wait_for(f"{component} is gone", lambda: not alive(pid))
        back = time.monotonic() + pause
        meanwhile()
        time.sleep(max(0, back - time.monotonic()))  # the absence itself
        started = []

        def ready():
            if not started or started[-1].poll() is not None:  # the port may not be free at once
                with open(self.data / f"{component}.log", "ab") as log:
                    started.append(subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True))
                (self.data / f"{component}.pid").write_text(f"{started[-1].pid}\n", encoding="ascii")
            return self.http("GET", "/readyz").code == 200

        wait_for("the API server is ready", ready, START)
        self.outages.append((killed, now()))

    def in_an_outage(self, time):
        return any(killed <= time <= ready for killed, ready in self.outages)

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
