# SPDX-License-Identifier: Apache-2.0
"""examples/: every file is accepted with strict validation, and its folder's README names it; jobs do what their comment says."""

import re

import pytest
import yaml
from support import JOBS, ROOT, wait_for

EXAMPLES = ROOT / "examples"
ENGINE = EXAMPLES / "fournos/engine"
FILES = sorted(file for file in EXAMPLES.rglob("*.yaml"))


def documents(file):
    return [one for one in yaml.safe_load_all(file.read_text(encoding="utf-8")) if one]


@pytest.mark.parametrize("system", sorted(one.name for one in EXAMPLES.iterdir() if one.is_dir()))
def test_the_readme_names_every_file_and_no_other(system):
    folder = EXAMPLES / system
    named = set(re.findall(r"`([\w-]+\.yaml)`", (folder / "README.md").read_text(encoding="utf-8")))
    assert named == {file.name for file in folder.rglob("*.yaml")}


@pytest.fixture(scope="module")
def prepared(lab):
    """Namespaces of the examples are there, so that a dry run of what is in them can be asked for."""
    wanted = {one["metadata"].get("namespace") for file in FILES for one in documents(file) if "metadata" in one} - {None}
    there = set(lab.kubectl("get", "namespaces", "-o", "name").out.replace("namespace/", "").split())
    for namespace in sorted(wanted - there):
        lab.kubectl("create", "namespace", namespace)
    lab.kubectl("apply", "--server-side", "-f", ENGINE / "00-secrets.yaml", "-f", ENGINE / "10-pipeline.yaml")
    return lab


@pytest.mark.parametrize("file", [str(file.relative_to(EXAMPLES)) for file in FILES if documents(file)[0]["apiVersion"] != "athanor.dev/v1"])
def test_every_file_is_accepted(prepared, file):
    verb = ["create"] if any("generateName" in one["metadata"] for one in documents(EXAMPLES / file)) else ["apply", "--server-side", "--force-conflicts"]
    done = prepared.kubectl(*verb, "--dry-run=server", "--validate=strict", "-f", EXAMPLES / file)
    # This lab has no GPUs: DAS says so of a pod that asks for a slice.
    warnings = [line for line in done.err.splitlines() if "Warning" in line and "no node currently offers MIG profile" not in line]
    assert not warnings, done.err


@pytest.fixture
def created(prepared):
    names = []

    def create(file):
        names.append(re.search(r"/(\S+) created", prepared.kubectl("create", "-f", file).out).group(1))
        return names[-1]

    yield create
    for name in names:
        prepared.http("DELETE", f"/apis/fournos.dev/v1/namespaces/{JOBS}/fournosjobs/{name}")


def test_the_engine_job_runs_with_its_vault_entry(prepared, created):
    name = created(ENGINE / "engine-job.yaml")
    job = prepared.wait_phase(name, "Succeeded")
    assert job["status"]["cluster"] == "cluster-3"
    logs = prepared.kubectl("logs", "-n", JOBS, "-l", f"fournos.dev/job-name={name}", "--all-containers", "--tail=-1").out
    assert "/var/run/secrets/fournos/placeholder/placeholder: 12 bytes" in logs and "[mock-run] done" in logs

    def copies():
        secrets = prepared.get(f"/api/v1/namespaces/{JOBS}/secrets")["items"]
        return [one for one in secrets if job["metadata"]["uid"] in (owner["uid"] for owner in one["metadata"].get("ownerReferences", []))]

    assert len(copies()) == 2, "the kubeconfig and the vault entry stay for the grace period"
    prepared.kubectl("delete", "fj", name, "-n", JOBS)
    wait_for("the copies to go with the job", lambda: not copies())


def test_the_mock_resolver_fills_in_what_a_job_leaves_open(lab):
    job = {"apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": {"name": "resolved"}}
    job["spec"] = {"cluster": "cluster-1", "pipeline": "mock-engine", "exclusive": False, "executionEngine": {"mix": {}}}
    assert lab.http("POST", f"/apis/fournos.dev/v1/namespaces/{JOBS}/fournosjobs", job).code == 201
    done = lab.wait_phase("resolved", "Succeeded")
    assert done["spec"]["hardware"] == {"gpuType": "a100", "gpuCount": 2} and done["spec"]["secretRefs"] == ["placeholder"]


@pytest.mark.parametrize("pipeline", [one["metadata"]["name"] for one in yaml.safe_load_all((EXAMPLES / "fournos/setup/31-pipelines.yaml").read_text(encoding="utf-8"))])
def test_each_pipeline_of_the_lab_takes_engine_jobs(lab, pipeline):
    name = f"engine-{pipeline}"
    spec = {"cluster": "cluster-1", "exclusive": False, "pipeline": pipeline, "executionEngine": {"forge": {"project": "llmd", "args": ["cks"]}}}
    lab.submit(spec, name=name)
    job = lab.wait_phase(name, "Succeeded")
    assert [one["reason"] for one in job["status"]["conditions"] if one["type"] == "Resolved"] == ["Resolved"]
    run = lab.get(f"/apis/tekton.dev/v1/namespaces/{JOBS}/pipelineruns/{name}")
    assert {"name": "forge-project", "value": "llmd"} in run["spec"]["params"]


def test_the_clusterless_job_runs_without_a_workload(prepared, created):
    job = prepared.wait_phase(created(ENGINE / "clusterless-job.yaml"), "Succeeded")
    assert job["status"]["cluster"] == "[clusterless]"


def test_the_lock_job_holds_its_cluster(prepared, created):
    name = created(ENGINE / "lock-job.yaml")
    # Admitted first says which cluster; that the lock is held is the next step's word.
    job = wait_for("the lock is held", lambda: (one := prepared.job(name)).get("status", {}).get("message") == "Cluster lock held on cluster-4" and one)
    assert job["status"]["phase"] == "Admitted"


def test_the_scheduled_job_waits_for_its_time(prepared, created):
    name = created(EXAMPLES / "fournos/scheduled-job.yaml")
    job = wait_for("a phase", lambda: (one := prepared.job(name)).get("status", {}).get("phase") and one)
    assert (job["status"]["phase"], job["status"]["message"]) == ("Scheduled", "Scheduled to start at 2030-01-01T02:00:00+00:00")


@pytest.mark.parametrize(
    ("name", "generic", "phase", "said"),
    [
        ("generic-good", {"image": "bash", "command": ["bash", "-c"], "args": ["echo \"$A\" \"it's {{.x}} $(date +%Y >/dev/null)done\""], "env": {"A": "a 'b' \"c\" $d"}}, "Succeeded", "a 'b' \"c\" $d it's {{.x}} done\n"),
        ("generic-bad", {"image": "bash", "command": ["bash", "-c", "echo broken; exit 3"]}, "Failed", "broken\n"),
        ("generic-none", {"command": ["true"]}, "Failed", "spec.executionEngine.generic.image is required\n"),
    ],
    ids=["good", "bad", "none"],
)
def test_the_generic_engine_runs_a_container(prepared, name, generic, phase, said):
    prepared.kubectl("apply", "-f", ENGINE / "20-generic.yaml")
    prepared.submit({"cluster": "cluster-1", "exclusive": False, "pipeline": "fournos-generic", "executionEngine": {"generic": generic}}, name=name)
    prepared.wait_phase(name, phase)
    last = f"{name}-run-pod" if "image" in generic else f"job/{name}-resolve"
    assert said in prepared.kubectl("logs", "-n", JOBS, last, "--all-containers").out
    assert "hardware" not in prepared.job(name)["spec"] and "secretRefs" not in prepared.job(name)["spec"]
    jobs = prepared.get(f"/apis/batch/v1/namespaces/{JOBS}/jobs", labelSelector="app.kubernetes.io/managed-by=fournos-generic")
    assert not [one for one in jobs["items"] if one["metadata"]["labels"]["fournos.dev/job-name"] == name], "the child is removed"
