# SPDX-License-Identifier: Apache-2.0
"""AppWrapper on `athanor up`: the first contact, every rejection on the served API, the worked samples (docs/spec/appwrapper.md 9.3, 12, 13)."""

import json
import os
import signal

import pytest
import yaml
from appwrapper_table import (
    CHANGES,
    DECLARED,
    DECLARED_CHANGES,
    DENIED,
    FATAL,
    PATH,
    SERVICE,
    changed,
    check_changes,
    check_fatal,
    check_rejections,
    condition,
    deployment,
    phase,
    pod,
    read,
    wrapper,
)
from support import ATHANOR, DEADLINE, KUBECTL, ROOT, run, wait_for



def sample(name):
    return yaml.safe_load((ROOT / f"samples/{name}.yaml").read_text(encoding="utf-8"))


def create(lab, ns, body, code=201, **query):
    answer = lab.http("POST", PATH.format(ns) + "".join(f"?{key}={value}" for key, value in query.items()), body)
    assert answer.code == code, answer.text
    return answer


def wait_phase(lab, ns, wanted, name="aw"):
    wait_for(f"{name} is {wanted}", lambda: phase(lab, ns, name) == wanted)
    return read(lab, ns, name)


def queue_of(lab, ns, cpu="2"):
    """A ClusterQueue of the test's own with this much CPU, and the LocalQueue `lq`."""
    flavor = {"name": "default-flavor", "resources": [{"name": "cpu", "nominalQuota": cpu}]}
    spec = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}]}
    kueue = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
    objects = [
        {**kueue, "kind": "ClusterQueue", "metadata": {"name": f"cq-{ns}"}, "spec": spec},
        {**kueue, "kind": "LocalQueue", "metadata": {"name": "lq", "namespace": ns}, "spec": {"clusterQueue": f"cq-{ns}"}},
    ]
    lab.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(objects))
    return "lq"


@pytest.mark.parametrize("namespace", ["", "default"])
def test_12_1_the_first_contact(make_lab, namespace):
    lab = make_lab("--storage", "memory").start()
    env = {**lab.env, "KUBECTL": KUBECTL, "SEED_NAMESPACE": namespace, "SEED_LIMIT": f"{DEADLINE:.0f}"}
    done = run([ROOT / "tests/e2e/appwrapper/appwrapper_seed.sh"], env=env, cwd=ROOT, timeout=600)
    assert done.code == 0, done.out[-3000:] + done.err[-5000:]


def test_defaults_of_a_new_one(lab, ns):
    body = wrapper(pod(), queue="nowhere", annotations={"workload.codeflare.dev.appwrapper/retryLimit": "many"})
    body["metadata"]["labels"]["workload.codeflare.dev/user"] = "forged"
    answer = create(lab, ns, body)
    app = answer.json
    assert app["spec"]["suspend"] is True
    assert app["metadata"]["labels"]["workload.codeflare.dev/user"] == "kubernetes-admin"
    assert app["metadata"]["labels"]["workload.codeflare.dev/userid"] == ""
    assert "retryLimit" in str(answer.headers), "a malformed annotation is warned of"
    app = wait_phase(lab, ns, "Suspended")
    expected = [{"name": "", "kind": "", "apiVersion": "", "podSets": [{"path": "template", "replicas": 1}]}]
    assert app["status"]["componentStatus"] == expected


def test_rejections(lab, ns):
    """13: every row that admission refuses."""
    check_rejections(lab, ns)


@pytest.mark.parametrize("spec", ["text", 5, [], True])
def test_spec_that_is_no_object_is_refused(lab, ns, spec):
    body = {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": {"name": "formless"}, "spec": spec}
    answer = lab.http("POST", f"/apis/workload.codeflare.dev/v1beta2/namespaces/{ns}/appwrappers", body)
    assert answer.code == 422 and "spec" in answer.text, answer.text


@pytest.mark.parametrize("row", FATAL)
def test_what_cannot_be_created_fails(lab, ns, row):
    """13: rows that pass admission and fail at creation, for good."""
    check_fatal(lab, ns, row, wait_for)


def test_a_bad_queue_name_is_denied_by_the_queueing_side(lab, ns):
    message = create(lab, ns, wrapper(pod(), queue="indexed_job"), 403).json["message"]
    assert message.startswith(
        DENIED + 'metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "indexed_job": a lowercase RFC 1123 subdomain must consist of'
    )


def test_users_create_what_they_may_create(lab, ns):
    """The impersonated user counts, also for kinds that are not served."""
    role = ["create", "role", "wrap", "-n", ns, "--verb=create,get"]
    lab.kubectl(*role, "--resource=appwrappers.workload.codeflare.dev,pods")
    lab.kubectl("create", "rolebinding", "wrap", "-n", ns, "--role=wrap", "--user=bob")

    def apply(*templates):
        body = yaml.safe_dump(wrapper(*templates))
        return lab.kubectl("create", "--as=bob", "-n", ns, "--dry-run=server", "-f", "-", stdin=body, code=None)

    assert apply(pod()).code == 0
    denied = apply(pod(), deployment())
    assert f"spec.components[1].template: Forbidden: User bob is not authorized to create deployments in {ns}" in denied.err
    unknown = apply(pod(), {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "f"}})
    assert f"User bob is not authorized to create * in {ns}" in unknown.err
    named = lab.kubectl("create", "--as=bob", "-n", ns, "-f", "-", "-o", "yaml", stdin=yaml.safe_dump(wrapper(pod())))
    assert yaml.safe_load(named.out)["metadata"]["labels"]["workload.codeflare.dev/user"] == "bob"


def test_what_cannot_change(lab, ns):
    create(lab, ns, wrapper(deployment(), queue="nowhere"))
    wait_phase(lab, ns, "Suspended")
    check_changes(lab, ns, "aw", CHANGES)
    moved = [{"op": "replace", "path": "/metadata/labels/kueue.x-k8s.io~1queue-name", "value": "elsewhere"}]
    assert lab.http("PATCH", PATH.format(ns) + "/aw", moved, content_type="application/json-patch+json").code == 200
    path = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{ns}/workloads"
    wait_for("the Workload moved", lambda: [one["spec"]["queueName"] for one in lab.get(path)["items"]] == ["elsewhere"])


def test_declared_pod_sets_cannot_change(lab, ns):
    create(lab, ns, wrapper(*DECLARED, queue="nowhere"))
    wait_phase(lab, ns, "Suspended")
    check_changes(lab, ns, "aw", DECLARED_CHANGES)


def test_without_a_queue_it_runs_at_once(lab, ns):
    create(lab, ns, wrapper(pod()))
    wait_phase(lab, ns, "Succeeded")
    assert lab.get(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{ns}/workloads")["items"] == []


def test_a_manifest_of_the_seed_release(lab, ns):
    queue_of(lab, ns)
    body = sample("seed")
    body["metadata"]["annotations"]["kueue.x-k8s.io/queue-name"] = "lq"
    create(lab, ns, body)
    app = wait_phase(lab, ns, "Succeeded", "seed")
    assert app["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "lq"


def test_12_2_a_missing_component(lab, ns):
    """12.2"""
    queue = queue_of(lab, ns)
    create(lab, ns, wrapper(SERVICE, deployment(cpu="500m"), queue=queue))
    wait_phase(lab, ns, "Running")
    wait_for("it is ready", lambda: condition(read(lab, ns), "PodsReady").get("status") == "True")
    lab.kubectl("delete", "service", "s", "-n", ns)
    app = wait_phase(lab, ns, "Failed")
    assert condition(app, "Unhealthy")["reason"] == "MissingComponent"
    assert condition(app, "Unhealthy")["message"] == "Only found 1 deployed components, but was expecting 2"
    wait_for("the quota is back", lambda: condition(read(lab, ns), "QuotaReserved")["status"] == "False")
    assert lab.get(f"/apis/apps/v1/namespaces/{ns}/deployments")["items"] == []
    assert lab.get(f"/api/v1/namespaces/{ns}/pods")["items"] == []
    said = "MissingComponent: Only found 1 deployed components, but was expecting 2"
    events = ("get", "events", "-n", ns, "--field-selector", "source=appwrappers,reason=Unhealthy", "-o", "jsonpath={.items[*].message}")
    wait_for("5.8: the event of upstream's component", lambda: lab.kubectl(*events).out == said)


@pytest.mark.parametrize("code", [1, 42])
def test_12_3_retries(lab, ns, code):
    """12.3: two resets and then the end; none for a terminal exit code."""
    body = sample("failing-job")
    body["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = queue_of(lab, ns)
    # The contract's grace: a failed Job counts at once, within the grace of its failed pod.
    for key, value in (("failureGracePeriodDuration", "2s"), ("retryPausePeriodDuration", "500ms")):
        body["metadata"]["annotations"][f"workload.codeflare.dev.appwrapper/{key}"] = value
    main = body["spec"]["components"][0]["template"]["spec"]["template"]["spec"]["containers"][0]
    main["command"] = ["sh", "-c", f"sleep 0.2; exit {code}"]
    create(lab, ns, body)
    app = wait_phase(lab, ns, "Failed", "failing-job")
    assert app["status"].get("resettingCount") == (2 if code == 1 else None)
    wait_for("the quota is back", lambda: condition(read(lab, ns, "failing-job"), "QuotaReserved")["status"] == "False")
    assert condition(app, "Unhealthy")["message"] == "Found 1 failed components"
    workload = lab.get(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{ns}/workloads")["items"][0]["metadata"]["name"]
    finished = ["wait", "--for=condition=Finished", f"workload/{workload}", "-n", ns, f"--timeout={DEADLINE:.0f}s"]
    lab.kubectl(*finished)


def test_a_quota_that_has_no_room_is_waited_for(lab, ns):
    lab.kubectl("create", "quota", "none", "-n", ns, "--hard=pods=0")
    create(lab, ns, wrapper(pod()))
    path = f"{PATH.format(ns)}/aw"
    wait_for(
        "the refusal is told",
        lambda: "exceeded quota" in str(lab.get(path).get("status", {}).get("componentStatus")),
    )
    assert phase(lab, ns) == "Resuming"
    lab.kubectl("delete", "quota", "none", "-n", ns)
    wait_phase(lab, ns, "Succeeded")


def test_a_job_below_a_waiting_one_is_suspended(lab, ns):
    """4.7: never suspended by default and without a Workload of its own, but not run without quota."""
    create(lab, ns, wrapper(pod(), queue="nowhere"))
    app = wait_phase(lab, ns, "Suspended")
    owner = {"apiVersion": app["apiVersion"], "kind": "AppWrapper", "name": "aw", "uid": app["metadata"]["uid"], "controller": True}
    metadata = {"name": "child", "labels": {"kueue.x-k8s.io/queue-name": "nowhere"}, "ownerReferences": [owner]}
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox", "command": ["sleep", "100"]}]}}}
    path = f"/apis/batch/v1/namespaces/{ns}/jobs"
    job = lab.http("POST", path, {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}).json
    assert job["spec"]["suspend"] is False
    wait_for("it is suspended", lambda: lab.get(f"{path}/child")["spec"]["suspend"])
    workloads = lab.get(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{ns}/workloads")["items"]
    assert [one["metadata"]["ownerReferences"][0]["name"] for one in workloads] == ["aw"]

    def told():
        events = lab.get(f"/api/v1/namespaces/{ns}/events")["items"]
        return [one["message"] for one in events if (one["reason"], one["involvedObject"]["name"]) == ("Suspended", "child")]

    wait_for("the event", told)
    assert "Kueue managed child job suspended" in told()


def test_12_7_queueing(lab, ns):
    """12.7: the third waits without objects until the first is gone."""
    queue = queue_of(lab, ns, "2")
    for name, cpu in (("a", "500m"), ("b", "500m"), ("c", "250m")):
        create(lab, ns, wrapper(deployment(name, cpu=cpu), name=name, queue=queue))
        wait_phase(lab, ns, "Running" if name != "c" else "Suspended", name)
    names = {one["metadata"]["name"] for one in lab.get(f"/apis/apps/v1/namespaces/{ns}/deployments")["items"]}
    assert names == {"a", "b"}
    lab.kubectl("delete", "aw", "a", "-n", ns, f"--timeout={DEADLINE:.0f}s")
    wait_phase(lab, ns, "Running", "c")


ENDS = {"job": "Succeeded", "job-set": "Succeeded", "pytorch-job": "Succeeded", "gpu-job": "Succeeded", "failing-pod": "Failed"}
STAYS = {"deployment": "service-stack", "stateful-set": "stateful", "ray-cluster": "ray-cluster", "leader-worker-set": "leader-worker-set"}


@pytest.mark.parametrize("name", [*ENDS, *STAYS])
def test_samples(lab, ns, name):
    """Each sample on the lab's own queues, and what is left after its deletion: nothing."""
    body = sample(name)
    body["metadata"]["labels"].pop("kueue.x-k8s.io/queue-name")
    app = body["metadata"]["name"]
    create(lab, ns, body)
    if name in ENDS:
        wait_phase(lab, ns, ENDS[name], app)
    else:
        wait_phase(lab, ns, "Running", app)
        wait_for("all pods run", lambda: condition(read(lab, ns, app), "PodsReady").get("status") == "True")
    lab.kubectl("delete", "aw", app, "-n", ns, f"--timeout={DEADLINE:.0f}s")
    kinds = "pods,jobs,deployments,statefulsets,jobsets,pytorchjobs,rayclusters,leaderworkersets"
    assert lab.kubectl("get", kinds, "-n", ns, "-o", "name").out == ""


def test_the_verbs(lab, ns):
    queue_of(lab, ns)
    create(lab, ns, wrapper(deployment(), queue="lq"))
    wait_phase(lab, ns, "Running")

    def pods():
        return lab.athanor("appwrappers", "-n", ns).out.split("\n")[1].split()[4]

    wait_for("both pods run", lambda: pods() == "2/2")
    page = lab.athanor("appwrappers", "aw", "-n", ns).out
    assert "Deployment/d ComponentCreatedSuccessfully" in page
    assert page.count("    pod d-") == 2
    lab.athanor("appwrappers", "suspend", "aw", "-n", ns)
    wait_phase(lab, ns, "Suspended")
    wait_for("it says why", lambda: "The workload is deactivated" in lab.athanor("appwrappers", "aw", "-n", ns).out)
    assert "only a Failed AppWrapper can be tried again" in lab.athanor("appwrappers", "retry", "aw", "-n", ns, code=1).err
    assert lab.athanor("appwrappers", "suspend", "aw", "-n", ns).out == "aw is suspended already\n"
    lab.athanor("appwrappers", "resume", "aw", "-n", ns)
    wait_phase(lab, ns, "Running")
    assert lab.athanor("appwrappers", "resume", "aw", "-n", ns).out == "aw is not suspended\n"
    lab.kubectl("delete", "deployment", "d", "-n", ns)
    wait_phase(lab, ns, "Failed")
    wait_for("its objects are gone", lambda: condition(read(lab, ns), "QuotaReserved")["status"] == "False")
    for verb in ("suspend", "resume"):
        assert f"aw is Failed: there is nothing to {verb}" in lab.athanor("appwrappers", verb, "aw", "-n", ns, code=1).err
    assert lab.athanor("appwrappers", "retry", "aw", "-n", ns).out == "aw is tried again\n"
    wait_phase(lab, ns, "Running")


def test_it_survives_a_crash_in_the_middle(make_lab):
    lab = make_lab().start()
    lab.kubectl("apply", "-f", ROOT / "samples/failing-job.yaml", "-f", ROOT / "samples/deployment.yaml", "-n", "default")
    wait_phase(lab, "default", "Resetting", "failing-job")
    lab.stop(signal.SIGKILL)
    lab.start()
    app = wait_phase(lab, "default", "Failed", "failing-job")
    assert app["status"]["resettingCount"] == 2
    assert phase(lab, "default", "service-stack") == "Running"
    lab.kubectl("delete", "aw", "--all", "-n", "default", f"--timeout={DEADLINE:.0f}s")
    assert lab.kubectl("get", "pods,jobs,deployments,workloads", "-n", "default", "-o", "name").out == ""


def test_the_slack_queue_lends_what_nodes_can_give(make_lab, tmp_path):
    """appwrapper.slackQueueName (7.4): a cordoned node's resources are not lent; its controller and its rights exist only then."""
    config = tmp_path / "appwrapper.yaml"
    config.write_text("appwrapper: {slackQueueName: slack}\n", encoding="utf-8")
    lab = make_lab("--pods", "timed", "--set", f"APPWRAPPER_CONFIG={config}").start()
    nodes = lambda: lab.get("/api/v1/nodes")["items"]
    wait_for("the nodes have told their capacity", lambda: nodes() and "capacity" in nodes()[0].get("status", {}))
    node = nodes()[0]
    cpus = int(node["status"]["capacity"]["cpu"])
    flavor = {"name": "slack", "resources": [{"name": "cpu", "nominalQuota": "1000"}]}
    spec = {"cohortName": "all", "namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}]}
    for kind, body in (("ResourceFlavor", {}), ("ClusterQueue", spec)):
        lab.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": "slack"}, "spec": body}))

    def limit():
        queue = lab.get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/slack")
        return queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0].get("lendingLimit")

    lab.kubectl("cordon", node["metadata"]["name"])
    wait_for("less is lent", lambda: limit() == str(1000 - cpus))
    lab.kubectl("uncordon", node["metadata"]["name"])
    wait_for("all is lent again", lambda: limit() is None)

    def rights(**env):
        return run([ATHANOR, "rbac", "--controllers=appwrapper"], env={**os.environ, **env}).out

    assert "clusterqueues" in rights(APPWRAPPER_CONFIG=str(config)) and "clusterqueues" not in rights()
    config.write_text("appwrapper: {slackQueueName: slack, autopilot: null}\n", encoding="utf-8")
    done = run([ATHANOR, "rbac", "--controllers=appwrapper"], env={**os.environ, "APPWRAPPER_CONFIG": str(config)})
    assert done.code == 1 and "appwrapper.slackQueueName" in done.err and "monitorNodes" in done.err


def test_12_4_declared_pod_sets_of_another_kind(lab, ns):
    """Leaders and workers of a LeaderWorkerSet, declared by hand, are queued with 1 CPU."""
    container = {"image": "busybox:1.36", "command": ["sh", "-c", "sleep 1000"]}
    group = {
        "size": 3,
        "leaderTemplate": {"spec": {"containers": [{"name": "l", "resources": {"requests": {"cpu": "100m"}}, **container}]}},
        "workerTemplate": {"spec": {"containers": [{"name": "w", "resources": {"requests": {"cpu": "200m"}}, **container}]}},
    }
    template = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "serve"},
        "spec": {"replicas": 2, "leaderWorkerTemplate": group},
    }
    at = "template.spec.leaderWorkerTemplate"
    declared = [{"path": f"{at}.leaderTemplate", "replicas": 2}, {"path": f"{at}.workerTemplate", "replicas": 4}]
    create(lab, ns, wrapper({"template": template, "podSets": declared}, queue=queue_of(lab, ns, "1")))
    wait_phase(lab, ns, "Running")
    (workload,) = lab.get(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{ns}/workloads")["items"]
    assert [(one["name"], one["count"]) for one in workload["spec"]["podSets"]] == [("aw-0", 2), ("aw-1", 4)]
    assigned = workload["status"]["admission"]["podSetAssignments"]
    assert [one["resourceUsage"]["cpu"] for one in assigned] == ["200m", "800m"]
    wait_for("all pods run", lambda: condition(read(lab, ns), "PodsReady").get("status") == "True")


def replicated(name, **spec):
    return {"name": name, "template": {"spec": {**{key: value for key, value in spec.items() if key != "replicas"}, "template": {"spec": pod()["spec"]}}},
            **({"replicas": spec["replicas"]} if "replicas" in spec else {})}


def ray(replicas):
    spec = {"containers": [{"name": "c", "image": "ray"}]}
    return {
        "apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "ray"},
        "spec": {"headGroupSpec": {"template": {"spec": spec}}, "workerGroupSpecs": [{"groupName": "w", "replicas": replicas, "template": {"spec": spec}}]},
    }


def torch(**counts):
    roles = {role: {"replicas": count, "template": {"spec": {"containers": [{"name": "pytorch", "image": "i"}]}}} for role, count in counts.items()}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "torch"}, "spec": {"pytorchReplicaSpecs": roles}}


def batch(**spec):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {**spec, "template": {"spec": pod()["spec"]}}}


INFERRED = {
    "JobSet": (
        {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "js"},
         "spec": {"replicatedJobs": [replicated("workers", replicas=2, parallelism=2, completions=2), replicated("driver", parallelism=1, completions=1)]}},
        [4, 1],
    ),
    "Job 2 of 4": (batch(parallelism=2, completions=4), [2]),
    "Job 8 of 4": (batch(parallelism=8, completions=4), [4]),
    "PyTorchJob": (torch(Master=1, Worker=3), [1, 3]),
    "only workers": (torch(Worker=2), [2]),
    "RayCluster": (ray(7), [1, 7]),
}


@pytest.mark.parametrize("row", INFERRED)
def test_12_5_inferred_pod_sets(lab, ns, row):
    template, counts = INFERRED[row]
    create(lab, ns, wrapper(template, queue="nowhere"))
    app = wait_phase(lab, ns, "Suspended")
    pod_sets = app["status"]["componentStatus"][0]["podSets"]
    assert [one.get("replicas", 1) for one in pod_sets] == counts
    if row == "JobSet":
        key = "workload.codeflare.dev.appwrapper/tas-sub-group-count"
        assert [one["annotations"][key] for one in pod_sets] == ["2", "1"]


TWO_NODES = """
apiVersion: athanor.dev/v1
kind: Lab
namespace: default
nodes:
- {name: hub, count: 2, capacity: {cpu: 8, memory: 16Gi, pods: 100, nvidia.com/gpu: 2}}
"""


def two_nodes(make_lab, tmp_path):
    (tmp_path / "lab.yaml").write_text(TWO_NODES, encoding="utf-8")
    return make_lab("--storage", "memory", "--lab", str(tmp_path / "lab.yaml")).start()


def test_12_6_pods_leave_a_node_that_is_marked(make_lab, tmp_path):
    """A GPU job moves to another node; the reset is not counted, and the template keeps away from the marked node."""
    lab = two_nodes(make_lab, tmp_path)
    body = sample("gpu-job")
    body["metadata"]["labels"].pop("kueue.x-k8s.io/queue-name")
    body["metadata"]["annotations"] = {"workload.codeflare.dev.appwrapper/retryPausePeriodDuration": "200ms"}
    main = body["spec"]["components"][0]["template"]["spec"]["template"]["spec"]["containers"][0]
    main["command"] = ["sh", "-c", "sleep 1000"]
    name = body["metadata"]["name"]
    create(lab, "default", body)
    wait_for("its pod runs", lambda: condition(read(lab, "default", name) or {"status": {}}, "PodsReady").get("status") == "True")

    def where():
        pods = lab.get("/api/v1/namespaces/default/pods")["items"]
        return {one["spec"].get("nodeName") for one in pods if one["status"]["phase"] == "Running"}

    (first,) = where()
    lab.kubectl("label", "node", first, "autopilot.ibm.com/gpuhealth=EVICT")

    def said():
        events = lab.get("/api/v1/namespaces/default/events")["items"]
        return [one["message"] for one in events if one["reason"] == "Unhealthy" and one["involvedObject"]["name"] == name]

    # The event stays; the condition is another one as soon as the objects are created anew.
    messages = wait_for("it is found", said)
    assert messages[0].endswith(f"on Nodes: map[{first}:{{}}]"), messages
    wait_for("it runs elsewhere", lambda: where() - {first})
    app = read(lab, "default", name)
    assert app["status"].get("resettingCount") is None
    (made,) = lab.get("/apis/batch/v1/namespaces/default/jobs")["items"]
    terms = made["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms == [{"matchExpressions": [{"key": "autopilot.ibm.com/gpuhealth", "operator": "NotIn", "values": ["TESTING", "EVICT"]}]}]


def test_12_8_a_failure_is_kept_for_debugging(lab, ns):
    prefix = "workload.codeflare.dev.appwrapper/"
    annotations = {f"{prefix}deletionOnFailureGracePeriodDuration": "5m", f"{prefix}retryLimit": "0", f"{prefix}failureGracePeriodDuration": "0s"}
    create(lab, ns, wrapper(pod(command="exit 1"), queue=queue_of(lab, ns), annotations=annotations))
    wait_phase(lab, ns, "Failed")
    wait_for("the delay is told", lambda: condition(read(lab, ns), "DeletingResources").get("reason") == "DeletionPaused")
    app = read(lab, ns)
    assert condition(app, "DeletingResources")["message"] == f"{prefix}deletionOnFailureGracePeriodDuration has value 5m0s"
    assert condition(app, "QuotaReserved")["status"] == "True"
    assert len(lab.get(f"/api/v1/namespaces/{ns}/pods")["items"]) == 1
    lab.athanor("appwrappers", "suspend", "aw", "-n", ns)
    wait_for("the objects are gone", lambda: condition(read(lab, ns), "ResourcesDeployed")["status"] == "False")
    assert condition(read(lab, ns), "ResourcesDeployed")["message"] == "Kueue forced resource deletion by suspending AppWrapper"
    assert lab.get(f"/api/v1/namespaces/{ns}/pods")["items"] == []


def test_12_9_a_configuration_file(make_lab, tmp_path):
    config = tmp_path / "appwrapper.yaml"
    config.write_text(
        """
appwrapper:
  defaultQueueName: default-queue
  schedulerName: topo-aware-scheduler
  userRBACAdmissionCheck: true
  faultTolerance:
    failureGracePeriod: 30000000000
    retryLimit: 5
  autopilot:
    preferNoScheduleWeight: 20
    resourceTaints:
      amd.com/gpu:
      - {key: health.example.com/gpu, value: bad, effect: NoExecute}
controllerManager:
  leaderElection: true
  metrics: {bindAddress: ":8443"}
""",
        encoding="utf-8",
    )
    lab = make_lab("--storage", "memory", "--set", f"APPWRAPPER_CONFIG={config}").start()
    create(lab, "default", wrapper(pod(command="sleep 1000")))
    wait_phase(lab, "default", "Running")
    app = read(lab, "default")
    assert app["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "default-queue"
    assert lab.get("/api/v1/namespaces/default/pods/p")["spec"]["schedulerName"] == "topo-aware-scheduler"
    config.write_text("appwrapper: {faultTolerance: {resetPause: 25h}}\n", encoding="utf-8")
    done = run([ATHANOR, "controllers", "--controllers=appwrapper"], env={**lab.env, "APPWRAPPER_CONFIG": str(config)})
    assert done.code == 1 and "resetPause: 25h0m0s is longer than gracePeriodCeiling (24h0m0s)" in done.err


# --- bad input and faults --------------------------------------------------------------------------------


def test_a_finalizer_that_never_goes_is_named_and_keeps_the_quota(lab, ns):
    held = changed(pod(command="sleep 1000"), "metadata", "finalizers", value=["example.com/held"])
    create(lab, ns, wrapper(held, queue=queue_of(lab, ns), annotations={"workload.codeflare.dev.appwrapper/forcefulDeletionGracePeriodDuration": "1s"}))
    wait_phase(lab, ns, "Running")
    lab.athanor("appwrappers", "suspend", "aw", "-n", ns)
    wait_phase(lab, ns, "Suspending")
    # B-15 names what is waited for after 30 s.
    wait_for("it is named", lambda: condition(read(lab, ns), "DeletingResources").get("message") == "waiting for Pod/p (finalizers: example.com/held), waiting for pod p", 90)
    assert condition(read(lab, ns), "QuotaReserved")["status"] == "True"
    lab.kubectl("patch", "pod", "p", "-n", ns, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    wait_phase(lab, ns, "Suspended")


def test_sizes(lab, ns):
    """replicas: 0, a huge number, eight PodSets, and templates of nearly 1 MiB."""
    create(lab, ns, wrapper(deployment(replicas=0), name="none"))
    wait_phase(lab, ns, "Succeeded", "none")
    create(lab, ns, wrapper(deployment(replicas=2_000_000_000), name="huge", queue=queue_of(lab, ns)))
    app = wait_phase(lab, ns, "Suspended", "huge")
    assert app["status"]["componentStatus"][0]["podSets"][0]["replicas"] == 2_000_000_000
    path = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{ns}/workloads"
    wait_for("it waits", lambda: [one["spec"]["podSets"][0]["count"] for one in lab.get(path)["items"]] == [2_000_000_000])
    create(lab, ns, wrapper(*[pod(f"eight-{i}") for i in range(8)], name="eight"))
    wait_phase(lab, ns, "Succeeded", "eight")
    data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}, "data": {"x": "y" * 900_000}}
    create(lab, ns, wrapper(pod("small"), data, name="large"))
    wait_phase(lab, ns, "Succeeded", "large")
    assert len(lab.get(f"/api/v1/namespaces/{ns}/configmaps/large")["data"]["x"]) == 900_000


def test_eighteen_pod_sets_where_that_is_allowed(make_lab, tmp_path):
    config = tmp_path / "appwrapper.yaml"
    config.write_text("appwrapper: {maxPodSets: 18}\n", encoding="utf-8")
    lab = make_lab("--storage", "memory", "--set", f"APPWRAPPER_CONFIG={config}").start()
    create(lab, "default", wrapper(*[pod(f"p{i}", cpu="10m") for i in range(18)]))
    wait_phase(lab, "default", "Succeeded")
    refused = create(lab, "default", wrapper(*[pod(f"q{i}") for i in range(19)], name="more"), 403).json
    assert "components contains 19 podspecs; at most 18 are allowed" in refused["message"]


def test_a_component_that_is_edited_behind_our_back_stays_edited(lab, ns):
    create(lab, ns, wrapper(deployment(replicas=1), {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm"}, "data": {"a": "1"}}))
    wait_for("it is ready", lambda: condition(read(lab, ns) or {"status": {}}, "PodsReady").get("status") == "True")
    lab.kubectl("patch", "configmap", "cm", "-n", ns, "-p", '{"data":{"a":"2"}}')
    lab.kubectl("scale", "deployment", "d", "-n", ns, "--replicas=3")
    wait_for("three pods run", lambda: lab.athanor("appwrappers", "-n", ns).out.split("\n")[1].split()[4].startswith("3/"))
    assert phase(lab, ns) == "Running"
    assert lab.get(f"/api/v1/namespaces/{ns}/configmaps/cm")["data"] == {"a": "2"}


def test_a_node_vanishes_with_half_of_the_pods(make_lab, tmp_path):
    """Those of a Deployment come back elsewhere; the AppWrapper says what is missing meanwhile, and stays."""
    lab = two_nodes(make_lab, tmp_path)
    create(lab, "default", wrapper(deployment(replicas=8)))
    wait_for("it is ready", lambda: condition(read(lab, "default") or {"status": {}}, "PodsReady").get("status") == "True")
    (node, *_rest) = sorted(one["spec"]["nodeName"] for one in lab.get("/api/v1/namespaces/default/pods")["items"])
    lab.kubectl("delete", "node", node)
    wait_for("its pods are replaced", lambda: node not in {one["spec"].get("nodeName") for one in lab.get("/api/v1/namespaces/default/pods")["items"]})
    wait_for("it is ready again", lambda: condition(read(lab, "default"), "PodsReady").get("status") == "True")
    app = read(lab, "default")
    assert (app["status"]["phase"], app["status"].get("resettingCount")) == ("Running", None)


def test_applied_again_in_each_phase(lab, ns):
    """B-12: the same manifest again leaves what the queueing added where it runs, and changes no phase."""
    body = wrapper(deployment(), queue=queue_of(lab, ns))

    def again():
        return lab.kubectl("apply", "-n", ns, "-f", "-", stdin=yaml.safe_dump(body)).out

    again()
    for wanted in ("Running", "Suspended", "Running"):
        wait_phase(lab, ns, wanted)
        again()
        app = read(lab, ns)
        infos = app["spec"]["components"][0].get("podSetInfos")
        assert app["status"]["phase"] == wanted and bool(infos) == (wanted == "Running"), app["spec"]
        lab.athanor("appwrappers", "suspend" if wanted == "Running" else "resume", "aw", "-n", ns)
