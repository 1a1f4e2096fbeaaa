# SPDX-License-Identifier: Apache-2.0
"""Fixtures: one lab for the whole session, a namespace of its own for each test that asks for one."""

import itertools
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from support import ATHANOR, JOBS, Lab, wait_for  # noqa: E402

_numbers = itertools.count(1)


@pytest.fixture(scope="session", autouse=True)
def binary():
    assert ATHANOR.exists(), f"{ATHANOR} is not built: scripts/build dev athanor"
    return ATHANOR


def quick_mock(lab):
    """Sets the sleep of the default lab's mock benchmark, 3 s, to what tests need."""
    answer = lab.http(
        "POST",
        f"/api/v1/namespaces/{JOBS}/configmaps",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fournos-mock-config"}, "data": {"sleep": "0.1"}},
    )
    assert answer.code in (201, 409), answer.text


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """The default lab with real processes for pods."""
    one = Lab(tmp_path_factory.mktemp("session") / "lab")
    try:
        one.start()
        quick_mock(one)
        yield one
    finally:
        one.close()


@pytest.fixture
def make_lab(tmp_path):
    """Labs of a test's own: make_lab("--pods", "timed")."""
    labs = []

    def make(*args, name=None):
        labs.append(Lab(tmp_path / (name or f"lab{len(labs)}"), list(args)))
        return labs[-1]

    yield make
    for one in labs:
        one.close()


@pytest.fixture
def ns(lab):
    """A fresh namespace with what controllers put into every one; removed afterwards without waiting for it."""
    name = f"e2e-{next(_numbers)}"
    lab.kubectl("create", "namespace", name)
    for path in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
        wait_for(f"{path} in {name}", lambda path=path: lab.http("GET", f"/api/v1/namespaces/{name}/{path}").code == 200)
    yield name
    lab.http("DELETE", f"/api/v1/namespaces/{name}")
