# SPDX-License-Identifier: Apache-2.0
"""Pods, Jobs and Deployments run as real processes: volumes, environment, results, roll-outs."""

import json

from support import TIMEOUT, pids_of, sleep_argument, wait_for


def test_a_job_runs_to_completion(lab, ns):
    lab.kubectl("create", "job", "hello", "-n", ns, "--image=busybox", "--", "sh", "-c", "echo from a job")
    lab.kubectl("wait", "job/hello", "-n", ns, "--for=condition=complete", TIMEOUT)
    assert lab.kubectl("logs", "job/hello", "-n", ns).out == "from a job\n"
    job = lab.kubectl("get", "job", "hello", "-n", ns, "-o", "json").json
    assert job["status"]["succeeded"] == 1
    lab.kubectl("delete", "job", "hello", "-n", ns)
    wait_for("its pods to go", lambda: not lab.get(f"/api/v1/namespaces/{ns}/pods", labelSelector="job-name=hello")["items"])


def test_a_failing_job_is_tried_again_and_then_failed(lab, ns):
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "fails", "namespace": ns},
        "spec": {
            "backoffLimit": 0,
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox", "command": ["sh", "-c", "exit 3"]}]}},
        },
    }
    lab.kubectl("create", "-f", "-", stdin=json.dumps(job))
    lab.kubectl("wait", "job/fails", "-n", ns, "--for=condition=failed", TIMEOUT)
    conditions = lab.kubectl("get", "job", "fails", "-n", ns, "-o", "json").json["status"]["conditions"]
    assert "BackoffLimitExceeded" in [c["reason"] for c in conditions if c["type"] == "Failed"]


def test_a_deployment_rolls_out_scales_and_ends(lab, ns):
    long = sleep_argument()
    lab.kubectl("create", "deployment", "d", "-n", ns, "--image=busybox", "--replicas=2", "--", "sleep", long)
    lab.kubectl("rollout", "status", "deployment/d", "-n", ns, TIMEOUT)
    # A pod is ready when its process was started; that process becomes sleep(1) a moment later.
    wait_for("both processes", lambda: len(pids_of(long)) == 2)
    lab.kubectl("scale", "deployment/d", "-n", ns, "--replicas=1")
    wait_for("one process left", lambda: len(pids_of(long)) == 1)
    lab.kubectl("delete", "deployment", "d", "-n", ns)
    wait_for("no process left", lambda: not pids_of(long))


def test_a_pod_sees_its_volumes_environment_and_token(lab, ns):
    lab.kubectl("create", "configmap", "cm", "-n", ns, "--from-literal=key=from-configmap")
    lab.kubectl("create", "secret", "generic", "sec", "-n", ns, "--from-literal=password=geheim")
    script = (
        "cat /etc/cm/key; echo; cat /etc/sec/password; echo; echo $WHO $FROM_SECRET $(hostname 2>/dev/null >/dev/null; echo $NODE);"
        " echo shared > /work/file; test -s /var/run/secrets/kubernetes.io/serviceaccount/token && echo token"
    )
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": ns},
        "spec": {
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "c",
                    "image": "busybox",
                    "command": ["sh", "-c", script],
                    "env": [
                        {"name": "WHO", "value": "me"},
                        {"name": "FROM_SECRET", "valueFrom": {"secretKeyRef": {"name": "sec", "key": "password"}}},
                        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                    ],
                    "volumeMounts": [
                        {"name": "cm", "mountPath": "/etc/cm"},
                        {"name": "sec", "mountPath": "/etc/sec", "readOnly": True},
                        {"name": "work", "mountPath": "/work"},
                    ],
                }
            ],
            "volumes": [
                {"name": "cm", "configMap": {"name": "cm"}},
                {"name": "sec", "secret": {"secretName": "sec"}},
                {"name": "work", "emptyDir": {}},
            ],
        },
    }
    lab.kubectl("create", "-f", "-", stdin=json.dumps(pod))
    lab.kubectl("wait", "pod/p", "-n", ns, "--for=jsonpath={.status.phase}=Succeeded", TIMEOUT)
    log = lab.kubectl("logs", "p", "-n", ns).out.splitlines()
    assert log[:2] == ["from-configmap", "geheim"] and log[2].startswith("me geheim hub-") and log[3] == "token"


def test_a_pod_that_fits_nowhere_says_why(lab, ns):
    resources = {"requests": {"cpu": "1000"}}
    pod = {"metadata": {"name": "huge"}, "spec": {"containers": [{"name": "c", "image": "busybox", "resources": resources}]}}
    assert lab.http("POST", f"/api/v1/namespaces/{ns}/pods", pod).code == 201

    def told():
        conditions = lab.get(f"/api/v1/namespaces/{ns}/pods/huge")["status"].get("conditions", [])
        (one,) = [(c["status"], c["reason"], c["message"]) for c in conditions if c["type"] == "PodScheduled"] or [("", "", "")]
        assert one[:2] == ("False", "Unschedulable") and one[2].startswith("0/2 nodes are available: 2 Insufficient cpu"), one
        return True

    wait_for("the reason", told)
