# SPDX-License-Identifier: Apache-2.0
"""One API server under comparison: how to reach it, and what it said about each object (uids, versions, last state)."""

import base64
import copy
import http.client
import json
import pathlib
import re
import socket
import ssl
import tempfile
import threading
from dataclasses import dataclass, field

import yaml


UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass
class Answer:
    """One HTTP answer; `body` is decoded when it is JSON."""

    code: int
    content_type: str
    warnings: list
    body: object
    text: str


@dataclass
class Seen:
    """What one server told about one object, over all its incarnations."""

    uids: list = field(default_factory=list)
    versions: list = field(default_factory=list)
    last: dict = None


class Server:
    """A kubeconfig's server, over one kept connection. Not for several threads at once, watches aside."""

    def __init__(self, name, kubeconfig):
        self.name = name
        config = yaml.safe_load(pathlib.Path(kubeconfig).read_text(encoding="utf-8"))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.host = cluster["server"].removeprefix("https://")
        self.tls = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        self.headers = {}
        if "client-certificate-data" in user:
            with tempfile.NamedTemporaryFile() as pair:
                pair.write(base64.b64decode(user["client-certificate-data"]) + b"\n")
                pair.write(base64.b64decode(user["client-key-data"]))
                pair.flush()
                self.tls.load_cert_chain(pair.name)
        if "token" in user:
            self.headers["Authorization"] = f"Bearer {user['token']}"
        self.link = None
        self.objects = {}  # key → Seen
        self.uid_names = {}  # uid → stable name
        self.tokens = {}  # name → continue token
        self.list_versions = {}  # name → resourceVersion of a list

    def connection(self, timeout=90):
        return http.client.HTTPSConnection(self.host, context=self.tls, timeout=timeout)

    def send(self, method, path, body=None, headers=None):
        """One request; tried again once when the kept connection turns out to be closed."""
        data = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        if isinstance(data, str):
            data = data.encode()
        for fresh in (False, True):
            if self.link is None or fresh:
                self.link = self.connection()
            try:
                self.link.request(method, path, body=data, headers={**self.headers, **(headers or {})})
                answer = self.link.getresponse()
                content = answer.read()
                break
            except (http.client.HTTPException, OSError):
                self.link.close()
                self.link = None
                if fresh:
                    raise
        content_type = answer.getheader("Content-Type") or ""
        text = content.decode("utf-8", "replace")
        decoded = None
        if content_type.startswith("application/json"):
            try:
                decoded = json.loads(text)
            except ValueError:
                decoded = {"not JSON": text}
        return Answer(answer.status, content_type, answer.headers.get_all("Warning") or [], decoded, text)

    def seen(self, key):
        return self.objects.setdefault(key, Seen())

    def note(self, key, value):
        """Remembers an object's state; names its uid."""
        metadata = value.get("metadata") or {}
        seen = self.seen(key)
        uid, version = metadata.get("uid"), metadata.get("resourceVersion")
        if uid and uid not in seen.uids:
            seen.uids.append(uid)
            self.uid_names[uid] = f"<uid {UUID.sub('<uid>', '/'.join(key))}#{len(seen.uids)}>"
        if version and version not in seen.versions:
            seen.versions.append(version)
        return seen

    def keep(self, key, value):
        self.note(key, value).last = copy.deepcopy(value)


class Watch:
    """A watch that is read in the background until it is closed or ends by itself."""

    def __init__(self, server, path):
        self.path = path
        self.events = []
        self.grown = threading.Condition()  # events came in
        self.closed = False
        self.link = server.connection()
        self.link.request("GET", path, headers=server.headers)
        self.answer = self.link.getresponse()
        self.code = self.answer.status
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        rest = b""
        try:
            while chunk := self.answer.read1(65536):
                *lines, rest = (rest + chunk).split(b"\n")
                self.take([json.loads(line) for line in lines if line.strip()])
        except (http.client.HTTPException, OSError, ValueError, AttributeError) as error:
            if not self.closed:
                self.take([{"type": "BROKEN", "object": {"error": str(error)}}])

    def take(self, events):
        with self.grown:
            self.events += events
            self.grown.notify_all()

    def await_events(self, condition, timeout):
        """Waits at most this long for events that make the condition true."""
        with self.grown:
            self.grown.wait_for(condition, timeout)

    def finish(self, timeout):
        """Waits at most this long for the server to end the stream, then ends it."""
        self.thread.join(timeout)
        self.closed = True
        if self.thread.is_alive():
            self.link.sock and self.link.sock.shutdown(socket.SHUT_RDWR)
            self.thread.join(5)
        self.link.close()
