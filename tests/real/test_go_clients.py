# SPDX-License-Identifier: Apache-2.0
"""Clients written in Go, on the embedded server: a controller-runtime suite, its operator as a program, Helm."""

import itertools
import os
import pathlib
import re
import socket
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
from support import ATHANOR, ROOT, Lab, run, wait_for  # noqa: E402

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "athanor/real"
GREETINGS = "/apis/demo.athanor.dev/v1/namespaces/default/greetings"
BUILD_TIME = 2400  # seconds, of a first build on shared cores


def go(*args, cwd, **variables):
    environment = {**os.environ, "GOFLAGS": "-mod=readonly", "CGO_ENABLED": "0", **variables}
    return run(["go", *args], cwd=cwd, env=environment, timeout=BUILD_TIME)


def built(package, module, name):
    """A program of a pinned module, built once into the cache."""
    CACHE.mkdir(parents=True, exist_ok=True)
    done = go("build", "-trimpath", "-ldflags=-s -w", "-o", CACHE / name, package, cwd=HERE / module)
    assert done.code == 0, done.err
    return CACHE / name


@pytest.fixture(scope="module")
def up(tmp_path_factory):
    """The default lab."""
    one = Lab(tmp_path_factory.mktemp("go") / "lab")
    try:
        one.start()
        yield one
    finally:
        one.close()


def test_an_envtest_suite_passes_unchanged(tmp_path):
    assets = tmp_path / "assets"
    assert run([ATHANOR, "envtest", assets]).code == 0
    done = go("test", "-count=1", "-v", ".", cwd=HERE / "envtest", KUBEBUILDER_ASSETS=str(assets))
    assert done.code == 0, done.out[-8000:] + done.err[-2000:]
    started = re.search(r"environment started in ([0-9.]+) s", done.out)
    print(started.group(0))
    # Shared cores get some leave.
    assert float(started.group(1)) < 2


class Operator:
    """The greeting operator as a process."""

    _numbers = itertools.count(1)

    def __init__(self, program, lab, folder):
        folder = folder / f"operator-{next(self._numbers)}"
        folder.mkdir()
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            port = held.getsockname()[1]
        self.out = folder / "out"
        self.err = folder / "err"
        self.process = subprocess.Popen(
            [program, f"-config={HERE}/envtest/config", f"-certs={folder}", f"-port={port}"],
            env={**os.environ, "KUBECONFIG": str(lab.kubeconfig)},
            stdout=self.out.open("w"),
            stderr=self.err.open("w"),
        )

    def leads(self):
        assert self.process.poll() is None, self.err.read_text(encoding="utf-8")
        return "leading" in self.out.read_text(encoding="utf-8")

    def end(self):
        self.process.terminate()
        return self.process.wait(timeout=60)


@pytest.fixture
def operators(up, tmp_path):
    program = built("./cmd/manager", "envtest", "greeting-manager")
    running = []

    def start():
        running.append(Operator(program, up, tmp_path))
        return running[-1]

    yield start
    for one in running:
        one.process.kill()
        one.process.wait()


def test_an_operator_leads_reconciles_and_is_followed(up, operators):
    first = operators()
    wait_for("a leader", first.leads)
    greeting = {"apiVersion": "demo.athanor.dev/v1", "kind": "Greeting", "metadata": {"name": "one"}, "spec": {"name": "ann"}}

    def create():
        answer = up.http("POST", GREETINGS, greeting)
        assert answer.code in (201, 409), answer.text
        return answer.json

    made = wait_for("webhooks that listen", create)
    assert made["spec"].get("count", 1) == 1
    refused = up.http("POST", GREETINGS, {**greeting, "metadata": {"name": "two"}, "spec": {"name": "nobody"}})
    assert refused.code == 403 and "nobody is not greeted" in refused.text
    wait_for("the greeting", lambda: up.http("GET", f"{GREETINGS}/one").json.get("status", {}).get("message") == "hello, ann!")
    # A second one waits until the first gives the lease back, then goes on with the finalizers.
    second = operators()
    wait_for("the second one's webhooks", lambda: "Serving webhook server" in second.err.read_text(encoding="utf-8"))
    assert not second.leads()
    first.end()
    wait_for("the second one to lead", second.leads)
    assert up.http("DELETE", f"{GREETINGS}/one").code == 200
    wait_for("the farewell", lambda: up.http("GET", f"{GREETINGS}/one").code == 404)
    assert up.http("GET", "/api/v1/namespaces/default/configmaps/farewell-one").json["data"] == {"message": "goodbye, ann"}
    wait_for("its text to be collected", lambda: up.http("GET", "/api/v1/namespaces/default/configmaps/greeting-one").code == 404)
    assert second.end() == 0


def test_helm_installs_upgrades_and_rolls_back(up, tmp_path):
    program = built("helm.sh/helm/v3/cmd/helm", "helm", "helm")
    environment = {**os.environ, "KUBECONFIG": str(up.kubeconfig), "HELM_CACHE_HOME": str(tmp_path / "cache"),
                   "HELM_CONFIG_HOME": str(tmp_path / "config"), "HELM_DATA_HOME": str(tmp_path / "data")}  # fmt: skip

    def helm(*args):
        done = run([program, *args, "--namespace", "charts"], env=environment, timeout=180)
        assert done.code == 0, f"{args}: {done.out}{done.err}"
        return done

    def greeting():
        return up.http("GET", "/api/v1/namespaces/charts/configmaps/demo").json["data"]["greeting"]

    def replicas():
        return up.http("GET", "/apis/apps/v1/namespaces/charts/deployments/demo").json["status"]["readyReplicas"]

    chart = str(ROOT / "tests/real/helm/chart")
    helm("install", "demo", chart, "--create-namespace", "--wait", "--timeout", "120s")
    assert (greeting(), replicas()) == ("hello", 1)
    assert "hello" in helm("upgrade", "demo", chart, "--dry-run=server").out
    helm("upgrade", "demo", chart, "--set", "greeting=good day,replicas=2", "--wait", "--timeout", "120s")
    assert (greeting(), replicas()) == ("good day", 2)
    # A field that somebody else changed meanwhile comes back, one that the chart does not name stays.
    up.kubectl("label", "configmap", "demo", "-n", "charts", "mine=yes")
    helm("rollback", "demo", "1", "--wait", "--timeout", "120s")
    assert greeting() == "hello"
    wait_for("the second replica to go", lambda: replicas() == 1)
    assert up.http("GET", "/api/v1/namespaces/charts/configmaps/demo").json["metadata"]["labels"]["mine"] == "yes"
    history = helm("history", "demo", "-o", "json").out
    assert re.findall(r'"status":"(\w+)"', history) == ["superseded", "superseded", "deployed"]
    assert "demo" in helm("list", "-q").out.split()
    helm("uninstall", "demo", "--wait", "--timeout", "120s")
    assert up.http("GET", "/api/v1/namespaces/charts/configmaps/demo").code == 404
