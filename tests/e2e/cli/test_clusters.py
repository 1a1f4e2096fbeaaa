# SPDX-License-Identifier: Apache-2.0
"""How the verbs find a cluster: credential plugins, rotated token files, impersonation (docs/clusters.md)."""

import base64
import json

import yaml
from support import ATHANOR, run


def rewritten(lab, tmp_path, user):
    """The lab's kubeconfig with another user."""
    config = yaml.safe_load(lab.kubeconfig.read_text(encoding="utf-8"))
    config["users"][0]["user"] = user
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


def admin(lab):
    return yaml.safe_load(lab.kubeconfig.read_text(encoding="utf-8"))["users"][0]["user"]


def jobs(lab, kubeconfig, code=0):
    done = run([ATHANOR, "jobs", "--kubeconfig", kubeconfig, "-o", "json"], env=lab.env)
    assert done.code == code, done.out + done.err
    return done


def test_a_credential_plugin_is_run(lab, tmp_path):
    user = admin(lab)
    status = {
        "clientCertificateData": base64.b64decode(user["client-certificate-data"]).decode(),
        "clientKeyData": base64.b64decode(user["client-key-data"]).decode(),
    }
    answer = {"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": status}
    (tmp_path / "answer.json").write_text(json.dumps(answer), encoding="utf-8")
    plugin = tmp_path / "plugin"
    plugin.write_text('#!/bin/sh\necho "$KUBERNETES_EXEC_INFO" >"$INFO"; cat "$1"\n', encoding="utf-8")
    plugin.chmod(0o700)
    exec_user = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "./plugin",
            "args": [str(tmp_path / "answer.json")],
            "env": [{"name": "INFO", "value": str(tmp_path / "info.json")}],
            "interactiveMode": "Never",
            "provideClusterInfo": True,
            "installHint": "install it with care",
        }
    }
    kubeconfig = rewritten(lab, tmp_path, exec_user)
    jobs(lab, kubeconfig)
    info = json.loads((tmp_path / "info.json").read_text(encoding="utf-8"))
    assert info["spec"]["cluster"]["server"].startswith("https://127.0.0.1:")
    plugin.unlink()
    refused = jobs(lab, kubeconfig, code=1)
    assert "plugin not found: install it with care" in refused.err


def test_a_token_file_is_read(lab, tmp_path):
    token = lab.kubectl("create", "token", "default", "-n", "default").out.strip()
    (tmp_path / "token").write_text(token + "\n", encoding="utf-8")
    refused = jobs(lab, rewritten(lab, tmp_path, {"tokenFile": "token"}), code=1)
    assert 'User "system:serviceaccount:default:default" cannot list' in refused.err and token not in refused.err


def test_another_identity_is_asked_for(lab, tmp_path):
    refused = jobs(lab, rewritten(lab, tmp_path, {**admin(lab), "as": "jane"}), code=1)
    assert 'User "jane" cannot list' in refused.err


def test_every_format_has_the_rows_of_the_table(lab):
    table = run([ATHANOR, "clusters"], env=lab.env)
    rows = [line.split()[0] for line in table.out.splitlines()[1:] if line]
    listed = run([ATHANOR, "clusters", "-o", "json"], env=lab.env)
    items = listed.json["items"]
    assert rows and sorted(rows) == sorted(item["metadata"]["name"] for item in items)
    names = run([ATHANOR, "clusters", "-o", "name"], env=lab.env).out.split()
    assert sorted(names) == sorted(
        ("resourceflavor.kueue.x-k8s.io/" if item["kind"] == "ResourceFlavor" else "fournoscluster.fournos.dev/") + item["metadata"]["name"]
        for item in items
    )
    missing = run([ATHANOR, "clusters", "no-such", "-o", "json"], env=lab.env)
    assert missing.code == 1 and "no-such" in missing.err
