# SPDX-License-Identifier: Apache-2.0
"""Connections that never come to a request, requests that never end, answers that nobody reads (HTTP/1.1)."""

import contextlib
import time

import pytest
from attackers import MIB, SECONDS, attack, authorization, connect, send_until, watched
from support import Lab

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def victim(tmp_path_factory):
    one = Lab(tmp_path_factory.mktemp("hostile") / "connections", ["--pods", "timed"])
    try:
        one.start()
        yield one
    finally:
        one.close()


@pytest.mark.parametrize(
    ("first", "piece"),
    [
        (b"", b"\r\n" * 8192),
        (b"GET / HTTP/1.1\r\nHost: a\r\nx: ", b"x"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n", b"x: y\r\n"),
        (b"POST /api HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", b"1;" + b"x" * 4000 + b"\r\nx\r\n"),
        (b"POST /api HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"x"),
        (b"nonsense\r\n\r\n", b"x" * 16384),
    ],
    ids=["empty-lines", "one-byte", "small-headers", "chunk-extensions", "one-byte-of-an-extension", "after-the-refusal"],
)
def test_requests_that_never_come(victim, first, piece):
    def one(over):
        with contextlib.closing(connect(victim)) as sock:
            sock.sendall(first)
            send_until(sock, piece, over)

    with watched(victim):
        attack(4, one)


def test_bodies_of_strangers(victim):
    """300 connections without credentials that announce 3 MB each and send as much as is taken."""
    head = f"POST {MAPS} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer wrong\r\nContent-Type: application/json\r\nContent-Length: 3000000\r\n\r\n".encode()
    with watched(victim, memory=120 * MIB), contextlib.ExitStack() as stack:
        for _ in range(300):
            sock = stack.enter_context(contextlib.closing(connect(victim)))
            sock.settimeout(0.2)
            with contextlib.suppress(OSError):
                sock.sendall(head + b"x" * 2_900_000)
        time.sleep(SECONDS / 3)


def test_heads_of_strangers(victim):
    """200 connections with nearly a MiB of header fields each."""
    with watched(victim, memory=160 * MIB), contextlib.ExitStack() as stack:
        for _ in range(200):
            sock = stack.enter_context(contextlib.closing(connect(victim)))
            sock.settimeout(0.2)
            with contextlib.suppress(OSError):
                sock.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nx: " + b"x" * 1_000_000)
        time.sleep(SECONDS / 3)


def test_lists_that_nobody_reads(victim):
    for i in range(12):
        answer = victim.http("POST", MAPS, {"metadata": {"name": f"large-{i}"}, "data": {"k": "x" * 900_000}})
        assert answer.code in (201, 409), answer.text
    try:
        with watched(victim, memory=512 * MIB), contextlib.ExitStack() as stack:
            for _ in range(80):
                sock = stack.enter_context(contextlib.closing(connect(victim, anonymous=False, receive_buffer=8192)))
                sock.sendall(f"GET {MAPS} HTTP/1.1\r\nHost: a\r\n{authorization(victim)}\r\n".encode())
            time.sleep(SECONDS)
    finally:
        for i in range(12):
            victim.http("DELETE", f"{MAPS}/large-{i}")


def test_connections_that_rest_make_room(tmp_path):
    lab = Lab(tmp_path / "lab", ["--pods", "timed", "--max-connections-per-address", "50"])
    try:
        lab.start()
        with watched(lab, memory=60 * MIB), contextlib.ExitStack() as stack:
            for _ in range(200):
                stack.enter_context(contextlib.closing(connect(lab)))
            for _ in range(20):
                assert lab.http("GET", "/readyz").code == 200
    finally:
        lab.close()
