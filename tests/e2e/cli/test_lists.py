# SPDX-License-Identifier: Apache-2.0
"""Lists of athanor: selectors, order, formats with and without =, several names, wrong values."""

import json

import pytest
import yaml
from support import JOBS, forge, wait_for


@pytest.fixture(scope="module")
def jobs(lab):
    """Three jobs: two that succeed and one whose step fails."""
    names = {}
    for key in ("first", "second"):
        names[key] = lab.submit(forge())["metadata"]["name"]
        lab.wait_phase(names[key], "Succeeded")
    failing = lab.athanor("submit", "-n", JOBS, "--cluster", "nowhere", "--project", "p", code=1)
    names["failed"] = failing.out.split()[0].split("/")[1]
    lab.kubectl("label", "fournosjob", names["second"], "-n", JOBS, "suite=lists")
    return names


def listed(lab, *args):
    return lab.athanor("jobs", "-n", JOBS, *args).out


def test_jobs_are_selected_sorted_and_cut(lab, jobs):
    assert listed(lab, "-l", "suite=lists", "-o", "name") == f"fournosjob.fournos.dev/{jobs['second']}\n"
    assert listed(lab, "--field-selector", "status.phase=Failed", "--no-headers").split()[0] == jobs["failed"]
    rows = [line.split() for line in listed(lab, "--phase", "succeeded", "--since", "1h", "--owner", "e2e", "--no-headers").splitlines()]
    assert {row[0] for row in rows} >= {jobs["first"], jobs["second"]} and jobs["failed"] not in {row[0] for row in rows}
    names = listed(lab, jobs["first"], jobs["second"], "--sort-by", ".metadata.creationTimestamp", "-o=name").split()
    assert sorted(names) == sorted(f"fournosjob.fournos.dev/{jobs[key]}" for key in ("first", "second"))
    assert len(listed(lab, "--limit", "1", "--no-headers").splitlines()) == 1
    missing = lab.athanor("jobs", "-n", JOBS, jobs["first"], "none", code=1)
    assert jobs["first"] in missing.out and 'job "none" not found' in missing.err


def test_jobs_show_start_and_duration(lab, jobs):
    header, *rows = listed(lab).splitlines()
    at = {title: header.index(title) for title in ("START", "DURATION", "MESSAGE")}
    row = next(row for row in rows if row.startswith(jobs["first"]))
    assert row[at["START"] :].startswith("20") and row[at["DURATION"]].isdigit(), row


@pytest.mark.parametrize("spelling", [["-o", "{}"], ["-o={}"], ["-o{}"], ["--output", "{}"], ["--output={}"]])
def test_formats_are_taken_in_every_spelling(lab, jobs, spelling):
    def shown(text, *args):
        return lab.athanor("jobs", "-n", JOBS, *args, *(word.format(text) if word == "{}" else word.replace("{}", text) for word in spelling)).out

    assert json.loads(shown("json"))["kind"] == "List"
    assert shown("jsonpath={.status.phase}", jobs["first"]) == "Succeeded\n"
    assert shown("custom-columns=N:.metadata.name", jobs["first"]).split() == ["N", jobs["first"]]
    assert shown("go-template={{.metadata.name}}", jobs["first"]) == jobs["first"]


@pytest.mark.parametrize("verb", ["queues", "slices", "numa", "clusters", "queue", "appwrappers"])
def test_every_list_prints_names_and_rows(lab, jobs, verb):
    names = lab.athanor(verb, "-o", "name")
    assert all("/" in line for line in names.out.splitlines()), names.out + names.err
    with_titles = lab.athanor(verb, "-o", "wide")
    wide = lab.athanor(verb, "-o", "wide", "--no-headers")
    assert not with_titles.out or len(wide.out.splitlines()) < len(with_titles.out.splitlines())
    listed = lambda: json.loads(lab.athanor(verb, "-o", "json").out)  # noqa: E731
    assert listed()["kind"] == "List", "an empty list is a list, too"
    wait_for("names and objects", lambda: bool(listed()["items"]) == bool(lab.athanor(verb, "-o", "name").out))


@pytest.mark.parametrize("verb", ["jobs", "queue", "clusters", "appwrappers", "templates", "schedules", "events"])
def test_formats_have_the_rows_of_the_table(lab, jobs, verb):
    """As many objects in each format as rows; what runs in the lab may add one in between."""
    words = [verb] if verb == "clusters" else [verb, "-A"]

    def counts():
        out = lambda *args: lab.athanor(*words, *args).out  # noqa: E731
        listed = json.loads(out("-o", "json"))
        return {
            "table": len(out("--no-headers").splitlines()),
            "wide": len(out("-o", "wide", "--no-headers").splitlines()),
            "json": len(listed["items"]) if listed["kind"] == "List" else 1,
            "yaml": len(yaml.safe_load(out("-o", "yaml"))["items"]),
            "name": len(out("-o", "name").splitlines()),
            "jsonpath": len(out("-o", "jsonpath={.items[*].metadata.name}").split()),
            "custom-columns": len(out("-o", "custom-columns=N:.metadata.name", "--no-headers").splitlines()),
            "go-template": len(out("-o", "go-template={{range .items}}x {{end}}").split()),
        }

    wait_for("equal counts", lambda: len(set(counts().values())) == 1 and (counts(),))
    assert verb not in ("jobs", "clusters", "events") or counts()["table"] >= 3


def test_queues_print_names_and_rows(lab):
    names = lab.athanor("queues", "-o", "name").out.split()
    assert "clusterqueue.kueue.x-k8s.io/fournos-queue" in names and "localqueue.kueue.x-k8s.io/fournos-queue" in names
    header, *rows = lab.athanor("queues", "-o", "wide").out.splitlines()
    assert header.split()[:5] == ["KIND", "NAME", "PARENT", "FLAVOR", "RESOURCE"]
    assert any(row.split()[:2] == ["ClusterQueue", "fournos-queue"] for row in rows)
    limited = lab.athanor("queues", "-o", "wide", "--limit", "2", "--no-headers").out.splitlines()
    assert len(limited) == 2


def test_queues_are_filtered_by_phase_and_owner(lab):
    assert "clusterqueue.kueue.x-k8s.io/fournos-queue" in lab.athanor("queues", "--phase", "active", "-o", "name").out
    assert "no ClusterQueue that the flags select" in lab.athanor("queues", "--phase", "Inactive").out
    name = lab.athanor("submit", "-n", JOBS, "--owner", "zoe", "--project", "p", "--gpu", "a100:99", code=None).out.split()[0].split("/")[1]
    try:
        wait_for("its Workload", lambda: name in lab.athanor("queue", "-n", JOBS, "--owner", "zoe").out)
        assert "Nothing that the flags select" in lab.athanor("queue", "-n", JOBS, "--owner", "zora").err
        assert lab.athanor("jobs", name, "-n", JOBS, "--owner", "zoe", "--no-headers").out.startswith(name)
        assert "that the flags select" in lab.athanor("jobs", name, "-n", JOBS, "--owner", "zora").err, "one name follows the other flags, too"
    finally:
        lab.athanor("cancel", "-l", "fournos.dev/job-name=none", "-n", JOBS, code=1)
        lab.athanor("cancel", f"fournosjob.fournos.dev/{name}", "-n", JOBS)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["queues", "--phase", "Activ"], "did you mean Active?"),
        (["slices", "--phase", "Broken"], "known are Healthy, Unhealthy"),
        (["slices", "explain", "x", "--phase", "Healthy"], "slices explain is no list"),
        (["jobs", "--phase", "Faild"], "did you mean Failed?"),
        (["jobs", "--since", "soon"], "--since soon: neither a length of time"),
        (["jobs", "--sort-by", "size"], "neither a column"),
        (["jobs", "-l", "a in b"], "--selector a in b"),
        (["jobs", "-o", "jsonpath={.a"], '"}" is missing'),
        (["jobs", "-w", "--limit", "3"], "--watch prints changes as they come"),
        (["queues", "--sort-by", "name"], "--sort-by needs rows: -o wide"),
        (["queues", "explain", "x", "--limit", "3"], "queues explain is no list"),
        (["queues", "explain", "x", "-o", "name"], "an explanation prints table, json or yaml"),
        (["slices", "what-if", "1g.5gb", "-o", "wide"], "prints table, json or yaml"),
        (["man", "jbos"], "did you mean jobs?"),
    ],
)
def test_wrong_usage_ends_with_two(lab, args, says):
    done = lab.athanor(*args, code=2)
    assert says in done.err, done.err


@pytest.mark.parametrize("verb", ["numa", "submit", "logs", "events"])
def test_flags_of_another_meaning_are_no_hint(lab, verb):
    done = lab.athanor(verb, "--phase", "Failed", code=2)
    assert "--phase" in done.err and "did you mean" not in done.err, done.err


def test_man_prints_the_page_of_a_verb(lab, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = lab.athanor("man", "jobs").out
    assert page.startswith("NAME\n  athanor jobs - ") and "--sort-by" in page and not list(tmp_path.iterdir())
    lab.athanor("man", f"{tmp_path}/pages")
    assert (tmp_path / "pages/athanor-jobs.1").exists()
