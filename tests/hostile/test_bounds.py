# SPDX-License-Identifier: Apache-2.0
"""The bounds of the other tests hold ten times as long for a program with a sanitizer."""

import os
import pathlib
import re
import sys

import pytest
from support import run

HERE = pathlib.Path(__file__).resolve().parent


@pytest.mark.parametrize(("sanitizer", "bounds"), [("", "1.0 7"), ("asan", "10.0 70")])
def test_a_sanitizer_gets_ten_times_the_time(sanitizer, bounds):
    done = run([sys.executable, "-c", "import attackers; print(attackers.ANSWER, attackers.within(7))"], env={**os.environ, "ATHANOR_SANITIZER": sanitizer}, cwd=HERE)
    assert done.out.strip() == bounds, done.err


@pytest.mark.parametrize("file", sorted(path.name for path in HERE.glob("*.py") if path.name != "test_bounds.py"))
def test_every_bound_of_time_is_scaled(file):
    measured = re.compile(r"(?:monotonic\(\) - began|\btook) <|process\.wait\(\d|thread\.join\(\d|monotonic\(\) \+ \d|wait_for\(.*, \d+(?:, [\d.]+)?\)")
    lines = [line.strip() for line in (HERE / file).read_text(encoding="utf-8").splitlines() if measured.search(line)]
    plain = [line for line in lines if "within(" not in line]
    # Memory that is given back is not measured under a sanitizer.
    assert [line for line in plain if "memory is given back" not in line] == []
