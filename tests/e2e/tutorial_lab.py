# SPDX-License-Identifier: Apache-2.0
"""The lab of the tutorial, which has all kinds: clusters, nodes with GPUs, and zones."""

from contextlib import contextmanager

from support import ROOT, Lab


@contextmanager
def tutorial_lab(folder, patch=None):
    """Starts it in the folder, with the operator and the scheduler of zones, and ends it; `patch`, a MonkeyPatch, switches emulated slices on."""
    if patch:
        patch.setenv("EMULATED_MODE", "enabled")
    lab = Lab(folder / "lab", ["--storage", "memory", "--lab", str(ROOT / "examples/tutorial/lab.yaml")])
    try:
        lab.start()
        for name in ("operator", "scheduler"):
            lab.kubectl("apply", "-f", ROOT / f"examples/numa/{name}.yaml")
        yield lab
    finally:
        lab.close()
