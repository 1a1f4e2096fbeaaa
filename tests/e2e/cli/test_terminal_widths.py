# SPDX-License-Identifier: Apache-2.0
"""Every list on terminals of 80 and 200 columns: no line is longer; times, phases and reasons stay whole at 80. The exact text of each list is in
tests/unit/cli/output/screens."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios

import pytest
import yaml
from support import DEADLINE, JOBS, ROOT, wait_for
from tutorial_lab import tutorial_lab

LONG = "benchmark-of-the-largest-model-with-all-flags"
BENCHMARK = ["--pipeline", "fournos-benchmark", "--project", "llm-serving", "--cluster", "cluster-1", "--gpu", "a100:2", "--owner", "llm-performance-team"]
LISTS = [
    ["jobs"], ["jobs", "-A"], ["queue", "-A"], ["clusters"], ["appwrappers", "-A"], ["templates"], ["templates", "-A"], ["schedules"], ["schedules", "-A"],
    ["events"], ["events", "-A"], ["queues"], ["labs"], ["systems"], ["jobs", LONG], ["schedules", "next", LONG], ["results", LONG], ["compare", LONG, "waits"],
]  # fmt: skip


def on_terminal(lab, columns, *args):
    """What the program writes on a terminal of that width, and its exit code."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen([str(lab.program), *args], env=lab.env, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    seen = bytearray()
    try:
        while part := os.read(ours, 65536):
            seen += part
    except OSError:
        pass  # the last writer has closed it
    os.close(ours)
    return seen.decode().replace("\r\n", "\n"), process.wait(DEADLINE), process.stderr.read().decode()


@pytest.fixture(scope="module")
def busy(lab):
    """One of everything, with long names."""
    lab.athanor("submit", "-n", JOBS, *BENCHMARK, "--name", LONG)
    lab.athanor("wait", LONG, "-n", JOBS, "--timeout", "2m")
    lab.athanor("submit", "-n", JOBS, *BENCHMARK, "--gpu", "a100:99", "--name", "waits", code=None)
    lab.athanor("templates", "save", LONG, "-n", JOBS, *BENCHMARK, "--description", "each night, on all of the cluster")
    lab.athanor("schedules", "create", LONG, "-n", JOBS, "--cron", "30 2 * * 1-5", "--zone", "Europe/Berlin", *BENCHMARK, "--replace")
    sample = yaml.safe_load((ROOT / "examples/appwrapper/appwrapper.yaml").read_text(encoding="utf-8").split("\n---")[0])
    sample["metadata"]["name"] = "sample-appwrapper-with-a-long-name"
    lab.kubectl("apply", "-n", "default", "-f", "-", stdin=json.dumps(sample))
    wait_for("it waits", lambda: lab.phase("waits") == "Pending")
    yield lab
    lab.athanor("schedules", "delete", LONG, "-n", JOBS)
    lab.athanor("templates", "delete", LONG, "-n", JOBS)
    lab.athanor("cancel", "waits", "-n", JOBS)
    lab.kubectl("delete", "appwrapper", sample["metadata"]["name"], "-n", "default", "--wait=false")


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("words", LISTS, ids=" ".join)
def test_a_list_fits_the_terminal(busy, words, columns):
    out, code, err = on_terminal(busy, columns, *words)
    assert code == 0 and out, out + err
    assert [line for line in out.splitlines() if len(re.sub(r"\x1b\[[0-9;]*m", "", line)) > columns] == []


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """A lab whose nodes have GPUs that are sliced, and zones."""
    with tutorial_lab(tmp_path_factory.mktemp("nodes")) as one:
        wait_for("GPUs and zones", lambda: all("/" in one.athanor(verb, "-o", "name", code=None).out for verb in ("slices", "numa")))
        yield one


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("words", [["slices"], ["slices", "what-if", "1g.5gb:3"], ["numa"], ["numa", "fit", "--cpu", "1"]], ids=" ".join)
def test_a_list_of_nodes_fits_the_terminal(nodes, words, columns):
    out, code, err = on_terminal(nodes, columns, *words)
    assert code == 0 and out, out + err
    assert [line for line in out.splitlines() if len(re.sub(r"\x1b\[[0-9;]*m", "", line)) > columns] == []


def test_gpus_have_the_rows_of_the_wide_table(nodes):
    """slices -o json, yaml and the formats with a pattern: an object for each GPU."""
    wide = [line.split() for line in nodes.athanor("slices", "-o", "wide", "--no-headers").out.splitlines()]
    gpus = json.loads(nodes.athanor("slices", "-o", "json").out)["items"]
    assert wide and [(row[0], row[1], row[3], row[4], row[5], row[6]) for row in wide] == [
        (gpu["node"], str(gpu["index"]), str(gpu["free"]), str(gpu["total"]), gpu["health"], gpu["uuid"]) for gpu in gpus
    ]
    assert yaml.safe_load(nodes.athanor("slices", "-o", "yaml").out)["items"] == gpus
    columns = nodes.athanor("slices", "-o", "custom-columns=NODE:.node,GPU:.index,FREE:.free", "--no-headers").out
    assert [line.split() for line in columns.splitlines()] == [[row[0], row[1], row[3]] for row in wide]
    assert nodes.athanor("slices", "-o", "jsonpath={.items[*].uuid}").out.split() == [row[6] for row in wide]
    assert len(nodes.athanor("slices", "-o", "go-template={{range .items}}{{.node}} {{end}}").out.split()) == len(wide)
    assert len(json.loads(nodes.athanor("slices", "--sort-by", ".index", "--limit", "1", "-o", "json").out)["items"]) == 1


def test_what_stays_whole_on_narrow_terminals(busy):
    schedules, _, _ = on_terminal(busy, 80, "schedules")
    assert re.search(r" Active +30 2 \* \* 1-5 .*\d{4}-\d\d-\d\d 02:30 \(in \w+\)$", schedules, re.M), schedules
    jobs, _, _ = on_terminal(busy, 80, "jobs")
    assert re.search(r"^benchmark.* Succeeded ", jobs, re.M) and re.search(r"^waits .* Pending .*99 .?a100", jobs, re.M), jobs
    labs, _, _ = on_terminal(busy, 80, "labs")
    assert re.search(r" running +https://127.0.0.1:\d+ ", labs), labs
