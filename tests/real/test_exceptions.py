# SPDX-License-Identifier: Apache-2.0
"""The list of meant differences: every entry has patterns that compile and a reason that docs/testing.md tells."""

import pathlib

from differential.compare import Difference, Exceptions

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs/testing.md"


def test_every_exception_has_its_reason_in_the_documentation():
    text = DOCS.read_text(encoding="utf-8")
    for entry in Exceptions().entries:
        assert set(entry) <= {"what", "path", "real", "ours", "reason", "used", "_what", "_path", "_real", "_ours"}
        assert f"* {entry['reason']}\n" in text


def test_an_exception_covers_what_it_says_and_nothing_else():
    exceptions = Exceptions()
    assert exceptions.covers(Difference("list pods", ".body.columnDefinitions[3].description", "theirs", "ours"))
    assert not exceptions.covers(Difference("list pods", ".body.columnDefinitions[3].name", "theirs", "ours"))
    assert not exceptions.covers(Difference("create pods", "code", "201 ", "422 Pod is invalid"))
