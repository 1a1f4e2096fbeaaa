# SPDX-License-Identifier: Apache-2.0
"""The NUMA stack on a lab with zones: samples, exporters, scenarios N1 to N3 of docs/spec/numa.md section 18."""

import collections
import json
import re

import pytest

from support import ATHANOR, DEADLINE, KUBECTL, ROOT, run, wait_for

EXAMPLE = ROOT / "examples/numa/lab.yaml"


def test_the_samples_and_the_first_scenarios(make_lab):
    lab = make_lab("--storage", "memory", "--lab", str(EXAMPLE)).start()
    done = run(
        [ROOT / "tests/e2e/numa/numa_seed.sh"],
        env={**lab.env, "KUBECTL": KUBECTL, "SEED_LIMIT": f"{DEADLINE:.0f}"},
        timeout=900,
    )
    assert done.code == 0, done.out[-3000:] + done.err[-5000:]


def test_a_set_whose_pods_are_refused_makes_few_of_them(make_lab):
    """kubernetes issue 84869: the default scheduler places what no zone has room for."""
    lab = make_lab("--storage", "memory", "--lab", str(EXAMPLE)).start()
    limits = {"cpu": 13, "memory": "1Gi"}
    container = {"name": "c", "image": "busybox", "command": ["sleep", "300"], "resources": {"requests": limits, "limits": limits}}
    template = {"metadata": {"labels": {"app": "runaway"}}, "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "runaway"}}, "template": template}
    sets = "/apis/apps/v1/namespaces/default/replicasets"
    assert lab.http("POST", sets, {"metadata": {"name": "runaway"}, "spec": spec}).code == 201

    def refused():
        pods = lab.get("/api/v1/namespaces/default/pods", labelSelector="app=runaway")["items"]
        return [pod for pod in pods if pod["status"].get("reason") == "TopologyAffinityError"]

    wait_for("a node refuses the second try, too", lambda: len(refused()) > 2)
    assert len(refused()) <= 6
    conditions = lab.get(f"{sets}/runaway")["status"]["conditions"]
    assert [(c["type"], c["reason"]) for c in conditions] == [("ReplicaFailure", "PodsFailToStart")]
    assert "TopologyAffinityError" in conditions[0]["message"]


def test_the_verb_shows_zones_and_says_what_fits(make_lab):
    lab = make_lab("--storage", "memory", "--lab", str(EXAMPLE)).start()
    for name in ("operator", "scheduler"):
        lab.kubectl("apply", "-f", str(ROOT / f"examples/numa/{name}.yaml"))
    for path in ("clusteroperators/machine-config", "schedulers/cluster"):  # OpenShift's, which upstream's suites read
        assert lab.http("GET", f"/apis/config.openshift.io/v1/{path}").code == 200, path
    topologies = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"
    wait_for("an object for each worker", lambda: len(lab.http("GET", topologies).json.get("items", [])) == 2)
    shown = lab.athanor("numa").out
    assert shown.split("\n")[0].split() == ["NODE", "ZONE", "RESOURCE", "FREE", "ALLOCATABLE", "USE", "UPDATED"]
    assert {line.split()[0] for line in shown.splitlines()[1:]} == {"worker-1", "worker-2"}
    assert "worker-2" not in lab.athanor("numa", "worker-1").out
    assert "has no NodeResourceTopology" in lab.athanor("numa", "control", code=1).err
    described = json.loads(lab.athanor("describe", "noderesourcetopology.topology.node.k8s.io/worker-1", "-o", "json").out)
    assert described == json.loads(lab.athanor("describe", "zones", "worker-1", "-o", "json").out) and re.search(r"memory \d+Gi of \d+Gi", described["facts"]["node-0"]), described
    several = lab.athanor("numa", "worker-2", "control", "nowhere", "worker-1", code=1)
    assert {line.split()[0] for line in several.out.splitlines()[1:]} == {"worker-1", "worker-2"}
    assert "node control, nowhere has no NodeResourceTopology" in several.err
    fits = lab.athanor("numa", "fit", "--cpu", "12", "--memory", "8Gi").out
    assert any(line.split() == ["worker-1", "node-1", "fits"] for line in fits.splitlines()), fits
    lab.athanor("numa", "fit", "--cpu", "13", code=3)
    for arguments, why in (
        (("fit",), "say what has to fit"),
        (("fit", "--cpu", "lots"), "is no quantity"),
        (("fit", "--cpu", "-1"), "-1 of cpu has to be above 0"),
        (("fit", "--memory", "0"), "0 of memory has to be above 0"),
        (("fit", "--device", "=1"), 'device: "=1" is not NAME=COUNT'),
        (("fit", "--device", "vendor.io/nic=500m"), 'device: "vendor.io/nic=500m" is not NAME=COUNT'),
        (("fit", "worker-1", "--cpu", "1"), 'unexpected argument "worker-1"'),
        (("explain", "pod", "worker-1", "worker-2"), 'unexpected argument "worker-2"'),
        (("worker-1", "--cpu", "1"), "--cpu goes with fit"),
        (("explain", "pod", "-A"), "-n, not -A"),
        (("explain", "pod", "-o", "name"), "explain prints decisions"),
    ):
        assert why in lab.athanor("numa", *arguments, code=2).err, arguments
    assert lab.athanor("numa", "fit", "--device", "vendor.io/nic=2", "-o", "name").out.split() == [
        "node/worker-1",
        "node/worker-2",
    ]
    lab.athanor("numa", "fit", "--cpu", "1", "--device", "vendor.io/nic=2,vendor.io/none=1", code=3)
    names = lab.athanor("numa", "-o", "name").out.split()
    assert names == [f"noderesourcetopology.topology.node.k8s.io/worker-{i}" for i in (1, 2)]
    topology = json.loads(lab.athanor("numa", "worker-1", "-o", "json").out)
    assert (topology["apiVersion"], topology["kind"]) == ("topology.node.k8s.io/v1alpha2", "NodeResourceTopology")
    done = run([KUBECTL, "apply", "-f", "-"], env=lab.env, stdin=json.dumps(guaranteed("wide", "13")))
    assert done.code == 0, done.err
    explained = lab.athanor("numa", "explain", "wide", "worker-1").out
    assert "Guaranteed" in explained and "verdict: cannot align" in explained, explained


def guaranteed(name, cpu, scheduler="topo-aware-scheduler"):
    amounts = {"cpu": cpu, "memory": "1Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "pause:3.9", "resources": {"requests": amounts, "limits": amounts}}],
        },
    }


@pytest.mark.parametrize(("cpus", "why"), [(4, "2 Insufficient cpu"), (7, "2 cannot align container")])
def test_a_burst_fills_the_zones_and_no_pod_is_rejected(make_lab, cpus, why):
    """N6: twice as many pods as fit; exactly those that fit run, and each deletion lets one more run."""
    lab = make_lab("--storage", "memory", "--lab", str(EXAMPLE)).start()
    for name in ("operator", "scheduler"):
        lab.kubectl("apply", "-f", str(ROOT / f"examples/numa/{name}.yaml"))
    topologies = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"
    wait_for("an object for each worker", lambda: len(lab.http("GET", topologies).json.get("items", [])) == 2)
    capacity = 2 * (6 // cpus + 12 // cpus)
    pods = [guaranteed(f"burst-{i:02}", str(cpus)) for i in range(2 * capacity)]
    done = run([KUBECTL, "apply", "-f", "-"], env=lab.env, stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    assert done.code == 0, done.err

    def phases():
        items = lab.http("GET", "/api/v1/namespaces/default/pods").json["items"]
        return collections.Counter(pod["status"]["phase"] for pod in items)

    def reasons():
        items = lab.http("GET", "/api/v1/namespaces/default/pods").json["items"]
        waiting = [pod for pod in items if pod["status"]["phase"] == "Pending"]
        return [
            next((c.get("message", "") for c in pod["status"].get("conditions", []) if c["type"] == "PodScheduled"), "") for pod in waiting
        ]

    wait_for("every zone to be full", lambda: phases() == {"Running": capacity, "Pending": capacity})
    wait_for("the rest to say why", lambda: all(why in text for text in reasons()))
    running = next(
        pod["metadata"]["name"]
        for pod in lab.http("GET", "/api/v1/namespaces/default/pods").json["items"]
        if pod["status"]["phase"] == "Running"
    )
    lab.kubectl("delete", "pod", running)
    wait_for("one more to run", lambda: phases() == {"Running": capacity, "Pending": capacity - 1})


PODS = "/api/v1/namespaces/default/pods"
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"


def apply(lab, name):
    lab.kubectl("apply", "-f", str(ROOT / f"examples/numa/{name}.yaml"))


def published(lab):
    return len(lab.http("GET", TOPOLOGIES).json.get("items", []))


def pod(lab, name):
    return lab.http("GET", f"{PODS}/{name}").json


def test_both_objects_go_and_come_back(make_lab):
    """A2 and A17: without the scheduler its pods wait, without the operator nothing of it is left; both can be made again."""
    lab = make_lab("--storage", "memory", "--lab", str(EXAMPLE)).start()
    apply(lab, "operator")
    apply(lab, "scheduler")
    wait_for("an object for each worker", lambda: published(lab) == 2)
    lab.http("POST", PODS, guaranteed("first", "2"))
    wait_for("the first pod to run", lambda: pod(lab, "first")["status"]["phase"] == "Running")

    lab.kubectl("delete", "numaresourcesscheduler", "numaresourcesscheduler")
    deployment = "/apis/apps/v1/namespaces/numaresources/deployments/secondary-scheduler"
    wait_for("the Deployment to go", lambda: lab.http("GET", deployment).code == 404)
    lab.http("POST", PODS, guaranteed("second", "2"))
    lab.http("POST", PODS, guaranteed("marker", "1", "default-scheduler"))
    wait_for("another scheduler's pod to run", lambda: pod(lab, "marker")["status"]["phase"] == "Running")
    assert "nodeName" not in pod(lab, "second")["spec"]
    assert pod(lab, "first")["status"]["phase"] == "Running"
    apply(lab, "scheduler")
    wait_for("the second pod to run", lambda: pod(lab, "second")["status"]["phase"] == "Running")

    lab.kubectl("delete", "numaresourcesoperator", "numaresourcesoperator")
    daemon_set = "/apis/apps/v1/namespaces/numaresources/daemonsets/numaresourcesoperator-worker"
    wait_for("the DaemonSet to go", lambda: lab.http("GET", daemon_set).code == 404)
    definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/noderesourcetopologies.topology.node.k8s.io"
    wait_for("the definition to go", lambda: lab.http("GET", definition).code == 404)
    apply(lab, "operator")
    wait_for("the objects to come back", lambda: published(lab) == 2)


def test_a_kubelet_config_changes_the_nodes_and_what_fits(make_lab):
    """A10, and N2 in scope pod: two containers that fit a zone each no longer fit as one pod."""
    lab = make_lab("--storage", "memory", "--lab", str(EXAMPLE)).start()
    apply(lab, "operator")
    apply(lab, "scheduler")
    wait_for("an object for each worker", lambda: published(lab) == 2)
    config = {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "KubeletConfig",
        "metadata": {"name": "worker-tuning"},
        "spec": {
            "machineConfigPoolSelector": {"matchLabels": {"pools.operator.machineconfiguration.openshift.io/worker": ""}},
            "kubeletConfig": {"topologyManagerPolicy": "single-numa-node", "topologyManagerScope": "pod"},
        },
    }
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(config))

    def scopes():
        items = lab.http("GET", TOPOLOGIES).json["items"]
        return {one["value"] for item in items for one in item["attributes"] if one["name"] == "topologyManagerScope"}

    wait_for("the new scope to be published", lambda: scopes() == {"pod"})
    daemon_set = "/apis/apps/v1/namespaces/numaresources/daemonsets/numaresourcesoperator-worker"
    digest = "SHA256:cf7ee47ad9e0e9aab5ec93b336fe096b69640c9bb4cb9e66a7678dd0b3bfef89"
    wait_for(
        "the hash of the configuration",
        lambda: lab.http("GET", daemon_set).json["spec"]["template"]["metadata"]["annotations"]["configmap.hash"] == digest,
    )
    two = guaranteed("two", "6")
    two["spec"]["containers"].append({**two["spec"]["containers"][0], "name": "d"})
    two["spec"]["containers"][1]["resources"] = guaranteed("", "7")["spec"]["containers"][0]["resources"]
    lab.http("POST", PODS, two)
    wait_for("the reason", lambda: "2 cannot align pod" in json.dumps(pod(lab, "two")["status"]))


def test_wrong_zones_in_a_lab_file_are_named(tmp_path):
    path = tmp_path / "lab.yaml"
    path.write_text(
        "apiVersion: athanor.dev/v1\nkind: Lab\nnodes:\n- name: w\n  numa: {policy: single-numa-node, zones: [{cpus: many}]}\n",
        encoding="utf-8",
    )
    done = run([ATHANOR, "up", "--data", str(tmp_path / "data"), "--port", "0", "--lab", str(path)])
    assert done.code != 0
    assert 'numa.zones[0].cpus: "many" is no list of cpus' in done.err
