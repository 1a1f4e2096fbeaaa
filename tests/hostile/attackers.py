# SPDX-License-Identifier: Apache-2.0
"""Hostile clients on loopback, and the quiet one that measures what they do to others."""

import base64
import contextlib
import http.client
import os
import pathlib
import socket
import ssl
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from support import wait_for  # noqa: E402

SECONDS = float(os.environ.get("HOSTILE_SECONDS", "3"))  # of each attack; more in `make attack`
MIB = 1 << 20
RETURNED = 20 * MIB  # what an attack may leave behind
RECENT = 8 * MIB  # of events that the store keeps in memory (recent_bytes of store.hpp): the first large writes fill it
SANITIZED = bool(os.environ.get("ATHANOR_SANITIZER"))
SLOWDOWN = 10 if SANITIZED else 1


def within(seconds):
    """A bound on what the server takes: every test takes its bounds from here. Ten times as long under a sanitizer."""
    return seconds * SLOWDOWN


ANSWER = within(1.0)  # seconds within which a quiet client is answered, whatever others do


def resident(pid):
    pages = pathlib.Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def user_token(lab, ns, name, role="edit"):
    """Of a service account of its own with this ClusterRole in its namespace."""
    core, rights = f"/api/v1/namespaces/{ns}", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}"
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": ns}],
    }
    assert lab.http("POST", f"{core}/serviceaccounts", {"metadata": {"name": name}}).code in (201, 409)
    assert lab.http("POST", f"{rights}/rolebindings", binding).code in (201, 409)
    answer = lab.http("POST", f"{core}/serviceaccounts/{name}/token", {"spec": {}})
    assert answer.code == 201, answer.text
    return answer.json["status"]["token"]


def quiet_token(lab):
    """Of a user of its own: those of one user wait for each other."""
    return user_token(lab, "default", "quiet", "view")


class Watch:
    """A quiet client on a connection of its own, and the server's memory, while others attack."""

    def __init__(self, lab):
        self.lab = lab
        self.headers = {"Authorization": f"Bearer {quiet_token(lab)}"}
        self.slowest = 0.0
        self.answers = 0
        self.failures = []
        self.before = resident(lab.process.pid)
        self.peak = self.before
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        connection = None
        while not self.over.wait(0.05):
            began = time.monotonic()
            try:
                connection = connection or self.lab.connection(timeout=within(20), context=self.lab.ca)
                connection.request("GET", "/api/v1/namespaces/default", headers=self.headers)
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    self.failures.append(answer.status)
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(error)
                connection = None
            self.answers += 1
            self.slowest = max(self.slowest, time.monotonic() - began)
            self.peak = max(self.peak, resident(self.lab.process.pid))

    def end(self):
        wait_for("the quiet client is answered a few times", lambda: self.answers >= 5 or self.failures, within(60), 0.05)
        self.over.set()
        self.thread.join(within(60))


def returned(lab, before, bound):
    kept = resident(lab.process.pid) - before
    assert kept < bound, f"{kept / MIB:.0f} MiB more than before"
    return True


@contextlib.contextmanager
def watched(lab, memory=200 * MIB, kept=RETURNED):
    """Within, others attack: the quiet client is answered in time, memory is bounded, and given back afterwards."""
    watch = Watch(lab)
    try:
        yield watch
    finally:
        watch.end()
    assert lab.process.poll() is None, lab.err[-2000:]
    assert not watch.failures, watch.failures[:5]
    assert watch.slowest < ANSWER, f"{watch.slowest:.2f} s, {watch.answers} answers"
    if not SANITIZED:  # a sanitizer keeps what was freed, and has shadow memory
        grown = watch.peak - watch.before
        assert grown < memory, f"{grown / MIB:.0f} MiB"
        wait_for("memory is given back", lambda: returned(lab, watch.before, kept), within(40), 0.5)
    assert lab.http("GET", "/readyz").code == 200


def connect(lab, *, protocol=None, anonymous=True, receive_buffer=None):
    """A TLS connection; with protocol "h2" it speaks HTTP/2."""
    context = lab.ca if anonymous else lab.tls
    if protocol:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols([protocol])
        if not anonymous and not lab.token:
            context.load_cert_chain(lab.data.parent / f"{lab.data.name}-client.pem")
    raw = socket.socket()
    if receive_buffer:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    raw.settimeout(10)
    raw.connect(lab.address)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(raw, server_hostname=lab.address[0])


def attack(count, one, seconds=SECONDS):
    """Calls one() again and again on each of `count` threads; what the server ends is begun anew."""
    over = time.monotonic() + seconds
    wrong = []  # what is no attack at all

    def loop():
        while time.monotonic() < over and not wrong:
            try:
                one(over)
            except OSError:
                pass
            except AssertionError as error:
                wrong.append(error)

    threads = [threading.Thread(target=loop, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 30)
    assert not wrong, wrong[0]


def send_until(sock, piece, over):
    while time.monotonic() < over:
        sock.sendall(piece)


def authorization(lab):
    return f"Authorization: Bearer {lab.token}\r\n" if lab.token else ""


# --- WebSocket ------------------------------------------------------------------------------------------------
def websocket(lab, path, subprotocol=""):
    sock = connect(lab, anonymous=False)
    key = base64.b64encode(os.urandom(16)).decode()
    chosen = f"Sec-WebSocket-Protocol: {subprotocol}\r\n" if subprotocol else ""
    sock.sendall(
        f"GET {path} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: {key}\r\n{chosen}{authorization(lab)}\r\n".encode()
    )
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += sock.recv(1)
    assert head.startswith(b"HTTP/1.1 101 "), head
    return sock


def frame(opcode, payload=b""):
    """A client's frame, masked with nothing."""
    size = len(payload)
    length = bytes([0x80 | size]) if size < 126 else bytes([0x80 | 126, size >> 8, size & 255])
    return bytes([0x80 | opcode]) + length + bytes(4) + payload


# --- HTTP/2 ---------------------------------------------------------------------------------------------------
HEADERS, RESET, SETTINGS, WINDOW_UPDATE = 1, 3, 4, 8
END_STREAM, END_HEADERS = 1, 4


def h2_frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def h2_number(value, bits, first):
    limit = (1 << bits) - 1
    if value < limit:
        return bytes([first | value])
    out, value = bytes([first | limit]), value - limit
    while value >= 128:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def h2_field(name, value, keep=False):
    """A literal field, in the table of both sides if `keep`."""
    name, value = name.encode(), value.encode()
    return bytes([0x40 if keep else 0]) + h2_number(len(name), 7, 0) + name + h2_number(len(value), 7, 0) + value


def h2_request(lab, method, path):
    fields = h2_field(":method", method) + h2_field(":scheme", "https") + h2_field(":path", path) + h2_field(":authority", "a")
    return fields + (h2_field("authorization", f"Bearer {lab.token}") if lab.token else b"")


def h2(lab, *, window=65535, anonymous=True, receive_buffer=None):
    sock = connect(lab, protocol="h2", anonymous=anonymous, receive_buffer=receive_buffer)
    assert sock.selected_alpn_protocol() == "h2"
    sock.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + h2_frame(SETTINGS, 0, 0, b"\x00\x04" + window.to_bytes(4, "big")) + h2_frame(SETTINGS, 1, 0))
    return sock
