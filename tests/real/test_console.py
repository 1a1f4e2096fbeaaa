# SPDX-License-Identifier: Apache-2.0
"""The console on the real control plane, with the account of deploy/kustomize/console: who people are and what they may is the real API server's answer,
its audit log has the person, it restarts below an open page, and kinds that it lacks leave the navigation."""

import json
import sys
import types

import pytest
from support import KUBECTL, ROOT, run, wait_for
from test_rights import SLOW, Plane

sys.path.append(str(ROOT / "tests/e2e/console"))
from console_browser import chromium, tabs  # noqa: E402, F401
from console_client import ConsoleProcess  # noqa: E402
from test_console_access import Viewer  # noqa: E402

SYSTEM, NS, OTHER = "athanor-system", "psap-automation", "other-team"
JOB = {"owner": "ann", "cluster": "c-1", "forge": {"project": "llmd", "args": ["a"]}}
PATHS = ("/", "/jobs", "/jobs?view=timeline", "/jobs?view=board", "/clusters", "/locks", "/gpus", "/nodes", "/submit", "/schedules", "/insights", "/system")


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    one = Plane(tmp_path_factory.mktemp("console") / "plane")
    try:
        one.start()
        for name in (SYSTEM, NS, OTHER):
            one.kubectl("create", "namespace", name)
        one.kubectl("apply", "--server-side", "-f", "-", stdin=run([KUBECTL, "kustomize", ROOT / "deploy/kustomize/base/crds"]).out, timeout=SLOW)
        one.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        one.kubectl("apply", "--server-side", "-f", ROOT / "deploy/kustomize/console/rbac.yaml")
        one.kubectl("create", "serviceaccount", "ann", "-n", NS)
        one.kubectl("create", "role", "jobs", "-n", NS, "--verb=get,list,create,patch", "--resource=fournosjobs.fournos.dev")
        one.kubectl("create", "rolebinding", "jobs", "-n", NS, "--role=jobs", f"--serviceaccount={NS}:ann")
        for ns in (NS, OTHER):
            one.kubectl("create", "-f", "-", stdin=json.dumps(manifest("of-" + ns, ns)))
        yield one
    finally:
        one.close()


def manifest(name, ns, **spec):
    return {"apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": {"name": name, "namespace": ns}, "spec": {**JOB, **spec}}


@pytest.fixture(scope="module")
def console(plane, tmp_path_factory):
    account = types.SimpleNamespace(kubeconfig=plane.kubeconfig_of(SYSTEM, "athanor-console"))
    one = ConsoleProcess(account, tmp_path_factory.mktemp("server"), "--web", ROOT / "web/dist", CONSOLE_AUTH="token", FOURNOS_NAMESPACE=NS, CONSOLE_NAMESPACES=NS)
    yield one
    one.stop()


@pytest.fixture(scope="module")
def token(plane):
    return plane.kubectl("create", "token", "ann", "-n", NS, "--duration=2h").out.strip()


@pytest.fixture(scope="module")
def ann(console, token):
    return Viewer(console, token)


def test_absent_kinds_are_named(console, ann):
    wait_for("the first lists", lambda: ann.get("/api/v1/jobs")["items"])
    features = {one["name"]: one for one in ann.get("/api/v1/session")["features"]}
    assert features["jobs"]["present"] and features["nodes"]["present"] and features["schedules"]["present"]
    for name in ("queue", "mig", "numa", "appwrappers", "pipelines"):
        assert not features[name]["present"] and "this cluster has no" in features[name]["reason"], features[name]
    wait_for("readiness", lambda: console.request("GET", "/readyz")[0].status == 200)


def test_the_server_says_who_may_what(plane, console, ann):
    for given in ("nonsense", "a.b.c"):
        assert console.request("POST", "/api/v1/login", {"token": given})[0].status == 401
    assert ann.get("/api/v1/session")["user"] == f"system:serviceaccount:{NS}:ann"
    page = ann.get("/api/v1/jobs")
    assert {row["ns"] for row in page["items"]} == {NS} and page["partial"]
    assert ann.request("GET", "/api/v1/nodes/none")[0].status == 403
    answer, data = ann.request("POST", "/api/v1/jobs", manifest("by-ann", NS))
    assert answer.status == 201, data
    assert ann.request("DELETE", f"/api/v1/jobs/{NS}/by-ann")[0].status == 403, "the role has no delete"
    answer, data = ann.request("POST", f"/api/v1/jobs/{NS}/by-ann/stop", {})
    assert answer.status == 200, data
    assert plane.http("GET", f"/apis/fournos.dev/v1/namespaces/{NS}/fournosjobs/by-ann").json["spec"]["shutdown"] == "Stop"


def test_the_audit_log_has_the_person(plane, console, ann):
    """X3."""
    assert ann.request("POST", "/api/v1/jobs", manifest("audited", NS))[0].status == 201

    def people():
        events = [json.loads(line) for line in plane.audit.read_text(encoding="utf-8").splitlines()]
        return {
            one["impersonatedUser"]["username"]
            for one in events
            if one["user"]["username"] == f"system:serviceaccount:{SYSTEM}:athanor-console" and one["verb"] == "create" and one["objectRef"]["resource"] == "fournosjobs"
        }

    wait_for("the record", lambda: people() == {f"system:serviceaccount:{NS}:ann"})


def test_errors_of_the_schema_name_their_field(ann):
    answer, data = ann.request("POST", "/api/v1/jobs?dryRun=1", manifest("bad", NS, exclusive="yes"))
    error = json.loads(data)["error"]
    assert answer.status == 422 and "exclusive" in error["field"] + error["message"], error


def test_every_page_opens(plane, console, token, tabs):  # noqa: F811
    plane.kubectl("create", "serviceaccount", "root", "-n", NS)
    plane.kubectl("create", "clusterrolebinding", "root-of-tests", "--clusterrole=cluster-admin", f"--serviceaccount={NS}:root")
    tab = tabs(f"http://{console.host}")
    page = tab.page
    page.goto(tab.url + "/jobs")
    page.get_by_label("Bearer token").fill(plane.kubectl("create", "token", "root", "-n", NS).out.strip())
    page.locator("form.login button[type=submit]").click()
    page.wait_for_selector("[data-testid=table-jobs]")
    tab.faults = [fault for fault in tab.faults if "401" not in fault]
    for path in PATHS:
        page = tab.open(path)
        assert page.locator("[data-testid=page-error], [data-testid=stale-banner]").count() == 0, path
    assert page.locator("[data-testid=nav-queue], [data-testid=nav-mig]").count() == 0
    page = tab.open("/jobs?filter=archived:false")
    plane.kubectl("create", "-f", "-", stdin=json.dumps(manifest("arrives", NS)))
    page.locator(f"[data-testid=row-job-{NS}-arrives]").wait_for()

    plane.restart("apiserver")
    plane.kubectl("create", "-f", "-", stdin=json.dumps(manifest("after-the-restart", NS)))
    page.locator(f"[data-testid=row-job-{NS}-after-the-restart]").wait_for(timeout=SLOW * 1000)
    rows = page.locator("[data-testid=table-jobs] tbody tr[data-index]")
    names = [row.get_attribute("data-testid") for row in rows.all()]
    assert len(names) == len(set(names)), names
    wait_for("no banner", lambda: page.locator("[data-testid=stale-banner]").count() == 0)
    watches = Viewer(console, token).get("/api/v1/system")["watches"]
    assert next(one for one in watches if one["kind"] == "fournosjobs")["lagSeconds"] < SLOW
    tab.faults = [fault for fault in tab.faults if not any(code in fault for code in ("401", "500", "502", "503", "504", "ERR_"))]
