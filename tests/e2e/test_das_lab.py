# SPDX-License-Identifier: Apache-2.0
"""DAS in the lab: the seed document's commands, and what the acceptance list of docs/spec/das.md 17 says of one node."""

import json

import pytest
from support import DEADLINE, KUBECTL, ROOT, run, wait_for

EXAMPLES = ROOT / "examples/das"


@pytest.fixture
def das_lab(make_lab):
    return make_lab("--storage", "memory", "--lab", str(EXAMPLES / "lab.yaml")).start()


def claims(lab):
    answer = lab.http("GET", "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/allocationclaims")
    return json.loads(answer.text)["items"] if answer.code == 200 else None


def test_the_seed_documents_commands(make_lab, tmp_path, monkeypatch):
    monkeypatch.setenv("EMULATED_MODE", "enabled")
    lab = make_lab("--storage", "memory", "--lab", str(EXAMPLES / "lab.yaml")).start()
    (tmp_path / "test").symlink_to(EXAMPLES)
    done = run(
        [ROOT / "tests/e2e/das_seed.sh", lab.data],
        env={**lab.env, "KUBECTL": KUBECTL, "SEED_LIMIT": f"{DEADLINE:.0f}"},
        cwd=tmp_path,
        timeout=900,
    )
    assert done.code == 0, done.out[-3000:] + done.err[-5000:]


def test_a_killed_lab_keeps_slices(make_lab):
    """kill -9 while a pod holds its slice: the next start runs the pod again with the same claim."""
    lab = make_lab("--lab", str(EXAMPLES / "lab.yaml")).start()
    lab.kubectl("apply", "-f", EXAMPLES / "test-pod-emulated.yaml")
    wait_for("the slice is in use", lambda: [c["status"].get("state") for c in claims(lab) if "status" in c] == ["inUse"])
    before = claims(lab)[0]
    lab.process.kill()
    lab.process.wait(DEADLINE)
    lab.start()
    wait_for("the pod runs again", lambda: lab.kubectl("get", "pod", "test-pod-emulated", "-o", "jsonpath={.status.phase}").out == "Running")
    after = claims(lab)
    assert [c["metadata"]["uid"] for c in after] == [before["metadata"]["uid"]]
    lab.kubectl("delete", "pod", "test-pod-emulated", "--wait=false")
    wait_for("the claim is gone", lambda: claims(lab) == [])


def test_a_wrong_mode_ends_the_start(tmp_path):
    from support import ATHANOR

    done = run([ATHANOR, "up", "--data", tmp_path / "d", "--port", "0"], env={"EMULATED_MODE": "on", "PATH": "/usr/bin:/bin"})
    assert done.code == 1
    assert 'invalid EMULATED_MODE "on": must be "enabled" or "disabled"' in done.err, done.err
