# SPDX-License-Identifier: Apache-2.0
"""Daily work beside jobs: logs of every workload, templates, results, comparisons, schedules, events, the live view, labs, notifications."""

import datetime
import fcntl
import http.server
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import threading

import pytest
import yaml
from support import DEADLINE, JOBS, alive, forge, wait_for

BENCHMARK = ["--pipeline", "fournos-benchmark", "--project", "llmd", "--cluster", "cluster-1", "--gpu", "a100:2"]


def created(text):
    return re.findall(r"fournosjob.fournos.dev/(\S+) created", text)


@pytest.fixture(scope="module")
def runs(lab):
    """Two runs of the benchmark that differ in batch size and GPUs."""
    lab.athanor("submit", "-n", JOBS, *BENCHMARK, "--config", "batch_size=64", "--name", "daily-one")
    lab.athanor("submit", "-n", JOBS, *BENCHMARK[:-1], "a100:4", "--config", "batch_size=64", "--name", "daily-two")
    lab.athanor("wait", "daily-one", "daily-two", "-n", JOBS, "--timeout", "2m")
    return "daily-one", "daily-two"


# --- logs -------------------------------------------------------------------------------------------------
def test_logs_of_each_kind_of_workload(lab, runs):
    name = runs[0]
    whole = lab.athanor("logs", name, "-n", JOBS).out
    assert whole.splitlines()[0].startswith("[prepare/prepare] ") and "[measure/measure] [measure]" in whole.splitlines()[-1]
    assert lab.athanor("logs", f"pipelinerun/{name}", "-n", JOBS).out == whole
    pods = [pod for pod in lab.get(f"/api/v1/namespaces/{JOBS}/pods")["items"] if pod["metadata"]["name"] == f"{name}-measure-pod"]
    line = lab.athanor("logs", "pod", pods[0]["metadata"]["name"], "-n", JOBS, "--no-prefix").out
    assert line.startswith("[measure] batch_size=64 gpus=2 throughput=177")
    run = pods[0]["metadata"]["labels"]["tekton.dev/taskRun"]
    assert line in lab.athanor("logs", f"taskrun/{run}", "-n", JOBS, "--prefix").out.replace(f"[pod/{pods[0]['metadata']['name']}/step-measure] ", "")
    assert "unknown kind" in lab.athanor("logs", "pipelinerum/x", "-n", JOBS, code=2).err
    assert "not found" in lab.athanor("logs", "no-such-job", "-n", JOBS, code=1).err


def test_logs_of_several_workloads(lab, runs):
    both = lab.athanor("logs", *runs[:2], "-n", JOBS).out
    for name in runs[:2]:
        lab.kubectl("label", "fournosjob", name, "-n", JOBS, "team=logged", "--overwrite")
        assert f"[pod/{name}-measure-pod/step-measure] [measure] batch_size=64" in both
    assert sorted(lab.athanor("logs", "-l", "team=logged", "-n", JOBS, "-f").out.splitlines()) == sorted(both.splitlines())
    pods = lab.athanor("logs", "pods", "-l", f"fournos.dev/job-name={runs[0]}", "-n", JOBS).out
    assert pods and set(pods.splitlines()) <= set(both.splitlines())
    assert lab.athanor("logs", "-l", f"fournos.dev/job-name={runs[0]}", "-n", JOBS).out == pods


def test_logs_of_jobs_and_their_flags(lab, ns):
    lab.kubectl(
        "create",
        "-n",
        ns,
        "-f",
        "-",
        stdin=yaml.safe_dump(
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": "batch"},
                "spec": {
                    "backoffLimit": 0,
                    "template": {
                        "spec": {
                            "restartPolicy": "Never",
                            "containers": [
                                {"name": "good", "image": "busybox", "command": ["sh", "-c", "for i in 1 2 3; do echo good $i; done"]},
                                {"name": "bad", "image": "busybox", "command": ["sh", "-c", "echo bad; exit 3"]},
                            ],
                        }
                    },
                },
            }
        ),
    )
    followed = lab.athanor("logs", "-f", "job.batch/batch", "-n", ns)
    assert sorted(line.split("/", 1)[1] for line in followed.out.splitlines()) == ["bad] bad", "good] good 1", "good] good 2", "good] good 3"]
    assert lab.athanor("logs", "batch", "-n", ns, "--failed", "--no-prefix").out == "bad\n"
    assert lab.athanor("logs", "batch", "-n", ns, "-c", "good", "--tail", "2", "--no-prefix").out == "good 2\ngood 3\n"
    stamped = lab.athanor("logs", "batch", "-n", ns, "-c", "bad", "--timestamps", "--no-prefix").out
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z bad\n", stamped), stamped
    assert lab.athanor("logs", "batch", "-n", ns, "--since", "2001-01-01T00:00:00Z", "-c", "bad", "--no-prefix").out == "bad\n"
    wrong = lab.athanor("logs", "batch", "-n", ns, "-c", "god", code=1).err
    assert 'no container "god", did you mean good?' in wrong and "bad" in wrong
    assert "no container was restarted" in lab.athanor("logs", "batch", "-n", ns, "--previous", code=1).err
    assert "--since soon" in lab.athanor("logs", "batch", "-n", ns, "--since", "soon", code=2).err


def test_nothing_failed_is_no_failure(lab, runs):
    done = lab.athanor("logs", runs[0], "-n", JOBS, "--failed")
    assert not done.out and "no container of daily-one failed" in done.err


# --- templates --------------------------------------------------------------------------------------------
def test_a_template_is_saved_and_submitted(lab, runs):
    lab.athanor("templates", "save", "nightly", "-n", JOBS, "--description", "every night", *BENCHMARK, "--config", "batch_size=8")
    listed = lab.athanor("templates", "-n", JOBS).out
    assert "nightly" in listed and "2 a100" in listed and "every night" in listed
    name = created(lab.athanor("submit", "-n", JOBS, "--template", "nightly", "--config", "batch_size=16", "--owner", "eve").out)[0]
    spec = lab.job(name)["spec"]
    assert spec["owner"] == "eve" and spec["forge"]["configOverrides"] == {"batch_size": 16} and spec["pipeline"] == "fournos-benchmark"
    lab.athanor("templates", "save", "again", "-n", JOBS, "--from", runs[0])
    assert json.loads(lab.athanor("templates", "again", "-n", JOBS, "-o", "json").out)["metadata"]["name"] == "template-again"
    assert "templates" in lab.athanor("submit", "-n", JOBS, "--template", "none", code=1).err
    assert "b c" in lab.athanor("templates", "save", "bad", "-n", JOBS, "--project", "p", "--label", "a=b c", code=1).err
    lab.athanor("templates", "delete", "nightly", "again", "-n", JOBS)
    assert "No templates" in lab.athanor("templates", "-n", JOBS).err
    assert "not found" in lab.athanor("templates", "delete", "kube-root-ca.crt", "-n", JOBS, code=1).err


# --- results ----------------------------------------------------------------------------------------------
def test_results_are_shown_and_copied(lab, runs, tmp_path):
    text = lab.athanor("results", runs[0], "-n", JOBS).out
    assert re.search(r"throughput +- +177", text) and "samples.csv" in text and "summary.json" in text
    lab.athanor("results", runs[0], "-n", JOBS, "--copy", tmp_path / "copy")
    assert json.loads((tmp_path / "copy/summary.json").read_text(encoding="utf-8"))["throughput"] == 177
    assert len((tmp_path / "copy/samples.csv").read_text(encoding="utf-8").splitlines()) == 21
    shown = json.loads(lab.athanor("results", runs[0], "-n", JOBS, "-o", "json").out)
    assert {one["path"] for one in shown["files"]} == {"samples.csv", "summary.json"}
    assert not [pod for pod in lab.get(f"/api/v1/namespaces/{JOBS}/pods")["items"] if pod["metadata"]["name"].startswith("results-reader-")]
    assert "not found" in lab.athanor("results", "no-such-job", "-n", JOBS, code=1).err


def test_results_outlive_their_job(lab):
    name = created(lab.athanor("submit", "-n", JOBS, *BENCHMARK).out)[0]
    lab.athanor("wait", name, "-n", JOBS, "--timeout", "2m")
    lab.kubectl("delete", "fournosjob", name, "-n", JOBS)
    assert "summary.json" in lab.athanor("results", name, "-n", JOBS).out


def test_jobs_are_compared(lab, runs):
    text = lab.athanor("compare", *runs, "-n", JOBS).out
    assert re.search(r"hardware.gpuCount +2 +4", text) and re.search(r"throughput +177 +355 \(\+100\.6%\)", text), text
    value = json.loads(lab.athanor("compare", *runs, "-n", JOBS, "-o", "json").out)
    (throughput,) = [row for row in value["results"] if row["name"] == "throughput"]
    assert throughput["cells"][1]["number"] == 355 and round(throughput["cells"][1]["percent"], 1) == 100.6
    assert {row["name"] for row in value["durations"]} == {"prepare", "measure", "the whole run"}
    assert "two jobs" in lab.athanor("compare", runs[0], "-n", JOBS, code=2).err


# --- schedules --------------------------------------------------------------------------------------------
def test_a_schedule_starts_each_job_once(lab):
    lab.athanor("schedules", "create", "each", "-n", JOBS, "--cron", "@every 2s", *BENCHMARK)
    try:
        starts = wait_for("two starts", lambda: [j for j in jobs_of(lab, "each") if j["metadata"]["labels"]["fournos-launcher/trigger-type"] == "scheduled"][1:])
        assert starts
        lab.athanor("schedules", "pause", "each", "-n", JOBS)
        assert re.search(r"each +Paused", lab.athanor("schedules", "-n", JOBS).out)
        lab.athanor("schedules", "trigger", "each", "-n", JOBS)
        wait_for("the manual start", lambda: [j for j in jobs_of(lab, "each") if j["metadata"]["labels"]["fournos-launcher/trigger-type"] == "manual"])
        pods = [
            p
            for p in lab.get(f"/apis/batch/v1/namespaces/{JOBS}/jobs")["items"]
            if p["metadata"]["name"].startswith("each-") and p.get("status", {}).get("succeeded")
        ]
        names = [job["metadata"]["name"] for job in jobs_of(lab, "each")]
        assert {one["metadata"]["name"] for one in pods} <= set(names) and len(names) == len(set(names))
        lab.athanor("schedules", "resume", "each", "-n", JOBS)
    finally:
        lab.athanor("schedules", "delete", "each", "-n", JOBS)
    assert "not found" in lab.athanor("schedules", "pause", "each", "-n", JOBS, code=1).err


def test_schedules_are_watched(lab):
    lab.athanor("schedules", "create", "watched", "-n", JOBS, "--cron", "0 2 1 1 *", *BENCHMARK)
    watching = subprocess.Popen([str(lab.program), "schedules", "watched", "-w", "-n", JOBS], env=lab.env, stdout=subprocess.PIPE, text=True)
    stop = threading.Timer(DEADLINE, watching.kill)
    stop.start()
    try:
        assert watching.stdout.readline().startswith("NAME") and "Active" in watching.stdout.readline()
        lab.athanor("schedules", "pause", "watched", "-n", JOBS)
        assert re.match(r"watched +Paused ", watching.stdout.readline())
        watching.send_signal(signal.SIGINT)
        assert watching.wait(DEADLINE) == 130
    finally:
        stop.cancel()
        watching.kill()
        lab.athanor("schedules", "delete", "watched", "-n", JOBS)


def jobs_of(lab, schedule):
    items = lab.get(f"/apis/fournos.dev/v1/namespaces/{JOBS}/fournosjobs")["items"]
    return [one for one in items if one["metadata"].get("labels", {}).get("fournos-launcher/schedule-name") == schedule]


def test_next_starts_are_shown_in_their_zone(lab):
    shown = json.loads(lab.athanor("schedules", "next", "30 2 * * *", "--zone", "Europe/Berlin", "--count", "3", "-o", "json").out)["items"]
    assert len(shown) == 3 and all(" 02:30:00 " in one["local"] for one in shown)
    for one in shown:
        utc = datetime.datetime.fromisoformat(one["utc"].replace("Z", "+00:00"))
        assert utc == datetime.datetime.strptime(one["local"], "%Y-%m-%d %H:%M:%S %z")
    never = lab.athanor("schedules", "next", "0 0 30 2 *")
    assert not never.out and "no start within five years" in never.err
    assert "--zone: unknown time zone" in lab.athanor("schedules", "next", "@daily", "--zone", "Mars/Base", code=2).err
    for cron, zone, said in (("61 * * * *", "UTC", '--cron: "61 * * * *": end of range'), ("0 0 30 2 *", "UTC", '--cron: "0 0 30 2 *" has no start'), ("@daily", "Mars/Base", "--zone: unknown time zone")):
        assert said in lab.athanor("schedules", "create", "bad", "--cron", cron, "--zone", zone, "--project", "p", code=2).err


def test_a_schedule_of_jobs_that_would_fail_says_so(lab):
    made = lab.athanor("schedules", "create", "failing", "-n", JOBS, "--cron", "0 2 1 1 *", "--project", "p")
    assert "each start would fail at once: Must specify 'cluster', 'hardware', or both" in made.err
    assert "each start" not in lab.athanor("schedules", "create", "failing", "-n", JOBS, "--cron", "0 2 1 1 *", "--replace", *BENCHMARK).err
    lab.athanor("schedules", "delete", "failing", "-n", JOBS)


def test_verbs_take_several_names_or_labels(lab):
    """Of each verb one refusal stops no other; labels stand for names, the oldest first."""
    for name in ("many-one", "many-two"):
        lab.athanor("submit", "-n", JOBS, *BENCHMARK, "--name", name, "--label", "suite=many")
    assert lab.athanor("wait", "-l", "suite=many", "-n", JOBS, "--timeout", "2m").out.count("is Succeeded") == 2
    shown = lab.athanor("describe", "jobs", "-l", "suite=many", "-n", JOBS).out
    assert f"FournosJob {JOBS}/many-one\n" in shown and f"FournosJob {JOBS}/many-two\n" in shown
    results = lab.athanor("results", "many-one", "none", "many-two", "-n", JOBS, code=1)
    assert results.out.count("throughput") == 2 and "job many-two\n" in results.out and '"none" not found' in results.err
    assert [one["job"] for one in json.loads(lab.athanor("results", "-l", "suite=many", "-n", JOBS, "-o", "json").out)["items"]] == ["many-one", "many-two"]
    assert "throughput" in lab.athanor("compare", "-l", "suite=many", "-n", JOBS).out
    again = created(lab.athanor("rerun", "-l", "suite=many", "-n", JOBS, "--label", "suite=again", "--gpu", "a100:99", code=None).out)
    assert len(again) == 2 and again[0].startswith("many-one") and again[1].startswith("many-two")
    assert lab.athanor("cancel", "-l", "suite=again", "-n", JOBS).out.count("is being stopped") == 2
    assert "no fournosjobs have the labels suite=none" in lab.athanor("cancel", "-l", "suite=none", "-n", JOBS, code=1).err
    for name in ("several-a", "several-b"):
        lab.athanor("schedules", "create", name, "-n", JOBS, "--cron", "0 2 1 1 *", *BENCHMARK)
    assert lab.athanor("schedules", "pause", "several-a", "none", "several-b", "-n", JOBS, code=1).out.count(" paused") == 2
    lab.athanor("schedules", "delete", *lab.athanor("schedules", "several-a", "several-b", "-n", JOBS, "-o", "name").out.split(), "-n", JOBS)
    assert not lab.athanor("schedules", "several-a", "-n", JOBS, code=1).out, "no titles above nothing"


def test_cron_jobs_of_others_are_left_alone(lab, ns):
    lab.kubectl("create", "cronjob", "own", "-n", ns, "--image=busybox", "--schedule=@daily", "--", "true")
    assert "lacks the label" in lab.athanor("schedules", "delete", "own", "-n", ns, code=1).err
    assert "own" not in lab.athanor("schedules", "-n", ns).out


# --- events, top, labs, simulate ----------------------------------------------------------------------------
def test_events_of_a_job_and_what_belongs_to_it(lab, runs):
    text = lab.athanor("events", runs[0], "-n", JOBS).out
    assert f"FournosJob/{runs[0]}" in text and f"Pod/{runs[0]}-measure-pod" in text and runs[1] not in text
    both = lab.athanor("events", runs[0], f"jobs/{runs[1]}", "-n", JOBS).out
    assert f"FournosJob/{runs[0]}" in both and f"Pod/{runs[1]}-measure-pod" in both
    assert "not found" in lab.athanor("events", runs[0], "no-such-job", "-n", JOBS, code=1).err
    warnings = json.loads(lab.athanor("events", "-n", JOBS, "--types", "Warning", "-o", "json").out)
    assert all(one["type"] == "Warning" for one in warnings["items"])


@pytest.mark.parametrize("columns", [80, 200])
def test_top_prints_each_view(lab, runs, columns):
    for view in ("overview", "jobs", "queue", "clusters", "slices", "zones", "appwrappers"):
        done = lab.athanor("top", view, "-n", JOBS, "--once", "--columns", columns, "--lines", 20)
        lines = done.out.splitlines()
        assert len(lines) == 20 and max(map(len, lines)) <= columns and f"{view}]" in lines[0], done.out
        assert "\x1b" not in done.out
        value = json.loads(lab.athanor("top", view, "-n", JOBS, "-o", "json").out)
        assert value["view"] == view
    jobs = lab.athanor("top", "jobs", "-n", JOBS, "--filter", f"{runs[0]} phase:succeeded", "--columns", columns).out
    assert runs[0] in jobs and runs[1] not in jobs
    assert "write age:<2h" in lab.athanor("top", "jobs", "--filter", "age:soon", code=2).err


def plain_lines(seen):
    """Lines of a terminal without its sequences, nor the returns that the terminal adds itself."""
    return [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).rstrip("\r") for line in seen.decode(errors="replace").split("\n")]


def test_top_is_used_by_keys_and_resized(lab, runs):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(str(lab.program), ["athanor", "top", "-n", JOBS], {**lab.env, "TERM": "xterm"})
    seen = bytearray()

    def shows(mark):
        while select.select([terminal], [], [], 0.05)[0]:
            seen.extend(os.read(terminal, 65536))
        return mark.encode() in seen

    try:
        wait_for("the overview", lambda: shows("[1 overview]"))
        os.write(terminal, b"j")
        wait_for("the jobs", lambda: shows("[2 jobs]") and shows(runs[0]))
        seen.clear()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 40, 0, 0))
        wait_for("a small screen", lambda: shows("\x1b[J") and max(map(len, plain_lines(seen)[-9:])) <= 40)
        assert b"\x1b[3" not in seen, "NO_COLOR is set"
        os.write(terminal, b"q")
        wait_for("its end", lambda: os.waitpid(pid, os.WNOHANG)[0] == pid)
        pid = 0
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(terminal)


def test_the_queue_explains_jobs_that_have_ended(lab, runs):
    text = lab.athanor("queue", "--explain", runs[0], "-n", JOBS).out
    assert text.startswith(f"FournosJob {runs[0]} in namespace {JOBS} ended ") and "ago: Succeeded" in text, text
    value = json.loads(lab.athanor("queue", "--explain", runs[0], "-n", JOBS, "-o", "json").out)
    assert (value["job"], value["phase"]) == (runs[0], "Succeeded") and value["completionTime"].startswith("20"), value


def test_the_queue_estimates_when_a_job_starts(lab, runs):
    """By the jobs of its queue that have ended: their Workloads are deleted."""

    def explained(name, *words):
        return lab.athanor("queue", "--explain", name, "-n", JOBS, *words).out

    def hold_jobs_for(seconds):
        lab.kubectl("patch", "cm", "fournos-mock-config", "-n", JOBS, "--type=merge", "-p", json.dumps({"data": {"sleep": seconds}}))

    hardware = {"gpuType": "a100", "gpuCount": 8}
    names = []
    hold_jobs_for("600")
    try:
        names.append(lab.submit(forge(hardware=hardware))["metadata"]["name"])
        lab.wait_phase(names[0], "Running")
        names.append(lab.submit(forge(hardware=hardware))["metadata"]["name"])
        why = wait_for("it waits", lambda: (it := json.loads(explained(names[1], "-o", "json")))["state"] == "waits" and it["estimate"]["earliest"] and it)
        assert why["estimate"]["runs"] >= 2, why
        assert "estimate: starts" in explained(names[1])
    finally:
        hold_jobs_for("0.1")
        lab.athanor("cancel", *names, "-n", JOBS)


def test_own_history_and_fleet_are_simulated(lab, runs, tmp_path):
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(lab.athanor("clusters", "-o", "fleet").out, encoding="utf-8")
    assert [one["name"] for one in yaml.safe_load(fleet.read_text(encoding="utf-8"))["clusters"]] == [f"cluster-{i}" for i in (1, 2, 3, 4)]
    trace = lab.athanor("jobs", *runs, "-n", JOBS, "-o", "trace").out
    assert trace.startswith("submit,owner,gpu_type,gpus,duration,priority,cluster,exclusive\n") and len(trace.splitlines()) == 3
    report = json.loads(lab.athanor("simulate", "-", "--fleet", fleet, "-o", "json", stdin=trace).out)
    assert report["fleets"][0]["succeeded"] == 2


def test_labs_are_listed_merged_stopped_and_deleted(make_lab, tmp_path, monkeypatch):
    monkeypatch.setenv("ATHANOR_LABS", str(tmp_path / "records"))
    lab = make_lab("--pods", "timed", name="second").start()
    listed = json.loads(lab.athanor("labs", "-o", "json").out)["items"]
    assert [one["name"] for one in listed] == ["second"] and listed[0]["running"] and listed[0]["pid"] == lab.process.pid
    config = tmp_path / "config"
    shutil.copy(lab.kubeconfig, config)
    lab.athanor("labs", "merge", "second", "--into", config)
    assert lab.kubectl("--kubeconfig", config, "--context", "athanor-second", "get", "namespaces").out
    assert "there is no lab" in lab.athanor("labs", "stop", "secand", code=2).err
    assert "--force" in lab.athanor("labs", "delete", "second", code=2).err
    lab.athanor("labs", "stop", "second")
    assert not alive(lab.process.pid) and lab.process.wait(DEADLINE) == 0
    assert "stopped" in lab.athanor("labs").out
    lab.athanor("labs", "delete", "second")
    assert not lab.data.exists() and "No labs" in lab.athanor("labs").err


# --- notifications ----------------------------------------------------------------------------------------
class Receiver(http.server.BaseHTTPRequestHandler):
    """Refuses the first two posts."""

    def do_POST(self):  # noqa: N802
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.taken.append((self.headers["Content-Type"], body))
        self.send_response(500 if len(self.server.taken) <= 2 else 202)
        self.end_headers()

    def log_message(self, *args):
        """Says nothing."""


def test_the_end_of_a_job_is_announced_until_it_is_taken(make_lab):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.taken = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/hook"
        lab = make_lab("--set", f"FOURNOS_NOTIFY_URL={url}", "--set", "FOURNOS_NOTIFY_FORMAT=cloudevents", name="announcing").start()
        wait_for("the jobs' namespace", lambda: lab.http("GET", f"/api/v1/namespaces/{JOBS}").code == 200)
        job = lab.submit(forge(cluster="nowhere"))
        name = job["metadata"]["name"]
        done = wait_for("it is recorded", lambda: lab.job(name)["metadata"].get("annotations", {}).get("fournos.dev/notified"))
        assert done.startswith("20")
        assert len(server.taken) == 3 and len({body["id"] for _, body in server.taken}) == 1
        kind, body = server.taken[-1]
        assert kind == "application/cloudevents+json" and body["type"] == "dev.fournos.job.failed" and body["data"]["name"] == name
    finally:
        server.shutdown()


# --- people -----------------------------------------------------------------------------------------------
def test_users_of_a_lab_have_the_rights_of_their_role(make_lab):
    lab = make_lab("--pods", "timed", "--user", "ann", "--user", "bob:view", name="shared").start()

    def can(user, *question):
        config = lab.data / f"users/{user}.kubeconfig"
        return lab.kubectl("--kubeconfig", config, "auth", "can-i", *question, code=None).out.strip() == "yes"

    jobs = ("fournosjobs.fournos.dev", "-n", JOBS)
    wait_for("the aggregated roles", lambda: can("ann", "create", *jobs))
    assert can("bob", "list", *jobs) and not can("bob", "create", *jobs)
    assert can("ann", "list", "resourceflavors.kueue.x-k8s.io") and not can("ann", "delete", "resourceflavors.kueue.x-k8s.io")
    assert not can("ann", "create", "fournosjobs.fournos.dev", "-n", "default") and not can("ann", "list", "secrets", "-n", "psap-secrets")
    done = lab.athanor("submit", "--kubeconfig", lab.data / "users/ann.kubeconfig", "-n", JOBS, "--cluster", "cluster-1", "--project", "p")
    assert created(done.out)
    assert "write NAME" in lab.athanor("up", "--data", lab.data / "other", "--user", "eve:root", code=2).err
