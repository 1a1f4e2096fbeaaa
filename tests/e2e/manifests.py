# SPDX-License-Identifier: Apache-2.0
"""The objects of one way of installing, checked against each other: what a Service, a policy, a probe, a webhook or a binding names must
be there, and what calls must be let in. Pure: no cluster. faults() returns one line for each thing that does not fit."""

import re

import yaml

WORKLOADS = {"Deployment", "DaemonSet", "StatefulSet"}
# Every Kubernetes has these; and what an administrator brings is named with the reason.
CLUSTERS_OWN_ROLES = {"extension-apiserver-authentication-reader", "system:auth-delegator", "system:kube-scheduler", "system:volume-scheduler"}
CLUSTERS_OWN_ACCOUNTS = {("openshift-monitoring", "prometheus-k8s")}
CLUSTERS_OWN_SECRETS = {"rte-metrics-service-cert"}  # OpenShift's service CA makes it


def name_of(one):
    meta = one["metadata"]
    return f"{one['kind']} {meta.get('namespace', '')}{'/' if meta.get('namespace') else ''}{meta['name']}"


def expanded(objects):
    """With what OLM makes of a ClusterServiceVersion in its namespace."""
    made = []
    for csv in (one for one in objects if one["kind"] == "ClusterServiceVersion"):
        ns, install = csv["metadata"].get("namespace", "olm"), csv["spec"]["install"]["spec"]
        accounts = {one["serviceAccountName"] for part in ("permissions", "clusterPermissions") for one in install.get(part, [])}
        made += [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": ns}} for name in sorted(accounts)]
        for part, kind in (("permissions", "Role"), ("clusterPermissions", "ClusterRole")):
            for i, one in enumerate(install.get(part, [])):
                meta = {"name": f"{csv['metadata']['name']}-{i}", **({"namespace": ns} if kind == "Role" else {})}
                group = "rbac.authorization.k8s.io"
                made.append({"apiVersion": f"{group}/v1", "kind": kind, "metadata": meta, "rules": one["rules"]})
                role = {"apiGroup": group, "kind": kind, "name": meta["name"]}
                subject = {"kind": "ServiceAccount", "name": one["serviceAccountName"], "namespace": ns}
                made.append({"apiVersion": f"{group}/v1", "kind": f"{kind}Binding", "metadata": meta, "roleRef": role, "subjects": [subject]})
        made += [{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": one["name"], "namespace": ns}, "spec": one["spec"]} for one in install["deployments"]]
        objects = [{**one, "metadata": {"namespace": ns, **one["metadata"]}} if one["kind"] in ("Service", "NetworkPolicy") else one for one in objects]
    return [*objects, *made]


def matches(selector, labels):
    """A label selector, or a map of labels as Services have it."""
    if not {"matchLabels", "matchExpressions"} & set(selector):
        return all(labels.get(key) == value for key, value in selector.items())
    assert not selector.get("matchExpressions"), "not needed so far"
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())


class Template:
    """The pods of one workload."""

    def __init__(self, workload, configs):
        self.name, self.ns = name_of(workload), workload["metadata"].get("namespace", "")
        self.selector, template = workload["spec"]["selector"], workload["spec"]["template"]
        self.labels, self.spec = template["metadata"].get("labels", {}), template["spec"]
        self.containers = self.spec["containers"]
        self.ports = {port["containerPort"] for one in self.containers for port in one.get("ports", [])}
        self.named = {port["name"]: port["containerPort"] for one in self.containers for port in one.get("ports", []) if "name" in port}
        self.env = [str(one["value"]) for each in self.containers for one in each.get("env", []) if "value" in one]
        self.words = [str(word) for one in self.containers for word in [*one.get("command", []), *one.get("args", [])]]
        mounted = [volume["configMap"]["name"] for volume in self.spec.get("volumes", []) if "configMap" in volume]
        self.config = "\n".join(text for name in mounted for text in configs.get((self.ns, name), {}).values())

    def port(self, target):
        """The number of a port by its name or number; None: the pods do not have it."""
        return self.named.get(target) if isinstance(target, str) else target if target in self.ports else None

    def listened(self):
        """What its flags and its file of flags say: (flag, port)."""
        for flag, port in re.findall(r"--([a-z-]*address)=[^\s]*:(\d+)\b", " ".join(self.words)):
            yield flag, int(port)
        for flag, port in re.findall(r"^([a-z-]*address): \"?[^\s:]*:(\d+)\b", self.config, re.M):
            yield flag, int(port)


class Way:
    def __init__(self, objects):
        self.objects = expanded(objects)
        configs = {(one["metadata"].get("namespace", ""), one["metadata"]["name"]): one.get("data", {}) for one in self.of("ConfigMap")}
        self.templates = [Template(one, configs) for one in self.objects if one["kind"] in WORKLOADS]
        self.services = {(one["metadata"].get("namespace", ""), one["metadata"]["name"]): one for one in self.of("Service")}

    def of(self, *kinds):
        return [one for one in self.objects if one["kind"] in kinds]

    def pods(self, ns, selector):
        return [one for one in self.templates if one.ns == ns and matches(selector, one.labels)]

    # --- each yields lines -------------------------------------------------------------------------------
    def workloads(self):
        accounts = {(one["metadata"].get("namespace", ""), one["metadata"]["name"]) for one in self.of("ServiceAccount")}
        for pod in self.templates:
            if not matches(pod.selector, pod.labels):
                yield f"{pod.name}: its selector does not select its own pods"
            affinity = pod.spec.get("affinity", {}).get("podAntiAffinity", {})
            terms = [*affinity.get("requiredDuringSchedulingIgnoredDuringExecution", [])]
            terms += [one["podAffinityTerm"] for one in affinity.get("preferredDuringSchedulingIgnoredDuringExecution", [])]
            for term in [*terms, *pod.spec.get("topologySpreadConstraints", [])]:
                if not matches(term["labelSelector"], pod.labels):
                    yield f"{pod.name}: is spread by labels that its pods do not have"
            account = pod.spec.get("serviceAccountName")
            if account is not None and (pod.ns, account) not in accounts:
                yield f"{pod.name}: there is no ServiceAccount {account}"
            for flag, port in pod.listened():
                if port not in pod.ports:
                    yield f"{pod.name}: --{flag} has port {port}, which its container does not name"
            for container in pod.containers:
                for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                    target = container.get(probe, {}).get("httpGet", {}).get("port")
                    if target is not None and pod.port(target) is None:
                        yield f"{pod.name}: {probe} asks port {target}, which its container does not have"
            yield from self.volumes(pod)

    def volumes(self, pod):
        made = {word.split("=", 1)[1] for one in self.templates for word in one.words if word.startswith("--webhook-secret=")}
        there = {"configMap": {}, "secret": {}}
        for one in self.of("ConfigMap", "Secret"):
            there["configMap" if one["kind"] == "ConfigMap" else "secret"][one["metadata"].get("namespace", ""), one["metadata"]["name"]] = one
        for volume in pod.spec.get("volumes", []):
            for kind, key in (("configMap", "name"), ("secret", "secretName")):
                source = volume.get(kind, {})
                name = source.get(key)
                known = (pod.ns, name) in there[kind] or name in made | CLUSTERS_OWN_SECRETS
                if name and not source.get("optional") and not known:
                    yield f"{pod.name}: there is no {kind} {name}"

    def reachable(self):
        for (ns, name), service in self.services.items():
            selector = service["spec"].get("selector")
            if not selector:
                continue
            pods = self.pods(ns, selector)
            if not pods:
                yield f"Service {ns}/{name}: selects no pods"
            for pod in pods:
                for port in service["spec"]["ports"]:
                    target = port.get("targetPort", port["port"])
                    number = pod.port(target)
                    if number is None:
                        yield f"Service {ns}/{name}: port {target} is none of {pod.name}"
                    elif not self.admits(pod, number, from_anywhere=False):
                        yield f"Service {ns}/{name}: no NetworkPolicy lets anybody in to port {target} of {pod.name}"

    def policies_of(self, pod):
        for policy in self.of("NetworkPolicy"):
            spec = policy["spec"]
            types = spec.get("policyTypes", ["Ingress"])
            if policy["metadata"].get("namespace", "") == pod.ns and "Ingress" in types and matches(spec["podSelector"], pod.labels):
                yield policy

    def admits(self, pod, number, from_anywhere):
        policies = list(self.policies_of(pod))
        rules = [rule for policy in policies for rule in policy["spec"].get("ingress") or []]
        open_to = [rule for rule in rules if not from_anywhere or not rule.get("from")]
        return not policies or any("ports" not in rule or number in {pod.port(port["port"]) for port in rule["ports"]} for rule in open_to)

    def called(self):
        """What a container's environment names as http://SERVICE.NAMESPACE:PORT."""
        for pod in self.templates:
            for value in pod.env:
                for name, ns, port in re.findall(r"^https?://([a-z0-9-]+)\.([a-z0-9-]+)(?:\.svc[a-z.]*)?:(\d+)", value):
                    yield from self.call(pod, (ns, name), int(port))

    def call(self, pod, key, port):
        who = f"{pod.name}: calls port {port} of Service {'/'.join(key)}"
        spec = self.services.get(key, {"spec": {"ports": []}})["spec"]
        ports = [one for one in spec["ports"] if one["port"] == port]
        if not ports:
            yield f"{who}, which is not there"
        for one in ports:
            for target in self.pods(key[0], spec["selector"]):
                number = target.port(one.get("targetPort", port))
                if not any(self.lets_through(rule, "from", target.ns, pod, target, number) for rule in self.rules(target, "Ingress")):
                    yield f"{who}: no NetworkPolicy lets it in"
                if not any(self.lets_through(rule, "to", pod.ns, target, target, number) for rule in self.rules(pod, "Egress")):
                    yield f"{who}: no NetworkPolicy lets it out"

    def rules(self, pod, direction):
        """The rules of one direction; without a policy everything is let through."""
        spec = [one["spec"] for one in self.of("NetworkPolicy") if one["metadata"].get("namespace", "") == pod.ns and matches(one["spec"]["podSelector"], pod.labels)]
        spec = [one for one in spec if direction in one.get("policyTypes", ["Ingress"])]
        return [rule for one in spec for rule in one.get(direction.lower()) or []] if spec else [{}]

    @staticmethod
    def lets_through(rule, side, own, peer, target, number):
        """A rule of a policy in namespace `own`; `peer` is at the other end, `target` has the port."""
        peers = [one for one in rule.get(side, []) if "namespaceSelector" not in one and "podSelector" in one]
        named = any(peer.ns == own and matches(one["podSelector"], peer.labels) for one in peers)
        return (not rule.get(side) or named) and ("ports" not in rule or number in {target.port(one["port"]) for one in rule["ports"]})

    def policies(self):
        for policy in self.of("NetworkPolicy"):
            pods = self.pods(policy["metadata"].get("namespace", ""), policy["spec"]["podSelector"])
            if not pods:
                yield f"{name_of(policy)}: selects no pods"
            for rule in policy["spec"].get("ingress") or []:
                for port in rule.get("ports", []):
                    if pods and all(pod.port(port["port"]) is None for pod in pods):
                        yield f"{name_of(policy)}: port {port['port']} is none of {', '.join(pod.name for pod in pods)}"
        for budget in self.of("PodDisruptionBudget"):
            if not self.pods(budget["metadata"].get("namespace", ""), budget["spec"]["selector"]):
                yield f"{name_of(budget)}: selects no pods"

    def webhooks(self):
        """The API server calls them, from addresses that no policy can name."""
        called = []
        for one in self.of("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
            called += [(f"{name_of(one)} {hook['name']}", hook["clientConfig"].get("service")) for hook in one["webhooks"]]
        for one in self.of("CustomResourceDefinition"):
            service = one["spec"].get("conversion", {}).get("webhook", {}).get("clientConfig", {}).get("service")
            called.append((name_of(one), service))
        for who, reference in called:
            if reference is None:
                continue
            key = reference["namespace"], reference["name"]
            if key not in self.services:
                yield f"{who}: there is no Service {'/'.join(key)}"
                continue
            spec = self.services[key]["spec"]
            ports = [port for port in spec["ports"] if port["port"] == reference.get("port", 443)]
            if not ports:
                yield f"{who}: Service {'/'.join(key)} has no port {reference.get('port', 443)}"
            for port in ports:
                for pod in self.pods(key[0], spec["selector"]):
                    number = pod.port(port.get("targetPort", port["port"]))
                    if number is not None and not self.admits(pod, number, from_anywhere=True):
                        yield f"{who}: a NetworkPolicy keeps the API server from port {number} of {pod.name}"

    def monitors(self):
        for one in self.of("ServiceMonitor"):
            spec, own = one["spec"], one["metadata"].get("namespace", "")
            where = spec.get("namespaceSelector", {})
            asked = None if where.get("any") else set(where.get("matchNames", [own]))
            labelled = [
                service for (ns, _), service in self.services.items() if (asked is None or ns in asked) and matches(spec["selector"], service["metadata"].get("labels", {}))
            ]
            if not labelled:
                yield f"{name_of(one)}: selects no Service"
            for endpoint in spec["endpoints"]:
                ports = [port for service in labelled for port in service["spec"]["ports"]]
                names, targets = {port.get("name") for port in ports}, {port.get("targetPort", port["port"]) for port in ports}
                if labelled and endpoint.get("port") not in names and endpoint.get("targetPort") not in targets:
                    yield f"{name_of(one)}: none of its Services has port {endpoint.get('port', endpoint.get('targetPort'))}"

    def bindings(self):
        roles = {(one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]) for one in self.of("Role", "ClusterRole")}
        accounts = {(one["metadata"].get("namespace", ""), one["metadata"]["name"]) for one in self.of("ServiceAccount")}
        for one in self.of("RoleBinding", "ClusterRoleBinding"):
            reference, ns = one["roleRef"], one["metadata"].get("namespace", "")
            role = (reference["kind"], ns if reference["kind"] == "Role" else "", reference["name"])
            if role not in roles and reference["name"] not in CLUSTERS_OWN_ROLES:
                yield f"{name_of(one)}: there is no {reference['kind']} {reference['name']}"
            for subject in one.get("subjects", []):
                key = subject.get("namespace", ""), subject["name"]
                if subject["kind"] == "ServiceAccount" and key not in accounts | CLUSTERS_OWN_ACCOUNTS:
                    yield f"{name_of(one)}: there is no ServiceAccount {'/'.join(key)}"

    def rights(self, ns, account):
        """(verb, group, resource, name or "") of an account, wherever they hold."""
        held = set()
        for one in self.of("RoleBinding", "ClusterRoleBinding"):
            if not any(who["kind"] == "ServiceAccount" and (who.get("namespace", ""), who["name"]) == (ns, account) for who in one.get("subjects", [])):
                continue
            for role in self.of(one["roleRef"]["kind"]):
                same_place = role["kind"] == "ClusterRole" or role["metadata"].get("namespace") == one["metadata"].get("namespace")
                if role["metadata"]["name"] == one["roleRef"]["name"] and same_place:
                    held |= set(rights_of(role["rules"]))
        return held


def rights_of(rules):
    for rule in rules:
        for verb in rule["verbs"]:
            for group in rule.get("apiGroups", []):
                for resource in rule.get("resources", []):
                    for name in rule.get("resourceNames") or [""]:
                        yield verb, group, resource, name


def missing_rights(held, needed):
    """Of `needed` what `held` does not cover, whatever the objects are called: manifests name those that the program names nowhere."""
    known = {one[:3] for one in held}
    return {one[:3] for one in needed} - known


def faults(objects):
    way = Way(objects)
    parts = (way.workloads, way.reachable, way.called, way.policies, way.webhooks, way.monitors, way.bindings)
    return [line for part in parts for line in part()]


def load(text):
    return [one for one in yaml.safe_load_all(text) if one]
