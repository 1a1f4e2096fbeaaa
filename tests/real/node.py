# SPDX-License-Identifier: Apache-2.0
"""A real kubelet with a real containerd on this machine, joined to a lab or to the real API server (scripts/real-node)."""

import os
import pathlib
import subprocess
from dataclasses import dataclass, field

from support import ROOT, wait_for

SCRIPT = ROOT / "scripts/real-node"
PLUGINS = pathlib.Path("/var/lib/kubelet/device-plugins")  # the kubelet's, whatever its folder


@dataclass
class RealNode:
    """One node. `folder` must be short: sockets lie in it. Ends only what it started."""

    folder: pathlib.Path
    lab: object  # with kubeconfig
    client_ca: pathlib.Path
    name: str = "node-0"
    config: str = ""  # lines of KubeletConfiguration
    images: list = field(default_factory=lambda: ["docker.io/library/busybox:latest"])

    def _run(self, *args, check=True):
        env = {**os.environ, "NODE_CONFIG": self.config, "NODE_IMAGES": " ".join(self.images)}
        done = subprocess.run([SCRIPT, *map(str, args)], capture_output=True, text=True, check=False, env=env)
        assert not check or done.returncode == 0, f"real-node {args[0]}: {done.stderr}"
        return done.stdout

    def start(self):
        self._run("up", self.folder, self.lab.kubeconfig, self.client_ca, self.name)
        return self

    def close(self):
        self._run("down", self.folder, check=False)

    def stop(self, component):
        self._run("stop", self.folder, component)

    def launch(self, component):
        self._run("start", self.folder, component)

    @property
    def cdi(self):
        """Where containerd reads CDI files."""
        return self.folder / "cdi"

    @property
    def pod_resources(self):
        return self.folder / "kubelet/pod-resources/kubelet.sock"

    def log(self, pod, container="c", ns="default"):
        """The newest log of a container; empty when there is none yet."""
        return self._run("log", self.folder, ns, pod, container, check=False)

    def node(self):
        return self.lab.get(f"/api/v1/nodes/{self.name}")

    def wait_allocatable(self, resource, amount):
        wait_for(f"{self.name} has {amount} of {resource}", lambda: self.node()["status"]["allocatable"].get(resource, "0") == str(amount))
