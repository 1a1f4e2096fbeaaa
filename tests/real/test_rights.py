# SPDX-License-Identifier: Apache-2.0
"""Every way of installing with the token of its own account, an audit log, and admission plugin OwnerReferencesPermissionEnforcement: no
request is refused for lack of a right, and each right is used, but for those with a reason. On the embedded server (without the plugin)
and on the real control plane."""

import contextlib
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import pytest
import yaml
from conftest import SCRIPT, HERE, RealLab
from replica import Replica
from support import ATHANOR, KUBECTL, ROOT, Lab, free_port, run, wait_for
from test_go_clients import built

sys.path.insert(0, str(HERE.parent / "e2e/deploy"))
from manifests import Way, expanded, load, rights_of  # noqa: E402

DEPLOY = ROOT / "deploy"
SLOW = 120.0
IMAGE = "registry.example/athanor:1"
ACCOUNTS = "system:serviceaccount:"
POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}, {"level": "None"}],
}
# What the lab does not run itself.
INSTALLED = (
    "appwrapper", "appwrapper-nodes", "das-claims", "das-daemonset", "das-operator", "emulated-machine-config", "fournos-gc-jobs", "fournos-gc-pipelineruns",
    "fournos-gc-secrets", "fournos-gc-workloads", "fournos-labelled", "fournoscluster", "fournosjob", "hearth-discovery", "hearth-queue", "hearth-sentinels", "numaresources",
    "numaresources-hosted-kubeletconfig", "numaresources-kubeletconfig", "numaresourcesscheduler",
)  # fmt: skip
# --- rights that no request below uses, and requests that are refused, with their reasons -------------------------
ASKED = "asked by the authorizer beside a request: finalizers where an owner is written, delete where owners change"
LATER = "objects that the exercise does not change, end or have: other tests use them (docs/testing.md)"
NODES = "of agents that the process emulates (EMULATED_MODE=enabled), and of pods that hold slices"
CONTRACT = "upstream's role (docs/spec/numa.md 5.3, docs/spec/appwrapper.md 8.7): what upstream's own operator calls"
WRAPPED = "kinds that may be wrapped: those of the AppWrapper here are a pod and a Service"
DEFINITIONS = "upstream's role may list definitions and not watch them"
RENEWED = "at the next renewal of a Lease or a certificate"
OWNED = "serviceaccounts services customresourcedefinitions daemonsets deployments networkpolicies clusterroles clusterrolebindings roles rolebindings validatingadmissionpolicies validatingadmissionpolicybindings"
LIVE = "a last look past the cache, before absence makes something final"
# With upstream's role: kinds that can be wrapped once an administrator grants them (docs/appwrapper.md), listed every 60 to 90 s; and
# definitions, which may be listed and not watched.
REFUSED = {
    *(("list", group, resource) for group, resource in (
        ("", "configmaps"), ("", "persistentvolumeclaims"), ("", "serviceaccounts"), ("apps", "daemonsets"), ("apps", "replicasets"), ("kubeflow.org", "jaxjobs"),
        ("kubeflow.org", "mpijobs"), ("kubeflow.org", "paddlejobs"), ("kubeflow.org", "tfjobs"), ("kubeflow.org", "xgboostjobs"),
        ("leaderworkerset.x-k8s.io", "leaderworkersets"), ("networking.k8s.io", "ingresses"), ("networking.k8s.io", "networkpolicies"),
        ("rbac.authorization.k8s.io", "rolebindings"), ("rbac.authorization.k8s.io", "roles"))),
    ("watch", "apiextensions.k8s.io", "customresourcedefinitions"),
}  # fmt: skip
# By exercise, and "render" or "process" for the roles of upstream: (verbs, resources, reason); no verbs: all.
EXCUSED = {
    "numa": [
        ("delete", OWNED, ASKED), ("create delete get update", "configmaps", "of KubeletConfigs, which are OpenShift's"), ("create patch", "events", LATER),
        ("update", "leases", RENEWED),
    ],
    "render": [
        ("get update", OWNED, CONTRACT), ("create patch update", "events", CONTRACT), ("delete list patch watch", "leases", CONTRACT),
        ("create", "tokenreviews subjectaccessreviews", "scrapes of the protected metrics"), ("get update", "configmaps", CONTRACT),
        ("get update", "numaresourcesoperators numaresourcesschedulers numaresourcesoperators/status numaresourcesschedulers/status", CONTRACT),
        ("", "noderesourcetopologies", CONTRACT), ("update", "networkpolicies", CONTRACT), ("get", "pods", "the image of its own pod"),
    ],
    "das": [
        ("", "nodeaccelerators nodeaccelerators/status nodeaccelerators/finalizers", NODES), ("delete patch", "allocationclaims allocationclaims/status", NODES),
        ("get", "nodes pods", NODES), ("delete", "pods", "of slices that do not outlive a restart of their node"), ("patch delete create", "services", "where OpenShift signs certificates of Services"), ("create patch", "events", LATER),
        ("update", "leases secrets", RENEWED), ("update", "validatingwebhookconfigurations", "both kinds are looked after; DAS has one"),
        ("create", "tokenreviews subjectaccessreviews", "scrapes of the protected metrics"), ("create delete patch", "mutatingwebhookconfigurations configmaps deployments", LATER),
        ("delete", OWNED, ASKED), ("patch", "dasoperators", "a finalizer, where the webhooks are this process's"),
    ],
    "appwrapper": [
        ("create delete get list watch", "persistentvolumeclaims configmaps secrets serviceaccounts daemonsets deployments replicasets statefulsets jobs jobsets jaxjobs "
         "mpijobs paddlejobs pytorchjobs tfjobs xgboostjobs leaderworkersets ingresses networkpolicies rayclusters rayjobs rolebindings roles podgroups pods services", WRAPPED),
        ("create", "subjectaccessreviews", "asked by the webhooks"), ("delete get", "appwrappers", LIVE), ("create patch", "events", LATER), ("update", "leases", RENEWED),
    ],
    "process": [
        ("patch update", "configmaps", CONTRACT), ("create patch update watch", "events", CONTRACT), ("", "leases", CONTRACT), ("create update", "appwrappers", CONTRACT),
        ("get", "nodes secrets mutatingwebhookconfigurations validatingwebhookconfigurations", CONTRACT), ("get update", "appwrappers/status", CONTRACT),
        ("create", "tokenreviews", "scrapes of the protected metrics"),
    ],
    "jobs": [
        ("create delete patch get", "secrets", "jobs and clusters with secrets"), ("create delete get", "jobs", "jobs without hardware are resolved"),
        ("create get patch", "fournosclusters fournosclusters/status", "clusters: no kubeconfig is given here"), ("delete", "fournosjobs", "a time to live"),
        ("create delete get patch", "resourceflavors", "one for each cluster"), ("get patch", "clusterqueues", "quota of each cluster"),
        ("get", "workloadpriorityclasses workloads pipelines pipelineruns", LIVE), ("delete patch", "pipelineruns", "a job that is stopped"),
        ("patch", "events", LATER), ("update", "leases", RENEWED),
        ("patch", "cronjobs", "schedules that are paused until a time"),
    ],
}  # fmt: skip


class Audited:
    """What both servers have."""

    def prepare(self):
        self.data.mkdir(parents=True, exist_ok=True)
        self.policy, self.audit = self.data.parent / "policy.yaml", self.data.parent / "audit.log"
        self.policy.write_text(yaml.safe_dump(POLICY), encoding="utf-8")

    def apply(self, *objects):
        order = {"Namespace": 0, "CustomResourceDefinition": 1}
        text = "---\n".join(yaml.safe_dump(one) for one in sorted(objects, key=lambda one: order.get(one["kind"], 2)))
        return self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=text, timeout=SLOW)

    def delete(self, *objects):
        text = "---\n".join(yaml.safe_dump(one) for one in objects if one["kind"] not in ("Namespace", "CustomResourceDefinition"))
        self.kubectl("delete", "--ignore-not-found", "--wait=false", "-f", "-", stdin=text, timeout=SLOW)

    def requests(self, user):
        """((verb, group, resource), code) of each request of an account."""
        for line in self.audit.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            about = event.get("objectRef")
            if about is None or event["user"]["username"] != user:
                continue
            resource = about["resource"] + ("/" + about["subresource"] if "subresource" in about else "")
            yield (event["verb"], about.get("apiGroup", ""), resource), event.get("responseStatus", {}).get("code", 0), event

    def kubeconfig_of(self, namespace, account):
        token = self.kubectl("create", "token", account, "-n", namespace, "--duration=2h").out.strip()
        config = yaml.safe_load(self.kubeconfig.read_text(encoding="utf-8"))
        config["users"][0]["user"] = {"token": token}
        path = self.data.parent / f"{namespace}.{account}.kubeconfig"
        path.write_text(yaml.safe_dump(config), encoding="utf-8")
        return path


class Plane(Audited, RealLab):
    def start(self):
        self.prepare()
        flags = f"--audit-log-path={self.audit} --audit-policy-file={self.policy} --audit-log-mode=blocking --audit-log-maxsize=2000"
        env = {
            **os.environ, "REAL_ADMISSION": "NodeRestriction,OwnerReferencesPermissionEnforcement", "APISERVER_FLAGS": flags,
            "KCM_FLAGS": "--controllers=*,-node-lifecycle-controller",
        }
        done = subprocess.run([SCRIPT, "up", self.data, "kcm", "scheduler"], capture_output=True, text=True, check=False, env=env)
        assert done.returncode == 0, done.stderr
        self._load_credentials()
        return self


class Embedded(Audited, Lab):
    def start(self):
        self.prepare()
        return super().start()


def embedded(folder):
    lab = Embedded(folder / "lab", ["--storage", "memory", "--pods", "timed", "--set", "NUMA_EMULATE_OPENSHIFT=false", "--controllers", ",".join(["*", *(f"-{one}" for one in INSTALLED)])])
    lab.prepare()
    lab.args += ["--audit-log-path", str(lab.audit), "--audit-policy-file", str(lab.policy)]
    return lab


def add_nodes(plane):
    """Emulated nodes: a control plane, a worker, and two that take no pods, of pools of their own."""
    for name, role in (("cp-1", "control-plane"), ("wk-1", "worker"), ("closed-1", "nowhere"), ("closed-2", "elsewhere")):
        plane.apply({
            "apiVersion": "v1", "kind": "Node", "spec": {"taints": [{"key": "closed", "effect": "NoSchedule"}] if name.startswith("closed") else []},
            "metadata": {
                "name": name, "labels": {"athanor.dev/emulated": "true", "kubernetes.io/os": "linux", "kubernetes.io/hostname": name, f"node-role.kubernetes.io/{role}": ""},
                "annotations": {"athanor.dev/capacity": json.dumps({"cpu": "16", "memory": "64Gi", "pods": "500"})},
            },
        })  # fmt: skip


def start_helpers(plane, folder):
    """Queueing, pipelines and nodes on the real API server, by this program."""
    plane.kubectl("apply", "--server-side", "-f", "-", stdin=run([ATHANOR, "crds", "--all"]).out)
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    command = [ATHANOR, "controllers", "--kubeconfig", plane.kubeconfig, "--controllers", "kueue,tekton,nodes", "--all-namespaces"]
    return Replica([*command, "--leader-elect=false", "--metrics-address", "127.0.0.1:0"], folder / "helpers.log")


@pytest.fixture(scope="module", params=["embedded", "real"])
def plane(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    one = embedded(folder) if request.param == "embedded" else Plane(folder / "plane")
    helpers = None
    try:
        one.start()
        if request.param == "real":
            helpers = start_helpers(one, folder)
        add_nodes(one)
        yield one
    finally:
        if helpers is not None and helpers.process.poll() is None:
            helpers.end()
        one.close()


# --- what is installed, and what its account is asked to do --------------------------------------------------
def output(*command, env=None):
    done = run(command, env=env and {**os.environ, **env})
    assert done.code == 0, done.err
    return done.out


def files(folder, *patterns):
    return [one for pattern in patterns for path in sorted((DEPLOY / folder).glob(pattern)) for one in load(path.read_text(encoding="utf-8"))]


def kustomized(folder, deploy=DEPLOY):
    return load(output(KUBECTL, "kustomize", deploy / folder))


def with_namespace(objects, name):
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, *objects]


def printed(controllers, *flags, env=None):
    """`athanor crds` and `athanor rbac`, and the Deployment's command as an administrator writes it."""
    command = ["controllers", f"--controllers={controllers}", "--metrics-address=:8080", *flags]
    environment = [{"name": key, "value": value} for key, value in (env or {}).items()]
    environment += [{"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}]
    container = {"name": "athanor", "image": IMAGE, "args": command, "env": environment}
    labels = {"app.kubernetes.io/name": "athanor", "app.kubernetes.io/component": "controllers"}
    deployment = {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "athanor", "namespace": "athanor-system"},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"serviceAccountName": "athanor", "containers": [container]}},
        },
    }
    return with_namespace([*load(output(ATHANOR, "rbac", f"--controllers={controllers}", env=env)), deployment], "athanor-system")


PLACES = {
    "FOURNOS_WORKLOAD_NAMESPACE": "psap-automation", "FOURNOS_SECRETS_NAMESPACE": "psap-secrets", "HEARTH_NAMESPACE": "hearth",
    "HEARTH_SECRETS_NAMESPACE": "psap-secrets", "HEARTH_EXECUTION_NAMESPACE": "psap-automation",
}  # fmt: skip


class Process(Replica):
    """The container of a Deployment as a process here: its flags, variables, files and account, on ports of this machine."""

    def __init__(self, plane, objects, deployment, address="127.0.0.1", program=ATHANOR, served=None):
        pod = deployment["spec"]["template"]["spec"]
        namespace, (container,) = deployment["metadata"]["namespace"], pod["containers"]
        fields = {"metadata.name": "pod-0", "metadata.namespace": namespace}
        environment = {one["name"]: one.get("value") or fields[one["valueFrom"]["fieldRef"]["fieldPath"]] for one in container.get("env", [])}
        self.webhooks = free_port()
        words = [str(one) for one in [*container.get("command", [])[1:], *container.get("args", [])]]
        health = f"{address}:{free_port()}"  # of its own: with the address of the metrics it would be behind their token
        words = [re.sub(r"^(--metrics-address=).*:\d+$", rf"\g<1>{address}:0", one) for one in words]
        words = [re.sub(r"^(--health-address=).*:\d+$", rf"\g<1>{health}", one) for one in words]
        words = [re.sub(r"^(--webhook-address=).*$", rf"\g<1>{address}:{self.webhooks}", one) for one in words]
        if words[:1] == ["controllers"] and any(one.startswith("--systems=") for one in words):  # settings of upstream's have the ports of a pod; these flags win
            own = {"health": health, "metrics": f"{address}:0", "webhook": f"{address}:{self.webhooks}"}
            words += [f"--{name}-address={where}" for name, where in own.items() if not any(word.startswith(f"--{name}-address=") for word in words)]
        self.served = served or free_port()
        words = [re.sub(r"^(--address=).*$", rf"\g<1>{address}:{self.served}", one) for one in words]
        folder = plane.data.parent / f"pod-{time.monotonic_ns()}"
        for volume in pod.get("volumes", []):
            (mount,) = [one for one in container["volumeMounts"] if one["name"] == volume["name"]]
            for one in objects:
                if one["kind"] == "ConfigMap" and one["metadata"]["name"] == volume.get("configMap", {}).get("name"):
                    folder.mkdir(exist_ok=True)
                    for key, text in one["data"].items():
                        (folder / key).write_text(text.replace(": :", f": {address}:0 #"), encoding="utf-8")
                    words = [word.replace(mount["mountPath"], str(folder)) for word in words]
        self.account = pod["serviceAccountName"]
        self.user = f"{ACCOUNTS}{namespace}:{self.account}"
        self.namespace = namespace
        config = plane.kubeconfig_of(namespace, self.account)
        self.began = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        log = plane.data.parent / f"{deployment['metadata']['name']}-{time.monotonic_ns()}.log"
        super().__init__([program, *words, "--kubeconfig", config, "--log-format", "json"], log, env={**os.environ, "SCHEDULER_IMAGE_VALIDATION": "false", **environment})


def write_own_node_alone(plane, account, names, writes, texts):
    """Of an account's tokens, the one that is bound to the first node may make these writes (dry runs), as (method, path, body); one of the
    second node and one that is bound to none are told why not."""
    namespace, name = account

    def token_of(node):
        bound = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": plane.get(f"/api/v1/nodes/{node}")["metadata"]["uid"]} if node else None
        answer = plane.http("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token", {"spec": {"boundObjectRef": bound} if bound else {}})
        assert answer.code == 201, answer.text
        return answer.json["status"]["token"]

    def answers(node):
        token = token_of(node)
        return [
            plane.http(method, f"{path}?dryRun=All", body, token=token, content_type="application/merge-patch+json" if method == "PATCH" else "application/json")
            for method, path, body in writes
        ]  # fmt: skip

    for node, text in ((names[1], texts[0]), (None, texts[1])):
        wait_for(f"{node} is refused", lambda node=node, text=text: all(one.code in (403, 422) and text in one.text for one in answers(node)), SLOW)
    wait_for("its own are taken", lambda: all(one.code in (200, 201) for one in answers(names[0])), SLOW)


NUMA = {
    "operator": ("NUMAResourcesOperator", "numaresourcesoperator", {"nodeGroups": [{"poolName": "nowhere"}]}),
    "scheduler": ("NUMAResourcesScheduler", "numaresourcesscheduler", {"imageSpec": IMAGE, "replicas": 1}),
}


def add_numa(plane):
    """Both custom resources."""
    for kind, name, spec in NUMA.values():
        plane.apply({"apiVersion": "nodetopology.openshift.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})


def numa_is_in_place(plane, short):
    _, name, _ = NUMA[short]
    status = plane.get(f"/apis/nodetopology.openshift.io/v1/{name}s/{name}").get("status", {})
    held = {c["type"] for c in status.get("conditions", []) if c["status"] == "True"}
    assert "Degraded" not in held, status
    return "Available" in held or ("Progressing" in held and short == "operator")  # no node of its pools takes pods


def wait_for_numa(plane):
    for short in NUMA:
        wait_for(f"the {short} of zones is in place", lambda short=short: numa_is_in_place(plane, short), SLOW)


def numa(plane, _process):
    """Both custom resources, what is changed comes back, and owners that change."""

    def owner(path):
        return [one["uid"] for one in plane.get(path)["metadata"].get("ownerReferences", [])]

    add_numa(plane)
    wait_for_numa(plane)
    zones = {"apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology", "metadata": {"name": "closed-1"}, "topologyPolicies": [], "zones": []}
    write_own_node_alone(
        plane, ("numaresources", "rte"), ("closed-1", "closed-2"), [("POST", "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies", zones)],
        ("an exporter writes objects of its own node alone", "the token of an exporter must be bound to its pod or node"),
    )  # fmt: skip
    crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/noderesourcetopologies.topology.node.k8s.io"
    assert owner(crd), "the definition was applied before, and is owned"
    account = "/api/v1/namespaces/numaresources/serviceaccounts/rte"
    wait_for("its account", lambda: plane.http("GET", account).code == 200, SLOW)
    plane.kubectl("delete", "serviceaccount", "rte", "-n", "numaresources")
    wait_for("its account again", lambda: plane.http("GET", account).code == 200, SLOW)
    role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/rte"
    ours = plane.get(role)["rules"]
    addition = [{"op": "add", "path": "/rules/-", "value": {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}}]
    plane.kubectl("patch", "clusterrole", "rte", "--type=json", "-p", json.dumps(addition))
    wait_for("a rule that somebody added is gone", lambda: plane.get(role)["rules"] == ours, SLOW)
    plane.kubectl("patch", "numaresourcesoperator", "numaresourcesoperator", "--type=merge", "-p", json.dumps({"spec": {"nodeGroups": [{"poolName": "elsewhere"}]}}))
    sets = "/apis/apps/v1/namespaces/numaresources/daemonsets/numaresourcesoperator-"
    wait_for("the pool's agents are gone", lambda: [plane.http("GET", sets + one).code for one in ("nowhere", "elsewhere")] == [404, 200], SLOW)
    before = owner(crd)
    both = ("numaresourcesoperator/numaresourcesoperator", "numaresourcesscheduler/numaresourcesscheduler")
    plane.kubectl("delete", *both, "--cascade=orphan", "--timeout=60s")
    add_numa(plane)
    wait_for("the definition has its new owner", lambda: owner(crd) and owner(crd) != before, SLOW)
    wait_for_numa(plane)
    held = granted_to_operands(plane)
    plane.kubectl("delete", *both, "--timeout=60s")
    return held


def das(plane, process):
    """Operands, what is changed comes back, and the end of everything."""
    path = f"/apis/inference.redhat.com/v1alpha1/namespaces/{process.namespace}/dasoperators/cluster"
    configuration = {"apiVersion": "inference.redhat.com/v1alpha1", "kind": "DASOperator", "metadata": {"name": "cluster", "namespace": process.namespace}}
    plane.apply({**configuration, "spec": {"managementState": "Managed", "logLevel": "Normal", "operatorLogLevel": "Normal"}})
    agents = f"/apis/apps/v1/namespaces/{process.namespace}/daemonsets/das-daemonset"
    wait_for("the agents", lambda: plane.http("GET", agents).code == 200, SLOW)
    plane.kubectl("delete", "daemonset", "das-daemonset", "-n", process.namespace)
    wait_for("the agents again", lambda: plane.http("GET", agents).code == 200, SLOW)
    wait_for("a status", lambda: plane.get(path).get("status", {}).get("conditions"), SLOW)
    accelerator = {
        "apiVersion": "inference.redhat.com/v1alpha1", "kind": "NodeAccelerator", "metadata": {"name": "closed-1", "namespace": process.namespace},
        "spec": {"acceleratorType": "nvidia-mig"},
    }  # fmt: skip
    plane.apply(accelerator)
    accelerators = f"/apis/inference.redhat.com/v1alpha1/namespaces/{process.namespace}/nodeaccelerators/closed-1"
    writes = [("PATCH", accelerators, {"metadata": {"labels": {"touched": "yes"}}}), ("PATCH", "/api/v1/nodes/closed-1/status", {"status": {"capacity": {"x.y/z": "1"}}})]
    write_own_node_alone(
        plane, (process.namespace, "das-daemonset"), ("closed-1", "closed-2"), writes,
        ("an agent writes objects of its own node alone", "the token of an agent must be bound to its pod or node"),
    )  # fmt: skip
    plane.delete(accelerator)
    change = {"spec": {"managementState": "Removed"}}
    assert plane.http("PATCH", path, change, content_type="application/merge-patch+json").code == 200
    wait_for("the agents are gone", lambda: plane.http("GET", agents).code == 404, SLOW)
    plane.kubectl("delete", "dasoperator", "cluster", "-n", process.namespace, "--timeout=60s")


def appwrapper(plane, process):
    """A whole life, and a Secret that somebody deletes."""
    secret = [word.split("=")[1] for word in process.process.args if str(word).startswith("--webhook-secret=")] or ["appwrapper-webhook-server-cert"]
    path = f"/api/v1/namespaces/{process.namespace}/secrets/{secret[0]}"
    if process.serves_webhooks:
        wait_for("a certificate", lambda: "tls.crt" in plane.get(path).get("data", {}), SLOW)
        assert plane.http("DELETE", path).code == 200
        wait_for("another certificate", lambda: "tls.crt" in plane.get(path).get("data", {}), SLOW)
    pods = {"name": "c", "image": "busybox", "command": ["true"], "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {"name": "aw-pod"}, "apiVersion": "v1", "kind": "Pod", "spec": {"restartPolicy": "Never", "containers": [pods]}}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "aw-service"}, "spec": {"ports": [{"port": 80}]}}
    body = {
        "apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": {"name": "rights"},
        "spec": {"suspend": False, "components": [{"template": template}, {"template": service}]},
    }
    collection = "/apis/workload.codeflare.dev/v1beta2/namespaces/default/appwrappers"
    wait_for("it is created", lambda: plane.http("POST", collection, body).code in (201, 409), SLOW)
    wait_for("it succeeds", lambda: plane.get(f"{collection}/rights").get("status", {}).get("phase") == "Succeeded", SLOW)
    plane.kubectl("delete", "appwrapper", "rights", "-n", "default", "--timeout=60s")


def jobs(plane, _process):
    """The sample job, from its creation to its end."""
    for file in sorted((ROOT / "examples/fournos/setup").glob("*.yaml")):
        text = file.read_text(encoding="utf-8").replace("fournos-local-dev", "psap-automation")
        plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=text, timeout=SLOW)
    text = (ROOT / "examples/fournos/sample-job.yaml").read_text(encoding="utf-8").replace("fournos-local-dev", "psap-automation")
    made = plane.kubectl("create", "-f", "-", "-o", "name", stdin=text).out.strip()
    plane.wait_phase(made.rsplit("/", 1)[1], "Succeeded", "psap-automation", SLOW)
    plane.kubectl("delete", made, "-n", "psap-automation", "--timeout=60s")


def bundle_of_numa():
    """As OLM installs it into a namespace of its own."""
    with tempfile.TemporaryDirectory() as folder:
        output(ATHANOR, "numa", "bundle", f"--output={folder}/bundle", f"--image={IMAGE}")
        objects = [one for path in sorted(pathlib.Path(folder).glob("bundle/manifests/*.yaml")) for one in load(path.read_text(encoding="utf-8"))]
    for one in objects:
        if one["kind"] == "ClusterServiceVersion":
            one["metadata"]["namespace"] = "numaresources"
    return with_namespace(expanded(objects), "numaresources")


def rights_of_agents(namespace):
    return load(output(ATHANOR.parent / "athanor-agent", "rbac", f"--namespace={namespace}"))


def chart(name, namespace):
    """As `helm install` does it."""
    helm = built("helm.sh/helm/v3/cmd/helm", "helm", "helm")
    release = output(helm, "template", name, DEPLOY / "chart" / name, "-n", namespace, "--kube-version", "1.35.4", "--no-hooks", "--include-crds")
    return with_namespace(load(release), namespace)


WAYS = {
    "numa render": (lambda: load(output(ATHANOR, "numa", "render", f"--render-image={IMAGE}")), "numaresources-controller-manager", numa),
    "numa, OLM": (bundle_of_numa, "numaresources-controller-manager", numa),
    "rbac of numa": (lambda: with_namespace(printed("numa"), "numaresources"), "athanor", numa),
    "deploy-das": (lambda: kustomized("das"), "das-operator", das),
    "das, OLM": (lambda: expanded(files("das/bundle/manifests", "*.yaml")), "das-operator", das),
    "chart das": (lambda: chart("das", "das-operator"), "das-operator", das),
    "rbac of das": (
        lambda: with_namespace([*printed("das", "-A", env={"INSTASLICE_NAMESPACE": "athanor-system"}), *rights_of_agents("athanor-system")], "das-operator"), "athanor", das,
    ),
    "appwrapper": (lambda: kustomized("appwrapper/default"), "appwrapper-controller-manager", appwrapper),
    "rbac of appwrapper": (lambda: printed("appwrapper"), "athanor", appwrapper),
    "kustomize": (lambda: kustomized("kustomize/overlays/default"), "athanor-controllers", jobs),
    # The account athanor; the part `console` has the console's, test_operators.py the rights of queueing.
    **{f"overlay {one}": (lambda one=one: kustomized(f"kustomize/overlays/{one}"), "athanor-controllers", jobs) for one in ("production", "openshift", "console")},
    "chart athanor": (lambda: chart("athanor", "athanor-system"), "athanor-controllers", jobs),
    "rbac of fournos and hearth": (
        lambda: [one for one in kustomized("kustomize/base") if one["kind"] == "Namespace"] + printed("fournos,hearth", env=PLACES), "athanor", jobs,
    ),
}  # fmt: skip


def let_in(plane, objects):
    """The API server does not reach the process under the Service's name: tests of webhooks are elsewhere."""
    for one in objects:
        if one["kind"].endswith("WebhookConfiguration"):
            change = [{"op": "add", "path": f"/webhooks/{i}/failurePolicy", "value": "Ignore"} for i in range(len(one["webhooks"]))]
            plane.kubectl("patch", one["kind"].lower(), one["metadata"]["name"], "--type=json", "-p", json.dumps(change))


NOT_INSTALLED = ("ClusterServiceVersion", "ServiceMonitor", "PrometheusRule", "ImageStream")  # there is no OLM, no Prometheus, no OpenShift


@contextlib.contextmanager
def installed(plane, way):
    objects, name, _ = WAYS[way]
    objects = objects()
    applied = [one for one in objects if one["kind"] not in NOT_INSTALLED]
    plane.apply(*applied)
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    let_in(plane, objects)
    (deployment,) = [one for one in objects if one["kind"] == "Deployment" and one["metadata"]["name"] == name]
    process = Process(plane, objects, deployment)
    process.serves_webhooks = any(one["kind"].endswith("WebhookConfiguration") for one in objects)
    try:
        wait_for(f"{way} is ready", process.ready, SLOW)
        yield process, objects
    except BaseException:
        print(process.text[-6000:])
        raise
    finally:
        process.end()
        plane.kubectl("delete", "leases,deployments,daemonsets,configmaps,secrets", "--all", "-n", process.namespace)
        plane.delete(*applied)


def granted_to_operands(plane):
    """The roles that the NUMA operator makes: a role cannot be granted by someone who lacks it."""
    roles = json.loads(plane.kubectl("get", "clusterroles,roles", "-A", "-o", "json").out)["items"]
    names = ("rte", "topology-aware-scheduler", "topology-aware-scheduler-leader-elect")
    return {right[:3] for one in roles if one["metadata"]["name"] in names for right in rights_of(one["rules"])}


def reasons(way, used, operands):
    """What excuses an unused right: a function of it."""
    exercise = WAYS[way][2].__name__
    tables = EXCUSED[exercise] + (EXCUSED["render"] if way in ("numa render", "numa, OLM") else EXCUSED["process"] if way == "appwrapper" else [])

    def reason(right):
        verb, group, resource = right
        if verb == "create" and ("patch", group, resource) in used:
            return "objects are applied: the right is asked for beside the patch"
        if verb == "update" and resource.endswith("/finalizers"):
            return ASKED
        if group.endswith(".openshift.io") and group != "nodetopology.openshift.io":
            return "OpenShift's kinds"
        if right in operands:
            return "granted to operands: a role cannot be granted by someone who lacks it"
        for verbs, resources, why in tables:
            if resource in resources.split() and (not verbs or verb in verbs.split()):
                return why
        return None

    return reason


@pytest.mark.parametrize("way", WAYS)
def test_rights_are_enough_and_used(plane, way):
    with installed(plane, way) as (process, objects):
        operands = WAYS[way][2](plane, process) or set()
        made = [(what, code) for what, code, event in plane.requests(process.user) if event["requestReceivedTimestamp"] >= process.began]
    used = {what for what, _ in made}
    refused = {what for what, code in made if code == 403}
    excused = refused & REFUSED if way == "appwrapper" else set()
    assert not refused - excused, refused - excused
    assert way != "appwrapper" or excused == REFUSED, f"excused, and not asked for: {REFUSED - excused}"
    granted = {right[:3] for right in Way(objects).rights(process.namespace, process.account)}
    reason = reasons(way, used, operands)
    unused = {right: reason(right) for right in granted - used}
    note_row(plane, way, len(granted), len(granted & used), unused, len(made), refused - excused, excused)
    assert not {right for right, why in unused.items() if why is None}


def note_row(plane, way, granted, used, unused, requests, refused, excused):
    """Adds a row to the table of ways (build/rights.txt), and prints it."""
    server = "embedded" if isinstance(plane, Embedded) else "real"
    without = sum(why is None for why in unused.values())
    row = f"{way:28} {server:9} {granted:6} {used:5} {len(unused) - without:7} {without:8} {requests:9} {len(refused):8} {len(excused):7}"
    print(row)
    for verb, group, resource in sorted(excused):
        print(f"    refused and excused: {verb} {resource}.{group}: {DEFINITIONS if group == 'apiextensions.k8s.io' else WRAPPED}")
    table = ROOT / "build/rights.txt"
    known = table.read_text(encoding="utf-8").splitlines()[1:] if table.exists() else []
    rows = sorted({one[:38]: one for one in [*known, row]}.values())
    head = f"{'way':28} {'server':9} rights  used  excused  unused   requests  refused excused"
    table.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")


def test_every_excuse_is_needed():
    """Each row of EXCUSED names rights that some way grants."""
    granted = {name: set() for name in EXCUSED}
    for way, (objects, name, exercise) in WAYS.items():
        made = objects()
        (deployment,) = [one for one in made if one["kind"] == "Deployment" and one["metadata"]["name"] == name]
        rights = {right[:3] for right in Way(made).rights(deployment["metadata"]["namespace"], deployment["spec"]["template"]["spec"]["serviceAccountName"])}
        for table in (exercise.__name__, {"numa render": "render", "numa, OLM": "render", "appwrapper": "process"}.get(way)):
            granted.setdefault(table, set()).update(rights)
    idle = [
        (table, verbs, resource)
        for table, rows in EXCUSED.items() for verbs, resources, _ in rows for resource in resources.split()
        if resources != OWNED and not any(right[2] == resource and (not verbs or right[0] in verbs.split()) for right in granted[table])
    ]  # fmt: skip
    assert idle == []
