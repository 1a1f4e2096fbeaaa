#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a docker-archive image whose only content is Debian's static busybox (package busybox-static).

usage: busybox_image.py NAME ENTRYPOINT_JSON OUT.tar      e.g. registry.k8s.io/pause:3.10 '["/bin/sleep","2147483647"]' pause.tar
For tests on machines without an image registry: `ctr -n k8s.io images import OUT.tar`.
"""
import hashlib, io, json, sys, tarfile

APPLETS = ("sh", "sleep", "echo", "env", "cat", "ls", "true", "false", "wget", "date", "grep", "tail", "head", "sed", "awk", "seq", "mkdir", "rm", "touch", "wc", "sort", "nproc", "taskset")

def main(name, entrypoint, out_path):
    buf = io.BytesIO()
    with tarfile.open(fileobj=buf, mode="w") as layer:
        for d in ("bin", "etc", "tmp", "proc", "sys", "dev"):
            i = tarfile.TarInfo(d); i.type = tarfile.DIRTYPE; i.mode = 0o1777 if d == "tmp" else 0o755
            layer.addfile(i)
        data = open("/bin/busybox", "rb").read()
        i = tarfile.TarInfo("bin/busybox"); i.size = len(data); i.mode = 0o755
        layer.addfile(i, io.BytesIO(data))
        for a in APPLETS:
            i = tarfile.TarInfo("bin/" + a); i.type = tarfile.SYMTYPE; i.linkname = "busybox"
            layer.addfile(i)
    layer_bytes = buf.getvalue()
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Entrypoint": entrypoint, "Env": ["PATH=/bin"]},
                         "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer_bytes).hexdigest()]}}).encode()
    config_name = hashlib.sha256(config).hexdigest() + ".json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    with tarfile.open(out_path, "w") as out:
        for n, b in ((config_name, config), ("layer.tar", layer_bytes), ("manifest.json", manifest)):
            i = tarfile.TarInfo(n); i.size = len(b); out.addfile(i, io.BytesIO(b))

if __name__ == "__main__":
    if len(sys.argv) != 4: sys.exit(__doc__)
    main(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3])
