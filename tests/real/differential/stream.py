# SPDX-License-Identifier: Apache-2.0
"""The seeded stream: valid requests against what exists, and invalid ones of every sort. What exists is told by the real
server's answers alone, so one seed makes one stream."""

import copy
import json

from . import kinds as made
from .request import GONE, Edit, Request
from .server import UUID

MANAGERS = ["m1", "m2", "ua", None, None]
AGENTS = ["one/1.0", "two", "kubectl/v1.35.4 (linux/amd64)"]
WRONG = [None, 1, -1, 1.5, True, "", "x", "A_b", "-", [], ["x"], [1], {}, {"x": 1}, "a" * 300, 2**40, "1e3", "10%", {"a": {"b": "c"}}, [{}], 0, 70000]
JSON = "application/json"


class Stream:
    """next(…) gives the next request; learn(…) takes what the real server answered."""

    def __init__(self, rng, prefix):
        self.rng = rng
        self.prefix = prefix
        self.kinds = made.kinds()
        self.weights = [kind.weight for kind in self.kinds]
        self.live = {}  # (kind index, ns) → {name: object}
        self.tokens = 0
        self.lists = 0

    # --- the world -----------------------------------------------------------------------------------------
    def begin(self, ns):
        """A new namespace; cluster-wide objects get names of their own by its number."""
        self.ns = ns
        self.live = {}

    def scope(self, kind):
        return self.ns if kind.namespaced else ""

    def names(self, kind):
        return self.live.setdefault((kind.group, kind.plural), {})

    def learn(self, request, answer):
        names = self.names(request.kind)
        body = answer.body
        if request.query.get("dryRun"):
            return
        name = request.name
        if name is None and request.verb == "create" and isinstance(body, dict):
            name = (body.get("metadata") or {}).get("name")
        if isinstance(name, str) and UUID.fullmatch(name):
            return  # a name that the server made of the uid
        if isinstance(body, dict) and answer.code in (200, 201) and name and request.sub in (None, "status") and body.get("kind") == request.kind.kind:
            if request.verb == "delete" and not ((body.get("metadata") or {}).get("deletionTimestamp") and (body["metadata"].get("finalizers") or request.kind.plural == "namespaces")):
                names.pop(name, None)
            else:
                names[name] = body
        elif request.verb == "delete" and answer.code == 200:
            names.pop(request.name, None)
        elif answer.code == 404 and request.name and request.sub is None:
            names.pop(request.name, None)

    # --- requests ------------------------------------------------------------------------------------------
    def next(self):
        rng = self.rng
        kind = rng.choices(self.kinds, self.weights)[0]
        live = self.names(kind)
        choices = [("create", 30 if len(live) < 3 else 8), ("get", 6), ("list", 12), ("delete", 7), ("missing", 2), ("apply", 14), ("deletecollection", 2 if kind.namespaced and kind.plural not in ("serviceaccounts",) else 0)]
        if live:
            choices += [("update", 14), ("json-patch", 8), ("merge-patch", 12), ("strategic-patch", 12)]
            if kind.status:
                choices.append(("status", 10))
            if kind.scale:
                choices.append(("scale", 5))
        verb = rng.choices([c[0] for c in choices], [c[1] for c in choices])[0]
        request = getattr(self, "make_" + verb.replace("-", "_"))(kind, live)
        if request.method != "GET" and rng.random() < 0.2:
            request.headers["User-Agent"] = rng.choice(AGENTS)
        else:
            request.headers.setdefault("User-Agent", "diff/1")
        return request

    def request(self, method, kind, name=None, **more):
        return Request(method, kind, self.scope(kind), name, **more)

    def pick(self, live):
        return self.rng.choice(sorted(live))

    def new_name(self, kind):
        rng = self.rng
        stem = rng.choice(["a", "b", "c"])
        if kind.namespaced:
            return stem
        name = f"{self.prefix}-{stem}" if kind.plural != "gadgets" else f"{self.prefix}-{stem}"
        return name + (".ex.com" if kind.plural in ("csidrivers", "deviceclasses") else "")

    def metadata(self, kind, name):
        rng = self.rng
        meta = {"name": name}
        if rng.random() < 0.4 or not kind.namespaced:
            meta["labels"] = {**made.labels(rng), **({} if kind.namespaced else {"run": self.prefix})}
        if rng.random() < 0.25:
            meta["annotations"] = {rng.choice(["note", "ex.com/a"]): rng.choice(["1", "", "long " * 5])}
        if rng.random() < 0.08:
            meta["finalizers"] = ["ex.com/f"]
        if rng.random() < 0.05:
            meta["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u-1", **made.maybe(rng, {"controller": True})}]
        return meta

    def object(self, kind, name):
        body = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": self.metadata(kind, name), **kind.make(self.rng)}
        return json.loads(json.dumps(body).replace('"@ns"', json.dumps(self.scope(kind) or "default")))

    def write_query(self, apply=False):
        rng = self.rng
        query = {}
        if rng.random() < 0.12:
            query["dryRun"] = "All" if rng.random() < 0.9 else rng.choice(["Some", ""])
        if rng.random() < 0.3:
            query["fieldValidation"] = rng.choice(["Strict", "Strict", "Warn", "Ignore", "Bad"])
        manager = rng.choice(MANAGERS)
        if manager and (rng.random() < 0.5 or apply):
            query["fieldManager"] = manager
        if rng.random() < 0.01:
            query["fieldManager"] = "m" * 200
        if apply and "fieldManager" not in query and rng.random() < 0.9:
            query["fieldManager"] = "m1"
        return query

    def spoil(self, body, chance=0.25):
        """With some chance one or two things about the object are wrong or odd."""
        rng = self.rng
        if rng.random() >= chance:
            return body
        body = copy.deepcopy(body)
        for _ in range(rng.choice([1, 1, 1, 2])):
            paths = list(_paths(body))
            if not paths:
                return body
            path = rng.choice(paths)
            if path[-1] in ("kind", "apiVersion", "name", "labels", "metadata") and len(path) < 3 and rng.random() < 0.7:
                continue
            how = rng.random()
            if how < 0.45:
                _set(body, path, wrong(rng))
            elif how < 0.7:
                _set(body, path, GONE)
            elif how < 0.9:
                _set(body, (*path[:-1], rng.choice(["nope", "Kind", "zz"])), wrong(rng))
            else:
                holder = _get(body, path[:-1])
                if isinstance(holder, list) and holder:
                    holder.append(copy.deepcopy(holder[0]))
        return body

    def make_create(self, kind, live):
        rng = self.rng
        name = self.new_name(kind)
        body = self.spoil(self.object(kind, name))
        request = self.request("POST", kind, query=self.write_query(), body=body, content_type=JSON, verb="create")
        if rng.random() < 0.05:
            body["metadata"] = {"generateName": "g-", "labels": {"run": self.prefix}}
            request.query["dryRun"] = "All"
            request.verb = "generate"
        elif rng.random() < 0.02:
            request.body = rng.choice(["{", "", "[]", "null", "k8s", '{"metadata":{"name":"x","name":"y"}}', "a: b"])
            request.content_type = rng.choice([JSON, JSON, "application/yaml", "text/csv"])
        return request

    def make_missing(self, kind, live):
        rng = self.rng
        method = rng.choice(["GET", "PUT", "PATCH", "DELETE", "POST"])
        body, content_type = None, None
        if method in ("PUT", "POST"):
            body, content_type = self.object(kind, "missing"), JSON
        if method == "PATCH":
            body, content_type = {"metadata": {"labels": {"a": "b"}}}, "application/merge-patch+json"
        sub = rng.choice([None, None, "status", "scale", "nope"])
        request = self.request(method, kind, f"{self.prefix}-missing", sub=sub, body=body, content_type=content_type, verb="missing " + method)
        if method == "PUT":
            body["metadata"]["name"] = request.name
            if kind.put_creates:
                request.query["dryRun"] = "All"
        return request

    def read_headers(self):
        rng = self.rng
        accept = rng.choice([None] * 8 + [
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
            "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json", "text/csv"])
        return {"Accept": accept} if accept else {}

    def make_get(self, kind, live):
        name = self.pick(live) if live and self.rng.random() < 0.85 else self.new_name(kind)
        sub = None
        if kind.status and self.rng.random() < 0.15:
            sub = "status"
        elif kind.scale and self.rng.random() < 0.2:
            sub = "scale"
        query = {"resourceVersion": self.rng.choice(["0", "@rv:-1", "abc"])} if self.rng.random() < 0.15 else {}
        return self.request("GET", kind, name, sub=sub, query=query, headers=self.read_headers() if not sub else {}, verb="get")

    def make_list(self, kind, live):
        rng = self.rng
        query = {}
        if not kind.namespaced:
            query["labelSelector"] = f"run={self.prefix}"
        elif rng.random() < 0.4:
            query["labelSelector"] = rng.choice(["app=a", "app!=a", "app in (a,b)", "!app", "app", "tier notin (a)", "app=a,tier", "n>0", "ex.com/k", ""])
        if rng.random() < 0.2:
            query["fieldSelector"] = rng.choice(["metadata.name=a", "metadata.name!=a", f"metadata.namespace={self.ns}", "metadata.name=a,metadata.name=b"])
        if rng.random() < 0.3:
            query["limit"] = rng.choice(["1", "2", "500", "0", "-1"])
        if rng.random() < 0.15 and self.tokens:
            query["continue"] = f"@continue:{rng.randint(max(1, self.tokens - 3), self.tokens)}"
        if rng.random() < 0.25:
            query["resourceVersion"] = rng.choice(["0", f"@listrv:{rng.randint(max(1, self.lists - 5), max(1, self.lists))}", f"@listrv:{self.lists}", ""])
        if rng.random() < 0.15:
            query["resourceVersionMatch"] = rng.choice(["Exact", "NotOlderThan"])
        if rng.random() < 0.15:  # one thing that is wrong, or known to some kinds alone
            name, value = rng.choice(
                [("labelSelector", v) for v in ("=x", "a b", "app=-x-", "app in (", "app in (A b)", "a=b=c")]
                + [("fieldSelector", v) for v in ("spec.nodeName=x", "status.phase=Running", "type=Opaque", "nope=x", "bad", "spec.color=red", "reason=R", "status.successful=0")]
                + [("limit", "x"), ("continue", "broken"), ("resourceVersion", "abc"), ("resourceVersionMatch", "Foo"), ("sendInitialEvents", "true"), ("timeoutSeconds", "x")])
            query[name] = value
        ns = self.scope(kind)
        return Request("GET", kind, ns, query=query, headers=self.read_headers(), verb="list")

    def changes(self, kind, current):
        """Edits of an object: towards another valid state mostly."""
        rng = self.rng
        target = self.object(kind, (current.get("metadata") or {}).get("name", "x"))
        result = []
        for _ in range(rng.choice([0, 1, 1, 1, 2])):
            how = rng.random()
            if how < 0.35:
                result.append((("metadata", rng.choice(["labels", "annotations"]), rng.choice(["app", "new", "ex.com/k"])), rng.choice(["a", "b", "c d", "", GONE, 1])))
            elif how < 0.4:
                result.append((("metadata", "finalizers"), rng.choice([[], ["ex.com/f"], ["ex.com/f", "ex.com/g"], ["bad"]])))
            else:
                paths = [p for p in _paths(target) if p[0] not in ("metadata", "kind", "apiVersion")]
                if not paths:
                    continue
                path = rng.choice(paths)
                result.append((path, GONE if rng.random() < 0.15 else wrong(rng) if rng.random() < 0.12 else copy.deepcopy(_get(target, path))))
        if rng.random() < 0.05:
            result.append(rng.choice([(("zz",), 1), (("spec", "zz"), "x"), (("metadata", "zz"), {}), (("metadata", "uid"), "other"), (("metadata", "creationTimestamp"), GONE), (("metadata", "name"), "other"), (("metadata", "namespace"), "other"), (("metadata", "generation"), 77), (("kind",), "Other"), (("apiVersion",), "v9"), (("metadata", "managedFields"), []), (("metadata", "managedFields"), [{}]), (("metadata", "selfLink"), "x"), (("metadata", "deletionTimestamp"), "2020-01-01T00:00:00Z")]))
        return result

    def make_update(self, kind, live):
        rng = self.rng
        name = self.pick(live)
        changes = self.changes(kind, live[name])
        version = rng.random()
        if version < 0.25:
            changes.append((("metadata", "resourceVersion"), GONE))
        elif version < 0.32:
            changes.append((("metadata", "resourceVersion"), rng.choice(["@rv:0", "1", "x", "0"])))
        return self.request("PUT", kind, name, query=self.write_query(), body=Edit(changes), content_type=JSON, verb="update")

    def make_json_patch(self, kind, live):
        rng = self.rng
        name = self.pick(live)
        operations = []
        for path, value in self.changes(kind, live[name]):
            pointer = "/" + "/".join(str(step).replace("~", "~0").replace("/", "~1") for step in path)
            if value is GONE:
                operations.append({"op": "remove", "path": pointer})
            else:
                operations.append({"op": rng.choice(["add", "add", "replace", "test"]), "path": pointer, "value": value})
        if rng.random() < 0.06:
            operations = rng.choice([{"op": "add"}, [{"op": "nope", "path": "/data"}], [{"op": "copy", "from": "/metadata/name", "path": "/metadata/labels/x"}], [{"op": "add", "path": "data", "value": 1}], [{"op": "move", "from": "/spec", "path": "/spec2"}]])
        return self.request("PATCH", kind, name, query=self.write_query(), body=operations, content_type="application/json-patch+json", verb="json-patch")

    def merge_body(self, kind, live, name):
        rng = self.rng
        body = {}
        for path, value in self.changes(kind, live[name]):
            cut = next((i for i, step in enumerate(path) if isinstance(step, int)), None)
            if cut is not None:  # lists go whole
                target = self.object(kind, name)
                path, value = path[:cut], _get(target, path[:cut])
            _set(body, path, None if value is GONE else value)
        if rng.random() < 0.06:
            body.setdefault("metadata", {})
            if isinstance(body["metadata"], dict):
                body["metadata"]["resourceVersion"] = rng.choice(["@rv:-1", "@rv:0", "1"])
        return body

    def make_merge_patch(self, kind, live):
        name = self.pick(live)
        body = self.merge_body(kind, live, name)
        if self.rng.random() < 0.02:
            body = self.rng.choice(["[]", "", "{", "null", "1"])
        content_type = "application/merge-patch+json" if self.rng.random() < 0.98 else JSON
        return self.request("PATCH", kind, name, query=self.write_query(), body=body, content_type=content_type, verb="merge-patch")

    def make_strategic_patch(self, kind, live):
        rng = self.rng
        name = self.pick(live)
        body = self.merge_body(kind, live, name)
        if rng.random() < 0.3:
            prefix = {"deployments": ("spec", "template", "spec"), "jobs": ("spec", "template", "spec"), "pods": ("spec",), "daemonsets": ("spec", "template", "spec")}.get(kind.plural)
            if prefix:
                extra = rng.choice([
                    {"containers": [{"name": "c", "image": "new:1"}]}, {"containers": [{"name": "c", "env": [{"name": "A", "value": "9"}]}]}, {"containers": [{"name": "d", "$patch": "delete"}]},
                    {"$setElementOrder/containers": [{"name": "d"}, {"name": "c"}], "containers": [{"name": "d", "image": "z"}]}, {"tolerations": [{"key": "q", "operator": "Exists"}]},
                    {"containers": [{"image": "noname"}]}, {"volumes": [{"name": "v", "emptyDir": {}, "$retainKeys": ["name", "emptyDir"]}]}, {"containers": [{"name": "c", "ports": [{"containerPort": 81}]}]},
                    {"nodeSelector": {"$patch": "replace", "x": "y"}}, {"imagePullSecrets": [{"name": "p"}]}, {"terminationGracePeriodSeconds": None}, {"activeDeadlineSeconds": 50},
                ])
                _set(body, prefix, extra)
            elif kind.plural == "services":
                body["spec"] = rng.choice([{"ports": [{"port": 80, "targetPort": 8080}]}, {"ports": [{"port": 80, "$patch": "delete"}]}, {"selector": None}, {"selector": {"x": "y"}}, {"ports": [{"port": 443, "name": "s"}]}])
            else:
                _set(body, ("metadata", "finalizers"), rng.choice([["ex.com/f"], []]))
                if rng.random() < 0.5:
                    body["metadata"] = {"$deleteFromPrimitiveList/finalizers": ["ex.com/f"]}
        return self.request("PATCH", kind, name, query=self.write_query(), body=body, content_type="application/strategic-merge-patch+json", verb="strategic-patch")

    def make_apply(self, kind, live):
        rng = self.rng
        name = self.pick(live) if live and rng.random() < 0.8 else self.new_name(kind)
        body = self.object(kind, name)
        for path in [p for p in _paths(body) if len(p) in (2, 3) and p[0] in ("spec", "data", "metadata") and p != ("metadata", "name")]:
            if rng.random() < 0.15 and _get(body, path) is not None:
                _set(body, path, GONE)
        body = self.spoil(body, 0.15)
        query = self.write_query(apply=True)
        if rng.random() < 0.4:
            query["force"] = rng.choice(["true", "true", "false", "x"])
        request = self.request("PATCH", kind, name, query=query, body=body, content_type="application/apply-patch+yaml", verb="apply")
        if isinstance(body.get("metadata"), dict):
            if rng.random() < 0.03:
                body["metadata"]["managedFields"] = [{}]
            elif rng.random() < 0.03:
                body["metadata"]["resourceVersion"] = rng.choice(["1", "@rv:-1"])
            elif rng.random() < 0.03:
                body["metadata"]["uid"] = rng.choice(["abc", "@uid:-1"])
        if kind.status and live and rng.random() < 0.15:
            request.sub = "status"
            body = {k: v for k, v in body.items() if k in ("kind", "apiVersion", "metadata")}
            body["metadata"] = {"name": name}
            body["status"] = kind.status(rng)
            request.body = body
        return request

    def make_delete(self, kind, live):
        rng = self.rng
        name = self.pick(live) if live and rng.random() < 0.9 else self.new_name(kind)
        query, body = {}, None
        if rng.random() < 0.3:
            query["propagationPolicy"] = rng.choice(["Foreground", "Background", "Orphan", "Bad"])
        if rng.random() < 0.15:
            query["gracePeriodSeconds"] = rng.choice(["0", "5", "-1", "x"])
        if rng.random() < 0.1:
            query["dryRun"] = "All"
        if rng.random() < 0.05:
            query["orphanDependents"] = rng.choice(["true", "false"])
        if rng.random() < 0.35:
            body = rng.choice([
                {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "@uid:-1"}}, {"preconditions": {"uid": "nope"}}, {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"resourceVersion": "@rv:-1"}},
                {"preconditions": {"resourceVersion": "1"}}, {"propagationPolicy": "Foreground"}, {"gracePeriodSeconds": 0}, {"kind": "Pod", "apiVersion": "v1"}, {"orphanDependents": True, "propagationPolicy": "Orphan"},
                {"propagationPolicy": "Bad"}, {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "gracePeriodSeconds": 3, "zz": 1}, {"dryRun": ["All"]}, {"gracePeriodSeconds": "x"},
            ])
        return self.request("DELETE", kind, name, query=query, body=body, content_type=JSON if body is not None else None, verb="delete")

    def make_deletecollection(self, kind, live):
        rng = self.rng
        query = {"labelSelector": rng.choice(["app=a", "app!=a", "tier", "app=b,tier"])}
        if rng.random() < 0.2:
            query["limit"] = "1"
        if rng.random() < 0.2:
            query["propagationPolicy"] = rng.choice(["Foreground", "Bad", "Orphan"])
        if rng.random() < 0.2:
            query["dryRun"] = "All"
        return self.request("DELETE", kind, query=query, verb="deletecollection")

    def make_status(self, kind, live):
        rng = self.rng
        name = self.pick(live)
        status = self.spoil({"status": kind.status(rng)}, 0.12).get("status")
        how = rng.random()
        if how < 0.4:
            changes = [(("status",), status)]
            if rng.random() < 0.2:
                changes += self.changes(kind, live[name])
            return self.request("PUT", kind, name, sub="status", query=self.write_query(), body=Edit(changes), content_type=JSON, verb="update")
        content_type = "application/merge-patch+json" if how < 0.7 else "application/strategic-merge-patch+json"
        body = {"status": status, **made.maybe(rng, {"metadata": {"labels": {"s": "t"}}}, 0.1), **made.maybe(rng, {"spec": {"replicas": 9}}, 0.1)}
        return self.request("PATCH", kind, name, sub="status", query=self.write_query(), body=body, content_type=content_type, verb="merge-patch" if how < 0.7 else "strategic-patch")

    def make_scale(self, kind, live):
        rng = self.rng
        name = self.pick(live)
        count = rng.choice([0, 1, 2, 5, -1, "x", None])
        how = rng.random()
        query = self.write_query()
        if how < 0.4:
            meta = {"name": name, "namespace": self.scope(kind), **made.maybe(rng, {"resourceVersion": rng.choice(["@rv:-1", "1"])})}
            body = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": meta, "spec": {"replicas": count}}
            return self.request("PUT", kind, name, sub="scale", query=query, body=body, content_type=JSON, verb="update")
        if how < 0.8:
            return self.request("PATCH", kind, name, sub="scale", query=query, body={"spec": {"replicas": count}}, content_type="application/merge-patch+json", verb="merge-patch")
        query = {**query, "fieldManager": "m1", **made.maybe(rng, {"force": "true"})}
        body = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": name}, "spec": {"replicas": count}}
        return self.request("PATCH", kind, name, sub="scale", query=query, body=body, content_type="application/apply-patch+yaml", verb="apply")


def wrong(rng):
    """Something wrong, of its own: the caller may change it."""
    return copy.deepcopy(rng.choice(WRONG))


def _paths(value, path=()):
    if isinstance(value, dict):
        for name, item in value.items():
            yield (*path, name)
            yield from _paths(item, (*path, name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield (*path, number)
            yield from _paths(item, (*path, number))


def _get(value, path):
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _set(value, path, new):
    holder = value
    for step in path[:-1]:
        if isinstance(holder, list):
            if not isinstance(step, int) or step >= len(holder):
                return
            holder = holder[step]
        elif isinstance(holder, dict):
            if not isinstance(holder.get(step), (dict, list)):
                holder[step] = {}
            holder = holder[step]
        else:
            return
    last = path[-1]
    if isinstance(holder, list):
        if isinstance(last, int) and last < len(holder):
            if new is GONE:
                del holder[last]
            else:
                holder[last] = new
    elif isinstance(holder, dict):
        if new is GONE:
            holder.pop(last, None)
        else:
            holder[last] = new
