# SPDX-License-Identifier: Apache-2.0
"""Connections that want the server's time or memory for themselves: a quiet client beside them is answered at once."""

import contextlib
import pathlib
import socket
import ssl
import threading
import time

import pytest
from support import Lab, wait_for

QUICK = 1.0  # seconds within which a quiet client is answered
ROOM = 100 << 20  # bytes of memory that an attack may cost while it lasts


@pytest.fixture(scope="module")
def victim(tmp_path_factory):
    one = Lab(tmp_path_factory.mktemp("connections") / "lab", ["--pods", "timed"])
    try:
        yield one.start()
    finally:
        one.close()


def memory(lab):
    text = pathlib.Path(f"/proc/{lab.process.pid}/status").read_text(encoding="ascii")
    return int(text.split("VmRSS:")[1].split()[0]) << 10


def connect(lab):
    host, port = lab.address
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(socket.create_connection((host, port), timeout=10))


def under_attack(lab, attack, count=4, seconds=3):
    """Runs the attack on some connections; returns the slowest answer that a quiet client got meanwhile."""
    end = time.monotonic() + seconds

    def run():
        with contextlib.suppress(OSError), connect(lab) as one:
            attack(one, end)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    slowest = 0.0
    while time.monotonic() < end:
        began = time.monotonic()
        assert lab.http("GET", "/readyz").code == 200
        slowest = max(slowest, time.monotonic() - began)
        time.sleep(0.05)
    for thread in threads:
        thread.join(10)
    return slowest


def test_empty_lines_stop_nobody(victim):
    def attack(one, end):
        while time.monotonic() < end:
            one.sendall(b"\r\n" * 8192)

    assert under_attack(victim, attack) < QUICK


def test_endless_heads_and_bodies_stop_nobody(victim):
    def attack(one, end):
        one.sendall(b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        while time.monotonic() < end:
            one.sendall(b"1;" + b"x" * 3000 + b"\r\na\r\n")

    assert under_attack(victim, attack) < QUICK


def test_large_bodies_of_strangers_are_not_taken(victim):
    before = memory(victim)
    head = b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n"
    held = []
    try:
        for _ in range(60):
            one = connect(victim)
            held.append(one)
            one.sendall(head)
            with contextlib.suppress(OSError):
                one.sendall(b"x" * 2_900_000)
        assert memory(victim) - before < ROOM
        assert held[0].recv(100).startswith(b"HTTP/1.1 401 ")
    finally:
        for one in held:
            one.close()


def test_pings_of_a_watch_that_reads_nothing_are_bounded(victim):
    token = victim.token if hasattr(victim, "token") else None
    if token is None:
        made = victim.kubectl("create", "token", "default", "-n", "default").out.strip()
        victim.kubectl("create", "clusterrolebinding", "watcher", "--clusterrole=view", "--serviceaccount=default:default")
        token = made
    before = memory(victim)
    head = (
        "GET /api/v1/namespaces/default/configmaps?watch=1 HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer {token}\r\n\r\n"
    ).encode()
    ping = b"\x89\xfd\0\0\0\0" + b"x" * 125

    def attack(one, end):
        one.sendall(head)
        one.settimeout(1)
        while time.monotonic() < end:
            with contextlib.suppress(TimeoutError, ssl.SSLError):
                one.sendall(ping * 500)

    assert under_attack(victim, attack) < QUICK
    assert memory(victim) - before < ROOM


def test_memory_comes_back(victim):
    wait_for("the server to be small again", lambda: memory(victim) < 300 << 20)
