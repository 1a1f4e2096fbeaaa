# SPDX-License-Identifier: Apache-2.0
"""HTTP/2: small frames that stand for much, requests that are given up, answers that get no window."""

import contextlib
import time

import pytest
from attackers import (
    END_HEADERS,
    END_STREAM,
    HEADERS,
    MIB,
    RESET,
    SECONDS,
    WINDOW_UPDATE,
    attack,
    h2,
    h2_field,
    h2_frame,
    h2_request,
    watched,
)
from support import Lab

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def victim(tmp_path_factory):
    one = Lab(tmp_path_factory.mktemp("hostile") / "http2", ["--pods", "timed"])
    try:
        one.start()
        yield one
    finally:
        one.close()


def test_header_lists_from_few_bytes(victim):
    """A field of 4 KB goes into the table once, and is named 240 times in each of 250 requests that never end."""
    with watched(victim, memory=200 * MIB), contextlib.ExitStack() as stack:
        for _ in range(8):
            sock = stack.enter_context(contextlib.closing(h2(victim)))
            with contextlib.suppress(OSError):
                first = h2_request(victim, "POST", MAPS) + h2_field("x-large", "x" * 4000, keep=True)
                sock.sendall(h2_frame(HEADERS, END_HEADERS, 1, first))
                for stream in range(3, 501, 2):
                    sock.sendall(h2_frame(HEADERS, END_HEADERS, stream, h2_request(victim, "POST", MAPS) + b"\xbe" * 240))
        time.sleep(SECONDS)


@pytest.mark.parametrize("how", ["reset", "provoked"])
def test_requests_that_are_given_up(victim, how):
    end = {"reset": (RESET, (8).to_bytes(4, "big")), "provoked": (WINDOW_UPDATE, b"\x7f\xff\xff\xff")}[how]

    def one(over):
        with contextlib.closing(h2(victim, anonymous=False)) as sock:
            stream = 1
            while time.monotonic() < over:
                pieces = b""
                for _ in range(50):
                    pieces += h2_frame(HEADERS, END_HEADERS | END_STREAM, stream, h2_request(victim, "GET", MAPS))
                    pieces += h2_frame(end[0], 0, stream, end[1])
                    stream += 2
                sock.sendall(pieces)

    with watched(victim):
        attack(4, one)


@pytest.mark.parametrize("frame", [h2_frame(6, 0, 0, b"12345678"), h2_frame(4, 0, 0), h2_frame(2, 0, 1, bytes(5))], ids=["pings", "settings", "priorities"])
def test_small_frames_without_end(victim, frame):
    def one(over):
        with contextlib.closing(h2(victim)) as sock:
            while time.monotonic() < over:
                sock.sendall(frame * 500)

    with watched(victim):
        attack(4, one)


def test_lists_without_a_window(victim):
    """250 lists of 10 MB on one connection that opens no window."""
    for i in range(12):
        answer = victim.http("POST", MAPS, {"metadata": {"name": f"large-{i}"}, "data": {"k": "x" * 900_000}})
        assert answer.code in (201, 409), answer.text
    try:
        with watched(victim, memory=420 * MIB), contextlib.closing(h2(victim, window=0, anonymous=False)) as sock:
            for stream in range(1, 501, 2):
                sock.sendall(h2_frame(HEADERS, END_HEADERS | END_STREAM, stream, h2_request(victim, "GET", MAPS)))
            time.sleep(2 * SECONDS)
    finally:
        for i in range(12):
            victim.http("DELETE", f"{MAPS}/large-{i}")


def test_bodies_of_strangers(victim):
    """20 connections with 100 requests each that announce 3 MB and send as much as is taken."""
    with watched(victim, memory=260 * MIB), contextlib.ExitStack() as stack:
        for _ in range(20):
            sock = stack.enter_context(contextlib.closing(h2(victim)))
            sock.settimeout(0.2)
            with contextlib.suppress(OSError):
                for stream in range(1, 201, 2):
                    head = h2_request(victim, "POST", MAPS) + h2_field("content-length", "3000000")
                    sock.sendall(h2_frame(HEADERS, END_HEADERS, stream, head))
                for _ in range(4):
                    for stream in range(1, 201, 2):
                        sock.sendall(h2_frame(0, 0, stream, bytes(16_000)))
        time.sleep(SECONDS / 3)
