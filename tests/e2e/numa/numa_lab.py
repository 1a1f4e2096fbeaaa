# SPDX-License-Identifier: Apache-2.0
"""What tests of zones share: the lab of examples/numa and questions to it."""

import json

from support import ROOT, wait_for

LAB = ROOT / "examples/numa/lab.yaml"
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"
PODS = "/api/v1/namespaces/default/pods"
OPERATOR = "/apis/nodetopology.openshift.io/v1/numaresourcesoperators/numaresourcesoperator"
SCHEDULER = "/apis/nodetopology.openshift.io/v1/numaresourcesschedulers/numaresourcesscheduler"
DAEMON_SET = "/apis/apps/v1/namespaces/numaresources/daemonsets/numaresourcesoperator-worker"
CONFIG = "/api/v1/namespaces/numaresources/configmaps/topo-aware-scheduler-config"
FREE = {"worker-1/node-0": "6", "worker-1/node-1": "12", "worker-2/node-0": "6", "worker-2/node-1": "12"}
POOL = {"matchLabels": {"pools.operator.machineconfiguration.openshift.io/worker": ""}}


def deploy(lab):
    """Applies both samples and waits until zones are published and the scheduler runs."""
    for name in ("operator", "scheduler"):
        lab.kubectl("apply", "-f", str(ROOT / f"examples/numa/{name}.yaml"))
    wait_for("an object for each worker", lambda: free(lab) == FREE)
    wait_for("the scheduler", lambda: condition(lab, SCHEDULER, "Available") == "True")
    return lab


def free(lab, resource="cpu"):
    return {
        f"{item['metadata']['name']}/{zone['name']}": one["available"]
        for item in lab.http("GET", TOPOLOGIES).json.get("items", [])
        for zone in item["zones"]
        for one in zone["resources"]
        if one["name"] == resource
    }


def attributes(lab, name):
    items = lab.http("GET", TOPOLOGIES).json["items"]
    return {one["value"] for item in items for one in item["attributes"] if one["name"] == name}


def condition(lab, path, kind, key="status"):
    conditions = lab.http("GET", path).json.get("status", {}).get("conditions", [])
    return next((one.get(key) for one in conditions if one["type"] == kind), None)


def patch(lab, path, change):
    kind = path.split("/")[-2]
    lab.kubectl("patch", kind, path.split("/")[-1], "--type=merge", "-p", json.dumps(change))


def container(name="c", cpu="1", memory="1Gi", limits=True, command=None, extra=None):
    requests = {"cpu": cpu, "memory": memory, **(extra or {})}
    body = {"name": name, "image": "pause:3.9", "resources": {"requests": requests}}
    if limits:
        body["resources"]["limits"] = requests
    return {**body, "command": command} if command else body


def pod(name, *containers, **spec):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "schedulerName": "topo-aware-scheduler",
            "terminationGracePeriodSeconds": 0,
            "containers": list(containers),
            **spec,
        },
    }


def create(lab, body):
    answer = lab.http("POST", PODS, body)
    assert answer.code == 201, answer.json


def status(lab, name):
    answer = lab.http("GET", f"{PODS}/{name}")
    return answer.json.get("status", {}) if answer.code == 200 else {}


def phase(lab, name):
    return status(lab, name).get("phase")


def node(lab, name):
    return lab.http("GET", f"{PODS}/{name}").json["spec"].get("nodeName")


def reason(lab, name):
    return condition(lab, f"{PODS}/{name}", "PodScheduled", "message") or ""


def runs(lab, name):
    wait_for(f"{name} to run", lambda: phase(lab, name) == "Running")
    return node(lab, name)


def waits(lab, name, why):
    wait_for(f"{name} to say why it waits", lambda: why in reason(lab, name))
    assert phase(lab, name) == "Pending"


def remove(lab, *names):
    lab.kubectl("delete", "pod", *names)


def tune_kubelets(lab, **config):
    body = {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "KubeletConfig",
        "metadata": {"name": "worker-tuning"},
        "spec": {"machineConfigPoolSelector": POOL, "kubeletConfig": config},
    }
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(body))
