# SPDX-License-Identifier: Apache-2.0
"""A lab under test: the built binary as a child process, and the ways into it (kubectl, raw HTTPS, athanor's verbs)."""

import atexit
import base64
import contextlib
import http.client
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse
from dataclasses import dataclass, field

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
ATHANOR = pathlib.Path(os.environ.get("ATHANOR", ROOT / "build/dev/athanor"))
KUBECTL = os.environ.get("KUBECTL", "kubectl")
os.environ.setdefault("ATHANOR_BROKEN_INVARIANTS", "fatal")  # the program contains them otherwise
for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):  # below `make test`, a make that a test runs prints what a user's prints
    os.environ.pop(name, None)
if "ATHANOR_LABS" not in os.environ:  # the list of labs of who runs the tests stays as it is
    os.environ["ATHANOR_LABS"] = tempfile.mkdtemp(prefix="athanor-labs-")
    atexit.register(shutil.rmtree, os.environ["ATHANOR_LABS"], ignore_errors=True)
JOBS = "fournos-local-dev"  # namespace of the default lab
DEADLINE = float(os.environ.get("E2E_DEADLINE", "120"))  # seconds; generous, since two cores may be shared
TIMEOUT = f"--timeout={DEADLINE * 0.75:.0f}s"  # of what kubectl waits for: it then says what, before it is killed


class Timeout(AssertionError):
    """What was waited for did not come about."""


def terminal_text(ours, theirs):
    """All that was written to a terminal so far: what a program wrote before its end may still be on its way."""
    os.write(theirs, b"\0")
    seen = b""
    while not seen.endswith(b"\0"):
        seen += os.read(ours, 1 << 16)
    return seen[:-1].decode(errors="replace")


def wait_for(what, condition, deadline=DEADLINE, interval=0.05):
    """Polls until condition() is true (its value is returned); says what was seen last when it never is.

    What is not there yet (no such key, no such answer) is waited for like what is not so yet.
    """
    end = time.monotonic() + deadline
    seen = None
    while time.monotonic() < end:
        try:
            seen = condition()
            if seen:
                return seen
        except (AssertionError, LookupError, OSError, json.JSONDecodeError, http.client.HTTPException, subprocess.CalledProcessError) as error:
            seen = error
        time.sleep(interval)
    raise Timeout(f"{what}: not within {deadline:.0f} s; last seen: {seen!r}")


def alive(pid):
    """Whether the process runs (a zombie does not)."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return state.rsplit(")", 1)[1].split()[0] != "Z"


_sleepers = itertools.count(1)


def sleep_argument():
    """A long time for sleep(1) that no other process on this machine was given: pids_of() finds it, and it alone."""
    return f"{9000 + next(_sleepers)}.{os.getpid()}"


def pids_of(argument):
    """Processes that run `sleep ARGUMENT`."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    if file.read().split(b"\0")[:2] == [b"sleep", argument.encode()]:
                        found.append(int(entry))
            except OSError:
                continue
    return found


def free_port():
    """A port for a program that takes no port 0. The kernel gives none of these to programs that ask for any port, so that it stays free."""
    for port in random.sample(range(15000, 32000), 100):
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise OSError("no free port")


@dataclass
class Answer:
    """One HTTP answer."""

    code: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def text(self):
        return self.body.decode()


@dataclass
class Result:
    """What a command left behind."""

    args: list
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


def run(args, *, env=None, stdin=None, timeout=DEADLINE, cwd=None):
    done = subprocess.run(
        [str(a) for a in args], input=stdin, capture_output=True, text=True, timeout=timeout, env=env, cwd=cwd, check=False
    )
    return Result([str(a) for a in args], done.returncode, done.stdout, done.stderr)


@dataclass
class Lab:
    """One data directory and the `athanor up` that holds it. Ends only what it started."""

    data: pathlib.Path
    args: list = field(default_factory=list)
    process: subprocess.Popen = None
    runs: int = 0
    program: pathlib.Path = ATHANOR
    port: int = 0  # any

    # --- life ---------------------------------------------------------------------------------------------
    def start(self, *, wrapper=(), ready=True, **popen):
        self.runs += 1
        self.out_path = self.data.parent / f"{self.data.name}-{self.runs}.out"
        self.err_path = self.data.parent / f"{self.data.name}-{self.runs}.err"
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(
                [*wrapper, str(self.program), "up", "--data", str(self.data), "--port", str(self.port), *self.args],
                stdout=out,
                stderr=err,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                **popen,
            )
        if ready:
            wait_for("the lab is ready", self._ready)
        return self

    def _ready(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"athanor up ended with {self.process.returncode}:\n{self.err}")
        if not self.address:
            return False
        self._load_credentials()
        return self.http("GET", "/readyz").code == 200

    @property
    def out(self):
        return self.out_path.read_text(encoding="utf-8", errors="replace")

    @property
    def err(self):
        return self.err_path.read_text(encoding="utf-8", errors="replace")

    @property
    def address(self):
        found = re.search(r"https://([0-9.]+|localhost):(\d+)", self.out)
        return (found.group(1), int(found.group(2))) if found else None

    def stop(self, signal_number=signal.SIGTERM, timeout=DEADLINE):
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(timeout)
            raise

    def close(self):
        """For tear-down: ends the process whatever the test did."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.stop()

    # --- ways in ------------------------------------------------------------------------------------------
    @property
    def kubeconfig(self):
        return self.data / "admin.kubeconfig"

    def _load_credentials(self):
        config = yaml.safe_load(self.kubeconfig.read_text(encoding="utf-8"))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        self.ca = context
        self.token = user.get("token")
        self.tls = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        if "client-certificate-data" in user:
            pair = self.data.parent / f"{self.data.name}-client.pem"
            pair.write_bytes(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
            pair.chmod(0o600)
            self.tls.load_cert_chain(pair)

    def connection(self, timeout=DEADLINE, context=None):
        host, port = self.address
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=context or self.tls)

    def http(self, method, path, body=None, *, headers=None, content_type="application/json", token=None, anonymous=False):
        """One raw request. A body that is no text or bytes is sent as JSON."""
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        sent = dict(headers or {})
        if body is not None and content_type:
            sent.setdefault("Content-Type", content_type)
        if token or (self.token and not anonymous):
            sent["Authorization"] = f"Bearer {token or self.token}"
        connection = self.connection(context=self.ca if token or anonymous else None)
        try:
            connection.request(method, path, body=body, headers=sent)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def get(self, path, **query):
        answer = self.http("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""))
        assert answer.code == 200, answer.text
        return answer.json

    @property
    def env(self):
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "NO_COLOR": "1", "HOME": str(self.data.parent)}

    def kubectl(self, *args, code=0, stdin=None, env=None, timeout=DEADLINE):
        """Runs kubectl; code=None takes any exit code."""
        done = run([KUBECTL, *args], env={**self.env, **(env or {})}, stdin=stdin, timeout=timeout)
        if code is not None:
            assert done.code == code, f"kubectl {' '.join(map(str, args))}: exit {done.code}\n{done.out}\n{done.err}"
        return done

    def remove_roles_of_people(self):
        """Makes room for those of manifests: a lab has them from its start, for all systems."""
        self.kubectl("delete", "clusterroles", "-l", "app.kubernetes.io/component=people")

    def athanor(self, *args, code=0, stdin=None, timeout=DEADLINE):
        done = run([self.program, *args], env=self.env, stdin=stdin, timeout=timeout)
        if code is not None:
            assert done.code == code, f"athanor {' '.join(map(str, args))}: exit {done.code}\n{done.out}\n{done.err}"
        return done

    # --- jobs ---------------------------------------------------------------------------------------------
    def job(self, name, ns=JOBS):
        return self.get(f"/apis/fournos.dev/v1/namespaces/{ns}/fournosjobs/{name}")

    def phase(self, name, ns=JOBS):
        return self.job(name, ns).get("status", {}).get("phase", "")

    def wait_phase(self, name, phase, ns=JOBS, deadline=DEADLINE):
        terminal = {"Succeeded", "Failed", "Stopped"}

        def reached():
            job = self.job(name, ns)
            now = job.get("status", {}).get("phase", "")
            if now in terminal and now != phase:
                raise RuntimeError(f"{name} ended as {now}: {job['status'].get('message')}")
            return job if now == phase else None

        return wait_for(f"{name} is {phase}", reached, deadline)

    def submit(self, spec, name=None, ns=JOBS):
        metadata = {"name": name} if name else {"generateName": "t-"}
        answer = self.http(
            "POST",
            f"/apis/fournos.dev/v1/namespaces/{ns}/fournosjobs",
            {"apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": metadata, "spec": spec},
        )
        assert answer.code == 201, answer.text
        return answer.json


def forge(**more):
    """A seed-dialect spec on cluster-1."""
    spec = {"owner": "e2e", "cluster": "cluster-1", "forge": {"project": "llmd", "args": ["cks"]}}
    spec.update(more)
    return {key: value for key, value in spec.items() if value is not None}


class ProbeTarget:
    """A port that probes of many pods ask: it takes each connection and counts it."""

    def __init__(self):
        self.asked, self.socket = 0, socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.thread = threading.Thread(target=self.take, daemon=True)

    def probe(self):
        return {"tcpSocket": {"host": "127.0.0.1", "port": self.socket.getsockname()[1]}, "periodSeconds": 1, "failureThreshold": 1000}

    def take(self):
        with contextlib.suppress(OSError):  # the socket is closed
            while True:
                self.socket.accept()[0].close()
                self.asked += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()


def processor_seconds(pid):
    """Processor time of a process, all threads."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_share(pid, seconds):
    """The share of one processor that a process uses in this time, in percent."""
    before, began = processor_seconds(pid), time.monotonic()
    time.sleep(seconds)
    return 100 * (processor_seconds(pid) - before) / (time.monotonic() - began)


def has_test(test):
    """Returns whether there is such a test: FILE.py::NAME, FILE.cpp::SUITE.NAME, or a file of scenarios with ::NAME or without."""
    path, _, name = test.partition("::")
    if not (ROOT / path).is_file():
        return False
    if path.endswith(".py"):
        shape = rf"def (?=test_){re.escape(name)}\("
    elif path.endswith(".cpp"):
        suite, _, case = name.partition(".")
        shape = rf"TEST(_F|_P)?\({re.escape(suite)},\s*{re.escape(case)}\)"
    else:
        shape = rf'\s*- name: "?{re.escape(name)}"?$' if name else ""
    return re.search(f"^{shape}", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE) is not None
