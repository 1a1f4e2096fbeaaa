# SPDX-License-Identifier: Apache-2.0
"""Secrets of one engine job never reach another: two jobs at once, each with an entry of its own (docs/fournos.md, secretRefs)."""

import json

import pytest
from support import JOBS, Lab, wait_for

VAULT = "psap-secrets"
PATH = f"/apis/fournos.dev/v1/namespaces/{JOBS}/fournosjobs"
# What a step may look through: its mounts, homes, temporary files, and the variables of processes that it sees.
SEARCH = """#!/bin/sh
for file in /var/run/secrets/fournos/*/*; do echo "holds $file: $(cat "$file")"; done
grep -raos '[o]nly-of-[a-z]*' /var/run/secrets /run /tekton /workspace /tmp /etc "$HOME" /proc/[0-9]*/environ /proc/[0-9]*/cmdline | sed 's/^/found /'
echo searched
sleep 600
"""


@pytest.fixture(scope="module")
def current(tmp_path_factory):
    lab = Lab(tmp_path_factory.mktemp("secrets") / "lab", ["--set", "FOURNOS_API=current", "--set", "FOURNOS_SECRET_GRACE_SEC=1"])
    try:
        lab.start()
        for entry in ("alpha", "beta"):
            body = {"metadata": {"name": f"vault-{entry}", "labels": {"fournos.dev/vault-entry": "true"}}, "stringData": {"token": f"only-of-{entry}"}}
            assert lab.http("POST", f"/api/v1/namespaces/{VAULT}/secrets", body).code == 201
        mount = {"name": "vault-secrets", "mountPath": "/var/run/secrets/fournos", "readOnly": True}
        task = {"name": "look", "taskSpec": {"steps": [{"name": "s", "image": "busybox", "script": SEARCH, "volumeMounts": [mount]}]}}
        metadata = {"name": "looking", "namespace": JOBS, "annotations": {"fournos.dev/resolve-image": "unused:1"}}
        pipeline = {"apiVersion": "tekton.dev/v1", "kind": "Pipeline", "metadata": metadata, "spec": {"tasks": [task]}}
        assert lab.http("POST", f"/apis/tekton.dev/v1/namespaces/{JOBS}/pipelines", pipeline).code == 201
        yield lab
    finally:
        lab.close()


def begin(lab, name, entry):
    """Submits a job whose resolver leaves it as it is; returns what its step printed once it has looked around."""
    container = {"name": "c", "image": "busybox", "command": ["true"]}
    job = {"metadata": {"name": f"{name}-resolve"}, "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}}
    assert lab.http("POST", f"/apis/batch/v1/namespaces/{JOBS}/jobs", job).code == 201
    lab.submit({"cluster": "cluster-1", "exclusive": False, "pipeline": "looking", "secretRefs": [entry], "executionEngine": {"own": {}}}, name=name)
    lab.wait_phase(name, "Running")

    def searched():
        done = lab.kubectl("logs", "-n", JOBS, f"{name}-look-pod", "--all-containers", code=None)
        return done.code == 0 and done.out.endswith("searched\n") and done.out

    return wait_for(f"{name} has looked around", searched)


def secret_names(lab):
    return {one["metadata"]["name"] for one in lab.get(f"/api/v1/namespaces/{JOBS}/secrets")["items"]}


def test_a_job_finds_no_secret_of_another(current):
    for name, entry in (("first", "alpha"), ("second", "beta")):
        said = begin(current, name, entry).splitlines()
        assert f"holds /var/run/secrets/fournos/{entry}/token: only-of-{entry}" in said
        assert len([line for line in said if line.startswith("holds ")]) == 1, said
        found = {line.rpartition(":")[2] for line in said if line.startswith("found ")}
        assert found == {f"only-of-{entry}"}, said
    assert current.job("first")["status"]["phase"] == "Running", "both had their secrets at the time of the search"
    pods = current.get(f"/api/v1/namespaces/{JOBS}/pods")["items"]
    for name, own, foreign in (("first", "alpha", "beta"), ("second", "beta", "alpha")):
        run = current.get(f"/apis/tekton.dev/v1/namespaces/{JOBS}/pipelineruns/{name}")
        volume = next(one for one in run["spec"]["taskRunTemplate"]["podTemplate"]["volumes"] if one["name"] == "vault-secrets")
        assert [one["secret"]["name"] for one in volume["projected"]["sources"]] == [f"{name}-{own}"]
        mine = [one for one in pods if one["metadata"]["labels"].get("fournos.dev/job-name") == name]
        assert mine and foreign not in json.dumps(mine)
        copy = current.get(f"/api/v1/namespaces/{JOBS}/secrets/{name}-{own}")
        assert copy["metadata"]["ownerReferences"][0]["uid"] == current.job(name)["metadata"]["uid"]
    for name in ("first", "second"):
        patch = json.dumps({"spec": {"shutdown": "Terminate"}})
        assert current.http("PATCH", f"{PATH}/{name}", patch, content_type="application/merge-patch+json").code == 200
        current.wait_phase(name, "Stopped")
    wait_for("the copies go", lambda: not {name for name in secret_names(current) if name.startswith(("first-", "second-"))})
    assert current.http("GET", f"/api/v1/namespaces/{VAULT}/secrets/vault-alpha").code == 200
