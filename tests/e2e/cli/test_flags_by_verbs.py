# SPDX-License-Identifier: Apache-2.0
"""Flags by lists, on a lab that has one of everything: each flag of every list does what it says, in every list. The parser's table is in
tests/unit/cli/flags/verb_table_test.cpp."""

import json

import pytest
import yaml
from support import JOBS, ROOT, wait_for
from tutorial_lab import tutorial_lab

BENCHMARK = ["--pipeline", "fournos-benchmark", "--project", "llmd", "--cluster", "cluster-1", "--gpu", "a100:99", "--owner", "ann"]
# The lists, and how the name of one of their rows is found in JSON.
LISTS = {
    "jobs": ".metadata.name", "queue": ".metadata.name", "clusters": ".metadata.name", "appwrappers": ".metadata.name", "templates": ".metadata.name",
    "schedules": ".metadata.name", "events": ".metadata.name", "slices": ".uuid", "numa": ".metadata.name", "queues": ".name",
}  # fmt: skip


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    with tutorial_lab(tmp_path_factory.mktemp("full")) as one:
        for name in ("first", "second"):
            one.athanor("submit", "-n", JOBS, *BENCHMARK, "--name", name, code=None)
            one.athanor("templates", "save", name, "-n", JOBS, *BENCHMARK)
            one.athanor("schedules", "create", name, "-n", JOBS, "--cron", "0 2 1 1 *", *BENCHMARK)
            sample = yaml.safe_load((ROOT / "examples/appwrapper/appwrapper.yaml").read_text(encoding="utf-8").split("\n---")[0])
            sample["metadata"]["name"] = sample["spec"]["components"][0]["template"]["metadata"]["name"] = name
            one.kubectl("apply", "-n", "default", "-f", "-", stdin=json.dumps(sample))
        wait_for("a row of each list", lambda: all(one.athanor(verb, "-o", "name", code=None).out for verb in LISTS))
        yield one


def lines(text):
    return [line for line in text.splitlines() if line]


@pytest.mark.parametrize("verb", LISTS)
@pytest.mark.parametrize("flag", [["-l", "no=such"], ["--selector=no in (such)"], ["--field-selector", "metadata.name=no-such"], ["--since", "2099-01-01T00:00:00Z"]], ids=" ".join)
def test_a_selector_leaves_nothing(full, verb, flag):
    listed = json.loads(full.athanor(verb, *flag, "-o", "json").out)
    assert listed["kind"] == "List" and listed["items"] == []
    assert not full.athanor(verb, *flag, "-o", "name").out


@pytest.mark.parametrize("verb", LISTS)
def test_rows_are_cut_and_sorted(full, verb):
    wide = lambda *flags: lines(full.athanor(verb, "-o", "wide", "--no-headers", *flags).out)  # noqa: E731
    assert len(wide("--limit", "1")) == 1
    titles = lines(full.athanor(verb, "-o", "wide").out)[0].split()
    assert len(lines(full.athanor(verb, "-o", "wide").out)) >= 2 and titles[0].isupper()
    column = "NAME" if "NAME" in titles else titles[0]
    at = titles.index(column)
    names = [row.split()[at] for row in wide("--sort-by", column)]
    assert names == sorted(names) or verb == "events", names
    assert "neither a column" in full.athanor(verb, "--sort-by", "NOSUCH", "-o", "wide", code=2).err


@pytest.mark.parametrize("verb", LISTS)
def test_every_format_names_the_same(full, verb):
    path = LISTS[verb]
    key = path.rpartition(".")[2]

    def of(one):
        return one["metadata"][key] if path.startswith(".metadata") else one[key]

    def formats():
        out = lambda text: full.athanor(verb, "-o", text).out  # noqa: E731
        return [
            [of(one) for one in json.loads(out("json"))["items"]],
            [of(one) for one in yaml.safe_load(out("yaml"))["items"]],
            out(f"jsonpath={{.items[*]{path}}}").split(),
            out(f"custom-columns=N:{path}").split()[1:],
            out(f"go-template={{{{range .items}}}}{{{{{path}}}}} {{{{end}}}}").split(),
        ]

    wait_for("equal names", lambda: (seen := formats())[0] and all(one == seen[0] for one in seen))
    for spelling in (["-ojson"], ["-o=json"], ["--output=json"], ["--output", "json"]):
        assert json.loads(full.athanor(verb, *spelling).out)["kind"] == "List"


@pytest.mark.parametrize("verb", LISTS)
@pytest.mark.parametrize("flag", [["-l", "a in b"], ["--field-selector", "a"], ["--since", "soon"], ["--limit", "0"], ["-o", "xml"], ["-o", "jsonpath={.a"], ["-o", "go-template={{.a"], ["--no-such"]], ids=" ".join)
def test_a_wrong_flag_is_wrong_usage(full, verb, flag):
    done = full.athanor(verb, *flag, code=2)
    assert not done.out and done.err.startswith("athanor: "), done.err
