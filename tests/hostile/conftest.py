# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the attacks: a throw-away server on a free port, bounded in memory.

Small by default, as part of `make test`. ATHANOR_ATTACK=full (`make attack`): as large and as long as what was seen.
"""

import os
import pathlib
import sys

import pytest

FULL = os.environ.get("ATHANOR_ATTACK") == "full"
os.environ.setdefault("HOSTILE_SECONDS", "20" if FULL else "1")  # of each attack that goes on for a while

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from attackers import SANITIZED  # noqa: E402
from support import ATHANOR, Lab  # noqa: E402

# A doubling copy ends here, not with the machine. A sanitizer's shadow memory is larger than any machine's.
BOUNDED = () if SANITIZED else ("bash", "-c", 'ulimit -v 6000000; exec "$@"', "athanor")


@pytest.fixture(scope="session", autouse=True)
def binary():
    assert ATHANOR.exists(), f"{ATHANOR} is not built: scripts/build dev athanor"
    return ATHANOR


def throw_away(folder, *args):
    """A server that is gone with the test: `yield from throw_away(...)`."""
    one = Lab(folder / "lab", list(args))
    one.wrapper = BOUNDED
    try:
        one.start(wrapper=BOUNDED)
        yield one
    finally:
        one.close()


@pytest.fixture(scope="module")
def victim(tmp_path_factory):
    """Without processes for pods."""
    yield from throw_away(tmp_path_factory.mktemp("hostile"), "--pods", "timed")


@pytest.fixture(scope="module")
def running_victim(tmp_path_factory):
    """With processes for pods."""
    yield from throw_away(tmp_path_factory.mktemp("hostile"))


@pytest.fixture
def own_victim(tmp_path):
    """One test's own."""
    yield from throw_away(tmp_path, "--pods", "timed")


@pytest.fixture(scope="session")
def size():
    """size(small, full): how much of something."""
    return lambda small, full: full if FULL else small
