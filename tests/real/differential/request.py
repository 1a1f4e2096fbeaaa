# SPDX-License-Identifier: Apache-2.0
"""A request of the stream. What the two servers name differently (uids, versions, continue tokens) stands in it as a
placeholder, or as an edit of the object's last state; each server gets its own."""

import copy
import json
import urllib.parse
from dataclasses import dataclass, field

GONE = object()  # as an edit's value: remove the field
LOST = "lost"  # a uid or version without a counterpart on the other server


@dataclass
class Edit:
    """The object as the server last showed it, with changes: [(path, value)]."""

    changes: list


@dataclass
class Request:
    """One request, the same for both servers."""

    method: str
    kind: object
    ns: str
    name: str = None
    sub: str = None
    query: dict = field(default_factory=dict)
    headers: dict = field(default_factory=dict)
    body: object = None
    content_type: str = None
    verb: str = ""  # what it is for: create, update, json-patch...

    @property
    def key(self):
        return (self.kind.group, self.kind.plural, self.ns if self.kind.namespaced else "", self.name or "")

    @property
    def what(self):
        sub = f"/{self.sub}" if self.sub else ""
        return f"{self.verb} {self.kind.plural}{'.' + self.kind.group if self.kind.group else ''}{sub}"

    def numbers(self):
        """The values that the request itself chose: never replaced when answers are compared."""
        found = set()
        _scalars(self.body.changes if isinstance(self.body, Edit) else self.body, found)
        _scalars(self.query, found)
        return frozenset(found)

    def for_server(self, server):
        """(method, path, body, headers) as this server gets them."""
        seen = server.seen(self.key)
        path = self.kind.path(self.ns, self.name, self.sub)
        if self.query:
            query = {name: _fill(server, seen, value) for name, value in self.query.items()}
            path += "?" + urllib.parse.urlencode(query)
        headers = dict(self.headers)
        if self.content_type is not None:
            headers["Content-Type"] = self.content_type
        body = self.body
        if isinstance(body, Edit):
            body = edited(seen.last or {}, body.changes)
        if body is not None and not isinstance(body, str):
            body = json.dumps(_fill(server, seen, body), ensure_ascii=False)
        return self.method, path, body, headers


def as_text(sent):
    """What for_server made, to read."""
    method, path, body, headers = sent
    lines = [f"{method} {path}"]
    lines += [f"  {name}: {value}" for name, value in headers.items()]
    if body:
        lines.append(f"  {body}")
    return "\n".join(lines)


def edited(value, changes):
    value = copy.deepcopy(value)
    for path, new in changes:
        new = new if new is GONE else copy.deepcopy(new)  # a later change may reach into it
        holder = value
        for step in path[:-1]:
            if isinstance(holder, list):
                if not isinstance(step, int) or step >= len(holder):
                    break
                holder = holder[step]
            elif isinstance(holder, dict):
                if not isinstance(holder.get(step), (dict, list)):
                    holder[step] = {}
                holder = holder[step]
        last = path[-1]
        if isinstance(holder, dict):
            if new is GONE:
                holder.pop(last, None)
            else:
                holder[last] = new
        elif isinstance(holder, list) and isinstance(last, int) and last < len(holder):
            if new is GONE:
                del holder[last]
            else:
                holder[last] = new
    return value


def _scalars(value, found):
    if isinstance(value, dict):
        for item in value.values():
            _scalars(item, found)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _scalars(item, found)
    elif isinstance(value, (str, int)):
        found.add(value)


def _fill(server, seen, value):
    if isinstance(value, dict):
        return {name: _fill(server, seen, item) for name, item in value.items()}
    if isinstance(value, list):
        return [_fill(server, seen, item) for item in value]
    if isinstance(value, str) and value.startswith("@"):
        what, _, index = value[1:].partition(":")
        if what == "rv":
            return _pick(seen.versions, index, "1")
        if what == "uid":
            return _pick(seen.uids, index, "00000000-0000-0000-0000-000000000000")
        if what == "continue":
            return server.tokens.get(index, "none")
        if what == "listrv":
            return server.list_versions.get(index, "0")  # no list yet
    return value


def _pick(values, index, otherwise):
    number = int(index)
    if not values or not -len(values) <= number < len(values) or values[number] == LOST:
        return otherwise
    return values[number]
