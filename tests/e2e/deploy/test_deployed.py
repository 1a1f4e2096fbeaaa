# SPDX-License-Identifier: Apache-2.0
"""The controllers as deploy/ runs them: its flags, its environment, its service account's rights, on a cluster whose queueing and
pipelines are the lab's. A job runs through them, nothing is denied, and what dashboards ask for is exported."""

import json
import pathlib
import re
import signal
import tempfile

import pytest
import yaml
from replica import Replica
from support import ATHANOR, KUBECTL, ROOT, TIMEOUT, Lab, run, wait_for

KUSTOMIZE = ROOT / "deploy/kustomize"
SYSTEM, WORKLOAD, SECRETS = "athanor-system", "psap-automation", "psap-secrets"
SETUP = ROOT / "examples/fournos/setup"
SYSTEMS = [
    "fournosjob", "fournos-gc-workloads", "fournos-gc-pipelineruns", "fournos-gc-jobs", "fournos-gc-secrets",
    "fournoscluster", "hearth-discovery", "hearth-queue", "hearth-sentinels",
    # The jobs' namespace has the label by which a lab takes up other namespaces.
    "fournos-labelled", "fournos-labelled-queues", "fournos-labelled-workloads", "fournos-labelled-pipelineruns", "fournos-labelled-jobs",
    "fournos-labelled-secrets",
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Athanor deployed on a lab that leaves FournosJobs and FournosClusters alone."""
    one = Lab(
        tmp_path_factory.mktemp("deployed") / "lab",
        ["--lab", str(ROOT / "tests/e2e/data/cluster.yaml"), "--controllers", ",".join(["*", *(f"-{name}" for name in SYSTEMS)])],
    )
    try:
        one.start()
        one.remove_roles_of_people()
        for folder in ("overlays/default", "queue"):
            one.kubectl("apply", "--server-side", "-k", KUSTOMIZE / folder)
        one.kubectl("apply", "--server-side", "-f", KUSTOMIZE / "components/results/volumeclaim.yaml")
        for file in ("20-secrets.yaml", "30-tasks.yaml", "31-pipelines.yaml", "32-benchmark.yaml"):
            objects = [obj for obj in yaml.safe_load_all((SETUP / file).read_text(encoding="utf-8").replace("fournos-local-dev", WORKLOAD)) if obj]
            text = yaml.safe_dump_all([obj for obj in objects if obj["kind"] != "PersistentVolumeClaim"])
            one.kubectl("apply", "--server-side", "-f", "-", stdin=text)
        one.kubectl("create", "configmap", "fournos-mock-config", "-n", WORKLOAD, "--from-literal=sleep=0.1")
        yield one
    finally:
        one.close()


def with_results():
    """The default overlay with the component of the results place."""
    with tempfile.TemporaryDirectory(dir=KUSTOMIZE / "overlays") as folder:  # kustomize takes components below its root alone
        overlay = {"kind": "Kustomization", "resources": ["../default"], "components": ["../../components/results"]}
        pathlib.Path(folder, "kustomization.yaml").write_text(yaml.safe_dump(overlay), encoding="utf-8")
        return list(yaml.safe_load_all(run([KUBECTL, "kustomize", folder]).out))


class Deployed(Replica):
    """`athanor controllers` with the Deployment's container as its description."""

    def __init__(self, lab, folder, name):
        manifests = {(one["kind"], one["metadata"]["name"]): one for one in with_results()}
        pod = manifests["Deployment", "athanor-controllers"]["spec"]["template"]["spec"]
        container = pod["containers"][0]
        folder.mkdir()
        config = yaml.safe_load(manifests["ConfigMap", "athanor-controllers"]["data"]["controllers.yaml"])
        config["metrics-address"] = "127.0.0.1:0"
        (folder / "controllers.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        token = lab.kubectl("create", "token", pod["serviceAccountName"], "-n", SYSTEM).out.strip()
        access = yaml.safe_load(lab.kubeconfig.read_text(encoding="utf-8"))
        access["users"][0]["user"] = {"token": token}
        (folder / "kubeconfig").write_text(yaml.safe_dump(access), encoding="utf-8")
        self.name = name
        fields = {"metadata.name": name, "metadata.namespace": SYSTEM}
        environment = {one["name"]: one.get("value") or fields[one["valueFrom"]["fieldRef"]["fieldPath"]] for one in container["env"]}
        super().__init__(
            [ATHANOR, *(arg.replace("/etc/athanor", str(folder)) for arg in container["args"])],
            folder / "log", env={**environment, "KUBECONFIG": str(folder / "kubeconfig")}, cwd="/",
        )


@pytest.fixture(scope="module")
def replicas(cluster, tmp_path_factory):
    folder = tmp_path_factory.mktemp("replicas")
    running = []

    def start(name):
        running.append(Deployed(cluster, folder / name, name))
        return running[-1]

    yield start
    for one in running:
        one.end(signal.SIGKILL)


@pytest.fixture(scope="module")
def leader(replicas):
    one = replicas("first")
    wait_for("readiness", one.ready)
    wait_for("leadership", one.leads)
    return one


def submit(cluster, name):
    job = yaml.safe_load((ROOT / "examples/fournos/sample-job.yaml").read_text(encoding="utf-8"))
    job["metadata"] = {"name": name, "namespace": WORKLOAD}
    cluster.kubectl("create", "-f", "-", stdin=json.dumps(job))
    return cluster.wait_phase(name, "Succeeded", WORKLOAD)


def test_a_job_runs_and_no_request_is_denied(cluster, leader):
    assert submit(cluster, "deployed")["status"]["cluster"] == "cluster-1"
    cluster.kubectl("delete", "fournosjob", "deployed", "-n", WORKLOAD)
    wait_for("its run is collected", lambda: cluster.http("GET", f"/apis/tekton.dev/v1/namespaces/{WORKLOAD}/pipelineruns/deployed").code == 404)
    assert not leader.denied(), leader.denied()
    assert "forbidden" not in leader.text


def test_files_of_results_are_on_the_claim_of_the_component(cluster, leader, tmp_path):
    """docs/fournos.md, Results: what a run leaves is listed and copied from a pod that mounts the claim."""
    claim = cluster.get(f"/api/v1/namespaces/{WORKLOAD}/persistentvolumeclaims/fournos-results")
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    where = ["-n", WORKLOAD, "--name", "measured"]
    cluster.athanor("submit", "--pipeline", "fournos-benchmark", "--project", "llmd", "--cluster", "cluster-1", "--gpu", "a100:2", *where)
    cluster.wait_phase("measured", "Succeeded", WORKLOAD)
    run_of = cluster.get(f"/apis/tekton.dev/v1/namespaces/{WORKLOAD}/pipelineruns/measured")["spec"]
    assert {"name": "results", "subPath": "measured", "persistentVolumeClaim": {"claimName": "fournos-results"}} in run_of["workspaces"]
    shown = cluster.athanor("results", "measured", "-n", WORKLOAD, "--copy", tmp_path / "out").out
    assert "summary.json" in shown and json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))
    lacking = cluster.athanor("results", "measured", "-n", WORKLOAD, "--claim", "other").err
    assert "no PersistentVolumeClaim other" in lacking
    cluster.kubectl("delete", "fournosjob", "measured", "-n", WORKLOAD)


def test_a_cluster_comes_is_locked_and_leaves_and_no_request_is_denied(cluster, leader):
    """Hearth beside Fournos, with the roles of each namespace; the lab itself is the target."""
    status = lambda field: cluster.kubectl("get", "fc", "edge", "-n", "hearth", "-o", f"jsonpath={{.status.{field}}}", code=None).out  # noqa: E731
    cluster.kubectl("create", "secret", "generic", "kubeconfig-edge", "-n", SECRETS, f"--from-file=kubeconfig={cluster.kubeconfig}")
    cluster.kubectl("label", "secret", "kubeconfig-edge", "-n", SECRETS, "fournos.dev/cluster-kubeconfig=true")
    wait_for("the probe", lambda: status("kubeconfigStatus") == "Valid" and status("lastProbeTime"))
    cluster.kubectl("patch", "fc", "edge", "-n", "hearth", "--type=merge", "-p", '{"spec":{"owner":"alice"}}')
    wait_for("the lock", lambda: status("lockState") == "Held")
    cluster.kubectl("patch", "fc", "edge", "-n", "hearth", "--type=merge", "-p", '{"spec":{"owner":""}}')
    wait_for("the lock to be released", lambda: status("lockState") == "Unlocked")
    cluster.kubectl("delete", "fc", "edge", "-n", "hearth", TIMEOUT)
    assert cluster.http("GET", "/apis/kueue.x-k8s.io/v1beta2/resourceflavors/edge").code == 404
    assert not leader.denied(), leader.denied()
    assert "forbidden" not in leader.text


def test_what_alerts_and_panels_ask_for_is_exported(cluster, leader):
    manifests = list(yaml.safe_load_all(run([KUBECTL, "kustomize", KUSTOMIZE / "overlays/production"]).out))
    rules = [rule for one in manifests if one["kind"] == "PrometheusRule" for group in one["spec"]["groups"] for rule in group["rules"]]
    board = next(json.loads(one["data"]["athanor.json"]) for one in manifests if one["metadata"]["name"] == "athanor-dashboard")
    expressions = [rule["expr"] for rule in rules] + [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    # Every name stands before a selector.
    asked = {re.sub("_bucket$", "", name) for text in expressions for name in re.findall(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\{", text)} - {"up"}
    # Metrics of jobs and clusters have series once there are such; test_runbooks.py compares their names with the declarations.
    asked = {name for name in asked if not re.match("athanor:|fournos_|hearth_", name)}
    # Counted from the first refusal on: a policy makes one.
    cluster.kubectl("apply", "-f", "-", stdin=REFUSAL)
    job = {"apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": {"name": "refused", "namespace": WORKLOAD},
           "spec": {"owner": "a", "cluster": "cluster-1", "forge": {"project": "p", "args": []}}}  # fmt: skip
    cluster.kubectl("create", "-f", "-", stdin=json.dumps(job))
    exported = lambda: set(re.findall(r"^# TYPE (\S+) ", leader.get("/metrics"), re.M))  # noqa: E731
    wait_for(f"{sorted(asked)} to be exported", lambda: asked <= exported() or asked - exported() == set())
    cluster.kubectl("delete", "-f", "-", stdin=REFUSAL)
    cluster.kubectl("delete", "fournosjob", "refused", "-n", WORKLOAD)


REFUSAL = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refuse-one}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [kueue.x-k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [workloads]}
  validations:
  - {expression: "object.metadata.name != 'refused'", message: not this one}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refuse-one}
spec: {policyName: refuse-one, validationActions: [Deny]}
"""


def test_the_other_replica_is_ready_and_takes_over(cluster, leader, replicas):
    second = replicas("second")
    wait_for("readiness", second.ready)
    assert not second.leads() and leader.leads()
    holder = lambda: cluster.get(f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/athanor")["spec"].get("holderIdentity", "")  # noqa: E731
    assert holder().startswith("first")
    assert leader.end() == 0
    wait_for("the second one to lead", second.leads)
    wait_for("the lease to say so", lambda: holder().startswith("second"))
    submit(cluster, "after")
    assert not second.denied(), second.denied()


def test_a_right_that_is_missing_is_told(cluster, replicas, leader):
    """What the guide and the alert AthanorForbidden rest on."""
    cluster.kubectl("delete", "rolebinding", "athanor", "-n", WORKLOAD)
    try:
        third = replicas("third")
        wait_for("the refusal to be counted", lambda: third.denied())

        def refused():
            watches = json.loads(third.get("/debug/watches"))
            return {(one["resource"], one["namespace"]) for one in watches if "forbidden" in one.get("error", "")}

        wait_for("the refused watch to be shown", lambda: ("fournosjobs", WORKLOAD) in refused())
        assert not any(namespace == SECRETS for _, namespace in refused())
    finally:
        cluster.kubectl("apply", "--server-side", "-k", KUSTOMIZE / "overlays/default")
