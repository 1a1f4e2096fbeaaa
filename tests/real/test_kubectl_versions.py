# SPDX-License-Identifier: Apache-2.0
"""kubectl of three ages (tests/real/kubectl pins them) through its verbs: each says what it should, and warns of nothing."""

import base64
import functools
import http.server
import itertools
import json
import os
import re
import subprocess
import threading
import urllib.request

import pytest
import yaml
from support import ROOT, Lab, run, wait_for

MINORS = ["1.28", "1.32", "1.35"]
_numbers = itertools.count(1)

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: c, image: "busybox:1", command: [sleep, "1000"], resources: {requests: {cpu: 10m}}}
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\ndata: {a: '%s'}\n"
CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pots.kitchen.example.com}
spec:
  group: kitchen.example.com
  scope: Namespaced
  names: {plural: pots, kind: Pot, shortNames: [po2]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    subresources: {scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, description: how much goes in}}}
          status: {type: object, properties: {size: {type: integer}}}
"""


@pytest.fixture(scope="module")
def process_lab(tmp_path_factory):
    """One lab with real processes, for all of them."""
    one = Lab(tmp_path_factory.mktemp("kubectl") / "lab")
    try:
        one.start()
        yield one
    finally:
        one.close()


@pytest.fixture(scope="module", params=MINORS)
def version(request):
    done = subprocess.run([ROOT / "scripts/kubectl", request.param], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return request.param, done.stdout.strip()


class Kubectl:
    def __init__(self, lab, version, ns):
        self.lab, self.ns = lab, ns
        self.minor, self.path = version

    def __call__(self, *args, code=0, stdin=None, env=None, quiet=True):
        done = run([self.path, "-n", self.ns, *args], env={**self.lab.env, **(env or {})}, stdin=stdin, timeout=90)
        said = f"kubectl {self.minor} {' '.join(map(str, args))}: exit {done.code}\n{done.out}\n{done.err}"
        assert code is None or done.code == code, said
        if code == 0 and quiet:
            assert not re.search(r"warning|error|unable|deprecated", done.err, re.IGNORECASE), said
        return done

    def apply(self, text, *args):
        return self("apply", "-f", "-", *args, stdin=text)


@pytest.fixture
def k(process_lab, version):
    """kubectl of one version in a namespace of its own."""
    ns = f"v{version[0].replace('.', '-')}-{next(_numbers)}"
    one = Kubectl(process_lab, version, ns)
    one("create", "namespace", ns)
    wait_for("default service account", lambda: process_lab.http("GET", f"/api/v1/namespaces/{ns}/serviceaccounts/default").code == 200)
    yield one
    process_lab.http("DELETE", f"/api/v1/namespaces/{ns}")


@pytest.fixture
def pod(k):
    k("run", "p", "--image=busybox", "--env=A=b", "--labels=run=p,tier=x", "--command", "--", "sh", "-c", "echo started; exec sleep 1000")
    k("wait", "pod/p", "--for=condition=Ready", "--timeout=60s")
    return k


@pytest.fixture
def deployment(k):
    k.apply(DEPLOYMENT)
    k("rollout", "status", "deployment/web", "--timeout=60s")
    return k


def test_it_is_the_version_that_was_asked_for(k):
    client = yaml.safe_load(k("version", "-o", "yaml", quiet=False).out)
    assert client["clientVersion"]["gitVersion"].startswith(f"v{k.minor}.")
    assert client["serverVersion"]["gitVersion"].startswith("v1.35.")


def test_discovery(k):
    resources = k("api-resources", "-o", "wide").out
    assert re.search(r"^deployments +deploy +apps/v1 +true +Deployment", resources, re.MULTILINE)
    assert "fournosjobs" in resources
    assert "apps/v1" in k("api-versions").out.split()
    assert json.loads(k("get", "--raw", "/version").out)["major"] == "1"
    assert "Kubernetes control plane" in k("cluster-info").out


def test_get_and_describe(pod):
    assert pod("get", "pod", "p", "-o", "jsonpath={.status.phase}").out == "Running"
    assert pod("get", "pods", "-o", "name").out == "pod/p\n"
    assert pod("get", "pods", "-l", "tier=x", "--field-selector=status.phase=Running", "--no-headers").out.split()[:3] == ["p", "1/1", "Running"]
    assert "NOMINATED NODE" in pod("get", "pods", "-o", "wide").out
    assert yaml.safe_load(pod("get", "pod", "p", "-o", "yaml").out)["kind"] == "Pod"
    assert "tier=x" in pod("get", "pods", "--show-labels", "--sort-by=.metadata.name").out
    described = pod("describe", "pod", "p").out
    assert "Image:" in described and "Started" in described
    assert 'pods "nope" not found' in pod("get", "pod", "nope", code=1).err
    assert "Name:" in pod("describe", "nodes").out


def test_explain(k):
    assert "minReadySeconds" in k("explain", "deployment.spec").out
    assert "replicas" in k("explain", "deployments", "--recursive").out
    assert "CONTAINERS" in k("explain", "pod.spec.containers").out.upper()


def test_logs(pod):
    wait_for("the log", lambda: pod("logs", "p").out == "started\n")
    assert pod("logs", "p", "--tail=1", "--timestamps").out.endswith(" started\n")
    assert "started" in pod("logs", "-l", "tier=x", "--prefix").out


def test_exec(pod):
    done = pod("exec", "p", "--", "sh", "-c", "echo out $A; echo err >&2; exit 3", code=3)
    assert done.out == "out b\n" and "err\n" in done.err
    text = "".join(f"line {i}\n" for i in range(20_000))
    assert pod("exec", "-i", "p", "--", "cat", stdin=text).out == text


def test_attach(pod):
    done = pod("run", "cat", "--image=busybox", "--restart=Never", "-i", "--rm", "--quiet", "--command", "--", "cat", stdin="from stdin\n")
    assert "from stdin\n" in done.out


def test_cp(pod, tmp_path):
    (tmp_path / "in").write_bytes(os.urandom(300_000))
    pod("cp", str(tmp_path / "in"), f"p:{tmp_path}/inside")
    pod("cp", f"p:{tmp_path}/inside", str(tmp_path / "back"), quiet=False)
    assert (tmp_path / "back").read_bytes() == (tmp_path / "in").read_bytes()


def test_port_forward(pod, tmp_path):
    (tmp_path / "hello").write_text("through the tunnel")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    handler.log_message = lambda *args: None
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    forward = subprocess.Popen(
        [pod.path, "-n", pod.ns, "port-forward", "pod/p", f":{server.server_address[1]}"],
        env=pod.lab.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        port = re.search(r"127\.0\.0\.1:(\d+)", forward.stdout.readline()).group(1)
        for _ in range(3):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/hello", timeout=20) as answer:
                assert answer.read() == b"through the tunnel"
    finally:
        forward.terminate()
        forward.wait(20)
        server.shutdown()


def test_create_generators(k):
    for args in (
        ["configmap", "gen", "--from-literal=a=b"],
        ["secret", "generic", "gen", "--from-literal=a=b"],
        ["service", "clusterip", "gen", "--tcp=80:8080"],
        ["serviceaccount", "gen"],
        ["deployment", "gen", "--image=busybox", "--replicas=0"],
        ["job", "gen", "--image=busybox", "--", "true"],
        ["cronjob", "gen", "--image=busybox", "--schedule=0 0 * * *", "--", "true"],
        ["role", "gen", "--verb=get", "--resource=pods"],
        ["rolebinding", "gen", "--role=gen", "--serviceaccount=default:default"],
        ["quota", "gen", "--hard=pods=100"],
        ["poddisruptionbudget", "gen", "--selector=app=x", "--min-available=1"],
        ["ingress", "gen", "--rule=h.example.com/*=gen:80"],
    ):
        assert k("create", *args).out.strip().endswith("created")
    assert "already exists" in k("create", "configmap", "gen", code=1).err
    assert k("wait", "job/gen", "--for=condition=Complete", "--timeout=60s").out.strip() == "job.batch/gen condition met"


def test_apply_client_side(k):
    assert k.apply(CONFIG % "1").out == "configmap/cm created\n"
    assert k.apply(CONFIG % "1").out == "configmap/cm unchanged\n"
    changed = k("diff", "-f", "-", stdin=CONFIG % "2", code=1).out
    assert re.search(r'^-  a: "1"$', changed, re.MULTILINE) and re.search(r'^\+  a: "2"$', changed, re.MULTILINE)
    assert k.apply(CONFIG % "2").out == "configmap/cm configured\n"
    assert k("diff", "-f", "-", stdin=CONFIG % "2").out == ""
    assert "last-applied-configuration" in k("get", "cm", "cm", "-o", "yaml").out
    assert "a: \"2\"" in k("apply", "view-last-applied", "configmap/cm").out
    assert k.apply(CONFIG % "3", "--dry-run=server").out == "configmap/cm configured (server dry run)\n"
    assert k("get", "cm", "cm", "-o", "jsonpath={.data.a}").out == "2"


def test_apply_server_side(k):
    assert k.apply(CONFIG % "1", "--server-side").out == "configmap/cm serverside-applied\n"
    refused = k("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=CONFIG % "2", code=1).err
    assert 'conflict with "kubectl": .data.a' in refused
    k.apply(CONFIG % "2", "--server-side", "--field-manager=other", "--force-conflicts")
    managers = {entry["manager"] for entry in json.loads(k("get", "cm", "cm", "-o", "json", "--show-managed-fields").out)["metadata"]["managedFields"]}
    assert "other" in managers
    # From client-side to server-side apply.
    k.apply(CONFIG.replace("name: cm", "name: both") % "1")
    k.apply(CONFIG.replace("name: cm", "name: both") % "2", "--server-side")


def test_prune(k):
    k.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: keep, labels: {set: s}}\n")
    k.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: drop, labels: {set: s}}\n")
    out = k("apply", "--prune", "-l", "set=s", "--prune-allowlist=core/v1/ConfigMap", "-f", "-",
            stdin="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: keep, labels: {set: s}}\n").out  # fmt: skip
    assert "configmap/drop pruned" in out


def test_edit_replace_patch_label_annotate(k, tmp_path):
    k("create", "configmap", "e", "--from-literal=a=1")
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/a: \"1\"/a: \"2\"/' \"$1\"\n")
    editor.chmod(0o755)
    assert k("edit", "configmap", "e", env={"KUBE_EDITOR": str(editor)}).out == "configmap/e edited\n"
    whole = k("get", "configmap", "e", "-o", "yaml").out
    assert k("replace", "-f", "-", stdin=whole.replace('a: "2"', 'a: "3"')).out == "configmap/e replaced\n"
    assert "the object has been modified" in k("replace", "-f", "-", stdin=whole, code=1).err
    assert k("patch", "configmap", "e", "--type=merge", "-p", '{"data":{"b":"4"}}').out == "configmap/e patched\n"
    assert k("patch", "configmap", "e", "--type=json", "-p", '[{"op":"remove","path":"/data/b"}]').out == "configmap/e patched\n"
    assert k("label", "configmap", "e", "x=y").out == "configmap/e labeled\n"
    assert k("annotate", "configmap", "e", "n=1").out == "configmap/e annotated\n"
    assert k("label", "configmap", "e", "x-").out == "configmap/e unlabeled\n"
    assert k("get", "configmap", "e", "-o", "jsonpath={.data}").out == '{"a":"3"}'


def test_scale_and_set(deployment):
    k = deployment
    assert k("scale", "deployment/web", "--replicas=3").out == "deployment.apps/web scaled\n"
    k("wait", "deployment/web", "--for=jsonpath={.status.readyReplicas}=3", "--timeout=60s")
    assert k("set", "image", "deployment/web", "c=busybox:2").out == "deployment.apps/web image updated\n"
    assert k("set", "env", "deployment/web", "E=1").out == "deployment.apps/web env updated\n"
    assert k("set", "resources", "deployment/web", "--limits=cpu=200m").out == "deployment.apps/web resource requirements updated\n"
    k("rollout", "status", "deployment/web", "--timeout=60s")


def test_rollout(deployment):
    k = deployment
    k("set", "image", "deployment/web", "c=busybox:2")
    k("rollout", "status", "deployment/web", "--timeout=60s")
    history = k("rollout", "history", "deployment/web").out
    assert re.search(r"^1 ", history, re.MULTILINE) and re.search(r"^2 ", history, re.MULTILINE)
    assert k("rollout", "undo", "deployment/web").out == "deployment.apps/web rolled back\n"
    k("rollout", "status", "deployment/web", "--timeout=60s")
    assert k("get", "deployment", "web", "-o", "jsonpath={.spec.template.spec.containers[0].image}").out == "busybox:1"
    assert k("rollout", "pause", "deployment/web").out == "deployment.apps/web paused\n"
    assert k("rollout", "resume", "deployment/web").out == "deployment.apps/web resumed\n"
    assert k("rollout", "restart", "deployment/web").out == "deployment.apps/web restarted\n"
    k("rollout", "status", "deployment/web", "--timeout=60s")


def test_autoscale(deployment):
    k = deployment
    # Said with a percentage in the one version, and in the other.
    said = k("autoscale", "deployment", "web", "--min=1", "--max=3", "--cpu-percent=50", quiet=False)
    assert said.out == "horizontalpodautoscaler.autoscaling/web autoscaled\n"
    spec = json.loads(k("get", "hpa", "web", "-o", "json").out)["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (1, 3)
    assert "Deployment/web" in k("get", "hpa").out


def test_expose(deployment):
    k = deployment
    assert k("expose", "deployment", "web", "--port=80").out == "service/web exposed\n"
    wait_for("endpoints", lambda: len(json.loads(k("get", "endpointslices", "-o", "json").out)["items"][0]["endpoints"]) == 2)
    assert re.search(r"^web +ClusterIP +10\.96\.", k("get", "services").out, re.MULTILINE)


def test_events(pod):
    assert re.search(r"Normal +Scheduled +Pod/p", pod("events", "--for=pod/p").out)
    assert "Scheduled" in pod("get", "events", "--field-selector=involvedObject.name=p").out


def test_wait_and_delete(k):
    k("create", "configmap", "w", "--from-literal=a=b")
    k("wait", "configmap/w", "--for=jsonpath={.data.a}=b", "--timeout=20s")
    waiter = subprocess.Popen(
        [k.path, "-n", k.ns, "wait", "configmap/w", "--for=delete", "--timeout=60s"], env=k.lab.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert k("delete", "configmap", "w").out.startswith('configmap "w" deleted')
    said, _ = waiter.communicate(timeout=60)
    assert waiter.returncode == 0, said
    assert k("delete", "configmap", "w", "--ignore-not-found").out == ""
    k("create", "configmap", "x", "--from-literal=a=b")
    k("label", "configmap", "x", "gone=soon")
    assert 'configmap "x" deleted' in k("delete", "configmaps", "-l", "gone=soon").out


def test_auth(k):
    assert k("auth", "can-i", "create", "pods").out.strip() == "yes"
    no = k("auth", "can-i", "create", "pods", f"--as=system:serviceaccount:{k.ns}:default", code=1)
    assert no.out.strip() == "no"
    assert "selfsubjectaccessreviews" in k("auth", "can-i", "--list", f"--as=system:serviceaccount:{k.ns}:default").out
    assert "kubernetes-admin" in k("auth", "whoami").out
    assert k("create", "token", "default").out.count(".") == 2


def test_taint_cordon_and_drain(deployment):
    k = deployment
    node = k("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[0].spec.nodeName}").out
    try:
        assert k("cordon", node).out == f"node/{node} cordoned\n"
        drained = k("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", f"--pod-selector=app=web", "--timeout=60s", quiet=False).out
        assert "evicting pod" in drained and f"node/{node} drained" in drained
        left = json.loads(k("get", "pods", "-l", "app=web", "-o", "json").out)["items"]
        assert not [p for p in left if p["spec"].get("nodeName") == node and "deletionTimestamp" not in p["metadata"]]
        assert k("taint", "nodes", node, "e2e=x:NoSchedule").out == f"node/{node} tainted\n"
        assert k("taint", "nodes", node, "e2e-").out == f"node/{node} untainted\n"
    finally:
        assert k("uncordon", node).out == f"node/{node} uncordoned\n"


def test_debug_with_an_ephemeral_container(pod):
    pod("debug", "p", "--image=busybox", "--container=dbg", "--", "true", quiet=False)
    wait_for("the container", lambda: "dbg" in pod("get", "pod", "p", "-o", "jsonpath={.spec.ephemeralContainers[*].name}").out)


def test_custom_kinds(k):
    k("apply", "-f", "-", stdin=CRD)
    k("wait", "crd/pots.kitchen.example.com", "--for=condition=Established", "--timeout=30s")
    k.apply("apiVersion: kitchen.example.com/v1\nkind: Pot\nmetadata: {name: a}\nspec: {size: 3}\n")
    assert k("get", "po2").out.split() == ["NAME", "SIZE", "a", "3"]
    assert "how much goes in" in k("explain", "pots.spec.size").out
    assert k("scale", "pot/a", "--replicas=5").out == "pot.kitchen.example.com/a scaled\n"
    assert k("patch", "pot", "a", "--type=merge", "-p", '{"spec":{"size":7}}').out == "pot.kitchen.example.com/a patched\n"
    refused = k("apply", "-f", "-", stdin="apiVersion: kitchen.example.com/v1\nkind: Pot\nmetadata: {name: b}\nspec: {sizes: 3}\n", code=1).err
    assert 'unknown field "spec.sizes"' in refused
    k("delete", "pots", "--all")


def test_top_shows_nodes_and_pods(pod):
    wait_for("the pod's usage", lambda: pod("top", "pod", "p", "--no-headers", code=None, quiet=False).out.split()[:1] == ["p"])
    node = pod("get", "pod", "p", "-o", "jsonpath={.spec.nodeName}").out
    heads, *rows = (line.split() for line in pod("top", "nodes").out.splitlines())
    assert heads[0] == "NAME" and heads[1].startswith("CPU") and node in {row[0] for row in rows}


def test_kustomize(k, tmp_path):
    (tmp_path / "kustomization.yaml").write_text("namePrefix: my-\nresources: [cm.yaml]\n")
    (tmp_path / "cm.yaml").write_text(CONFIG % "1")
    assert k("apply", "-k", str(tmp_path)).out == "configmap/my-cm created\n"


def test_certificates(k, tmp_path):
    name = f"user-{k.ns}"
    subprocess.run(
        ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/O=dev/CN=eve", "-keyout", tmp_path / "key", "-out", tmp_path / "csr"],
        check=True, capture_output=True,
    )  # fmt: skip
    request = base64.b64encode((tmp_path / "csr").read_bytes()).decode()
    k("apply", "-f", "-", stdin=json.dumps({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
        "spec": {"request": request, "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]},
    }))  # fmt: skip
    assert k("certificate", "approve", name).out.startswith(f"certificatesigningrequest.certificates.k8s.io/{name} approved")
    wait_for("the certificate", lambda: k("get", "csr", name, "-o", "jsonpath={.status.certificate}").out)
