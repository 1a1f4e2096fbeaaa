# SPDX-License-Identifier: Apache-2.0
"""`make package`: the .deb and the tar archive hold stripped programs with their symbols beside them, manual pages, completion, documents, examples
and the licence; what the .deb installs runs."""
import subprocess
import tarfile
from pathlib import Path

import pytest

PROGRAMS = ["athanor", "athanor-agent", "resource-topology-exporter"]
FILES = [
    "share/man/man1/athanor.1",
    "share/bash-completion/completions/athanor",
    "share/zsh/site-functions/_athanor",
    "share/fish/vendor_completions.d/athanor.fish",
    "share/doc/athanor/LICENSE",
    "share/doc/athanor/NOTICE",
    "share/doc/athanor/lab.md",
    "share/athanor/examples/fournos/sample-job.yaml",
]


@pytest.fixture(scope="module")
def packages(binary, tmp_path_factory):
    build = Path(binary).parent
    if not (build / "CPackConfig.cmake").exists():
        pytest.skip("no build folder beside the program")
    at = tmp_path_factory.mktemp("packages")
    done = subprocess.run(["cpack", "--config", build / "CPackConfig.cmake", "-B", at], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return at


def test_deb_installs_programs_that_run(packages, tmp_path):
    (deb,) = packages.glob("*.deb")
    fields = subprocess.run(["dpkg-deb", "-f", deb, "Package", "Depends", "Maintainer"], capture_output=True, text=True, check=True).stdout
    assert "Package: athanor" in fields and "libcurl4" in fields and "libpq5" in fields and "libsqlite3-0" in fields
    subprocess.run(["dpkg-deb", "-x", deb, tmp_path], check=True)
    root = tmp_path / "usr"
    for name in PROGRAMS:
        program = root / "bin" / name
        assert subprocess.run([program, "--help"], capture_output=True).returncode == 0, name
        sections = subprocess.run(["readelf", "-SW", program], capture_output=True, text=True, check=True).stdout
        assert ".debug_info" not in sections and ".gnu_debuglink" in sections, name
        assert (root / "lib/debug/athanor" / f"{name}.debug").stat().st_size > program.stat().st_size, name
    for file in FILES:
        assert (root / file).stat().st_size > 0, file


def test_archive_has_the_same_files(packages):
    (archive,) = packages.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        names = [name.split("/", 1)[1] for name in files.getnames() if "/" in name]
    for file in FILES + [f"bin/{name}" for name in PROGRAMS]:
        assert any(name.endswith(file) for name in names), file


def test_image_has_the_names_that_manifests_start(binary, tmp_path):
    """Upstream's NUMA operator and its exporter are started by these names."""
    needed = [Path("/usr/share/zoneinfo"), Path("/etc/ssl/certs/ca-certificates.crt"), Path("/usr/bin/dpkg")]
    if missing := [str(one) for one in needed if not one.exists()]:
        pytest.skip(f"no {', '.join(missing)}, which the build image has")
    root = Path(__file__).parents[3]
    done = subprocess.run([root / "scripts/image-files", binary, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    operator = tmp_path / "bin/numaresources-operator"
    assert operator.resolve() == (tmp_path / "usr/bin/athanor").resolve()
    assert subprocess.run([operator, "--help"], capture_output=True).returncode == 0
    assert subprocess.run([tmp_path / "bin/resource-topology-exporter", "--help"], capture_output=True).returncode == 0
