# SPDX-License-Identifier: Apache-2.0
"""A data folder remembers the lab file with which it was made (docs/lab.md, --lab and --merge-lab)."""

import json
import stat

from support import ATHANOR, run, wait_for


def lab_file(path, node):
    path.write_text(f"apiVersion: athanor.dev/v1\nkind: Lab\nnodes:\n- {{name: {node}, capacity: {{cpu: 4, memory: 8Gi}}}}\n", encoding="utf-8")
    return path


def expect_nodes(lab, *names):
    wait_for(f"nodes {names}", lambda: {node["metadata"]["name"] for node in lab.get("/api/v1/nodes")["items"]} == set(names))


def restarted(lab, *args):
    lab.stop()
    lab.args = ["--pods", "timed", *map(str, args)]
    return lab.start()


def test_start_without_lab_takes_the_remembered_file(make_lab, tmp_path):
    first = lab_file(tmp_path / "first.yaml", "anvil")
    lab = make_lab("--lab", str(first), "--pods", "timed").start()
    expect_nodes(lab, "anvil")
    assert stat.S_IMODE((lab.data / "lab.json").stat().st_mode) == 0o600
    restarted(lab)
    expect_nodes(lab, "anvil")
    assert not lab.get("/apis/kueue.x-k8s.io/v1beta1/clusterqueues")["items"]
    # The file may be gone: its copy serves.
    first.unlink()
    restarted(lab)
    expect_nodes(lab, "anvil")


def test_another_lab_file_is_refused_or_merged(make_lab, tmp_path):
    lab = make_lab("--lab", str(lab_file(tmp_path / "first.yaml", "anvil")), "--pods", "timed").start()
    lab.stop()
    second = lab_file(tmp_path / "second.yaml", "bellows")
    done = run([ATHANOR, "up", "--data", lab.data, "--port", "0", "--lab", second])
    assert done.code == 1 and "first.yaml" in done.err and "--merge-lab" in done.err, done.err
    restarted(lab, "--lab", second, "--merge-lab")
    expect_nodes(lab, "anvil", "bellows")
    assert json.loads((lab.data / "lab.json").read_text(encoding="utf-8"))["path"] == str(second)


def test_damaged_record_is_named(tmp_path):
    data = tmp_path / "lab"
    data.mkdir()
    (data / "lab.json").write_text("{", encoding="utf-8")
    done = run([ATHANOR, "up", "--data", data, "--port", "0"])
    assert done.code == 1 and "lab.json" in done.err and "--lab" in done.err
