# SPDX-License-Identifier: Apache-2.0
"""Resolver bundles: tasks and pipelines of OCI layouts, and layouts that mean harm."""

import gzip
import hashlib
import io
import json
import tarfile

import pytest
from pipeline_runs import over
from support import Lab, wait_for

TASK = """apiVersion: tekton.dev/v1
kind: Task
metadata: {name: NAME}
spec:
  params: [{name: word}]
  steps: [{name: s, image: bash, script: "echo bundled $(params.word)"}]
"""
PIPELINE = """apiVersion: tekton.dev/v1beta1
kind: Pipeline
metadata: {name: flow}
spec: {tasks: [{name: only, taskSpec: {steps: [{name: s, image: bash, script: "echo flows"}]}}]}
"""


def packed(*texts):
    """A layer: a tar archive with one file of each text."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for number, text in enumerate(texts):
            entry = tarfile.TarInfo(f"file{number}")
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(buffer.getvalue(), mtime=0)


def notes(name, kind="task"):
    return {"dev.tekton.image.name": name, "dev.tekton.image.kind": kind, "dev.tekton.image.apiVersion": "v1"}


def write_layout(folder, layers, tag="v1"):
    """An OCI layout of (bytes, annotations); its manifest's digest."""

    def blob(data):
        digest = hashlib.sha256(data).hexdigest()
        (folder / "blobs/sha256" / digest).write_bytes(data)
        return {"digest": f"sha256:{digest}", "size": len(data)}

    (folder / "blobs/sha256").mkdir(parents=True)
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}', encoding="utf-8")
    described = [{**blob(data), "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "annotations": note} for data, note in layers]
    manifest = blob(json.dumps({"schemaVersion": 2, "config": blob(b"{}"), "layers": described}).encode())
    manifest["annotations"] = {"org.opencontainers.image.ref.name": tag}
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [manifest]}), encoding="utf-8")
    return manifest["digest"]


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    root = tmp_path_factory.mktemp("bundles")
    good = [(packed(TASK.replace("NAME", "echo")), notes("echo")), (packed(PIPELINE), notes("flow", "pipeline"))]
    digests = {"good": write_layout(root / "registry.example:5000/good", good)}
    with tarfile.open(root / "archive.tar", "w") as tar:
        tar.add(root / "registry.example:5000/good", ".")
    write_layout(root / "bare", [(packed(TASK), {})])
    write_layout(root / "many", [(packed(TASK), notes(f"t{number}")) for number in range(21)])
    write_layout(root / "huge", [(packed("x" * (2 << 20)), notes("echo"))])
    write_layout(root / "pair", [(packed(TASK, TASK), notes("echo"))])
    write_layout(root / "pod", [(packed("kind: Pod"), notes("echo"))])
    write_layout(root / "text", [(b"no archive", notes("echo"))])
    for name in ("changed", "linked"):
        write_layout(root / name, good)
        layer = root / name / "blobs/sha256" / hashlib.sha256(good[0][0]).hexdigest()
        layer.unlink()
        if name == "changed":
            layer.write_bytes(packed(TASK))
        else:
            layer.symlink_to(root / "registry.example:5000/good/blobs/sha256" / layer.name)
    (root / "away").symlink_to(root / "registry.example:5000/good")
    (root / "index").mkdir()
    (root / "index/index.json").write_text('{"manifests": [{"digest": "sha256:../../../../etc/passwd"}]}', encoding="utf-8")
    with tarfile.open(root / "escape.tar", "w") as tar:
        entry = tarfile.TarInfo("../../escaped")
        tar.addfile(entry)
    with open(root / "sparse.tar", "wb") as file:
        file.truncate(1 << 30)
    return root, digests


@pytest.fixture(scope="module")
def catalog(bundles, tmp_path_factory):
    lab = Lab(tmp_path_factory.mktemp("bundles-lab") / "lab", ["--set", f"TEKTON_BUNDLES={bundles[0]}"])
    try:
        yield lab.start()
    finally:
        lab.close()


def ref_of(bundle, name="echo", kind=None, **more):
    params = {"bundle": bundle, "name": name, **({"kind": kind} if kind else {}), **more}
    return {"resolver": "bundles", "params": [{"name": key, "value": value} for key, value in params.items() if value]}


def run(lab, name, ref, plural="taskruns"):
    kind, member = ("TaskRun", "taskRef") if plural == "taskruns" else ("PipelineRun", "pipelineRef")
    spec = {member: ref, **({"params": [{"name": "word", "value": "away"}]} if kind == "TaskRun" else {})}
    body = {"apiVersion": "tekton.dev/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    answer = lab.http("POST", f"/apis/tekton.dev/v1/namespaces/default/{plural}", body)
    assert answer.code == 201, answer.text
    one = over(lab, plural, name)
    return one["status"]["conditions"][0], one


def test_tasks_of_tags_digests_and_archives_run(catalog, bundles):
    good = bundles[1]["good"]
    for name, bundle in (("tag", "registry.example:5000/good:v1"), ("digest", f"registry.example:5000/good@{good}"), ("archive", "archive:v1")):
        condition, one = run(catalog, name, ref_of(bundle, kind="task"))
        assert condition["status"] == "True", condition
        assert catalog.kubectl("logs", f"{name}-pod").out == "bundled away\n"
        source = one["status"]["provenance"]["refSource"]
        assert source == {"uri": bundle.split("@")[0].removesuffix(":v1"), "digest": {"sha256": good.removeprefix("sha256:")}, "entryPoint": "echo"}


def test_pipelines_of_bundles_run(catalog):
    condition, one = run(catalog, "flow", ref_of("archive:v1", "flow", "pipeline"), "pipelineruns")
    assert condition["status"] == "True", condition
    assert one["status"]["provenance"]["refSource"]["entryPoint"] == "flow"


def test_credentials_of_bundles_are_warned_of(catalog):
    ref = ref_of("archive:v1", serviceAccount="default", secret="key", cache="auto")
    body = {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": "warned"}, "spec": {"taskRef": ref}}
    warned = catalog.kubectl("create", "-f", "-", stdin=json.dumps(body)).err
    for param in ("serviceAccount", "secret", "cache"):
        assert f"({param}) has no effect" in warned, warned


@pytest.mark.parametrize(
    "name, ref, text",
    [
        ("gone", ref_of("none:v1"), "neither none nor none.tar is in"),
        ("untagged", ref_of("registry.example:5000/good"), "its index has no tag latest"),
        ("undigested", ref_of(f"registry.example:5000/good@sha256:{'0' * 64}"), "its index has no digest"),
        ("other", ref_of("archive:v1", "other"), "could not find object in image with kind: task and name: other"),
        ("nameless", ref_of("archive:v1", name=""), 'parameter "name" required'),
        ("bundleless", ref_of(""), 'parameter "bundle" required'),
        ("unknown", ref_of("archive:v1", depth="3"), "param depth is not supported"),
        ("outside", ref_of("../../etc:v1"), "is no name of a bundle"),
        ("absolute", ref_of("/etc/passwd"), "is no name of a bundle"),
        ("bare", ref_of("bare:v1"), "the layer 0 does not contain a dev.tekton.image.apiVersion annotation"),
        ("many", ref_of("many:v1"), "contained more than the maximum 20 allow objects"),
        ("huge", ref_of("huge:v1"), "holds more than 1024 KiB"),
        ("pair", ref_of("pair:v1"), "holds more than one file"),
        ("pod", ref_of("pod:v1"), "is no Task of tekton.dev"),
        ("text", ref_of("text:v1"), "the archive is damaged"),
        ("changed", ref_of("changed:v1"), "has another digest than its name"),
        ("linked", ref_of("linked:v1"), "is a link, which is not followed"),
        ("away", ref_of("away:v1"), "is a link, which is not followed"),
        ("index", ref_of("index:v1"), "is no digest"),
        ("escape", ref_of("escape:v1"), "../../escaped"),
        ("sparse", ref_of("sparse:v1"), "is larger than 32768 KiB"),
    ],
)
def test_hostile_bundles_fail_the_run(catalog, name, ref, text):
    condition, _ = run(catalog, name, ref)
    assert condition["reason"] == "TaskRunResolutionFailed" and text in condition["message"], condition


def test_bundles_need_a_folder(lab, ns):
    body = {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": "none"}, "spec": {"taskRef": ref_of("a:v1")}}
    lab.http("POST", f"/apis/tekton.dev/v1/namespaces/{ns}/taskruns", body)
    wait_for("the run says so", lambda: "TEKTON_BUNDLES" in lab.http("GET", f"/apis/tekton.dev/v1/namespaces/{ns}/taskruns/none").text)
