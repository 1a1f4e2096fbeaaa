# SPDX-License-Identifier: Apache-2.0
"""Completion as each shell does it: the line is handed to the shell's own machinery, and what it offers is compared."""

import os
import shutil
from pathlib import Path

import pytest
from support import ATHANOR, run

PROGRAM = Path(ATHANOR).parent
# The line, and what is offered of it; "..." stands for more.
STATIC = {
    "athanor sub": {"submit"},
    "athanor appwrappers s": {"suspend"},
    "athanor clusters ch": {"check"},
    "athanor numa ex": {"explain", "exporter"},
    "athanor numa val": {"validate"},
    "athanor numa --cp": {"--cpu"},
    "athanor jobs --fie": {"--field-selector"},
    "athanor up --storage ": {"disk", "memory"},
    "athanor up --storage=d": {"--storage=disk"},
    "athanor jobs -o j": {"json"},
    "athanor completion ": {"bash", "zsh", "fish"},
    "athanor man que": {"queue", "queues"},
    "athanor clusters remove --policy ": {"Drain", "Force", "Retain"},
    "athanor describe sli": {"slices/"},
    "athanor submit --owner x --ex": {"--exclusive"},
}


def in_bash(line, env):
    words = line.split(" ")
    # bash splits at = as readline does.
    split = [part for word in words for part in (word.replace("=", " = ").split(" ") if "=" in word else [word])]
    script = (
        f'source <({ATHANOR} completion bash); COMP_LINE={line!r}; COMP_POINT={len(line)}; COMP_WORDS=({" ".join(repr(word) for word in split)}); '
        f'COMP_CWORD={len(split) - 1}; _athanor; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    head = line.rsplit(" ", 1)[-1].rsplit("=", 1)[0] + "=" if "=" in line.rsplit(" ", 1)[-1] else ""
    return {head + word for word in run([shutil.which("bash"), "-c", script], env=env).out.splitlines() if word}


def in_zsh(line, env):
    words = line.split(" ")
    script = (
        "compdef() { :; }; "
        f"source <({ATHANOR} completion zsh); "
        'compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -l -- "$@"; }; _files() { print -l -- *(N); }; '
        f"words=({' '.join(repr(word) for word in words)}); CURRENT={len(words)}; _athanor"
    )
    return {word for word in run([shutil.which("zsh"), "-f", "-c", script], env=env).out.splitlines() if word}


def in_fish(line, env):
    script = f"{ATHANOR} completion fish | source; complete -C {line!r}"
    return {word.split("\t")[0] for word in run([shutil.which("fish"), "--no-config", "-c", script], env=env).out.splitlines() if word}


SHELLS = {"bash": in_bash, "zsh": in_zsh, "fish": in_fish}


@pytest.fixture
def env(tmp_path):
    return {"KUBECONFIG": "/nowhere", "HOME": str(tmp_path), "PATH": f"{PROGRAM}:{os.environ['PATH']}"}


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_offer_verbs_flags_and_values(shell, env):
    for line, offered in STATIC.items():
        assert SHELLS[shell](line, env) == offered, line


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_offer_files_only_where_files_are_meant(shell, env, tmp_path, monkeypatch):
    (tmp_path / "only-file.yaml").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for line in ("athanor submit -f only", "athanor up --lab only", "athanor backup only"):
        assert SHELLS[shell](line, env) == {"only-file.yaml"}, line
    for line in ("athanor submit --owner only", "athanor jobs --phase only", "athanor version only"):
        assert SHELLS[shell](line, env) == set(), line


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_offer_objects_of_the_cluster(shell, env, lab):
    env = {**env, "KUBECONFIG": str(lab.kubeconfig)}
    lab.kubectl("create", "namespace", f"offered-{shell}")
    assert SHELLS[shell](f"athanor jobs -n offered-{shell}", env) == {f"offered-{shell}"}
    assert "cluster-1" in SHELLS[shell]("athanor lock clus", env)
    assert "cluster-1" in SHELLS[shell]("athanor submit --cluster ", env)
    assert any(word.endswith(":") for word in SHELLS[shell]("athanor submit --gpu ", env))
    assert "clusters/cluster-1" in SHELLS[shell]("athanor describe clusters/cl", env)
    assert "fournos-queue" in SHELLS[shell]("athanor queues four", env)
    assert SHELLS[shell]("athanor jobs --context ", env) != set()
