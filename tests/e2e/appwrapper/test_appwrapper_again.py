# SPDX-License-Identifier: Apache-2.0
"""AppWrappers that are applied again in each phase, retried beside another Kueue, and the samples without a test of their own."""

import hashlib

import pytest
import yaml
from appwrapper_table import PATH, changed, condition, phase, pod, read, wrapper
from support import ROOT, wait_for

PREFIX = "workload.codeflare.dev.appwrapper/"
LONG = {f"{PREFIX}{name}": "1h" for name in ("admissionGracePeriodDuration", "warmupGracePeriodDuration", "retryPausePeriodDuration")}
AT_ONCE = {**LONG, f"{PREFIX}failureGracePeriodDuration": "0s"}
HELD = changed(pod(command="sleep 1000"), "metadata", "finalizers", value=["example.com/held"])
QUOTA = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"count/secrets": "0"}}}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
IN_PHASE = {
    "Resuming": (wrapper(pod(), SECRET, annotations=LONG), ""),
    "Resetting": (wrapper(pod(command="exit 1"), annotations=AT_ONCE), ""),
    "Failed": (wrapper(pod(command="exit 1"), annotations={**AT_ONCE, f"{PREFIX}retryLimit": "0"}), ""),
    "Suspending": (wrapper(HELD), '{"spec": {"suspend": true}}'),
    "Succeeded": (wrapper(pod()), ""),
}


def deployed(component):
    return condition({"status": component}, "ResourcesDeployed")


@pytest.mark.parametrize("wanted", IN_PHASE)
def test_applied_again_in_any_phase(lab, ns, wanted):
    """The same manifest again changes neither the phase nor the objects."""
    body, patch = IN_PHASE[wanted]
    if wanted == "Resuming":
        lab.kubectl("apply", "-n", ns, "-f", "-", stdin=yaml.safe_dump(QUOTA))
        wait_for("the quota is known", lambda: lab.get(f"/api/v1/namespaces/{ns}/resourcequotas/none").get("status"))

    def again():
        return lab.kubectl("apply", "-n", ns, "-f", "-", stdin=yaml.safe_dump(body)).out

    again()
    if patch:
        wait_for("it runs", lambda: phase(lab, ns) == "Running")
        lab.kubectl("patch", "aw", "aw", "-n", ns, "--type=merge", "-p", patch)
    wait_for(f"it is {wanted}", lambda: phase(lab, ns) == wanted)
    before = read(lab, ns)
    assert "unchanged" in again() or wanted == "Suspending"
    assert phase(lab, ns) == wanted
    assert read(lab, ns)["status"].get("resettingCount") == before["status"].get("resettingCount")
    if wanted == "Resuming":
        wait_for("the quota's refusal is shown", lambda: "quota" in deployed(read(lab, ns)["status"]["componentStatus"][1])["message"])
        lab.kubectl("delete", "resourcequota", "none", "-n", ns)
        wait_for("it goes on", lambda: phase(lab, ns) in ("Running", "Succeeded"))
    if wanted == "Suspending":
        lab.kubectl("patch", "pod", "p", "-n", ns, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        wait_for("it is suspended", lambda: phase(lab, ns) == "Suspended")


def test_retry_deletes_the_finished_workload(make_lab):
    """Beside the real Kueue nothing else does (B-19): a lab with the AppWrapper controller alone."""
    lab = make_lab("--storage", "memory", "--controllers", "appwrapper").start()
    body = wrapper(pod())
    body["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "lq"
    made = lab.http("POST", PATH.format("default"), body).json
    wait_for("it is seen", lambda: phase(lab, "default") == "Suspended")
    at = "2026-01-05T00:00:00Z"
    entry = {"reason": "Failed", "message": "", "lastTransitionTime": at}
    name = workload_name(made)
    workload = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": name}, "spec": {"queueName": "lq"}}
    workload["spec"]["podSets"] = [{"name": "aw-0", "count": 1, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}]
    path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
    assert lab.http("POST", path, workload).code == 201
    failed = {"phase": "Failed", "conditions": [{**entry, "type": kind, "status": "False"} for kind in ("ResourcesDeployed", "QuotaReserved")]}
    merge = {"content_type": "application/merge-patch+json"}
    assert lab.http("PATCH", f"{PATH.format('default')}/aw/status", {"status": failed}, **merge).code == 200
    lab.athanor("appwrappers", "retry", "aw", "-n", "default")
    assert lab.http("GET", f"{path}/{name}").code == 200, "one that is not finished stays"
    wait_for("it waits again", lambda: phase(lab, "default") == "Suspended")
    failed["conditions"].append(condition(read(lab, "default"), "Retried"))
    assert lab.http("PATCH", f"{PATH.format('default')}/aw/status", {"status": failed}, **merge).code == 200
    finished = {"conditions": [{**entry, "type": "Finished", "status": "True"}]}
    assert lab.http("PATCH", f"{path}/{name}/status", {"status": finished}, **merge).code == 200
    lab.athanor("appwrappers", "retry", "aw", "-n", "default")
    assert lab.http("GET", f"{path}/{name}").code == 404
    wait_for("it waits again", lambda: phase(lab, "default") == "Suspended")


def workload_name(app):
    digest = hashlib.sha1(f"AppWrapper\nworkload.codeflare.dev\naw\n{app['metadata']['uid']}".encode()).hexdigest()
    return f"appwrapper-aw-{digest[:5]}"


def test_the_samples_of_a_pod_and_of_queues(make_lab):
    lab = make_lab("--storage", "memory").start()
    lab.kubectl("apply", "-f", ROOT / "examples/appwrapper/queues.yaml")
    queue = lab.get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cluster-queue")
    (flavor,) = queue["spec"]["resourceGroups"][0]["flavors"]
    assert {one["name"]: str(one["nominalQuota"]) for one in flavor["resources"]} == {"cpu": "9", "memory": "36Gi", "nvidia.com/gpu": "16"}
    lab.kubectl("apply", "-f", ROOT / "examples/appwrapper/pod.yaml", "-n", "default")
    wait_for("it has succeeded", lambda: phase(lab, "default", "pod") == "Succeeded")
    assert lab.get("/api/v1/namespaces/default/pods/pod")["status"]["phase"] == "Succeeded"


def test_a_right_that_is_taken_away_counts_at_once(lab, ns):
    """3.4: each create asks afresh."""
    for role, resource in (("wrap", "appwrappers.workload.codeflare.dev"), ("pods", "pods")):
        lab.kubectl("create", "role", role, "-n", ns, "--verb=create", f"--resource={resource}")
        lab.kubectl("create", "rolebinding", role, "-n", ns, f"--role={role}", "--user=bob")

    def create(name):
        return lab.kubectl("create", "--as=bob", "-n", ns, "-f", "-", stdin=yaml.safe_dump(wrapper(pod(name), name=name)), code=None)

    assert create("first").code == 0
    lab.kubectl("delete", "rolebinding", "pods", "-n", ns)
    assert f"spec.components[0].template: Forbidden: User bob is not authorized to create pods in {ns}" in create("second").err
    lab.kubectl("create", "rolebinding", "pods", "-n", ns, "--role=pods", "--user=bob")
    assert create("second").code == 0
