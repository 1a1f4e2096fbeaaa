# SPDX-License-Identifier: Apache-2.0
"""athanor simulate: the examples, both outputs, and refusals with file and line."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import pytest
from support import ATHANOR, DEADLINE, ROOT, run, terminal_text

EXAMPLES = ROOT / "examples/simulate"
FLEET = EXAMPLES / "fleet.yaml"
HEADER = "submit,owner,gpu_type,gpus,duration,priority,cluster\n"


def simulate(*args, code=0):
    done = run([ATHANOR, "simulate", *args], timeout=400)
    assert done.code == code, (done.out, done.err)
    return done


def test_the_example_with_two_fleets_and_a_page(tmp_path):
    page = tmp_path / "report.html"
    # The quarter's first weeks: the unoptimised build that runs here takes minutes for all of it.
    trace = tmp_path / "weeks.csv"
    lines = (EXAMPLES / "quarter.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    trace.write_text("".join(lines[:401]), encoding="utf-8")
    done = simulate(trace, "--fleet", FLEET, "--what-if", EXAMPLES / "fleet-plus-2.yaml", "--html", page, "-o", "json")
    less, more = done.json["fleets"]
    assert less["jobs"] == less["succeeded"] == more["succeeded"] == 400
    assert more["waiting"]["all"]["meanSeconds"] < less["waiting"]["all"]["meanSeconds"]
    assert 0 < more["utilisation"]["h200"]["mean"] < less["utilisation"]["h200"]["mean"] <= 1
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>") and "default-src 'none'" in text
    assert not re.search(r"<(script|img|iframe)[^>]*\bsrc=|<link\b|@import|url\((?!data:)", text)


def test_jobs_use_the_fleets_own_queue(tmp_path):
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        "apiVersion: athanor.dev/v1\nkind: Lab\nclusters:\n- {name: c, quota: {fournos/gpu-h200: 8, fournos/cluster-slot: 100}}\nqueues:\n- name: bench\n",
        encoding="utf-8",
    )
    trace = tmp_path / "trace.csv"
    trace.write_text(HEADER + "0,a,h200,1,60,,\n", encoding="utf-8")
    [only] = simulate(trace, "--fleet", fleet, "-o", "json").json["fleets"]
    assert only["jobs"] == only["succeeded"] == 1


def test_generated_traces_are_played_and_the_same_twice(tmp_path):
    trace = tmp_path / "trace.csv"
    made = simulate("--generate", "--jobs", 60, "--days", 1, "--seed", 4, "--fleet", FLEET).out
    trace.write_text(made, encoding="utf-8")
    assert made == simulate("--generate", "--jobs", 60, "--days", 1, "--seed", 4, "--fleet", FLEET).out
    table = simulate(trace, "--fleet", FLEET).out
    assert table == simulate(trace, "--fleet", FLEET).out
    for words in ("WAIT BY OWNER", "WAIT BY GPU", "MEAN IN USE", "(all)"):
        assert words in table


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("1,a,h200,1,soon,,\n", ":2: duration \"soon\" is no length of time; write seconds"),
        ("1,a,h200,64,60,,\n", ":2: 64 GPUs of type h200 fit in no cluster of"),
        ("1,a,h200,1,60,urgent,\n", ":2: priority \"urgent\" is not in"),
        ("1,a,,0,60,,nowhere\n", ":2: cluster \"nowhere\" is not in"),
    ],
)
def test_a_wrong_line_is_named_with_the_remedy(tmp_path, line, says):
    trace = tmp_path / "trace.csv"
    trace.write_text(HEADER + line, encoding="utf-8")
    done = simulate(trace, "--fleet", FLEET, code=1)
    assert f"{trace}{says}" in done.err, done.err


def test_misuse_says_how(tmp_path):
    assert "--fleet" in simulate(EXAMPLES / "quarter.csv", code=2).err
    missing = simulate(tmp_path / "none.csv", "--fleet", FLEET, code=1)
    assert "cannot be read" in missing.err
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text("apiVersion: athanor.dev/v1\nkind: Lab\nclusters:\n- name: a\n  quota: {fournos/gpu-h200: many}\n", encoding="utf-8")
    assert f"{fleet}:5:" in simulate(EXAMPLES / "quarter.csv", "--fleet", fleet, code=1).err


SLICES = EXAMPLES / "slices.csv"
POLICIES = [(p, o, s) for s in ("spread", "pack") for p, o in (("firstfit", "listed"), ("firstfit", "emptiest"), ("firstfit", "fullest"), ("fragmin", None))]


def test_slice_requests_are_played_with_every_policy():
    """docs/spec/das.md 16: issue of slices, policy beside policy; a file and a mix."""
    answer = simulate("--slices", SLICES, "--nodes", 1, "--gpus", 2, "-o", "json").json
    assert answer["model"] == "A100-PCIE-40GB" and (answer["nodes"], answer["gpusPerNode"]) == (1, 2)
    assert [(one["placementPolicy"], one.get("gpuOrder"), one["nodeScoringPolicy"]) for one in answer["policies"]] == POLICIES
    by_order = {one["gpuOrder"]: one for one in answer["policies"][:3]}
    assert all(one["requests"] == 8 for one in answer["policies"])
    assert by_order["listed"]["accepted"] > by_order["emptiest"]["accepted"], by_order
    assert "7g.40gb" in by_order["emptiest"]["rejected"]
    table = simulate("--slices", "small", "--nodes", 2, "--gpus", 4, "--requests", 500).out
    lines = table.splitlines()
    assert lines[0].split() == ["PLACEMENT", "GPU", "ORDER", "NODES", "REQUESTS", "ACCEPTED", "ACCEPTANCE", "UTILISATION", "GPUS", "IN", "USE"]
    assert len(lines) == 9 and all(" 500 " in line and line.endswith("of 8") for line in lines[1:])
    assert table == simulate("--slices", "small", "--nodes", 2, "--gpus", 4, "--requests", 500).out
    assert table != simulate("--slices", "small", "--nodes", 2, "--gpus", 4, "--requests", 500, "--seed", 2).out
    less = simulate("--slices", "no7", "--model", "H200", "--load", 0.2, "--requests", 500, "-o", "json").json
    assert all(one["acceptance"] > 0.99 for one in less["policies"])


def test_short_plays_of_both_fleets_show_progress(tmp_path):
    """60 jobs: a line for each, of both fleets, that ends where the tables begin; at 80 columns it does not wrap."""
    trace = tmp_path / "trace.csv"
    trace.write_text(HEADER + "".join(f"{i * 60},a,h200,1,60,,\n" for i in range(60)), encoding="utf-8")
    for name in ("few", "many"):
        (tmp_path / name).write_text(FLEET.read_text(encoding="utf-8"), encoding="utf-8")
    words = [str(ATHANOR), "simulate", str(trace), "--fleet", "few", "--what-if", "many"]
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=side, text=True, check=True, timeout=DEADLINE, cwd=tmp_path)
    shown = terminal_text(main, side)
    os.close(main)
    os.close(side)
    # The second fleet's part may be cut at 80 columns, not its numbers.
    seen = {fleet: [int(n) for n in re.findall(rf"{fleet}: (\d+) of 60 jobs", shown)] for fleet in ("few", "many")}
    assert all(sorted(set(numbers)) == list(range(1, 61)) for numbers in seen.values()), seen
    assert shown.endswith("\r\x1b[K") and "of 60 jobs" not in done.stdout
    assert max(len(line.replace("\x1b[K", "")) for line in shown.split("\r")) < 80


def test_progress_is_shown_on_a_terminal_alone():
    """A line that the table replaces; nothing of it in a pipe."""
    words = [str(ATHANOR), "simulate", "--slices", "small", "--nodes", "2", "--gpus", "4", "--requests", "1500"]
    main, side = pty.openpty()
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=side, text=True, check=True, timeout=DEADLINE)
    shown = terminal_text(main, side)
    os.close(main)
    os.close(side)
    assert "\rpolicy 1 of 8: 1000 of 1500 requests" in shown and "policy 8 of 8: 1500 of 1500" in shown
    assert shown.endswith("\r\x1b[K") and "policy" not in done.stdout
    assert simulate(*words[2:]).err == ""


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["--slices", "none.csv"], 1, "none.csv: cannot be read; give a mix (uniform, small, no7)"),
        (["--slices", "small", "--model", "G1"], 2, 'unknown GPU model "G1"; known: A100-PCIE-40GB'),
        (["--slices", "small", "--model", "A30"], 1, "mix small needs a GPU with seven compute slices"),
        (["--slices", SLICES, "--model", "A30"], 1, "slices.csv:3: A30 has no profile 1g.5gb"),
        (["--slices", SLICES, "--requests", "5"], 2, "are for a mix"),
        (["--slices", "small", "--fleet", FLEET], 2, "--slices takes no trace of jobs, --fleet"),
        (["--gpus", "4"], 2, "need --slices"),
    ],
)
def test_slices_that_cannot_be_played(args, code, says):
    assert says in simulate(*args, code=code).err
