# SPDX-License-Identifier: Apache-2.0
"""The chart's values: one table from which values.yaml, values.schema.json and the chart's README come.

A default that stands in the kustomization is read from there, so that there is one place for each.
"""

import json
from dataclasses import dataclass, field

import yaml
from kinds import dump

NAMESPACE = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"}
RUNBOOKS = "https://git.example.com/athanor/blob/main/docs/runbooks.md"
TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}


@dataclass
class Value:
    path: str
    default: object
    schema: dict
    doc: str


@dataclass
class Table:
    values: list = field(default_factory=list)

    def add(self, path, default, schema, doc):
        self.values.append(Value(path, default, schema, doc))

    def tree(self):
        """Nested: a dictionary for each dotted prefix, a Value at each leaf."""
        root = {}
        for value in self.values:
            at = root
            *above, last = value.path.split(".")
            for name in above:
                at = at.setdefault(name, {})
            at[last] = value
        return root

    def values_yaml(self, head):
        lines = [f"# {line}".rstrip() for line in head]

        def walk(tree, indent):
            for name, value in tree.items():
                if isinstance(value, dict):
                    lines.append(f"{indent}{name}:")
                    walk(value, indent + "  ")
                    continue
                lines.append(f"{indent}# {value.doc}")
                text = dump({name: value.default}).rstrip("\n").split("\n")
                lines.extend(indent + line for line in text)

        walk(self.tree(), "")
        return "\n".join(lines) + "\n"

    def schema_json(self, title):
        def walk(tree):
            properties = {}
            for name, value in tree.items():
                properties[name] = walk(value) if isinstance(value, dict) else {"description": value.doc, **value.schema}
            return {"type": "object", "additionalProperties": False, "properties": properties}

        schema = walk(self.tree())
        # What Helm adds by itself.
        schema["properties"]["global"] = {"type": "object"}
        return json.dumps({"$schema": "http://json-schema.org/draft-07/schema#", "title": title, **schema}, indent=2) + "\n"

    def table_md(self):
        rows = ["| Value | Default | Meaning |", "|---|---|---|"]
        for value in self.values:
            default = json.dumps(value.default)
            rows.append(f"| `{value.path}` | {f'`{default}`' if len(default) <= 60 else 'see values.yaml'} | {value.doc} |")
        return "\n".join(rows) + "\n"


def table_of(objects, version):
    """The table, with the defaults of the kustomization's objects (by identity)."""
    deployment = objects["Deployment", "athanor-system", "athanor-controllers"]["spec"]
    pod = deployment["template"]["spec"]
    container = pod["containers"][0]
    repository, tag = container["image"].rsplit(":", 1)
    assert tag == version, f"kustomize/base has the image's tag {tag}, CMakeLists.txt the version {version}"
    policy = objects["NetworkPolicy", "athanor-system", "athanor-controllers"]["spec"]
    scrapers = policy["ingress"][0]["from"][0]["namespaceSelector"]["matchExpressions"][0]["values"]
    environment = {one["name"]: one.get("value") for one in container["env"]}

    table = Table()
    add = table.add
    add("image.repository", repository, {"type": "string", "minLength": 1}, "Repository of the image: REGISTRY/athanor")
    add("image.tag", "", {"type": "string"}, "Tag of the image; empty: the chart's appVersion")
    add("image.digest", "", {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"}, "Digest of the image; if set, it wins over the tag")
    add("image.pullPolicy", container["imagePullPolicy"], {"enum": ["Always", "IfNotPresent", "Never"]}, "Pull policy of the image")
    add(
        "imagePullSecrets",
        [],
        {"type": "array", "items": {"type": "object", "required": ["name"], "additionalProperties": False, "properties": {"name": {"type": "string"}}}},
        "Pull secrets of the image: a list of {name: NAME}",
    )
    add("replicas", deployment["replicas"], {"type": "integer", "minimum": 0}, "Number of replicas; one of them leads")
    add("namespaces.create", True, {"type": "boolean"}, "Create the three namespaces below; they stay when the release is uninstalled")
    add("namespaces.workload", environment["FOURNOS_WORKLOAD_NAMESPACE"], NAMESPACE, "Namespace of jobs and their pods")
    add("namespaces.secrets", environment["FOURNOS_SECRETS_NAMESPACE"], NAMESPACE, "Namespace of kubeconfigs and vault entries")
    add("namespaces.clusters", environment["HEARTH_NAMESPACE"], NAMESPACE, "Namespace of FournosClusters (GPU clusters)")
    add("crds.install", True, {"type": "boolean"}, "Install and upgrade the custom resource definitions; they stay when the release is uninstalled")
    add("peopleRoles.create", True, {"type": "boolean"}, "Add the rights on Athanor's kinds to Kubernetes' roles view, edit and admin (docs/operations.md, Roles of people)")
    results = objects["PersistentVolumeClaim", "psap-automation", "fournos-results"]["spec"]
    size = {"type": "string", "pattern": "^[0-9]+(Mi|Gi|Ti)$"}
    about = "Create the claim fournos-results for files of results, and use it (docs/fournos.md, Results); it stays when the release is uninstalled"
    add("results.enabled", False, {"type": "boolean"}, about)
    add("results.storage", results["resources"]["requests"]["storage"], size, "Size of this claim")
    add("results.storageClassName", "", {"type": "string"}, "Its StorageClass, which has to offer ReadWriteMany; empty: the cluster's default")
    config = yaml.safe_load(objects["ConfigMap", "athanor-system", "athanor-controllers"]["data"]["controllers.yaml"])
    add("config", config, {"type": "object"}, "Flags of athanor controllers, by name; a change of log-level needs no restart")
    add(
        "settings",
        {},
        {"type": "object", "propertyNames": {"pattern": "^[A-Z][A-Z0-9_]*$"}, "additionalProperties": {"type": "string"}},
        "Additional environment variables, by name: FOURNOS_GC_INTERVAL_SEC: '60' (docs/fournos.md and docs/hearth.md list them)",
    )
    add("resources", container["resources"], {"type": "object"}, "Requests and limits of the container")
    add("podAnnotations", {}, TEXTS, "Additional annotations of the pods")
    add("nodeSelector", {}, TEXTS, "Node selector of the pods")
    add("tolerations", [], {"type": "array", "items": {"type": "object"}}, "Tolerations of the pods")
    add("affinity", {}, {"type": "object"}, "Affinity of the pods, in addition to the spread over nodes")
    add("priorityClassName", "", {"type": "string"}, "PriorityClass of the pods")
    add("networkPolicy.enabled", True, {"type": "boolean"}, "Restrict ingress and egress of the pods")
    add("networkPolicy.scrapers", scrapers, {"type": "array", "minItems": 1, "items": NAMESPACE}, "Namespaces whose pods may read the metrics")
    add("podDisruptionBudget.enabled", True, {"type": "boolean"}, "Prevent a drain from evicting both replicas")
    add("monitoring.enabled", False, {"type": "boolean"}, "ServiceMonitor, alerts and dashboard; needs the Prometheus operator's kinds")
    add("monitoring.labels", {}, TEXTS, "Additional labels of ServiceMonitor and PrometheusRule, for the selectors of Prometheus")
    add("monitoring.runbooks", RUNBOOKS, {"type": "string", "pattern": "^https?://\\S+$"}, "Address of the page docs/runbooks.md, for the annotation runbook_url of the alerts")
    queueing = objects["Deployment", "athanor-system", "athanor-queueing"]["spec"]
    add("queueing.enabled", False, {"type": "boolean"}, "Install Athanor's own queueing, with its kinds and webhooks; only for a cluster without Kueue")
    add("queueing.replicas", queueing["replicas"], {"type": "integer", "minimum": 0}, "Number of replicas of the queueing; one of them leads, all serve webhooks")
    add("queueing.resources", queueing["template"]["spec"]["containers"][0]["resources"], {"type": "object"}, "Requests and limits of the queueing's container")
    add(
        "queueing.settings",
        {},
        {"type": "object", "propertyNames": {"pattern": "^KUEUE_[A-Z0-9_]+$"}, "additionalProperties": {"type": "string"}},
        "Environment variables of the queueing, by name: KUEUE_FAIR_SHARING: 'true' (docs/kueue.md; ConfigMap kueue-manager-config wins over them)",
    )
    console = objects["Deployment", "athanor-system", "athanor-console"]["spec"]
    add("console.enabled", False, {"type": "boolean"}, "Install the console: web pages for people who log in with a token of the cluster")
    add("console.replicas", console["replicas"], {"type": "integer", "minimum": 0, "maximum": 1}, "0 stops the console; its volume has one writer")
    add("console.readOnly", False, {"type": "boolean"}, "Hide and refuse every change on the pages")
    add("console.resources", console["template"]["spec"]["containers"][0]["resources"], {"type": "object"}, "Requests and limits of the console's container")
    group = console["template"]["spec"]["securityContext"]["fsGroup"]
    add("console.fsGroup", group, {"type": "integer", "minimum": 0}, "Group that may write the volume; 0 on OpenShift, which gives each namespace its own")
    claim = objects["PersistentVolumeClaim", "athanor-system", "athanor-console"]["spec"]
    add("console.storage", claim["resources"]["requests"]["storage"], {"type": "string", "pattern": "^[0-9]+(Mi|Gi|Ti)$"}, "Size of the volume with history and archived logs")
    add(
        "console.settings",
        {},
        {"type": "object", "propertyNames": {"pattern": "^(CONSOLE|FOURNOS|FORGE|PROJECTS|DATABASE|K8S)_[A-Z0-9_]+$"}, "additionalProperties": {"type": "string"}},
        "Additional environment variables of the console, by name: CONSOLE_PUBLIC_URL: 'https://console.example.com/' (docs/console.md lists them)",
    )
    return table
