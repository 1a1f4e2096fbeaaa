# SPDX-License-Identifier: Apache-2.0
"""Resolver git: tasks from repositories over HTTP, and repositories that mean harm."""

import base64
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pipeline_runs import outcome
from support import Lab, wait_for

BACKEND = pathlib.Path(subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout.strip()) / "git-http-backend"
TASK = """apiVersion: tekton.dev/v1
kind: Task
metadata: {name: stored}
spec:
  params: [{name: word}]
  steps: [{name: s, image: bash, script: "echo WHERE $(params.word)"}]
"""


class Repositories(BaseHTTPRequestHandler):
    """Smart HTTP of the repositories below server.root; /private wants a token, /moved redirects, /slow never answers, /old speaks protocol 0."""

    def do_GET(self):  # noqa: N802
        self.serve(b"")

    def do_POST(self):  # noqa: N802
        self.serve(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def serve(self, body):
        path, _, query = self.path.partition("?")
        self.server.seen.append(path)
        if path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", f"/tasks.git{path[len('/moved'):]}?{query}")
            self.end_headers()
            return
        if path.startswith("/slow"):
            self.server.over.wait(30)
            return
        wanted = "Basic " + base64.b64encode(b"git:open-sesame").decode()
        if path.startswith("/private") and self.headers.get("Authorization") != wanted:
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Basic")
            self.end_headers()
            return
        environment = {
            **os.environ,
            "GIT_PROJECT_ROOT": str(self.server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path.removeprefix("/private") if "/team/" in path else path.replace("/private", "/tasks.git", 1).replace("/old", "/strict.git", 1),
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": "" if path.startswith("/old") else self.headers.get("Git-Protocol", ""),
        }
        out = subprocess.run([BACKEND], input=body, env=environment, capture_output=True, check=False).stdout
        head, _, rest = out.partition(b"\r\n\r\n")
        headers = [line.decode().split(": ", 1) for line in head.split(b"\r\n") if b": " in line]
        status = next((value for name, value in headers if name == "Status"), "200 OK")
        self.send_response(int(status.split()[0]))
        for name, value in headers:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)

    def log_message(self, *args):
        """Says nothing."""


def git(folder, *words):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *identity, "-C", folder, *words], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def repositories(tmp_path_factory):
    root = tmp_path_factory.mktemp("repositories")
    work = root / "work"
    work.mkdir()
    git(work, "init", "-q")
    (work / "tasks").mkdir()
    (work / "tasks/echo.yaml").write_text(TASK.replace("WHERE", "old"), encoding="utf-8")
    git(work, "add", ".")
    git(work, "commit", "-qm", "first")
    git(work, "tag", "v1")
    (work / "tasks/echo.yaml").write_text(TASK.replace("WHERE", "new"), encoding="utf-8")
    (work / "tasks/pod.yaml").write_text("kind: Pod", encoding="utf-8")
    (work / "tasks/huge.yaml").write_text("x" * (2 << 20), encoding="utf-8")
    (work / "tasks/link.yaml").symlink_to("/etc/passwd")
    git(work, "add", ".")
    git(work, "commit", "-qm", "second")
    git(root, "clone", "-q", "--bare", work, "tasks.git")
    git(root / "tasks.git", "config", "uploadpack.allowAnySHA1InWant", "true")
    git(root, "clone", "-q", "--bare", work, "strict.git")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Repositories)
    server.daemon_threads = True
    server.root, server.seen, server.over = root, [], threading.Event()
    server.first = git(work, "rev-parse", "v1")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    thread.join()
    server.server_close()


def run(lab, ns, name, **params):
    ref = {"resolver": "git", "params": [{"name": key, "value": value} for key, value in params.items()]}
    spec = {"taskRef": ref, "params": [{"name": "word", "value": "away"}]}
    body = {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": name}, "spec": spec}
    assert lab.http("POST", f"/apis/tekton.dev/v1/namespaces/{ns}/taskruns", body).code == 201
    return outcome(lab, "taskruns", name, ns)


def test_tasks_of_branches_tags_and_commits_run(lab, ns, repositories):
    url = f"http://127.0.0.1:{repositories.server_port}/tasks.git"
    for name, revision, said in (("branch", "main", "new"), ("tag", "v1", "old"), ("commit", repositories.first, "old")):
        condition = run(lab, ns, name, url=url, revision=revision, pathInRepo="tasks/echo.yaml")
        assert condition["status"] == "True", condition
        assert lab.kubectl("logs", "-n", ns, f"{name}-pod").out == f"{said} away\n"
    source = lab.http("GET", f"/apis/tekton.dev/v1/namespaces/{ns}/taskruns/commit").json["status"]["provenance"]["refSource"]
    assert source == {"uri": f"git+{url}", "digest": {"sha1": repositories.first}, "entryPoint": "tasks/echo.yaml"}
    seen = len(repositories.seen)
    assert run(lab, ns, "again", url=url, revision="v1", pathInRepo="tasks/echo.yaml")["status"] == "True"
    assert len(repositories.seen) == seen, "an answer counts for ten minutes"


def test_commits_of_servers_that_refuse_hashes_run(lab, ns, repositories):
    git(repositories.root / "strict.git", "tag", "-d", "v1")
    url = f"http://127.0.0.1:{repositories.server_port}/old"
    for name, revision in (("long", repositories.first), ("short", repositories.first[:8])):
        condition = run(lab, ns, name, url=url, revision=revision, pathInRepo="tasks/echo.yaml")
        assert condition["status"] == "True", condition
        assert lab.kubectl("logs", "-n", ns, f"{name}-pod").out == "old away\n"
        source = lab.http("GET", f"/apis/tekton.dev/v1/namespaces/{ns}/taskruns/{name}").json["status"]["provenance"]["refSource"]
        assert source["digest"] == {"sha1": repositories.first}
    condition = run(lab, ns, "none", url=url, revision="0123456789" * 4, pathInRepo="tasks/echo.yaml")
    assert "no branch or tag of the repository has the commit" in condition["message"], condition


def test_slow_repositories_do_not_delay_others(make_lab, repositories):
    lab = make_lab(name="beside").start()

    def begin(name, url):
        params = [{"name": "url", "value": url}, {"name": "pathInRepo", "value": "tasks/echo.yaml"}]
        spec = {"taskRef": {"resolver": "git", "params": params}, "params": [{"name": "word", "value": "x"}]}
        body = {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": name}, "spec": spec}
        assert lab.http("POST", "/apis/tekton.dev/v1/namespaces/default/taskruns", body).code == 201

    def asked():
        return len([one for one in repositories.seen if one.startswith("/slow")])

    before = asked()
    for number in range(4):
        begin(f"slow-{number}", f"http://127.0.0.1:{repositories.server_port}/slow/{number}")
    wait_for("two of four ask", lambda: asked() == before + 2)
    began = time.monotonic()
    # Another name of the same machine is another host.
    condition = run(lab, "default", "good", url=f"http://localhost:{repositories.server_port}/tasks.git", pathInRepo="tasks/echo.yaml")
    assert condition["status"] == "True" and time.monotonic() - began < 20, condition
    assert asked() == before + 2, "at most two questions of a host at a time"


def test_a_token_of_a_secret_opens_a_private_repository(lab, ns, repositories):
    url = f"http://127.0.0.1:{repositories.server_port}/private"
    secret = {"metadata": {"name": "key"}, "stringData": {"word": "open-sesame\n"}}
    assert lab.http("POST", f"/api/v1/namespaces/{ns}/secrets", secret).code == 201
    condition = run(lab, ns, "shut", url=url, pathInRepo="tasks/echo.yaml")
    assert condition["status"] == "False" and condition["reason"] == "TaskRunResolutionFailed", condition
    condition = run(lab, ns, "open", url=url, pathInRepo="tasks/echo.yaml", gitToken="key", gitTokenKey="word")
    assert condition["status"] == "True", condition
    condition = run(lab, ns, "missing", url=url, pathInRepo="tasks/echo.yaml", gitToken="key", gitTokenKey="other")
    assert "has no key other" in condition["message"], condition


def test_a_repository_is_found_by_its_organization(lab, ns, repositories):
    server = f"http://127.0.0.1:{repositories.server_port}"
    secret = {"metadata": {"name": "key"}, "stringData": {"token": "open-sesame"}}
    assert lab.http("POST", f"/api/v1/namespaces/{ns}/secrets", secret).code == 201
    (repositories.root / "team").mkdir(exist_ok=True)
    git(repositories.root, "clone", "-q", "--bare", "tasks.git", "team/open.git")
    condition = run(lab, ns, "named", org="team", repo="open", serverURL=server, scmType="gitea", pathInRepo="tasks/echo.yaml")
    assert condition["status"] == "True", condition
    source = lab.http("GET", f"/apis/tekton.dev/v1/namespaces/{ns}/taskruns/named").json["status"]["provenance"]["refSource"]
    assert source["uri"] == f"git+{server}/team/open.git"
    condition = run(lab, ns, "shut", org="private/team", repo="open", serverURL=server, scmType="gitea", pathInRepo="tasks/echo.yaml")
    assert condition["status"] == "False" and condition["reason"] == "TaskRunResolutionFailed", condition
    condition = run(lab, ns, "open", org="private/team", repo="open", serverURL=server, scmType="gitea", pathInRepo="tasks/echo.yaml", token="key")
    assert condition["status"] == "True", condition


@pytest.mark.parametrize(
    "name, place, params, text",
    [
        ("gone", "tasks.git", {"pathInRepo": "tasks/none.yaml"}, "there is no file tasks/none.yaml at revision main"),
        ("folder", "tasks.git", {"pathInRepo": "tasks"}, "is no file but a folder"),
        ("link", "tasks.git", {"pathInRepo": "tasks/link.yaml"}, "is no file but a symbolic link"),
        ("outside", "tasks.git", {"pathInRepo": "../../etc/passwd"}, "is no path in a repository"),
        ("huge", "tasks.git", {"pathInRepo": "tasks/huge.yaml"}, "the file is larger than 1 MiB"),
        ("pod", "tasks.git", {"pathInRepo": "tasks/pod.yaml"}, "is no Task of tekton.dev"),
        ("flag", "tasks.git", {"pathInRepo": "tasks/echo.yaml", "revision": "--upload-pack=x"}, "is no revision"),
        ("unknown", "tasks.git", {"pathInRepo": "tasks/echo.yaml", "revision": "nowhere"}, "couldn't find remote ref nowhere"),
        ("moved", "moved", {"pathInRepo": "tasks/echo.yaml"}, "cannot read 'tasks/echo.yaml'"),
        ("empty", "tasks.git", {}, "missing required git resolver params: pathInRepo"),
        ("other", "tasks.git", {"pathInRepo": "x", "org": "y"}, "param org needs param repo"),
        ("both", "tasks.git", {"pathInRepo": "x", "org": "y", "repo": "z"}, "cannot specify both 'url' and 'repo'"),
    ],
)
def test_hostile_repositories_fail_the_run(lab, ns, repositories, name, place, params, text):
    condition = run(lab, ns, name, url=f"http://127.0.0.1:{repositories.server_port}/{place}", **params)
    assert condition["reason"] == "TaskRunResolutionFailed" and text in condition["message"], condition


def test_a_commit_larger_than_the_limit_fails_the_run(lab, ns, repositories):
    large = repositories.root / "large"
    large.mkdir()
    git(large, "init", "-q")
    git(large, "config", "core.compression", "0")
    (large / "echo.yaml").write_text(TASK, encoding="utf-8")
    (large / "noise").write_bytes(os.urandom(130 << 20))
    git(large, "add", ".")
    git(large, "commit", "-qm", "noise")
    try:
        url = f"http://127.0.0.1:{repositories.server_port}/large/.git"
        condition = run(lab, ns, "large", url=url, pathInRepo="echo.yaml")
        assert "the commit is larger than 128 MiB" in condition["message"], condition
        left = [path for path in pathlib.Path(tempfile.gettempdir()).glob("athanor-git-*") if path.is_dir()]
        assert not left, left
    finally:
        shutil.rmtree(large)


@pytest.mark.parametrize(
    "name, url, text",
    [
        ("cloud", "http://169.254.169.254/latest", "link-local addresses"),
        ("local", "file:///etc", "set TEKTON_GIT_FOLDER"),
        ("shell", "ext::sh -c touch% /tmp/athanor-pwned", "is not the address of a repository"),
        ("named", "https://me:word@127.0.0.1/x.git", "holds a name or password"),
    ],
)
def test_addresses_of_other_kinds_are_refused(lab, ns, name, url, text):
    condition = run(lab, ns, name, url=url, pathInRepo="a.yaml")
    assert text in condition["message"], condition


@pytest.fixture(scope="module")
def local_lab(repositories, tmp_path_factory):
    """A lab whose runs read repositories of this machine: `below` holds a bare one, one with a tree, and what leads out of the folder."""
    below = tmp_path_factory.mktemp("local")
    git(below, "clone", "-q", "--bare", repositories.root / "work", "tasks.git")
    git(below, "clone", "-q", repositories.root / "work", "tree")
    (below / "link").symlink_to(repositories.root / "work")
    (below / "hollow").mkdir()
    (below / "hollow/.git").symlink_to(repositories.root / "work/.git")
    (below / "pointer").mkdir()
    (below / "pointer/.git").write_text(f"gitdir: {repositories.root}/work/.git\n", encoding="utf-8")
    git(below, "clone", "-q", "--bare", "--shared", repositories.root / "work", "borrower")
    lab = Lab(tmp_path_factory.mktemp("local-lab") / "lab", ["--set", f"TEKTON_GIT_FOLDER={below}"])
    lab.below = below
    try:
        yield lab.start()
    finally:
        lab.close()


def test_repositories_of_the_machine_are_read(local_lab, repositories):
    below = local_lab.below
    rows = (("bare", f"file://{below}/tasks.git", "main", "new"), ("tree", f"{below}/tree", "v1", "old"), ("sha", f"{below}/tasks.git", repositories.first, "old"))
    for name, url, revision, said in rows:
        condition = run(local_lab, "default", name, url=url, revision=revision, pathInRepo="tasks/echo.yaml")
        assert condition["status"] == "True", condition
        assert local_lab.kubectl("logs", "-n", "default", f"{name}-pod").out == f"{said} away\n"


def test_repositories_of_other_owners_are_read(local_lab):
    if os.geteuid() != 0:
        pytest.skip("only root can give a repository to another user")
    other = local_lab.below / "other.git"
    git(local_lab.below, "clone", "-q", "--bare", "tasks.git", "other.git")
    for path in (other, *other.rglob("*")):
        os.chown(path, 65534, 65534)
    condition = run(local_lab, "default", "other", url=str(other), pathInRepo="tasks/echo.yaml")
    assert condition["status"] == "True", condition


@pytest.mark.parametrize(
    "name, place, text",
    [
        ("outside", "..", "there is no repository"),
        ("root", "../..", "there is no repository"),
        ("none", "none", "there is no repository"),
        ("whole", ".", "there is no repository"),
        ("link", "link", "there is no repository"),
        ("hollow", "hollow", "is no folder below that of TEKTON_GIT_FOLDER"),
        ("pointer", "pointer", "is no folder below that of TEKTON_GIT_FOLDER"),
        ("borrower", "borrower", "borrows objects of another repository"),
    ],
)
def test_nothing_outside_the_folder_is_read(local_lab, name, place, text):
    condition = run(local_lab, "default", name, url=f"{local_lab.below}/{place}", pathInRepo="tasks/echo.yaml")
    assert condition["reason"] == "TaskRunResolutionFailed" and text in condition["message"], condition


def test_a_lab_ends_while_a_repository_does_not_answer(make_lab, repositories):
    lab = make_lab(name="waiting").start()
    ref = {"resolver": "git", "params": [{"name": "url", "value": f"http://127.0.0.1:{repositories.server_port}/slow"}, {"name": "pathInRepo", "value": "a"}]}
    body = {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": "slow"}, "spec": {"taskRef": ref}}
    asked = len([one for one in repositories.seen if one.startswith("/slow")])
    assert lab.http("POST", "/apis/tekton.dev/v1/namespaces/default/taskruns", body).code == 201
    wait_for("git asks", lambda: len([one for one in repositories.seen if one.startswith("/slow")]) > asked)
    lab.process.terminate()
    assert lab.process.wait(20) == 0
