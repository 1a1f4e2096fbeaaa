# SPDX-License-Identifier: Apache-2.0
"""athanor vault sync: entries of files and of a Vault (key-value engine, version 2) become Secrets."""

import base64
import contextlib
import http.server
import json
import os
import threading

import pytest
from support import ATHANOR, ROOT, run

TOKEN = "t0ken"


def sync(lab, ns, *args, code=0, **env):
    done = run([ATHANOR, "vault", "sync", "-n", ns, *args], env={**os.environ, "KUBECONFIG": str(lab.kubeconfig), **env})
    assert done.code == code, (done.out, done.err)
    return done


def secrets(lab, ns):
    answer = lab.http("GET", f"/api/v1/namespaces/{ns}/secrets?labelSelector=fournos.dev/vault-entry%3Dtrue").json
    return {one["metadata"]["name"]: {key: base64.b64decode(value).decode() for key, value in one.get("data", {}).items()} for one in answer["items"]}


def test_entries_of_files(lab, ns, tmp_path):
    folder = tmp_path / "secrets"
    (folder / "hf-token").mkdir(parents=True)
    (folder / "hf-token" / "token").write_text("s3cr3t", encoding="utf-8")
    (folder / "pull.yaml").write_text("user: ann\nport: 5\n", encoding="utf-8")
    dry = sync(lab, ns, "--from-files", folder, "--dry-run")
    assert f"[dry-run] Would create/update Secret {ns}/vault-hf-token" in dry.out and "token: 6 bytes" in dry.out
    assert "s3cr3t" not in dry.out and secrets(lab, ns) == {}
    sync(lab, ns, "--from-files", folder)
    assert secrets(lab, ns) == {"vault-hf-token": {"token": "s3cr3t"}, "vault-pull": {"user": "ann", "port": "5"}}
    (folder / "pull.yaml").write_text("[not, a, map]", encoding="utf-8")
    (folder / "hf-token" / "token").write_text("new", encoding="utf-8")
    done = sync(lab, ns, "--from-files", folder, code=1)
    assert "pull" in done.err
    assert secrets(lab, ns) == {"vault-hf-token": {"token": "new"}, "vault-pull": {"user": "ann", "port": "5"}}, "what could not be read stays"
    (folder / "pull.yaml").unlink()
    assert f"Would delete Secret {ns}/vault-pull" in sync(lab, ns, "--from-files", folder, "--dry-run").out
    sync(lab, ns, "--from-files", folder)
    assert secrets(lab, ns) == {"vault-hf-token": {"token": "new"}}
    assert "cannot list" in sync(lab, ns, "--from-files", tmp_path / "none", code=1).err


def test_as_somebody_else(lab, ns, tmp_path):
    """The flags of the connection hold as for every verb; -v tells requests and what is left out."""
    (tmp_path / "hf-token").mkdir()
    (tmp_path / "hf-token" / "token").write_text("s3cr3t", encoding="utf-8")
    (tmp_path / "empty.yaml").write_text("", encoding="utf-8")
    refused = sync(lab, ns, "--from-files", tmp_path, "--as", "joe", code=1)
    assert 'User "joe" cannot list resource "secrets"' in refused.err and secrets(lab, ns) == {}
    assert "Unauthorized" in sync(lab, ns, "--from-files", tmp_path, "--token", "x", code=1).err
    quiet = sync(lab, ns, "--from-files", tmp_path)
    done = sync(lab, ns, "--from-files", tmp_path, "-v")
    assert "entry empty: skipped" in done.out and f"GET /api/v1/namespaces/{ns}/secrets" in done.err
    assert "skipped" not in quiet.out and quiet.err == ""
    assert "GET " in run([ATHANOR, "-v", "6", "-n", ns, "--kubeconfig", lab.kubeconfig, "vault", "sync", "--from-files", tmp_path]).err


@contextlib.contextmanager
def vault(entries, broken=()):
    """A Vault with one folder of entries; `broken` ones answer 500."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self, code, body):
            data = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def refused(self):
            if self.headers.get("X-Vault-Token") == TOKEN:
                return False
            self.answer(403, {"errors": ["permission denied"]})
            return True

        def do_LIST(self):
            if not self.refused():
                listed = self.path == "/v1/kv/metadata/bench" and entries
                self.answer(*((200, {"data": {"keys": [*entries, *broken, "folder/"]}}) if listed else (404, {"errors": []})))

        def do_GET(self):
            if not self.refused():
                name = self.path.removeprefix("/v1/kv/data/bench/")
                if name in broken or name not in entries:
                    self.answer(500, {"errors": ["sealed"]})
                elif entries[name] is None:
                    self.answer(404, {"data": {"data": None, "metadata": {"deletion_time": "2026-01-01T00:00:00Z"}}})
                else:
                    self.answer(200, {"data": {"data": entries[name], "metadata": {"version": 1}}})

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_entries_of_a_vault(lab, ns):
    with vault({"a": {"k": "1", "n": 2, "secretsync/x": "y"}, "b": {"k": "2"}, "c": None}) as address:
        sync(lab, ns, "--vault-addr", address, "--secret-path", "bench", VAULT_TOKEN=TOKEN)
        assert secrets(lab, ns) == {"vault-a": {"k": "1", "n": "2"}, "vault-b": {"k": "2"}}
        one = lab.http("GET", f"/api/v1/namespaces/{ns}/secrets/vault-a").json["metadata"]["annotations"]
        assert one == {"fournos.dev/vault-addr": address, "fournos.dev/vault-path": "kv/bench/a"}
    with vault({"a": {"k": "new"}}, broken=["b"]) as address:
        done = sync(lab, ns, code=1, VAULT_TOKEN=TOKEN, VAULT_ADDR=address, VAULT_SECRET_PATH="bench")
        assert "entry b: Vault answers with status 500: sealed" in done.err
        assert secrets(lab, ns) == {"vault-a": {"k": "new"}, "vault-b": {"k": "2"}}, "a hiccup loses nothing"
    with vault({"b": None}) as address:
        sync(lab, ns, VAULT_TOKEN=TOKEN, VAULT_ADDR=address, VAULT_SECRET_PATH="bench")
        assert secrets(lab, ns) == {}


@pytest.mark.parametrize(
    ("env", "says"),
    [({}, "VAULT_TOKEN environment variable is not set"), ({"VAULT_TOKEN": "x"}, "no Vault"), ({"VAULT_TOKEN": "wrong", "VAULT_ADDR": "?"}, "permission denied")],
)
def test_what_cannot_be_listed_changes_nothing(lab, ns, env, says):
    labels = {"fournos.dev/vault-entry": "true", "app.kubernetes.io/managed-by": "fournos-vault-sync"}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "vault-x", "labels": labels}}
    assert lab.http("POST", f"/api/v1/namespaces/{ns}/secrets", secret).code == 201
    with vault({"a": {"k": "1"}}) as address:
        env = {key: address if value == "?" else value for key, value in env.items()}
        assert says in sync(lab, ns, "--secret-path", "bench", code=1, **env).err
        if "VAULT_ADDR" in env:
            assert "no entries" in sync(lab, ns, "--secret-path", "elsewhere", VAULT_ADDR=address, VAULT_TOKEN=TOKEN).out
    assert "vault-x" in secrets(lab, ns)


@pytest.mark.parametrize("target, flags", [("sync-vault-secrets", ""), ("sync-vault-secrets-dry-run", " --dry-run")])
def test_the_make_targets_call_it(target, flags):
    done = run(["make", "--no-print-directory", "-n", "-o", "build", target, "SNS=vaults", "FILES=./secrets"], cwd=ROOT)
    assert done.code == 0 and done.out.splitlines()[-1] == f"build/release/athanor vault sync -n vaults --from-files ./secrets{flags}"
