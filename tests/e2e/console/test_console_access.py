# SPDX-License-Identifier: Apache-2.0
"""Who may see and change what in the console: tokens, proxies, rights of each viewer (docs/spec/dashboard.md B9, T9)."""

import http.client
import json
import urllib.parse

import pytest
from console_client import ConsoleProcess
from support import JOBS, wait_for

JOB = {"owner": "access", "cluster": "cluster-1", "forge": {"project": "testproj/llmd", "args": ["a"]}}
READER = [{"apiGroups": ["fournos.dev"], "resources": ["fournosjobs"], "verbs": ["get", "list", "watch", "create", "patch"]}]


class Viewer:
    """Requests of somebody who logged in with a token."""

    def __init__(self, console, token):
        self.console = console
        answer, data = console.request("POST", "/api/v1/login", {"token": token})
        assert answer.status == 200, data
        self.set_cookie = answer.getheader("Set-Cookie")
        self.cookie = self.set_cookie.split(";")[0]
        self.csrf = json.loads(data)["csrf"]

    def request(self, method, path, body=None, **headers):
        sent = {"Cookie": self.cookie}
        if method != "GET":
            sent["X-Athanor-CSRF"] = self.csrf
        return self.console.request(method, path, body, {**sent, **headers})

    def get(self, path):
        answer, data = self.request("GET", path)
        assert answer.status == 200, (path, answer.status, data[:300])
        return json.loads(data)

    def job(self, name, ns, **query):
        body = {"apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": {"name": name, "namespace": ns}, "spec": JOB}
        return self.request("POST", "/api/v1/jobs" + ("?" + urllib.parse.urlencode(query) if query else ""), body)


@pytest.fixture(scope="module")
def team(lab):
    """A namespace with a service account that may read and create jobs there alone."""
    name = "console-team"
    lab.kubectl("create", "namespace", name)
    lab.kubectl("label", "namespace", name, "fournos.dev/queue-access=true")
    lab.kubectl("create", "serviceaccount", "ann", "-n", name)
    for kind, body in (("Role", {"rules": READER}), ("RoleBinding", {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "jobs"}, "subjects": [{"kind": "ServiceAccount", "name": "ann", "namespace": name}]})):
        manifest = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": "jobs", "namespace": name}, **body}
        lab.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))
    for ns in (JOBS, name):
        lab.submit(JOB, name="access-job", ns=ns)
    yield name
    lab.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="module")
def console(lab, team, tmp_path_factory):
    one = ConsoleProcess(lab, tmp_path_factory.mktemp("access"), CONSOLE_AUTH="token", CONSOLE_NAMESPACES=f"{JOBS},{team}")
    yield one
    one.stop()


@pytest.fixture(scope="module")
def token(lab, team):
    return lab.kubectl("create", "token", "ann", "-n", team).out.strip()


@pytest.fixture(scope="module")
def ann(console, token):
    return Viewer(console, token)


def test_nothing_is_served_without_a_session(console):
    assert console.request("GET", "/healthz")[0].status == 200
    for path in ("/api/v1/jobs", "/api/v1/session", "/api/v1/system", "/api/v1/stream?topics=jobs", "/api/v1/mig/history", "/api/v1/whatif?change=node&cluster=cluster-1", "/api/jobs-table", f"/api/v1/objects?kind=Secret&ns={JOBS}&name=x"):
        answer, data = console.request("GET", path)
        assert (answer.status, json.loads(data)["error"]["reason"]) == (401, "Unauthorized"), path
    for given in ("", "nonsense", "a.b.c"):
        assert console.request("POST", "/api/v1/login", {"token": given})[0].status == 401, given
    assert console.request("GET", "/api/v1/jobs", headers={"Cookie": "athanor_console=anonymous"})[0].status == 401
    assert console.request("GET", "/api/v1/jobs", headers={"X-Forwarded-User": "kubernetes-admin"})[0].status == 401


def test_a_session_is_a_cookie_of_the_token(console, token, ann):
    words = ann.set_cookie.split("; ")
    assert "HttpOnly" in words and "SameSite=Strict" in words
    (age,) = [int(word.split("=")[1]) for word in words if word.startswith("Max-Age=")]
    assert 0 < age <= 3600, "the token lasts an hour, the session no longer"
    session = ann.get("/api/v1/session")
    assert session["user"].endswith(":ann") and session["auth"] == "token"
    assert token not in json.dumps(session)


def test_the_cookie_is_secure_where_the_browser_has_https(lab, console, token, tmp_path):
    """X1: by the browser's Origin, or by the header of a trusted proxy alone."""

    def cookie(one, **headers):
        answer, data = one.request("POST", "/api/v1/login", {"token": token}, headers)
        assert answer.status == 200, data
        return "; Secure" in answer.getheader("Set-Cookie")

    https = {"Origin": f"https://{console.host}"}
    assert not cookie(console)
    assert cookie(console, **https)
    assert not cookie(console, **{"X-Forwarded-Proto": "https"}), "not a trusted proxy"
    (tmp_path / "proxied").mkdir()
    proxied = ConsoleProcess(lab, tmp_path / "proxied", CONSOLE_AUTH="token", CONSOLE_TRUSTED_PROXIES="127.0.0.1")
    try:
        assert not cookie(proxied) and not cookie(proxied, **{"X-Forwarded-Proto": "http"})
        assert cookie(proxied, **{"X-Forwarded-Proto": "https"})
    finally:
        proxied.stop()


def test_no_other_site_logs_a_browser_in_or_out(console, token):
    for origin in ("https://elsewhere.example", "null"):
        for path in ("/api/v1/login", "/api/v1/logout"):
            answer, data = console.request("POST", path, json.dumps({"token": token}), {"Origin": origin, "Content-Type": "text/plain"})
            assert (answer.status, json.loads(data)["error"]["reason"]) == (403, "Forbidden"), (path, origin)
            assert not answer.getheader("Set-Cookie")


def test_a_viewer_sees_what_their_rights_show(lab, team, ann):
    wait_for("the job", lambda: [row["name"] for row in ann.get("/api/v1/jobs?limit=1000")["items"]])
    page = ann.get("/api/v1/jobs?limit=1000")
    assert {row["ns"] for row in page["items"]} == {team} and page["partial"]
    overview = ann.get("/api/v1/overview")
    assert overview["partial"]
    assert ann.get(f"/api/v1/jobs/{team}/access-job")["object"]["metadata"]["namespace"] == team
    for path in (
        f"/api/v1/jobs/{JOBS}/access-job",
        f"/api/v1/jobs/{JOBS}/access-job/pipeline",
        f"/api/v1/jobs/{JOBS}/access-job/timeline",
        f"/api/v1/jobs/{JOBS}/access-job/explain",
        f"/api/v1/jobs/{JOBS}/access-job/tree",
        f"/api/v1/jobs/{JOBS}/access-job/logs",
        f"/api/v1/objects?kind=FournosJob&apiVersion=fournos.dev/v1&ns={JOBS}&name=access-job",
        "/api/v1/objects?kind=Secret&apiVersion=v1&ns=kube-system&name=x",
        "/api/v1/mig/history",
        "/api/v1/whatif?change=node&cluster=cluster-1",
        "/api/v1/nodes/none",
    ):
        answer, data = ann.request("GET", path)
        assert answer.status == 403, (path, answer.status, data[:300])


def test_changes_are_made_with_the_viewers_rights(lab, team, ann):
    answer, data = ann.job("access-new", team, dryRun=1)
    assert answer.status in (200, 201), data
    answer, data = ann.job("access-new", JOBS)
    assert (answer.status, json.loads(data)["error"]["reason"]) == (403, "Forbidden"), data
    assert lab.http("GET", f"/apis/fournos.dev/v1/namespaces/{JOBS}/fournosjobs/access-new").code == 404
    answer, data = ann.request("POST", f"/api/v1/jobs/{JOBS}/access-job/stop", {})
    assert answer.status == 403, data
    answer, data = ann.request("PUT", "/api/v1/clusters/cluster-1/lock", {"owner": "ann", "ttl": "1h"})
    assert answer.status in (403, 404), data


def test_changes_need_the_token_of_the_session(team, ann):
    for headers in ({"X-Athanor-CSRF": ""}, {"X-Athanor-CSRF": "x" * len(ann.csrf)}, {"Origin": "http://elsewhere.example"}, {"Origin": ""}):
        answer, data = ann.request("POST", f"/api/v1/jobs/{team}/access-job/stop", {}, **headers)
        assert (answer.status, json.loads(data)["error"]["reason"]) == (403, "Forbidden"), headers


def test_a_session_ends_with_its_streams(console, token):
    viewer = Viewer(console, token)
    connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=120)
    connection.request("GET", "/api/v1/stream?topics=jobs", headers={"Host": console.host, "Cookie": viewer.cookie})
    stream = connection.getresponse()
    assert stream.status == 200
    assert viewer.request("POST", "/api/v1/logout", {})[0].status == 200
    assert "event: auth" in stream.read().decode(), "the stream says so and ends"
    connection.close()
    assert viewer.request("GET", "/api/v1/jobs")[0].status == 401, "a replayed cookie"


def test_a_followed_log_ends_with_the_session(lab, team, console):
    """X4 holds for logs as for rows."""
    lab.kubectl("create", "serviceaccount", "log-reader", "-n", team)
    lab.kubectl("create", "clusterrolebinding", "log-reader", "--clusterrole=view", f"--serviceaccount={team}:log-reader")
    pod = {"metadata": {"name": "talks"}, "spec": {"containers": [{"name": "c", "image": "busybox", "command": ["sh", "-c", "while true; do echo word; sleep 0.2; done"]}]}}
    assert lab.http("POST", f"/api/v1/namespaces/{team}/pods", pod).code == 201
    try:
        viewer = Viewer(console, lab.kubectl("create", "token", "log-reader", "-n", team).out.strip())
        path = f"/api/v1/logs/{team}/talks/c"
        wait_for("the log", lambda: b"word" in viewer.request("GET", path)[1])
        connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=120)
        connection.request("GET", f"{path}?follow=1", headers={"Host": console.host, "Cookie": viewer.cookie})
        stream = connection.getresponse()
        assert "word" in "".join(stream.readline().decode() for _ in range(6))
        assert viewer.request("POST", "/api/v1/logout", {})[0].status == 200
        assert "event: auth" in stream.read().decode()
        connection.close()
    finally:
        lab.kubectl("delete", "pod", "talks", "-n", team, "--wait=false")
        lab.kubectl("delete", "clusterrolebinding", "log-reader")


def test_a_session_ends_by_time(lab, token, tmp_path):
    """The shorter of CONSOLE_SESSION_TIME and the token's own time; the stream says so, the cookie opens nothing afterwards."""
    console = ConsoleProcess(lab, tmp_path, CONSOLE_AUTH="token", CONSOLE_SESSION_TIME="4s")
    try:
        viewer = Viewer(console, token)
        (age,) = [int(word.split("=")[1]) for word in viewer.set_cookie.split("; ") if word.startswith("Max-Age=")]
        assert age <= 4
        assert viewer.get("/api/v1/session")["expires"]
        connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=60)
        connection.request("GET", "/api/v1/stream?topics=jobs", headers={"Host": console.host, "Cookie": viewer.cookie})
        assert "event: auth" in connection.getresponse().read().decode(), "the stream ends with the session"
        connection.close()
        wait_for("the end of the session", lambda: viewer.request("GET", "/api/v1/jobs")[0].status == 401)
        answer, data = viewer.request("POST", f"/api/v1/jobs/{JOBS}/access-job/stop", {})
        assert (answer.status, json.loads(data)["error"]["reason"]) == (401, "Unauthorized")
        assert Viewer(console, token).get("/api/v1/session")["user"].endswith(":ann"), "one may log in again"
    finally:
        console.stop()


def test_streams_carry_what_the_viewer_may_see(lab, team, console, ann):
    connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=120)
    connection.request("GET", "/api/v1/stream?topics=jobs,nodes", headers={"Host": console.host, "Cookie": ann.cookie})
    stream = connection.getresponse()
    lab.submit(JOB, name="access-hidden", ns=JOBS)
    lab.submit(JOB, name="access-shown", ns=team)
    seen = ""
    while "access-shown" not in seen:
        line = stream.readline().decode()
        assert line, "the stream ended"
        seen += line
    connection.close()
    assert "access-hidden" not in seen and "event: nodes" not in seen


def test_proxies_name_the_viewer(lab, team, tmp_path):
    (tmp_path / "trusted").mkdir()
    console = ConsoleProcess(lab, tmp_path / "trusted", CONSOLE_AUTH="proxy", CONSOLE_TRUSTED_PROXIES="127.0.0.1", CONSOLE_NAMESPACES=f"{JOBS},{team}")
    try:
        assert console.request("GET", "/api/v1/jobs")[0].status == 401
        user = {"X-Forwarded-User": f"system:serviceaccount:{team}:ann", "X-Forwarded-Groups": f"system:serviceaccounts,system:serviceaccounts:{team}"}
        wait_for("the team's job", lambda: json.loads(console.request("GET", "/api/v1/jobs", headers=user)[1])["items"])
        answer, data = console.request("GET", "/api/v1/jobs", headers=user)
        assert answer.status == 200 and {row["ns"] for row in json.loads(data)["items"]} == {team}
        _, data = console.request("GET", "/api/v1/session", headers=user)
        csrf = json.loads(data)["csrf"]
        path = f"/api/v1/jobs/{team}/access-job/stop"
        assert console.request("POST", path, {}, user)[0].status == 403
        other = {"X-Forwarded-User": "somebody", "X-Athanor-CSRF": csrf}
        assert console.request("POST", path, {}, other)[0].status == 403, "the token of another viewer"
        answer, data = console.request("POST", path, {}, {**user, "X-Athanor-CSRF": csrf})
        assert answer.status in (200, 409, 422), (answer.status, data)
        nobody = {"X-Forwarded-User": "somebody"}
        assert json.loads(console.request("GET", "/api/v1/jobs", headers=nobody)[1])["items"] == []
    finally:
        console.stop()


def test_other_peers_are_no_proxies(lab, tmp_path):
    console = ConsoleProcess(lab, tmp_path, CONSOLE_AUTH="proxy", CONSOLE_TRUSTED_PROXIES="10.11.12.13")
    try:
        answer, data = console.request("GET", "/api/v1/jobs", headers={"X-Forwarded-User": "kubernetes-admin", "X-Forwarded-Groups": "system:masters", "X-Forwarded-For": "10.11.12.13"})
        assert answer.status == 401, data
    finally:
        console.stop()


def test_sums_and_records_are_those_a_viewer_may_see(lab, team, console, ann):
    """Ann may list jobs of her namespace alone: no page counts or names what is beyond."""
    overview = ann.get("/api/v1/overview")
    assert overview["partial"] and overview["clusters"] == {} and not overview["gpus"] and "mig" not in overview and "numa" not in overview, overview
    assert overview["locks"] == {"held": 0, "acquiring": 0, "expiringSoon": 0}
    kinds = {one["object"]["kind"] for one in ann.get("/api/v1/problems")["items"]}
    assert kinds <= {"FournosJob", "Console"}, kinds
    insights = ann.get("/api/v1/insights?range=7d")
    assert insights["partial"] and insights["evictions"] == [] and insights["repairs"] == {"clusters": [], "newest": []}
    for method, path, body in (("POST", "/api/v1/mig/whatif", {"profile": "1g.5gb"}), ("POST", "/api/v1/numa/fit", {"requests": {"cpu": "1"}}), ("GET", "/api/v1/mig", None), ("GET", "/api/v1/numa", None), ("GET", "/api/v1/queue", None)):
        answer, data = ann.request(method, path, body)
        assert answer.status == 403, (path, answer.status, data[:300])
    assert all(set(one) == {"name"} for one in ann.get("/api/v1/form")["clusters"])

    lab.kubectl("create", "clusterrolebinding", "console-boss", "--clusterrole=cluster-admin", "--serviceaccount=kube-system:console-boss")
    lab.kubectl("create", "serviceaccount", "console-boss", "-n", "kube-system")
    boss = Viewer(console, lab.kubectl("create", "token", "console-boss", "-n", "kube-system").out.strip())
    try:
        assert boss.get("/api/v1/overview")["clusters"] or boss.get("/api/v1/overview")["gpus"]
        assert boss.job("boss-job", JOBS)[0].status == 201 and ann.job("ann-job", team)[0].status == 201
        objects = lambda viewer: {one["object"] for one in viewer.get("/api/v1/system")["audit"]}  # noqa: E731
        wait_for("both records", lambda: {f"FournosJob/{JOBS}/boss-job", f"FournosJob/{team}/ann-job"} <= objects(boss))
        assert f"FournosJob/{team}/ann-job" in objects(ann)
        assert f"FournosJob/{JOBS}/boss-job" not in objects(ann), "a record of another namespace"
        assert ann.get("/api/v1/system")["controllers"]["items"] == []
    finally:
        lab.kubectl("delete", "clusterrolebinding", "console-boss")
        lab.kubectl("delete", "serviceaccount", "console-boss", "-n", "kube-system")
