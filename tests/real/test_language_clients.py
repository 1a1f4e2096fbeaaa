# SPDX-License-Identifier: Apache-2.0
"""Clients written in JavaScript, Java (fabric8 and the official one) and Rust load a lab's kubeconfig and see the whole life of a ConfigMap."""

import os
import pathlib
import shutil
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
from support import Lab, run  # noqa: E402

CLIENTS = HERE / "clients"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "athanor/real/clients"
BUILD_TIME = 1800  # seconds, of a first build on shared cores


def fetched(language, *command):
    """The folder of a client in the cache, with what `command` fetches or builds there."""
    folder = CACHE / language
    shutil.copytree(CLIENTS / language, folder, dirs_exist_ok=True)
    done = run(command, cwd=folder, timeout=BUILD_TIME)
    assert done.code == 0, done.out[-4000:] + done.err[-4000:]
    return folder


def javascript():
    return ["node", fetched("javascript", "npm", "install", "--no-audit", "--no-fund", "--prefer-offline") / "client.mjs"]


def in_java(language):
    folder = fetched(language, "mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib")
    return ["java", "-cp", f"{folder}/lib/*", folder / "Client.java"]


def java():
    return in_java("java")


def java_official():
    return in_java("java-official")


def rust():
    return [fetched("rust", "cargo", "build", "--locked", "--quiet") / "target/debug/athanor-rust-client"]


TOOLS = {javascript: "npm", java: "mvn", java_official: "mvn", rust: "cargo"}


@pytest.fixture(scope="module")
def up(tmp_path_factory):
    """The default lab."""
    one = Lab(tmp_path_factory.mktemp("languages") / "lab")
    try:
        one.start()
        yield one
    finally:
        one.close()


@pytest.mark.parametrize("client", TOOLS, ids=lambda one: one.__name__)
def test_a_client_follows_a_config_map(up, client):
    if shutil.which(TOOLS[client]) is None:
        pytest.skip(f"{TOOLS[client]} is not installed")
    name = client.__name__.replace("_", "-")
    done = run([*client(), "default"], env=up.env, timeout=120)
    assert done.code == 0, done.out + done.err
    assert done.out.splitlines() == [
        'created {"a":"1"}', f"listed from-{name}", 'patched {"a":"1","b":"2"}', "stale 409", "absent 404",
        "watched ADDED,MODIFIED,DELETED",
    ]
