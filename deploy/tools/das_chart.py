# SPDX-License-Identifier: Apache-2.0
"""The Helm chart deploy/chart/das: the manifests of deploy/das with holes where a value goes (chart.py has the holes). With the default
values it is deploy/das again, in the release's namespace, which a test compares. The kinds are in crds/: Helm installs them first, as it
must know the DASOperator's."""

import copy

from chart import IMAGE, Holes
from chart_values import NAMESPACE as NAME
from chart_values import TEXTS, Table
from kinds import dump

NAMESPACE = "das-operator"
HEAD = "# Generated from deploy/das by scripts/deploy generate.\n"
IMAGE_VALUES = ".Values.image."
# The scheduler is of the cluster's version: what a distribution appends is no tag of the image.
KUBERNETES = '{{ .Values.schedulerImage.tag | default (regexFind "^v[0-9]+[.][0-9]+[.][0-9]+" .Capabilities.KubeVersion.Version) }}'
RELATED = {
    "RELATED_IMAGE_DAEMONSET_IMAGE": IMAGE.replace(IMAGE_VALUES, ".Values.agentImage."),
    "RELATED_IMAGE_SCHEDULER_IMAGE": IMAGE.replace(IMAGE_VALUES, ".Values.schedulerImage.").replace(
        "{{ .Values.schedulerImage.tag | default .Chart.AppVersion }}", KUBERNETES
    ),
}
# The file of each manifest's template, and the value it depends on.
FILES = {"01_operator_sa": "accounts", "01_operator_use_privileged_scc": "rbac", "02_operator_rbac": "rbac", "02_people": "people", "02_own_node_policy": "policy", "03_instaslice_operator.cr": "dasoperator",
         "04_deployment": "deployments", "05_webhook": "webhook", "06_monitoring": "monitoring"}  # fmt: skip
CONDITIONS = {
    "monitoring": ".Values.monitoring.enabled",
    "policy": 'semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version',
}
LEVELS = {"enum": ["Normal", "Debug", "Trace", "TraceAll"]}


def with_namespace(value, holes, key=None):
    """Every mention of the namespace becomes a hole; other objects are called so, too."""
    if isinstance(value, dict):
        if value.get("name") == "INSTASLICE_NAMESPACE":
            return {**value, "value": holes.text("{{ .Release.Namespace | quote }}")}
        return {name: with_namespace(one, holes, name) for name, one in value.items()}
    if isinstance(value, list):
        return [with_namespace(one, holes, key) for one in value]
    if value == NAMESPACE and key in ("namespace", "values"):
        return holes.text("{{ .Release.Namespace | quote }}")
    if isinstance(value, str) and f".{NAMESPACE}.svc" in value:
        return value.replace(f".{NAMESPACE}.svc", "." + holes.text("{{ .Release.Namespace }}") + ".svc")
    if isinstance(value, str) and f":{NAMESPACE}:" in value:
        return value.replace(f":{NAMESPACE}:", ":" + holes.text("{{ .Release.Namespace }}") + ":")
    return value


def account(manifest, holes):
    """Also of the pods that the operator creates: admission gives them their account's secrets."""
    manifest["imagePullSecrets"] = holes.optional(".Values.imagePullSecrets")


def deployment(manifest, holes):
    spec = manifest["spec"]
    spec["replicas"] = holes.text("{{ .Values.replicas }}")
    pod = spec["template"]["spec"]
    pod["priorityClassName"] = holes.scalar(".Values.priorityClassName")
    for key in ("nodeSelector", "tolerations"):
        pod[key] = holes.optional(f".Values.{key}")
    (container,) = pod["containers"]
    container["image"] = holes.text(IMAGE)
    container["imagePullPolicy"] = holes.text("{{ .Values.image.pullPolicy }}")
    container["resources"] = holes.block(".Values.resources")
    for one in container["env"]:
        if one["name"] == "EMULATED_MODE":
            one["value"] = holes.text("{{ .Values.emulatedMode }}")
        elif one["name"] in RELATED:
            one["value"] = holes.text(RELATED[one["name"]])
    container["env"].append(holes.lines("{{- range $name, $value := .Values.settings }}", "- name: {{ $name }}", "  value: {{ $value | quote }}", "{{- end }}"))


def das_operator(manifest, holes):
    annotation = "das.inference.redhat.com/runtime-class: {{ .Values.operator.runtimeClass | quote }}"
    manifest["metadata"][holes.lines("{{- if kindIs \"string\" .Values.operator.runtimeClass }}", "annotations:", f"  {annotation}", "{{- end }}")] = None
    for name in ("managementState", "logLevel", "operatorLogLevel"):
        manifest["spec"][name] = holes.text(f"{{{{ .Values.operator.{name} }}}}")
    for name in ("nodeSelector", "tolerations", "resources"):
        manifest["spec"][name] = holes.optional(f".Values.operator.{name}")
    manifest["spec"]["priorityClassName"] = holes.scalar(".Values.operator.priorityClassName")


def monitor(manifest, holes):
    manifest["metadata"]["labels"][holes.lines("{{- with .Values.monitoring.labels }}", "{{- toYaml . | nindent 4 }}", "{{- end }}")] = None


CHANGES = {"ServiceAccount": account, "Deployment": deployment, "DASOperator": das_operator, "ServiceMonitor": monitor}

# Helm deletes objects of custom kinds last, when the operator that the DASOperator's finalizer waits for is gone.
UNINSTALL = """\
# Runs before the release is deleted: Helm deletes the DASOperator before it creates this one, and waits for the operator's finalizer.
apiVersion: inference.redhat.com/v1alpha1
kind: DASOperator
metadata:
  name: cluster
  namespace: {{ .Release.Namespace | quote }}
  annotations:
    helm.sh/hook: pre-delete
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  managementState: Removed
"""

NOTES = """\
Slices of GPUs: nodes need the label nvidia.com/mig.capable=true.

  kubectl -n {{ .Release.Namespace }} get dasoperator cluster -o yaml
  kubectl -n {{ .Release.Namespace }} get nodeaccelerators
{{- if eq .Values.emulatedMode "enabled" }}

GPUs are emulated (emulatedMode).
{{- end }}
"""

README = """\
# das

After this page you can install DAS (slices of GPUs on demand) by Helm, and set the chart's values. [docs/das.md](../../../docs/das.md) describes DAS.
`scripts/deploy generate` generates the chart from the program, as it does `deploy/das`: with its defaults it installs the same objects.

```sh
helm install das deploy/chart/das --namespace das-operator --create-namespace --set image.repository=REGISTRY/athanor --set agentImage.repository=REGISTRY/athanor-agent
```

Install one release per cluster: the names of cluster-wide objects are fixed. The agent's pods are privileged; where the cluster restricts pods, and for
OpenShift's monitoring, label the namespace once:

```sh
kubectl label namespace das-operator pod-security.kubernetes.io/enforce=privileged openshift.io/cluster-monitoring=true
```

Helm installs the kinds and never changes them; apply those of a new version before `helm upgrade`:

```sh
kubectl apply --server-side --force-conflicts -f deploy/chart/das/crds
```

`helm uninstall` first deletes the DASOperator and waits until the operator has deleted the webhook's registration; without a running operator use
`--no-hooks` and remove the finalizer. The kinds, and so the claims, stay.

"""


def table_of(files):
    operator = next(one for one in files["04_deployment.yaml"] if one["kind"] == "Deployment")["spec"]
    pod = operator["template"]["spec"]
    container = pod["containers"][0]
    environment = {one["name"]: one.get("value") for one in container["env"]}
    scheduler = environment["RELATED_IMAGE_SCHEDULER_IMAGE"].rsplit(":", 1)[0]
    (configuration,) = files["03_instaslice_operator.cr.yaml"]
    text, digest = {"type": "string", "minLength": 1}, {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"}
    table = Table()
    add = table.add
    for path, name, what in (("image", container["image"], "the image of operator, webhook and extender"), ("agentImage", environment["RELATED_IMAGE_DAEMONSET_IMAGE"], "the agent's image")):
        add(f"{path}.repository", name, text, f"Repository of {what}")
        add(f"{path}.tag", "", {"type": "string"}, "Its tag; empty: the chart's appVersion")
        add(f"{path}.digest", "", digest, "Its digest; if set, it wins over the tag")
        if path == "image":
            add("image.pullPolicy", container["imagePullPolicy"], {"enum": ["Always", "IfNotPresent", "Never"]}, "Its pull policy")
    add("schedulerImage.repository", scheduler, text, "Repository of kube-scheduler's image")
    add("schedulerImage.tag", "", {"type": "string"}, "Its tag; empty: the cluster's version")
    add("schedulerImage.digest", "", digest, "Its digest; if set, it wins over the tag")
    secret = {"type": "object", "required": ["name"], "additionalProperties": False, "properties": {"name": NAME}}
    add("imagePullSecrets", [], {"type": "array", "items": secret}, "Pull secrets of all images: a list of {name: NAME}")
    add("emulatedMode", environment["EMULATED_MODE"], {"enum": ["disabled", "enabled"]}, "enabled: the agents publish emulated GPUs")
    variables = {"type": "object", "propertyNames": {"pattern": "^(DAS|EMULATED)_[A-Z0-9_]+$", "not": {"const": "EMULATED_MODE"}}, "additionalProperties": {"type": "string"}}
    add("settings", {}, variables, "Environment variables of operator and extender, by name: DAS_PLACEMENT_POLICY: fragmin (docs/das.md, Settings)")
    spec = configuration["spec"]
    add("operator.managementState", spec["managementState"], {"enum": ["Managed", "Unmanaged", "Force", "Removed"]}, "Management of the agents, the scheduler, the webhook")
    add("operator.logLevel", spec["logLevel"], LEVELS, "Verbosity of the operands")
    add("operator.operatorLogLevel", spec["operatorLogLevel"], LEVELS, "Verbosity of the operator")
    add("operator.nodeSelector", {}, TEXTS, "Labels of nodes with agents, in addition to nvidia.com/mig.capable=true")
    add("operator.tolerations", [], {"type": "array", "items": {"type": "object"}}, "Tolerations of the agents; []: of every taint")
    add("operator.priorityClassName", "", {"type": "string"}, "PriorityClass of the agents; '': system-node-critical")
    add("operator.resources", {}, {"type": "object"}, "Requests and limits of the agents' containers; {}: requests of cpu 10m, memory 64Mi")
    add("operator.runtimeClass", None, {"type": ["string", "null"]}, "RuntimeClass of pods with slices; '': none; null: nvidia-legacy, with emulated GPUs none")
    add("replicas", operator["replicas"], {"type": "integer", "minimum": 0}, "Number of replicas of operator and extender; one of each leads")
    add("resources", container["resources"], {"type": "object"}, "Requests and limits of their containers")
    add("nodeSelector", {}, TEXTS, "Node selector of their pods")
    add("tolerations", [], {"type": "array", "items": {"type": "object"}}, "Tolerations of their pods")
    add("priorityClassName", pod["priorityClassName"], {"type": "string"}, "PriorityClass of their pods")
    add("monitoring.enabled", False, {"type": "boolean"}, "A ServiceMonitor for each component; needs the Prometheus operator's kinds")
    add("monitoring.labels", {}, TEXTS, "Additional labels of the ServiceMonitors, for the selectors of Prometheus")
    return table


def templates(files):
    texts = {}
    for file, manifests in files.items():
        name = FILES.get(file.removesuffix(".yaml"))
        for manifest in manifests if name else ():
            holes = Holes()
            one = with_namespace(copy.deepcopy(manifest), holes)
            if one["kind"] in CHANGES:
                CHANGES[one["kind"]](one, holes)
            texts[name] = texts.get(name, "") + "---\n" + holes.print(one)
    made = {}
    for name, text in texts.items():
        condition = CONDITIONS.get(name)
        made[f"templates/{name}.yaml"] = HEAD + (f"{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n" if condition else text)
    return made


def das_chart(files, version):
    """The chart's files by path; `files`: manifests of deploy/das by name."""
    table = table_of(files)
    head = ["Values of the chart, with their defaults. Generated from deploy/das by scripts/deploy generate.", "helm refuses values that values.schema.json does not contain."]
    about = {
        "apiVersion": "v2",
        "name": "das",
        "description": "Slices of GPUs on demand: operator, webhook, scheduler and agents of DAS",
        "type": "application",
        "version": version,
        "appVersion": version,
        "kubeVersion": ">=1.28.0-0",
        "keywords": ["gpu", "mig", "scheduling"],
    }
    return {
        "Chart.yaml": HEAD + dump(about),
        "values.yaml": table.values_yaml(head),
        "values.schema.json": table.schema_json("Values of the das chart"),
        "README.md": README + table.table_md(),
        "templates/NOTES.txt": NOTES,
        "templates/uninstall.yaml": HEAD + UNINSTALL,
        **{f"crds/{name.removeprefix('00_')}": HEAD + dump(one) for name, (one, *_) in files.items() if name.endswith(".crd.yaml")},
        **templates(files),
    }
