# SPDX-License-Identifier: Apache-2.0
"""Upstream's end-to-end suite of AppWrapper, unchanged, from the module that tests/real/stack pins, on the default lab."""

import os
import re

from support import Lab, run
from test_go_clients import CACHE, HERE, go

PACKAGE = "github.com/project-codeflare/appwrapper/test/e2e"
SPECS, LONG = 30, 1800.0


def test_upstreams_suite_passes(tmp_path):
    CACHE.mkdir(parents=True, exist_ok=True)
    program = CACHE / "appwrapper-e2e"
    built = go("test", "-c", "-o", program, PACKAGE, cwd=HERE / "stack")
    assert built.code == 0, built.err
    lab = Lab(tmp_path / "lab")
    try:
        lab.start()
        # The one spec of metrics asks a Service of upstream's own Deployment, from a pod with curl.
        done = run([program, "-test.v", "-ginkgo.no-color", "--ginkgo.label-filter=!Metrics"], env={**os.environ, "KUBECONFIG": str(lab.kubeconfig)}, timeout=LONG)
    finally:
        lab.close()
    counts = re.search(r"(\d+) Passed \| (\d+) Failed", done.out)
    assert counts and done.code == 0, done.out[-6000:]
    print(counts.group(0))
    assert int(counts.group(1)) >= SPECS and counts.group(2) == "0", done.out[-6000:]
