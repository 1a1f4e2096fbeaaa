# SPDX-License-Identifier: Apache-2.0
"""The OLM bundle of the NUMA operator, judged by operator-framework's own validators (`operator-sdk bundle validate` runs these)."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
from support import ATHANOR, run  # noqa: E402
from test_go_clients import built  # noqa: E402


def test_the_validators_find_no_error(tmp_path):
    done = run([ATHANOR, "numa", "bundle", f"--output={tmp_path}/bundle"])
    assert done.code == 0, done.err
    validate = built(".", "olm", "olm-validate")
    checked = run([validate, tmp_path / "bundle"])
    assert checked.code == 0, checked.out + checked.err
    # A validator that finds nothing would find nothing here either.
    manifest = tmp_path / "bundle/manifests/numaresources-operator.clusterserviceversion.yaml"
    manifest.write_text(manifest.read_text().replace("installModes", "installMode"))
    broken = run([validate, tmp_path / "bundle"])
    assert broken.code == 1, broken.out + broken.err
