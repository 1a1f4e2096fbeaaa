# SPDX-License-Identifier: Apache-2.0
"""describe, wait, rerun, submit of several jobs."""

import json
import re

import pytest
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


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["describe", "clustr/a"], "did you mean cluster?"),
        (["wait", "jobs/a", "--for", "soon"], "--for soon: write phase=PHASE"),
        (["wait", "jobs/a", "--timeout", "soon"], "--timeout soon: not a length of time"),
        (["wait", "slices/a"], "nothing to wait for"),
        (["submit", "--project", "p", "--label", "x"], "--label x: give it as NAME=VALUE"),
        (["submit", "--engine", "[1]"], "--engine [1]: give a mapping"),
        (["describe"], "objects is required"),
    ],
)
def test_wrong_words_end_with_two(lab, args, says):
    done = lab.athanor(*args, code=2)
    assert says in done.err, done.err
