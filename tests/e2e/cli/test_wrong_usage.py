# SPDX-License-Identifier: Apache-2.0
"""Wrong values of flags end with exit code 2, before or after a cluster is asked; a name that does not exist ends with 1."""

import os

import pytest
import yaml

from support import ATHANOR, run

ROWS = [
    (["up", "--controllers", "nosuch"], '"nosuch" is no controller'),
    (["up", "--set", "NOSUCH=1"], "there is no such setting"),
    (["up", "--set", "X"], "is not NAME=VALUE"),
    (["up", "--set", "TEKTON_RUN_PROFILE=v2"], "TEKTON_RUN_PROFILE=v2: must be v1.9 or current"),
    (["up", "--user", "a:king"], "--user a:king"),
    (["rbac", "--controllers", "dass"], '"dass" is neither a system nor a controller'),
    (["rbac", "--people", "--controllers", "dass"], '"dass" is neither'),
    (["rbac", "--controllers", "das,-das"], "no controller is left to run"),
    (["webhooks", "--controllers", "dass"], '"dass" is neither'),
    (["crds", "--conversion-service", "x"], "is not NAMESPACE/NAME"),
    (["controllers", "--controllers", "dass"], '"dass" is neither'),
    (["controllers", "--systems", "nosuch"], 'there is no system "nosuch"'),
    (["controllers", "--systems", "das", "--controllers", "das"], "name the same"),
    (["controllers", "-n", "jobs", "--set", "NOSUCH=1"], "there is no such setting"),
    (["controllers", "-n", "jobs", "--set", "FOURNOS_RECONCILE_MODE=often"], "FOURNOS_RECONCILE_MODE"),
    (["controllers", "-n", "jobs", "--liveness", "here"], "is not http://HOST:PORT/PATH"),
    (["controllers", "-n", "jobs", "--platform-look", "0s"], "--platform-look: at least 1s"),
    (["controllers", "-n", "jobs", "--platform-look", "soon"], "--platform-look"),
    (["controllers", "-n", "jobs", "--watch-selector", "pods"], "is not RESOURCE=VALUE"),
    (["controllers", "-n", "jobs", "--drop", "pods"], "is not RESOURCE=VALUE"),
    (["controllers", "-n", "jobs", "--leader-elect", "--lease-duration", "soon"], "--lease-duration"),
    (["controllers", "-n", "jobs", "--leader-elect", "--lease-duration", "1s"], "greater than renewDeadline"),
    (["controllers", "-n", "jobs", "--tls-min-version", "VersionTLS13"], "--webhook-address or --metrics-secure"),
    (["controllers", "--controllers", "das", "--webhook-address", "127.0.0.1:0", "--webhook-certificate-life", "1s"], "at least 8s"),
    (["extender", "--systems", "fournos"], "schedules nothing"),
    (["extender", "--print-scheduler-config", "--url", "x"], "is not http(s)://HOST:PORT"),
    (["extender", "--platform-look", "0s"], "--platform-look: at least 1s"),
    (["extender", "--leader-elect", "--lease-duration", "soon"], "--lease-duration"),
    (["jobs", "--phase", "nosuch"], "--phase nosuch"),
    (["queue", "--phase", "nosuch"], "running, has-quota, waiting, inactive"),
]  # fmt: skip


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A kubeconfig whose server answers nothing: only the words are judged."""
    folder = tmp_path_factory.mktemp("usage")
    config = folder / "config"
    config.write_text(yaml.safe_dump({
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "n"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }), encoding="utf-8")  # fmt: skip
    return {**os.environ, "KUBECONFIG": str(config), "XDG_DATA_HOME": str(folder), "HOME": str(folder)}


@pytest.mark.parametrize(("words", "said"), ROWS, ids=[" ".join(words) for words, _ in ROWS])
def test_a_wrong_value_is_wrong_usage(environment, words, said):
    quiet = ["--metrics-address=127.0.0.1:0"] if words[0] in ("controllers", "extender") else []
    done = run([ATHANOR, *words, *quiet], env=environment)
    assert done.code == 2 and said in done.err, done


def test_a_node_that_does_not_exist_is_no_wrong_usage(lab):
    for words in (["slices", "NOSUCHNODE"], ["queues", "none"], ["numa", "NOSUCHNODE"]):
        done = lab.athanor(*words, code=None)
        assert done.code == 1, (words, done)
