# SPDX-License-Identifier: Apache-2.0
"""Images of engines: /opt/fournos/entrypoint resolves jobs and runs their steps (docs/spec/fournos.md 19, engine contract)."""

import io
import json
import os
import shutil
import subprocess
import tarfile

import pytest
from support import JOBS, ROOT, wait_for
from support import KUBECTL as KUBECTL_NAME

KUBECTL = shutil.which(KUBECTL_NAME)
BUSYBOX = shutil.which("busybox")
APPLETS = ("sh", "mktemp", "mkdir", "cat", "grep", "cut", "sha256sum", "tr", "sleep", "tee", "env", "id")
ENTRYPOINT = """#!/bin/sh
set -eu
echo "$FOURNOS_STEP of $FOURNOS_WORKLOAD_NAMESPACE/$FJOB_NAME, CI $FOURNOS_CI"
[ "$FOURNOS_STEP" = resolve-fournos-config ] || exec cat /var/run/secrets/fournos/placeholder/placeholder
engine=$(kubectl get fjob "$FJOB_NAME" -n "$FOURNOS_WORKLOAD_NAMESPACE" -o 'jsonpath={.spec.executionEngine.own.gpus}')
[ -n "$engine" ] || exit 3
kubectl patch fjob "$FJOB_NAME" -n "$FOURNOS_WORKLOAD_NAMESPACE" --type merge -p "{\\"spec\\": {\\"hardware\\": {\\"gpuType\\": \\"h200\\", \\"gpuCount\\": $engine}, \\"secretRefs\\": [\\"placeholder\\"]}}"
"""


def is_static(path):
    return path is not None and "dynamic" not in subprocess.run(["file", "-L", path], capture_output=True, text=True, check=False).stdout


def add(archive, name, data, mode=0o644):
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.uid, info.gid = len(data), mode, os.getuid(), os.getgid()
    archive.addfile(info, io.BytesIO(data))


def engine_image(path, name, entrypoint):
    """An image of busybox, kubectl and the entry point, as `podman save` writes it; it names no command."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        for file, source in (("bin/busybox", BUSYBOX), ("bin/kubectl", KUBECTL)):
            with open(source, "rb") as binary:
                add(archive, file, binary.read(), 0o755)
        for applet in APPLETS:
            info = tarfile.TarInfo(f"bin/{applet}")
            info.type, info.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(info)
        folder = tarfile.TarInfo("tmp")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o1777
        archive.addfile(folder)
        add(archive, "opt/fournos/entrypoint", entrypoint.encode(), 0o755)
    with tarfile.open(path, "w") as archive:
        add(archive, "layer.tar", layer.getvalue())
        add(archive, "config.json", json.dumps({"config": {"Env": ["PATH=/bin"]}}).encode())
        add(archive, "manifest.json", json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode())


def load(lab, folder, name, entrypoint):
    engine_image(folder / "engine.tar", name, entrypoint)
    lab.athanor("images", str(folder / "engine.tar"), "--data", str(lab.data))
    (folder / "engine.tar").unlink()
    wait_for("a running lab to look for new images", lambda: has_entrypoint(lab, name))
    return name


def has_entrypoint(lab, image):
    """Whether a pod with the image finds the entry point, which this machine does not have."""
    pods = f"/api/v1/namespaces/{JOBS}/pods"
    container = {"name": "c", "image": image, "command": ["/bin/busybox", "test", "-x", "/opt/fournos/entrypoint"]}
    pod = lab.http("POST", pods, {"metadata": {"generateName": "looks-"}, "spec": {"restartPolicy": "Never", "containers": [container]}}).json["metadata"]["name"]
    try:
        return wait_for("its end", lambda: (phase := lab.get(f"{pods}/{pod}")["status"]["phase"]) in ("Succeeded", "Failed") and phase) == "Succeeded"
    finally:
        lab.http("DELETE", f"{pods}/{pod}?gracePeriodSeconds=0")


@pytest.fixture(scope="module", autouse=True)
def tools():
    if not is_static(BUSYBOX) or not is_static(KUBECTL):
        pytest.skip("needs a busybox and a kubectl that are linked statically")


@pytest.fixture(scope="module")
def pipeline(lab, tmp_path_factory):
    """A pipeline of an engine of one's own: resolve Job and step call the same file of its image."""
    image = load(lab, tmp_path_factory.mktemp("own"), "registry.example/team/own-engine:1", ENTRYPOINT)
    params = [{"name": "fjob-name"}, {"name": "fournos-workload-namespace"}, {"name": "kubeconfig-secret"}]
    step = {
        "name": "engine",
        "image": image,
        "command": ["/opt/fournos/entrypoint"],
        "env": [
            {"name": "FJOB_NAME", "value": "$(params.fjob-name)"},
            {"name": "FOURNOS_WORKLOAD_NAMESPACE", "value": "$(params.fournos-workload-namespace)"},
            {"name": "FOURNOS_STEP", "value": "measure"},
            {"name": "FOURNOS_CI", "value": "true"},
        ],
        "volumeMounts": [{"name": "vault-secrets", "mountPath": "/var/run/secrets/fournos", "readOnly": True}],
    }
    task = {"name": "measure", "taskSpec": {"params": params[:2], "steps": [step]}, "params": [{"name": one["name"], "value": f"$(params.{one['name']})"} for one in params[:2]]}
    body = {
        "apiVersion": "tekton.dev/v1",
        "kind": "Pipeline",
        "metadata": {"name": "own-engine", "namespace": JOBS, "annotations": {"fournos.dev/resolve-image": image}},
        "spec": {"params": params, "tasks": [task]},
    }
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(body))
    return "own-engine"


def logs(lab, what):
    return lab.kubectl("logs", "-n", JOBS, what, "--all-containers").out


def test_an_engine_resolves_and_runs_by_its_entrypoint(lab, pipeline):
    lab.submit({"cluster": "cluster-3", "exclusive": False, "pipeline": pipeline, "executionEngine": {"own": {"gpus": 2}}}, name="by-engine")
    job = lab.wait_phase("by-engine", "Succeeded")
    assert job["spec"]["hardware"] == {"gpuType": "h200", "gpuCount": 2} and job["spec"]["secretRefs"] == ["placeholder"]
    assert logs(lab, "job/by-engine-resolve").startswith(f"resolve-fournos-config of {JOBS}/by-engine, CI true\n")
    assert logs(lab, "by-engine-measure-pod") == f"measure of {JOBS}/by-engine, CI true\nnot a secret"


def test_an_engine_that_refuses_fails_the_job(lab, pipeline):
    lab.submit({"cluster": "cluster-3", "exclusive": False, "pipeline": pipeline, "executionEngine": {"own": {}}}, name="refused-by-engine")
    job = lab.wait_phase("refused-by-engine", "Failed")
    assert job["status"]["message"] == "Resolution failed: Job has reached the specified backoff limit"
    assert logs(lab, "job/refused-by-engine-resolve").startswith("resolve-fournos-config of ")
    assert lab.http("GET", f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{JOBS}/workloads/refused-by-engine").code == 404


@pytest.fixture(scope="module")
def generic(lab, tmp_path_factory):
    """examples/fournos/engine/20-generic.yaml with the image that examples/fournos/generic-runner builds."""
    script = (ROOT / "examples/fournos/generic-runner/entrypoint").read_text(encoding="utf-8")
    image = load(lab, tmp_path_factory.mktemp("generic"), "registry.example/team/fournos-generic-runner:1", script)
    text = (ROOT / "examples/fournos/engine/20-generic.yaml").read_text(encoding="utf-8")
    lab.kubectl("apply", "-f", "-", stdin=text.replace("fournos-generic-runner:dev", image))
    yield "fournos-generic"
    lab.kubectl("delete", "-f", "-", stdin=text)


def children(lab, name):
    jobs = lab.get(f"/apis/batch/v1/namespaces/{JOBS}/jobs", labelSelector="app.kubernetes.io/managed-by=fournos-generic")["items"]
    return [one for one in jobs if one["metadata"]["labels"]["fournos.dev/job-name"] == name]


def test_the_image_of_the_generic_runner_runs_a_container(lab, generic):
    engine = {"generic": {"image": "bash", "command": ["bash", "-c"], "args": ["echo \"$A\"; exit 0"], "env": {"A": "from the child"}}}
    lab.submit({"clusterless": True, "exclusive": False, "pipeline": generic, "executionEngine": engine}, name="by-runner")
    lab.wait_phase("by-runner", "Succeeded")
    assert "nothing to fill in" in logs(lab, "job/by-runner-resolve")
    assert "from the child\n" in logs(lab, "by-runner-run-pod") and children(lab, "by-runner") == []


def test_a_stopped_job_of_the_generic_runner_leaves_no_child(lab, generic):
    engine = {"generic": {"image": "bash", "command": ["sleep", "1000"]}}
    lab.submit({"clusterless": True, "exclusive": False, "pipeline": generic, "executionEngine": engine}, name="stopped-runner")
    child = wait_for("the child", lambda: children(lab, "stopped-runner"))[0]
    assert child["metadata"]["ownerReferences"][0]["kind"] == "FournosJob"
    lab.kubectl("patch", "fj", "stopped-runner", "-n", JOBS, "--type", "merge", "-p", '{"spec": {"shutdown": "Terminate"}}')
    lab.wait_phase("stopped-runner", "Stopped")
    wait_for("the child's end", lambda: children(lab, "stopped-runner") == [])
