# SPDX-License-Identifier: Apache-2.0
"""`athanor up` itself: what it prints, what it refuses, how it ends."""

import json
import os
import signal
import stat

import pytest
from support import ATHANOR, JOBS, alive, forge, pids_of, run, sleep_argument, wait_for


def test_it_says_where_it_is_and_what_to_type_next(lab):
    assert str(lab.kubeconfig) in lab.out and "kubectl" in lab.out
    host, port = lab.address
    assert host == "127.0.0.1" and port > 0
    assert stat.S_IMODE(os.stat(lab.kubeconfig).st_mode) == 0o600


def test_a_second_up_on_the_same_directory_says_who_holds_it(lab):
    done = run([ATHANOR, "up", "--data", lab.data, "--port", "0"])
    assert done.code == 1
    assert str(lab.process.pid) in done.err and str(lab.data) in done.err
    assert lab.http("GET", "/readyz").code == 200


@pytest.mark.parametrize(
    ("args", "code", "text"),
    [
        (["--port", "70000"], 2, "70000"),
        (["--storage", "tape"], 2, "tape"),
        (["--pods", "magic"], 2, "magic"),
        (["--lab", "/does/not/exist.yaml"], 1, "/does/not/exist.yaml"),
        (["--controllers", "nosuch"], 2, "\"nosuch\" is no controller; known are: "),
        (["--nope"], 2, "--nope"),
    ],
)
def test_bad_flags(tmp_path, args, code, text):
    done = run([ATHANOR, "up", "--data", tmp_path / "d", "--port", "0", *args])
    assert done.code == code and text in done.err, done.err


def test_a_lab_file_with_mistakes_names_every_line(tmp_path):
    file = tmp_path / "lab.yaml"
    file.write_text(
        "apiVersion: athanor.dev/v1\nkind: Lab\nnodes:\n- name: Bad_Name\n  count: 0\n  capacity: {cpu: lots}\nclusters:\n- name: c\n  colour: red\n",
        encoding="utf-8",
    )
    done = run([ATHANOR, "up", "--data", tmp_path / "d", "--port", "0", "--lab", file])
    assert done.code == 1
    for line, path in ((4, "nodes[0].name"), (5, "nodes[0].count"), (6, "nodes[0].capacity.cpu"), (9, "clusters[0]")):
        assert f"{file}:{line}: {path}" in done.err or f"lab.yaml:{line}: {path}" in done.err, done.err
    assert not (tmp_path / "d" / "admin.kubeconfig").exists()


def test_a_port_in_use_is_an_error_that_names_it(lab, tmp_path):
    _, port = lab.address
    done = run([ATHANOR, "up", "--data", tmp_path / "d", "--port", port])
    assert done.code == 1 and str(port) in done.err
    assert "Address already in use; --port 0 takes a free one; athanor labs lists running labs" in done.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_pods_and_exits_cleanly(make_lab, number):
    lab = make_lab(name="signal").start()
    long = sleep_argument()
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "sleeper"},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [{"name": "c", "image": "busybox", "command": ["sh", "-c", f"sleep {long} & echo $! ; wait"]}]},
    }
    wait_for("the default service account", lambda: lab.http("POST", "/api/v1/namespaces/default/pods", pod).code in (201, 409))
    pids = wait_for("the pod's child", lambda: pids_of(long))
    assert lab.stop(number) == 0
    # A kill takes effect when the kernel gets round to it.
    wait_for("no pod outlives the lab", lambda: not [p for p in pids if alive(p)])
    lines = [json.loads(line) for line in lab.err.splitlines()]
    said = [line["level"] for line in lines if line["msg"] == "ending the lab"]
    assert said == ["info"], "the log is JSON when nobody watches"


def test_everything_is_there_after_a_clean_restart(make_lab):
    lab = make_lab("--pods", "timed", name="restart").start()
    wait_for("the namespace", lambda: lab.http("GET", f"/api/v1/namespaces/{JOBS}").code == 200)
    name = lab.submit(forge())["metadata"]["name"]
    lab.wait_phase(name, "Succeeded")
    before = lab.job(name)
    assert lab.stop() == 0
    lab.start()
    assert lab.job(name) == before
    second = lab.submit(forge())["metadata"]["name"]
    lab.wait_phase(second, "Succeeded")


def test_memory_storage_leaves_nothing_behind(make_lab):
    lab = make_lab("--storage", "memory", "--controllers", "", name="memory").start()
    lab.kubectl("create", "namespace", "gone-soon")
    assert lab.stop() == 0
    lab.start()
    assert lab.http("GET", "/api/v1/namespaces/gone-soon").code == 404
