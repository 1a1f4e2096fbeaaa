# SPDX-License-Identifier: Apache-2.0
"""The operator in the place of upstream's (docs/spec/numa.md 5.1): `numaresources-operator` with its flags, on a lab without the
lab's own operators of zones."""

import json
import signal
import ssl
import urllib.error
import urllib.request

import pytest
import yaml
from replica import Replica
from support import ATHANOR, ROOT, run, wait_for

OPERATORS = ("numaresources", "numaresources-kubeletconfig", "numaresources-hosted-kubeletconfig", "numaresourcesscheduler")
PORTS = ("-metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.2:0")


@pytest.fixture
def operator(make_lab, tmp_path):
    lab = make_lab("--storage", "memory", "--lab", str(ROOT / "examples/numa/lab.yaml"), "--controllers", ",".join(["*", *(f"-{one}" for one in OPERATORS)])).start()
    program = tmp_path / "numaresources-operator"
    program.symlink_to(ATHANOR)
    running = []

    def start(*flags, **variables):
        env = {**lab.env, "NAMESPACE": "numaresources", "SCHEDULER_IMAGE_VALIDATION": "false", **variables}
        running.append(Replica([program, *flags, *PORTS], tmp_path / f"operator-{len(running)}.log", env=env))
        return running[-1]

    start.lab = lab
    yield start
    for one in running:
        one.end(signal.SIGKILL)


def conditions(lab, kind):
    found = lab.http("GET", f"/apis/nodetopology.openshift.io/v1/{kind}s/{kind}").json
    return {one["type"]: one for one in found.get("status", {}).get("conditions", [])}


def test_its_flags_have_their_effect(operator):
    lab = operator.lab
    for name in ("operator", "scheduler"):
        lab.kubectl("apply", "-f", str(ROOT / f"examples/numa/{name}.yaml"))
    one = operator("-enable-scheduler=false", "--image-exporter=mine:1", "--enable-mcp-conds-fwd")
    wait_for("readiness", one.ready)
    waits = "numaresources/numaresourcesoperator-worker is updating"
    wait_for("the exporter", lambda: conditions(lab, "numaresourcesoperator").get("Progressing", {}).get("message") == waits)
    image = lab.kubectl("get", "daemonset", "numaresourcesoperator-worker", "-n", "numaresources", "-o", "jsonpath={.spec.template.spec.containers[0].image}").out
    assert image == "mine:1"
    pools = lab.http("GET", "/apis/nodetopology.openshift.io/v1/numaresourcesoperators/numaresourcesoperator").json["status"]["machineconfigpools"]
    assert pools[0]["conditions"], "--enable-mcp-conds-fwd"
    assert conditions(lab, "numaresourcesscheduler") == {}, "--enable-scheduler=false"
    lease = lab.kubectl("get", "lease", "0e2a6bd3.openshift-kni.io", "-n", "numaresources", "-o", "jsonpath={.spec.holderIdentity}").out
    assert lease, "upstream's Lease"
    address = json.loads(next(line for line in one.text.splitlines() if '"metrics are served over TLS"' in line))["address"]
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"https://{address}/metrics", context=ssl._create_unverified_context())
    assert refused.value.code == 401
    assert one.end() == 0


def token_of(lab, node=None):
    """A token of the exporters' account, bound to a node as those of an exporter's pod are."""
    bound = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": lab.get(f"/api/v1/nodes/{node}")["metadata"]["uid"]} if node else None
    answer = lab.http("POST", "/api/v1/namespaces/numaresources/serviceaccounts/rte/token", {"spec": {"boundObjectRef": bound} if bound else {}})
    assert answer.code == 201, answer.text
    return answer.json["status"]["token"]


def test_exporters_write_zones_of_their_own_node_alone(operator):
    """One stolen node is not the fleet: docs/numa.md."""
    lab = operator.lab
    lab.kubectl("apply", "-f", str(ROOT / "examples/numa/operator.yaml"))
    operator()
    policy = wait_for("the policy", lambda: lab.get("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/rte-own-node"))
    assert "system:serviceaccount:numaresources:rte" in policy["spec"]["matchConditions"][0]["expression"]
    zones = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"
    wait_for("the kind", lambda: lab.get(zones))
    own, other, unbound = (wait_for("a token", lambda node=node: token_of(lab, node)) for node in ("worker-1", "worker-2", None))
    body = {"apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology", "metadata": {"name": "worker-1"}, "topologyPolicies": [], "zones": []}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "e"}, "spec": {"nodeName": "worker-1", "containers": [{"name": "c", "image": "i"}]}}
    assert lab.http("POST", "/api/v1/namespaces/numaresources/pods", pod).code == 201
    status = "/api/v1/namespaces/numaresources/pods/e/status"

    def writes(token):
        live = lab.get(status.removesuffix("/status"))
        live["status"]["message"] = "touched"
        return [lab.http("POST", f"{zones}?dryRun=All", body, token=token), lab.http("PUT", f"{status}?dryRun=All", live, token=token)]

    def denied(token, message):
        return all(one.code in (403, 422) and message in one.text for one in writes(token))

    wait_for("the policy is in force", lambda: denied(other, "an exporter writes objects of its own node alone"))
    # Waited for, too: a kubelet that writes the pod between the read and the write makes a conflict of it.
    wait_for("a token bound to nothing is denied", lambda: denied(unbound, "the token of an exporter must be bound to its pod or node"))
    wait_for("writes of its own node", lambda: [one.code for one in writes(own)] == [201, 200])


def test_the_exporter_has_the_image_of_the_operators_pod(operator):
    lab = operator.lab
    containers = [{"name": name, "image": image, "command": ["true"]} for name, image in (("proxy", "proxy:1"), ("manager", "own:1"))]
    made = lab.http("POST", "/api/v1/namespaces/numaresources/pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "me"}, "spec": {"containers": containers}})
    assert made.code == 201, made.text
    lab.kubectl("apply", "-f", str(ROOT / "examples/numa/operator.yaml"))

    def image():
        sets = lab.http("GET", "/apis/apps/v1/namespaces/numaresources/daemonsets").json["items"]
        return [one["spec"]["template"]["spec"]["containers"][0]["image"] for one in sets]

    for variables, expected in (
        ({"PODNAME": "me"}, "own:1"),
        ({"PODNAME": "me", "NUMA_EXPORTER_IMAGE": "mine:1"}, "mine:1"),
        ({"PODNAME": "gone"}, "numaresources-operator:latest"),
    ):
        one = operator(**variables)
        wait_for(f"the image {expected}", lambda expected=expected: image() == [expected])
        assert ("the image of this process's pod is unknown" in one.text) == (variables["PODNAME"] == "gone")
        assert one.end() == 0


def test_what_it_cannot_do_is_said(tmp_path):
    program = tmp_path / "numaresources-operator"
    program.symlink_to(ATHANOR)
    assert run([program, "--version"]).code == 0
    assert "kind: CustomResourceDefinition" in run([program, "-render-nrt-crd"]).out
    for command, why in (
        ([program, "--enable-scheduler=maybe"], '--enable-scheduler: "maybe" is neither true nor false'),
        ([program, "--platform=plan9"], "must be kubernetes, openshift or hypershift"),
        ([program, "--config=mine"], "numa has no ConfigMap"),
        ([ATHANOR, "controllers", "--systems=numa", "--zap-devel"], "--zap-devel goes with --systems=appwrapper"),
        ([ATHANOR, "controllers", "--systems=kueue", "--platform=openshift"], "--platform goes with --systems=numa"),
        ([ATHANOR, "controllers", "--webhook-port=9443"], "--webhook-port goes with --systems=numa"),
    ):
        done = run(command, env={"KUBECONFIG": "/nowhere"})
        assert done.code != 0 and why in done.err, (command, done.err)


NODES = {"no node": (0, 0), "one node": (1, 1), "two nodes": (2, 2), "one of two nodes": (2, 1)}  # how many there are, and of how many the topology is refused


@pytest.mark.parametrize("row", NODES)
def test_available_follows_the_topologies(make_lab, tmp_path, row):
    """Not while a node's topology is refused by a policy; as soon as each node has its own (docs/numa.md)."""
    count, refusals = NODES[row]
    spec = yaml.safe_load((ROOT / "examples/numa/lab.yaml").read_text(encoding="utf-8"))
    control, worker = spec["nodes"]
    file = tmp_path / "lab.yaml"
    file.write_text(yaml.safe_dump({**spec, "nodes": [control, {**worker, "count": count}] if count else [control]}), encoding="utf-8")
    lab = make_lab("--storage", "memory", "--lab", str(file)).start()
    workers = sorted(one["metadata"]["name"] for one in lab.get("/api/v1/nodes")["items"] if one["metadata"]["name"].startswith("worker"))
    assert len(workers) == count, workers
    refused, others = set(workers[:refusals]), set(workers[refusals:])
    rule = {"apiGroups": ["topology.node.k8s.io"], "apiVersions": ["*"], "resources": ["noderesourcetopologies"], "operations": ["CREATE", "UPDATE"]}
    policy = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": f"!(object.metadata.name in {json.dumps(sorted(refused))})", "message": "refused by the test"}]}
    for kind, name, body in (("ies", "refuse", policy), ("ybindings", "refuse", {"policyName": "refuse", "validationActions": ["Deny"]})):
        made = lab.http("POST", f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic{kind}", {"metadata": {"name": name}, "spec": body})
        assert made.code == 201, made.text
    lab.kubectl("apply", "-f", str(ROOT / "examples/numa/operator.yaml"))

    def status(kind):
        return conditions(lab, "numaresourcesoperator").get(kind, {}).get("status")

    def topologies():
        return {one["metadata"]["name"] for one in lab.http("GET", "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies").json.get("items", [])}

    def pods_that_run():
        pods = lab.get("/api/v1/namespaces/numaresources/pods")["items"]
        return {one["spec"]["nodeName"]: {c["type"]: c["status"] for c in one["status"]["conditions"]} for one in pods if one["status"].get("phase") == "Running"}

    if refused:
        wait_for("the exporters run", lambda: len(pods_that_run()) == count)
        wait_for("the other nodes have theirs", lambda: topologies() == others)
        wait_for("the pods of the others are ready", lambda: {node for node, has in pods_that_run().items() if has["Ready"] == "True"} == others)
        assert status("Progressing") == "True" and status("Available") == "False", conditions(lab, "numaresourcesoperator")
        assert lab.http("DELETE", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/refuse").code == 200
    wait_for("it is available", lambda: status("Available") == "True")
    assert status("Progressing") == "False" and topologies() == set(workers)
