# SPDX-License-Identifier: Apache-2.0
"""Watches, exec and port-forward over WebSocket and SPDY: pings, sizes and streams without end."""

import contextlib

import pytest
from attackers import MIB, attack, authorization, connect, frame, send_until, watched, websocket
from support import TIMEOUT, Lab

MAPS = "/api/v1/namespaces/default/configmaps"
EXEC = "/api/v1/namespaces/default/pods/p/exec?command=sleep&command=1000&stdin=true&stdout=true&tty=true"
PORTS = "/api/v1/namespaces/default/pods/p/portforward?ports=1"
PING, BINARY = 9, 2


@pytest.fixture(scope="module")
def victim(tmp_path_factory):
    one = Lab(tmp_path_factory.mktemp("hostile") / "tunnels")
    try:
        one.start()
        one.kubectl("run", "p", "-n", "default", "--image=busybox", "--command", "--", "sleep", "1000")
        one.kubectl("wait", "pod/p", "-n", "default", "--for=condition=Ready", TIMEOUT)
        yield one
    finally:
        one.close()


def websocket_flood(victim, path, subprotocol, piece):
    def one(over):
        with contextlib.closing(websocket(victim, path, subprotocol)) as sock:
            send_until(sock, piece, over)

    return one


@pytest.mark.parametrize("payload", [b"", b"x" * 125], ids=["empty", "full"])
def test_pings_of_a_watch(victim, payload):
    with watched(victim, memory=60 * MIB):
        attack(4, websocket_flood(victim, f"{MAPS}?watch=1", "", frame(PING, payload) * 500))


def test_messages_of_a_watch(victim):
    """A watch only listens: what is large, or never ends, ends the watch."""
    piece = frame(BINARY, b"x" * 4000)[:-1]

    def one(over):
        with contextlib.closing(websocket(victim, f"{MAPS}?watch=1")) as sock:
            sock.sendall(b"\x02" + frame(BINARY, b"x" * 4000)[1:])
            send_until(sock, b"\x00" + piece[1:] + b"x", over)

    with watched(victim, memory=60 * MIB):
        attack(4, one)


@pytest.mark.parametrize(
    "piece",
    [frame(PING, b"x" * 125), frame(BINARY, b'\x04{"Width":80,"Height":24}'), frame(BINARY, b"\x00x"), frame(BINARY, b"\x00" + b"x" * 4000)],
    ids=["pings", "sizes", "bytes", "input"],
)
def test_messages_of_a_command(victim, piece):
    with watched(victim, memory=60 * MIB):
        attack(4, websocket_flood(victim, EXEC, "v4.channel.k8s.io", piece * max(1, 16_000 // len(piece))))


@pytest.mark.parametrize("path", [EXEC, PORTS], ids=["exec", "portforward"])
@pytest.mark.parametrize("size", [4, 60_000], ids=["pings", "large-pings"])
def test_spdy_pings(victim, path, size):
    ping = b"\x80\x03\x00\x06\x00" + size.to_bytes(3, "big") + bytes(size)

    def one(over):
        with contextlib.closing(connect(victim, anonymous=False)) as sock:
            version = "X-Stream-Protocol-Version: v4.channel.k8s.io\r\nX-Stream-Protocol-Version: portforward.k8s.io\r\n"
            head = f"POST {path} HTTP/1.1\r\nHost: a\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n{version}{authorization(victim)}\r\n"
            sock.sendall(head.encode())
            assert sock.recv(12) == b"HTTP/1.1 101"
            send_until(sock, ping * max(1, 16_000 // len(ping)), over)

    with watched(victim, memory=60 * MIB):
        attack(4, one)
