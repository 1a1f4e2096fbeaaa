# SPDX-License-Identifier: Apache-2.0
"""exec, attach, cp and port-forward with kubectl, over WebSocket and over SPDY; HTTP/2; clients that behave badly."""

import contextlib
import functools
import hashlib
import http.client
import http.server
import json
import os
import select
import shutil
import socket
import ssl
import subprocess
import threading
import time
import urllib.request

import pytest
from support import DEADLINE, KUBECTL, TIMEOUT, wait_for

# What older clients do, and those behind proxies that know no WebSocket.
SPDY = {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false", "KUBECTL_PORT_FORWARD_WEBSOCKETS": "false"}
WIRES = pytest.mark.parametrize("wire", ["websocket", "spdy"])


def environment(wire):
    return SPDY if wire == "spdy" else {name: "true" for name in SPDY}


@pytest.fixture(scope="module")
def pod(lab):
    """A pod that does nothing, in a namespace of its own."""
    ns = "e2e-streams"
    lab.kubectl("create", "namespace", ns)
    lab.kubectl("run", "p", "-n", ns, "--image=busybox", "--env=A=b", "--command", "--", "sleep", "1000")
    lab.kubectl("wait", "pod/p", "-n", ns, "--for=condition=Ready", TIMEOUT)
    yield lambda *args, **kw: lab.kubectl(*args[:1], "-n", ns, *args[1:], **kw)
    lab.http("DELETE", f"/api/v1/namespaces/{ns}")


@WIRES
def test_exec_has_output_errors_and_the_exit_code(pod, wire):
    done = pod("exec", "p", "--", "sh", "-c", "echo out $A; echo err >&2; exit 3", code=3, env=environment(wire))
    assert done.out == "out b\n"
    assert done.err.startswith("err\n") and "exit code 3" in done.err


@WIRES
def test_exec_reads_its_input_to_the_end(pod, wire):
    text = "".join(f"line {i}\n" for i in range(50_000))
    done = pod("exec", "-i", "p", "--", "sha256sum", stdin=text, env=environment(wire))
    assert done.out.split()[0] == hashlib.sha256(text.encode()).hexdigest()
    many = pod("exec", "p", "--", "seq", "200000", env=environment(wire)).out
    assert many.splitlines()[-1] == "200000" and len(many.splitlines()) == 200_000


@WIRES
@pytest.mark.skipif(shutil.which("script") is None, reason="needs script(1) for a terminal")
def test_exec_gets_a_terminal(lab, pod, wire):
    pod("get", "pod", "p")
    # The size travels on a stream of its own, so that a process may start before it: wait for it, inside.
    inside = "tty -s && until stty size | grep '17 91'; do sleep 0.02; done; exit 5"
    command = f'stty cols 91 rows 17; {KUBECTL} exec -it p -n e2e-streams -- sh -c "{inside}"'
    done = subprocess.run(
        ["script", "-qec", command, "/dev/null"],
        env={**lab.env, **environment(wire)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 5, done
    assert "17 91" in done.stdout


@WIRES
def test_cp_both_ways(pod, wire, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "data").write_bytes(os.urandom(300_000))
    inside = f"/tmp/inside-{wire}"  # the container's own /tmp
    pod("cp", str(tmp_path / "in"), f"p:{inside}", env=environment(wire))
    pod("cp", f"p:{inside}/data", str(tmp_path / "back"), env=environment(wire))
    assert (tmp_path / "back").read_bytes() == (tmp_path / "in" / "data").read_bytes()


@WIRES
def test_run_attaches(lab, ns, wire):
    done = lab.kubectl(
        "run", "cat", "-n", ns, "--image=busybox", "--restart=Never", "-i", "--rm", "--quiet", "--command", "--", "cat",
        stdin="from stdin\n", env=environment(wire),
    )  # fmt: skip
    assert "from stdin\n" in done.out


@contextlib.contextmanager
def web_server(folder):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    handler.log_message = lambda *args: None
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


@WIRES
def test_port_forward_carries_many_connections(lab, pod, wire, tmp_path):
    content = os.urandom(1_000_000)
    (tmp_path / "file").write_bytes(content)
    pod("get", "pod", "p")
    with web_server(tmp_path) as port:
        forward = subprocess.Popen(
            [KUBECTL, "port-forward", "-n", "e2e-streams", "pod/p", f":{port}", "--address", "127.0.0.1"],
            env={**lab.env, **environment(wire)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            line = forward.stdout.readline()
            assert "Forwarding from 127.0.0.1:" in line, line
            local = int(line.split("127.0.0.1:")[1].split()[0])
            results = []

            def fetch():
                with urllib.request.urlopen(f"http://127.0.0.1:{local}/file", timeout=DEADLINE) as answer:
                    results.append(answer.read())

            threads = [threading.Thread(target=fetch) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(DEADLINE)
            assert results == [content] * 6
        finally:
            forward.kill()
            forward.wait()


def test_debug_adds_a_container(lab, ns):
    lab.kubectl("run", "p", "-n", ns, "--image=busybox", "--command", "--", "sleep", "1000")
    lab.kubectl("wait", "pod/p", "-n", ns, "--for=condition=Ready", TIMEOUT)
    lab.kubectl("debug", "p", "-n", ns, "--image=busybox", "-c", "dbg", "--", "sh", "-c", "echo debugging; sleep 1000")
    wait_for("the container's output", lambda: lab.kubectl("logs", "p", "-n", ns, "-c", "dbg", code=None).out == "debugging\n")
    assert lab.kubectl("exec", "p", "-n", ns, "-c", "dbg", "--", "echo", "inside").out == "inside\n"

    def told():
        statuses = lab.get(f"/api/v1/namespaces/{ns}/pods/p")["status"]["ephemeralContainerStatuses"]
        return [(s["name"], list(s["state"])) for s in statuses] == [("dbg", ["running"])]

    wait_for("its status", told)


def test_exec_of_what_does_not_run_is_refused(lab, ns, pod):
    waiting = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "w"},
        "spec": {"schedulingGates": [{"name": "a/b"}], "containers": [{"name": "c", "image": "busybox"}]},
    }
    assert lab.http("POST", f"/api/v1/namespaces/{ns}/pods", waiting).code == 201
    assert "pod w does not have a host assigned" in lab.kubectl("exec", "-n", ns, "w", "--", "true", code=1).err
    assert "exit code 127" in pod("exec", "p", "--", "no-such-program", code=127).err


@contextlib.contextmanager
def echo_server(host, status):
    """Answers one request with that status line and repeats what follows."""

    def serve():
        connection, _ = listener.accept()
        with connection:
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(4096)
            seen.append(head.decode())
            connection.sendall(status)
            while piece := connection.recv(65536):
                connection.sendall(piece)
            seen.append("end")

    seen = []
    with socket.create_server((host, 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1], seen
        thread.join(DEADLINE)


def address_of(lab):
    return lab.get("/api/v1/namespaces/e2e-streams/pods/p")["status"]["podIP"]


def test_connections_that_leave_http_are_passed_on_to_pods(lab, pod):
    pod("get", "pod", "p")
    switching = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\nX-Own: kept\r\n\r\nwelcome"
    with echo_server(address_of(lab), switching) as (port, seen):
        wire = lab.connection()
        wire.connect()
        head = f"GET /api/v1/namespaces/e2e-streams/pods/p:{port}/proxy/a?b=c HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n"
        wire.sock.sendall((head + (f"Authorization: Bearer {lab.token}\r\n" if lab.token else "") + "\r\n").encode())
        heard = read_until(wire.sock, b"welcome")
        assert heard.startswith(b"HTTP/1.1 101 ") and b"\r\nUpgrade: echo\r\n" in heard and b"\r\nX-Own: kept\r\n" in heard
        data = os.urandom(3_000_000)
        back = echoed(wire.sock, data)
        assert hashlib.sha256(back).digest() == hashlib.sha256(data).digest(), f"{len(back)} of {len(data)} bytes came back"
        wire.close()
    assert seen[0].startswith("GET /a?b=c HTTP/1.1\r\n") and "Authorization" not in seen[0]
    assert seen[1:] == ["end"]


def test_a_pod_that_does_not_switch_answers_all_the_same(lab, pod):
    pod("get", "pod", "p")
    with echo_server(address_of(lab), b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nnever") as (port, _):
        path = f"/api/v1/namespaces/e2e-streams/pods/p:{port}/proxy/a"
        answer = lab.http("GET", path, headers={"Connection": "Upgrade", "Upgrade": "echo"})
        assert (answer.code, answer.text) == (403, "never")
    answer = lab.http("GET", path, headers={"Connection": "Upgrade", "Upgrade": "echo"})
    assert answer.code == 503 and "connection refused" in answer.json["message"]


def echoed(wire, data):
    """What comes back of the data. One thread sends and reads: a TLS connection of Python's may not be used by two at once."""
    not_now = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
    wire.setblocking(False)
    sent, back, end = 0, bytearray(), time.monotonic() + DEADLINE
    while len(back) < len(data):
        assert time.monotonic() < end, f"{len(back)} of {len(data)} bytes came back"
        with contextlib.suppress(*not_now):
            if sent < len(data):
                sent += wire.send(data[sent : sent + 65536])
        with contextlib.suppress(*not_now):
            piece = wire.recv(1 << 20)
            if not piece:
                break
            back += piece
            continue
        select.select([wire], [wire] if sent < len(data) else [], [], 1)
    wire.setblocking(True)
    return back


def read_until(wire, mark):
    heard = b""
    while mark not in heard:
        piece = wire.recv(65536)
        assert piece, heard
        heard += piece
    return heard


# --- HTTP/2 -----------------------------------------------------------------------------------------------


@pytest.mark.skipif("HTTP2" not in subprocess.run(["curl", "-V"], capture_output=True, text=True, check=False).stdout, reason="curl without HTTP/2")
def test_http2_is_spoken(lab, tmp_path):
    base = "https://{}:{}".format(*lab.address)

    def curl(*args):
        token = lab.data.joinpath("tokens.csv").read_text(encoding="utf-8").split(",")[0]
        return subprocess.run(
            ["curl", "-sk", "--http2", "-H", f"Authorization: Bearer {token}", "-w", "\n%{http_version} %{http_code}", *args],
            capture_output=True, text=True, timeout=DEADLINE, check=False,
        ).stdout  # fmt: skip

    assert curl(f"{base}/version").endswith("\n2 200")
    watch = curl("-N", f"{base}/api/v1/namespaces?watch=1&timeoutSeconds=2")
    assert '"ADDED"' in watch and watch.endswith("\n2 200")
    (tmp_path / "large").write_bytes(b"x" * 4_000_000)
    assert curl("--data-binary", f"@{tmp_path}/large", f"{base}/api/v1/namespaces").endswith("413")


# --- clients that behave badly ----------------------------------------------------------------------------


def test_a_flood_does_not_starve_others(lab, ns):
    """One user with many connections asks for large lists without end; another one's small requests stay quick."""
    for i in range(40):
        body = {"metadata": {"name": f"big-{i}"}, "data": {"k": "x" * 50_000}}
        assert lab.http("POST", f"/api/v1/namespaces/{ns}/configmaps", body).code == 201
    lab.kubectl("create", "serviceaccount", "flood", "-n", ns)
    lab.kubectl("create", "rolebinding", "flood", "-n", ns, "--clusterrole=view", f"--serviceaccount={ns}:flood")
    token = lab.kubectl("create", "token", "flood", "-n", ns).out.strip()
    stop = threading.Event()
    answered, waited = [], []

    def flood():
        while not stop.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                start = time.monotonic()
                answered.append(lab.http("GET", f"/api/v1/namespaces/{ns}/configmaps", token=token).code)
                waited.append(time.monotonic() - start)

    threads = [threading.Thread(target=flood, daemon=True) for _ in range(16)]
    for thread in threads:
        thread.start()
    try:
        wait_for("the flood is under way", lambda: len(answered) > 20)
        times = []
        for _ in range(20):
            start = time.monotonic()
            assert lab.http("GET", f"/api/v1/namespaces/{ns}").code == 200
            times.append(time.monotonic() - start)
        # On a slow machine this process is slow, too: then both are measured with the same measure.
        others = sorted(waited)[len(waited) // 2]
        assert sorted(times)[10] < max(1.0, others / 2), (times, others)
    finally:
        stop.set()
        for thread in threads:
            thread.join(DEADLINE)
    assert set(answered) <= {200, 429}


def test_a_watcher_that_does_not_read_is_cut(make_lab):
    """Its buffers are bounded: the server ends the watch, and the others go on."""
    lab = make_lab("--pods", "timed").start()

    def watches():
        lines = lab.http("GET", "/metrics").text.splitlines()
        return sum(int(one.rsplit(" ", 1)[1]) for one in lines if one.startswith("apiserver_longrunning_requests{"))

    path = "/api/v1/namespaces/default/configmaps"
    assert lab.http("POST", path, {"metadata": {"name": "big"}, "data": {"k": "x" * 900_000}}).code == 201
    before = watches()
    connection = lab.connection()
    connection.request("GET", f"{path}?watch=1")
    assert connection.getresponse().status == 200
    wait_for("the watch to be counted", lambda: watches() == before + 1)
    for i in range(40):  # more than the sockets and the server hold for one client
        patch = json.dumps({"data": {"k": str(i % 10) * 900_000}})
        assert lab.http("PATCH", f"{path}/big", patch, content_type="application/merge-patch+json").code == 200
    wait_for("the watch to be cut", lambda: watches() == before)
    connection.close()
    other = lab.connection()
    other.request("GET", f"{path}?watch=1&timeoutSeconds={DEADLINE:.0f}")
    assert b"ADDED" in other.getresponse().readline()
    other.close()
