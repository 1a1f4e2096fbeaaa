# SPDX-License-Identifier: Apache-2.0
"""The real Kueue, Tekton and AppWrapper manager on the real control plane, installed from the files of their own modules (tests/real/stack).

Their programs run here as processes with the accounts, flags and variables of their Deployments. The API server reaches their webhooks under
the names of their Services: each gets an EndpointSlice with ADDRESS, which `scripts/test-real stack` gives to the loopback device of a network
namespace of its own.
"""

import base64
import http.client
import json
import os
import pathlib
import threading

import yaml
from replica import Replica
from support import KUBECTL, run, wait_for
from test_go_clients import built, go
from test_rights import HERE, SLOW, Plane, load

ADDRESS = "192.0.2.1"
MODULE = HERE / "stack"
# All pods share this machine's ports, and the AppWrapper controller has 8081, 8443 and 9443.
KUEUE_WEBHOOKS, TEKTON_WEBHOOKS = 19443, 19444
KUEUE, TEKTON, APPWRAPPER = "sigs.k8s.io/kueue", "github.com/tektoncd/pipeline", "github.com/project-codeflare/appwrapper"
PROGRAMS = {
    "kueue": f"{KUEUE}/cmd/kueue", "tekton-controller": f"{TEKTON}/cmd/controller", "tekton-webhook": f"{TEKTON}/cmd/webhook", "appwrapper": f"{APPWRAPPER}/cmd",
}
# What a pod alone can run or serve: Kueue's own API needs the account of a pod's file.
NOT_HERE = ("HorizontalPodAutoscaler", "ServiceMonitor", "ClusterServiceVersion", "APIService")


def folder_of(module):
    done = go("list", "-m", "-f", "{{.Dir}}", module, cwd=MODULE)
    assert done.code == 0, done.err
    return pathlib.Path(done.out.strip())


def build():
    """Builds the programs, with the network that their modules may need."""
    return {name: built(package, "stack", name) for name, package in PROGRAMS.items()}


class Foreign(Replica):
    """The container of a Deployment as a process, with the token of its account."""

    def __init__(self, plane, program, deployment, more=(), **environment):
        self.again = lambda: Foreign(plane, program, deployment, more, **environment)  # as the kubelet starts it again
        pod = deployment["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        self.namespace = deployment["metadata"]["namespace"]
        self.user = f"system:serviceaccount:{self.namespace}:{pod['serviceAccountName']}"
        fields = {"metadata.name": "pod-0", "metadata.namespace": self.namespace}
        env = {one["name"]: one["value"] if "value" in one else fields[one["valueFrom"]["fieldRef"]["fieldPath"]] for one in container.get("env", [])}
        config = plane.kubeconfig_of(self.namespace, pod["serviceAccountName"])
        words = [*(str(one) for one in container.get("args", [])), *more]
        super().__init__([program, *words], plane.data.parent / f"{deployment['metadata']['name']}.log",
                         env={**os.environ, **env, "KUBECONFIG": str(config), "POD_NAME": "pod-0", **environment})  # fmt: skip


class Stack(Plane):
    """etcd, kube-apiserver, kube-controller-manager, kube-scheduler, Kueue and Tekton."""

    def start(self):
        self.binaries = build()
        self.programs = {}
        self.ended = threading.Event()
        super().start()
        self.start_kueue()
        self.start_tekton()
        return self

    def close(self):
        self.ended.set()
        for one in self.programs.values():
            one.end()
        super().close()

    def revive(self):
        """Starts what has ended, as the kubelet does."""
        self.programs = {name: one if one.process.poll() is None else one.again() for name, one in self.programs.items()}

    def install(self, objects):
        """Applies objects; Services lose their selectors, as the processes are no pods, and get their endpoints. Returns the Deployments."""
        deployments = [one for one in objects if one["kind"] == "Deployment"]
        kept = [one for one in objects if one["kind"] not in ("Deployment", *NOT_HERE)]
        for one in kept:
            if one["kind"] == "Service":
                one["spec"].pop("selector", None)
        self.apply(*[one for one in kept if one["kind"] in ("Namespace", "CustomResourceDefinition")])
        wait_for("the definitions are served", self.definitions_are_served, SLOW)
        self.apply(*[one for one in kept if one["kind"] not in ("Namespace", "CustomResourceDefinition")])
        for one in kept:
            if one["kind"] == "Service":
                self.serve(one, deployments)
        return {one["metadata"]["name"]: one for one in deployments}

    def definitions_are_served(self):
        items = self.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]
        conditions = [{one["type"]: one["status"] for one in item.get("status", {}).get("conditions") or []} for item in items]
        return all(one.get("Established") == "True" for one in conditions)

    def serve(self, service, deployments, ports=None):
        """Gives a Service its endpoint: ADDRESS with the numbers that its target ports have in its namespace's containers, or `ports` by name."""
        namespace = service["metadata"]["namespace"]
        numbers = {
            port.get("name"): port["containerPort"]
            for one in deployments if one["metadata"]["namespace"] == namespace
            for container in one["spec"]["template"]["spec"]["containers"] for port in container.get("ports", [])
        }  # fmt: skip
        made = []
        for port in service["spec"]["ports"]:
            target = port.get("targetPort", port["port"])
            number = (ports or {}).get(port.get("name", "")) or (numbers.get(target) if isinstance(target, str) else target)
            if number is not None:
                made.append({"name": port.get("name", ""), "port": number, "protocol": "TCP"})
        self.apply({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "ports": made,
            "metadata": {
                "name": f"{service['metadata']['name']}-test", "namespace": namespace,
                "labels": {"kubernetes.io/service-name": service["metadata"]["name"], "endpointslice.kubernetes.io/managed-by": "tests"},
            },
            "endpoints": [{"addresses": [ADDRESS], "conditions": {"ready": True}}],
        })  # fmt: skip

    def start_kueue(self):
        rendered = run([KUBECTL, "kustomize", folder_of(KUEUE) / "config/default"])
        assert rendered.code == 0, rendered.err
        objects = load(rendered.out)
        (deployment,) = self.install(objects).values()
        for one in objects:
            if one["kind"] == "Service" and one["metadata"]["name"] == "kueue-webhook-service":
                self.serve(one, [], {port.get("name", ""): KUEUE_WEBHOOKS for port in one["spec"]["ports"]})
        (configuration,) = [one["data"] for one in objects if one["kind"] == "ConfigMap" and "controller_manager_config.yaml" in one.get("data", {})]
        text = yaml.safe_load(configuration["controller_manager_config.yaml"])
        certificates = self.data.parent / "kueue-certificates"
        certificates.mkdir()
        text["webhook"]["certDir"] = str(certificates)
        text["webhook"]["port"] = KUEUE_WEBHOOKS
        text["health"]["healthProbeBindAddress"], text["metrics"]["bindAddress"] = "127.0.0.1:18081", "127.0.0.1:18443"
        text["leaderElection"]["leaderElect"] = False
        # Jobs of these kinds are not served here; Kueue's default list waits for them all the same.
        text["integrations"]["frameworks"] = ["batch/job", "pod", "workload.codeflare.dev/appwrapper"]
        file = self.data.parent / "kueue.yaml"
        file.write_text(yaml.safe_dump(text), encoding="utf-8")
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        container["args"] = [one.replace("/controller_manager_config.yaml", str(file)) for one in container["args"]]
        threading.Thread(target=self.mount, args=("kueue-system", "kueue-webhook-server-cert", certificates), daemon=True).start()
        self.programs["kueue"] = Foreign(self, self.binaries["kueue"], deployment, ["--feature-gates=VisibilityOnDemand=false"])
        self.wait_for_webhook("a ResourceFlavor", {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "default"}})

    def start_tekton(self):
        config = folder_of(TEKTON) / "config"
        files = [*sorted((config / "100-namespace").glob("*.yaml")), *sorted(config.glob("*.yaml")), *sorted((config / "300-crds").glob("*.yaml"))]
        objects = [one for file in files for one in load(file.read_text(encoding="utf-8")) if one["metadata"].get("name") != "tekton-events-controller"]
        deployments = self.install(objects)
        for one in objects:
            if one["kind"] == "Service" and one["metadata"]["name"] == "tekton-pipelines-webhook":
                self.serve(one, [], {"https-webhook": TEKTON_WEBHOOKS})
        self.programs["tekton-webhook"] = Foreign(
            self, self.binaries["tekton-webhook"], deployments["tekton-pipelines-webhook"], WEBHOOK_PORT=str(TEKTON_WEBHOOKS), PROBES_PORT="8088",
        )  # fmt: skip
        self.programs["tekton"] = Foreign(
            self, self.binaries["tekton-controller"], deployments["tekton-pipelines-controller"], PROBES_PORT="8089", METRICS_PROMETHEUS_PORT="9095", SSL_CERT_FILE="/dev/null",
        )  # fmt: skip
        steps = [{"name": "s", "image": "busybox"}]
        self.wait_for_webhook("a Task", {"apiVersion": "tekton.dev/v1", "kind": "Task", "metadata": {"name": "first", "namespace": "default"}, "spec": {"steps": steps}})

    def start_appwrapper(self):
        """Upstream's AppWrapper manager with its own manifests, which have the names of deploy/appwrapper: they replace these."""
        rendered = run([KUBECTL, "kustomize", folder_of(APPWRAPPER) / "config/default"])
        assert rendered.code == 0, rendered.err
        objects = load(rendered.out)
        temporary = self.data.parent / "appwrapper"
        certificates = temporary / "k8s-webhook-server/serving-certs"  # where controller-runtime looks
        certificates.mkdir(parents=True, exist_ok=True)
        for one in objects:
            if one["kind"] == "ConfigMap" and one["metadata"]["name"] == "appwrapper-operator-config":
                text = yaml.safe_load(one["data"]["config.yaml"])
                text["certManagement"] = {**text.get("certManagement", {}), "namespace": "appwrapper-system", "certificateDir": str(certificates)}
                text["controllerManager"] = {"health": {"bindAddress": "127.0.0.1:0"}, "metrics": {"bindAddress": "127.0.0.1:0"}}
                one["data"]["config.yaml"] = yaml.safe_dump(text)
        (deployment,) = self.install(objects).values()
        threading.Thread(target=self.mount, args=("appwrapper-system", "appwrapper-webhook-server-cert", certificates), daemon=True).start()
        return Foreign(self, self.binaries["appwrapper"], deployment, NAMESPACE="appwrapper-system", TMPDIR=str(temporary))

    def mount(self, namespace, name, folder):
        """Writes a Secret's files as a kubelet does."""
        path = f"/api/v1/namespaces/{namespace}/secrets/{name}"
        while not self.ended.wait(0.2):
            try:
                answer = self.http("GET", path)
            except (OSError, http.client.HTTPException):  # the server restarts
                continue
            for key, text in (json.loads(answer.text).get("data") or {}).items() if answer.code == 200 else ():
                content = base64.b64decode(text)
                file = folder / key
                if not file.exists() or file.read_bytes() != content:
                    fresh = folder / f".{key}"
                    fresh.write_bytes(content)
                    fresh.replace(file)

    def wait_for_webhook(self, name, body):
        """Waits until an object passes the webhooks."""
        text = yaml.safe_dump(body)

        def accepted():
            ended = {name: one.text[-3000:] for name, one in self.programs.items() if one.process.poll() is not None}
            if ended:
                raise RuntimeError(f"ended: {ended}")
            return self.kubectl("apply", "--server-side", "-f", "-", stdin=text, code=None).code == 0

        try:
            wait_for(f"{name} is accepted", accepted, SLOW)
        except BaseException:
            print(self.kubectl("apply", "--server-side", "-f", "-", stdin=text, code=None).err, *(one.text[-3000:] for one in self.programs.values()))
            raise
