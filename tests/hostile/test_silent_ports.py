# SPDX-License-Identifier: Apache-2.0
"""Connections that say nothing, against every listening port of every program: a newcomer is answered within seconds.

PROGRAMS lists how each program starts; its ports are those that its process listens on, so that a new port is attacked as well."""

import contextlib
import http.client
import pathlib
import socket
import ssl
import subprocess

import pytest
from attackers import ANSWER
from replica import Replica
from support import ATHANOR, free_port, wait_for

SILENT = 1200  # more than any server keeps
FAKE_NVML = ATHANOR.parent / "libnvidia-ml-fake.so"
LISTENS = "0A"  # TCP's state in /proc/net/tcp


def agent(lab, folder):
    """The node agent of DAS, with emulated GPUs and without a kubelet."""
    return [ATHANOR.parent / "athanor-agent", "daemonset", f"--kubeconfig={lab.kubeconfig}", "--listen=127.0.0.1:0", f"--device-plugin-dir={folder}",
            f"--pod-resources-socket={folder}/none.sock", f"--cdi-dir={folder}/cdi", f"--nvml-library={FAKE_NVML}", f"--state-dir={folder}/state",
            "--cluster-policy-name="]  # fmt: skip


PROGRAMS = {
    "up": None,  # the lab itself
    "apiserver": lambda _lab, folder: [ATHANOR, "apiserver", "--secure-port=0", "--bind-address=127.0.0.1", f"--data-dir={folder}/data"],
    "controllers": lambda lab, _: [ATHANOR, "controllers", "--kubeconfig", lab.kubeconfig, "--metrics-address=127.0.0.1:0", "--health-address=127.0.0.1:0", "--leader-elect=false"],
    "webhooks": lambda lab, _: [ATHANOR, "controllers", "--kubeconfig", lab.kubeconfig, "--controllers=appwrapper", "--webhook-address=127.0.0.1:0",
                                "--metrics-address=127.0.0.1:0", "--leader-elect=false"],
    "extender": lambda lab, _: [ATHANOR, "extender", "--kubeconfig", lab.kubeconfig, "--address=127.0.0.1:0", "--metrics-address=127.0.0.1:0"],
    "agent": agent,
    "exporter": lambda lab, folder: [ATHANOR.parent / "resource-topology-exporter", f"--kubeconfig={lab.kubeconfig}", f"--podresources-socket=unix://{folder}/none.sock",
                                     "--metrics-mode=http", "--metrics-ip=127.0.0.1", f"--metrics-port={free_port()}", "--podreadiness=false"],
}  # fmt: skip


def listening(pid):
    """The TCP ports that a process listens on."""
    sockets = set()
    for one in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            sockets.add(str(one.readlink()).removeprefix("socket:[").removesuffix("]"))
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENS and fields[9] in sockets:
                ports.add(int(fields[1].rsplit(":", 1)[1], 16))
    return ports


def answered(port):
    """Whether the port answers HTTP, over TLS or plain; any status counts."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for connection in (http.client.HTTPSConnection("127.0.0.1", port, timeout=ANSWER, context=context), http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER)):
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/healthz")
            return connection.getresponse().status > 0
    return False


@pytest.fixture
def program(request, victim, tmp_path):
    """The process of one program with its ports open."""
    command = PROGRAMS[request.param]
    if command is None:
        yield victim.process
        return
    one = Replica(command(victim, tmp_path), tmp_path / "log", env=victim.env | {"NODE_NAME": "node-1", "EMULATED_MODE": "enabled", "FOURNOS_WORKLOAD_NAMESPACE": "default"})
    try:
        wait_for("it listens", lambda: listening(one.process.pid))
        wait_for("every port answers", lambda: all(answered(port) for port in listening(one.process.pid)))
        yield one.process
    finally:
        one.process.kill()
        one.process.wait()
        print(one.text[-3000:])  # pytest shows it with a failure


@pytest.mark.parametrize("program", PROGRAMS, indirect=True)
def test_silent_connections_delay_no_newcomer(program):
    for port in sorted(listening(program.pid)):
        with contextlib.ExitStack() as stack:
            for _ in range(SILENT):
                with contextlib.suppress(ConnectionError):
                    stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=ANSWER))
            wait_for(f"port {port} answers a newcomer", lambda port=port: answered(port), deadline=10 * ANSWER)
        assert isinstance(program, subprocess.Popen) and program.poll() is None
