# SPDX-License-Identifier: Apache-2.0
"""The Helm chart, made from what `kubectl kustomize` prints: the same objects with holes where a value goes.

Nothing is written twice: `helm template` with the default values is the kustomization again, which a test compares.
"""

import copy
import re

from chart_values import RUNBOOKS, table_of
from kinds import dump, identity

NAME = "athanor-controllers"
SYSTEM = "athanor-system"
# Names in the kustomization that are values in the chart. They are chosen so that they stand for nothing else.
NAMESPACES = {SYSTEM: ".Release.Namespace", "psap-automation": ".Values.namespaces.workload", "psap-secrets": ".Values.namespaces.secrets", "hearth": ".Values.namespaces.clusters"}
IMAGE = (
    "{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}"
    "{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}"
)


class Holes:
    """Tokens in manifests that become template text when they are printed."""

    def __init__(self):
        self._texts = []

    def _token(self, kind, text):
        self._texts.append((kind, text))
        return f"xHOLE{len(self._texts) - 1}Ex"

    def text(self, template):
        """A scalar, or a part of one."""
        return self._token("text", template)

    def block(self, expression):
        """The whole value of a member: a list or an object."""
        return self._token("block", expression)

    def optional(self, expression):
        """As block(), but an empty value takes the member away."""
        return self._token("optional", expression)

    def scalar(self, expression):
        """As optional(), for a text."""
        return self._token("scalar", expression)

    def lines(self, *templates):
        """Instead of an element of a list, a member whose key is the token, or a line: lines of template text."""
        return self._token("lines", templates)

    def _line(self, line):
        member = re.fullmatch(r"(\s*)([\w./-]+): xHOLE(\d+)Ex", line)
        if member:
            indent, key, (kind, text) = member[1], member[2], self._texts[int(member[3])]
            inner = f"{indent}  {{{{- toYaml {text if kind == 'block' else '.'} | nindent {len(indent) + 2} }}}}"
            if kind == "block":
                return [f"{indent}{key}:", inner]
            if kind == "optional":
                return [f"{indent}{{{{- with {text} }}}}", f"{indent}{key}:", inner, f"{indent}{{{{- end }}}}"]
            if kind == "scalar":
                return [f"{indent}{{{{- with {text} }}}}", f"{indent}{key}: {{{{ . | quote }}}}", f"{indent}{{{{- end }}}}"]
        element = re.fullmatch(r"(\s*)(?:- )?xHOLE(\d+)Ex(?:: null)?", line)
        if element:
            kind, text = self._texts[int(element[2])]
            if kind == "lines":
                return [element[1] + one for one in text]
        return [re.sub(r"xHOLE(\d+)Ex", lambda at: self._texts[int(at[1])][1], line)]

    def print(self, manifest):
        text = dump(manifest).replace("{{", '{{ "{{" }}')
        return "\n".join(out for line in text.rstrip("\n").split("\n") for out in self._line(line)) + "\n"


def with_namespaces(value, holes):
    """Every mention of one of the four namespaces, keys of objects excepted, becomes a hole."""
    if isinstance(value, dict):
        return {key: with_namespaces(one, holes) for key, one in value.items()}
    if isinstance(value, list):
        return [with_namespaces(one, holes) for one in value]
    if not isinstance(value, str):
        return value
    for name, expression in NAMESPACES.items():
        if value == name:
            return holes.text(f"{{{{ {expression} | quote }}}}")
        value = re.sub(rf"(?<![\w-]){name}(?![\w-])", lambda _, e=expression: holes.text(f"{{{{ {e} }}}}"), value)
    return value


def release_settings(manifest, holes, values):
    """Sets what every Deployment takes from the release; `values` holds its own replicas, settings and resources. Returns the pod's template."""
    spec = manifest["spec"]
    spec["replicas"] = holes.text(f"{{{{ {values}.replicas }}}}")
    template = spec["template"]
    pod = template["spec"]
    pod["imagePullSecrets"] = holes.optional(".Values.imagePullSecrets")
    pod["priorityClassName"] = holes.scalar(".Values.priorityClassName")
    for key in ("nodeSelector", "tolerations", "affinity"):
        pod[key] = holes.optional(f".Values.{key}")
    container = pod["containers"][0]
    container["image"] = holes.text(IMAGE)
    container["imagePullPolicy"] = holes.text("{{ .Values.image.pullPolicy }}")
    container["env"].append(
        holes.lines(f"{{{{- range $name, $value := {values}.settings }}}}", "- name: {{ $name }}", "  value: {{ $value | quote }}", "{{- end }}")
    )
    container["resources"] = holes.block(f"{values}.resources")
    # Members with a token of several lines may not stand at the start of a list's element.
    pod["containers"] = [{"name": container.pop("name"), **container}]
    return template


def deployment(manifest, holes):
    template = release_settings(manifest, holes, ".Values")
    claim = ["- name: FOURNOS_RESULTS_CLAIM", "  value: fournos-results"]
    template["spec"]["containers"][0]["env"].insert(-1, holes.lines('{{- if and .Values.results.enabled (not (hasKey .Values.settings "FOURNOS_RESULTS_CLAIM")) }}', *claim, "{{- end }}"))
    template["metadata"]["annotations"][holes.lines("{{- with .Values.podAnnotations }}", "{{- toYaml . | nindent 8 }}", "{{- end }}")] = None


def queueing_deployment(manifest, holes):
    release_settings(manifest, holes, ".Values.queueing")


def console_deployment(manifest, holes):
    release_settings(manifest, holes, ".Values.console")
    pod = manifest["spec"]["template"]["spec"]
    pod["securityContext"].pop("fsGroup")
    pod["securityContext"][holes.lines("{{- with .Values.console.fsGroup }}", "fsGroup: {{ . }}", "{{- end }}")] = None
    environment = []
    for variable in pod["containers"][0]["env"]:
        name = variable["name"] if isinstance(variable, dict) else ""
        if name == "CONSOLE_READ_ONLY":
            variable["value"] = holes.text("{{ .Values.console.readOnly | quote }}")
        given = [variable]
        if name == "CONSOLE_SUBMIT_IMAGE":
            variable["value"] = holes.text(IMAGE)
        if name.startswith(("CONSOLE_CONTROLLERS_", "CONSOLE_SUBMIT_")):  # console.settings may name others
            given = [holes.lines(f'{{{{- if not (hasKey .Values.console.settings "{name}") }}}}'), variable, holes.lines("{{- end }}")]
        environment += given
    pod["containers"][0]["env"] = environment


def console_claim(manifest, holes):
    manifest["spec"]["resources"]["requests"]["storage"] = holes.text("{{ .Values.console.storage }}")


def results_claim(manifest, holes):
    spec = manifest["spec"]
    spec["resources"]["requests"]["storage"] = holes.text("{{ .Values.results.storage }}")
    spec["storageClassName"] = holes.scalar(".Values.results.storageClassName")


def is_results(manifest):
    """The claim of result files, which a release leaves out unless it is asked for."""
    return manifest["metadata"].get("labels", {}).get("app.kubernetes.io/component") == "results"


def is_console(manifest):
    """Of the console, which a release leaves out unless it is asked for."""
    return manifest["metadata"].get("labels", {}).get("app.kubernetes.io/component") == "console"


def is_queueing(manifest):
    """Of Athanor's own queueing, which a release leaves out unless it is asked for."""
    of_kueue = manifest["kind"] == "CustomResourceDefinition" and manifest["spec"]["group"] == "kueue.x-k8s.io"
    return of_kueue or manifest["metadata"].get("labels", {}).get("app.kubernetes.io/component") == "queueing"


def is_people(manifest):
    """A role of people, which Kubernetes adds to its own."""
    return manifest["metadata"].get("labels", {}).get("app.kubernetes.io/component") == "people"


def network_policy(manifest, holes):
    selector = manifest["spec"]["ingress"][0]["from"][0]["namespaceSelector"]["matchExpressions"][0]
    selector["values"] = holes.block(".Values.networkPolicy.scrapers")


def config_map(manifest, holes):
    if manifest["metadata"]["name"] == NAME:
        manifest["data"]["controllers.yaml"] = holes.lines("{{- toYaml .Values.config | nindent 4 }}") + "\n"


def monitoring_labels(manifest, holes):
    manifest["metadata"]["labels"][holes.lines("{{- with .Values.monitoring.labels }}", "{{- toYaml . | nindent 4 }}", "{{- end }}")] = None


def prometheus_rule(manifest, holes):
    monitoring_labels(manifest, holes)
    for group in manifest["spec"]["groups"]:
        for rule in group["rules"]:
            if "annotations" in rule:
                rule["annotations"]["runbook_url"] = rule["annotations"]["runbook_url"].replace(RUNBOOKS, holes.text("{{ $.Values.monitoring.runbooks }}"))


CHANGES = {
    "ConfigMap": config_map,
    "Deployment": deployment,
    "NetworkPolicy": network_policy,
    "PrometheusRule": prometheus_rule,
    "ServiceMonitor": monitoring_labels,
}
# The file of each kind, and the value it depends on.
FILES = {
    "Namespace": ("namespaces", ".Values.namespaces.create"),
    "CustomResourceDefinition": ("crds", ".Values.crds.install"),
    "ServiceAccount": ("rbac", None),
    "Role": ("rbac", None),
    "RoleBinding": ("rbac", None),
    "ClusterRole": ("rbac", None),
    "ClusterRoleBinding": ("rbac", None),
    "Deployment": ("deployment", None),
    "Service": ("service", None),
    "NetworkPolicy": ("networkpolicy", ".Values.networkPolicy.enabled"),
    "PodDisruptionBudget": ("poddisruptionbudget", ".Values.podDisruptionBudget.enabled"),
    "ServiceMonitor": ("monitoring", ".Values.monitoring.enabled"),
    "PrometheusRule": ("monitoring", ".Values.monitoring.enabled"),
}
FILES_BY_NAME = {"athanor-controllers": ("configmap", None), "athanor-dashboard": ("monitoring", ".Values.monitoring.enabled")}  # of ConfigMaps
HEAD = "# Generated from deploy/kustomize by scripts/deploy generate. Edit there.\n"


def templates(manifests):
    files = {}
    for manifest in manifests:
        if identity(manifest) == ("Namespace", "", SYSTEM):
            continue  # the release's own: helm install --create-namespace
        if is_queueing(manifest):
            crd = manifest["kind"] == "CustomResourceDefinition"
            name, condition = ("queueing-crds", "and .Values.queueing.enabled .Values.crds.install") if crd else ("queueing", ".Values.queueing.enabled")
        elif is_console(manifest):
            monitored = manifest["kind"] in ("ServiceMonitor", "PrometheusRule")
            name, condition = ("console-monitoring", "and .Values.console.enabled .Values.monitoring.enabled") if monitored else ("console", ".Values.console.enabled")
        elif is_results(manifest):
            name, condition = "results", ".Values.results.enabled"
        elif is_people(manifest):
            name, condition = "people", ".Values.peopleRoles.create"
        else:
            name, condition = FILES.get(manifest["kind"]) or FILES_BY_NAME[manifest["metadata"]["name"]]
        holes = Holes()
        one = with_namespaces(copy.deepcopy(manifest), holes)
        if is_queueing(manifest) and manifest["kind"] == "Deployment":
            queueing_deployment(one, holes)
        elif is_console(manifest) and manifest["kind"] == "Deployment":
            console_deployment(one, holes)
        elif is_results(manifest):
            results_claim(one, holes)
        elif is_console(manifest) and manifest["kind"] == "PersistentVolumeClaim":
            console_claim(one, holes)
        elif is_console(manifest) and manifest["kind"] == "NetworkPolicy":
            pass  # open to all who log in
        elif manifest["kind"] in CHANGES:
            CHANGES[manifest["kind"]](one, holes)
        text, _ = files.get(name, ("", condition))
        files[name] = (text + "---\n" + holes.print(one), condition)
    return {
        f"templates/{name}.yaml": HEAD + (f"{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n" if condition else text)
        for name, (text, condition) in files.items()
    }


NOTES = """\
Athanor {{ .Chart.AppVersion }} works on the jobs of namespace {{ .Values.namespaces.workload }}.

  kubectl -n {{ .Release.Namespace }} rollout status deployment/%s
  kubectl -n {{ .Values.namespaces.workload }} get fournosjobs

The cluster needs Kueue and Tekton, and a LocalQueue in that namespace (docs/operations.md).
""" % NAME

README = """\
# athanor

After this page you can install the controllers of Athanor on a cluster with Kueue and Tekton, and set the chart's values.
[docs/operations.md](../../../docs/operations.md) describes installation, upgrades and operation. `scripts/deploy generate` generates the chart from
`deploy/kustomize`: with its defaults it equals `overlays/default`, with `monitoring.enabled=true` it equals `overlays/production`.

```sh
helm install athanor deploy/chart/athanor --namespace athanor-system --create-namespace --set image.repository=REGISTRY/athanor
```

Install one release per cluster: the names of cluster-wide objects are fixed. Helm cannot label the namespace that it creates; run once:

```sh
kubectl label namespace athanor-system pod-security.kubernetes.io/enforce=restricted
```

"""


def chart(manifests, version):
    """The chart's files by path."""
    objects = {identity(one): one for one in manifests}
    table = table_of(objects, version)
    head = ["Values of the chart, with their defaults. Generated from deploy/kustomize by scripts/deploy generate.", "helm refuses values that values.schema.json does not contain."]
    return {
        "Chart.yaml": HEAD
        + dump(
            {
                "apiVersion": "v2",
                "name": "athanor",
                "description": "Benchmark jobs on shared accelerator clusters: the controllers of Athanor",
                "type": "application",
                "version": version,
                "appVersion": version,
                "kubeVersion": ">=1.28.0-0",
                "keywords": ["kueue", "tekton", "gpu", "benchmark"],
            }
        ),
        "values.yaml": table.values_yaml(head),
        "values.schema.json": table.schema_json("Values of the athanor chart"),
        "README.md": README + table.table_md(),
        "templates/NOTES.txt": NOTES,
        **templates(manifests),
    }
