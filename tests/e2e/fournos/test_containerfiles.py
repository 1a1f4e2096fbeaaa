# SPDX-License-Identifier: Apache-2.0
"""The Containerfiles of this repository: what they copy is there and starts; that of the generic runner is built by buildah and run."""

import os
import re
import shutil
import subprocess

import pytest
from support import JOBS, ROOT, wait_for
from test_engine_images import APPLETS, BUSYBOX, KUBECTL, has_entrypoint, is_static

RUNNER = ROOT / "examples/fournos/generic-runner"
# Files, their build's folder, and what of their COPY the build makes itself.
FILES = {
    "Containerfile": (ROOT, {"build/image"}),
    "examples/fournos/generic-runner/Containerfile": (RUNNER, set()),
    "deploy/das/bundle/Dockerfile": (ROOT / "deploy/das/bundle", set()),
}


def instructions(path):
    text = re.sub(r"^#.*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE).replace("\\\n", " ")
    return [(line.split()[0], line.split()[1:]) for line in text.splitlines() if line.strip() and line.split()[0].isupper()]


def test_every_containerfile_is_known():
    found = subprocess.run(["git", "ls-files", "*Containerfile*", "*Dockerfile*"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert set(found) == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_what_is_copied_is_there(name):
    folder, made = FILES[name]
    lines = instructions(ROOT / name)
    assert lines[0][0] in ("ARG", "FROM")
    for word, arguments in lines:
        if word == "FROM":
            assert not arguments[0].endswith(":latest"), arguments
        if word in ("COPY", "ADD") and not any(one.startswith("--from") for one in arguments):
            for source in [one for one in arguments if not one.startswith("--")][:-1]:
                assert source.startswith(tuple(made) or ("\0",)) or source == "." or list(folder.glob(source.rstrip("/"))), (name, source)


def test_the_runners_file_starts_what_it_copies():
    lines = dict(instructions(RUNNER / "Containerfile"))
    source, target = [one for one in lines["COPY"] if not one.startswith("--")]
    assert "--chmod=0755" in lines["COPY"] and " ".join(lines["ENTRYPOINT"]) == f'["{target}"]'
    assert "USER" not in lines, "the workspace may belong to root"
    script = RUNNER / source
    assert os.access(script, os.X_OK) and script.read_text(encoding="utf-8").startswith("#!/bin/sh\n")
    subprocess.run(["sh", "-n", script], check=True)


@pytest.fixture(scope="module")
def built(lab, tmp_path_factory):
    """The runner's image, built by buildah upon busybox and kubectl in place of its base, which a registry has."""
    if not shutil.which("buildah") or os.getuid() != 0 or not is_static(BUSYBOX) or not is_static(KUBECTL):
        pytest.skip("needs buildah, root, and a busybox and kubectl that are linked statically")
    folder = tmp_path_factory.mktemp("runner")
    base = folder / "base"
    (base / "bin").mkdir(parents=True)
    (base / "tmp").mkdir()
    shutil.copy(BUSYBOX, base / "bin/busybox")
    shutil.copy(KUBECTL, base / "bin/kubectl")
    for applet in APPLETS:
        (base / "bin" / applet).symlink_to("busybox")
    (base / "Containerfile").write_text("FROM scratch\nCOPY bin /bin/\nCOPY --chmod=1777 tmp /tmp/\nENV PATH=/bin\n", encoding="utf-8")
    store = ["--root", str(folder / "store"), "--runroot", str(folder / "run"), "--storage-driver", "vfs"]

    def buildah(*words):
        done = subprocess.run(["buildah", *store, *words], capture_output=True, text=True, check=False, env={**os.environ, "BUILDAH_ISOLATION": "chroot"})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    image = "registry.example/team/fournos-generic-runner:built"
    buildah("bud", "--quiet", "-t", "localhost/runner-base", str(base))
    buildah("bud", "--quiet", "--pull-never", "--build-arg", "BASE=localhost/runner-base", "-t", image, str(RUNNER))
    assert '"/opt/fournos/entrypoint"' in buildah("inspect", "--type", "image", image)
    buildah("push", "--quiet", image, f"docker-archive:{folder / 'runner.tar'}:{image}")
    lab.athanor("images", str(folder / "runner.tar"), "--data", str(lab.data))
    shutil.rmtree(folder / "store", ignore_errors=True)
    wait_for("a running lab to look for new images", lambda: has_entrypoint(lab, image))
    text = (ROOT / "examples/fournos/engine/20-generic.yaml").read_text(encoding="utf-8").replace("fournos-generic-runner:dev", image)
    lab.kubectl("apply", "-f", "-", stdin=text)
    yield "fournos-generic"
    lab.kubectl("delete", "-f", "-", stdin=text)


def test_the_runners_file_is_built_and_runs_a_job(lab, built):
    engine = {"generic": {"image": "bash", "command": ["bash", "-c"], "args": ['echo "$A"'], "env": {"A": "from the built image"}}}
    lab.submit({"clusterless": True, "exclusive": False, "pipeline": built, "executionEngine": engine}, name="by-built-runner")
    ended = wait_for("its end", lambda: (phase := lab.phase("by-built-runner")) in ("Succeeded", "Failed") and phase)
    log = lab.kubectl("logs", "-n", JOBS, "by-built-runner-run-pod", "--all-containers", code=None)
    assert ended == "Succeeded" and "from the built image\n" in log.out, log.out + log.err
