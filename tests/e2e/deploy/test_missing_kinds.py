# SPDX-License-Identifier: Apache-2.0
"""`athanor controllers` on clusters without the CRDs of Kueue and Tekton, and without the right to list Tekton's kinds."""

import json
import re
import signal
import subprocess

import pytest
import yaml
from replica import Replica
from support import ATHANOR, DEADLINE, KUBECTL, TIMEOUT, run, wait_for

NAMESPACE = "jobs"
ABSENT = "the cluster does not have this kind"
NEEDED = {
    "workloads.kueue.x-k8s.io", "resourceflavors.kueue.x-k8s.io", "clusterqueues.kueue.x-k8s.io", "workloadpriorityclasses.kueue.x-k8s.io",
    "pipelines.tekton.dev", "pipelineruns.tekton.dev",
}  # fmt: skip
JOB = {
    "apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": {"name": "early", "namespace": NAMESPACE},
    "spec": {"hardware": {"gpuType": "a100", "gpuCount": 1}, "forge": {"project": "p", "args": []}},
}  # fmt: skip
# Everything but Tekton's kinds.
ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "limited"},
    "rules": [{"apiGroups": ["", "batch", "events.k8s.io", "coordination.k8s.io", "fournos.dev", "kueue.x-k8s.io"], "resources": ["*"], "verbs": ["*"]}],
}  # fmt: skip


class Cluster:
    def __init__(self, folder):
        self.folder = folder
        tokens = folder / "tokens.csv"
        tokens.write_text('root-token,root,1,"system:masters"\nlimited-token,limited,2\n', encoding="utf-8")
        self.process = subprocess.Popen(
            [ATHANOR, "apiserver", "--secure-port=0", "--bind-address=127.0.0.1", "--authorization-mode=RBAC", f"--token-auth-file={tokens}"],
            stdout=subprocess.PIPE, stderr=(folder / "apiserver.log").open("w"), text=True,
        )  # fmt: skip
        self.server = self.process.stdout.readline().split()[1]
        self.replicas = []

    def config(self, user):
        path = self.folder / f"{user}.kubeconfig"
        path.write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": NAMESPACE}}],
            "clusters": [{"name": "c", "cluster": {"server": self.server, "insecure-skip-tls-verify": True}}],
            "users": [{"name": "u", "user": {"token": f"{user}-token"}}],
        }), encoding="utf-8")  # fmt: skip
        return path

    def kubectl(self, *args, stdin=None):
        done = run([KUBECTL, "--kubeconfig", self.config("root"), *args], stdin=stdin)
        assert done.code == 0, done.err
        return done.out

    def install(self, group):
        self.kubectl("apply", "--server-side", "-f", "-", stdin=run([ATHANOR, "crds", "--group", group]).out)
        self.kubectl("wait", "--for=condition=Established", "crd", "--all", TIMEOUT)

    def replica(self, user, variable="FOURNOS_WORKLOAD_NAMESPACE", controllers="fournos"):
        name = f"{user}-{len(self.replicas)}"
        one = Replica(
            [ATHANOR, "controllers", "--kubeconfig", self.config(user), "--controllers", controllers, "--metrics-address=127.0.0.1:0", "--leader-elect=false"],
            self.folder / f"{name}.log", env={variable: NAMESPACE, "POD_NAME": name},
        )  # fmt: skip
        self.replicas.append(one)
        wait_for("the address of its metrics", lambda: '"metrics are served"' in one.text)
        return one


@pytest.fixture
def cluster(tmp_path):
    one = Cluster(tmp_path)
    try:
        one.kubectl("create", "namespace", NAMESPACE)
        one.install("fournos.dev")
        one.kubectl("delete", "crd", "fournosclusters.fournos.dev")  # Hearth does not run
        yield one
    finally:
        for replica in one.replicas:
            replica.end(signal.SIGKILL)
        one.process.kill()
        one.process.wait()


def lines(replica, sign):
    """(status, {kind: reason}) of /readyz."""
    status, body = replica.ask("/readyz")
    return status, dict(re.findall(rf"^\[{re.escape(sign)}\](\S+)(?: in \S+)?: (.*)$", body, re.M))


def gauges(replica):
    return {kind: float(value) for kind, value in re.findall(r'^athanor_kind_missing\{kind="([^"]+)"\} (\S+)$', replica.get("/metrics"), re.M)}


def job_status(cluster):
    return json.loads(cluster.kubectl("get", "fournosjob", "early", "-n", NAMESPACE, "-o", "json")).get("status", {})


def test_a_missing_kind_of_our_own_is_named(cluster):
    cluster.kubectl("delete", "crd", "fournosjobs.fournos.dev")
    replica = cluster.replica("root")
    expected = (503, dict.fromkeys(NEEDED | {"fournosjobs.fournos.dev"}, ABSENT))
    wait_for("/readyz to name what is missing", lambda: lines(replica, "-") == expected)
    assert gauges(replica)["fournosjobs.fournos.dev"] == 1.0


def test_each_missing_kind_is_named_and_jobs_say_what_they_wait_for(cluster):
    replica = cluster.replica("root")
    expected = (503, dict.fromkeys(NEEDED, ABSENT))
    wait_for("/readyz to name what is missing", lambda: lines(replica, "-") == expected)
    assert gauges(replica) == {**dict.fromkeys(NEEDED, 1.0), "fournosjobs.fournos.dev": 0.0}
    cluster.kubectl("create", "-f", "-", stdin=json.dumps(JOB))
    wait_for("the job's message", lambda: "message" in job_status(cluster))
    status = job_status(cluster)
    assert "phase" not in status
    assert status["message"] == (
        "Waiting for kinds that the cluster does not have: workloads.kueue.x-k8s.io, clusterqueues.kueue.x-k8s.io, "
        "pipelines.tekton.dev, pipelineruns.tekton.dev"
    )
    replica.end()

    cluster.install("kueue.x-k8s.io")
    cluster.install("tekton.dev")
    replica = cluster.replica("root")  # the first one would ask again within 90 s
    wait_for("readiness", replica.ready)
    assert gauges(replica) == dict.fromkeys({*NEEDED, "fournosjobs.fournos.dev"}, 0.0)
    wait_for("the job to go on", lambda: job_status(cluster).get("phase") == "Failed")
    assert job_status(cluster)["message"] == "No GPU types configured"
    logged = [json.loads(line) for line in replica.text.splitlines()]
    block = {one["msg"]: one for one in logged}
    assert run([ATHANOR, "version"]).out == f"athanor {block['controllers started']['version']}\n"
    assert block["a system is run"]["system"] == "fournos" and block["a system is run"]["namespaces"] == f"hearth,{NAMESPACE},psap-secrets"
    transitions = [(one["level"], one["msg"]) for one in logged if one["msg"].startswith("Job early: ")]
    assert transitions == [("warn", "Job early: Failed: No GPU types configured")]


def watched(replica):
    """(resource, namespace) of every watch; no namespace: all of them."""
    return {(one["resource"], one.get("namespace", "")) for one in json.loads(replica.get("/debug/watches"))}


def test_the_older_variable_alone_names_where_jobs_are_watched(cluster):
    newer, older = cluster.replica("root"), cluster.replica("root", variable="FOURNOS_NAMESPACE")
    wait_for("the jobs to be watched", lambda: ("fournosjobs", NAMESPACE) in watched(older))
    wait_for("both to watch the same", lambda: watched(older) == watched(newer))


def test_a_refused_list_counts_as_seen_and_is_shown(cluster):
    cluster.install("kueue.x-k8s.io")
    cluster.install("tekton.dev")
    cluster.kubectl("create", "-f", "-", stdin=json.dumps(ROLE))
    cluster.kubectl("create", "clusterrolebinding", "limited", "--clusterrole=limited", "--user=limited")
    replica = cluster.replica("limited")
    wait_for("readiness", replica.ready)
    status, refused = lines(replica, "+")
    absent = {kind for kind, reason in refused.items() if reason == ABSENT}
    assert status == 200 and absent == {"fournosclusters.fournos.dev"}, replica.ask("/readyz")
    refused = {kind: reason for kind, reason in refused.items() if kind not in absent}
    assert set(refused) == {"pipelines.tekton.dev", "pipelineruns.tekton.dev"}, refused
    assert all("cannot list" in reason for reason in refused.values()), refused
    assert set(gauges(replica).values()) == {0.0}


@pytest.mark.parametrize(("system", "group"), [("das", "inference.redhat.com"), ("numa", "nodetopology.openshift.io")])
def test_a_kind_of_another_platform_is_named_and_never_fails_readiness(cluster, system, group):
    cluster.install(group)
    replica = cluster.replica("root", controllers=system)
    wait_for("readiness", replica.ready)
    status, optional = lines(replica, "+")
    platform = {kind for kind in optional if kind.endswith(".openshift.io")}
    assert status == 200 and "apiservers.config.openshift.io" in platform, optional
    assert {optional[kind] for kind in platform} == {ABSENT}
    assert platform.isdisjoint(gauges(replica))
    logged = [json.loads(line) for line in replica.text.splitlines()]
    named = [one for one in logged if one["msg"] == "an optional kind is not served"]
    assert len(named) == len(platform) and all(one["level"] == "info" for one in named), named


POOLS = "machineconfiguration.openshift.io"


def definition(kind):
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{POOLS}"},
        "spec": {
            "group": POOLS, "scope": "Cluster", "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}],
        },
    }  # fmt: skip


def test_a_kind_of_another_platform_is_used_when_it_appears(cluster):
    """Pools and KubeletConfigs, which the operator of zones reads where there are any."""
    cluster.install("nodetopology.openshift.io")
    replica = cluster.replica("root", controllers="numa")
    names = {f"{one}.{POOLS}" for one in ("kubeletconfigs", "machineconfigpools")}
    wait_for("readiness", replica.ready)
    assert names <= set(lines(replica, "+")[1])
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [definition("KubeletConfig"), definition("MachineConfigPool")]}))

    def listed():
        return {f"{one['resource']}.{one['group']}" for one in json.loads(replica.get("/debug/watches")) if one["listed"]}

    wait_for("both are watched", lambda: names <= listed(), 90 + DEADLINE)  # looked for every 60 to 90 s
    assert replica.ready() and names.isdisjoint(lines(replica, "+")[1])
