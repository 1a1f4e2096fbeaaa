# SPDX-License-Identifier: Apache-2.0
"""athanor's own verbs against a lab."""

import fcntl
import json
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import termios
import threading
import time
from pathlib import Path

import pytest
import yaml
from support import ATHANOR, DEADLINE, JOBS, ROOT, TIMEOUT, Lab, forge, run, terminal_text, wait_for


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


def test_submit_follows_no_job_without_an_end(lab):
    body = {"apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": {"name": "recurs"}, "spec": {"cluster": "cluster-1", "schedule": "0 3 1 1 *", "forge": {"project": "p", "args": []}}}
    done = lab.athanor("submit", "-n", JOBS, "-f", "-", "--follow", stdin=json.dumps(body), code=2)
    assert "has no end" in done.err and "fournos.dev/recurring-parent=NAME" in done.err
    assert lab.http("GET", f"/apis/fournos.dev/v1/namespaces/{JOBS}/fournosjobs/recurs").code == 404


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
    assert rows[0].split() == ["NAME", "OWNER", "PHASE", "CLUSTER", "START", "DURATION", "AGE", "MESSAGE"]
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
        texts = (name, "fournos-queue", "fournos/gpu-h200", "99 h200 fit in no cluster (at most 8)")
        wait_for("the reason in the queue", lambda: any(all(text in row for text in texts) for row in lab.athanor("queue", "-n", JOBS).out.splitlines()))
        # Without -n the lab's jobs are meant; -o wide has the queue's own words.
        assert any(name in row and "insufficient quota" in row for row in lab.athanor("queue", "-o", "wide").out.splitlines())
        wait_for("the reason of the job", lambda: any(name in row and texts[-1] in row for row in lab.athanor("jobs").out.splitlines()))
    finally:
        lab.athanor("cancel", name, "-n", JOBS)
        lab.wait_phase(name, "Stopped")


def test_a_job_that_fails_at_once_is_told(lab):
    done = lab.athanor("submit", "--cluster", "cluster-9", "--project", "p", code=1)
    assert "Cluster 'cluster-9' not found, did you mean cluster-1?" in done.err and "created" in done.out
    dry = lab.athanor("submit", "--cluster", "cluster-9", "--project", "p", "--dry-run", code=1)
    assert "would fail at once: Cluster 'cluster-9' not found, did you mean cluster-1?" in dry.err
    never = lab.athanor("submit", "--gpu", "a100:99", "--project", "p", "--dry-run", code=1)
    assert "99 GPUs of type a100 fit in no cluster of queue fournos-queue (at most 8)" in never.err
    other = lab.athanor("submit", "-f", ROOT / "examples/fournos/sample-job.yaml", "-n", "default", code=2)
    assert 'does not match the namespace "default"' in other.err


def test_a_job_elsewhere_is_told_of(lab):
    done = lab.athanor("submit", "-n", "default", "--cluster", "cluster-1", "--project", "p", "--name", "lost")
    assert f"this lab's controllers watch namespace {JOBS} alone" in done.err
    logs = lab.athanor("logs", "lost", "-n", "default", code=1)
    assert f"submit it there (-n {JOBS})" in logs.err
    lab.http("DELETE", "/apis/fournos.dev/v1/namespaces/default/fournosjobs/lost")


@pytest.mark.parametrize("verb", [["submit", "--follow"], ["logs", "-f"], ["jobs", "-w"]])
def test_it_outlives_a_restart_of_the_api_server(make_lab, verb):
    """kill -9 and a start on the same port while a job is followed; what ends it is the job's end, and Ctrl-C for a list.

    Until the restart no controller runs the job, so that it cannot end before."""
    lab = make_lab("--pods", "timed", "--controllers", "*,-fournosjob", name="restarted").start()
    lab.port = lab.address[1]
    flags = ["--cluster", "cluster-1", "--project", "p", "--name", "j"]
    if verb[0] == "submit":
        command = [*verb, *flags]
    else:
        lab.athanor("submit", *flags)
        command = [*verb, *(["j"] if verb[0] == "logs" else [])]
    out, err = lab.data.parent / "out", lab.data.parent / "err"
    with open(out, "wb") as one, open(err, "wb") as other:
        following = subprocess.Popen([str(ATHANOR), *command], env=lab.env, stdout=one, stderr=other)
    try:
        wait_for("it says who should have looked", lambda: "j has no phase after 5s" in err.read_text(encoding="utf-8"))
        assert "The lab's controller fournosjob should have" in err.read_text(encoding="utf-8")
        lab.stop(signal.SIGKILL)
        wait_for("it says that the server is away", lambda: "the API server is away" in err.read_text(encoding="utf-8"))
        lab.args = ["--pods", "timed"]
        lab.start()
        lab.wait_phase("j", "Succeeded")
        if verb[0] == "jobs":
            wait_for("the end is shown", lambda: "Succeeded" in out.read_text(encoding="utf-8"))
            following.send_signal(signal.SIGINT)
        assert following.wait(DEADLINE) == (130 if verb[0] == "jobs" else 0), err.read_text(encoding="utf-8")
        if verb[0] == "submit":
            assert "Succeeded" in out.read_text(encoding="utf-8")
    finally:
        following.kill()
        following.wait(DEADLINE)


def test_ctrl_c_says_how_to_go_on(lab):
    name = lab.submit({"hardware": {"gpuType": "h200", "gpuCount": 99}, "forge": {"project": "p", "args": []}})["metadata"]["name"]
    following = subprocess.Popen([str(ATHANOR), "logs", "-f", name], env=lab.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        time.sleep(1)
        following.send_signal(signal.SIGINT)
        _, err = following.communicate(timeout=DEADLINE)
        assert following.returncode == 130
        assert f"{name} goes on. Follow it again: athanor logs -f {name} -n {JOBS}\n" in err and f"athanor cancel {name} -n {JOBS}" in err
    finally:
        following.kill()
        lab.athanor("cancel", name)


def test_global_flags_and_other_words(lab):
    assert lab.athanor("-n", JOBS, "jobs", "-o", "name").out == lab.athanor("jobs", "-o", "name").out
    denied = lab.athanor("--as", "nobody", "jobs", code=1)
    assert 'User "nobody" cannot list resource "fournosjobs"' in denied.err
    host, port = lab.address
    plain = run([ATHANOR, "-s", f"https://{host}:{port}", "--insecure-skip-tls-verify", "--token", "wrong", "jobs"], env={"HOME": "/nonexistent", "PATH": "/bin"})
    assert plain.code == 1 and "Unauthorized" in plain.err, plain.err
    told = lab.athanor("-v", "1", "jobs")
    assert f"GET /apis/fournos.dev/v1/namespaces/{JOBS}/fournosjobs 200 in " in told.err
    assert lab.athanor("help", "jobs").out == lab.athanor("jobs", "--help").out


def test_nothing_is_coloured_or_cut_where_nobody_looks(lab):
    """And both on a terminal of forty columns."""
    lab.athanor("submit", "--cluster", "cluster-9", "--project", "p", code=1)
    piped = run([ATHANOR, "jobs"], env={key: value for key, value in lab.env.items() if key != "NO_COLOR"}).out
    assert "\x1b" not in piped and "…" not in piped and "Cluster 'cluster-9' not found" in piped
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    for flags, cut in (([], True), (["-o", "wide"], False)):
        subprocess.run([str(ATHANOR), "jobs", *flags], env=lab.env, stdout=side, check=True, timeout=DEADLINE)
        shown = terminal_text(main, side).splitlines()
        assert all(len(line) <= 40 for line in shown if line) == cut and any("…" in line for line in shown) == cut, shown
    os.close(main)
    os.close(side)


def test_managed_fields_are_hidden(lab):
    name = lab.submit(forge())["metadata"]["name"]
    for flags in (["jobs", name, "-o", "yaml"], ["jobs", "-o", "json"], ["queue", "-o", "yaml"]):
        assert "managedFields" not in lab.athanor(*flags).out
    lab.wait_phase(name, "Succeeded")


def test_the_built_in_labs_clusters_are_listed(lab):
    rows = [row.split() for row in lab.athanor("clusters").out.splitlines()]
    assert [row[0] for row in rows] == ["NAME", "cluster-1", "cluster-2", "cluster-3", "cluster-4"]
    assert rows[1][2:4] == ["8x", "A100"] and "fournos-queue" in rows[1]
    assert "cluster-1 is in the queue alone" in lab.athanor("clusters", "cluster-1").out
    assert "so there is nothing to lock" in lab.athanor("lock", "cluster-1", "--owner", "me", code=1).err


def test_the_kubeconfigs_namespace_is_default(lab):
    assert yaml.safe_load(lab.kubeconfig.read_text(encoding="utf-8"))["contexts"][0]["context"].get("namespace") is None
    lab.kubectl("create", "configmap", "here", "--from-literal=a=b")
    assert lab.http("GET", "/api/v1/namespaces/default/configmaps/here").code == 200


def test_a_setting_moves_the_jobs_and_what_belongs_to_them(make_lab):
    """FOURNOS_NAMESPACE given to `athanor up`: queue, kubeconfigs and pipelines are there, and submit finds them."""
    lab = make_lab("--storage", "memory", "--pods", "timed", name="moved")
    lab.start(env={**os.environ, "FOURNOS_NAMESPACE": "bench"})
    done = lab.athanor("submit", "--cluster", "cluster-1", "--project", "p", "--name", "j", "--follow")
    assert "in namespace bench" in done.out and "Succeeded" in done.out
    assert lab.http("GET", f"/api/v1/namespaces/{JOBS}").code == 404
    assert lab.http("GET", "/api/v1/namespaces/bench/secrets/cluster-1-kubeconfig").code == 200


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
    manifests = run([ATHANOR, "crds", "--all"]).out
    names = {d["metadata"]["name"] for d in yaml.safe_load_all(manifests)}
    assert {"fournosjobs.fournos.dev", "workloads.kueue.x-k8s.io", "pipelineruns.tekton.dev"} <= names
    done = bare.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifests)
    assert done.out.count("serverside-applied") == len(names)
    bare.kubectl("wait", "--for=condition=Established", "crd", "--all", TIMEOUT)
    for flags in (["--group", "fournos.dev"], []):  # ours alone, unless others are asked for
        one = list(yaml.safe_load_all(run([ATHANOR, "crds", *flags]).out))
        assert [d["metadata"]["name"] for d in one] == ["fournosjobs.fournos.dev", "fournosclusters.fournos.dev"]
    tekton = run([ATHANOR, "crds", "--group", "tekton.dev", "-o", "name"]).out.split()
    assert "customresourcedefinition.apiextensions.k8s.io/pipelineruns.tekton.dev" in tekton


def test_version_and_help(binary):
    assert re.match(r"athanor \d+\.\d+\.\d+", run([binary, "--version"]).out)
    told = json.loads(run([binary, "version", "-o", "json"]).out)
    assert re.match(r"\d+\.\d+\.\d+", told["version"]) and re.fullmatch(r"[0-9a-f]+|unknown", told["commit"])
    done = run([binary, "--help"])
    assert done.code == 0
    for verb in ("up", "submit", "jobs", "logs", "cancel", "queue", "crds", "version", "completion"):
        assert verb in done.out and run([binary, verb, "--help"]).code == 0


def test_manual_pages_and_completion_are_installed(binary, tmp_path):
    build = Path(binary).parent
    if not (build / "cmake_install.cmake").exists():
        pytest.skip("no build folder beside the program")
    done = run(["cmake", "--install", build, "--component", "pages", "--prefix", tmp_path])
    assert done.code == 0, done.err
    page = (tmp_path / "share/man/man1/athanor-submit.1").read_text(encoding="utf-8")
    assert ".SH OPTIONS" in page and "\\-\\-gpu" in page
    assert "athanor\\-submit" in (tmp_path / "share/man/man1/athanor.1").read_text(encoding="utf-8")
    for file in ("bash-completion/completions/athanor", "zsh/site-functions/_athanor", "fish/vendor_completions.d/athanor.fish"):
        assert "__complete --line" in (tmp_path / "share" / file).read_text(encoding="utf-8"), file


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
