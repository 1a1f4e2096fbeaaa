# SPDX-License-Identifier: Apache-2.0
"""python -m differential.sweep --real KUBECONFIG --embedded KUBECONFIG [--verbs …] [--kinds …]: one wrong thing at a time, at
every place of every kind's objects, each as a dry run. The stream meets them by chance; this meets all of them."""

import argparse
import copy
import http.client
import random
import sys
import time

from . import __main__ as program
from . import kinds as made
from .compare import differences
from .request import GONE, Edit, as_text
from .stream import WRONG, Stream, _get, _paths, _set

JSON = "application/json"
VERBS = {
    "create": ("POST", JSON), "apply": ("PATCH", "application/apply-patch+yaml"), "update": ("PUT", JSON), "merge-patch": ("PATCH", "application/merge-patch+json"),
    "strategic-patch": ("PATCH", "application/strategic-merge-patch+json"), "json-patch": ("PATCH", "application/json-patch+json"),
}


def pattern(path):
    return tuple("[]" if isinstance(step, int) else step for step in path)


class Sweep(program.Driver):
    def run(self):
        rng = random.Random(self.options.seed)
        self.prepare()
        prefix = f"s{self.options.seed}-{self.options.run}"
        stream = Stream(rng, prefix)
        stream.begin(prefix)
        self.both(lambda s: s.send("POST", "/api/v1/namespaces", {"metadata": {"name": prefix}}, {"Content-Type": JSON}))
        self.both(lambda s: s.send("POST", f"/api/v1/namespaces/{prefix}/serviceaccounts", {"metadata": {"name": "default"}}, {"Content-Type": JSON}))
        for kind in stream.kinds:
            if self.options.kinds and kind.plural not in self.options.kinds:
                continue
            samples = [stream.object(kind, stream.new_name(kind)) for _ in range(self.options.samples)]
            for verb in self.options.verbs:
                before = self.requests
                self.kind(stream, kind, verb, samples)
                print(f"{verb} {kind.plural}.{kind.group}: {self.requests - before} requests, {len(self.found)} sorts", flush=True)
        self.clean(stream, prefix)

    edit = ""

    def kind(self, stream, kind, verb, samples):
        status, base = verb.endswith("/status"), verb.split("/")[0]
        if status and not kind.status:
            return
        if status:
            samples = [{"status": kind.status(stream.rng)} for _ in samples]
        met = set()
        donors = [(p, _get(s, p)) for s in samples for p in _paths(s)]
        for sample in samples:
            name = sample.get("metadata", {}).get("name") or stream.new_name(kind)
            if base in ("create", "apply") and not status:
                for path, value in self.edits(sample, met, []):
                    body = copy.deepcopy(sample)
                    apply_edit(body, path, value)
                    self.edit = told(path, value)
                    self.one_of(stream, kind, base, None if base == "create" else name, None, body)
                continue
            todo = list(self.edits(sample, met, donors))
            if not todo:
                continue
            made_object = stream.object(kind, name) if status else sample
            request = stream.request("POST", kind, body=made_object, content_type=JSON, verb="create")
            self.one(stream, request)
            if name not in stream.names(kind):
                print(f"  no base: {kind.plural}")
                continue
            for path, value in todo:
                self.change(stream, kind, base, name, "status" if status else None, sample, path, value)
            for server in self.servers:
                self.remove(server, kind, stream.scope(kind) or None, name)
            stream.names(kind).pop(name, None)

    def change(self, stream, kind, base, name, sub, sample, path, value):
        self.edit = told(path, value)
        if base == "update":
            changes = [(path, value)]
            if sub:
                whole = copy.deepcopy(sample)
                apply_edit(whole, path, value)
                changes = [(("status",), whole.get("status"))]
            elif value is DOUBLE:
                holder = copy.deepcopy(_get(sample, path[:-1]))
                changes = [(path[:-1], holder + [copy.deepcopy(holder[0])])]
            body = Edit(changes)
        elif base == "json-patch":
            pointer = "/" + "/".join(str(step).replace("~", "~0").replace("/", "~1") for step in path)
            operation = {"op": "remove", "path": pointer} if value is GONE else {"op": "add", "path": pointer, "value": value}
            if value is DOUBLE:
                return
            body = [operation]
        else:
            whole = copy.deepcopy(sample)
            apply_edit(whole, path, value)
            cut = next((i for i, step in enumerate(path) if isinstance(step, int)), len(path))
            body = {}
            _set(body, path[:cut], None if value is GONE and cut == len(path) else copy.deepcopy(_get(whole, path[:cut])))
        if base == "apply":
            body = copy.deepcopy(sample)
            apply_edit(body, path, value)
            body = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": {"name": name}, **body}
        self.one_of(stream, kind, base, name, sub, body)

    def report(self, request, real, ours):
        before = self.differing
        different = super().report(request, real, ours)
        if self.differing > before and self.options.all:
            with open(self.options.all, "a", encoding="utf-8") as out:
                pairs = [("code", f"{real['code']} {program._message(real)}", f"{ours['code']} {program._message(ours)}")] if real["code"] != ours["code"] else list(differences(real, ours))
                if real["code"] != ours["code"]:
                    pairs += [("causes", _causes(real), _causes(ours))]
                out.write(f"{request.what} {self.edit}\n")
                for path, one, other in pairs:
                    if isinstance(one, list) and isinstance(other, list) and path.endswith("causes"):
                        one, other = [c for c in one if c not in other], [c for c in other if c not in one]
                    out.write(f"    {path}\n      R {program._short(one, 900)}\n      O {program._short(other, 900)}\n")
        return different

    def one_of(self, stream, kind, base, name, sub, body):
        method, content_type = VERBS[base]
        query = {"dryRun": "All", **({"fieldManager": "m1"} if base == "apply" else {})}
        request = stream.request(method, kind, name, sub=sub, query=query, body=body, content_type=content_type, verb=base, headers={"User-Agent": "diff/1"})
        try:
            self.one(stream, request)
        except (http.client.HTTPException, OSError) as error:
            for server in self.servers:
                try:
                    server.send(*request.for_server(server))
                except (http.client.HTTPException, OSError):
                    print(f"{server.name} hung up on {as_text(request.for_server(server))}: {error}", flush=True)

    def resync(self, stream, request):
        """Nothing was written: nothing is to be set right."""

    def edits(self, sample, met, donors):
        """(path, value): every place, every wrong value, each once for a kind."""
        def fresh(path, what):
            key = (pattern(path), what)
            if key in met:
                return False
            met.add(key)
            return True

        for path in list(_paths(sample)):
            if path[0] == "metadata" and path != ("metadata",) and len(path) > 2 and self.options.short or path in (("kind",), ("apiVersion",)):
                continue
            for number, value in enumerate(WRONG):
                if fresh(path, number):
                    yield path, value
            if fresh(path, "gone"):
                yield path, GONE
            if isinstance(path[-1], int) and fresh(path, "double"):
                yield path, DOUBLE
            beside = (*path[:-1], "zz")
            if isinstance(path[-1], str) and fresh(beside, "x"):
                yield beside, "x"
        for path, value in donors:
            if path[0] == "metadata" and len(path) > 1 and path[1] not in ("labels", "annotations", "finalizers") or path in (("kind",), ("apiVersion",)):
                continue
            if fresh(path, repr(value)) and _get(sample, path[:-1]) is not None:
                yield path, copy.deepcopy(value)


def told(path, value):
    shown = "GONE" if value is GONE else "DOUBLE" if value is DOUBLE else repr(value)
    return f"{'.'.join(str(step) for step in path)} = {shown[:60]}"


def _causes(answer):
    body = answer.get("body")
    return ((body.get("details") or {}).get("causes") or []) if isinstance(body, dict) else []


DOUBLE = object()  # the first item of the list once more


def apply_edit(body, path, value):
    if value is DOUBLE:
        holder = _get(body, path[:-1])
        holder.append(copy.deepcopy(holder[0]))
    else:
        _set(body, path, value if value is GONE else copy.deepcopy(value))


def main():
    parser = argparse.ArgumentParser(prog="differential.sweep")
    parser.add_argument("--real", required=True)
    parser.add_argument("--embedded", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", type=int, default=6)
    parser.add_argument("--short", action="store_true", help="metadata no deeper than its own fields")
    parser.add_argument("--verbs", nargs="*", default=["create"], help=f"{', '.join(VERBS)}; with /status the status")
    parser.add_argument("--kinds", nargs="*", default=[])
    parser.add_argument("--report")
    parser.add_argument("--all", help="file for every difference, one after the other")
    options = parser.parse_args()
    options.run = f"{int(time.time()) % 100000:x}"
    options.requests = 0
    return program.drive(Sweep(options), options)


if __name__ == "__main__":
    sys.exit(main())
