# SPDX-License-Identifier: Apache-2.0
"""The built pages of the console: they belong to their sources, are small, and load nothing from elsewhere."""

import gzip
import hashlib
import re
import shutil
import subprocess

import pytest
from support import ATHANOR, ROOT

WEB = ROOT / "web"


def listed():
    lines = (WEB / "dist.sha256").read_text().splitlines()
    return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}


def present():
    """Returns the files that the sums must name: sources and built files, without tests."""
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", "web"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    return {name for name in names if name and not re.match(r"web/(test|dist\.sha256)(/|$)", name) and (ROOT / name).is_file()}


def test_the_sums_name_every_source_and_built_file():
    assert set(listed()) == present(), "run scripts/web build"


def test_the_built_files_belong_to_the_sources():
    wrong = [name for name, digest in listed().items() if hashlib.sha256((ROOT / name).read_bytes()).hexdigest() != digest]
    assert not wrong, "run scripts/web build"


def test_the_first_load_is_small():
    total = sum(len(gzip.compress(path.read_bytes())) for path in (WEB / "dist").rglob("*") if path.is_file())
    assert total <= 300 * 1024


def test_the_page_has_no_inline_code_and_no_foreign_address():
    html = (WEB / "dist/index.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=", html)
    for path in (WEB / "dist").rglob("*.*"):
        text = path.read_text(errors="replace")
        foreign = set(re.findall(r"(?:src|href|url|import)\s*[=(]\s*[\"']?(?:https?:)?//[^\"')\s]+", text))
        assert not foreign, path
        assert path.suffix != ".css" or "@import" not in text


def test_no_source_writes_markup():
    """Names and logs of a cluster are hostile text: nothing of the pages may turn text into elements."""
    for path in (WEB / "src").rglob("*.ts*"):
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", path.read_text()), path


def test_another_build_gives_the_same_bytes(tmp_path):
    if not shutil.which("npx") or not (WEB / "node_modules/vite").is_dir():
        pytest.skip("Node or web/node_modules is not here (make web)")
    for settings in (["--emptyOutDir"], ["-c", "vite.report.config.ts"]):
        command = ["npx", "--no-install", "vite", "build", "--logLevel", "warn", *settings, "--outDir", tmp_path / "dist"]
        subprocess.run(command, cwd=WEB, check=True, timeout=120)
    built = {path.relative_to(tmp_path / "dist"): path.read_bytes() for path in (tmp_path / "dist").rglob("*") if path.is_file()}
    committed = {path.relative_to(WEB / "dist"): path.read_bytes() for path in (WEB / "dist").rglob("*") if path.is_file()}
    assert built == committed


def shown_commands():
    """Returns the commands that the pages show, with x for what they fill in."""
    found = set()
    for path in (WEB / "src").rglob("*.tsx"):
        for one in re.findall(r"(?:command|text)=(?:\"([^\"]+)\"|\{`([^`]+)`\})|<code>(athanor [^<]+)</code>", path.read_text()):
            command = re.sub(r"\$\{[^}]*\}", "x", next(filter(None, one)))
            if re.match(r"(athanor|kubectl) ", command):
                found.add(command)
    # What the overview suggests: texts in which a name follows, or stands for {}.
    suggested = re.findall(r'"(athanor [^"]+)"', (ROOT / "src/console/data/overview.cpp").read_text())
    assert suggested, "the overview suggests something"
    return sorted(found | {re.sub(r"\{\}", "x", command).strip() for command in suggested})


def test_shown_commands_exist():
    """Every verb and flag of athanor that a page shows is in its help, and every file is in the repository."""
    commands = shown_commands()
    assert len(commands) > 8
    for command in commands:
        words = command.split()
        for name in re.findall(r"\bexamples/\S+", command):
            assert (ROOT / name).exists(), command
        if words[0] == "athanor":
            done = subprocess.run([ATHANOR, words[1], "--help"], check=False, capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, command
            for flag in (word.split("=")[0] for word in words if word.startswith("-")):
                assert re.search(rf"(^|[ ,]){flag}\b", done.stdout, re.MULTILINE), f"{command}: {flag}"
