# SPDX-License-Identifier: Apache-2.0
"""docs/verbs.md is what the program's help says."""

import sys

from support import ATHANOR, ROOT, run


def test_the_page_is_of_this_program():
    made = run([sys.executable, ROOT / "scripts/verbs-page", ATHANOR])
    assert made.code == 0, made.err
    page = (ROOT / "docs/verbs.md").read_text(encoding="utf-8")
    assert made.out == page, "scripts/verbs-page >docs/verbs.md"
