# SPDX-License-Identifier: Apache-2.0
"""The AppWrapper operator in upstream's own Deployment, with upstream's names, on the real control plane (issue 17): `athanor controllers
--systems=appwrapper` with the account, roles, ConfigMap, Secret and webhooks of deploy/appwrapper; and `make install run`."""

import base64
import copy
import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import time

import pytest
import yaml
from conftest import SCRIPT, RealLab
from replica import Replica
from support import ATHANOR, KUBECTL, ROOT, free_port, run, wait_for

sys.path.insert(0, str(ROOT / "tests/e2e/appwrapper"))
from appwrapper_table import (  # noqa: E402
    CHANGES, DECLARED, DECLARED_CHANGES, FATAL, PATH, changed, check_changes, check_fatal, check_rejections, condition, deployment, phase, pod, read,
    wrapper,
)

SYSTEM = "appwrapper-system"
ACCOUNT = "appwrapper-controller-manager"
SLOW = 120.0
DEPLOY = ROOT / "deploy/appwrapper"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/f134c674.codeflare.dev"
# Kinds that the lab serves and a bare cluster does not: the rows about them need their definitions alone.
GROUPS = ("jobset.x-k8s.io", "ray.io", "kubeflow.org")
QUICK = {
    f"workload.codeflare.dev.appwrapper/{key}": value
    for key, value in {"admissionGracePeriodDuration": "2s", "retryPausePeriodDuration": "1s", "retryLimit": "1"}.items()
}


class Plane(RealLab):
    """etcd, kube-apiserver, kube-controller-manager and kube-scheduler. The API server resolves Services itself, so that one of type
    ExternalName leads its webhooks to this machine."""

    def start(self):
        env = {**os.environ, "APISERVER_FLAGS": "--enable-aggregator-routing=false", "KCM_FLAGS": "--controllers=*,-node-lifecycle-controller"}
        done = subprocess.run([SCRIPT, "up", self.data, "kcm", "scheduler"], capture_output=True, text=True, check=False, env=env)
        assert done.returncode == 0, done.stderr
        self._load_credentials()
        return self

    def apply(self, *objects):
        text = "---\n".join(one if isinstance(one, str) else yaml.safe_dump(one) for one in objects)
        return self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=text, timeout=SLOW)

    def deploy(self, *words, **env):
        done = run([ROOT / "scripts/deploy", *words], env={**self.env, "KUBECTL": KUBECTL, "ATHANOR": str(ATHANOR), **env}, timeout=SLOW)
        left = self.kubectl("get", "appwrappers", "-A", "-o", "yaml", code=None).out
        assert done.code == 0, done.err + left[-6000:]
        return done.out

    def token_of(self, namespace, account):
        return self.kubectl("create", "token", account, "-n", namespace, "--duration=2h").out.strip()

    def kubeconfig_of(self, namespace, account):
        admin = yaml.safe_load(self.kubeconfig.read_text(encoding="utf-8"))
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{**admin["clusters"][0], "name": "c"}],
            "users": [{"name": "u", "user": {"token": self.token_of(namespace, account)}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        }
        path = self.data / f"{account}.kubeconfig"
        path.write_text(yaml.safe_dump(config), encoding="utf-8")
        return path


class Operator(Replica):
    """The one container of upstream's Deployment, as a process here: its command, arguments and variables, and where it listens."""

    def __init__(self, plane, name="operator", **config):
        (manager,) = plane.get(f"/apis/apps/v1/namespaces/{SYSTEM}/deployments/appwrapper-controller-manager")["spec"]["template"]["spec"]["containers"]
        env = {one["name"]: {"metadata.namespace": SYSTEM, "metadata.name": name}[one["valueFrom"]["fieldRef"]["fieldPath"]] for one in manager["env"]}
        self.metrics, self.health, self.webhooks = free_port(), free_port(), free_port()
        point(plane, self.metrics, self.health, self.webhooks, **config)
        command = [ATHANOR, *manager["command"][1:], *manager["args"]]
        more = ["--kubeconfig", plane.kubeconfig_of(SYSTEM, ACCOUNT), "--webhook-address", f"127.0.0.1:{self.webhooks}", "--log-format", "json"]
        super().__init__([*command, *more], plane.data / f"{name}-{time.monotonic_ns()}.log", env={**os.environ, **env})

    def ready(self):
        assert self.process.poll() is None, self.text[-3000:]
        return self.health_of("/readyz") == 200

    def health_of(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.health, timeout=10)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except OSError:
            return 0
        finally:
            connection.close()

    def scrape(self, token=None, path="/metrics"):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", self.metrics, timeout=20, context=context)
        try:
            connection.request("GET", path, headers={} if token is None else {"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


def point(plane, metrics, health, webhooks, **appwrapper):
    """Ports of this machine: in the ConfigMap, and in what leads the API server to the webhooks."""
    config = {
        "controllerManager": {
            "health": {"bindAddress": f"127.0.0.1:{health}"}, "metrics": {"bindAddress": f"127.0.0.1:{metrics}"}, "leaderElection": True,
        },
        "appwrapper": appwrapper,
    }
    patch = {"data": {"config.yaml": yaml.safe_dump(config)}}
    plane.kubectl("patch", "configmap", "appwrapper-operator-config", "-n", SYSTEM, "--type=merge", "-p", json.dumps(patch))
    service = {"spec": {"type": "ExternalName", "externalName": "localhost", "clusterIP": None, "clusterIPs": None, "selector": None}}
    plane.kubectl("patch", "service", "appwrapper-webhook-service", "-n", SYSTEM, "--type=merge", "-p", json.dumps(service))
    for kind in ("mutating", "validating"):
        port = [{"op": "add", "path": "/webhooks/0/clientConfig/service/port", "value": webhooks}]
        name = f"{kind}webhookconfiguration/appwrapper-{kind}-webhook-configuration"
        plane.kubectl("patch", name, "--type=json", "-p", json.dumps(port))


def nodes(plane):
    for i in range(2):
        plane.apply({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "name": f"hub-{i}", "labels": {"athanor.dev/emulated": "true", "kubernetes.io/os": "linux", "kubernetes.io/hostname": f"hub-{i}"},
                "annotations": {"athanor.dev/capacity": json.dumps({"cpu": "16", "memory": "64Gi", "pods": "500"})},
            },
        })
    command = [
        ATHANOR, "controllers", "--kubeconfig", plane.kubeconfig, "--controllers", "nodes", "--all-namespaces", "--leader-elect=false",
        "--metrics-address", "127.0.0.1:0", "--log-format", "json",
    ]
    return Replica(command, plane.data / "nodes.log")


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    one, kubelets = Plane(tmp_path_factory.mktemp("appwrapper") / "plane"), None
    try:
        one.start()
        kubelets = nodes(one)
        for group in GROUPS:
            one.apply(run([ATHANOR, "crds", "--group", group]).out)
        one.deploy("apply", SYSTEM="appwrapper")
        one.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        yield one
    finally:
        if kubelets is not None and kubelets.process.poll() is None:
            kubelets.end()
        one.close()


@pytest.fixture
def operator(plane):
    """A function that starts the operator; it ends with the test."""
    started = []

    def start(name="operator", **config):
        one = Operator(plane, name, **config)
        started.append(one)
        wait_for("the operator is ready", one.ready, SLOW)
        return one

    yield start
    for one in started:
        if one.process.poll() is None:
            one.end()


@pytest.fixture
def ns(plane):
    name = f"team-{time.monotonic_ns() % 10**9}"
    plane.kubectl("create", "namespace", name)
    wait_for("default service account", lambda: plane.http("GET", f"/api/v1/namespaces/{name}/serviceaccounts/default").code == 200)
    return name


def create(plane, ns, body):
    """Once the API server has heard of the webhooks' bundle."""
    answers = []

    def made():
        answers.append(plane.http("POST", PATH.format(ns), body))
        return answers[-1].code == 201

    wait_for("it is created", made, 30)
    return answers[-1].json


def wait_phase(plane, ns, wanted, name="aw"):
    wait_for(f"{name} is {wanted}", lambda: phase(plane, ns, name) == wanted, SLOW)
    return read(plane, ns, name)


def test_a_life_in_upstreams_deployment(plane, operator, ns):
    one = operator()
    create(plane, ns, wrapper(pod(), {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}))
    app = wait_phase(plane, ns, "Succeeded")
    assert condition(app, "QuotaReserved")["message"] == "1 pods succeeded and no running, pending, or failed pods"
    assert app["metadata"]["labels"]["workload.codeflare.dev/user"] == "admin"
    events = [one["reason"] for one in plane.get(f"/api/v1/namespaces/{ns}/events")["items"] if one["involvedObject"]["kind"] == "AppWrapper"]
    assert "Unhealthy" not in events
    plane.kubectl("delete", "aw", "aw", "-n", ns, f"--timeout={SLOW:.0f}s")
    assert plane.kubectl("get", "pods", "-n", ns, "-o", "name").out == ""
    assert plane.get(LEASE)["spec"]["holderIdentity"].startswith("operator_")
    started = time.monotonic()
    assert one.end() == 0
    assert time.monotonic() - started < 10
    assert not re.search(r'"level":"error"', one.text), one.text[-3000:]


def test_certificates_have_upstreams_names(plane, operator):
    operator()
    data = plane.get(f"/api/v1/namespaces/{SYSTEM}/secrets/appwrapper-webhook-server-cert")["data"]
    assert sorted(data) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]
    texts = {}
    for name in ("ca.crt", "tls.crt"):
        text = base64.b64decode(data[name])
        texts[name] = subprocess.run(["openssl", "x509", "-noout", "-subject", "-enddate", "-ext", "subjectAltName"], input=text, capture_output=True, check=True).stdout.decode()
    assert "CN = appwrapper-ca" in texts["ca.crt"] and "O = appwrapper" in texts["ca.crt"]
    assert f"DNS:appwrapper-webhook-service.{SYSTEM}.svc" in texts["tls.crt"]
    path = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations/appwrapper-{}-webhook-configuration"
    for kind in ("mutating", "validating"):
        def bundle(kind=kind):
            return plane.get(path.format(kind, kind))["webhooks"][0]["clientConfig"].get("caBundle")

        wait_for("the bundle is there", lambda: bundle() == data["ca.crt"], 30)  # noqa: B023
        gone = [{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]
        plane.kubectl("patch", f"{kind}webhookconfiguration/appwrapper-{kind}-webhook-configuration", "--type=json", "-p", json.dumps(gone))
        wait_for("it is kept", lambda: bundle() == data["ca.crt"], 30)  # noqa: B023


def test_every_row_of_the_rejection_table(plane, operator, ns):
    """docs/spec/appwrapper.md 13 on the real API server."""
    operator()
    create(plane, ns, wrapper(deployment(), queue="nowhere", name="fixed"))  # nobody suspends it here: it runs
    check_rejections(plane, ns)
    check_changes(plane, ns, "fixed", CHANGES)
    create(plane, ns, changed(wrapper(*DECLARED, name="declared"), "spec", "suspend", value=True))
    check_changes(plane, ns, "declared", DECLARED_CHANGES)


@pytest.mark.parametrize("row", FATAL)
def test_what_cannot_be_created_fails(plane, operator, ns, row):
    operator()
    create(plane, ns, wrapper(pod("warm"), name="warm"))
    check_fatal(plane, ns, row, lambda what, done: wait_for(what, done, SLOW))


def test_a_kind_that_the_operator_may_not_create(plane, operator, ns):
    operator()
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm"}}
    create(plane, ns, wrapper(pod(), config_map, annotations=QUICK))
    wait_phase(plane, ns, "Resetting")
    unhealthy = condition(read(plane, ns), "Unhealthy")
    assert unhealthy["reason"] == "CreateFailed" and "cannot create resource \"configmaps\"" in unhealthy["message"], unhealthy
    app = wait_phase(plane, ns, "Failed")
    assert app["status"]["resettingCount"] == 1


def test_users_create_what_they_may_create(plane, operator, ns):
    operator()
    create(plane, ns, wrapper(pod(), name="first"))
    plane.kubectl("create", "role", "wrap", "-n", ns, "--verb=create,get", "--resource=appwrappers.workload.codeflare.dev,pods")
    plane.kubectl("create", "rolebinding", "wrap", "-n", ns, "--role=wrap", "--user=bob")

    def apply(*templates):
        return plane.kubectl("create", "--as=bob", "-n", ns, "--dry-run=server", "-f", "-", stdin=yaml.safe_dump(wrapper(*templates)), code=None)

    wait_for("what bob may", lambda: apply(pod()).code == 0, 30)
    assert f"spec.components[1].template: Forbidden: User bob is not authorized to create deployments in {ns}" in apply(pod(), deployment()).err
    unknown = apply(pod(), {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "f"}})
    assert f"User bob is not authorized to create * in {ns}" in unknown.err
    plane.kubectl("create", "rolebinding", "edit", "-n", ns, "--clusterrole=appwrapper-user-role", "--user=carol")
    listed = plane.kubectl("auth", "can-i", "--as=carol", "--list", "-n", ns).out
    assert re.search(r"^appwrappers\.workload\.codeflare\.dev +\[\] +\[\] +\[.*watch.*\]", listed, re.M), listed


def test_without_the_operator_nothing_is_created(plane, ns):
    """13: failurePolicy Fail."""
    answer = plane.http("POST", PATH.format(ns), wrapper(pod()))
    assert answer.code == 500
    assert 'Internal error occurred: failed calling webhook "mappwrapper.kb.io"' in answer.json["message"]


def test_metrics_are_for_those_who_may_read_them(plane, operator, ns):
    one = operator()
    create(plane, ns, wrapper(pod()))
    wait_phase(plane, ns, "Succeeded")
    assert one.scrape()[0] == 401
    assert one.scrape("forged")[0] == 401
    plane.kubectl("create", "serviceaccount", "scraper", "-n", ns)
    token = plane.token_of(ns, "scraper")
    code, text = one.scrape(token)
    assert code == 403 and f"Authorization denied for user system:serviceaccount:{ns}:scraper" in text
    plane.kubectl("create", "clusterrolebinding", f"scraper-{ns}", "--clusterrole=appwrapper-metrics-reader", f"--serviceaccount={ns}:scraper")
    wait_for("it may read them", lambda: one.scrape(token)[0] == 200, 30)
    assert one.scrape(token, "/debug/queue")[0] == 403
    text = one.scrape(token)[1]
    assert f'appwrapper_phase_total{{namespace="{ns}",phase="Succeeded"}} 1' in text
    assert 'controller_runtime_reconcile_total{controller="AppWrapper",result="success"}' in text
    assert (one.health_of("/healthz"), one.health_of("/metrics")) == (200, 404)


def test_nothing_of_ours_queues_where_kueue_does(plane, operator, ns):
    """Kueue's definitions alone: the operator makes no Workload and has no right to; whoever is Kueue starts the AppWrapper."""
    plane.apply(run([ATHANOR, "crds", "--group", "kueue.x-k8s.io"]).out)
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    rules = plane.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/appwrapper-manager-role")["rules"]
    assert not any("kueue.x-k8s.io" in rule["apiGroups"] for rule in rules)
    operator()
    create(plane, ns, changed(wrapper(pod(), queue="lq"), "spec", "suspend", value=True))
    wait_phase(plane, ns, "Suspended")
    infos = [{"nodeSelector": {"kubernetes.io/hostname": "hub-1"}, "labels": {"kueue.x-k8s.io/podset": "aw-0"}}]
    admitted = [
        {"op": "replace", "path": "/spec/suspend", "value": False},
        {"op": "add", "path": "/spec/components/0/podSetInfos", "value": infos},
    ]
    path = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{ns}/workloads"
    wait_for("Workloads are served", lambda: plane.http("GET", path).code == 200)
    assert plane.get(path)["items"] == []
    assert plane.http("PATCH", f"{PATH.format(ns)}/aw", admitted, content_type="application/json-patch+json").code == 200
    wait_phase(plane, ns, "Succeeded")
    made = plane.get(f"/api/v1/namespaces/{ns}/pods/p")
    assert made["spec"]["nodeName"] == "hub-1" and made["metadata"]["labels"]["kueue.x-k8s.io/podset"] == "aw-0"
    assert plane.get(path)["items"] == []


def test_a_kueue_without_the_integration(plane, operator, ns):
    """enableKueueIntegrations: the Workload is ours, and so are Kueue's webhook rules; another process is Kueue."""
    plane.apply(run([ATHANOR, "crds", "--group", "kueue.x-k8s.io"]).out)
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    plane.kubectl("apply", "--server-side", "-f", DEPLOY / "kueue-integrations/roles.yaml")
    flavor = {"name": "any", "resources": [{"name": "cpu", "nominalQuota": "1"}]}
    kueue = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
    plane.apply(
        {**kueue, "kind": "ResourceFlavor", "metadata": {"name": "any"}},
        {**kueue, "kind": "ClusterQueue", "metadata": {"name": "cq"},
         "spec": {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}]}},
        {**kueue, "kind": "LocalQueue", "metadata": {"name": "lq", "namespace": ns}, "spec": {"clusterQueue": "cq"}},
    )
    queueing = Replica(
        [ATHANOR, "controllers", "--kubeconfig", plane.kubeconfig, "--controllers", "kueue", "--all-namespaces", "--leader-elect=false",
         "--metrics-address", "127.0.0.1:0", "--log-format", "json"],
        plane.data / "kueue.log",
    )
    try:
        operator(enableKueueIntegrations=True, kueueJobReconciller={"labelKeysToCopy": ["team"]})
        body = wrapper(pod(), queue="lq")
        body["metadata"]["labels"]["team"] = "a"
        app = create(plane, ns, body)
        assert app["spec"]["suspend"] is True
        wait_phase(plane, ns, "Succeeded")
        (workload,) = plane.get(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{ns}/workloads")["items"]
        assert workload["metadata"]["labels"]["team"] == "a"
        wait_for("it is finished", lambda: condition(plane.get(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{ns}/workloads")["items"][0], "Finished").get("reason") == "Succeeded", SLOW)
        refused = plane.http("POST", PATH.format(ns), wrapper(pod(), queue="indexed_job", name="other"))
        assert refused.code == 403 and "a lowercase RFC 1123 subdomain must consist of" in refused.json["message"]
    finally:
        queueing.end()


def test_a_restart_in_the_middle_loses_nothing(plane, operator, ns):
    one = operator()
    annotations = {**QUICK, "workload.codeflare.dev.appwrapper/retryPausePeriodDuration": "8s"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"backoffLimit": 0, "template": {"spec": copy.deepcopy(pod()["spec"])}}}
    job["spec"]["template"]["metadata"] = {"annotations": {"athanor.dev/simulate": '{"c": {"seconds": 0.5, "exitCode": 1}}'}}
    create(plane, ns, wrapper(job, annotations=annotations))
    wait_phase(plane, ns, "Resetting")
    one.end(signal.SIGKILL)
    operator("second")
    app = wait_phase(plane, ns, "Failed")
    assert app["status"]["resettingCount"] == 1
    wait_for("its objects are gone", lambda: condition(read(plane, ns), "ResourcesDeployed")["status"] == "False", SLOW)


def test_install_and_run(plane, operator, ns):
    """`make install run`: upstream's development variant, in namespace dev and without webhooks; `make undeploy` takes all away."""
    recipe = run(["make", "-n", "install", "run"], cwd=ROOT)
    assert "scripts/deploy install" in recipe.out and "scripts/deploy run" in recipe.out
    running = operator()  # which releases what is left
    plane.deploy("delete", SYSTEM="appwrapper")
    running.end()
    wait_for("the definition is gone", lambda: plane.http("GET", "/apis/workload.codeflare.dev/v1beta2").code == 404, SLOW)
    assert plane.http("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/appwrapper-manager-role").code == 404
    plane.deploy("install", SYSTEM="appwrapper")
    plane.kubectl("wait", "--for=condition=Established", "crd/appwrappers.workload.codeflare.dev", "--timeout=60s")
    one = Replica(
        [ROOT / "scripts/deploy", "run", "--kubeconfig", plane.kubeconfig, "--log-format", "json"],
        plane.data / "run.log", env={**plane.env, "ATHANOR": str(ATHANOR), "KUBECTL": str(KUBECTL)},
    )
    try:
        create(plane, ns, wrapper(pod()))
        wait_phase(plane, ns, "Succeeded")
        assert "metrics are served over TLS" in one.text and "webhooks are served" not in one.text
        plane.kubectl("delete", "aw", "aw", "-n", ns, f"--timeout={SLOW:.0f}s")
    finally:
        assert one.end() == 0
    plane.deploy("delete", "dev", SYSTEM="appwrapper")


def test_the_configuration_is_made_and_checked(plane, tmp_path):
    """8.2: absent, it is made with all defaults; with two keys, or a setting that is wrong, the process ends with 1 and says so."""
    plane.kubectl("create", "namespace", "conf")
    command = [ATHANOR, "controllers", "--systems=appwrapper", "--config", "own", "--kubeconfig", plane.kubeconfig]
    env = {**os.environ, "NAMESPACE": "conf"}

    def ends(text, more=()):
        done = run([*command, *more], env=env, timeout=60)
        assert done.code == 1 and text in done.err, done.err[-2000:]

    def configure(**data):
        plane.kubectl("delete", "configmap", "own", "-n", "conf", "--ignore-not-found")
        plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own", "namespace": "conf"}, "data": data}))

    ends("--zap-encoder", ["--zap-encoder=plain"])
    made = yaml.safe_load(plane.get("/api/v1/namespaces/conf/configmaps/own")["data"]["config.yaml"])
    assert made["appwrapper"]["faultTolerance"]["admissionGracePeriod"] == 60000000000
    assert made["certManagement"]["namespace"] == "conf" and made["controllerManager"]["leaderElection"] is False
    configure(a="{}", b="{}")
    ends("cannot resolve config from ConfigMap conf/own")
    configure(a="{appwrapper: {faultTolerance: {resetPause: 25h}}}")
    ends("resetPause: 25h0m0s is longer than gracePeriodCeiling (24h0m0s)")
    configure(a="a: b: c")
    ends("ConfigMap conf/own")
    done = run(command, env={key: value for key, value in env.items() if key != "NAMESPACE"}, timeout=60)
    assert done.code == 1 and "unable to determine current namespace" in done.err
