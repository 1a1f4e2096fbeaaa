# SPDX-License-Identifier: Apache-2.0
"""The real kube-controller-manager and kube-scheduler on the embedded API server (docs/spec/apiserver.md A14)."""

import os
import re
import subprocess
import time

import pytest
from conftest import SCRIPT
from support import Lab, wait_for

SOAK = float(os.environ.get("REAL_SOAK", "20"))  # seconds of roll-outs; 600 for the acceptance check
SLOW = 120.0  # the real controllers start with their own delays
# What a server that is not quite one makes them say.
SUSPICIOUS = re.compile(
    r"decod|media type|too old resource version|unknown kind|no kind .* registered|unable to parse|proto:|unexpected EOF|"
    r"could not find the requested resource|cannot unmarshal|panic|http2: ",
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def external(tmp_path_factory):
    folder = tmp_path_factory.mktemp("external")
    lab = Lab(folder / "lab", ["--controllers", "external", "--pods", "timed"])
    logs = folder / "controllers"
    try:
        lab.start()
        done = subprocess.run([SCRIPT, "against", logs, lab.kubeconfig, "kcm", "scheduler"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        lab.logs = logs
        yield lab
    finally:
        subprocess.run([SCRIPT, "down", logs], check=False)
        lab.close()


@pytest.fixture(scope="module")
def ns(external):
    external.kubectl("create", "namespace", "work")
    wait_for("default service account", lambda: external.http("GET", "/api/v1/namespaces/work/serviceaccounts/default").code == 200, SLOW)
    return "work"


def pods(lab, ns, selector):
    return lab.get(f"/api/v1/namespaces/{ns}/pods", labelSelector=selector)["items"]


def ready(lab, ns, name):
    return lab.get(f"/apis/apps/v1/namespaces/{ns}/deployments/{name}").get("status", {}).get("readyReplicas", 0)


def deployment(name, replicas, image="busybox"):
    # Timed pods last as long as their command sleeps.
    container = {"name": "c", "image": image, "command": ["sleep", "100000"], "resources": {"requests": {"cpu": "10m"}}}
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}},
    }


def test_deployments_roll_out_scale_and_go(external, ns):
    root = f"/apis/apps/v1/namespaces/{ns}/deployments"
    end, number = time.monotonic() + SOAK, 0
    while number == 0 or time.monotonic() < end:
        number += 1
        name = f"web-{number}"
        assert external.http("POST", root, deployment(name, 10)).code == 201
        wait_for("10 pods are ready", lambda n=name: ready(external, ns, n) == 10, SLOW)
        external.kubectl("scale", "-n", ns, f"deployment/{name}", "--replicas=15")
        wait_for("15 pods are ready", lambda n=name: ready(external, ns, n) == 15, SLOW)
        external.kubectl("scale", "-n", ns, f"deployment/{name}", "--replicas=3")
        wait_for("3 pods are left", lambda n=name: len(pods(external, ns, f"app={n}")) == 3, SLOW)
        external.kubectl("set", "image", "-n", ns, f"deployment/{name}", "c=busybox:1.36")
        external.kubectl("rollout", "status", "-n", ns, f"deployment/{name}", "--timeout=120s", timeout=SLOW)
        external.kubectl("delete", "-n", ns, "deployment", name, timeout=SLOW)
        wait_for("its pods are gone", lambda n=name: not pods(external, ns, f"app={n}"), SLOW)
        left = external.get(f"/apis/apps/v1/namespaces/{ns}/replicasets", labelSelector=f"app={name}")["items"]
        assert left == []


def test_a_job_completes(external, ns):
    job = {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"},
        "spec": {"completions": 3, "parallelism": 2, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox", "command": ["true"]}]}}},
    }
    assert external.http("POST", f"/apis/batch/v1/namespaces/{ns}/jobs", job).code == 201
    external.kubectl("wait", "-n", ns, "--for=condition=Complete", "job/once", "--timeout=100s", timeout=SLOW)
    assert external.get(f"/apis/batch/v1/namespaces/{ns}/jobs/once")["status"]["succeeded"] == 3


def test_a_namespace_ends(external):
    external.kubectl("create", "namespace", "short")
    external.kubectl("create", "configmap", "inside", "-n", "short")
    assert external.http("POST", "/apis/apps/v1/namespaces/short/deployments", deployment("d", 2)).code == 201
    wait_for("2 pods are ready", lambda: ready(external, "short", "d") == 2, SLOW)
    external.kubectl("delete", "namespace", "short", "--timeout=100s", timeout=SLOW)
    assert external.http("GET", "/api/v1/namespaces/short").code == 404


def test_owners_take_their_dependents_along(external, ns):
    owner = external.http("POST", f"/api/v1/namespaces/{ns}/configmaps", {"metadata": {"name": "owner"}}).json
    reference = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}]
    external.http("POST", f"/api/v1/namespaces/{ns}/secrets", {"metadata": {"name": "child", "ownerReferences": reference}})
    external.http("DELETE", f"/api/v1/namespaces/{ns}/configmaps/owner?propagationPolicy=Foreground")
    for path in ("secrets/child", "configmaps/owner"):
        wait_for(f"{path} is gone", lambda p=path: external.http("GET", f"/api/v1/namespaces/{ns}/{p}").code == 404, SLOW)


@pytest.mark.parametrize("component", ["kcm", "scheduler"])
def test_nothing_in_their_logs_is_about_the_server(external, ns, component):
    lines = (external.logs / f"{component}.log").read_text(encoding="utf-8", errors="replace").splitlines()
    assert lines, "the component logs at all"
    found = [line for line in lines if line[:1] in "EFW" and SUSPICIOUS.search(line)]
    assert not found, "\n".join(found[:20])
