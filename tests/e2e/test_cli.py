# SPDX-License-Identifier: Apache-2.0
"""athanor's own verbs against a lab."""

import json
import re
import socket
import subprocess
import threading
import time

import pytest
import yaml
from support import ATHANOR, DEADLINE, JOBS, ROOT, TIMEOUT, Lab, forge, run, wait_for


def test_submit_from_flags_and_follow(lab):
    done = lab.athanor(
        "submit", "-n", JOBS, "--cluster", "cluster-2", "--gpu", "a100:2", "--project", "llmd", "--arg", "cks", "--config", "batch_size=64",
        "--env", "OCPCI_SUITE=regression", "--owner", "perf-team", "--follow",
    )
    name = re.search(r"fournosjob.fournos.dev/(\S+) created", done.out).group(1)
    job = lab.job(name)
    assert job["spec"]["hardware"] == {"gpuType": "a100", "gpuCount": 2}
    assert job["spec"]["forge"] == {"project": "llmd", "args": ["cks"], "configOverrides": {"batch_size": 64}}
    assert job["spec"]["env"] == {"OCPCI_SUITE": "regression"} and job["spec"]["owner"] == "perf-team"
    assert job["status"]["cluster"] == "cluster-2"
    for text in ("Pending", "Admitted", "Running", "Succeeded", "[run/run] [mock-run] gpu-count=2", "[mock-run] done"):
        assert text in done.out, done.out
    kinds = [line.split()[0] for line in done.out.splitlines() if line.startswith(("FournosJob", "Workload", "PipelineRun", "TaskRun", "Pod"))]
    assert {"FournosJob", "PipelineRun", "TaskRun", "Pod"} <= set(kinds), done.out


def test_submit_from_a_file_and_from_standard_input(lab):
    sample = ROOT / "examples/fournos/sample-job.yaml"
    assert lab.athanor("submit", "-f", sample, "-o", "name").out.startswith("fournosjob.fournos.dev/test-job-")
    dry = lab.athanor("submit", "-f", "-", "--dry-run", "-o", "json", stdin=sample.read_text(encoding="utf-8")).json
    assert dry["kind"] == "FournosJob" and lab.http("GET", f"/apis/fournos.dev/v1/namespaces/{JOBS}/fournosjobs/{dry['metadata']['name']}").code == 404


def test_submit_of_a_failing_job_fails(lab):
    done = lab.athanor("submit", "-n", JOBS, "--cluster", "nowhere", "--project", "p", "--follow", code=1)
    assert "Cluster 'nowhere' not found" in done.out + done.err


@pytest.mark.parametrize(
    ("args", "code", "text"),
    [
        (["submit", "--gpu", "a100", "--project", "p"], 2, "--gpu a100: give type and count, as in --gpu a100:2"),
        (["submit", "--gpu", "a100:zero", "--project", "p"], 2, ""),
        (["submti"], 2, 'did you mean "submit"?'),
        (["submit", "--clutser", "x"], 2, 'did you mean "--cluster"?'),
        (["submit", "-f", "/does/not/exist"], 1, "/does/not/exist"),
        (["logs", "no-such-job", "-n", JOBS], 1, 'fournosjobs.fournos.dev "no-such-job" not found'),
        (["jobs", "no-such-job", "-n", JOBS], 1, 'fournosjobs.fournos.dev "no-such-job" not found'),
        (["cancel", "no-such-job", "-n", JOBS], 1, 'fournosjobs.fournos.dev "no-such-job" not found'),
        (["jobs", "--context", "no-such-context"], 1, "no-such-context"),
        (["jobs", "--kubeconfig", "/does/not/exist"], 1, "/does/not/exist"),
        ([], 2, "up"),
    ],
)
def test_mistakes_are_explained(lab, args, code, text):
    done = lab.athanor(*args, code=code)
    assert text in done.out + done.err, done.out + done.err


def test_jobs_lists_and_shows_one(lab):
    name = lab.submit(forge())["metadata"]["name"]
    lab.wait_phase(name, "Succeeded")
    rows = lab.athanor("jobs", "-n", JOBS).out.splitlines()
    assert rows[0].split() == ["NAME", "OWNER", "PHASE", "CLUSTER", "AGE", "MESSAGE"]
    assert any(row.split()[:4] == [name, "e2e", "Succeeded", "cluster-1"] for row in rows)
    assert lab.athanor("jobs", name, "-n", JOBS, "-o", "json").json["metadata"]["name"] == name
    listed = yaml.safe_load(lab.athanor("jobs", "-A", "-o", "yaml").out)
    assert name in [item["metadata"]["name"] for item in listed["items"]]
    assert "TaskRun" in lab.athanor("jobs", name, "-n", JOBS).out


def test_jobs_watches(lab):
    earlier = lab.submit(forge())["metadata"]["name"]
    watching = subprocess.Popen([str(ATHANOR), "jobs", "-w", "-n", JOBS], env=lab.env, stdout=subprocess.PIPE, text=True)
    stop = threading.Timer(DEADLINE, watching.kill)  # a line that never comes ends the loops below
    stop.start()
    try:
        assert watching.stdout.readline().split()[0] == "NAME"
        for line in watching.stdout:  # what was there comes first: from here on the watch is open
            if line.startswith(earlier):
                break
        name = lab.submit(forge())["metadata"]["name"]
        seen = []
        for line in watching.stdout:
            if line.startswith(name):
                seen += [p for p in ("Pending", "Admitted", "Running", "Succeeded") if p in line.split() and p not in seen]
            if "Succeeded" in seen:
                break
        assert seen == ["Pending", "Admitted", "Running", "Succeeded"]
    finally:
        stop.cancel()
        watching.terminate()
        watching.wait(DEADLINE)


def test_logs_of_a_finished_and_of_a_running_job(lab):
    name = lab.submit(forge())["metadata"]["name"]
    followed = lab.athanor("logs", "-f", name, "-n", JOBS).out
    assert "[run/run] [mock-run] done" in followed and "[mock-prepare] connectivity check: OK" in followed
    lab.wait_phase(name, "Succeeded")
    only = lab.athanor("logs", name, "-n", JOBS, "--task", "run").out
    assert "[mock-run] done" in only and "mock-prepare" not in only


def test_queue_says_who_waits_for_what_and_why(lab):
    name = lab.submit({"hardware": {"gpuType": "h200", "gpuCount": 99}, "forge": {"project": "p", "args": []}})["metadata"]["name"]
    try:
        # Until Kueue has looked at it the reason is that it was not looked at.
        texts = (name, "fournos-queue", "fournos/gpu-h200", "insufficient quota")
        wait_for("the reason in the queue", lambda: any(all(text in row for text in texts) for row in lab.athanor("queue", "-n", JOBS).out.splitlines()))
    finally:
        lab.athanor("cancel", name, "-n", JOBS)
        lab.wait_phase(name, "Stopped")


def test_cancel_stops_a_running_job(lab):
    lab.kubectl("patch", "cm", "fournos-mock-config", "-n", JOBS, "--type=merge", "-p", '{"data":{"sleep":"600"}}')
    try:
        name = lab.submit(forge())["metadata"]["name"]
        selector = f"fournos.dev/job-name={name},tekton.dev/pipelineTask=run"
        wait_for("the benchmark to run", lambda: [
            p for p in lab.get(f"/api/v1/namespaces/{JOBS}/pods", labelSelector=selector)["items"] if p["status"].get("phase") == "Running"
        ])
        lab.wait_phase(name, "Running")
    finally:
        lab.kubectl("patch", "cm", "fournos-mock-config", "-n", JOBS, "--type=merge", "-p", '{"data":{"sleep":"0.1"}}')
    assert lab.athanor("cancel", name, "-n", JOBS).out == f"{name} is being stopped\n"
    lab.wait_phase(name, "Stopped")
    assert lab.athanor("cancel", name, "-n", JOBS).out == f"{name} is over already: Stopped\n"


def test_crds_can_be_applied_to_a_bare_control_plane(make_lab):
    bare: Lab = make_lab("--storage", "memory", "--controllers", "").start()
    manifests = run([ATHANOR, "crds"]).out
    names = {d["metadata"]["name"] for d in yaml.safe_load_all(manifests)}
    assert {"fournosjobs.fournos.dev", "workloads.kueue.x-k8s.io", "pipelineruns.tekton.dev"} <= names
    done = bare.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifests)
    assert done.out.count("serverside-applied") == len(names)
    bare.kubectl("wait", "--for=condition=Established", "crd", "--all", TIMEOUT)
    one = list(yaml.safe_load_all(run([ATHANOR, "crds", "--group", "fournos.dev"]).out))
    assert [d["metadata"]["name"] for d in one] == ["fournosjobs.fournos.dev", "fournosclusters.fournos.dev"]


def test_version_and_help(binary):
    assert re.match(r"athanor \d+\.\d+\.\d+", run([binary, "--version"]).out)
    assert re.match(r"\d+\.\d+\.\d+", json.loads(run([binary, "version", "-o", "json"]).out)["version"])
    done = run([binary, "--help"])
    assert done.code == 0
    for verb in ("up", "submit", "jobs", "logs", "cancel", "queue", "crds", "version", "completion"):
        assert verb in done.out and run([binary, verb, "--help"]).code == 0


def test_completion_in_bash(binary):
    script = f'source <({binary} completion bash); COMP_WORDS=(athanor sub); COMP_CWORD=1; $(complete -p athanor | sed -n "s/.*-F \\([^ ]*\\).*/\\1/p"); echo "${{COMPREPLY[*]}}"'
    done = run(["bash", "-c", script])
    assert done.out.split() == ["submit"], done.out + done.err
    for shell in ("zsh", "fish"):
        assert "submit" in run([binary, "completion", shell]).out
    assert run([binary, "completion", "tcsh"]).code == 2


def test_controllers_that_cannot_start_say_so_at_once(tmp_path):
    """Nothing listens at the server's address: none of these gets as far as asking it."""
    config = tmp_path / "kubeconfig"
    config.write_text(yaml.safe_dump({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }), encoding="utf-8")  # fmt: skip
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = "127.0.0.1:%d" % taken.getsockname()[1]
        for flags, text in (
            (["--metrics-address=127.0.0.1:0"], "ERROR: FOURNOS_WORKLOAD_NAMESPACE env var is required"),
            (["-n", "jobs", f"--metrics-address={address}"], "Address already in use"),
            (["-n", "jobs", "--metrics-address=:99999"], "the port is not a number from 0 to 65535"),
        ):
            began = time.monotonic()
            done = run([ATHANOR, "controllers", "--kubeconfig", config, *flags])
            assert done.code == 1 and text in done.err, done.err
            assert time.monotonic() - began < 10, "the drain timeout alone is 20 s"
