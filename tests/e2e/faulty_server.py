# SPDX-License-Identifier: Apache-2.0
"""A door before a lab's API server that can be shut, or answer in its place."""

import contextlib
import json
import socket
import ssl
import threading

import yaml
from support import DEADLINE, run


class Door:
    """`shut` breaks all connections and takes no others; `answer(method, path)` may return (code, reason, message, headers) for a request."""

    def __init__(self, lab, folder):
        self.lab = lab
        self.answer = lambda _method, _path: None
        self.shut = False
        self.answered = 0  # in the server's place
        self.token = None  # the only one that is let in; None: any
        self.unauthorized = 0  # requests with another one
        self._open = set()
        self._lock = threading.Lock()
        key, certificate = folder / "door.key", folder / "door.crt"
        made = run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=door",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate])  # fmt: skip
        assert made.code == 0, made.err
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(certificate, key)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.kubeconfig = folder / "door.kubeconfig"
        self.kubeconfig.write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{self._listener.getsockname()[1]}", "certificate-authority": str(certificate)}}],
            "users": [{"name": "u", "user": {"token": "of-the-door"}}],
        }), encoding="utf-8")  # fmt: skip
        threading.Thread(target=self._accept, daemon=True).start()

    @contextlib.contextmanager
    def shut_for_a_while(self):
        self.shut = True
        with self._lock:
            for one in self._open:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
        try:
            yield
        finally:
            self.shut = False

    @contextlib.contextmanager
    def answering(self, answer):
        self.answer = answer
        try:
            yield
        finally:
            self.answer = lambda _method, _path: None

    def close(self):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                taken, _ = self._listener.accept()
            except OSError:
                return
            if self.shut:
                taken.close()
                continue
            threading.Thread(target=self._serve, args=(taken,), daemon=True).start()

    def _serve(self, taken):
        with contextlib.suppress(OSError, ValueError), taken:
            taken.settimeout(DEADLINE)
            with self._tls.wrap_socket(taken, server_side=True) as client, self._kept(client):
                self._exchange(client)

    @contextlib.contextmanager
    def _kept(self, one):
        with self._lock:
            self._open.add(one)
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(one)

    def _exchange(self, client):
        """One request of a connection, and its end."""
        stream = client.makefile("rb")
        request = stream.readline().decode().split()
        if len(request) != 3:
            return
        headers = {}
        while (line := stream.readline().decode().strip()) != "":
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = stream.read(int(headers.get("content-length", "0")))
        if self.token is not None and headers.get("authorization") != f"Bearer {self.token}":
            self.unauthorized += 1
            client.sendall(said(401, "Unauthorized", "Unauthorized"))
            return
        if answer := self.answer(request[0], request[1]):
            self.answered += 1
            client.sendall(said(*answer))
            return
        headers = {name: value for name, value in headers.items() if name not in ("authorization", "connection", "expect")} | {"connection": "close"}
        head = " ".join(request) + "\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
        host, port = self.lab.address
        with socket.create_connection((host, port), timeout=DEADLINE) as plain, self.lab.tls.wrap_socket(plain, server_hostname=host) as server, self._kept(server):
            server.settimeout(None)
            server.sendall(head.encode() + body)
            while chunk := server.recv(65536):
                client.sendall(chunk)


def said(code, reason, message, more=None):
    """An answer of the API server that refuses a request."""
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "reason": reason, "code": code}
    body = json.dumps(status)
    lines = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close", **(more or {})}
    return (f"HTTP/1.1 {code} {reason}\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items()) + "\r\n" + body).encode()
