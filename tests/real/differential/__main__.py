# SPDX-License-Identifier: Apache-2.0
"""python -m differential --real KUBECONFIG --embedded KUBECONFIG [--seed N] [--requests N]: see docs/testing.md."""

import argparse
import collections
import concurrent.futures
import copy
import http.client
import json
import random
import sys
import time

from support import wait_for

from . import kinds as made
from .compare import Difference, Exceptions, canonical, differences, own_event, refusal, text_of
from .request import LOST, Request, as_text
from .server import UUID, Server, Watch
from .stream import Stream

EPISODE = 150  # requests to one namespace
MUTATING = {"POST", "PUT", "PATCH", "DELETE"}


class Driver:
    """Sends the stream to both servers and keeps what differs."""

    def __init__(self, options):
        self.options = options
        self.real = Server("real", options.real)
        self.ours = Server("embedded", options.embedded)
        self.servers = (self.real, self.ours)
        self.pool = concurrent.futures.ThreadPoolExecutor(2)
        self.exceptions = Exceptions()
        self.found = collections.OrderedDict()  # signature → [count, Difference, reproducer]
        self.requests = self.differing = self.panics = 0
        self.history = []
        self.tainted = {}  # (group, plural) → names about which the servers differed in this episode

    def both(self, action):
        return list(self.pool.map(action, self.servers))

    # --- the stream ----------------------------------------------------------------------------------------
    def run(self):
        rng = random.Random(self.options.seed)
        self.prepare()
        for number in range(1, -(-self.options.requests // EPISODE) + 1):
            bits = rng.getrandbits(64)
            if self.options.episodes and number not in self.options.episodes:
                self.requests += EPISODE
                continue
            prefix = f"d{self.options.seed}-e{number}-{self.options.run}"
            self.episode(Stream(random.Random(bits), prefix), prefix)

    def prepare(self):
        """The custom kinds, established on both, and the storage class that the embedded server comes with."""
        for server in self.servers:
            answer = server.send("POST", "/apis/storage.k8s.io/v1/storageclasses", made.STORAGE_CLASS, {"Content-Type": "application/json"})
            assert answer.code in (201, 409), f"{server.name}: {answer.text}"
        for crd in made.crds():
            name = crd["metadata"]["name"]
            root = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            for server in self.servers:
                answer = server.send("POST", root, crd, {"Content-Type": "application/json"})
                assert answer.code in (201, 409), f"{server.name}: {answer.text}"
            for server in self.servers:
                wait_for(f"{name} is established", lambda s=server, n=name: any(c["type"] == "Established" and c["status"] == "True" for c in s.send("GET", f"{root}/{n}").body["status"].get("conditions") or []))
                group, version = crd["spec"]["group"], crd["spec"]["versions"][0]["name"]
                plural = crd["spec"]["names"]["plural"]
                wait_for(f"{name} is served", lambda s=server, p=f"/apis/{group}/{version}/{plural}": s.send("GET", p).code == 200)

    def episode(self, stream, ns):
        rng = stream.rng
        stream.begin(ns)
        self.history = []
        self.tainted = {}
        for server in self.servers:
            answer = server.send("POST", "/api/v1/namespaces", {"metadata": {"name": ns}}, {"Content-Type": "application/json"})
            assert answer.code == 201, answer.text
            account = server.send("POST", f"/api/v1/namespaces/{ns}/serviceaccounts", {"metadata": {"name": "default"}}, {"Content-Type": "application/json"})
            assert account.code in (201, 409), account.text
        watched = [kind for kind in rng.sample(stream.kinds, 8) if kind.namespaced][:5]
        watched += [k for k in stream.kinds if k.plural in ("configmaps", "widgets") and k.version == "v1" and k not in watched]
        starts = [server.send("GET", f"/api/v1/namespaces/{ns}").body["metadata"]["resourceVersion"] for server in self.servers]
        queries = [rng.choice(["", "&labelSelector=app%3Da", "&fieldSelector=metadata.name%3Da", "&allowWatchBookmarks=true"]) for _ in watched]
        live = [[self.watch(server, kind, ns, start, query, 600) for kind, query in zip(watched, queries)] for server, start in zip(self.servers, starts)]
        for _ in range(EPISODE):
            self.one(stream, stream.next())
        replays = [[self.watch(server, kind, ns, start, query, 1) for kind, query in zip(watched, queries)] for server, start in zip(self.servers, starts)]
        for watches in replays:
            for watch in watches:
                watch.finish(20)
        for watches, done in zip(live, replays):
            for watch, other in zip(watches, done):
                wanted = len(_changes(other))
                watch.await_events(lambda w=watch, n=wanted: len(_changes(w)) >= n, 3)
                watch.finish(0)
        for number, (kind, query) in enumerate(zip(watched, queries)):
            self.compare_watches("watch replay", kind, ns, query, replays[0][number], replays[1][number])
            self.compare_watches("watch live", kind, ns, query, live[0][number], live[1][number])
        self.clean(stream, ns)

    def watch(self, server, kind, ns, start, query, seconds):
        return Watch(server, f"{kind.path(ns)}?watch=1&resourceVersion={start}&timeoutSeconds={seconds}{query}")

    def compare_watches(self, what, kind, ns, query, real, ours):
        key = (kind.group, kind.plural, ns, "")
        values = []
        for server, watch in ((self.real, real), (self.ours, ours)):
            events = []
            for event in _changes(watch):
                value = event.get("object") or {}
                if kind.plural == "events" and not own_event(value):
                    continue
                name = (value.get("metadata") or {}).get("name")
                if name in self.tainted.get((kind.group if kind.plural != "events" else "", kind.plural), ()):
                    continue
                server.note((*key[:3], name), value)
                events.append({"type": event.get("type"), "object": canonical(server, value)})
            values.append({"code": watch.code, "events": events})
        request = Request("GET", kind, ns, query={"watch": "1"}, verb=f"{what} {query}")
        self.report(request, *values, request.for_server(self.real))

    def clean(self, stream, ns):
        """Cluster-wide objects of the episode go, so that lists stay short."""
        selector = f"labelSelector=run%3D{ns}"
        for server in self.servers:
            for kind in stream.kinds:
                if kind.namespaced:
                    continue
                listed = server.send("GET", f"{kind.path(None)}?{selector}")
                for item in (listed.body or {}).get("items") or []:
                    self.remove(server, kind, None, item["metadata"]["name"])
            server.send("DELETE", f"/api/v1/namespaces/{ns}")

    @staticmethod
    def remove(server, kind, ns, name):
        path = kind.path(ns, name)
        patch = {"metadata": {"finalizers": None}}
        if kind.group == made.CRD_GROUP:
            patch["Kind"] = None  # with this member the reference takes no other patch
        server.send("PATCH", path, patch, {"Content-Type": "application/merge-patch+json"})
        server.send("DELETE", path + "?gracePeriodSeconds=0")

    # --- one request ---------------------------------------------------------------------------------------
    def ask(self, server, sent):
        """The answer; None of a reference that panics: it ends the connection without one, each time."""
        try:
            return server.send(*sent)
        except http.client.RemoteDisconnected:
            if server is not self.real:
                raise
            return None

    def one(self, stream, request):
        self.requests += 1
        sent = [request.for_server(server) for server in self.servers]
        if request.method == "GET" and request.query.get("resourceVersion"):
            self.real.send("GET", request.kind.path(request.ns))  # a list of the present waits until the reference's cache has it
        real, ours = self.pool.map(self.ask, self.servers, sent)
        if real is None:
            self.panics += 1
            return self.resync(stream, request)
        dry = bool(request.query.get("dryRun"))
        stream.learn(request, real)
        values = []
        given = request.numbers()
        for server, answer in zip(self.servers, (real, ours)):
            body = answer.body
            if isinstance(body, dict):
                self.remember(server, stream, request, body, answer.code, dry)
            if request.verb in ("list", "deletecollection"):
                body = self.untouched(request, own_events(request, body))
            shown = refusal(canonical(server, body, given=given)) if body is not None else text_of(server, answer.text)
            values.append({"code": answer.code, "type": answer.content_type, "warnings": [text_of(server, w) for w in answer.warnings], "body": shown})
        # What a cache may answer says nothing about where the store is.
        fresh = not request.query.get("resourceVersion") and not request.query.get("resourceVersionMatch")
        listed = request.verb == "list" and isinstance(real.body, dict) and isinstance(ours.body, dict) and real.code == ours.code == 200
        if listed and fresh:
            stream.lists += 1
            for server, answer in zip(self.servers, (real, ours)):
                server.list_versions[str(stream.lists)] = answer.body["metadata"]["resourceVersion"]
        if listed and all(a.body["metadata"].get("continue") for a in (real, ours)):
            stream.tokens += 1
            for server, answer in zip(self.servers, (real, ours)):
                server.tokens[str(stream.tokens)] = answer.body["metadata"]["continue"]
        if request.kind.plural == "limitranges" and request.method in MUTATING:
            self.await_limits(request.ns)
        different = self.report(request, *values, sent[0])
        if self.options.trace:
            codes = f"{real.code} | {ours.code}{' differ' if different else ''}"
            print(f"{self.requests} {codes}\n{as_text(sent[0])}", file=self.options.trace, flush=True)
        self.remove_unnamed(request, real, ours)
        if request.method in MUTATING and not dry:
            self.history.append((request, sent[0], real.code, ours.code))
        if request.method in MUTATING and (real.code < 300) != (ours.code < 300) or different:
            self.resync(stream, request)

    def await_limits(self, ns):
        """The reference learns of a limit range a moment after it was written. What it never learns, a pod of the stream tells."""
        pod = {"metadata": {"name": "limits"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        path = f"/api/v1/namespaces/{ns}/pods?dryRun=All"
        end = time.monotonic() + 2
        while time.monotonic() < end:
            answers = self.both(lambda server: server.send("POST", path, pod, {"Content-Type": "application/json"}))
            given = [(a.code, [c["resources"] for c in a.body["spec"]["containers"]] if a.code == 201 else None) for a in answers]
            if given[0] == given[1]:
                return

    def untouched(self, request, body):
        """A list without the objects about which the servers differed before: one difference is told once."""
        tainted = self.tainted.get((request.kind.group if request.kind.plural != "events" else "", request.kind.plural), ())
        if not tainted or not isinstance(body, dict) or not isinstance(body.get("items"), list):
            return body
        metadata = {name: value for name, value in (body.get("metadata") or {}).items() if name not in ("remainingItemCount", "continue")}
        return {**body, "metadata": metadata, "items": [i for i in body["items"] if (i.get("metadata") or {}).get("name") not in tainted]}

    def remove_unnamed(self, request, *answers):
        """Objects that got their uid for a name go at once: the two servers could not be asked for the same."""
        for server, answer in zip(self.servers, answers):
            name = ((answer.body.get("metadata") or {}).get("name") or "") if isinstance(answer.body, dict) else ""
            if answer.code == 201 and UUID.fullmatch(name):
                self.remove(server, request.kind, request.ns, name)

    @staticmethod
    def remember(server, stream, request, body, code, dry):
        if request.method == "GET" and request.name is None:
            for item in body.get("items") or []:
                if isinstance(item, dict) and item.get("metadata"):
                    server.note((*request.key[:3], item["metadata"].get("name")), item)
            return
        if code not in (200, 201) or dry:
            return
        name = (body.get("metadata") or {}).get("name")
        if body.get("kind") == "Scale" and name:
            server.note((*request.key[:3], name), body)  # its version is that of the object
        if body.get("kind") != request.kind.kind:
            return
        if name:
            server.keep((*request.key[:3], name), body)

    def resync(self, stream, request):
        """After a difference: the object goes on both, and both count the same incarnations again."""
        name = request.name
        if not name and isinstance(request.body, dict) and isinstance(request.body.get("metadata"), dict):
            name = request.body["metadata"].get("name")
        if not isinstance(name, str) or not name or request.method == "GET":
            return
        for server in self.servers:
            if request.kind.plural == "namespaces":
                continue
            self.remove(server, request.kind, request.ns, name)
        stream.names(request.kind).pop(name, None)
        self.tainted.setdefault((request.kind.group if request.kind.plural != "events" else "", request.kind.plural), set()).add(name)
        key = (*request.key[:3], name)
        seen = [server.seen(key) for server in self.servers]
        for attribute in ("uids", "versions"):
            counts = [len(getattr(one, attribute)) for one in seen]
            for one in seen:
                getattr(one, attribute)[min(counts):] = [LOST] * (max(counts) - min(counts))

    def report(self, request, real, ours, sent):
        """Whether the two differ beyond the exceptions; keeps the first of each sort, with what was sent to the reference."""
        # A refusal with another code says it all.
        pairs = [("code", real["code"], ours["code"])] if real["code"] != ours["code"] else list(differences(real, ours))
        if pairs and pairs[0][0] == "code":
            pairs[0] = ("code", f"{real['code']} {told(real)}", f"{ours['code']} {told(ours)}")
        fresh = False
        for path, one, other in pairs:
            difference = Difference(request.what, path, one, other, real.get("body"))
            if self.exceptions.covers(difference):
                continue
            fresh = True
            entry = self.found.setdefault(difference.signature, [0, difference, None])
            entry[0] += 1
            if entry[2] is None:
                entry[2] = self.reproducer(request, real, ours, sent)
        self.differing += fresh
        return bool(pairs)

    def reproducer(self, request, real, ours, sent):
        """The requests to the same object that came before, then this one and both answers side by side."""
        lines = [f"seed {self.options.seed}, request {self.requests}, episode {-(-self.requests // EPISODE)}"]
        before = [h for h in self.history if h[0].key == request.key or (h[0].kind is request.kind and h[0].verb == "create")][-8:]
        for earlier, (method, path, body, _), one, other in before:
            lines.append(f"{method} {path} {earlier.content_type or ''} {json.dumps(body)[1:-1] if isinstance(body, str) else ''} → {one} | {other}")
        lines.append(as_text(sent))
        lines += [f"real:     {json.dumps(real)}", f"embedded: {json.dumps(ours)}"]
        return "\n".join(lines)

    # --- the end -------------------------------------------------------------------------------------------
    def summary(self, out):
        for signature, (count, difference, reproducer) in sorted(self.found.items(), key=lambda item: -item[1][0]):
            out.write(f"{count:5} {difference.what} {difference.path}\n      real:     {_short(difference.real)}\n      embedded: {_short(difference.ours)}\n")
        out.write(f"seed {self.options.seed}: {self.requests} requests, {self.differing} answers differ, {len(self.found)} sorts of difference; {self.panics} panics of the reference\n")
        for entry in self.exceptions.entries:
            if not entry["used"]:
                out.write(f"unused exception: {entry.get('what', '')} {entry.get('path', '')} ({entry['reason']})\n")


def _changes(watch):
    return [event for event in list(watch.events) if event.get("type") != "BOOKMARK"]


def own_events(request, body):
    """A list without the Events of the reference's repair loop of service addresses."""
    if request.kind.plural != "events" or not isinstance(body, dict):
        return body
    kept = {name: [item for item in body[name] if own_event(item)] for name in ("items", "rows") if body.get(name)}
    if kept.get("items") == [] and body.get("kind") == "PartialObjectMetadataList":
        kept["items"] = None  # an empty one of these is shown so
    metadata = {name: value for name, value in (body.get("metadata") or {}).items() if name != "remainingItemCount"}
    return {**body, **kept, "metadata": metadata}


def told(answer):
    """An answer's message, its causes in the place that they had in it."""
    message = _message(answer)
    if not message.endswith("<causes>"):
        return message
    return message.removesuffix("<causes>") + "; ".join(f"{cause.get('field')}: {cause.get('message')}" for cause in answer["body"]["details"]["causes"])


def _message(answer):
    body = answer.get("body")
    return body.get("message", "") if isinstance(body, dict) else str(body)[:200] if body else ""


def _short(value, size=400):
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= size else text[:size] + "…"


def drive(driver, options):
    """Runs it, prints what differs, writes the reproducers to options.report; the exit code."""
    started = time.monotonic()
    try:
        driver.run()
    finally:
        driver.summary(sys.stdout)
        print(f"{time.monotonic() - started:.0f} s")
        if options.report:
            with open(options.report, "w", encoding="utf-8") as out:
                for signature, (count, _, reproducer) in sorted(driver.found.items(), key=lambda item: -item[1][0]):
                    out.write(f"=== {count} {signature}\n{reproducer}\n\n")
    return 1 if driver.found else 0


def main():
    parser = argparse.ArgumentParser(prog="differential")
    parser.add_argument("--real", required=True, help="kubeconfig of the real server")
    parser.add_argument("--embedded", required=True, help="kubeconfig of the embedded one")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--requests", type=int, default=20000)
    parser.add_argument("--episodes", type=int, nargs="*", help="only these, by their numbers: an episode depends on no other")
    parser.add_argument("--report", help="file for the reproducers")
    parser.add_argument("--trace", type=argparse.FileType("w"), help="file for every request and its two codes")
    options = parser.parse_args()
    options.seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    options.run = f"{int(time.time()) % 100000:x}"
    print(f"differential: seed {options.seed}, {options.requests} requests", flush=True)
    return drive(Driver(options), options)


if __name__ == "__main__":
    sys.exit(main())
