# SPDX-License-Identifier: Apache-2.0
"""What pods use and what their status says they were given: `kubectl top`, the kubelet's summary, granted resources."""

import json
import os

from support import TIMEOUT, wait_for


def busy_pod(name):
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "200m", "memory": "128Mi"}}
    script = "b = bytearray(32 << 20)\nwhile True:\n  for i in range(10000): pass"
    container = {"name": "c", "image": "python", "command": ["python3", "-c", script], "resources": resources, "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True}]}
    spec = {"containers": [container], "volumes": [{"name": "v", "emptyDir": {}}], "terminationGracePeriodSeconds": 1}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": spec}


def start(lab, ns, pod):
    lab.kubectl("create", "-n", ns, "-f", "-", stdin=json.dumps(pod))
    lab.kubectl("wait", f"pod/{pod['metadata']['name']}", "-n", ns, "--for=condition=Ready", TIMEOUT)


def test_kubectl_top_shows_what_pods_use(lab, ns):
    start(lab, ns, busy_pod("busy"))

    def used():
        usage = lab.get(f"/apis/metrics.k8s.io/v1beta1/namespaces/{ns}/pods/busy")["containers"][0]["usage"]
        return int(usage["cpu"][:-1]) > 10_000_000 and int(usage["memory"][:-2]) > 32 << 10

    wait_for("the usage of a busy pod", used)
    assert "busy" in lab.kubectl("top", "pod", "-n", ns).out
    assert lab.kubectl("top", "pod", "-n", ns, "-l", "app=other", code=None).out == ""
    node = lab.get(f"/api/v1/namespaces/{ns}/pods/busy")["spec"]["nodeName"]
    assert node in lab.kubectl("top", "node").out
    summary = lab.get(f"/api/v1/nodes/{node}/proxy/stats/summary")
    pods = [p for p in summary["pods"] if p["podRef"]["name"] == "busy"]
    assert pods[0]["containers"][0]["memory"]["workingSetBytes"] > 32 << 20
    assert lab.kubectl("get", "--raw", f"/api/v1/nodes/{node}/proxy/healthz").out == "ok"
    assert lab.kubectl("get", "--raw", f"/api/v1/nodes/{node}/proxy/other", code=None).code == 1


def test_a_status_says_what_was_granted(lab, ns):
    start(lab, ns, busy_pod("granted"))
    pod = lab.get(f"/api/v1/namespaces/{ns}/pods/granted")
    status = pod["status"]["containerStatuses"][0]
    assert status["resources"] == pod["spec"]["containers"][0]["resources"]
    assert status["allocatedResources"] == {"cpu": "100m", "memory": "64Mi"}
    assert {"name": "v", "mountPath": "/v", "readOnly": True, "recursiveReadOnly": "Disabled"} in status["volumeMounts"]
    assert status["user"]["linux"]["uid"] == os.geteuid()
    assert pod["status"]["observedGeneration"] == pod["metadata"]["generation"]
    assert {c["observedGeneration"] for c in pod["status"]["conditions"] if c["type"] != "PodScheduled"} == {pod["metadata"]["generation"]}
    lab.kubectl("patch", "pod", "granted", "-n", ns, "--subresource=resize", "--type=strategic", "-p", '{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"150m"}}}]}}')

    def resized():
        now = lab.get(f"/api/v1/namespaces/{ns}/pods/granted")["status"]
        return now["containerStatuses"][0]["allocatedResources"]["cpu"] == "150m" and now["observedGeneration"] == pod["metadata"]["generation"] + 1

    wait_for("the resize", resized)
    assert lab.get(f"/api/v1/namespaces/{ns}/pods/granted")["status"]["containerStatuses"][0]["restartCount"] == 0


def resize(lab, ns, name, resources):
    body = {"spec": {"containers": [{"name": "c", "resources": resources}]}}
    lab.kubectl("patch", "pod", name, "-n", ns, "--subresource=resize", "--type=strategic", "-p", json.dumps(body))


def test_a_resize_that_does_not_fit_waits(lab, ns):
    start(lab, ns, busy_pod("large"))
    path = f"/api/v1/namespaces/{ns}/pods/large"
    resize(lab, ns, "large", {"requests": {"cpu": "1000"}, "limits": {"cpu": "1000"}})

    def pending():
        return [c for c in lab.get(path)["status"]["conditions"] if c["type"] == "PodResizePending"]

    (condition,) = wait_for("the condition", pending)
    assert condition["reason"] == "Infeasible" and condition["message"].startswith("Node didn't have enough capacity: cpu, requested: 1000000, capacity: "), condition
    assert lab.get(path)["status"]["containerStatuses"][0]["allocatedResources"]["cpu"] == "100m"
    resize(lab, ns, "large", {"requests": {"cpu": "120m"}, "limits": {"cpu": "240m"}})
    wait_for("what fits", lambda: not pending() and lab.get(path)["status"]["containerStatuses"][0]["resources"]["limits"]["cpu"] == "240m")


def test_a_resize_restarts_containers_that_ask_for_it(lab, ns):
    pod = busy_pod("again")
    pod["spec"]["containers"][0]["resizePolicy"] = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
    start(lab, ns, pod)

    def status():
        return lab.get(f"/api/v1/namespaces/{ns}/pods/again")["status"]["containerStatuses"][0]

    resize(lab, ns, "again", {"limits": {"memory": "256Mi"}})
    wait_for("the restart", lambda: status()["restartCount"] == 1 and "running" in status()["state"] and status()["resources"]["limits"]["memory"] == "256Mi")
    events = lab.get(f"/api/v1/namespaces/{ns}/events")["items"]
    assert "Container c resize requires restart" in [e["message"] for e in events if e["involvedObject"]["name"] == "again"]
