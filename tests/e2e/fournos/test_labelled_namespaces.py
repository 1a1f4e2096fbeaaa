# SPDX-License-Identifier: Apache-2.0
"""The seed README: a namespace with the label fournos.dev/queue-access=true runs jobs with pipelines and Secrets of its own."""

import yaml
from support import ROOT, forge, wait_for

SETUP = ROOT / "examples/fournos/setup"


def bring(lab, ns, *files):
    """Applies the namespaced objects of the setup to another namespace."""
    for file in files:
        for one in yaml.safe_load_all((SETUP / file).read_text(encoding="utf-8")):
            one["metadata"].pop("namespace", None)
            lab.kubectl("apply", "-n", ns, "-f", "-", stdin=yaml.safe_dump(one))


def test_a_labelled_namespace_runs_jobs(lab, ns):
    lab.submit(forge(), "waiting", ns)

    def told():
        events = lab.http("GET", f"/api/v1/namespaces/{ns}/events").json["items"]
        return [one for one in events if one["reason"] == "NamespaceNotServed"]

    assert f"kubectl label namespace {ns} fournos.dev/queue-access=true" in wait_for("the event", told)[0]["message"]
    assert "status" not in lab.job("waiting", ns)
    bring(lab, ns, "20-secrets.yaml", "30-tasks.yaml", "31-pipelines.yaml")
    lab.kubectl("create", "configmap", "fournos-mock-config", "-n", ns, "--from-literal=sleep=0")
    lab.kubectl("label", "namespace", ns, "fournos.dev/queue-access=true")
    lab.kubectl("create", "-n", ns, "-f", "-", stdin=yaml.safe_dump(sample(ns)))
    for name in ("waiting", "fresh"):
        wait_for(f"{name} succeeds", lambda name=name: lab.job(name, ns).get("status", {}).get("phase") == "Succeeded")
    # Which GPUs there are is read from all ClusterQueues.
    lab.submit(forge(hardware={"gpuType": "a100", "gpuCount": 2}), "with-gpus", ns)
    lab.wait_phase("with-gpus", "Succeeded", ns)
    log = lab.kubectl("logs", "-n", ns, "-l", "fournos.dev/job-name=fresh,tekton.dev/pipelineTask=run", "--all-containers").out
    assert "[mock-run] done" in log


def sample(ns):
    job = yaml.safe_load((ROOT / "examples/fournos/sample-job.yaml").read_text(encoding="utf-8"))
    job["metadata"] = {"name": "fresh", "namespace": ns}
    return job
