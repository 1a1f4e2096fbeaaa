# SPDX-License-Identifier: Apache-2.0
"""Definitions of other projects, as the Go modules of tests/real ship them: the embedded server accepts each."""

import json
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
from support import Lab  # noqa: E402
from test_go_clients import go  # noqa: E402

# Folders of the modules that tests/real/kueue pins.
FOLDERS = {
    "sigs.k8s.io/jobset": "config/components/crd/bases",
    "sigs.k8s.io/lws": "config/crd/bases",
    "sigs.k8s.io/kueue": "config/components/crd/bases",
    "github.com/kubeflow/trainer/v2": "manifests/base/crds",
    "github.com/kubeflow/training-operator": "manifests/base/crds",
    "github.com/ray-project/kuberay/ray-operator": "config/crd/bases",
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A lab without systems: none of the definitions is there."""
    one = Lab(tmp_path_factory.mktemp("definitions") / "lab", ["--lab", str(HERE / "empty-lab.yaml"), "--controllers", ""])
    try:
        one.start()
        yield one
    finally:
        one.close()


@pytest.mark.parametrize("module", FOLDERS)
def test_definitions_are_accepted(bare, module):
    done = go("mod", "download", "-json", module, cwd=HERE / "kueue")  # `go list -m` names no folder for one that was never needed
    assert done.code == 0, done.out + done.err
    folder = pathlib.Path(json.loads(done.out)["Dir"]) / FOLDERS[module]
    files = [file for file in sorted(folder.glob("*.yaml")) if "kind: CustomResourceDefinition" in file.read_text(encoding="utf-8")]
    assert files
    for file in files:
        bare.kubectl("create", "--dry-run=server", "-f", file, timeout=120)  # some are too large for an annotation
