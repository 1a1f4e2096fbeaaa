# SPDX-License-Identifier: Apache-2.0
"""Athanor's own queueing, of AppWrappers, too, as deploy/kustomize/queueing runs it, on an API server that knows nothing of Kueue: two replicas with the
Deployment's flags and the service account's rights; webhooks, conversion, a hand-over without a second admission, no request denied."""

import json
import signal
import subprocess

import pytest
import yaml
from replica import Replica
from support import ATHANOR, KUBECTL, ROOT, free_port, run, wait_for

FOLDER = ROOT / "deploy/kustomize/queueing"
SYSTEM = "athanor-system"
KUEUE = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
API = "/apis/kueue.x-k8s.io"


def manifests():
    done = run([KUBECTL, "kustomize", FOLDER])
    assert done.code == 0, done.err
    return list(yaml.safe_load_all(done.out))


class Cluster:
    """An API server without any controller; the queueing's ports stand for its Service."""

    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        tokens = folder / "tokens.csv"
        tokens.write_text(f'root,root,1,"system:masters"\nqueueing,system:serviceaccount:{SYSTEM}:athanor-queueing,2\n', encoding="utf-8")
        self.process = subprocess.Popen(
            [ATHANOR, "apiserver", "--secure-port=0", "--bind-address=127.0.0.1", "--authorization-mode=RBAC", f"--token-auth-file={tokens}"],
            stdout=subprocess.PIPE, stderr=(folder / "apiserver.log").open("w"), text=True,
        )  # fmt: skip
        self.server = self.process.stdout.readline().split()[1]

    def config(self, user):
        path = self.folder / f"{user}.kubeconfig"
        cluster = {"server": self.server, "insecure-skip-tls-verify": True}
        text = {
            "apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": cluster}], "users": [{"name": "u", "user": {"token": user}}],
        }  # fmt: skip
        path.write_text(yaml.safe_dump(text), encoding="utf-8")
        return path

    def kubectl(self, *args, stdin=None, code=0):
        done = run([KUBECTL, "--kubeconfig", self.config("root"), *args], stdin=stdin)
        assert code is None or done.code == code, done.err
        return done

    def apply(self, *objects):
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=yaml.safe_dump_all(objects))

    def get(self, path):
        return json.loads(self.kubectl("get", "--raw", path).out)

    def install(self):
        """All of the folder, with the address of this machine in the place of the Service."""
        url = f"https://127.0.0.1:{self.port}"

        def here(config):
            path = config.pop("service")["path"]
            config["url"] = url + path

        objects = manifests()
        for one in objects:
            for hook in one.get("webhooks", []):
                here(hook["clientConfig"])
            if one["kind"] == "CustomResourceDefinition" and "conversion" in one["spec"]:
                here(one["spec"]["conversion"]["webhook"]["clientConfig"])
        kinds = [one for one in objects if one["kind"] == "CustomResourceDefinition"]
        self.kubectl("create", "namespace", SYSTEM)
        self.apply(*kinds)
        self.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        self.apply(*[one for one in objects if one not in kinds and one["kind"] not in ("Deployment",)])

    def start(self, name, webhooks):
        (deployment,) = [one for one in manifests() if one["kind"] == "Deployment"]
        args = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
        address = f"127.0.0.1:{self.port}" if webhooks else "127.0.0.1:0"
        own = {"--metrics-address": "127.0.0.1:0", "--webhook-address": address}
        flags = [f"{key}={own.get(key, value)}" if value else key for key, _, value in (arg.partition("=") for arg in args)]
        return Replica(
            [ATHANOR, *flags, f"--webhook-url=https://127.0.0.1:{self.port}", "--webhook-host=127.0.0.1"],
            self.folder / f"{name}.log", env={"POD_NAME": name, "POD_NAMESPACE": SYSTEM, "KUBECONFIG": str(self.config("queueing"))}, cwd="/",
        )  # fmt: skip


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    one = Cluster(tmp_path_factory.mktemp("queueing"))
    replicas = []
    try:
        one.install()
        replicas.append(one.start("first", True))
        wait_for("readiness", replicas[0].ready)
        wait_for("leadership", replicas[0].leads)
        replicas.append(one.start("second", False))
        wait_for("the other's readiness", replicas[1].ready)
        one.replicas = replicas
        flavor = {**KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "any"}, "spec": {}}
        quota = {"name": "any", "resources": [{"name": "cpu", "nominalQuota": "2"}]}
        spec = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}]}
        wait_for("the webhooks", lambda: one.kubectl("apply", "-f", "-", stdin=json.dumps(flavor), code=None).code == 0)
        one.apply({**KUEUE, "kind": "ClusterQueue", "metadata": {"name": "team"}, "spec": spec})
        one.apply({**KUEUE, "kind": "LocalQueue", "metadata": {"name": "lq", "namespace": "default"}, "spec": {"clusterQueue": "team"}})
        yield one
    finally:
        for replica in replicas:
            replica.end(signal.SIGKILL)
        one.process.kill()
        one.process.wait()


def workload(name, cpu, **more):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}
    pods = [{"name": "main", "count": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}]
    return {**KUEUE, "kind": "Workload", "metadata": {"name": name, "namespace": "default"}, "spec": {"queueName": "lq", "podSets": pods, **more}}


def status(cluster, name):
    found = cluster.get(f"{API}/v1beta2/namespaces/default/workloads/{name}").get("status", {})
    return {one["type"]: one["status"] for one in found.get("conditions", [])}


def test_the_leader_keeps_the_bundle_of_every_kind_that_is_converted():
    objects = manifests()
    converted = {one["metadata"]["name"] for one in objects if one["kind"] == "CustomResourceDefinition" and "conversion" in one["spec"]}
    (deployment,) = [one for one in objects if one["kind"] == "Deployment"]
    (flag,) = [arg for arg in deployment["spec"]["template"]["spec"]["containers"][0]["args"] if arg.startswith("--webhook-crd=")]
    assert set(flag.partition("=")[2].split(",")) == converted


def test_a_job_is_suspended_and_started_by_its_quota(cluster):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    labels = {"kueue.x-k8s.io/queue-name": "lq"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "one", "namespace": "default", "labels": labels}, "spec": {"template": template}}
    created = json.loads(cluster.kubectl("create", "-o", "json", "-f", "-", stdin=json.dumps(job)).out)
    assert created["spec"]["suspend"] is True
    wait_for("it is started", lambda: cluster.get("/apis/batch/v1/namespaces/default/jobs/one")["spec"]["suspend"] is False)
    cluster.kubectl("delete", "job", "one", "--cascade=background")
    cluster.kubectl("delete", "workloads", "--all", "-n", "default", "--wait=false")


def test_an_appwrapper_is_suspended_and_started_by_its_quota(cluster):
    """Its definition comes after the queueing; its own controller is played: that says that it has seen it."""
    cluster.apply(yaml.safe_load((ROOT / "deploy/appwrapper/crd/crd.yaml").read_text(encoding="utf-8")))
    cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
    path = "/apis/workload.codeflare.dev/v1beta2/namespaces/default/appwrappers/aw"
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": workload("p", 1)["spec"]["podSets"][0]["template"]["spec"]}
    metadata = {"name": "aw", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "lq"}}
    app = {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": metadata, "spec": {"components": [{"template": pod}]}}
    created = json.loads(cluster.kubectl("create", "-o", "json", "-f", "-", stdin=json.dumps(app)).out)
    assert created["spec"]["suspend"] is True
    cluster.kubectl("patch", "appwrapper", "aw", "--subresource=status", "--type=merge", "-p", '{"status":{"phase":"Suspended"}}')
    wait_for("it is started", lambda: cluster.get(path)["spec"]["suspend"] is False)
    (info,) = cluster.get(path)["spec"]["components"][0]["podSetInfos"]
    assert info["labels"]["kueue.x-k8s.io/cluster-queue-name"] == "team"
    (queued,) = cluster.get(f"{API}/v1beta2/namespaces/default/workloads")["items"]
    assert queued["metadata"]["name"].startswith("appwrapper-aw-")
    cluster.kubectl("delete", "appwrapper", "aw")
    cluster.kubectl("delete", "workload", queued["metadata"]["name"], "-n", "default", "--timeout=30s")


def test_the_old_version_is_converted(cluster):
    old = workload("old", 1, priority=7, active=False)
    old["apiVersion"] = "kueue.x-k8s.io/v1beta1"
    old["spec"].update(priorityClassName="urgent", priorityClassSource="kueue.x-k8s.io/workloadpriorityclass")
    cluster.kubectl("create", "-f", "-", stdin=json.dumps(old))
    new = cluster.get(f"{API}/v1beta2/namespaces/default/workloads/old")
    assert new["spec"]["priorityClassRef"] == {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "urgent"}
    back = cluster.get(f"{API}/v1beta1/namespaces/default/workloads/old")
    assert back["spec"]["priorityClassName"] == "urgent"
    cluster.kubectl("delete", "workload", "old", "-n", "default")


def test_a_bad_queue_is_refused(cluster):
    quota = {"name": "any", "resources": [{"name": "cpu", "nominalQuota": "-1"}]}
    spec = {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}]}
    said = cluster.kubectl("create", "-f", "-", stdin=json.dumps({**KUEUE, "kind": "ClusterQueue", "metadata": {"name": "bad"}, "spec": spec}), code=1).err
    assert "must be greater than or equal to 0" in said


def test_the_other_replica_takes_over_and_admits_nobody_twice(cluster):
    first, second = cluster.replicas
    for name, cpu in (("holds", 2), ("waits", 1)):
        cluster.kubectl("create", "-f", "-", stdin=json.dumps(workload(name, cpu)))
    wait_for("one is admitted", lambda: status(cluster, "holds").get("Admitted") == "True")
    wait_for("the other waits", lambda: status(cluster, "waits").get("QuotaReserved") == "False")
    assert 'replica_role="leader"' in first.get("/metrics") and 'replica_role="follower"' in second.get("/metrics")
    assert not first.denied() and "forbidden" not in first.text, first.denied()
    first.end()  # gives its lease back
    wait_for("the second leads", second.leads)
    assert status(cluster, "waits")["QuotaReserved"] == "False", "the quota is taken, for the new leader, too"
    cluster.kubectl("delete", "mutatingwebhookconfiguration,validatingwebhookconfiguration", "--all")  # they led to the first
    cluster.kubectl("delete", "workload", "holds", "-n", "default")
    wait_for("it is admitted", lambda: status(cluster, "waits").get("Admitted") == "True")
    assert not second.denied() and "forbidden" not in second.text, second.denied()
