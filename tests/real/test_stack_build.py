# SPDX-License-Identifier: Apache-2.0
"""Builds the programs of the stack, before its tests run in a network namespace that has no way to their modules."""

import stack


def test_the_programs_are_built():
    assert all(path.is_file() for path in stack.build().values())
