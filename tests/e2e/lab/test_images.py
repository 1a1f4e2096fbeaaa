# SPDX-License-Identifier: Apache-2.0
"""Images that a lab was given run with their own files."""

import gzip
import io
import json
import os
import shutil
import subprocess
import tarfile
from datetime import datetime

import pytest
from support import TIMEOUT, wait_for

BUSYBOX = shutil.which("busybox")


def add_file(archive, name, data, mode=0o644):
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.uid, info.gid = len(data), mode, os.getuid(), os.getgid()
    archive.addfile(info, io.BytesIO(data))


def add_link(archive, name, target):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, target
    archive.addfile(info)


def packed(data, how):
    """The bytes of a layer as a registry keeps them."""
    if how == "zstd":
        return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout
    return gzip.compress(data) if how == "gzip" else data


def saved_image(path, name, how):
    """An image of busybox alone, as `podman save` writes it."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        add_file(archive, "bin/busybox", open(BUSYBOX, "rb").read(), 0o755)
        for applet in ("sh", "cat", "ls", "sleep", "id"):
            add_link(archive, f"bin/{applet}", "busybox")
        add_file(archive, "etc/passwd", b"root:x:0:0:root:/:/bin/sh\nworker:x:77:78::/:/bin/sh\n")
        add_file(archive, "greeting", b"from the image\n")
    config = {"config": {"Entrypoint": ["/bin/sh", "-c"], "Cmd": ['echo $WORD $PWD; cat /greeting; ls /'], "Env": ["WORD=hello"], "WorkingDir": "/work"}}
    with tarfile.open(path, "w") as archive:
        add_file(archive, "layer.tar", packed(layer.getvalue(), how))
        add_file(archive, "config.json", json.dumps(config).encode())
        add_file(archive, "manifest.json", json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode())


def create(lab, ns, name, image, **container):
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": ns},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": image, **container}], "terminationGracePeriodSeconds": 1},
    }
    lab.kubectl("create", "-f", "-", stdin=json.dumps(pod))


def run_to_end(lab, ns, name, image, **container):
    create(lab, ns, name, image, **container)
    wait_for("the end", lambda: lab.get(f"/api/v1/namespaces/{ns}/pods/{name}")["status"]["phase"] in ("Succeeded", "Failed"))
    return lab.kubectl("logs", name, "-n", ns).out


@pytest.fixture(params=["gzip", "zstd", "plain"])
def loaded(lab, ns, tmp_path, request):
    """The name of an image that was loaded."""
    if BUSYBOX is None or "dynamic" in subprocess.run(["file", "-L", BUSYBOX], capture_output=True, text=True, check=False).stdout:
        pytest.skip("needs a busybox that is linked statically")
    name = f"example.org/{ns}/tool:1"
    saved_image(tmp_path / "tool.tar", name, request.param)
    said = lab.athanor("images", str(tmp_path / "tool.tar"), "--data", str(lab.data)).out
    assert said.startswith(f"loaded {name}: "), said
    assert name in lab.athanor("images", "--data", str(lab.data)).out
    return name


def test_a_loaded_image_runs_with_its_files(lab, ns, loaded):
    def own_files():
        wanted = f"run-{len(lab.get(f'/api/v1/namespaces/{ns}/pods')['items'])}"
        return run_to_end(lab, ns, wanted, loaded).startswith("hello /work\nfrom the image\n")

    wait_for("the image", own_files)
    listed = run_to_end(lab, ns, "listed", loaded, args=["ls /"]).split()
    assert "greeting" in listed and "usr" not in listed
    assert run_to_end(lab, ns, "write", loaded, args=["echo x > /greeting; cat /greeting"]) == "x\n"
    assert run_to_end(lab, ns, "again", loaded, args=["cat /greeting"]) == "from the image\n"
    create(lab, ns, "stays", loaded, args=["sleep 1000"])
    lab.kubectl("wait", "pod/stays", "-n", ns, "--for=condition=Ready", TIMEOUT)
    assert lab.kubectl("exec", "stays", "-n", ns, "--", "/bin/cat", "/greeting", "/etc/hostname", code=None).out.startswith("from the image\n")


def test_users_and_read_only_roots_are_applied(lab, ns):
    if os.geteuid() == 0:
        assert run_to_end(lab, ns, "user", "debian", command=["id", "-u"], securityContext={"runAsUser": 1234}) == "1234\n"
    said = run_to_end(lab, ns, "fixed", "debian", command=["sh", "-c", "touch /etc/x 2>/dev/null || echo refused"], securityContext={"readOnlyRootFilesystem": True})
    assert said == "refused\n"


def test_known_images_bring_commands_and_variables(lab, ns):
    assert run_to_end(lab, ns, "py", "python:3.12", command=["python", "-c", "import os; print(os.environ['LANG'])"]) == "C.UTF-8\n"
    assert run_to_end(lab, ns, "go", "golang:1.24", command=["sh", "-c", "echo $GOPATH"]) == "/go\n"


def test_hostile_images_are_refused(lab, tmp_path):
    with tarfile.open(tmp_path / "bad.tar", "w") as archive:
        add_file(archive, "../../escaped", b"x")
    done = lab.athanor("images", str(tmp_path / "bad.tar"), "--name", "bad", "--data", str(lab.data), code=None)
    assert done.code == 1 and "leaves the image's root" in done.err, done
    (tmp_path / "cut.tar").write_bytes(packed((tmp_path / "bad.tar").read_bytes(), "zstd")[:-20])
    done = lab.athanor("images", str(tmp_path / "cut.tar"), "--name", "cut", "--data", str(lab.data), code=None)
    assert done.code == 1 and "the archive is damaged" in done.err, done


LAB_IMAGES = """apiVersion: athanor.dev/v1
kind: Lab
nodes:
- {name: node}
images:
- {name: example.org/greeter, entrypoint: [/bin/sh, -c], cmd: ['echo "$WORD $PWD $(id -u)"'], env: {WORD: hello}, workingDir: /tmp, user: USER}
- {name: example.org/packed, archive: tool.tar, env: {WORD: other}}
- {name: example.org/trainer, seconds: 3}
"""


def lab_with_images(make_lab, tmp_path, *flags):
    saved_image(tmp_path / "tool.tar", "example.org/any:1", "gzip")
    user = 1234 if os.geteuid() == 0 else os.geteuid()
    (tmp_path / "lab.yaml").write_text(LAB_IMAGES.replace("USER", str(user)))
    return make_lab("--storage", "memory", "--lab", str(tmp_path / "lab.yaml"), *flags).start(), user


def seconds_of(lab, name):
    """How long its container ran; the API's times are whole seconds."""
    ended = lab.get(f"/api/v1/namespaces/default/pods/{name}")["status"]["containerStatuses"][0]["state"]["terminated"]
    assert ended["exitCode"] == 0, ended
    return (datetime.fromisoformat(ended["finishedAt"]) - datetime.fromisoformat(ended["startedAt"])).total_seconds()


@pytest.mark.skipif(BUSYBOX is None, reason="needs busybox")
def test_images_of_a_lab_file_run(make_lab, tmp_path):
    lab, user = lab_with_images(make_lab, tmp_path)
    assert run_to_end(lab, "default", "greeter", "example.org/greeter:2") == f"hello /tmp {user}\n"
    assert run_to_end(lab, "default", "args", "example.org/greeter", args=["echo $WORD again"]) == "hello again\n"
    assert run_to_end(lab, "default", "packed", "example.org/packed").startswith("other /work\nfrom the image\n")
    create(lab, "default", "trainer", "example.org/trainer:1")
    wait_for("the end", lambda: lab.get("/api/v1/namespaces/default/pods/trainer")["status"]["phase"] == "Succeeded")
    assert seconds_of(lab, "trainer") >= 2


@pytest.mark.skipif(BUSYBOX is None, reason="needs busybox")
def test_timed_labs_know_times_of_images(make_lab, tmp_path):
    lab, _ = lab_with_images(make_lab, tmp_path, "--pods", "timed")
    create(lab, "default", "trainer", "example.org/trainer:1")
    wait_for("the end", lambda: lab.get("/api/v1/namespaces/default/pods/trainer")["status"]["phase"] == "Succeeded")
    assert seconds_of(lab, "trainer") >= 2
    said = lab.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "shared", "namespace": "default"}, "spec": {"hostPID": True, "containers": [{"name": "c", "image": "x"}]}}))
    assert "spec.hostPID: has no effect on emulated nodes" in said.err, said
