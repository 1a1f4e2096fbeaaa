# SPDX-License-Identifier: Apache-2.0
"""Resolvers that ask others, and what those may do to them: each answer fails its run by a sentence, in bounded time and size."""

import os
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pipeline_runs import outcome
from support import DEADLINE, Lab
from test_pipeline_bundles import TASK, notes, packed, write_layout

METADATA = "169.254.169.254"  # where clouds serve credentials of the machine
SLOW = 90  # seconds: the resolver git waits 60 for a server


class Hostile(BaseHTTPRequestHandler):
    """Answers by the first part of the path, whatever follows it: as a server of files, as a hub, and as a repository."""

    def do_GET(self):  # noqa: N802
        part, port = self.path.split("/")[1], self.server.server_port
        targets = {"loopback": f"https://127.0.0.1:{self.server.other}/x", "plain": f"http://127.0.0.1:{self.server.other}/x", "cloud": f"https://{METADATA}/x", "loop": f"http://127.0.0.1:{port}{self.path}"}
        try:
            if part in targets:
                self.send_response(302)
                self.send_header("Location", targets[part])
                self.end_headers()
            elif part == "huge":
                self.send_response(200)
                self.end_headers()
                while not self.server.over.is_set():
                    self.wfile.write(b"x" * (1 << 16))
            elif part == "slow":
                self.send_response(200)
                self.end_headers()
                while not self.server.over.wait(1):
                    self.wfile.write(b"x")
        except OSError:
            pass

    def log_message(self, *args):
        """Says nothing."""


@pytest.fixture(scope="module")
def hostile():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    server.daemon_threads = True
    server.over = threading.Event()
    other = socket.create_server(("127.0.0.1", 0))
    server.other, server.requests = other.getsockname()[1], []

    def listen():
        """A TLS server without a certificate that anyone trusts: nothing but the first bytes of a handshake must come."""
        while True:
            try:
                connection, _ = other.accept()
            except OSError:
                return
            with connection:
                server.requests.append(connection.recv(1))

    threads = [threading.Thread(target=server.serve_forever), threading.Thread(target=listen)]
    for thread in threads:
        thread.start()
    yield server
    server.over.set()
    server.shutdown()
    other.shutdown(socket.SHUT_RDWR)
    other.close()
    for thread in threads:
        thread.join()
    server.server_close()


def http(base, part):
    return {"url": f"{base}/{part}/task.yaml" if not part.startswith("http") else part}


def hub(base, part):
    return {"name": part, "version": "1"}


def git(base, part):
    return {"url": f"{base}/{part}/r.git" if not part.startswith("http") else part, "pathInRepo": "a.yaml"}


def bundles(base, part):
    return {"bundle": f"{part}:v1", "name": "echo"}


# Resolver, hazard, and a part of the sentence.
ROWS = [
    (http, "huge", "exceeds the limit"),
    (http, "slow", "context deadline exceeded"),
    (http, "loopback", "cannot fetch 'https://127.0.0.1:"),
    (http, "plain", "neither the same server nor https"),
    (http, "cloud", "link-local addresses"),
    (http, "loop", "redirects more than 5 times"),
    (http, f"http://{METADATA}/x", "link-local addresses"),
    (http, f"http://[::ffff:{METADATA}]/x", "link-local addresses"),
    (http, "http://2852039166/x", "link-local addresses"),
    (hub, "huge", "exceeds the limit"),
    (hub, "slow", "context deadline exceeded"),
    (hub, "loopback", "cannot fetch 'https://127.0.0.1:"),
    (hub, "plain", "neither the same server nor https"),
    (hub, "cloud", "link-local addresses"),
    (git, "huge", "more than 1024 MiB of memory"),
    (git, "slow", "git did not end within 60 s"),
    (git, "loopback", "returned error: 302"),
    (git, "cloud", "returned error: 302"),
    (git, f"http://{METADATA}/x.git", "link-local addresses"),
    (git, f"http://[::ffff:{METADATA}]/x.git", "link-local addresses"),
    (bundles, "huge", "holds more than 1024 KiB"),
    (bundles, "bomb", "holds more than 1024 KiB"),
    (bundles, "wide", "more than the maximum 20"),
    (bundles, "linked", "is a link, which is not followed"),
    (bundles, "queue", "is no file"),
]


def name_of(row):
    resolver, part, _ = row
    return f"{resolver.__name__}-{ROWS.index(row)}"


def write_bundles(root):
    task = packed(TASK.replace("NAME", "echo"))
    write_layout(root / "huge", [(packed(os.urandom(600_000).hex()), notes("echo"))])
    write_layout(root / "bomb", [(packed("x" * (64 << 20)), notes("echo"))])
    write_layout(root / "wide", [(task, notes("echo"))] * 21)
    for name in ("linked", "queue"):
        write_layout(root / name, [(task, notes("echo"))])
        index = root / name / "index.json"
        index.unlink()
        if name == "linked":
            index.symlink_to("/etc/passwd")
        else:
            os.mkfifo(index)


@pytest.fixture(scope="module")
def runs(hostile, tmp_path_factory):
    """All runs are begun at once: the slow ones take their time together."""
    root = tmp_path_factory.mktemp("hostile-bundles")
    write_bundles(root)
    base = f"http://127.0.0.1:{hostile.server_port}"
    lab = Lab(tmp_path_factory.mktemp("hostile-lab") / "lab", ["--set", f"TEKTON_BUNDLES={root}"])
    hubs = {}
    try:
        lab.start()
        for row in ROWS:
            resolver, part, _ = row
            if resolver is hub:
                continue
            begin(lab, row, base)
        for part in {part for resolver, part, _ in ROWS if resolver is hub}:
            # A hub's address belongs to the lab: one lab for each answer.
            hubs[part] = Lab(tmp_path_factory.mktemp(f"hub-{part}") / "lab", ["--pods", "timed", "--set", f"TEKTON_HUB_URL={base}/{part}"]).start()
            begin(hubs[part], next(row for row in ROWS if row[0] is hub and row[1] == part), base)
        yield lab, hubs
    finally:
        for one in (lab, *hubs.values()):
            one.close()


def begin(lab, row, base):
    resolver, part, _ = row
    params = [{"name": key, "value": value} for key, value in resolver(base, part).items()]
    spec = {"taskRef": {"resolver": resolver.__name__, "params": params}}
    body = {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": name_of(row)}, "spec": spec}
    answer = lab.http("POST", "/apis/tekton.dev/v1/namespaces/default/taskruns", body)
    assert answer.code == 201, answer.text


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_a_hostile_source_fails_the_run(runs, row):
    lab = runs[1][row[1]] if row[0] is hub else runs[0]
    condition = outcome(lab, "taskruns", name_of(row), deadline=max(DEADLINE, SLOW))
    assert condition["reason"] == "TaskRunResolutionFailed" and row[2] in condition["message"], condition


def test_redirects_to_loopback_send_no_request(runs, hostile):
    assert set(hostile.requests) <= {b"\x16", b""}, "nothing but a TLS handshake is begun there"
