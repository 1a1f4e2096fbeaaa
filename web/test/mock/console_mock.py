# SPDX-License-Identifier: Apache-2.0
"""A console without a cluster: serves web/dist and answers the API with the data of console_data.

    python3 web/test/mock/console_mock.py [PORT] [--jobs N] [--dist DIR]

For work on the pages, and for the browser tests of the client alone. POST /mock/push {topic, change} sends a change to all
streams; POST /mock/down {seconds} ends all streams and refuses new ones for a while.
"""

import argparse
import html
import json
import mimetypes
import pathlib
import queue
import re
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import console_data as data
import console_whatif
from console_answers import Answers

CSP = "default-src 'self'; frame-ancestors 'none'; base-uri 'self'; form-action 'self'; object-src 'none'"
PAGES = re.compile(
    r"^/(|jobs|queue|clusters|locks|gpus|appwrappers|mig|numa|nodes|submit|schedules|compare|insights|system|login|whatif|(jobs|clusters|nodes)/[^/]+|(appwrappers|workloads)/[^/]+/[^/]+|schedules/[^/]+/runs)$"
)


class Console(ThreadingHTTPServer):
    """The state of the mock: rows by topic, the open streams, and the changes that pages made."""

    daemon_threads = True

    def __init__(self, port, dist, archived=60):
        super().__init__(("127.0.0.1", port), Handler)
        self.dist = pathlib.Path(dist)
        self.rows = {
            "jobs": data.jobs(archived),
            "clusters": data.clusters(),
            "workloads": data.workloads(),
            "appwrappers": data.appwrappers(),
            "nodes": data.nodes(),
            "schedules": data.schedules(),
        }
        self.features = {name: True for name in ("jobs", "queue", "clusters", "appwrappers", "mig", "numa", "schedules", "pipelines", "history")}
        self.read_only = False
        self.token = ""  # asked for at /login; empty: anybody may look
        self.posted = {}  # message and fields of a failed form post
        self.log_size = 4000
        self.log_gap = 0  # lines that the following stream skips
        self.log_breaks = 0  # following streams that end before the new line, as the API server went away
        self.templates = []
        self.answers = {}  # by route: used instead of the usual ones
        self.requests = []  # method and path of each request
        self.changes = []  # method, path and body of each change
        self.streams = set()
        self.down_until = 0.0
        self.lock = threading.Lock()
        self.version = 5000

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def start(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def push(self, topic, kind, row):
        """Changes a row and tells all streams."""
        with self.lock:
            self.version += 1
            if topic in self.rows:
                key = (row.get("ns"), row["name"])
                rest = [one for one in self.rows[topic] if (one.get("ns"), one["name"]) != key]
                self.rows[topic] = rest if kind == "DELETED" else [*rest, row]
            text = f"event: {topic}\nid: {self.version}\ndata: {json.dumps({'type': kind, 'object': row})}\n\n"
            for stream in self.streams:
                stream.put(text)

    def down(self, seconds):
        with self.lock:
            self.down_until = time.monotonic() + seconds
            for stream in self.streams:
                stream.put(None)

    def lock_of(self, name):
        return next((row for row in self.rows["clusters"] if row["name"] == name), None)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Stays quiet."""

    def do_GET(self):
        self.answer("GET")

    def do_POST(self):
        self.answer("POST")

    def do_PUT(self):
        self.answer("PUT")

    def do_DELETE(self):
        self.answer("DELETE")

    def answer(self, method):
        url = urllib.parse.urlsplit(self.path)
        query = {key: values[-1] for key, values in urllib.parse.parse_qs(url.query).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append((method, self.path))
        path = url.path
        if path.startswith("/mock/"):
            return self.hook(path, json.loads(body or b"{}"))
        if path.startswith("/api/v1/"):
            parts = [urllib.parse.unquote(one) for one in path[len("/api/v1/") :].split("/")]
            if time.monotonic() < self.server.down_until:
                return self.error(503, "Unavailable", "the mock is down")
            if server_token := self.server.token:
                if parts == ["login"]:
                    return self.log_in(json.loads(body)["token"] == server_token)
                if "session=s3ss10n" not in (self.headers.get("Cookie") or ""):
                    return self.error(401, "Unauthorized", "log in first")
            if method != "GET":
                return self.change(method, parts, json.loads(body or b"null"), query)
            return self.read(parts, query)
        file = self.server.dist / path.lstrip("/")
        if path.startswith("/assets/") and file.is_file() and self.server.dist in file.resolve().parents:
            return self.send(200, file.read_bytes(), mimetypes.guess_type(file.name)[0] or "application/octet-stream")
        if PAGES.match(path):
            metas = "".join(f'<meta name="athanor-{name}" content="{html.escape(text)}">' for name, text in self.server.posted.items())
            page = (self.server.dist / "index.html").read_text().replace("<head>", f'<head><base href="/">{metas}', 1)
            return self.send(200, page.encode(), "text/html; charset=utf-8")
        return self.error(404, "NotFound", f"no page {path}")

    def send(self, code, content, kind="application/json", cookie=""):
        if isinstance(content, (dict, list)):
            content = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", CSP)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-cache")
        if cookie:
            self.send_header("Set-Cookie", cookie)
        self.end_headers()
        self.wfile.write(content)

    def log_in(self, good):
        if not good:
            return self.error(401, "Unauthorized", "the token is not valid")
        self.send(200, {}, cookie="session=s3ss10n; HttpOnly; SameSite=Strict; Path=/")

    def error(self, code, reason, message, field="", errors=()):
        self.send(code, {"error": {"code": code, "reason": reason, "message": message, "field": field, "errors": list(errors)}})

    def hook(self, path, body):
        if path == "/mock/push":
            self.server.push(body["topic"], body["type"], body["object"])
        elif path == "/mock/down":
            self.server.down(body["seconds"])
        self.send(200, {})

    def listed(self, rows, query):
        limit = int(query.get("limit", 200))
        start = int(query.get("continue", 0))
        part = rows[start : start + limit]
        answer = {
            "items": part,
            "total": len(rows),
            "resourceVersion": str(self.server.version),
            "now": data.datetime.datetime.now(data.datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        if start + limit < len(rows):
            answer["continue"] = str(start + limit)
        self.send(200, answer)

    def read(self, parts, query):
        server = self.server
        match parts:
            case ["session"]:
                features = [
                    {"name": name, "present": on, **({} if on else {"reason": f"the cluster has no kinds of {name}"})}
                    for name, on in server.features.items()
                ]
                self.send(
                    200,
                    {
                        "user": "alice",
                        "groups": [],
                        "auth": "token" if server.token else "none",
                        "readOnly": server.read_only,
                        "csrf": "c5f",
                        "version": "0.0.0-mock",
                        "namespaces": [data.NS],
                        "jobsNamespace": data.NS,
                        "embedded": True,
                        "features": features,
                    },
                )
            case ["stream"]:
                self.stream(query)
            case ["jobs", "compare"]:
                rows = []
                for given in urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)["job"]:
                    name, _, uid = given.split("/")[1].partition("@")
                    found = [row for row in server.rows["jobs"] if row["name"] == name and (not uid or row.get("uid") == uid)]
                    if not found:
                        self.send(404, {"error": {"code": 404, "reason": "NotFound", "message": "Job not found", "field": "job"}})
                        return
                    rows.append(found[0])
                self.send(
                    200,
                    {
                        "jobs": rows,
                        "spec": [
                            {"path": "spec.forge.configOverrides.batch_size", "values": [str(64 * (i + 1)) for i in range(len(rows))]},
                            {"path": "spec.env.EXTRA", "values": ["1"] + [None] * (len(rows) - 1)},
                        ],
                        "tasks": [
                            {"name": name, "seconds": [base + 7.5 * i for i in range(len(rows))]}
                            for name, base in (("fetch", 20.0), ("forge-prepare", 80.0), ("forge-test", 190.0))
                        ],
                        "results": [
                            {"name": "tokens-per-second", "values": [str(1234.5 + 61 * i) for i in range(len(rows))], "differencePercent": 4.9}
                        ],
                    },
                )
            case ["jobs", ns, name, *rest]:
                self.job(ns, name, rest, query)
            case ["jobs" | "clusters" | "workloads" | "appwrappers" | "nodes" | "schedules" as topic]:
                rows = server.rows[topic]
                if wanted := re.search(r"\bname:(\S+)", query.get("filter", "")):
                    rows = [row for row in rows if row["name"] == wanted[1]]
                self.listed(rows, query)
            case ["clusters", name]:
                self.cluster(name)
            case ["workloads", _, name, "explain"]:
                self.send(200, data.explanation(name))
            case ["appwrappers", ns, name, "tree"]:
                row = next((one for one in server.rows["appwrappers"] if one["name"] == name), None)
                if not row:
                    return self.error(404, "NotFound", f'appwrappers "{name}" not found')
                tree = {
                    "kind": "AppWrapper",
                    "apiVersion": "workload.codeflare.dev/v1beta2",
                    "ns": ns,
                    "name": name,
                    "uid": row["uid"],
                    "state": row["phase"],
                    "children": [
                        {
                            "kind": "Job",
                            "apiVersion": "batch/v1",
                            "ns": ns,
                            "name": f"{name}-job",
                            "uid": "j1",
                            "state": "Running",
                            "deployed": True,
                            "podSets": [{"expected": 4, "seen": 3}],
                            "children": [
                                {
                                    "kind": "Pod",
                                    "apiVersion": "v1",
                                    "ns": ns,
                                    "name": f"{name}-{i}",
                                    "uid": f"p{i}",
                                    "state": "Running",
                                    "created": data.ago(600),
                                }
                                for i in range(3)
                            ],
                        },
                        {"kind": "Service", "apiVersion": "v1", "ns": ns, "name": name, "uid": "s1", "deployed": False},
                    ],
                }
                self.send(
                    200,
                    {
                        "appwrapper": row,
                        "object": {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": {"name": name, "namespace": ns}},
                        "page": "",
                        "tree": tree,
                        "transitions": [
                            {"at": data.ago(at), "phase": phase, "retries": retries, "condition": condition, "reason": reason, "message": message}
                            for at, phase, retries, condition, reason, message in (
                                (900, "Suspended", 0, "QuotaReserved", "AppWrapperQuotaReserved", "Suspend is true"),
                                (860, "Resuming", 0, "QuotaReserved", "AppWrapperQuotaReserved", "Suspend is false"),
                                (840, "Running", 0, "PodsReady", "SufficientPodsReady", "4 pods running"),
                                (700, "Resetting", 1, "Unhealthy", "FoundFailedPods", data.HOSTILE),
                                (610, "Resuming", 1, "Unhealthy", "FoundFailedPods", "Found 1 failed pods"),
                                (600, "Running", 1, "PodsReady", "SufficientPodsReady", "4 pods running"),
                            )
                        ],
                        "timers": [
                            {"name": "warm-up", "ends": data.hence(240), "annotation": "workload.codeflare.dev.appwrapper/warmupGracePeriodDuration"}
                        ],
                    },
                )
            case ["objects", "tree"]:
                self.send(200, data.related_tree(query["kind"], query.get("ns", ""), query["name"]))
            case ["nodes", name]:
                row = next((one for one in server.rows["nodes"] if one["name"] == name), None)
                self.send(
                    200, {"node": row, "object": {"kind": "Node", "metadata": {"name": name}}, "pods": data.pods("on-node")}
                ) if row else self.error(404, "NotFound", f'nodes "{name}" not found')
            case ["schedules", "preview"]:
                good = len(query.get("cron", "").split()) == 5 or query.get("cron", "").startswith("@")
                self.send(
                    200,
                    {"valid": True, "words": "every day at 03:00", "next": [data.hence(3600 * k) for k in range(1, 6)]}
                    if good
                    else {"valid": False, "error": "a schedule has five fields"},
                )
            case ["schedules", _, "resolver"]:
                self.send(200, {"filename": "resolver.py", "content": "open('/shared/resolved.env', 'w').write('version=1\\n')\n"})
            case ["schedules", _, "absent"]:
                starts = [("skipped", "JobAlreadyActive", "prior execution is running"), ("missed", "NoJob", "no job was created")]
                items = [{"at": data.ago(3600 * (k + 1)), "kind": kind, "reason": reason, "message": text} for k, (kind, reason, text) in enumerate(starts)]
                self.send(200, {"items": items, "total": 2, "since": data.ago(86400), "unavailable": []})
            case ["schedules", _, "runs"]:
                self.listed([row for row in server.rows["jobs"] if row.get("schedule")], query)
            case ["locks"]:
                self.listed([row["lock"] for row in server.rows["clusters"] if row.get("lock")], query)
            case ["logs", *_]:
                self.log(query)
            case ["results", *_]:
                if parts[-1] == "file":
                    return self.send(200, b"name,value\n=cmd,1\n", "text/csv")
                self.send(
                    200,
                    {
                        "available": True,
                        "files": [
                            {"path": "results/summary.json", "bytes": 812, "type": "application/json"},
                            {"path": "results/table.csv", "bytes": 20480, "type": "text/csv"},
                        ],
                    },
                )
            case [name] if name in server.answers:
                self.send(200, server.answers[name])
            case ["whatif"]:
                answer = console_whatif.answer(query)
                if isinstance(answer, str):
                    return self.error(400, "BadRequest", f"{answer} is wrong", answer)
                self.send(200, answer)
            case [name] if hasattr(Answers, name):
                self.send(200, getattr(Answers, name)(server))
            case ["mig", "history"]:
                self.send(
                    200,
                    {
                        "from": data.ago(86400),
                        "to": data.ago(0),
                        "changes": [
                            {
                                "at": data.ago(7200),
                                "type": "ADDED",
                                "node": "node-1",
                                "gpu": "GPU-0000",
                                "profile": "3g.20gb",
                                "start": 4,
                                "size": 4,
                                "pod": "large",
                            },
                            {
                                "at": data.ago(9000),
                                "type": "DELETED",
                                "node": "node-1",
                                "gpu": "GPU-0000",
                                "profile": "2g.10gb",
                                "start": 4,
                                "size": 2,
                                "pod": "before",
                            },
                        ],
                    },
                )
            case ["fleet", "timeline"]:
                lanes = [
                    {
                        "cluster": name,
                        "bars": [bar for row in server.rows["jobs"] if (row["cluster"] or row["requestedCluster"]) == name for bar in data.bars(row)][:120],
                        "locks": [{"holder": "bob", "from": data.ago(5400), "to": data.hence(1800)}] if name == "cluster-2" else [],
                    }
                    for name in data.CLUSTERS
                    if query.get("cluster") in (None, name)
                ]
                self.send(200, {"from": query.get("from"), "to": query.get("to"), "lanes": lanes})
            case _:
                self.error(404, "NotFound", f"no route {'/'.join(parts)}")

    def job(self, ns, name, rest, query):
        row = next((one for one in self.server.rows["jobs"] if one["name"] == name and one["ns"] == ns), None)
        if not row:
            return self.error(404, "NotFound", f'fournosjobs "{name}" not found')
        failed = row["phase"] == "Failed"
        match rest:
            case []:
                live = row["phase"] in ("Running", "Pending", "Admitted", "Resolving")
                no = {"allowed": False, "why": f"the job is {row['phase']}"}
                spec = {
                    "owner": row["owner"],
                    "cluster": row["requestedCluster"],
                    "executionEngine": {
                        "forge": {"project": row["project"], "args": [row["preset"]], "configOverrides": {"batch_size": 64, "model": "llama"}}
                    },
                }
                status = {
                    "phase": row["phase"],
                    "engineStatus": {
                        "forge": {"exportArtifacts": {"mlflow": {"run_url": "https://mlflow.example.com/run/1", "bad": "javascript:alert(1)"}}}
                    },
                }
                detail = {
                    "job": row,
                    "object": {
                        "apiVersion": "fournos.dev/v1",
                        "kind": "FournosJob",
                        "metadata": {"name": name, "namespace": ns, "uid": row["uid"]},
                        "spec": spec,
                        "status": status,
                    },
                    "description": {
                        "events": [
                            {
                                "last": data.ago(50),
                                "count": 3,
                                "type": "Warning",
                                "reason": "FailedScheduling",
                                "object": "Pod/x",
                                "message": data.HOSTILE,
                            },
                            {
                                "last": data.ago(90),
                                "count": 1,
                                "type": "Normal",
                                "reason": "Admitted",
                                "object": f"FournosJob/{name}",
                                "message": "Workload admitted",
                            },
                        ],
                        "why": "waits for a100: cluster-1 lacks 2" if row["phase"] == "Pending" else "",
                    },
                    "phases": [
                        {"phase": "Resolving", "from": row["created"], "to": data.ago(330)},
                        {"phase": "Pending", "from": data.ago(330), "to": data.ago(300)},
                        {"phase": row["phase"], "from": data.ago(300)},
                    ],
                    "conditions": [
                        {"type": "WorkloadAdmitted", "status": "True", "reason": "Admitted", "message": "assigned to cluster-1", "at": data.ago(300)}
                    ],
                    "pods": data.pods(name),
                    "related": [],
                    "archive": {"entries": []},
                    "actions": {
                        "stop": {"allowed": True} if live else no,
                        "terminate": {"allowed": True} if live else no,
                        "rerun": {"allowed": True},
                        "delete": {"allowed": True},
                    },
                }
                if row["phase"] == "Pending":
                    detail["lock"] = {"cluster": "cluster-2", "holder": "bob", "expires": data.hence(1800)}
                self.send(200, detail)
            case ["pipeline"]:
                self.send(200, data.pipeline(failed))
            case ["explain"]:
                self.send(
                    200, data.explanation(name) if row["phase"] == "Pending" else {"state": "not queued", "text": "The job has no Workload any more."}
                )
            case ["tree"]:
                self.send(
                    200,
                    {
                        "kind": "FournosJob",
                        "apiVersion": "fournos.dev/v1",
                        "ns": ns,
                        "name": name,
                        "uid": row["uid"],
                        "state": row["phase"],
                        "children": [
                            {
                                "kind": "Workload",
                                "apiVersion": "kueue.x-k8s.io/v1beta2",
                                "ns": ns,
                                "name": name,
                                "uid": "w",
                                "state": "Admitted",
                            },
                            {
                                "kind": "PipelineRun",
                                "apiVersion": "tekton.dev/v1",
                                "ns": ns,
                                "name": "pr-1",
                                "uid": "r",
                                "state": "Running",
                                "children": [
                                    {"kind": "TaskRun", "apiVersion": "tekton.dev/v1", "ns": ns, "name": "tr-1", "uid": "t", "state": "Running"}
                                ],
                            },
                        ],
                    },
                )
            case ["logs"]:
                self.log(query)
            case _:
                self.error(404, "NotFound", "no such route")

    def cluster(self, name):
        row = self.server.lock_of(name)
        if not row:
            return self.error(404, "NotFound", f'fournosclusters "{name}" not found')
        jobs = [one for one in self.server.rows["jobs"] if one["cluster"] == name and not one["archived"]]
        self.send(
            200,
            {
                "cluster": row,
                "object": {"kind": "FournosCluster", "metadata": {"name": name}},
                "description": {"events": []},
                "conditions": [{"type": "Connected", "status": "True", "reason": "Probed", "message": "", "at": data.ago(86400)}],
                "hardware": [{"at": data.ago(86400 * (30 - d)), "gpus": 8 if d < 20 else 6 if d < 24 else 8} for d in range(31)],
                "nodes": [{"name": f"{name}-n{i}", "ready": i != 2, "schedulable": i != 1, "gpu": "a100", "allocatable": 4} for i in range(3)],
                "jobs": jobs,
                "quota": [
                    {"resource": "fournos/gpu-a100", "quota": "8", "discovered": "6", "differs": True},
                    {"resource": "fournos/cluster-slot", "quota": "100", "discovered": "100", "differs": False},
                ],
                "actions": {},
            },
        )

    def log(self, query):
        lines = data.log_lines(self.server.log_size)
        if query.get("follow"):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            new = {"at": data.hence(60), "text": "INFO: a new line", "source": "forge-test/run"}
            sent = [{**one, "n": i + 1} for i, one in enumerate([*lines[-3:], new])]
            events = [f"id: 1\nevent: line\ndata: {json.dumps(one)}\n\n" for one in sent]
            if skipped := self.server.log_gap:  # the log has grown by them
                self.server.log_size += skipped
                self.server.log_gap = 0
                events.insert(-1, f"event: gap\ndata: {json.dumps({'skipped': skipped, 'load': self.path.split('?')[0]})}\n\n")
            end = {}
            if self.server.log_breaks:
                self.server.log_breaks -= 1
                events, end = events[:-1], {"error": "cannot reach the API server", "again": True}
            self.wfile.write("".join(events).encode() + f"event: end\ndata: {json.dumps(end)}\n\n".encode())
            self.close_connection = True
            return
        if "download" in query or "application/json" not in self.headers.get("Accept", ""):
            return self.send(200, "\n".join(one["text"] for one in lines).encode(), "text/plain; charset=utf-8")
        part = lines[-int(query["tail"]) :] if "tail" in query else lines[int(query.get("offset", 0)) :][: int(query.get("lines", 1000))]
        self.send(200, {"lines": part, "total": len(lines), "first": part[0]["n"] if part else 0, "complete": True, "archived": False})

    def stream(self, _query):
        inbox = queue.Queue()
        with self.server.lock:
            self.server.streams.add(inbox)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.end_headers()
        self.close_connection = True
        try:
            greeting = 'retry: 300\n\nevent: state\ndata: {"connected":true}\n\n'
            self.wfile.write(f'{greeting}event: bookmark\nid: {self.server.version}\ndata: {{"type":"BOOKMARK","object":{{}}}}\n\n'.encode())
            while True:
                try:
                    text = inbox.get(timeout=15)
                except queue.Empty:
                    text = ": heartbeat\n\n"
                if text is None:
                    return
                self.wfile.write(text.encode())
                self.wfile.flush()
        except OSError:
            return
        finally:
            with self.server.lock:
                self.server.streams.discard(inbox)

    def change(self, method, parts, body, query):
        server = self.server
        if self.headers.get("X-Athanor-CSRF") != "c5f":
            return self.error(403, "Forbidden", "the header X-Athanor-CSRF does not match the session")
        if server.read_only:
            return self.error(403, "Forbidden", "the console is read-only")
        server.changes.append((method, "/".join(parts), body))
        match (method, parts):
            case ("POST", ["jobs"]):
                spec = body.get("spec", {})
                count = spec.get("hardware", {}).get("gpuCount", 1)
                if count < 1 or not (spec.get("cluster") or spec.get("hardware")):
                    field = "spec.hardware.gpuCount" if count < 1 else "spec.cluster"
                    text = "must be at least 1" if count < 1 else "Must specify 'cluster', 'hardware', or both"
                    return self.error(422, "Invalid", text, field, [{"field": field, "message": text}])
                row = data.job(
                    7000 + len(server.changes),
                    "Pending",
                    name=body["metadata"]["generateName"] + "x7k2p",
                    owner=spec.get("owner", ""),
                    created=data.ago(0),
                )
                if query.get("dryRun"):
                    return self.send(200, {"job": row, "object": body, "warnings": []})
                server.push("jobs", "ADDED", row)
                self.send(201, {"job": row, "object": body, "warnings": []})
            case ("POST", ["jobs", _, name, action]):
                row = next(one for one in server.rows["jobs"] if one["name"] == name)
                if action in ("stop", "terminate"):
                    server.push("jobs", "MODIFIED", {**row, "phase": "Stopping"})
                self.send(200, {"message": f"{name}: {action} requested"})
            case ("PUT", ["clusters", name, "lock"]):
                row = server.lock_of(name)
                if not re.fullmatch(r"(\d+[hms])+", body.get("ttl", "")):
                    return self.error(400, "BadRequest", "ttl is no duration", "ttl")
                if row.get("lock") and row["lock"]["holder"] != body["owner"] and not body.get("transfer"):
                    return self.error(409, "Conflict", f"{name} is locked by {row['lock']['holder']}")
                lock = {
                    "ns": data.NS,
                    "cluster": name,
                    "state": "Acquiring",
                    "holder": body["owner"],
                    "since": data.ago(0),
                    "expires": data.hence(7200),
                    "waitsFor": [],
                    "blocks": [],
                }
                server.push("clusters", "MODIFIED", {**row, "lock": lock})
                threading.Timer(1.5, lambda: server.push("clusters", "MODIFIED", {**row, "lock": {**lock, "state": "Held"}})).start()
                self.send(200, {"lock": lock, "message": f"{name} is being locked for {body['owner']}"})
            case ("DELETE", ["clusters", name, "lock"]):
                row = {key: value for key, value in server.lock_of(name).items() if key != "lock"}
                server.push("clusters", "MODIFIED", row)
                self.send(200, {"message": f"{name} is unlocked"})
            case ("POST", ["mig", "whatif"]):
                self.send(
                    200,
                    {
                        "fits": min(4, body["count"]),
                        "asked": body["count"],
                        "spots": [{"node": "node-1", "gpu": "GPU-0002", "profile": body["profile"], "start": 0}],
                        "why": "" if body["count"] <= 4 else "no GPU has room for more",
                    },
                )
            case ("POST", ["numa", "fit"]):
                self.send(
                    200,
                    {
                        "nodes": [
                            {
                                "node": f"node-{n}",
                                "fits": n != 1,
                                "zone": "node-1" if n != 1 else "",
                                "verdict": ["no", "one zone", "across zones", "one zone"][n - 1],
                                "reason": "cpu: 1.5 of 4 available" if n == 1 else "",
                            }
                            for n in range(1, 5)
                        ]
                    },
                )
            case ("POST", ["logout"]):
                self.send(200, {}, cookie="session=; Max-Age=0; Path=/")
            case ("PUT", ["templates", name]):
                server.templates.append({"name": name, "object": body})
                self.send(200, {"message": f"template {name} is saved"})
            case _:
                self.send(200, {"message": f"{'/'.join(parts)}: done"})


def main():
    parser = argparse.ArgumentParser(description="Serves the console's pages with invented data.")
    parser.add_argument("port", nargs="?", type=int, default=8000)
    parser.add_argument("--jobs", type=int, default=60, help="number of archived jobs")
    parser.add_argument("--dist", default=pathlib.Path(__file__).resolve().parents[2] / "dist")
    arguments = parser.parse_args()
    console = Console(arguments.port, arguments.dist, arguments.jobs)
    print(f"console: {console.url}/")
    console.serve_forever()


if __name__ == "__main__":
    main()
