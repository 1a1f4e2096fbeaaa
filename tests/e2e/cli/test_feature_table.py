# SPDX-License-Identifier: Apache-2.0
"""docs/tekton.md, Features: each row says whether a feature is done, refused or behind a flag, and names tests that try it."""

import re

import yaml
from guide import text_of
from support import ROOT, has_test

STATES = ("done", "with `", "behind `", "refused", "kept, with a warning", "accepted with a warning")


def table():
    part = text_of("tekton").split("\n## Features\n")[1]
    return [[cell.strip() for cell in line.strip("| ").split(" | ", 1)] for line in part.splitlines() if line.startswith("| ") and not line.startswith("| Feature ")]


def test_each_done_verb_of_tkn_is_tried():
    """docs/tekton.md, tkn: what is done is called in tests/real/test_tkn.py, and every other row says why not."""
    part = text_of("tekton").split("\n## tkn\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("| `")]
    source = (ROOT / "tests/real/test_tkn.py").read_text(encoding="utf-8")
    assert len(rows) > 10
    for verbs, state in rows:
        assert state == "done" or re.match(r"(not applicable|refused|not tried): .{20}", state), verbs
        for verb in re.findall(r"`([a-z -]+)`", verbs) if state == "done" else []:
            words = ",\\s*".join(f'"{word}"' for word in verb.split())
            assert re.search(rf"\b(tkn\(|program, ?)\s*{words}", source), verb


def test_each_row_has_a_state():
    assert len(table()) > 20
    for feature, state in table():
        assert state.startswith(STATES), (feature, state)


def test_each_row_is_tried():
    known = yaml.safe_load((ROOT / "tests/e2e/data/tekton_features.yaml").read_text(encoding="utf-8"))
    rows = {feature.replace("`", ""): key for feature, _ in table() for key in known if feature.replace("`", "").startswith(key)}
    assert [one.replace("`", "") for one, _ in table()] == list(rows) and set(rows.values()) == set(known)
    for feature, key in rows.items():
        assert known[key], feature
        for test in known[key]:
            assert "::" in test and has_test(test), test
