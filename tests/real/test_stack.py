# SPDX-License-Identifier: Apache-2.0
"""All five systems with the manifests and accounts of deploy/, on the real control plane with the real Kueue and Tekton.

Runs in a network namespace of its own (`scripts/test-real stack`). Nodes are objects that `athanor controllers --controllers nodes` plays: their
pods end by themselves.
"""

import json
import re
import signal
import statistics
import time
from collections import Counter
from datetime import datetime

import pytest
import stack
import yaml
from replica import Replica
from support import ATHANOR, ROOT, Lab, wait_for
from test_rights import PLACES, REFUSED, SLOW, WAYS, Process, add_nodes, numa

NS, SECRETS = PLACES["FOURNOS_WORKLOAD_NAMESPACE"], PLACES["FOURNOS_SECRETS_NAMESPACE"]
JOBS, APPWRAPPERS = 30, 8
UNLISTED = "cannot find RESTMapping for "  # the API server's check of owners is behind its own list of kinds
CLUSTERS = ("cluster-1", "cluster-2", "cluster-3")
TARGETS = {
    "apiVersion": "athanor.dev/v1", "kind": "Lab", "namespace": "elsewhere",
    "targets": [{"name": one, "onboard": False, "nodes": [{"count": 2, "gpus": 4, "model": "NVIDIA-A100-SXM4-80GB"}]} for one in CLUSTERS],
}  # fmt: skip


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stack")
    one = stack.Stack(folder / "plane")
    nodes = None
    try:
        one.start()
        command = [ATHANOR, "controllers", "--kubeconfig", one.kubeconfig, "--controllers", "nodes", "--all-namespaces", "--leader-elect=false"]
        nodes = Replica([*command, "--metrics-address", "127.0.0.1:0"], folder / "nodes.log")
        add_nodes(one)
        yield one
    finally:
        if nodes is not None:
            nodes.end()
        one.close()


class System:
    """One way of installing, with its processes."""

    def __init__(self, plane, way):
        objects, self.name, _ = WAYS[way]
        self.plane, self.objects = plane, objects()
        for one in self.objects:
            if one["kind"] == "ConfigMap":  # pods would have ports of their own
                one["data"] = {key: re.sub(r'bindAddress: ":\d+"', 'bindAddress: "127.0.0.1:0"', text) for key, text in one["data"].items()}
        self.deployments = plane.install(self.objects)
        if way == "numa render":
            self.deployments[self.name]["spec"]["template"]["spec"]["containers"][0]["args"].append("--metrics-address=127.0.0.1:0")  # 8080 is Tekton's here
        self.replicas = []

    def start(self):
        one = Process(self.plane, self.objects, self.deployments[self.name], address=stack.ADDRESS)
        own_port = any("--webhook-address" in str(word) for word in one.process.args)
        for service in self.objects:
            if service["kind"] == "Service" and own_port:
                self.plane.serve(service, self.deployments.values(), {port.get("name", ""): one.webhooks for port in service["spec"]["ports"] if port["port"] == 443})
        self.replicas.append(one)
        return one

    def end(self):
        for one in self.replicas:
            one.end()


def is_ready(replica):
    """As its probe sees it; DAS has its probe behind TLS and a token."""
    assert replica.process.poll() is None, replica.text[-2000:]
    return '"a system is run"' in replica.text if "metrics are served over TLS" in replica.text else replica.ready()


@pytest.fixture(scope="module")
def systems(plane, tmp_path_factory):
    """Each system as its manifests install it."""
    made = {}
    try:
        for way in ("kustomize", "appwrapper", "deploy-das", "numa render"):
            made[way] = System(plane, way)
            made[way].start()
        for way, one in made.items():
            wait_for(f"{way} is ready", lambda one=one: is_ready(one.replicas[0]), SLOW)
        yield made
    except BaseException:
        print(*(f"{way}: {one.replicas[-1].text[-3000:]}" for way, one in made.items() if one.replicas))
        raise
    finally:
        for one in made.values():
            one.end()


@pytest.fixture(scope="module")
def clusters(plane, systems, tmp_path_factory):
    """Three target clusters, whose kubeconfigs Hearth is given."""
    folder = tmp_path_factory.mktemp("targets")
    (folder / "lab.yaml").write_text(yaml.safe_dump(TARGETS), encoding="utf-8")
    target = Lab(folder / "lab", ["--lab", str(folder / "lab.yaml"), "--storage", "memory", "--pods", "timed", "--controllers", "emulated-target"])
    try:
        target.start()
        texts = [file.read_text(encoding="utf-8").replace("fournos-local-dev", NS) for file in sorted((ROOT / "examples/fournos/setup").glob("*.yaml"))]
        plane.apply(*[one for text in texts for one in yaml.safe_load_all(text) if one and one["kind"] != "Secret"])
        for name in CLUSTERS:
            config = (target.data / f"targets/{name}.kubeconfig").read_text(encoding="utf-8")
            for namespace in {SECRETS, NS}:
                plane.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{name}-kubeconfig", "namespace": namespace}, "stringData": {"kubeconfig": config}})
            plane.apply({
                "apiVersion": "fournos.dev/v1", "kind": "FournosCluster", "metadata": {"name": name, "namespace": PLACES["HEARTH_NAMESPACE"]},
                "spec": {"kubeconfigSecret": f"{name}-kubeconfig"},
            })  # fmt: skip
        yield CLUSTERS
    finally:
        target.close()


def job(cluster, name):
    return {
        "apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": {"name": name, "namespace": NS},
        "spec": {"owner": "perf-team", "cluster": cluster, "forge": {"project": "llmd", "args": ["cks"]}},
    }  # fmt: skip


def collection(plane, path):
    return plane.get(path)["items"]


def submit(plane, cluster, name):
    """Creates a job and returns when it was there."""
    assert plane.http("POST", f"/apis/fournos.dev/v1/namespaces/{NS}/fournosjobs", job(cluster, name)).code == 201
    return time.time()


def moments(plane, systems, created):
    """{job: seconds from its creation to its Workload, to Kueue's last word before the run, and to the run}, by the audit log."""
    ours, kueue = systems["kustomize"].replicas[-1].user, plane.programs["kueue"].user
    seen = {name: {} for name in created}
    for line in plane.audit.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        about = event.get("objectRef") or {}
        name, what = about.get("name", ""), (event["verb"], about.get("resource"), about.get("subresource", ""))
        if name not in seen or event.get("responseStatus", {}).get("code", 0) >= 300:
            continue
        begun, ended = (datetime.fromisoformat(event[key]).timestamp() for key in ("requestReceivedTimestamp", "stageTimestamp"))
        one = seen[name]
        if what == ("create", "workloads", "") and event["user"]["username"] == ours:
            one["workload"] = ended
        elif what[1:] == ("workloads", "status") and event["user"]["username"] == kueue and "run" not in one:
            one["kueue"] = ended
        elif what == ("create", "pipelineruns", ""):
            one["run"] = begun
    return {name: tuple(one[key] - created[name] for key in ("workload", "kueue", "run")) for name, one in seen.items() if {"workload", "kueue", "run"} <= set(one)}


def show(what, found):
    """Prints and returns the median of job to run."""
    columns = list(zip(*found.values(), strict=True))
    texts = [f"{name} p50 {statistics.median(column):.3f} s, most {max(column):.3f} s" for name, column in zip(("job to Workload", "to Kueue's answer", "to run"), columns, strict=True)]
    print(f"{what}: {len(found)} jobs: {'; '.join(texts)}")
    return statistics.median(columns[-1])


def report(plane, systems):
    print(plane.kubectl("get", "fournosjobs,workloads,pipelineruns,taskruns,pods,events", "-n", NS, "-o", "wide", code=None).out[-6000:])
    print(*(f"{name}: {one.text[-2000:]}" for name, one in plane.programs.items()))
    print(*(f"{way}: {one.replicas[-1].text[-2000:]}" for way, one in systems.items()))


def jobs_succeed(plane, systems, names):
    phases = {}

    def over():
        for one in collection(plane, f"/apis/fournos.dev/v1/namespaces/{NS}/fournosjobs"):
            phases[one["metadata"]["name"]] = one.get("status", {}).get("phase", "")
        return all(phases.get(name) in ("Succeeded", "Failed") for name in names)

    try:
        wait_for("all jobs end", over, 3 * SLOW, 0.5)
        assert {phases[name] for name in names} == {"Succeeded"}, phases
    except BaseException:
        report(plane, systems)
        raise
    runs = [one["metadata"]["name"] for one in collection(plane, f"/apis/tekton.dev/v1/namespaces/{NS}/pipelineruns")]
    assert sorted(run for run in runs if run in names) == sorted(names), "each ran once"


def test_jobs_run_right_after_the_installation(plane, systems, clusters):
    """The API server's check of owners knows new kinds up to half a minute later; a job that it refuses until then waits."""
    names = [f"first-{i}" for i in range(len(clusters))]
    for cluster, name in zip(clusters, names, strict=True):
        submit(plane, cluster, name)
    jobs_succeed(plane, systems, names)


def test_thirty_jobs_run_on_three_clusters(plane, systems, clusters):
    names = [f"burst-{i}" for i in range(JOBS)]
    created = {name: submit(plane, clusters[i % 3], name) for i, name in enumerate(names)}
    jobs_succeed(plane, systems, names)
    assert show("a burst", moments(plane, systems, created)) <= 5
    assert collection(plane, f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{NS}/workloads") == [], "all slots are free again"


def test_a_job_a_second_is_run_at_once(plane, systems, clusters):
    names = [f"steady-{i}" for i in range(JOBS)]
    asked = Counter(what for what, *_ in plane.requests(systems["kustomize"].replicas[-1].user))
    created = {}
    for i, name in enumerate(names):
        created[name] = submit(plane, clusters[i % 3], name)
        time.sleep(1)  # the pace itself
    jobs_succeed(plane, systems, names)
    asked = Counter(what for what, *_ in plane.requests(systems["kustomize"].replicas[-1].user)) - asked
    print(f"{asked.total() / JOBS:.1f} requests a job: {', '.join(f'{count / JOBS:.1f} {verb} {resource}' for (verb, _, resource), count in asked.most_common())}")
    assert show("one a second", moments(plane, systems, created)) <= 1


def test_a_killed_leader_and_a_killed_server_lose_no_job(plane, systems, clusters):
    first = systems["kustomize"].replicas[-1]
    second = systems["kustomize"].start()
    wait_for("the second is there", second.ready, SLOW)
    names = [f"killed-{i}" for i in range(6)]
    plane.apply(*[job(clusters[i % 3], name) for i, name in enumerate(names)])
    wait_for("a job is under way", lambda: plane.phase(names[0], NS) not in ("", "Pending"), SLOW)
    leader, other = (first, second) if first.leads() else (second, first)
    leader.end(signal.SIGKILL)
    plane.restart("apiserver")
    wait_for("the other leads", other.leads, SLOW)
    jobs_succeed(plane, systems, names)


def test_appwrappers_succeed(plane, systems):
    plane.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "groups"}},
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "groups"},
            "spec": {
                "namespaceSelector": {}, "resourceGroups": [{
                    "coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": [{"name": "cpu", "nominalQuota": "4"}]}]}],
            },
        },
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "groups", "namespace": "groups"}, "spec": {"clusterQueue": "groups"}},
    )  # fmt: skip
    pod = {"name": "c", "image": "busybox", "command": ["true"], "resources": {"requests": {"cpu": "1"}}}
    path = "/apis/workload.codeflare.dev/v1beta2/namespaces/groups/appwrappers"
    for i in range(APPWRAPPERS):
        template = {"metadata": {"name": f"group-{i}"}, "apiVersion": "v1", "kind": "Pod", "spec": {"restartPolicy": "Never", "containers": [pod]}}
        body = {
            "apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper",
            "metadata": {"name": f"group-{i}", "labels": {"kueue.x-k8s.io/queue-name": "groups"}}, "spec": {"components": [{"template": template}]},
        }  # fmt: skip
        wait_for("it is created", lambda body=body: plane.http("POST", path, body).code in (201, 409), SLOW)
    try:
        wait_for("all succeed", lambda: {one.get("status", {}).get("phase") for one in collection(plane, path)} == {"Succeeded"}, SLOW)
    except BaseException:
        print(plane.kubectl("get", "appwrappers,workloads,pods,events", "-n", "groups", "-o", "wide", code=None).out[-6000:])
        report(plane, systems)
        raise
    writes = Counter(
        event["objectRef"]["name"] for (verb, _, resource), _, event in plane.requests(systems["appwrapper"].replicas[-1].user)
        if resource == "appwrappers/status" and verb in ("patch", "update")
    )  # fmt: skip
    print(f"status writes of AppWrappers: {sorted(writes.values())}")
    assert all(writes[f"group-{i}"] <= 6 for i in range(APPWRAPPERS)), writes


def test_numa_resources_are_in_place(plane, systems):
    numa(plane, systems["numa render"].replicas[-1])


def test_nothing_is_refused_and_little_is_asked(plane, systems):
    """Last: the requests of the tests above, and one minute in which nothing happens."""
    quiet = 60
    mark = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    time.sleep(quiet)  # the quiet itself
    for way, one in systems.items():
        requests = [(what, code, event) for what, code, event in plane.requests(one.replicas[-1].user)]
        refused = {
            what for what, code, event in requests
            if code == 403 and UNLISTED not in event["responseStatus"].get("message", "") and not plane.in_an_outage(event["requestReceivedTimestamp"])
        } - REFUSED  # fmt: skip
        late = [what for what, _, event in requests if event["requestReceivedTimestamp"] > mark and what[0] != "watch"]
        print(f"{way}: {len(requests)} requests, {len(refused)} refused, {len(late) / quiet:.2f} a second at rest")
        assert not refused, (way, refused)
