# SPDX-License-Identifier: Apache-2.0
"""AppWrappers that are refused, and what the answer says (docs/spec/appwrapper.md 13): played on the embedded API server and on the real
one. The builders are of every test of AppWrapper."""

import copy

DENIED = 'admission webhook "vappwrapper.kb.io" denied the request: '
PATH = "/apis/workload.codeflare.dev/v1beta2/namespaces/{}/appwrappers"


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


def job_set():
    job = {"spec": {"template": {"spec": {**pod()["spec"]}}}}
    jobs = [{"name": name, "replicas": 1, "template": copy.deepcopy(job)} for name in ("workers", "driver")]
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "js"}, "spec": {"replicatedJobs": jobs}}


def at_path(template, path, **more):
    return [{"template": template, "podSets": [{"path": path, **more}]}]


def changed(template, *path, value):
    result = copy.deepcopy(template)
    target = result
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return result


V6 = "path does not refer to a v1.PodSpecTemplate: "
MISSING = "PodSet with path 'template.spec.template' is missing"
JOBS = "template.spec.replicatedJobs"
NESTED = {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": {"name": "inner"}}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
# By name: the components, and parts of the message. All are 403 by the validating webhook.
REJECTIONS = {
    "empty": ([], ["spec.components: Invalid value: ", ": components contains no podspecs"]),
    "service": ([SERVICE], [": components contains no podspecs"]),
    "nine": ([pod(f"p{i}") for i in range(9)], ["components contains 9 podspecs; at most 8 are allowed"]),
    "nested": ([pod(), NESTED], ["spec.components[1].template: Forbidden: Nested AppWrappers are forbidden"]),
    "namespace": (
        [changed(pod(), "metadata", "namespace", value="other")],
        ["spec.components[0].template.metadata.namespace: Forbidden: AppWrappers cannot create objects in other namespaces"],
    ),
    "missing path": (
        at_path(deployment(), "template.spec.missing"),
        [
            'spec.components[0].podSets[0].path: Invalid value: "template.spec.missing": ' + V6 + "at path position 'template.spec.' missing field 'missing'",
            MISSING,
        ],
    ),
    "empty path": (
        at_path(deployment(), ""),
        ["spec.components[0].podSets[0].path: Required value: podspec must specify path", V6 + "first element of the path must be 'template'", MISSING],
    ),
    "metadata": (
        at_path(deployment(), "template.spec.template.metadata"),
        [V6 + "content at template.spec.template.metadata does not contain a spec", MISSING],
    ),
    "list": (at_path(job_set(), JOBS), [V6 + f"at path position '{JOBS}' non-map value", "DeclaredPodSet count 1 differs from inferred count 2"]),
    "list as map": (at_path(job_set(), f"{JOBS}.template.spec.template"), [V6 + f"at path position '{JOBS}.' non-map value"]),
    "beyond": (at_path(job_set(), f"{JOBS}[10].template.spec.template"), [V6 + f"at path position '{JOBS}' out of bounds index '10'"]),
    "before": (at_path(job_set(), f"{JOBS}[-1].template.spec.template"), [V6 + f"at path position '{JOBS}' out of bounds index '-1'"]),
    "no number": (at_path(job_set(), f"{JOBS}[a10].template.spec.template"), [V6 + f"at path position '{JOBS}' invalid index expression 'a10'"]),
    "open": (at_path(job_set(), f"{JOBS}[1"), [V6 + f"at path position '{JOBS}' invalid array index '[1'"]),
    "closed twice": (
        at_path(job_set(), f"{JOBS}[1]].template.spec.template"),
        [V6 + f"at path position '{JOBS}[1' invalid path element '].template.spec.template'"],
    ),
    "no list": (at_path(job_set(), f"{JOBS}[0].template[0].spec.template"), [V6 + "at path position ", "found non-array value"]),
    "replicas": (
        at_path(deployment(), "template.spec.template", replicas=3),
        [
            "spec.components[0].podSets: Invalid value: ",
            "replica count 3 differs from inferred count 2 for PodSet at path position 'template.spec.template'",
        ],
    ),
    "pod spec": (
        [changed(pod(), "spec", "foo", value=1)],
        [
            "error inferring PodSets: template does not refer to a v1.PodSpecTemplate: content at template.spec not parseable as a v1.PodSpec: "
            'strict decoding error: unknown field "foo"',
            "components contains no podspecs",
        ],
    ),
    "no Ray cluster": (
        [{"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "r"}, "spec": {"entrypoint": "run"}}],
        [
            "error inferring PodSets: template.spec.rayClusterSpec.headGroupSpec.template does not refer to a v1.PodSpecTemplate: "
            "at path position 'template.spec.' missing field 'rayClusterSpec'",
            "components contains no podspecs",
        ],
    ),
    "cluster scope": ([pod(), NODE], ["spec.components[1].template: Forbidden: AppWrappers cannot contain cluster-scoped resources"]),
    "twice": ([pod(), pod()], ['spec.components[1].template.metadata.name: Duplicate value: "p"']),
    "no name": ([changed(pod(), "metadata", value={})], ["spec.components[0].template.metadata.name: Required value: name or generateName is required"]),
}
# By the field path of the answer: what is tried on wrapper(deployment()) that is Suspended. All are 403.
CHANGES = {
    "spec.components[0].template.raw": [{"op": "replace", "path": "/spec/components/0/template/spec/replicas", "value": 3}],
    "spec.components": [{"op": "add", "path": "/spec/components/-", "value": {"template": pod()}}],
    "spec.components[0].podsets": [{"op": "add", "path": "/spec/components/0/podSets", "value": [{"path": "template.spec.template", "replicas": 2}]}],
    "metadata.labels[workload.codeflare.dev/user]": [{"op": "replace", "path": "/metadata/labels/workload.codeflare.dev~1user", "value": "eve"}],
    "metadata.labels[workload.codeflare.dev/userid]": [{"op": "replace", "path": "/metadata/labels/workload.codeflare.dev~1userid", "value": "7"}],
    "spec.managedBy": [{"op": "add", "path": "/spec/managedBy", "value": "kueue.x-k8s.io/multikueue"}],
}
# The same on wrapper({"template": deployment(), "podSets": [...]}).
DECLARED = at_path(deployment(), "template.spec.template", replicas=2)
DECLARED_CHANGES = {
    "spec.components[0].podsets[0].replicas": [{"op": "replace", "path": "/spec/components/0/podSets/0/replicas", "value": 3}],
    "spec.components[0].podsets[0].path": [{"op": "replace", "path": "/spec/components/0/podSets/0/path", "value": "template"}],
}
# Objects that are no AppWrapper: what is taken away, and the answer's part. All are 422 by the schema.
INVALID = {
    "no components": (lambda body: body["spec"].pop("components"), "spec.components: Required value"),
    "no kind": (lambda body: body["spec"]["components"][0]["template"].pop("kind"), "spec.components[0].template.kind: Required value"),
    "no apiVersion": (lambda body: body["spec"]["components"][0]["template"].pop("apiVersion"), "spec.components[0].template.apiVersion: Required value"),
}
# Keys of a component that are named as a wrapped kind, its parts or its fields: they are unknown.
KEYS_OF_KINDS = ("Job", "job", "JobSet", "PodSet", "podSet", "RayCluster", "Deployment", "AppWrapper", "Pod", "pod", "spec", "metadata", "kind")


def refusal(lab, ns, body, code):
    """The Status of a create that is refused."""
    answer = lab.http("POST", PATH.format(ns), body)
    assert answer.code == code, answer.text
    return answer.json


def check_rejections(lab, ns):
    """Every row that admission refuses. JobSet and RayJob are kinds that the server has."""
    for row, (templates, parts) in REJECTIONS.items():
        status = refusal(lab, ns, wrapper(*templates), 403)
        assert status["reason"] == "Forbidden", row
        assert status["message"].startswith(DENIED), f"{row}: {status['message']}"
        for part in parts:
            assert part in status["message"], f"{row}: {status['message']}"
    for row, (take, part) in INVALID.items():
        body = copy.deepcopy(wrapper(pod()))
        take(body)
        assert part in refusal(lab, ns, body, 422)["message"], row
    for key in KEYS_OF_KINDS:
        for value in ({"template": pod()["spec"]}, [pod()], "text", None, {}):
            body = wrapper({"template": pod(name="odd"), key: value}, name="odd")
            answer = lab.http("POST", PATH.format(ns) + "?dryRun=All&fieldValidation=Ignore", body)
            assert answer.code == 201, f"{key}: {answer.text}"
            assert key not in answer.json["spec"]["components"][0], "an unknown field goes"


def check_changes(lab, ns, name, changes):
    for field, patch in changes.items():
        answer = lab.http("PATCH", f"{PATH.format(ns)}/{name}", patch, content_type="application/json-patch+json")
        assert answer.code == 403, f"{field}: {answer.text}"
        message = answer.json["message"]
        assert message.startswith(DENIED) and f"{field}: Forbidden: attempt to change immutable field" in message, message


def read(lab, ns, name="aw"):
    answer = lab.http("GET", f"{PATH.format(ns)}/{name}")
    return answer.json if answer.code == 200 else None


def phase(lab, ns, name="aw"):
    return ((read(lab, ns, name) or {}).get("status") or {}).get("phase")


def condition(app, kind):
    return next((one for one in app["status"].get("conditions", []) if one["type"] == kind), {})


IMAGELESS = changed(pod("x"), "spec", "containers", value=[{"name": "c"}])
FOREIGN = changed(pod("other"), "metadata", "labels", value={"workload.codeflare.dev/appwrapper": "other"})
# Components that pass admission and cannot be created: Failed with CreateFailed, at once.
FATAL = {
    "no image": ([IMAGELESS], 'error creating components: Pod "x" is invalid: spec.containers[0].image: Required value'),
    "unknown kind": (
        [pod(), {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "f"}}],
        'error creating components: no matches for kind "Foo" in version "example.com/v1"',
    ),
    "a foreign object": ([pod("taken")], "error creating components: resource taken exists, but is not controlled by appwrapper"),
    "a foreign label": (
        [FOREIGN],
        "error creating components: conflict updating labels: conflict for key=workload.codeflare.dev/appwrapper, value1=other, value2=aw",
    ),
}


def check_fatal(lab, ns, row, wait_for):
    templates, message = FATAL[row]
    if row == "a foreign object":
        lab.http("POST", f"/api/v1/namespaces/{ns}/pods", pod("taken", command="sleep 1000"))
    answer = lab.http("POST", PATH.format(ns), wrapper(*templates))
    assert answer.code == 201, answer.text
    wait_for(f"{row}: it fails", lambda: phase(lab, ns) == "Failed")
    unhealthy = condition(read(lab, ns), "Unhealthy")
    assert (unhealthy["reason"], unhealthy["message"]) == ("CreateFailed", message)
    lab.kubectl("delete", "aw", "aw", "-n", ns, "--timeout=30s")
