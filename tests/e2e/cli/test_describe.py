# SPDX-License-Identifier: Apache-2.0
"""describe, wait, rerun, submit of several jobs."""

import json
import re

import pytest
import yaml
from support import JOBS, ROOT, forge, wait_for


def created(text):
    return re.findall(r"fournosjob.fournos.dev/(\S+) created", text)


def test_a_job_is_waited_for_and_described(lab):
    name = lab.submit(forge())["metadata"]["name"]
    done = lab.athanor("wait", f"jobs/{name}", "-n", JOBS, "--timeout", "5m")
    assert f"{name} is Succeeded" in done.out
    shown = json.loads(lab.athanor("describe", f"jobs/{name}", "-n", JOBS, "-o", "json").out)
    assert shown["facts"]["Phase"] == "Succeeded" and "Duration" in shown["facts"]
    moments = [moment["what"] for moment in shown["timeline"]]
    assert moments[0] == "created" and any(what.startswith("task ") for what in moments), moments
    assert {"PipelineRun", "TaskRun", "Pod"} <= {child["kind"] for child in shown["children"]}
    text = lab.athanor("describe", name, "-n", JOBS).out
    assert text.startswith(f"FournosJob {JOBS}/{name}\n") and "\nTimeline\n" in text and "\nEvents\n" in text
    assert "is Failed" in lab.athanor("wait", failing_job(lab), "-n", JOBS, code=1).out
    assert "not found" in lab.athanor("wait", "jobs/none", "-n", JOBS, code=1).err
    assert "is not in phase Running after 1s" in lab.athanor("wait", waiting_job(lab), "-n", JOBS, "--for", "phase=Running", "--timeout", "1s", code=1).err


@pytest.mark.parametrize("words", [["schedules/yearly"], ["schedule", "yearly"]])
def test_a_schedule_is_described(lab, words):
    lab.athanor("schedules", "create", "yearly", "-n", JOBS, "--cron", "0 2 1 1 *", "--zone", "Europe/Berlin", "--cluster", "cluster-1", "--project", "p", "--replace")
    try:
        lab.athanor("schedules", "trigger", "yearly", "-n", JOBS)
        shown = wait_for("its job", lambda: (
            value := json.loads(lab.athanor("describe", *words, "-n", JOBS, "-o", "json").out)) and "FournosJob" in [child["kind"] for child in value["children"]] and value)
        assert shown["facts"]["Schedule"] == "0 2 1 1 *" and " 02:00:00 +01:00 (in " in shown["facts"]["Next start 5"], shown
        assert any(moment["what"].startswith("start yearly-") for moment in shown["timeline"]), shown
    finally:
        lab.athanor("schedules", "delete", "yearly", "-n", JOBS)
    assert 'cronjobs.batch "yearly" not found' in lab.athanor("describe", *words, "-n", JOBS, code=1).err


def test_every_name_that_lists_print_is_described(lab, ns):
    """The words of -o name, as in athanor describe $(athanor clusters -o name)."""
    sample = yaml.safe_load((ROOT / "samples/appwrapper.yaml").read_text(encoding="utf-8"))
    del sample["metadata"]["labels"]  # its queue is not in this namespace
    lab.kubectl("apply", "-n", ns, "-f", "-", stdin=json.dumps(sample))
    names = {verb: lab.athanor(verb, "-o", "name", "-n", ns if verb == "appwrappers" else JOBS).out.split() for verb in ("clusters", "appwrappers")}
    assert "resourceflavor.kueue.x-k8s.io/cluster-1" in names["clusters"]
    text = lab.athanor("describe", *names["clusters"]).out
    assert "ResourceFlavor cluster-1\n" in text and "cluster-1 is in the queue alone" in text and "fournos-queue" in text
    (app,) = names["appwrappers"]
    wait_for("its pod", lambda: "Pod" in lab.athanor("describe", app, "-n", ns).out)
    shown = json.loads(lab.athanor("describe", app, "-n", ns, "-o", "json").out)
    children = [(child["kind"], child["name"]) for child in shown["children"]]
    assert ("Pod", "sample") in children and len(children) == len(set(children)), children
    assert "unknown kind" in lab.athanor("describe", "job.batch/x", code=2).err


def failing_job(lab):
    return created(lab.athanor("submit", "-n", JOBS, "--cluster", "nowhere", "--project", "p", code=1).out)[0]


def waiting_job(lab):
    return created(lab.athanor("submit", "-n", JOBS, "--cluster", "cluster-1", "--gpu", "h200:8", "--project", "p", code=None).out)[0]


def test_a_waiting_job_says_why(lab):
    name = created(lab.athanor("submit", "-n", JOBS, "--cluster", "cluster-2", "--gpu", "a100:99", "--project", "p", code=None).out)[0]
    wait_for("it waits", lambda: lab.phase(name) == "Pending")
    shown = json.loads(lab.athanor("describe", f"jobs/{name}", "-n", JOBS, "-o", "json").out)
    assert "waits in ClusterQueue fournos-queue" in shown["why"] and "maximum capacity" in shown["why"]
    lab.athanor("cancel", name, "-n", JOBS)


def test_a_job_is_run_again_with_other_values(lab):
    name = lab.submit(forge())["metadata"]["name"]
    again = created(lab.athanor("rerun", name, "-n", JOBS, "--cluster", "cluster-2", "--label", "suite=again").out)[0]
    job = lab.job(again)
    assert again.startswith(name) and job["spec"]["cluster"] == "cluster-2" and job["metadata"]["labels"]["suite"] == "again"
    assert job["spec"]["forge"] == lab.job(name)["spec"]["forge"]
    manifest = lab.athanor("jobs", name, "-n", JOBS, "-o", "yaml").out
    copy = created(lab.athanor("submit", "-n", JOBS, "-f", "-", "--owner", "eve", stdin=manifest).out)[0]
    assert copy != name and lab.job(copy)["spec"]["owner"] == "eve"


def test_several_jobs_are_checked_first(lab, tmp_path):
    sample = (ROOT / "examples/fournos/sample-job.yaml").read_text(encoding="utf-8")
    (tmp_path / "a.yaml").write_text(sample, encoding="utf-8")
    (tmp_path / "b.yaml").write_text(sample.replace("spec:", "spec:\n  nonsense: 1", 1), encoding="utf-8")
    refused = lab.athanor("submit", "-f", tmp_path, code=1)
    assert "nonsense" in refused.err and "no job is submitted" in refused.err and not created(refused.out)
    kept = lab.athanor("submit", "-f", tmp_path, "--keep-going", code=1)
    assert len(created(kept.out)) == 1
    (tmp_path / "b.yaml").write_text(sample + "---\n" + sample, encoding="utf-8")
    assert len(created(lab.athanor("submit", "-f", tmp_path, "--label", "suite=folder").out)) == 3
    (tmp_path / "c.yaml").write_text("kind: Pod\n---\nkind: Job\n", encoding="utf-8")
    wrong = lab.athanor("submit", "-f", tmp_path / "c.yaml", code=1).err
    assert "document 1" in wrong and "document 2" in wrong


def test_a_file_of_100_documents_reports_every_error(lab, tmp_path):
    """By parsing, by kind, by the server's schema and by names that are there twice; each with its place."""
    job = json.dumps({"apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": {"generateName": "hundred-"}, "spec": {"owner": "e2e", "cluster": "cluster-1", "forge": {"project": "p", "args": ["x"]}}})
    documents = [job] * 100
    documents[9] = "kind: Pod"
    documents[29] = documents[69] = job.replace('"generateName": "hundred-"', '"name": "twice"')
    documents[49] = job.replace('"owner"', '"nonsense": 1, "owner"')
    documents[89] = "spec: [1"
    (tmp_path / "suite.yaml").write_text("\n---\n".join(documents) + "\n", encoding="utf-8")
    refused = lab.athanor("submit", "-f", tmp_path / "suite.yaml", "-n", JOBS, code=1)
    told = sorted(int(number) for number in re.findall(r"suite.yaml, document (\d+): ", refused.err))
    assert told == [10, 50, 70, 90] and "is also in" in refused.err and "no job is submitted" in refused.err, refused.err
    assert not created(refused.out)
    kept = lab.athanor("submit", "-f", tmp_path / "suite.yaml", "-n", JOBS, "--keep-going", "--dry-run", code=1)
    assert len(created(kept.out)) == 97 and "document 50" in kept.err, kept.err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["describe", "clustr/a"], "did you mean cluster?"),
        (["wait", "jobs/a", "--for", "soon"], "--for soon: write phase=PHASE"),
        (["wait", "jobs/a", "--for", "phase=Foo"], "--for phase=Foo: no such phase; known are Scheduled, "),
        (["wait", "jobs/a", "--timeout", "soon"], "--timeout soon: not a length of time"),
        (["wait", "jobs/a", "--timeout", "2001-01-01T00:00:00Z"], "not a length of time"),
        (["wait", "slices/a"], "nothing to wait for"),
        (["wait", "schedules/a"], "nothing to wait for"),
        (["submit", "--project", "p", "--label", "x"], "--label x: give it as NAME=VALUE"),
        (["submit", "--engine", "[1]"], "--engine [1]: give a mapping"),
        (["describe"], "give KIND/NAME, or -l LABELS"),
        (["describe", ""], "a name is empty"),
        (["wait", ""], "a name is empty"),
        (["cancel", ""], "a name is empty"),
        (["jobs", ""], "a name is empty"),
        (["results", ""], "a name is empty"),
        (["lock", "", "--owner", "a"], "a name is empty"),
        (["submit", "--project", "p", "--ttl", "1x"], "--ttl 1x: not a length of time"),
        (["submit", "--project", "p", "--start-at", "yesterday"], "--start-at yesterday: not a time"),
        (["submit", "--project", "p", "--lock-until", "noon"], "--lock-until noon: not a time"),
        (["schedules", "create", "s", "--cron", "@daily", "--project", "p", "--ttl", "1x"], "--ttl 1x"),
        (["lock", "edge", "--for", "0m", "--owner", "a"], '--for: "0m" is not a time'),
        (["lock", "edge", "--for", "99999999999d", "--owner", "a"], "is not a time"),
        (["cancel", "a", "-l", "b=c"], "-l excludes names"),
        (["cancel", "pod/a"], "pod/a: give names of fournosjobs"),
        (["cancel", "-l", "a in b"], "--selector a in b"),
        (["wait", "slices", "-l", "a=b"], "slices and zones are of nodes"),
        (["describe", "clustr", "-l", "a=b"], "did you mean cluster?"),
    ],
)
def test_wrong_words_end_with_two(lab, args, says):
    done = lab.athanor(*args, code=2)
    assert says in done.err, done.err
