# SPDX-License-Identifier: Apache-2.0
"""examples/das/samples: each runs unmodified on emulated GPUs (docs/spec/das.md 14)."""

import json

import pytest
import yaml
from support import ROOT, wait_for

SAMPLES = ROOT / "examples/das/samples"
NAMES = ["emulator-pod", "minimal-pod", "resource-quota", "test-pod", "test-statefulset", "tf-notebook", "vllm_deployment", "vllm_gpt_oss_20b", "vllm_job", "vllm_pod", "vllm_statefulset"]  # fmt: skip


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    from support import Lab

    one = Lab(tmp_path_factory.mktemp("das") / "lab", ["--storage", "memory", "--lab", str(ROOT / "examples/das/lab.yaml")])
    try:
        yield one.start()
    finally:
        one.close()


def claims(lab):
    return lab.get("/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/allocationclaims")["items"]


def test_these_are_all():
    assert sorted(p.stem for p in SAMPLES.glob("*.yaml")) == NAMES


@pytest.mark.parametrize("name", [n for n in NAMES if n != "resource-quota"])
def test_runs_with_its_slices(lab, name):
    path = SAMPLES / f"{name}.yaml"
    limits = [
        limit
        for one in yaml.safe_load_all(path.read_text(encoding="utf-8"))
        for spec in [one["spec"].get("template", {}).get("spec") or one["spec"]]
        for container in spec.get("containers", [])
        for limit in container["resources"]["limits"].items()
    ]
    assert limits and all(key.startswith("nvidia.com/mig-") and count == "1" for key, count in limits)
    lab.kubectl("apply", "-f", path)
    if name == "vllm_job":
        wait_for("it has ended", lambda: lab.kubectl("get", "job", "vllm-job", "-o", "jsonpath={.status.succeeded}").out == "1")
        assert "NVIDIA_VISIBLE_DEVICES=test" in lab.kubectl("logs", "job/vllm-job").out
    else:
        wait_for("it runs with a slice", lambda: [c.get("status", {}).get("state") for c in claims(lab)] == ["inUse"] * (2 if name in ("test-statefulset", "vllm_deployment") else 1))
        pods = json.loads(lab.kubectl("get", "pods", "-o", "json").out)["items"]
        wait_for("its pods run", lambda: {p["status"]["phase"] for p in json.loads(lab.kubectl("get", "pods", "-o", "json").out)["items"]} == {"Running"})
        assert {p["metadata"]["uid"] for p in pods} == {c["spec"]["podRef"]["uid"] for c in claims(lab)}
    lab.kubectl("delete", "-f", path, "--wait=false")
    wait_for("everything is given back", lambda: claims(lab) == [] and not json.loads(lab.kubectl("get", "pods", "-o", "json").out)["items"])


def test_the_quota_counts_slices(lab):
    lab.kubectl("apply", "-f", SAMPLES / "resource-quota.yaml")
    template = yaml.safe_load((SAMPLES / "minimal-pod.yaml").read_text(encoding="utf-8"))
    for number in range(4):
        lab.kubectl("apply", "-f", "-", stdin=json.dumps({**template, "metadata": {"name": f"p{number}"}}))
    refused = lab.kubectl("apply", "-f", "-", stdin=json.dumps({**template, "metadata": {"name": "p4"}}), code=1)
    assert "exceeded quota: slices" in refused.err
    lab.kubectl("delete", "pods", "--all", "--wait=false")
    lab.kubectl("delete", "-f", SAMPLES / "resource-quota.yaml")
