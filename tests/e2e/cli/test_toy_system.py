# SPDX-License-Identifier: Apache-2.0
"""A sixth system, added by its own folder and three lines (tests/toy): every part of the program knows it."""

import os
import pathlib

import pytest
from support import ROOT, Lab, run, wait_for

TOY = pathlib.Path(os.environ.get("ATHANOR_TOY", ROOT / "build/dev/tests/toy/athanor_toy"))

GREETING = "apiVersion: toy.athanor.dev/v1\nkind: Greeting\nmetadata: {{name: {name}}}\nspec: {spec}\n"


@pytest.fixture(scope="module")
def toy_lab(tmp_path_factory):
    assert TOY.exists(), f"{TOY} is not built"
    one = Lab(tmp_path_factory.mktemp("toy") / "lab", ["--pods", "timed"], program=TOY)
    try:
        yield one.start()
    finally:
        one.close()


def test_the_generators_know_it():
    systems = {s["name"]: s for s in run([TOY, "systems", "-o", "json"]).json}
    assert systems["greeting"]["kinds"] == ["greetings.toy.athanor.dev"], systems["greeting"]
    assert "greetings.toy.athanor.dev" in run([TOY, "crds", "--group", "toy.athanor.dev", "-o", "name"]).out
    assert "greetings/status" in run([TOY, "rbac", "--controllers", "greeting"]).out
    assert "Print every greeting" in run([TOY, "--help"]).out
    listed = run([TOY, "controllers", "--help"]).out.split("Systems: ")[1]
    assert all(name in listed for name in systems), listed


def test_its_controller_its_webhook_and_its_verb_work(toy_lab):
    toy_lab.kubectl("apply", "-f", "-", stdin=GREETING.format(name="one", spec="{who: world}"))
    text = ("get", "greeting", "one", "-o", "jsonpath={.status.text}")
    wait_for("the answer", lambda: toy_lab.kubectl(*text).out == "Hello, world!")
    refused = toy_lab.kubectl("apply", "-f", "-", code=1, stdin=GREETING.format(name="two", spec="{}"))
    assert "a greeting needs somebody to greet" in refused.err
    assert toy_lab.athanor("greet").out == "Hello, world!\n"
