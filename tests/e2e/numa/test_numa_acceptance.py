# SPDX-License-Identifier: Apache-2.0
"""Acceptance scenarios of docs/spec/numa.md section 18 on a lab with two workers of two zones each. Their numbers are in the tests' names."""

import json

import pytest

from support import ROOT, wait_for

LAB = ROOT / "examples/numa/lab.yaml"
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"
PODS = "/api/v1/namespaces/default/pods"
OPERATOR = "/apis/nodetopology.openshift.io/v1/numaresourcesoperators/numaresourcesoperator"
SCHEDULER = "/apis/nodetopology.openshift.io/v1/numaresourcesschedulers/numaresourcesscheduler"
DAEMON_SET = "/apis/apps/v1/namespaces/numaresources/daemonsets/numaresourcesoperator-worker"
FREE = {"worker-1/node-0": "6", "worker-1/node-1": "12", "worker-2/node-0": "6", "worker-2/node-1": "12"}


@pytest.fixture
def lab(make_lab):
    lab = make_lab("--storage", "memory", "--lab", str(LAB)).start()
    for name in ("operator", "scheduler"):
        lab.kubectl("apply", "-f", str(ROOT / f"examples/numa/{name}.yaml"))
    wait_for("an object for each worker", lambda: free(lab) == FREE)
    wait_for("the scheduler", lambda: condition(lab, SCHEDULER, "Available") == "True")
    return lab


def free(lab):
    return {
        f"{item['metadata']['name']}/{zone['name']}": resource["available"]
        for item in lab.http("GET", TOPOLOGIES).json.get("items", [])
        for zone in item["zones"]
        for resource in zone["resources"]
        if resource["name"] == "cpu"
    }


def condition(lab, path, kind, key="status"):
    conditions = lab.http("GET", path).json.get("status", {}).get("conditions", [])
    return next((one.get(key) for one in conditions if one["type"] == kind), None)


def patch(lab, path, change):
    kind = path.split("/")[-2]
    lab.kubectl("patch", kind, path.split("/")[-1], "--type=merge", "-p", json.dumps(change))


def template(lab):
    return lab.http("GET", DAEMON_SET).json["spec"]["template"]


def pod(name, cpu, memory="1Gi", limits=True, **spec):
    resources = {"requests": {"cpu": cpu, "memory": memory}}
    if limits:
        resources["limits"] = resources["requests"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "schedulerName": "topo-aware-scheduler",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "pause:3.9", "resources": resources}],
            **spec,
        },
    }


def create(lab, body):
    answer = lab.http("POST", PODS, body)
    assert answer.code == 201, answer.json


def phase(lab, name):
    answer = lab.http("GET", f"{PODS}/{name}")
    return answer.json.get("status", {}).get("phase") if answer.code == 200 else None


def reason(lab, name):
    return condition(lab, f"{PODS}/{name}", "PodScheduled", "message") or ""


def test_a6_drift_is_reverted(lab):
    lab.kubectl("delete", "serviceaccount", "rte", "-n", "numaresources")
    wait_for("the account", lambda: lab.http("GET", "/api/v1/namespaces/numaresources/serviceaccounts/rte").code == 200)
    change = [{"op": "replace", "path": "/spec/template/spec/containers/0/args", "value": ["--oneshot"]}]
    lab.kubectl("patch", "daemonset", "numaresourcesoperator-worker", "-n", "numaresources", "--type=json", "-p", json.dumps(change))
    wait_for("the args", lambda: "--sysfs=/host-sys" in template(lab)["spec"]["containers"][0]["args"])


def test_a7_a8_a9_the_daemon_set_follows_the_specification(lab):
    patch(lab, OPERATOR, {"spec": {"logLevel": "Trace"}})
    wait_for("the verbosity", lambda: "-v=6" in template(lab)["spec"]["containers"][0]["args"])
    wait_for("Available", lambda: condition(lab, OPERATOR, "Available") == "True")
    selector = {"matchLabels": {"pools.operator.machineconfiguration.openshift.io/worker": ""}}

    def configure(**config):
        patch(lab, OPERATOR, {"spec": {"nodeGroups": [{"machineConfigPoolSelector": selector, "config": config}]}})

    configure(infoRefreshPause="Enabled", tolerations=[{"key": "k", "operator": "Exists"}])
    wait_for("the pause", lambda: "--no-publish" in template(lab)["spec"]["containers"][0]["args"])
    assert template(lab)["spec"]["tolerations"] == [{"key": "k", "operator": "Exists"}]
    wait_for("Available", lambda: condition(lab, OPERATOR, "Available") == "True")
    create(lab, pod("quiet", "2"))
    wait_for("the pod to run", lambda: phase(lab, "quiet") == "Running")
    assert free(lab) == FREE
    configure()
    wait_for("the zones to be published again", lambda: sum(map(int, free(lab).values())) == 34)
    assert "tolerations" not in template(lab)["spec"]


def test_a11_an_unrelated_kubelet_config_is_ignored(lab):
    config = {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "KubeletConfig",
        "metadata": {"name": "other"},
        "spec": {"machineConfigPoolSelector": {"matchLabels": {"nobody": "has"}}, "kubeletConfig": {"topologyManagerScope": "pod"}},
    }
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(config))
    create(lab, pod("later", "1"))
    wait_for("something later", lambda: phase(lab, "later") == "Running")
    assert lab.http("GET", "/api/v1/namespaces/numaresources/configmaps/numaresourcesoperator-worker").code == 404
    assert condition(lab, OPERATOR, "Available") == "True"


def test_a15_a16_names_and_replicas_of_the_scheduler(lab):
    patch(lab, SCHEDULER, {"spec": {"schedulerName": "other"}})
    wait_for("the name", lambda: lab.http("GET", SCHEDULER).json["status"].get("schedulerName") == "other")
    wait_for("Available", lambda: condition(lab, SCHEDULER, "Available") == "True")
    create(lab, pod("old", "1"))
    create(lab, pod("new", "1", schedulerName="other"))
    wait_for("the new name to work", lambda: phase(lab, "new") == "Running")
    assert phase(lab, "old") == "Pending"
    patch(lab, SCHEDULER, {"spec": {"replicas": 0}})
    deployment = "/apis/apps/v1/namespaces/numaresources/deployments/secondary-scheduler"
    wait_for("no replica", lambda: lab.http("GET", deployment).json["spec"]["replicas"] == 0)
    patch(lab, SCHEDULER, {"spec": {"replicas": None, "schedulerName": "topo-aware-scheduler"}})
    wait_for("the automatic count", lambda: lab.http("GET", deployment).json["spec"]["replicas"] == 1)
    wait_for("the old name to work again", lambda: phase(lab, "old") == "Running")


def test_n4_n5_other_classes_change_nothing_and_replicas_are_aligned(lab):
    create(lab, pod("burstable", "3", limits=False))
    create(lab, {**pod("none", "1"), "spec": {**pod("none", "1")["spec"], "containers": [{"name": "c", "image": "pause:3.9"}]}})
    for name in ("burstable", "none"):
        wait_for(name, lambda name=name: phase(lab, name) == "Running")
    assert free(lab) == FREE
    spec = pod("", "5")["spec"]
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "aligned"},
        "spec": {
            "replicas": 8,
            "selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": spec},
        },
    }
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(deployment))

    def phases():
        return sorted(
            item["status"]["phase"]
            for item in lab.http("GET", PODS).json["items"]
            if item["metadata"].get("labels", {}).get("app") == "a"
        )

    wait_for("what fits to run", lambda: phases() == ["Pending"] * 2 + ["Running"] * 6)
    wait_for("their cpus", lambda: set(free(lab).values()) == {"1", "2"})


def test_n12_ended_pods_stall_nothing(lab):
    for i in range(3):
        body = pod(f"ends-{i}", "6")
        body["spec"]["restartPolicy"] = "Never"
        body["spec"]["containers"][0]["command"] = ["true"]
        create(lab, body)
    for i in range(3):
        wait_for("it to end", lambda i=i: phase(lab, f"ends-{i}") in ("Succeeded", "Failed"))
    wait_for("the zones to be free again", lambda: free(lab) == FREE)
    create(lab, pod("whole", "12"))
    wait_for("a whole zone", lambda: phase(lab, "whole") == "Running")


def test_n13_another_schedulers_pod_is_accounted(lab):
    create(lab, pod("foreign", "4", schedulerName="default-scheduler"))
    wait_for("the foreign pod", lambda: phase(lab, "foreign") == "Running")
    wait_for("its cpus", lambda: sum(map(int, free(lab).values())) == 32)
    for i in range(2):
        create(lab, pod(f"wide-{i}", "12"))
    wait_for("one wide pod at least", lambda: "Running" in {phase(lab, "wide-0"), phase(lab, "wide-1")})
    phases = {phase(lab, f"wide-{i}") for i in range(2)}
    assert "Failed" not in phases


@pytest.mark.parametrize("mode", ["Disabled", "Enabled"])
def test_n16_preemption_by_zone(lab, mode):
    patch(lab, SCHEDULER, {"spec": {"preemptionMode": mode}})
    config = "/api/v1/namespaces/numaresources/configmaps/topo-aware-scheduler-config"
    wait_for("the mode", lambda: ("preemptionMode" in lab.http("GET", config).json["data"]["config.yaml"]) == (mode == "Enabled"))
    wait_for("Available", lambda: condition(lab, SCHEDULER, "Available") == "True")
    for value, name in ((1000, "high"), (10, "low")):
        body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
        lab.kubectl("apply", "-f", "-", stdin=json.dumps(body))
    # Every zone is full of pods of 6 cpus.
    for i in range(6):
        create(lab, pod(f"low-{i}", "6", priorityClassName="low"))
    wait_for("every zone to be full", lambda: set(free(lab).values()) == {"0"})
    create(lab, pod("high", "12", priorityClassName="high"))
    if mode == "Disabled":
        wait_for("a reason", lambda: reason(lab, "high"))
        assert phase(lab, "high") == "Pending"
        assert sum(phase(lab, f"low-{i}") == "Running" for i in range(6)) == 6
        return
    wait_for("the pod to land", lambda: phase(lab, "high") == "Running")
    # The two pods of one zone of 12 went, no other.
    wait_for("two victims", lambda: sum(phase(lab, f"low-{i}") == "Running" for i in range(6)) == 4)
    assert {key for key, left in free(lab).items() if left != "0"} == set()


def test_hand_written_topologies_that_make_no_sense_harm_nobody(lab):
    """Sparse ids, negative and absurd amounts, zones that are none: pods of every other node go on."""
    broken = {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": "control"},
        "attributes": [{"name": "topologyManagerPolicy", "value": "single-numa-node"}, {"name": "topologyManagerScope", "value": "orbit"}],
        "zones": [
            {"name": "node-7", "type": "Node", "resources": [{"name": "cpu", "capacity": "-4", "allocatable": "-4", "available": "-4"}]},
            {"name": "node-9999999999", "type": "Node", "resources": []},
            {"name": "moon", "type": "Crater", "costs": [{"name": "nowhere", "value": -1}]},
        ],
    }
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(broken))
    create(lab, pod("fits", "12"))
    wait_for("a pod on another node", lambda: phase(lab, "fits") == "Running")
    create(lab, pod("there", "1", nodeSelector={"kubernetes.io/hostname": "control"}, tolerations=[{"operator": "Exists"}]))
    wait_for("the reason", lambda: "cannot align" in reason(lab, "there"))
    shown = lab.athanor("numa", "control").out
    assert "node-7" in shown and "moon" not in shown
    # The zones go away again: the node has no data, and takes the pod.
    lab.kubectl("delete", "noderesourcetopology", "control")
    wait_for("the pod to run there", lambda: phase(lab, "there") == "Running")


def test_every_example_is_accepted_and_works(lab):
    for name in ("preemption", "hugepages-pod", "kubelet-config"):
        lab.kubectl("apply", "-f", str(ROOT / f"examples/numa/{name}.yaml"))
    lab.kubectl("create", "-f", str(ROOT / "examples/numa/aligned-pod.yaml"))
    wait_for("the pod with huge pages", lambda: phase(lab, "hugepages") == "Running")
    wait_for("both pods", lambda: {one["status"]["phase"] for one in lab.http("GET", PODS).json["items"]} == {"Running"})

    def attributes():
        items = lab.http("GET", TOPOLOGIES).json["items"]
        return {one["value"] for item in items for one in item["attributes"] if one["name"] == "topologyManagerScope"}

    wait_for("the scope of the KubeletConfig", lambda: attributes() == {"pod"})
    config = "/api/v1/namespaces/numaresources/configmaps/topo-aware-scheduler-config"
    wait_for("the mode", lambda: "preemptionMode: Enabled" in lab.http("GET", config).json["data"]["config.yaml"])


def test_a_lab_without_openshift_takes_pool_names(make_lab, tmp_path):
    file = tmp_path / "lab.yaml"
    file.write_text(LAB.read_text(encoding="utf-8") + "settings: {NUMA_EMULATE_OPENSHIFT: false}\n", encoding="utf-8")
    lab = make_lab("--storage", "memory", "--lab", str(file)).start()
    for name in ("plain-kubernetes", "scheduler"):
        lab.kubectl("apply", "-f", str(ROOT / f"examples/numa/{name}.yaml"))
    wait_for("an object for each worker", lambda: free(lab) == FREE)
    wait_for("Available", lambda: condition(lab, OPERATOR, "Available") == "True")
    assert lab.athanor("numa", "platform").out == "Kubernetes\n"
    create(lab, pod("plain", "12"))
    wait_for("the pod to run", lambda: phase(lab, "plain") == "Running")
    create(lab, pod("large", "14"))
    wait_for("the reason", lambda: "cannot align container" in reason(lab, "large"))
