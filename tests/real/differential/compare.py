# SPDX-License-Identifier: Apache-2.0
"""Makes two answers comparable (uids, versions, times, generated names) and says where they differ."""

import json
import pathlib
import re
from dataclasses import dataclass

import yaml

from .server import UUID

TIME = re.compile(r"^20(2[6-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
CLUSTER_IP = re.compile(r"^10\.96\.\d+\.\d+$")
TEXT_RULES = [
    (re.compile(r"(current: )\d+"), r"\1<rv>"),
    (re.compile(r"(in record \()\d+(\))"), r"\1<rv>\2"),
    (re.compile(r"(in the precondition \()\d{2,}(\))"), r"\1<rv>\2"),
    (re.compile(r"(kube-api-access-)[a-z0-9]{5}"), r"\1<x>"),
    (re.compile(r"(too old resource version: )\d+ \(\d+\)"), r"\1<rv>"),
    (re.compile(r"(ResourceVersion in object meta: )\d+"), r"\1<rv>"),
    (re.compile(r"(UID in object meta: )[0-9a-f-]{36}"), r"\1<uid>"),
    (re.compile(r"^\d{1,2}s$"), "<age>"),
    (re.compile(r"(\d+:)3[0-2]\d{3}(/(TCP|UDP|SCTP))"), r"\1<port>\2"),
    (re.compile(r"(Duplicate value: |duplicate nodePort: \{\w+ )3[0-2]\d{3}\b"), r"\1<port>"),
    (re.compile(r'(IPAddress\.networking\.k8s\.io \\?")10\.96\.\d+\.\d+'), r"\1<ip>"),
    (re.compile(r"\bg-[bcdfghjklmnpqrstvwxz2456789]{5}\b"), "g-<generated>"),
]
# What the reference's repair loop of service addresses calls its Events; ours has no such loop.
REPAIR_EVENT = re.compile(r"\.[0-9a-f]{16}$")
# The refusal of a patch quotes what it made of the object (the reference) or the patch (ours): what follows is compared.
PATCHED = re.compile(r'^Invalid value: "(?:[^"\\]|\\.)*": ')


def canonical(server, value, key=None, path=(), given=frozenset()):
    """The value with everything that may differ between two servers replaced by what may not."""
    if isinstance(value, dict):
        result = {}
        generated = value.get("generateName") if path and path[-1] == "metadata" else None
        for name in sorted(value):
            here = (*path, name)
            item = value[name]
            if name == "resourceVersion" and path and path[-1] == "metadata":
                result[name] = _version(server, value, item, key)
            elif name == "name" and generated and str(item).startswith(generated) and len(str(item)) == len(generated) + 5:
                result[name] = generated + "<generated>"
            elif name in ("continue",) and item:
                result[name] = "<continue>"
            elif name == "managedFields" and isinstance(item, list):
                result[name] = _managers(server, item, here)
            elif name in ("nodePort", "healthCheckNodePort") and isinstance(item, int) and item not in given:
                result[name] = "<port>"
            else:
                result[name] = canonical(server, item, key, here, given)
        return result
    if isinstance(value, list):
        return [canonical(server, item, key, (*path, "[]"), given) for item in value]
    if isinstance(value, str):
        return text_of(server, value, given)
    return value


def own_event(value):
    """Whether the stream made this Event (or row of a table)."""
    return not REPAIR_EVENT.search(((value.get("object") or value).get("metadata") or {}).get("name") or "")


def refusal(body):
    """A Status whose causes (or errors, one a line) are in a stable order, each once; its message without the causes. The reference walks maps in random
    order, and repeats what is wrong with metadata once for every layer that looks at it (see exceptions.yaml)."""
    if isinstance(body, dict) and " errors:\n" in str(body.get("message")):
        head, found, lines = body["message"].partition(" errors:\n")
        body = {**body, "message": head + found + "\n".join(sorted(set(lines.split("\n"))))}
    if isinstance(body, dict) and str(body.get("message")).startswith("Apply failed with "):
        # By manager; whose entry is older comes first, and a second may begin in between.
        head, *groups = body["message"].split("conflicts with ")
        body = {**body, "message": head + "conflicts with ".join(["", *sorted(group.rstrip("\n") for group in groups)])}
    causes = ((body or {}).get("details") or {}).get("causes") if isinstance(body, dict) else None
    if not causes:
        return body
    for cause in causes:
        if cause.get("field") == "patch":
            cause["message"] = PATCHED.sub("Invalid value: <patch>: ", cause.get("message", ""))
    unique = []
    for cause in sorted(causes, key=lambda c: json.dumps(c, sort_keys=True)):
        if cause not in unique:
            unique.append(cause)
    head, found, tail = body.get("message", "").partition(" is invalid: ")
    told = causes[0].get("field") == "patch" or all(cause.get("message", "") in tail for cause in unique)
    return {**body, "details": {**body["details"], "causes": unique}, "message": f"{head}{found}<causes>" if found and told else body.get("message")}


def text_of(server, value, given=frozenset()):
    if TIME.match(value):
        return "<time>"
    if CLUSTER_IP.match(value) and value not in given:
        return "<ip>"
    value = UUID.sub(lambda found: server.uid_names.get(found.group(0), found.group(0) if found.group(0) in given else "<uid>"), value)
    for pattern, replacement in TEXT_RULES:
        value = pattern.sub(replacement, value)
    return value


def _version(server, metadata, version, key):
    """An object's version as its ordinal among those that the object had; a list's as such."""
    if not version:
        return version
    if "uid" not in metadata:
        return "<rv>"
    for seen in server.objects.values():
        if metadata["uid"] in seen.uids:
            return f"<rv #{seen.versions.index(version) + 1}>" if version in seen.versions else "<rv new>"
    return "<rv>"


def _managers(server, entries, path):
    """Entries written within the same second on one server may be a second apart on the other: order by name."""
    done = [canonical(server, entry, None, path) for entry in entries]
    return sorted(done, key=lambda e: (e.get("operation", ""), e.get("manager", ""), e.get("subresource", ""), e.get("apiVersion", ""), json.dumps(e.get("fieldsV1"), sort_keys=True)))


def differences(real, ours, path=""):
    """Where two canonical values differ: (path, real, ours), at most one for each place."""
    if isinstance(real, dict) and isinstance(ours, dict) and not _comparable(real, ours):
        yield path, real, ours
    elif isinstance(real, dict) and isinstance(ours, dict):
        for name in sorted(real.keys() | ours.keys()):
            here = f"{path}.{name}"
            if name not in real:
                yield here, "(absent)", ours[name]
            elif name not in ours:
                yield here, real[name], "(absent)"
            else:
                yield from differences(real[name], ours[name], here)
    elif isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        for number, (one, other) in enumerate(zip(real, ours)):
            yield from differences(one, other, f"{path}[{number}]")
    elif real != ours or type(real) is not type(ours):
        yield path, real, ours


def _comparable(real, ours):
    """Not two kinds of things, nor an object beside the empty form of its kind: these are told as a whole."""
    if all("kind" in value and "apiVersion" in value for value in (real, ours)) and real["kind"] != ours["kind"]:
        return False
    if "metadata" not in real or "metadata" not in ours:
        return True
    return real.get("kind") == ours.get("kind") and bool(real["metadata"]) == bool(ours["metadata"])


@dataclass
class Difference:
    """Two answers to one request that are not the same."""

    what: str  # METHOD resource[/subresource]
    path: str
    real: object
    ours: object
    body: object = None  # the whole of what the reference answered

    @property
    def signature(self):
        """What counts as the same difference: where it is, roughly, and what the values look like."""
        path = re.sub(r"\[\d+\]", "[]", self.path)
        path = re.sub(r'(k|v|i):(\{[^}]*\}|"[^"]*"|\d+)', r"\1:", path)
        verb = self.what.split()[0]
        if path == "code":
            return f"{self.what} {path} {_shape(self.real)} | {_shape(self.ours)}"
        return f"{verb} {'.'.join(path.split('.')[-3:])} {_shape(self.real)} | {_shape(self.ours)}"


def _shape(value):
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    text = re.sub(r'"[^"]*"', '"…"', text) if len(text) > 60 else text
    text = re.sub(r"<uid [^>]*>", "<uid>", text)
    text = re.sub(r"d\d+-e\d+[-a-z0-9]*", "N", text)
    text = re.sub(r"\d+", "0", text)
    return text[:110]


FIELDS = ("what", "path", "real", "ours", "body")


class Exceptions:
    """tests/real/exceptions.yaml: differences that are meant, each with its reason."""

    def __init__(self, path=None):
        path = path or pathlib.Path(__file__).parents[1] / "exceptions.yaml"
        self.entries = yaml.safe_load(path.read_text(encoding="utf-8")) or []
        for entry in self.entries:
            entry["used"] = 0
            for name in FIELDS:
                entry[f"_{name}"] = re.compile(entry.get(name, ""), re.S)

    def covers(self, difference):
        texts = {
            "what": difference.what,
            "path": difference.path,
            "real": difference.real if isinstance(difference.real, str) else json.dumps(difference.real, sort_keys=True),
            "ours": difference.ours if isinstance(difference.ours, str) else json.dumps(difference.ours, sort_keys=True),
            "body": json.dumps(difference.body, sort_keys=True),
        }
        for entry in self.entries:
            if all(entry[f"_{name}"].search(text) for name, text in texts.items()):
                entry["used"] += 1
                return True
        return False
