# SPDX-License-Identifier: Apache-2.0
"""AppWrapper on `athanor up`: the first contact, every rejection on the served API, the worked samples (docs/spec/appwrapper.md 9.3, 12, 13)."""

import copy
import json
import os
import signal

import pytest
import yaml
from support import ATHANOR, DEADLINE, KUBECTL, ROOT, run, wait_for

PATH = "/apis/workload.codeflare.dev/v1beta2/namespaces/{}/appwrappers"
DENIED = 'admission webhook "vappwrapper.kb.io" denied the request: '


def sample(name):
    return yaml.safe_load((ROOT / f"samples/{name}.yaml").read_text(encoding="utf-8"))


def pod(name="p", command="sleep 0.1", cpu="100m"):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "busybox:1.36", "command": ["sh", "-c", command], "resources": {"requests": {"cpu": cpu}}}],
        },
    }


def deployment(name="d", replicas=2, cpu="100m"):
    template = {"metadata": {"labels": {"app": name}}, "spec": {"terminationGracePeriodSeconds": 0, **pod(command="sleep 1000", cpu=cpu)["spec"]}}
    del template["spec"]["restartPolicy"]
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}


def wrapper(*templates, name="aw", queue=None, **metadata):
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    components = [one if "template" in one else {"template": one} for one in templates]
    return {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {"name": name, "labels": labels, **metadata},
        "spec": {"components": components},
    }


def create(lab, ns, body, code=201, **query):
    answer = lab.http("POST", PATH.format(ns) + "".join(f"?{key}={value}" for key, value in query.items()), body)
    assert answer.code == code, answer.text
    return answer


def read(lab, ns, name="aw"):
    answer = lab.http("GET", f"{PATH.format(ns)}/{name}")
    return answer.json if answer.code == 200 else None


def phase(lab, ns, name="aw"):
    return ((read(lab, ns, name) or {}).get("status") or {}).get("phase")


def wait_phase(lab, ns, wanted, name="aw"):
    wait_for(f"{name} is {wanted}", lambda: phase(lab, ns, name) == wanted)
    return read(lab, ns, name)


def condition(app, kind):
    return next((one for one in app["status"].get("conditions", []) if one["type"] == kind), {})


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
def test_the_first_contact(make_lab, namespace):
    lab = make_lab("--storage", "memory").start()
    env = {**lab.env, "KUBECTL": KUBECTL, "SEED_NAMESPACE": namespace, "SEED_LIMIT": f"{DEADLINE:.0f}"}
    done = run([ROOT / "tests/e2e/appwrapper_seed.sh"], env=env, cwd=ROOT, timeout=600)
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


def test_an_object_without_components_or_kind_is_invalid(lab, ns):
    body = wrapper(pod())
    del body["spec"]["components"]
    answer = create(lab, ns, body, 422)
    assert "spec.components: Required value" in answer.json["message"]
    body = wrapper({"template": {"apiVersion": "v1", "metadata": {"name": "x"}}})
    assert "spec.components[0].template.kind: Required value" in create(lab, ns, body, 422).json["message"]
    body = wrapper({"template": {"kind": "Pod", "metadata": {"name": "x"}}})
    assert "spec.components[0].template.apiVersion: Required value" in create(lab, ns, body, 422).json["message"]


NINE = [pod(f"p{i}") for i in range(9)]
NESTED = {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": {"name": "inner"}}
ELSEWHERE = copy.deepcopy(pod())
ELSEWHERE["metadata"]["namespace"] = "other"
STRANGE = copy.deepcopy(pod())
STRANGE["spec"]["foo"] = 1
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
REJECTIONS = {
    "empty": ([], ["spec.components: Invalid value: ", ": components contains no podspecs"]),
    "service": ([SERVICE], [": components contains no podspecs"]),
    "nine": (NINE, ["components contains 9 podspecs; at most 8 are allowed"]),
    "nested": ([pod(), NESTED], ["spec.components[1].template: Forbidden: Nested AppWrappers are forbidden"]),
    "namespace": ([ELSEWHERE], ["spec.components[0].template.metadata.namespace: Forbidden: AppWrappers cannot create objects in other namespaces"]),
    "missing path": (
        [{"template": deployment(), "podSets": [{"path": "template.spec.missing"}]}],
        [
            'spec.components[0].podSets[0].path: Invalid value: "template.spec.missing": path does not refer to a v1.PodSpecTemplate: '
            "at path position 'template.spec.' missing field 'missing'",
            "PodSet with path 'template.spec.template' is missing",
        ],
    ),
    "empty path": (
        [{"template": deployment(), "podSets": [{"path": ""}]}],
        ["Required value: podspec must specify path", "first element of the path must be 'template'"],
    ),
    "replicas": (
        [{"template": deployment(), "podSets": [{"path": "template.spec.template", "replicas": 3}]}],
        ["replica count 3 differs from inferred count 2 for PodSet at path position 'template.spec.template'"],
    ),
    "pod spec": (
        [STRANGE],
        [
            "error inferring PodSets: template does not refer to a v1.PodSpecTemplate: content at template.spec not parseable as a v1.PodSpec: "
            'strict decoding error: unknown field "foo"',
            "components contains no podspecs",
        ],
    ),
    "cluster scope": ([pod(), NODE], ["spec.components[1].template: Forbidden: AppWrappers cannot contain cluster-scoped resources"]),
    "twice": ([pod(), pod()], ['spec.components[1].template.metadata.name: Duplicate value: "p"']),
}


@pytest.mark.parametrize("row", REJECTIONS)
def test_rejections(lab, ns, row):
    templates, parts = REJECTIONS[row]
    answer = create(lab, ns, wrapper(*templates), 403).json
    assert answer["reason"] == "Forbidden"
    assert answer["message"].startswith(DENIED), answer["message"]
    for part in parts:
        assert part in answer["message"], answer["message"]


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
    changes = {
        "spec.components[0].template.raw": [{"op": "replace", "path": "/spec/components/0/template/spec/replicas", "value": 3}],
        "spec.components": [{"op": "add", "path": "/spec/components/-", "value": {"template": pod()}}],
        "spec.components[0].podsets": [{"op": "add", "path": "/spec/components/0/podSets", "value": [{"path": "template.spec.template", "replicas": 2}]}],
        "metadata.labels[workload.codeflare.dev/user]": [{"op": "replace", "path": "/metadata/labels/workload.codeflare.dev~1user", "value": "eve"}],
        "spec.managedBy": [{"op": "add", "path": "/spec/managedBy", "value": "kueue.x-k8s.io/multikueue"}],
    }
    for field, patch in changes.items():
        answer = lab.http("PATCH", PATH.format(ns) + "/aw", patch, content_type="application/json-patch+json")
        assert answer.code == 403, answer.text
        assert answer.json["message"] == f"{DENIED}{field}: Forbidden: attempt to change immutable field"
    moved = [{"op": "replace", "path": "/metadata/labels/kueue.x-k8s.io~1queue-name", "value": "elsewhere"}]
    assert lab.http("PATCH", PATH.format(ns) + "/aw", moved, content_type="application/json-patch+json").code == 200
    path = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{ns}/workloads"
    wait_for("the Workload moved", lambda: [one["spec"]["queueName"] for one in lab.get(path)["items"]] == ["elsewhere"])


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


def test_a_missing_component(lab, ns):
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


@pytest.mark.parametrize("code", [1, 42])
def test_retries(lab, ns, code):
    """12.3: two resets and then the end; none for a terminal exit code."""
    body = sample("failing-job")
    body["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = queue_of(lab, ns)
    for key in ("failureGracePeriodDuration", "retryPausePeriodDuration"):
        body["metadata"]["annotations"][f"workload.codeflare.dev.appwrapper/{key}"] = "500ms"
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


def test_a_template_that_the_server_refuses(lab, ns):
    broken = pod("x")
    del broken["spec"]["containers"][0]["image"]
    create(lab, ns, wrapper(SERVICE, broken))
    app = wait_phase(lab, ns, "Failed")
    message = condition(app, "Unhealthy")["message"]
    assert condition(app, "Unhealthy")["reason"] == "CreateFailed"
    assert message == 'error creating components: Pod "x" is invalid: spec.containers[0].image: Required value'
    wait_for("the Service is gone", lambda: lab.get(f"/api/v1/namespaces/{ns}/services")["items"] == [])
    lab.kubectl("delete", "aw", "aw", "-n", ns, f"--timeout={DEADLINE:.0f}s")


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


def test_queueing(lab, ns):
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
    lab.athanor("appwrappers", "resume", "aw", "-n", ns)
    wait_phase(lab, ns, "Running")
    lab.kubectl("delete", "deployment", "d", "-n", ns)
    wait_phase(lab, ns, "Failed")
    wait_for("its objects are gone", lambda: condition(read(lab, ns), "QuotaReserved")["status"] == "False")
    lab.athanor("appwrappers", "retry", "aw", "-n", ns)
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
    node = lab.get("/api/v1/nodes")["items"][0]
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
