# SPDX-License-Identifier: Apache-2.0
"""docs/tekton.md, Features: each row says whether a feature is done, refused or behind a flag, and names tests that try it."""

import yaml
from guide import text_of
from support import ROOT, has_test

STATES = ("done", "with `", "behind `", "refused", "kept, with a warning", "accepted with a warning")


def table():
    part = text_of("tekton").split("\n## Features\n")[1]
    return [[cell.strip() for cell in line.strip("| ").split(" | ", 1)] for line in part.splitlines() if line.startswith("| ") and not line.startswith("| Feature ")]


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
