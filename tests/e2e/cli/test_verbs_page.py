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


def section_of(page, verb):
    return page.split(f"\n## {verb}\n", 1)[1].split("\n## ", 1)[0]


def test_the_section_of_help_repeats_no_table():
    """The table on top has the summary of every verb."""
    page = (ROOT / "docs/verbs.md").read_text(encoding="utf-8")
    help_section = section_of(page, "athanor help")
    assert "Subcommands:" not in help_section and "Exit codes:" in help_section


def test_the_dashboards_terminal_twin_has_its_flags():
    """docs/spec/dashboard.md B11."""
    text = (ROOT / "docs/spec/dashboard.md").read_text(encoding="utf-8")
    part = text.split("\n## B11. Terminal twin\n", 1)[1].split("\n#", 1)[0]
    (verb,) = re.findall(r"`(athanor [a-z]+)`", part)
    flags = set(re.findall(r"`(--?[a-z][a-z-]*)", part))
    page = (ROOT / "docs/verbs.md").read_text(encoding="utf-8")
    known = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", section_of(page, verb)))
    assert flags and flags <= known, sorted(flags - known)
