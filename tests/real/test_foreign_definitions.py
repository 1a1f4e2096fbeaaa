# SPDX-License-Identifier: Apache-2.0
"""Definitions of other projects, as the Go modules of tests/real ship them: the embedded server accepts each."""

import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
from support import Lab, run  # noqa: E402

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
    where = run(["go", "list", "-m", "-f", "{{.Dir}}", module], cwd=HERE / "kueue", timeout=300)
    folder = pathlib.Path(where.out.strip()) / FOLDERS[module]
    if where.code != 0 or not where.out.strip() or not folder.is_dir():
        pytest.skip(f"{module} is not among the modules here: {where.err.strip()[:200]}")
    files = [file for file in sorted(folder.glob("*.yaml")) if "kind: CustomResourceDefinition" in file.read_text(encoding="utf-8")]
    assert files
    for file in files:
        bare.kubectl("create", "--dry-run=server", "-f", file, timeout=120)  # some are too large for an annotation
