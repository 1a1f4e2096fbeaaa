# SPDX-License-Identifier: Apache-2.0
"""What places slices on the stack: the extender and the kube-scheduler of deploy/das with their own accounts, and nodes with emulated GPUs."""

import base64
import json
import os
import subprocess

import stack
import yaml
from conftest import SCRIPT
from support import wait_for
from test_rights import ACCOUNTS, SLOW, Process

NS = "das-operator"
HOST = f"das-extender.{NS}.svc"
EMULATION = {"EMULATED_MODE": "enabled", "INSTASLICE_NAMESPACE": NS}
NODES = ("gpu-1", "gpu-2")  # two GPUs of seven compute slots each
LEASE = {"--lease-duration": "15s", "--renew-deadline": "10s", "--retry-period": "2s"}  # with OpenShift's, a killed leader is missed for two minutes


def add_nodes(plane):
    for name in NODES:
        plane.apply({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "name": name, "annotations": {"athanor.dev/capacity": json.dumps({"cpu": "16", "memory": "64Gi", "pods": "500"})},
                "labels": {"athanor.dev/emulated": "true", "kubernetes.io/os": "linux", "kubernetes.io/hostname": name, "nvidia.com/mig.capable": "true"},
            },
        })  # fmt: skip


def emulated(objects):
    """The objects of deploy/das, whose operator emulates the GPUs of emulated nodes."""
    for one in objects:
        if one["kind"] == "Deployment":
            (container,) = one["spec"]["template"]["spec"]["containers"]
            container["args"] = [f"{name}={LEASE[name]}" if (name := one.split("=")[0]) in LEASE else one for one in container["args"]]
            container["env"] = [*(each for each in container["env"] if each["name"] not in EMULATION), *({"name": key, "value": value} for key, value in EMULATION.items())]
    return objects


class Placement:
    """The extender's process and the scheduler's, with the configuration that the operator wrote for it."""

    def __init__(self, plane, system, folder):
        self.folder = folder
        folder.mkdir()
        certificate = f"/api/v1/namespaces/{NS}/secrets/webhook-server-cert"
        wait_for("the certificate", lambda: "ca.crt" in (plane.http("GET", certificate).json or {}).get("data", {}), SLOW)
        for key, text in plane.get(certificate)["data"].items():
            (folder / key).write_bytes(base64.b64decode(text))
        deployment = system.deployments["das-extender"]
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        (mount,) = container["volumeMounts"]
        container["args"] = [one.replace(mount["mountPath"], str(folder)) for one in container["args"]]
        deployment["spec"]["template"]["spec"]["volumes"] = []
        self.start_extender = lambda port: Process(plane, system.objects, deployment, address=stack.ADDRESS, served=port)
        self.extender = self.start_extender(None)
        self.scheduler_user = f"{ACCOUNTS}{NS}:das-scheduler"
        self.logs = folder / "scheduler"
        wait_for("the extender answers", self.extender.ready, SLOW)
        config_map = f"/api/v1/namespaces/{NS}/configmaps/das-scheduler-config"
        wait_for("the scheduler's configuration", lambda: plane.http("GET", config_map).code == 200, SLOW)
        self.start_scheduler(plane, yaml.safe_load(plane.get(config_map)["data"]["config.yaml"]))

    def start_scheduler(self, plane, config):
        """Starts kube-scheduler; names of Services lead nowhere here, so the extender's becomes an address."""
        account = plane.kubeconfig_of(NS, "das-scheduler")
        (extender,) = config["extenders"]
        assert HOST in extender["urlPrefix"]
        path = extender["urlPrefix"].split(HOST)[1].split("/", 1)[1]
        extender["urlPrefix"] = f"https://{stack.ADDRESS}:{self.extender.served}/{path}"
        extender["tlsConfig"] = {"serverName": HOST, "caFile": str(self.folder / "ca.crt")}
        config["clientConnection"] = {"kubeconfig": str(account)}
        (self.folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        done = subprocess.run(
            [SCRIPT, "against", self.logs, account, "scheduler"], capture_output=True, text=True, check=False,
            env={**os.environ, "SCHEDULER_FLAGS": f"--config {self.folder / 'config.yaml'}"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    def revive(self):
        """Starts the extender again where the scheduler asks for it."""
        self.extender = self.start_extender(self.extender.served)

    def end(self):
        subprocess.run([SCRIPT, "down", self.logs], check=False)
        self.extender.end()
