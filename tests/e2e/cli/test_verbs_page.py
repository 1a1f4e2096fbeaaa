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
