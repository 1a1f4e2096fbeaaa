# SPDX-License-Identifier: Apache-2.0
"""All five systems with the manifests and accounts of deploy/, on the real control plane with the real Kueue and Tekton.

Runs in a network namespace of its own (`scripts/test-real stack`). Nodes are objects that `athanor controllers --controllers nodes` plays: their
pods end by themselves.
"""

import json
import os
import pathlib
import re
import signal
import statistics
import sys
import time
from collections import Counter
from datetime import datetime

import pytest
import stack
import stack_slices
import yaml
from replica import Replica
from stack_course import Course
from support import ATHANOR, ROOT, Lab, processor_seconds, wait_for
from test_rights import HERE, PLACES, REFUSED, SLOW, WAYS, Process, add_nodes, add_numa, numa, wait_for_numa

sys.path.insert(0, str(HERE.parent / "e2e/cli"))
from guide import Guide, commands_of, inline_of, text_of  # noqa: E402

NS, SECRETS = PLACES["FOURNOS_WORKLOAD_NAMESPACE"], PLACES["FOURNOS_SECRETS_NAMESPACE"]
JOBS, APPWRAPPERS = 30, 8
# Figures of a release build on a machine that does nothing else (STACK_TARGETS=1); elsewhere, bounds that only a defect exceeds.
TARGETS_HOLD = os.environ.get("STACK_TARGETS") == "1"
PACE_P50, PACE_P99, BURST_P50 = (0.050, 0.250, 0.3) if TARGETS_HOLD else (1, 5, 5)  # seconds from job to run
REST_CORE, REST_MIB = (0.003, 64) if TARGETS_HOLD else (0.05, 2000)  # of the four processes together
AFTER_KUEUE = 10 if TARGETS_HOLD else 15  # seconds from Kueue's return to the last run of three jobs
REST_REQUESTS = 0.7  # a second
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
    one.nodes = None

    def start_nodes():
        command = [ATHANOR, "controllers", "--kubeconfig", one.kubeconfig, "--controllers", "nodes", "--all-namespaces", "--leader-elect=false"]
        one.nodes = Replica([*command, "--metrics-address", "127.0.0.1:0"], folder / f"nodes-{time.monotonic_ns()}.log", env={**os.environ, **stack_slices.EMULATION})

    one.start_nodes = start_nodes
    try:
        one.start()
        start_nodes()
        add_nodes(one)
        stack_slices.add_nodes(one)
        yield one
    finally:
        if one.nodes is not None:
            one.nodes.end()
        one.close()


def called_ports(objects, service):
    """The ports of a Service that webhook configurations and conversions call."""
    calls = [hook["clientConfig"].get("service") for one in objects if one["kind"].endswith("WebhookConfiguration") for hook in one["webhooks"]]
    calls += [
        one["spec"]["conversion"]["webhook"]["clientConfig"].get("service")
        for one in objects if one["kind"] == "CustomResourceDefinition" and one["spec"].get("conversion", {}).get("strategy") == "Webhook"
    ]  # fmt: skip
    return {one.get("port", 443) for one in calls if one and one["name"] == service}


class System:
    """One way of installing, with its processes."""

    def __init__(self, plane, way):
        objects, self.name, _ = WAYS[way]
        self.plane, self.objects = plane, stack_slices.emulated(objects()) if way == "deploy-das" else objects()
        for one in self.objects:
            if one["kind"] == "ConfigMap":  # pods would have ports of their own
                one["data"] = {key: re.sub(r'bindAddress: ":\d+"', 'bindAddress: "127.0.0.1:0"', text) for key, text in one["data"].items()}
        self.deployments = plane.install(self.objects)
        self.replicas = []

    def start(self):
        one = Process(self.plane, self.objects, self.deployments[self.name], address=stack.ADDRESS)
        own_port = any("--webhook-address" in str(word) for word in one.process.args)
        for service in self.objects:
            if service["kind"] == "Service" and own_port:
                called = called_ports(self.objects, service["metadata"]["name"])
                self.plane.serve(service, self.deployments.values(), {port.get("name", ""): one.webhooks for port in service["spec"]["ports"] if port["port"] in called})
        self.replicas.append(one)
        return one

    def revive(self):
        """As the kubelet does with a process that was killed or gave its lease up."""
        return self.replicas[-1] if self.replicas[-1].process.poll() is None else self.start()

    def end(self):
        for one in self.replicas:
            one.end()


@pytest.fixture(scope="module")
def systems(plane, tmp_path_factory):
    """Each system as its manifests install it."""
    made = {}
    try:
        for way in ("kustomize", "appwrapper", "deploy-das", "numa render"):
            made[way] = System(plane, way)
            made[way].start()
        for way, one in made.items():
            wait_for(f"{way} is ready", one.replicas[0].ready, SLOW)
        yield made
    except BaseException:
        print(*(f"{way}: {one.replicas[-1].text[-3000:]}" for way, one in made.items() if one.replicas))
        raise
    finally:
        for one in made.values():
            one.end()


@pytest.fixture(scope="module")
def slices(plane, systems, tmp_path_factory):
    """Who places pods with slices."""
    one = stack_slices.Placement(plane, systems["deploy-das"], tmp_path_factory.mktemp("slices") / "placement")
    try:
        yield one
    finally:
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
    """Prints and returns the median of job to run, and of a hundred the longest but one (of fewer the longest)."""
    columns = [sorted(column) for column in zip(*found.values(), strict=True)]
    texts = [
        f"{name} p50 {statistics.median(column):.3f} s, p99 {column[int(0.99 * len(column))]:.3f} s"
        for name, column in zip(("job to Workload", "to Kueue's answer", "to run"), columns, strict=True)
    ]  # fmt: skip
    print(f"{what}: {len(found)} jobs: {'; '.join(texts)}")
    return statistics.median(columns[-1]), columns[-1][int(0.99 * len(columns[-1]))]


def report(plane, systems):
    print(plane.kubectl("get", "fournosjobs,workloads,pipelineruns,taskruns,pods,events", "-n", NS, "-o", "wide", code=None).out[-6000:])
    print(*(f"{name}: {one.text[-2000:]}" for name, one in plane.programs.items()))
    print(*(f"{way}: {one.replicas[-1].text[-2000:]}" for way, one in systems.items()))


# An API server that has just started knows no roles yet, and Tekton takes its 403 for the end of a run.
REFUSED_AT_START = 'is forbidden: User "system:serviceaccount:tekton-pipelines:'


def jobs_succeed(plane, systems, names, again=()):
    """Waits for the end of jobs. With `again`, clusters, those that Tekton failed because of the API server's start are submitted again."""
    phases, messages = {}, {}

    def over(wanted):
        for one in collection(plane, f"/apis/fournos.dev/v1/namespaces/{NS}/fournosjobs"):
            phases[one["metadata"]["name"]] = one.get("status", {}).get("phase", "")
            messages[one["metadata"]["name"]] = one.get("status", {}).get("message", "")
        return all(phases.get(name) in ("Succeeded", "Failed") for name in wanted)

    try:
        wait_for("all jobs end", lambda: over(names), 3 * SLOW, 0.5)
        refused = [name for name in names if phases[name] == "Failed" and REFUSED_AT_START in messages[name]] if again else []
        for i, name in enumerate(refused):
            submit(plane, again[i % len(again)], f"{name}-again")
        wait_for("those end, too", lambda: over([f"{name}-again" for name in refused]), 3 * SLOW, 0.5)
        names = [f"{name}-again" if name in refused else name for name in names]
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
    assert show("a burst", moments(plane, systems, created))[0] <= BURST_P50
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
    median, longest = show("one a second", moments(plane, systems, created))
    assert median <= PACE_P50 and longest <= PACE_P99


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
    jobs_succeed(plane, systems, names, again=clusters)


def runs_of(plane, names):
    return [one["metadata"]["name"] for one in collection(plane, f"/apis/tekton.dev/v1/namespaces/{NS}/pipelineruns") if one["metadata"]["name"] in names]


def test_kueue_stands_still_for_30_seconds(plane, systems, clusters):
    """Its webhooks and its scheduler answer nobody; afterwards each job has its run within AFTER_KUEUE, most of which is Kueue's own time."""
    names, kueue = [f"still-{i}" for i in range(3)], plane.programs["kueue"].process.pid
    os.kill(kueue, signal.SIGSTOP)
    try:
        for cluster, name in zip(clusters, names, strict=True):
            submit(plane, cluster, name)
        time.sleep(30)  # the standstill itself
        assert runs_of(plane, names) == []
    finally:
        os.kill(kueue, signal.SIGCONT)
    back = time.monotonic()
    wait_for("each has its run", lambda: sorted(runs_of(plane, names)) == names, SLOW)
    took = time.monotonic() - back
    print(f"after Kueue was back: {took:.1f} s to the last run")
    assert took <= AFTER_KUEUE
    jobs_succeed(plane, systems, names)


def is_told(replica):
    """The process says that its server is gone, or has given up its lease."""
    return replica.process.poll() is not None or "[-]apiserver failed" in replica.ask("/readyz")[1]


def all_are_ready(plane, systems):
    """After processes that ended were started again."""
    plane.revive()
    for way, one in systems.items():
        wait_for(f"{way} is ready", one.revive().ready, SLOW)


def test_the_server_is_gone_for_20_seconds(plane, systems, clusters):
    names = [f"gone-{i}" for i in range(3)]
    for cluster, name in zip(clusters, names, strict=True):
        submit(plane, cluster, name)

    def told():
        for way, one in systems.items():
            wait_for(f"{way} says it", lambda one=one: is_told(one.replicas[-1]))

    plane.restart("apiserver", pause=20, meanwhile=told)
    all_are_ready(plane, systems)
    jobs_succeed(plane, systems, names, again=clusters)


GROUPS = "/apis/workload.codeflare.dev/v1beta2/namespaces/groups/appwrappers"
PREFIX = "workload.codeflare.dev.appwrapper"
COURSES = {}
ALL_WRITES = 9  # 8 measured, of a group that succeeds: its status, its Workload's, its finalizer, its pod, Events
UNTRIED = {f"{PREFIX}/retryLimit": "0", f"{PREFIX}/failureGracePeriodDuration": "1s", f"{PREFIX}/deletionOnFailureGracePeriodDuration": "0s"}


@pytest.fixture(scope="module")
def groups(plane):
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


def add_groups(plane, prefix, count=APPWRAPPERS, command=("true",), fails=False):
    """Creates groups of one pod; those that fail are not tried again."""
    pod = {"name": "c", "image": "busybox", "command": list(command), "resources": {"requests": {"cpu": "1"}}}
    names = [f"{prefix}-{i}" for i in range(count)]
    for name in names:
        notes = {"athanor.dev/simulate": json.dumps({"c": {"seconds": 0.2, "exitCode": 7}})} if fails else {}
        template = {"metadata": {"name": name, "annotations": notes}, "apiVersion": "v1", "kind": "Pod", "spec": {"restartPolicy": "Never", "containers": [pod]}}
        body = {
            "apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper",
            "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "groups"}, "annotations": UNTRIED if fails else {}},
            "spec": {"components": [{"template": template}]},
        }  # fmt: skip
        wait_for("it is created", lambda body=body: plane.http("POST", GROUPS, body).code in (201, 409), SLOW)
    return names


def phases_of(plane, names):
    return [one.get("status", {}).get("phase", "") for one in collection(plane, GROUPS) if one["metadata"]["name"] in names]


def groups_reach(plane, systems, names, phase):
    try:
        wait_for(f"all are {phase}", lambda: phases_of(plane, names) == [phase] * len(names), SLOW)
    except BaseException:
        print(plane.kubectl("get", "appwrappers,workloads,pods,events", "-n", "groups", "-o", "wide", code=None).out[-6000:])
        report(plane, systems)
        raise


def outcome(plane, prefix):
    """What clients read of a finished group, without times, the name of the group, and whether its pod was seen ready before it ended."""
    seen = set()
    for one in collection(plane, GROUPS):
        if one["metadata"]["name"].startswith(f"{prefix}-"):
            status = one["status"]
            conditions = {(each["type"], each["status"], each.get("reason", "")) for each in status["conditions"] if each["type"] != "PodsReady"}
            components = tuple((each["kind"], each["apiVersion"], json.dumps(each["podSets"])) for each in status["componentStatus"])
            seen.add((status["phase"], tuple(sorted(conditions)), components))
    assert len(seen) == 1, seen
    return seen.pop()


def status_writes(plane, user, names):
    writes = Counter(
        event["objectRef"]["name"] for (verb, _, resource), _, event in plane.requests(user) if resource == "appwrappers/status" and verb in ("patch", "update")
    )  # fmt: skip
    return sorted(writes[name] for name in names)


def all_writes(plane, user, names):
    """Writes of an account that concern each of these groups: of it, its Workload, its pod and its Events."""
    writes = Counter()
    for (verb, _, _), code, event in plane.requests(user):
        about = event["objectRef"].get("name", "")
        if verb in ("create", "patch", "update", "delete") and code < 300:
            writes.update(name for name in names if about == name or about.startswith(f"{name}.") or about.startswith(f"appwrapper-{name}-"))
    return sorted(writes[name] for name in names)


def state_of(plane, name):
    """The phase and three conditions of a group."""
    status = next(one["status"] for one in collection(plane, GROUPS) if one["metadata"]["name"] == name)
    conditions = {one["type"]: one["status"] for one in status["conditions"]}
    return status["phase"], conditions.get("QuotaReserved"), conditions.get("ResourcesDeployed"), conditions.get("PodsReady")


def endings(courses):
    """From the first state that is final on."""
    return {tuple(states[[one[0] in ("Succeeded", "Failed") for one in states].index(True) :]) for states in courses}


def test_appwrappers_succeed(plane, systems, groups):
    COURSES["ours"] = Course(plane, GROUPS)
    names = add_groups(plane, "group")
    groups_reach(plane, systems, names, "Succeeded")
    writes, every = (count(plane, systems["appwrapper"].replicas[-1].user, names) for count in (status_writes, all_writes))
    print(f"status writes of AppWrappers: {writes}, all writes: {every}")
    assert max(writes) <= 6 and max(every) <= ALL_WRITES
    groups_reach(plane, systems, add_groups(plane, "failing", 1, fails=True), "Failed")
    wait_for("it has given everything back", lambda: state_of(plane, "failing-0")[1:3] == ("False", "False"), SLOW)


def test_upstreams_manager_does_the_same(plane, systems, groups):
    """Upstream's manager takes the place of ours and gives it back, each time with groups that wait and run."""
    first = add_groups(plane, "handed", 6, ("sleep", "30"))  # four run, two wait
    wait_for("some run", lambda: phases_of(plane, first).count("Running") == 4, SLOW)
    systems["appwrapper"].end()
    upstream = plane.start_appwrapper()
    try:
        COURSES["theirs"] = Course(plane, GROUPS)
        names = add_groups(plane, "upstream")
        groups_reach(plane, systems, [*first, *names], "Succeeded")
        groups_reach(plane, systems, add_groups(plane, "their-failing", 1, fails=True), "Failed")
        wait_for("it has given everything back", lambda: state_of(plane, "their-failing-0")[1:3] == ("False", "False"), SLOW)
        back = add_groups(plane, "returned", 6, ("sleep", "30"))
        wait_for("some run", lambda: phases_of(plane, back).count("Running") == 4, SLOW)
    except BaseException:
        print(upstream.text[-6000:])
        raise
    finally:
        upstream.end()
    plane.install(systems["appwrapper"].objects)
    one = systems["appwrapper"].start()
    wait_for("ours is ready", one.ready, SLOW)
    groups_reach(plane, systems, back, "Succeeded")
    ours, theirs = outcome(plane, "group"), outcome(plane, "upstream")
    print(f"ours: {ours}\nupstream's: {theirs}\nupstream's status writes: {status_writes(plane, upstream.user, names)}")
    assert (ours[0], ours[2]) == (theirs[0], theirs[2])
    assert set(theirs[1]) <= set(ours[1]), "each of upstream's conditions"
    assert state_of(plane, "failing-0") == state_of(plane, "their-failing-0")
    for ours, theirs in (("group", "upstream"), ("failing", "their-failing")):
        courses = COURSES["ours"].of(ours), COURSES["theirs"].of(theirs)
        print(f"courses of {ours}: {courses[0]}\n  upstream's: {courses[1]}")
        assert all(courses), "both watches saw their groups"
        assert endings(courses[0]) == endings(courses[1])


def pod_phase(plane, name):
    return plane.get(f"/api/v1/namespaces/default/pods/{name}").get("status", {}).get("phase")


CLAIMS = f"/apis/inference.redhat.com/v1alpha1/namespaces/{stack_slices.NS}/allocationclaims"


def add_sliced(plane, prefix, profiles):
    """Pods with one slice each."""
    names = [f"{prefix}-{i}" for i in range(len(profiles))]
    for name, profile in zip(names, profiles, strict=True):
        container = {"name": "c", "image": "busybox", "command": ["sleep", "100000"], "resources": {"limits": {f"nvidia.com/mig-{profile}": "1"}}}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]}}
        answer = plane.http("POST", "/api/v1/namespaces/default/pods", body)
        assert answer.code == 201, answer.text
    return names


def claims_of(plane):
    """{uid: (GPU, place)} of all claims; each has a place of its own."""
    found = {one["metadata"]["uid"]: (one["spec"]["gpuUUID"], one["spec"]["migPlacement"]["start"]) for one in collection(plane, CLAIMS)}
    assert len(set(found.values())) == len(found)
    return found


def report_slices(plane, systems, slices):
    print(plane.kubectl("get", "pods,nodeaccelerators,allocationclaims,events", "-A", "-o", "wide", code=None).out[-6000:])
    print(slices.extender.text[-3000:], (slices.logs / "scheduler.log").read_text(encoding="utf-8")[-3000:], systems["deploy-das"].replicas[-1].text[-3000:])


def all_run(plane, names):
    return all(pod_phase(plane, name) == "Running" for name in names)


def test_ten_sliced_pods_run(plane, systems, slices):
    """Through the webhook, Kubernetes' scheduler with the operator's configuration, and the extender; two nodes of two emulated GPUs."""
    names = add_sliced(plane, "sliced", ["1g.5gb"] * 6 + ["2g.10gb"] * 2 + ["3g.20gb"] * 2)
    try:
        wait_for("all run", lambda: all_run(plane, names), SLOW)
        assert len(claims_of(plane)) == len(names)
        assert {one["status"]["state"] for one in collection(plane, CLAIMS)} == {"inUse"}
        plane.kubectl("delete", "pod", *names, "--wait=false")
        wait_for("no claim is left", lambda: collection(plane, CLAIMS) == [], SLOW)
    except BaseException:
        report_slices(plane, systems, slices)
        raise
    refused = {what for user in (slices.extender.user, slices.scheduler_user) for what, code, _ in plane.requests(user) if code == 403}
    assert not refused


def test_numa_resources_are_in_place(plane, systems):
    numa(plane, systems["numa render"].replicas[-1])


def created_by(plane, user, prefix):
    """{pod: how often an account created it}."""
    made = [event["objectRef"].get("name", "") for what, code, event in plane.requests(user) if what == ("create", "", "pods") and code == 201]
    return Counter(name for name in made if name.startswith(f"{prefix}-"))


def test_all_controllers_are_killed_under_work(plane, systems, slices, groups):
    """Those of groups, slices and zones, the extender and the player of nodes, at once. Nothing is lost, nothing is made twice."""
    names = add_groups(plane, "crashed", 6, ("sleep", "20"))  # four run, two wait
    wait_for("some run", lambda: phases_of(plane, names).count("Running") == 4, SLOW)
    first = add_sliced(plane, "before", ["1g.5gb", "1g.5gb", "2g.10gb"])
    wait_for("they run", lambda: all_run(plane, first), SLOW)
    held = claims_of(plane)
    add_numa(plane)
    wait_for_numa(plane)
    users = systems["appwrapper"].replicas[-1].user
    victims = [plane.nodes, slices.extender, *(systems[way].replicas[-1] for way in ("appwrapper", "deploy-das", "numa render"))]
    for one in victims:
        one.process.kill()
    for one in victims:
        one.process.wait()
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "unrelated"}, "spec": {"containers": [{"name": "c", "image": "busybox"}]}}
    assert plane.http("POST", "/api/v1/namespaces/default/pods", bare).code == 201, "pods without slices need none of the webhooks"
    group = {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": {"name": "unseen"}, "spec": {"components": []}}
    assert "failed calling webhook" in plane.http("POST", GROUPS, group).text
    plane.start_nodes()
    slices.revive()
    all_are_ready(plane, systems)
    try:
        second = wait_for("pods with slices are taken again", lambda: add_sliced(plane, f"after-{time.monotonic_ns()}", ["1g.5gb", "2g.10gb"]), SLOW)
        wait_for("all run", lambda: all_run(plane, [*first, *second]), SLOW)
        found = claims_of(plane)
        assert len(found) == 5 and held.items() <= found.items(), "each that was there keeps its place"
        groups_reach(plane, systems, names, "Succeeded")
        assert created_by(plane, users, "crashed") == dict.fromkeys(names, 1)
        wait_for_numa(plane)
    except BaseException:
        report_slices(plane, systems, slices)
        raise
    plane.kubectl("delete", "numaresourcesoperator/numaresourcesoperator", "numaresourcesscheduler/numaresourcesscheduler", "--timeout=60s")
    plane.kubectl("delete", "pod", "unrelated", *first, *second, "--wait=false")
    wait_for("no claim is left", lambda: collection(plane, CLAIMS) == [], SLOW)


def test_a_definition_that_is_deleted_comes_back(plane, systems, groups):
    """With all of its objects, under the operator that needs it."""
    (definition,) = [one for one in systems["appwrapper"].objects if one["kind"] == "CustomResourceDefinition"]
    name, operator = definition["metadata"]["name"], systems["appwrapper"].replicas[-1]
    plane.kubectl("delete", "crd", name, "--timeout=90s", timeout=SLOW)
    wait_for("/readyz names it", lambda: operator.ask("/readyz")[0] == 503 and name in operator.ask("/readyz")[1], SLOW)
    plane.apply(definition)
    wait_for("it is looked for every 60 to 90 s", operator.ready, 2 * SLOW)
    groups_reach(plane, systems, add_groups(plane, "anew", 2), "Succeeded")


def spent_by(replica):
    """(seconds of processor time, MiB resident) of a process."""
    pages = pathlib.Path(f"/proc/{replica.process.pid}/statm").read_text(encoding="ascii").split()[1]
    return processor_seconds(replica.process.pid), int(pages) * os.sysconf("SC_PAGESIZE") / 2**20


def test_nothing_is_refused_and_little_is_asked(plane, systems):
    """Last: the requests of the tests above, and one minute in which nothing happens."""
    quiet = 60
    mark = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    before = {way: spent_by(one.replicas[-1])[0] for way, one in systems.items()}
    time.sleep(quiet)  # the quiet itself
    asked, writes, absent, spent, resident = 0, [], Counter(), 0.0, 0.0
    for way, one in systems.items():
        replica = one.replicas[-1]
        requests = [one for one in plane.requests(replica.user) if not one[2].get("userAgent", "").startswith("appwrapper/")]  # upstream's has the same account
        refused = {
            what for what, code, event in requests
            if code == 403 and UNLISTED not in event["responseStatus"].get("message", "") and not plane.in_an_outage(event["requestReceivedTimestamp"])
        }  # fmt: skip
        refused -= REFUSED if way == "appwrapper" else set()
        late = [what for what, _, event in requests if event["requestReceivedTimestamp"] > mark and what[0] != "watch"]
        processor, memory = spent_by(replica)
        share = (processor - before[way]) / quiet
        print(f"{way}: {len(requests)} requests, {len(refused)} refused; at rest {len(late) / quiet:.2f} a second, {share:.2%} of a core, {memory:.0f} MiB")
        asked, spent, resident = asked + len(late), spent + share, resident + memory
        absent.update((way, what) for what, code, event in requests if what[0] == "list" and code in (403, 404) and event["requestReceivedTimestamp"] > mark)
        writes += [(way, *what) for what in late if what[0] not in ("get", "list") and what[2] != "leases"]
        assert not refused, (way, refused)
    print(f"all five at rest: {asked / quiet:.2f} requests a second, {len(writes)} writes but Leases, {spent:.2%} of a core, {resident:.0f} MiB")
    print(f"of these {absent.total()} lists of {len(absent)} kinds that are missing or not granted")
    assert writes == []
    assert not {what: count for what, count in absent.items() if count > 1}, "each at most once a minute"
    assert asked / quiet <= REST_REQUESTS and spent <= REST_CORE and resident <= REST_MIB


# Commands of docs/operations.md, by their beginnings, that the stack cannot run.
NOT_WALKED = {
    "scripts/image": "needs buildah: scripts/image test",
    "IMG=REGISTRY": "needs buildah and a registry",
    "helm install": "part chart",
    "kubectl -n athanor-system port-forward": "goes through a kubelet, and there is none",
    "curl -s localhost:8080": "goes through the forwarded port",
    "FRESH=": "restores into another cluster: tests/e2e/cli/test_guides.py",
    "jq": "restores into another cluster: tests/e2e/cli/test_guides.py",
    "kubectl apply --server-side -k deploy/kustomize/overlays/queueing": "for a cluster without Kueue: tests/e2e/kueue",
    "kubectl -n athanor-system rollout status deployment/athanor-queueing": "for a cluster without Kueue: tests/e2e/kueue",
    "kubectl apply -k deploy/argocd": "there is no ArgoCD",
    "kubectl apply --server-side -k": "names no folder",
    "kubectl apply -f -": "names no objects",
    "athanor numa render": "names no flags: the system above",
    "athanor rbac --people": "names no cluster: tests/unit",
}


def test_the_page_of_operations_is_walked(plane, systems, tmp_path):
    """The Deployment's pods are played by the controllers of nodes; what answers is the process."""
    system, text = systems["kustomize"], text_of("operations")
    commands = [*commands_of(text), *inline_of(text)]
    assert [one for one in NOT_WALKED if not any(command.startswith(one) for command in commands)] == []
    commands = [one for one in commands if not any(one.startswith(beginning) for beginning in NOT_WALKED)]
    commands = [f"{one} || [ $? = 1 ]" if one.startswith("kubectl diff") else one for one in commands]  # 1: there is a difference
    plane.apply(system.deployments[system.name])
    plane.kubectl("delete", "service", "athanor-controllers", "-n", "athanor-system")  # the page's has a selector
    guide, asked = Guide(tmp_path, plane.kubeconfig), next(i for i, one in enumerate(commands) if "/proxy/readyz" in one)
    done = guide.run(commands[:asked])
    assert "pod-0_" in done.out, "the leader"
    plane.install(system.objects)  # the Service without a selector, so that it leads to the process alone
    plane.kubectl("delete", "endpointslices", "-n", "athanor-system", "-l", "endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io")
    (service,) = [one for one in system.objects if one["kind"] == "Service" and one["metadata"]["name"] == "athanor-controllers"]
    served = re.search(r'"(?:metrics are|health is) served".*?"address":"[^"]+:(\d+)"', system.replicas[-1].text)
    plane.serve(service, [], {port.get("name", ""): int(served.group(1)) for port in service["spec"]["ports"]})
    done = guide.run(commands[asked:])
    assert "[+]" in done.out or "ok" in done.out
    assert len(json.loads((tmp_path / "jobs.json").read_text(encoding="utf-8"))["items"]) > JOBS
    config = json.loads(plane.kubectl("get", "configmap", "athanor-controllers", "-n", "athanor-system", "-o", "json").out)
    assert "controllers.yaml" in config["data"]
    plane.kubectl("delete", "deployment", system.name, "-n", "athanor-system")
