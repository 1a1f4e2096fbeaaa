# SPDX-License-Identifier: Apache-2.0
"""docs/upstream.md: every command of the five upstream READMEs, and what it is here. Rows marked "run" are run in their order, rows marked
"says" print their sentence, the others name a file that tries them."""

import os
import re
import shutil

import pytest
from guide import Guide, text_of
from support import ATHANOR, KUBECTL, ROOT, run

# A name of "Tried" that is no file of tests/e2e: what runs it.
ELSEWHERE = {"just": "test_each_recipe_is_a_target", "run": "", "says": ""}


def rows(title):
    """The rows of a table: the commands of upstream, what is here, and how it is tried."""
    part = text_of("upstream").split(f"\n## {title}")[1].split("\n## ")[0]
    cells = [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in part.splitlines() if line.startswith("| `")]
    return [([one.replace("\\|", "|") for one in re.findall(r"`([^`]+)`", upstream)], here, tried) for upstream, here, tried in cells]


TITLES = ["Fournos", "Hearth", "AppWrapper", "Slices", "Zones"]


@pytest.mark.parametrize("title", TITLES)
def test_each_row_is_tried(title):
    files = {path.name for path in (ROOT / "tests/e2e").rglob("*") if path.is_file()}
    for upstream, _, tried in rows(title):
        assert upstream, title
        assert tried in ELSEWHERE or tried in files or (ROOT / tried).is_file(), (upstream, tried)


@pytest.mark.parametrize("title", TITLES)
def test_each_target_is_there(title):
    """make targets and files of rows that are "the same"."""
    for upstream, here, _ in rows(title):
        if not here.startswith("the same"):
            continue
        for command in upstream:
            words = [word for word in command.split() if "=" not in word]
            if words[0] == "make":
                for target in words[1:]:
                    done = run(["make", "-n", target], cwd=ROOT)
                    assert done.code == 0, done.err
            elif words[0].startswith("./"):
                assert os.access(ROOT / words[0], os.X_OK), words[0]


def test_sentences_instead_of_commands():
    told = [(command, re.fullmatch(r"says `(.*)`", here)[1]) for title in TITLES for upstream, here, tried in rows(title) if tried == "says" for command in upstream]
    assert len(told) > 20
    for command, sentence in told:
        done = run(["make", "-s", command.split()[1]], cwd=ROOT)
        assert done.code == 0 and done.out == sentence + "\n", (command, done.out, done.err)


def test_each_recipe_is_a_target():
    """Through the real just, where it is installed: tests/e2e/requirements.txt has it."""
    text = (ROOT / "justfile").read_text(encoding="utf-8")
    recipes = {name: re.match(r"make -s (\S+)", line) for name, line in re.findall(r"^([a-z][a-z0-9-]*)[^:\n]*:\n    @(.+)$", text, re.MULTILINE)}
    named = {command.split()[-1] for upstream, _, _ in rows("Slices") for command in upstream if re.search(r"\bjust [a-z]", command) and "focus" not in command}
    assert named - set(recipes) == set(), named - set(recipes)
    for name, target in recipes.items():
        if target:
            done = run(["make", "-n", target[1]], cwd=ROOT)
            assert done.code == 0, (name, done.err)
    just = shutil.which("just") or shutil.which("just", path=os.path.dirname(os.sys.executable))
    assert just, "pip installs it: rust-just"
    listed = run([just, "--justfile", ROOT / "justfile"], cwd=ROOT)
    assert set(re.findall(r"^    ([a-z][a-z0-9-]*)", listed.out, re.MULTILINE)) == set(recipes), listed.out + listed.err
    info = run([just, "info"], cwd=ROOT, env={**os.environ, "ATHANOR": str(ATHANOR), "KUBECTL": KUBECTL})
    assert "EMULATED_MODE disabled" in info.out, info.out + info.err
    focus = run([just, "--dry-run", "test-e2e", "focus=GPU slices"], cwd=ROOT)
    assert 'make -s test-e2e FOCUS="GPU slices"' in focus.err, focus.err


def commands(title):
    return [command for _, here, tried in rows(title) if tried == "run" for command in [re.match(r"`([^`]+)`", here)[1].replace("\\|", "|")]]


@pytest.mark.parametrize("title", TITLES)
def test_commands_run(title, tmp_path, monkeypatch):
    monkeypatch.setenv("ATHANOR_LABS", str(tmp_path / "labs"))
    guide = Guide(tmp_path)
    for name in ("hack", "scripts"):
        (tmp_path / name).symlink_to(ROOT / name)
    start = [f"export KUBECTL={KUBECTL}"]
    start += ["export EMULATED_MODE=enabled"] if title == "Slices" else []
    start += ["athanor up --data lab &", "export KUBECONFIG=$PWD/lab/admin.kubeconfig"]
    replaced = {"NS": "upstream-dev", "FILE": "lab/admin.kubeconfig"}
    lines = []
    for command in commands(title):
        for old, new in replaced.items():
            command = re.sub(rf"\b{old}\b", new, command)
        if command.startswith("kubectl delete fournosjob"):
            lines.append("kubectl wait fournosjobs --all -n upstream-dev --for=jsonpath={.status.phase}=Succeeded --timeout=120s")
        lines.append(command)
    assert lines, title
    done = guide.run(start + lines)
    if title == "Fournos":
        assert done.out.count("condition met") == 2, done.out
    elif title == "Slices":
        assert "allocationclaim" in done.out.lower() or re.search(r"^\S+-0\b", done.out, re.M), done.out


def test_uninstall_leaves_no_kind(make_lab):
    lab = make_lab("--storage", "memory", "--pods", "timed").start()
    environment = {**lab.env, "KUBECTL": KUBECTL, "ATHANOR": str(ATHANOR)}
    assert lab.http("GET", "/apis/workload.codeflare.dev/v1beta2").code == 200
    done = run(["make", "-s", "uninstall", "SYSTEM=appwrapper"], cwd=ROOT, env=environment)
    assert done.code == 0, done.out + done.err
    assert lab.http("GET", "/apis/workload.codeflare.dev/v1beta2").code == 404
    assert lab.http("GET", "/apis/fournos.dev/v1").code == 200


def test_the_bundle_of_zones(tmp_path):
    environment = {**os.environ, "ATHANOR": str(ATHANOR), "BUNDLE_DIR": str(tmp_path / "bundle"), "PATH": "/usr/bin:/bin", "CONTAINER_ENGINE": "podman"}
    done = run([ROOT / "scripts/numa", "bundle"], env=environment)
    assert done.code == 0 and "images are built with buildah, not with podman" in done.err, done.err
    dockerfile = (tmp_path / "bundle/Dockerfile").read_text(encoding="utf-8")
    assert dockerfile.startswith("FROM scratch\n") and 'LABEL operators.operatorframework.io.bundle.package.v1="numaresources-operator"' in dockerfile, dockerfile
    for folder in re.findall(r"^COPY (\S+)", dockerfile, re.MULTILINE):
        assert list((tmp_path / "bundle" / folder).iterdir()), folder
    if not shutil.which("buildah", path="/usr/bin:/bin"):
        refused = run([ROOT / "scripts/numa", "bundle-build"], env=environment)
        assert refused.code == 1 and "buildah is not installed: apt-get install buildah" in refused.err, refused.err
