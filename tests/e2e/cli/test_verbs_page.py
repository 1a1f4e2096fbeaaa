# SPDX-License-Identifier: Apache-2.0
"""docs/verbs.md is what the program's help says."""

import re
import sys

from support import ATHANOR, ROOT, run


def test_the_page_is_of_this_program():
    made = run([sys.executable, ROOT / "scripts/verbs-page", ATHANOR])
    assert made.code == 0, made.err
    page = (ROOT / "docs/verbs.md").read_text(encoding="utf-8")
    assert made.out == page, "scripts/verbs-page >docs/verbs.md"


def test_each_verb_is_printed_once():
    page = (ROOT / "docs/verbs.md").read_text(encoding="utf-8")
    usages = re.findall(r"^Usage: (athanor.*)$", page, re.MULTILINE)
    assert len(usages) > 40 and len(usages) == len(set(usages)), sorted(one for one in usages if usages.count(one) > 1)


def test_each_summary_is_printed_once_beside_the_table():
    """The verbs' table has each summary, the verb's own section once more; `athanor help` does not repeat them."""
    page = (ROOT / "docs/verbs.md").read_text(encoding="utf-8")
    help_page = page.split("\n## athanor help\n", 1)[1]
    assert "Subcommands:" not in help_page and "Exit codes:" in help_page


def test_each_flag_of_the_dashboards_specification_exists():
    """docs/spec/dashboard.md, part B: what it says of Athanor's own flags."""
    text = (ROOT / "docs/spec/dashboard.md").read_text(encoding="utf-8")
    part = text[text.index("\n# PART B") :]
    page = (ROOT / "docs/verbs.md").read_text(encoding="utf-8")
    known = set(re.findall(r"--[a-z][a-z-]+", page))
    flags = set(re.findall(r"--[a-z][a-z-]+", " ".join(re.findall(r"`[^`\n]+`", part))))
    assert flags <= known, sorted(flags - known)
