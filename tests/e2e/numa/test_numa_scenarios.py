# SPDX-License-Identifier: Apache-2.0
"""More acceptance scenarios of docs/spec/numa.md section 18; their numbers are in the tests' names. (test_numa_acceptance.py has the others.)"""

import json
import re
import tarfile

import pytest
import yaml

from numa_lab import (
    CONFIG,
    FREE,
    LAB,
    OPERATOR,
    PODS,
    POOL,
    SCHEDULER,
    attributes,
    condition,
    container,
    create,
    deploy,
    free,
    node,
    patch,
    phase,
    pod,
    remove,
    runs,
    tune_kubelets,
    waits,
)
from support import ROOT, wait_for


@pytest.fixture
def lab(make_lab):
    return deploy(make_lab("--storage", "memory", "--lab", str(LAB)).start())


def test_a12_pools_that_overlap_leave_one_exporter_waiting(lab):
    pool = {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfigPool",
        "metadata": {"name": "extra", "labels": {"extra": ""}},
        "spec": {
            "nodeSelector": {"matchLabels": {"kubernetes.io/hostname": "worker-2"}},
            "machineConfigSelector": {"matchLabels": {"machineconfiguration.openshift.io/role": "extra"}},
        },
    }
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(pool))
    groups = [{"machineConfigPoolSelector": POOL}, {"machineConfigPoolSelector": {"matchLabels": {"extra": ""}}}]
    patch(lab, OPERATOR, {"spec": {"nodeGroups": groups}})
    wait_for("Progressing", lambda: condition(lab, OPERATOR, "Progressing") == "True")
    message = "numaresources/numaresourcesoperator-extra is updating"
    wait_for("the DaemonSet to be named", lambda: condition(lab, OPERATOR, "Progressing", "message") == message)

    def exporters():
        items = lab.http("GET", "/api/v1/namespaces/numaresources/pods").json["items"]
        return sorted(one["status"]["phase"] for one in items if one["metadata"].get("labels", {}).get("name") == "resource-topology")

    wait_for("one pod for each node to run, and one to wait", lambda: exporters() == ["Pending", "Running", "Running"])
    patch(lab, OPERATOR, {"spec": {"nodeGroups": groups[:1]}})
    wait_for("Available", lambda: condition(lab, OPERATOR, "Available") == "True")
    wait_for("two exporters", lambda: exporters() == ["Running", "Running"])


def test_a14_the_resync_period_is_whole_seconds(lab):
    def arguments():
        config = yaml.safe_load(lab.http("GET", CONFIG).json["data"]["config.yaml"])
        return config["profiles"][0]["pluginConfig"][0]["args"]

    def digest():
        deployment = "/apis/apps/v1/namespaces/numaresources/deployments/secondary-scheduler"
        return lab.http("GET", deployment).json["spec"]["template"]["metadata"]["annotations"]["configmap.hash"]

    first = digest()
    shown = []
    for period, seconds in [("8s", 8), ("7500ms", 8), ("0", None)]:
        patch(lab, SCHEDULER, {"spec": {"cacheResyncPeriod": period}})
        wait_for(f"the period {period}", lambda seconds=seconds: arguments().get("cacheResyncPeriodSeconds") == seconds)
        wanted = f"{seconds or 0}s"
        wait_for("the status", lambda wanted=wanted: lab.http("GET", SCHEDULER).json["status"].get("cacheResyncPeriod") == wanted)
        shown.append(digest())
    assert first != shown[0] and shown[0] == shown[1] and shown[1] != shown[2]
    create(lab, pod("uncached", container(cpu="12")))
    runs(lab, "uncached")


def test_discard_reserved_gives_a_node_one_pod_after_the_other(lab):
    annotation = {"config.numa-operator.openshift.io/scheduler-discard-reserved": "enabled"}
    patch(lab, SCHEDULER, {"metadata": {"annotations": annotation}})
    wait_for("the plug-in's argument", lambda: "discardReservedNodes: true" in lab.http("GET", CONFIG).json["data"]["config.yaml"])
    names = [f"small-{index}" for index in range(6)]
    manifests = [pod(name, container(cpu="3"), nodeSelector={"kubernetes.io/hostname": "worker-1"}) for name in names]
    lab.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))
    for name in names:
        runs(lab, name)
    wait_for("their cpus", lambda: sum(map(int, free(lab).values())) == 36 - 18)


def test_n7_overhead_counts_in_scope_pod_and_never_in_the_zones(lab):
    overhead = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "heavy"},
        "handler": "runc",
        "overhead": {"podFixed": {"cpu": "250m", "memory": "160Mi"}},
    }
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(overhead))
    create(lab, pod("by-container", container(cpu="12"), runtimeClassName="heavy"))
    where = runs(lab, "by-container")
    wait_for("12 cpus to be taken, and no part of another", lambda: free(lab) == {**FREE, f"{where}/node-1": "0"})
    remove(lab, "by-container")
    tune_kubelets(lab, topologyManagerPolicy="single-numa-node", topologyManagerScope="pod")
    wait_for("scope pod", lambda: attributes(lab, "topologyManagerScope") == {"pod"})
    create(lab, pod("by-pod", container(cpu="12"), runtimeClassName="heavy"))
    waits(lab, "by-pod", "cannot align pod")
    create(lab, pod("smaller", container(cpu="11"), runtimeClassName="heavy"))
    where = runs(lab, "smaller")
    wait_for("11 cpus to be taken", lambda: free(lab) == {**FREE, f"{where}/node-1": "1"})


def test_n8_init_containers_take_turns(lab):
    first = container("first", cpu="12", command=["true"])
    create(lab, pod("turns", container(cpu="5"), initContainers=[first]))
    where = runs(lab, "turns")
    wait_for("the init container's cpus to be free again", lambda: sum(map(int, free(lab).values())) == 36 - 5)
    create(lab, pod("too-large", container(cpu="1"), initContainers=[container("first", cpu="13", command=["true"])]))
    waits(lab, "too-large", "cannot align init container")
    assert node(lab, "turns") == where


def test_n9_huge_pages_and_devices_decide_the_zone(lab):
    create(lab, pod("nic", container(cpu="6", extra={"vendor.io/nic": "1"})))
    first = runs(lab, "nic")
    wait_for("the zone of the device", lambda: free(lab)[f"{first}/node-0"] == "0")
    create(lab, pod("apart", container(cpu="7", extra={"vendor.io/nic": "1"})))
    waits(lab, "apart", "cannot align container")
    create(lab, pod("pages", container(cpu="4", extra={"hugepages-1Gi": "2Gi"})))
    second = runs(lab, "pages")
    wait_for("the pages to be taken", lambda: free(lab, "hugepages-1Gi")[f"{second}/node-0"] == str(2 << 30))
    create(lab, pod("more-pages", container(cpu="4", extra={"hugepages-1Gi": "4Gi"})))
    waits(lab, "more-pages", "cannot align container")
    create(lab, pod("no-pages", container(cpu="4", extra={"hugepages-2Mi": "64Mi"})))
    waits(lab, "no-pages", "Insufficient hugepages-2Mi")


def test_n10_other_filters_go_with_the_zones(lab):
    # worker-1 has 11 cpus left, 6 and 5 in its zones: worker-2 alone has 7 in one.
    create(lab, pod("filler", container(cpu="7"), nodeSelector={"kubernetes.io/hostname": "worker-1"}))
    assert runs(lab, "filler") == "worker-1"
    create(lab, pod("selects", container(cpu="7"), nodeSelector={"kubernetes.io/hostname": "worker-1"}))
    waits(lab, "selects", "1 cannot align container")
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["worker-2"]}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    create(lab, pod("avoids", container(cpu="7"), affinity=affinity))
    waits(lab, "avoids", "cannot align container")
    lab.kubectl("taint", "node", "worker-2", "mine=1:NoSchedule")
    create(lab, pod("untolerating", container(cpu="7")))
    waits(lab, "untolerating", "cannot align container")
    tolerations = [{"key": "mine", "operator": "Exists", "effect": "NoSchedule"}]
    create(lab, pod("tolerating", container(cpu="7"), tolerations=tolerations))
    assert runs(lab, "tolerating") == "worker-2"
    assert [phase(lab, name) for name in ("selects", "avoids", "untolerating")] == ["Pending"] * 3


@pytest.mark.parametrize(
    ("strategy", "scores"),
    [("LeastAllocated", ["46", "71"]), ("MostAllocated", ["28", "15"]), ("BalancedAllocation", ["56", "90"])],
)
def test_n14_the_strategy_makes_the_scores(lab, strategy, scores):
    patch(lab, SCHEDULER, {"spec": {"scoringStrategy": {"type": strategy}}})
    wait_for("the strategy", lambda: f"type: {strategy}" in lab.http("GET", CONFIG).json["data"]["config.yaml"])
    wait_for("Available", lambda: condition(lab, SCHEDULER, "Available") == "True")
    create(lab, pod("filler", container(cpu="9"), nodeSelector={"kubernetes.io/hostname": "worker-1"}))
    runs(lab, "filler")
    wait_for("its cpus", lambda: free(lab)["worker-1/node-1"] == "3")
    # The zones of worker-1 have 6 and 3 cpus left, those of worker-2 6 and 12.
    create(lab, pod("scored", container(cpu="3"), nodeSelector={"no": "where"}))
    waits(lab, "scored", "didn't match Pod's node affinity/selector")
    explained = lab.athanor("numa", "explain", "scored").out
    # The control plane has no zones.
    assert re.findall(r"^score: (\d+)$", explained, re.M) == ["0", *scores], explained
    assert "container c: scores node-0 " in explained
    assert "data: the zones count 1 of 1 pods that have CPUs or devices of their own" in explained
    if strategy == "LeastAllocated":
        create(lab, pod("chooses", container(cpu="3")))
        assert runs(lab, "chooses") == "worker-2"


def test_n11_without_topologies_pods_of_every_class_run(make_lab):
    lab = make_lab("--storage", "memory", "--lab", str(LAB)).start()
    sample = yaml.safe_load((ROOT / "examples/numa/operator.yaml").read_text(encoding="utf-8"))
    for group in sample["spec"]["nodeGroups"]:
        group.setdefault("config", {})["infoRefreshPause"] = "Enabled"
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(sample))
    lab.kubectl("apply", "-f", str(ROOT / "examples/numa/scheduler.yaml"))
    wait_for("the scheduler", lambda: condition(lab, SCHEDULER, "Available") == "True")
    create(lab, pod("guaranteed", container(cpu="2")))
    create(lab, pod("burstable", container(cpu="2", limits=False)))
    create(lab, pod("best-effort", {"name": "c", "image": "pause:3.9"}))
    for name in ("guaranteed", "burstable", "best-effort"):
        runs(lab, name)
    assert free(lab) == {}
    assert "no NodeResourceTopology, zones are not checked" in lab.athanor("numa", "explain", "guaranteed").out


def test_n15_a_policy_that_changes_lets_large_pods_in(lab):
    create(lab, pod("large", container(cpu="14")))
    waits(lab, "large", "cannot align container")
    tune_kubelets(lab, topologyManagerPolicy="restricted", topologyManagerScope="container")
    wait_for("the policy", lambda: attributes(lab, "topologyManagerPolicy") == {"restricted"})
    runs(lab, "large")
    wait_for("the zones count it", lambda: sorted(free(lab).values()) == ["0", "12", "4", "6"])


def test_m2_network_policies_open_what_is_needed_alone(lab):
    path = "/apis/networking.k8s.io/v1/namespaces/numaresources/networkpolicies"
    policies = {one["metadata"]["name"]: one["spec"] for one in lab.http("GET", path).json["items"]}
    rendered = yaml.safe_load_all(lab.athanor("numa", "render").out)
    policies |= {one["metadata"]["name"]: one["spec"] for one in rendered if one["kind"] == "NetworkPolicy"}

    def ports(spec, direction):
        return [port["port"] for rule in spec.get(direction, []) for port in rule["ports"]]

    def selected(labels):
        return [spec for spec in policies.values() if spec["podSelector"]["matchLabels"] == labels]

    for labels, metrics in [
        ({"name": "resource-topology"}, [2112]),
        ({"app": "secondary-scheduler"}, []),
        ({"app": "numaresources-operator"}, [8080]),
    ]:
        specs = selected(labels)
        denied = [spec for spec in specs if not spec.get("ingress") and not spec.get("egress")]
        assert len(denied) == 1 and sorted(denied[0]["policyTypes"]) == ["Egress", "Ingress"], labels
        assert [port for spec in specs for port in ports(spec, "egress")] == [6443], labels
        assert [port for spec in specs for port in ports(spec, "ingress")] == metrics, labels


def test_m3_status_files_agree_when_nothing_happens(lab, tmp_path):
    for index in range(3):
        create(lab, pod(f"aligned-{index}", container(cpu="4")))
    for index in range(3):
        runs(lab, f"aligned-{index}")
    wait_for("their cpus", lambda: sum(map(int, free(lab).values())) == 36 - 12)
    gathered = tmp_path / "gathered.tar"
    lab.athanor("numa", "must-gather", f"--output={gathered}")
    with tarfile.open(gathered) as tar:
        tar.extractall(tmp_path / "mg", filter="data")
    folder = tmp_path / "mg/namespaces/numaresources/pfpstatus"
    names = sorted(file.name for file in (folder / "scheduler").iterdir())
    assert names == ["worker-1", "worker-2"]
    for name in names:
        newest = json.loads((folder / "scheduler" / name).read_text())[-1]
        exported = json.loads((folder / "resource-topology-exporters" / name).read_text())
        assert newest["fingerprintExpected"] in {one["fingerprintComputed"] for one in exported}
        assert newest["fingerprintExpected"] == newest["fingerprintComputed"]
    assert lab.http("GET", PODS).code == 200


def test_a_pool_drains_its_nodes_one_after_the_other(make_lab):
    lab = deploy(make_lab("--storage", "memory", "--lab", str(LAB), "--set", "NUMA_MACHINE_CONFIG_DRAIN=true").start())
    lab.kubectl("create", "deployment", "web", "--image=pause", "--replicas=4", "--", "sleep", "1000")
    lab.kubectl("create", "poddisruptionbudget", "web", "--selector=app=web", "--min-available=3")

    def web():
        return lab.http("GET", f"{PODS}?labelSelector=app%3Dweb").json["items"]

    wait_for("the pods", lambda: [one["status"]["phase"] for one in web()] == ["Running"] * 4)
    before = {one["metadata"]["uid"] for one in web()}
    tune_kubelets(lab, topologyManagerPolicy="restricted", topologyManagerScope="container")
    nodes = "/api/v1/nodes"

    def policies():
        found = lab.http("GET", nodes).json["items"]
        assert sum(1 for one in found if one["spec"].get("unschedulable")) <= 1, "one node at a time"
        return [json.loads(one["metadata"]["annotations"]["athanor.dev/numa"]).get("policy") for one in found if "athanor.dev/numa" in one["metadata"]["annotations"]]

    wait_for("the policy of every node", lambda: set(policies()) == {"restricted"})
    wait_for("the nodes to be open again", lambda: not any(one["spec"].get("unschedulable") for one in lab.http("GET", nodes).json["items"]))
    pool = "/apis/machineconfiguration.openshift.io/v1/machineconfigpools/worker"
    wait_for("the pool", lambda: condition(lab, pool, "Updated") == "True")
    wait_for("the pods again", lambda: [one["status"]["phase"] for one in web()] == ["Running"] * 4)
    assert before - {one["metadata"]["uid"] for one in web()}, "pods were evicted"
