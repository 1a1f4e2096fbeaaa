# SPDX-License-Identifier: Apache-2.0
"""Athanor's controllers on the real control plane (issue 5): FournosJobs through Athanor's own queueing and pipelines, with the
roles that `athanor rbac` prints, as replicas that elect a leader, while servers and replicas go away and come back."""

import base64
import hashlib
import json
import os
import signal
import ssl
import subprocess
import time
from dataclasses import dataclass

import pytest
import yaml
from conftest import SCRIPT, RealLab
from replica import Replica
from support import ATHANOR, KUBECTL, ROOT, Lab, forge, run, wait_for

NS = "fournos-local-dev"
HEARTH, SECRETS = "hearth", "psap-secrets"
SYSTEM = "athanor-system"
CONTROLLERS = "fournos,hearth,kueue,tekton,nodes"
ACCOUNT = f"system:serviceaccount:{SYSTEM}:athanor"
SLOW = 120.0
EXAMPLES = ROOT / "examples/fournos"
TARGET = """
apiVersion: athanor.dev/v1
kind: Lab
namespace: elsewhere
targets:
- {name: edge, onboard: false, nodes: [{count: 2, gpus: 4, model: NVIDIA-L40S}]}
"""
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "users": [ACCOUNT]}, {"level": "None"}],
}
# What the jobs of these tests do not need, and why it is granted nevertheless. Everything else must be used.
LIVE = "a last look past the cache, before absence makes something final"
LATER = "jobs that bring secrets, a resolver or a time to live (docs/fournos.md)"
EDITS = "somebody deletes or edits a queue, or cancels, while it is in use"
ASKED = "asked by the authorizer when children name their owner; never a call"
QUEUED = "objects with a queue's label, checks and cohorts: tests/e2e/kueue and test_deployed_queueing.py use them"
# Kinds without an integration, which this cluster does not have.
NOT_SERVED = {
    ("kubeflow.org", "jaxjobs"), ("kubeflow.org", "mpijobs"), ("kubeflow.org", "paddlejobs"), ("kubeflow.org", "tfjobs"), ("kubeflow.org", "xgboostjobs"),
    ("ray.io", "rayservices"), ("trainer.kubeflow.org", "trainjobs")}  # fmt: skip
UNUSED = {
    ("update", "fournos.dev", "fournosjobs/finalizers"): ASKED,
    ("update", "tekton.dev", "pipelineruns/finalizers"): ASKED,
    ("update", "tekton.dev", "taskruns/finalizers"): ASKED,
    ("update", "kueue.x-k8s.io", "admissionchecks/finalizers"): ASKED,
    **{("update", group, f"{owner}/finalizers"): ASKED for group, owner in (
        ("", "pods"), ("batch", "jobs"), ("jobset.x-k8s.io", "jobsets"), ("kubeflow.org", "pytorchjobs"), ("ray.io", "rayclusters"), ("ray.io", "rayjobs"))},
    **{("patch", group, resource): QUEUED for group, resource in (
        ("", "pods"), ("batch", "jobs"), ("batch", "jobs/status"), ("jobset.x-k8s.io", "jobsets"), ("kubeflow.org", "pytorchjobs"), ("ray.io", "rayclusters"),
        ("ray.io", "rayjobs"), ("kueue.x-k8s.io", "admissionchecks/status"), ("kueue.x-k8s.io", "cohorts/status"))},
    **{("watch", group, resource): "warned of where it is served" for group, resource in NOT_SERVED},
    **{("delete", group, resource): QUEUED for group, resource in (  # jobs that were deactivated long enough ago
        ("jobset.x-k8s.io", "jobsets"), ("kubeflow.org", "pytorchjobs"), ("ray.io", "rayclusters"), ("ray.io", "rayjobs"))},
    **{("get", group, resource): LIVE for group, resource in (
        ("", "secrets"), ("batch", "jobs"), ("fournos.dev", "fournosclusters"), ("fournos.dev", "fournosjobs"), ("kueue.x-k8s.io", "clusterqueues"), ("kueue.x-k8s.io", "resourceflavors"), ("kueue.x-k8s.io", "workloads"),
        ("kueue.x-k8s.io", "workloadpriorityclasses"), ("workload.codeflare.dev", "appwrappers"), ("tekton.dev", "pipelineruns"), ("tekton.dev", "pipelines"))},
    **{one: LATER for one in (
        ("create", "", "secrets"), ("delete", "", "secrets"), ("create", "batch", "jobs"), ("delete", "batch", "jobs"), ("delete", "fournos.dev", "fournosjobs"),
        ("create", "", "persistentvolumeclaims"), ("delete", "", "persistentvolumeclaims"))},
    **{one: EDITS for one in (
        ("delete", "", "pods"), ("delete", "tekton.dev", "pipelineruns"), ("patch", "tekton.dev", "taskruns"), ("patch", "kueue.x-k8s.io", "workloads"),
        ("patch", "kueue.x-k8s.io", "admissionchecks"), ("patch", "kueue.x-k8s.io", "clusterqueues"), ("patch", "kueue.x-k8s.io", "resourceflavors"),
        ("patch", "tekton.dev", "pipelineruns"), ("patch", "fournos.dev", "fournosjobs"), ("patch", "", "nodes"))},
    ("patch", "", "events"): "the same event again raises a count",
}


@dataclass(frozen=True)
class Call:
    """A request of the controllers' account: (verb, group, resource), in which namespace, the answer's code, and when it came in."""

    what: tuple
    namespace: str
    code: int
    time: str


class Plane(RealLab):
    """etcd, kube-apiserver with an audit log, kube-controller-manager and kube-scheduler."""

    def start(self):
        self.data.mkdir(parents=True, exist_ok=True)
        policy, self.audit = self.data / "policy.yaml", self.data / "audit.log"
        policy.write_text(yaml.safe_dump(AUDIT_POLICY), encoding="utf-8")
        env = {
            **os.environ, "REAL_ADMISSION": "NodeRestriction,OwnerReferencesPermissionEnforcement",
            "APISERVER_FLAGS": f"--audit-log-path={self.audit} --audit-policy-file={policy} --audit-log-mode=blocking --audit-log-maxsize=2000",
            "KCM_FLAGS": "--controllers=*,-node-lifecycle-controller",  # emulated nodes send no heartbeats
        }
        done = subprocess.run([SCRIPT, "up", self.data, "kcm", "scheduler"], capture_output=True, text=True, check=False, env=env)
        assert done.returncode == 0, done.stderr
        self._load_credentials()
        return self

    def apply(self, *objects):
        text = "---\n".join(one if isinstance(one, str) else yaml.safe_dump(one) for one in objects)
        return self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=text, timeout=SLOW)

    def calls(self):
        """Each request of the controllers' account."""
        for line in self.audit.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            about = event.get("objectRef")
            if about is not None:
                resource = about["resource"] + ("/" + about["subresource"] if "subresource" in about else "")
                what = (event["verb"], about.get("apiGroup", ""), resource)
                yield Call(what, about.get("namespace", ""), event.get("responseStatus", {}).get("code", 0), event["requestReceivedTimestamp"])


def start_replica(folder, kubeconfig, *more):
    command = [
        ATHANOR, "controllers", "--kubeconfig", kubeconfig, "--controllers", CONTROLLERS, "--all-namespaces", "--metrics-address",
        "127.0.0.1:0", "--leader-elect-namespace", SYSTEM, "--log-level", "debug", "--log-format", "json", *more,
    ]
    env = {**os.environ, "FOURNOS_WORKLOAD_NAMESPACE": NS, "FOURNOS_SECRETS_NAMESPACE": SECRETS, "FOURNOS_GC_INTERVAL_SEC": "1"}
    return Replica(command, folder / f"controllers-{time.monotonic_ns()}.log", env=env)


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    one = Plane(tmp_path_factory.mktemp("operators") / "plane")
    try:
        one.start()
        furnish(one)
        yield one
    finally:
        one.close()


def furnish(plane):
    """What an administrator installs: kinds, roles, namespaces; and what the examples need."""
    for name in (NS, SYSTEM, HEARTH, SECRETS, "tekton-pipelines"):
        plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"fournos.dev/queue-access": "true"}}})
    plane.apply(run([ATHANOR, "crds", "--all"]).out)
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    plane.apply(run([ATHANOR, "rbac", "--controllers", CONTROLLERS]).out)
    plane.apply(
        {
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "athanor.dev/emulated", "reclaimPolicy": "Delete",
            "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        },
        *[
            {
                "apiVersion": "v1", "kind": "Node",
                "metadata": {
                    "name": f"hub-{i}", "labels": {"athanor.dev/emulated": "true", "kubernetes.io/os": "linux", "kubernetes.io/hostname": f"hub-{i}"},
                    "annotations": {"athanor.dev/capacity": json.dumps({"cpu": "16", "memory": "64Gi", "pods": "500"})},
                },
            }
            for i in range(2)
        ],
    )
    for file in sorted((EXAMPLES / "setup").glob("*.yaml")):
        plane.apply(file.read_text(encoding="utf-8"))


def kubeconfig_of(plane, name):
    """A kubeconfig of the controllers' account, with a token in a file that is bound to a Secret of this name."""
    secret = {
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {"name": name, "namespace": SYSTEM, "annotations": {"kubernetes.io/service-account.name": "athanor"}},
    }
    plane.apply(secret)
    token = wait_for("a token", lambda: plane.get(f"/api/v1/namespaces/{SYSTEM}/secrets/{name}").get("data", {}).get("token"))
    admin = yaml.safe_load(plane.kubeconfig.read_text(encoding="utf-8"))
    file = plane.data / "account.token"
    file.write_bytes(base64.b64decode(token))
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{**admin["clusters"][0], "name": "c"}],
        "users": [{"name": "u", "user": {"tokenFile": str(file)}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    path = plane.data / "account.kubeconfig"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def account(plane):
    return kubeconfig_of(plane, "athanor-token-1")


@pytest.fixture
def replicas(plane, account):
    """A function that starts a replica; all end with the test."""
    started = []

    def start(*more):
        one = start_replica(plane.data, account, *more)
        started.append(one)
        wait_for("the replica is ready", one.ready, SLOW)
        return one

    yield start
    for one in started:
        if one.process.poll() is None:
            one.end()


def succeed(plane, name):
    try:
        return plane.wait_phase(name, "Succeeded", NS, SLOW)
    except BaseException:
        print(plane.kubectl("get", "fournosjobs,workloads,pipelineruns,taskruns,pods,pvc,events", "-n", NS, "-o", "wide", code=None).out[-6000:])
        raise


def test_the_sample_job_succeeds(plane, replicas):
    one = replicas()
    wait_for("it leads", one.leads)
    made = plane.kubectl("create", "-n", NS, "-f", EXAMPLES / "sample-job.yaml", "-o", "name").out.strip()
    job = succeed(plane, made.rsplit("/", 1)[1])
    assert job["status"]["cluster"] == "cluster-1"
    workloads = plane.get(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{NS}/workloads")["items"]
    assert workloads == [], "the slot is free again"
    assert one.end() == 0
    assert '"level":"error"' not in one.text


def test_replicas_hand_over_cleanly(plane, replicas):
    first = replicas()
    wait_for("the first leads", first.leads)
    second = replicas()
    assert not second.leads()
    job = plane.submit(forge(), ns=NS)["metadata"]["name"]
    before = time.monotonic()
    assert first.end() == 0
    wait_for("the second leads", second.leads, 20)
    assert time.monotonic() - before < 12, "a lease that was given back is taken without waiting for its end"
    succeed(plane, job)


# docs/controllers.md: the defaults cost at most a lease and a retry (15 + 2 s); these flags at most 3.5 s, and two writes a second.
LEASES = {"default": ((), 25), "short": (("--lease-duration=3s", "--renew-deadline=2s", "--retry-period=500ms"), 6)}


@pytest.mark.parametrize("lease", LEASES)
def test_a_killed_leader_is_replaced(plane, replicas, lease):
    flags, most = LEASES[lease]
    first = replicas(*flags)
    wait_for("the first leads", first.leads)
    second = replicas(*flags)
    jobs = [plane.submit(forge(), ns=NS)["metadata"]["name"] for _ in range(3)]
    wait_for("a job is under way", lambda: plane.phase(jobs[0], NS) not in ("", "Pending"))
    first.end(signal.SIGKILL)
    killed = time.monotonic()
    wait_for("the second leads", second.leads, 60)
    taken = time.monotonic() - killed
    print(f"{lease}: the other replica leads after {taken:.1f} s")
    assert taken <= most
    for job in jobs:
        succeed(plane, job)
    runs = plane.get(f"/apis/tekton.dev/v1/namespaces/{NS}/pipelineruns")["items"]
    assert sorted(name for name in (one["metadata"]["name"] for one in runs) if name in jobs) == sorted(jobs), "each ran once"


def test_the_api_server_restarts(plane, replicas):
    one = replicas("--lease-duration", "60s", "--renew-deadline", "40s")
    wait_for("it leads", one.leads)
    jobs = [plane.submit(forge(), ns=NS)["metadata"]["name"] for _ in range(2)]
    plane.restart("apiserver", pause=20)
    jobs.append(plane.submit(forge(), ns=NS)["metadata"]["name"])
    for job in jobs:
        succeed(plane, job)
    assert one.process.poll() is None, one.text[-2000:]


def test_etcd_stands_still_for_20_seconds(plane, replicas):
    one = replicas("--lease-duration", "60s", "--renew-deadline", "40s")
    wait_for("it leads", one.leads)
    jobs = [plane.submit(forge(), ns=NS)["metadata"]["name"] for _ in range(2)]
    etcd = plane.pid("etcd")
    os.kill(etcd, signal.SIGSTOP)
    try:
        time.sleep(20)  # the standstill itself, not a wait for something
    finally:
        os.kill(etcd, signal.SIGCONT)
    for job in jobs:
        succeed(plane, job)
    assert one.process.poll() is None, one.text[-2000:]


def test_a_killed_etcd_comes_back(plane, replicas):
    """With the flags that an administrator has who changed none: the leader steps down if it must, and is started again."""
    one = replicas()
    wait_for("it leads", one.leads)
    jobs = [plane.submit(forge(), ns=NS)["metadata"]["name"] for _ in range(2)]
    plane.restart("etcd")
    wait_for("the API server answers", lambda: plane.http("GET", "/readyz").code == 200, SLOW)
    if one.process.poll() is not None:
        assert "leadership lost" in one.text
        one = replicas()
    for job in jobs:
        succeed(plane, job)


def test_a_lost_lease_ends_the_process_and_nothing_is_written(plane, replicas):
    one = replicas("--lease-duration", "6s", "--renew-deadline", "4s", "--retry-period", "1s")
    wait_for("it leads", one.leads)
    api = plane.pid("apiserver")
    os.kill(api, signal.SIGSTOP)
    try:
        assert one.process.wait(30) == 1
    finally:
        os.kill(api, signal.SIGCONT)
    assert "leadership lost" in one.text


def test_credentials_are_rotated(plane, replicas):
    one = replicas()
    wait_for("it leads", one.leads)
    kubeconfig_of(plane, "athanor-token-2")  # the same file with another token
    assert plane.http("DELETE", f"/api/v1/namespaces/{SYSTEM}/secrets/athanor-token-1").code == 200
    succeed(plane, plane.submit(forge(), ns=NS)["metadata"]["name"])
    assert one.leads()


def test_the_seed_document_of_hearth(plane, replicas, tmp_path):
    """tests/e2e/hearth/hearth_seed.sh: a cluster comes, is locked and leaves, on the real kube-apiserver; its target is an emulated one."""
    (tmp_path / "targets.yaml").write_text(TARGET, encoding="utf-8")
    target = Lab(tmp_path / "target", ["--lab", str(tmp_path / "targets.yaml"), "--storage", "memory", "--pods", "timed", "--controllers", "emulated-target"])
    one = replicas()
    wait_for("it leads", one.leads)
    try:
        target.start()
        done = run(
            [ROOT / "tests/e2e/hearth/hearth_seed.sh", target.data / "targets/edge.kubeconfig"],
            env={**plane.env, "KUBECTL": KUBECTL, "SEED_LIMIT": "90", "HEARTH_EXECUTION_NAMESPACE": NS, "HEARTH_SECRETS_NAMESPACE": SECRETS},
            timeout=500,
        )
        metrics = one.get("/metrics")
    finally:
        target.close()
    assert done.code == 0, done.out[-3000:] + done.err[-5000:] + one.text[-2000:]
    assert 'hearth_clusterqueue_writes_total{result="success"}' in metrics
    assert 'hearth_clusters{kubeconfig_status="Valid"} 0' in metrics, "it left"
    assert "hearth_reconcile_duration_seconds_bucket{" in metrics


def certificate(plane, authority, name, subject, usage, names=""):
    """A new certificate and its key of one of the control plane's two authorities."""
    done = run([SCRIPT, "certificate", plane.data, authority, name, subject, usage, names])
    assert done.code == 0, done.err
    return [plane.data / f"pki/{name}.{end}" for end in ("crt", "key")]


def fingerprint(file):
    """As kube-apiserver's audit log names a client certificate."""
    der = ssl.PEM_cert_to_DER_cert(file.read_text(encoding="ascii"))
    return f"X509SHA256={hashlib.sha256(der).hexdigest()}"


def put(source, target):
    """Replaces a file as a rotating agent does: at once."""
    fresh = target.with_suffix(".new")
    fresh.write_bytes(source.read_bytes())
    fresh.replace(target)


def test_certificates_are_rotated(plane):
    """Authority, server certificate and client certificate change under a running replica; then every connection is new."""
    pki, folder = plane.data / "pki", plane.data / "rotated"
    folder.mkdir()
    old = certificate(plane, "ca", "athanor-1", f"/CN={ACCOUNT}", "clientAuth")
    new = certificate(plane, "next-ca", "athanor-2", f"/CN={ACCOUNT}", "clientAuth")
    served = certificate(plane, "next-ca", "apiserver-2", "/CN=kube-apiserver", "serverAuth", "DNS:localhost,IP:127.0.0.1")
    trust, crt, key = folder / "ca.crt", folder / "client.crt", folder / "client.key"
    for source, target in ((pki / "ca.crt", trust), (old[0], crt), (old[1], key)):
        put(source, target)
    server = yaml.safe_load(plane.kubeconfig.read_text(encoding="utf-8"))["clusters"][0]["cluster"]["server"]
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority": str(trust)}}],
        "users": [{"name": "u", "user": {"client-certificate": str(crt), "client-key": str(key)}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    one = start_replica(plane.data, path, "--lease-duration", "120s", "--renew-deadline", "100s")
    kept = [(file, file.read_bytes()) for file in (pki / "apiserver.key", pki / "apiserver.crt")]
    try:
        wait_for("it leads", one.leads, SLOW)
        assert fingerprint(old[0]) in plane.audit.read_text(encoding="utf-8")
        put(pki / "trust.crt", trust)
        put(new[1], key)
        put(new[0], crt)
        put(served[1], pki / "apiserver.key")
        put(served[0], pki / "apiserver.crt")
        put(pki / "next-ca.crt", trust)
        plane.restart("apiserver")
        succeed(plane, plane.submit(forge(), ns=NS)["metadata"]["name"])
        assert fingerprint(new[0]) in plane.audit.read_text(encoding="utf-8")
        assert one.leads()
        assert one.end() == 0
    finally:
        one.end()
        for file, content in kept:
            file.write_bytes(content)
        plane.restart("apiserver")


def test_endpoints_show_what_it_is_at(plane, replicas):
    one = replicas()
    wait_for("it leads", one.leads)
    succeed(plane, plane.submit(forge(), ns=NS)["metadata"]["name"])
    metrics = one.get("/metrics")
    for name in (
        "workqueue_depth{", "workqueue_adds_total{", "workqueue_queue_duration_seconds_bucket{", "workqueue_work_duration_seconds_bucket{",
        "workqueue_retries_total{", 'controller_runtime_reconcile_total{controller="fournosjob",result="success"}',
        "controller_runtime_reconcile_errors_total{", "controller_runtime_reconcile_time_seconds_bucket{",
        "controller_runtime_active_workers{", "rest_client_requests_total{code=", "leader_election_master_status{",
        'fournos_jobs{phase="Succeeded"}', 'fournos_job_phase_seconds_bucket{phase="', 'fournos_jobs_finished_total{cluster="cluster-1",result="Succeeded"} 1',
        "fournos_reconcile_seconds_bucket{", 'hearth_clusters{kubeconfig_status="Unreachable"} 0',
    ):
        assert name in metrics, name
    queue = json.loads(one.get("/debug/queue"))
    assert queue["leading"] is True
    assert queue["known"] > 0
    watches = json.loads(one.get("/debug/watches"))
    assert {(watch["group"], watch["resource"]) for watch in watches if not watch["listed"]} == NOT_SERVED
    assert one.get("/healthz") == "{}"
    assert one.get("/livez") == "ok\n"


def test_every_permission_is_used_and_nothing_is_denied(plane):
    """Last: what the tests above made the controllers call."""
    calls = list(plane.calls())
    denied = {(call.what, call.namespace) for call in calls if call.code == 403 and not plane.in_an_outage(call.time)}
    assert not denied, denied
    # A kube-apiserver that has just started denies everything until it has read its roles: what was allowed at another time is granted.
    allowed = {(call.what, call.namespace) for call in calls if call.code < 400}
    denied = {(call.what, call.namespace) for call in calls if call.code == 403} - allowed
    assert not denied, denied
    used = {call.what for call in calls}
    granted = set()
    for role in yaml.safe_load_all(run([ATHANOR, "rbac", "--controllers", CONTROLLERS]).out):
        for rule in role.get("rules", []):
            granted |= {(verb, group, resource) for verb in rule["verbs"] for group in rule["apiGroups"] for resource in rule["resources"]}
    unused = granted - used - set(UNUSED)
    print(f"{len(granted)} verbs are granted, {len(granted & used)} were used")
    assert not unused, unused
    assert set(UNUSED) <= granted, f"excused, but not granted any more: {set(UNUSED) - granted}"
