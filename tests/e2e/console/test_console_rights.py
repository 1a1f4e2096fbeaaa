# SPDX-License-Identifier: Apache-2.0
"""X2 of docs/spec/dashboard.md on every route: whatever a viewer asks for, no answer names objects of namespaces that they may not see."""

import http.client
import json
import re
import time
import urllib.parse

import pytest
from console_browser import chromium, tabs  # noqa: F401
from console_client import ConsoleProcess
from support import DEADLINE, JOBS, ROOT, Lab, wait_for
from test_console_access import Viewer

TEAM = "console-rights"
CLUSTER = "cluster-a-1"
MARK = "zebra"  # in the name of each object of the other namespace
JOB = {"owner": f"{MARK}-person", "cluster": CLUSTER, "forge": {"project": "testproj/llmd", "args": ["a"]}}
WIDE = [
    {"apiGroups": ["fournos.dev"], "resources": ["fournosclusters"]},
    {"apiGroups": [""], "resources": ["nodes"]},
    {"apiGroups": ["kueue.x-k8s.io"], "resources": ["clusterqueues", "resourceflavors", "cohorts"]},
    {"apiGroups": ["inference.redhat.com"], "resources": ["nodeaccelerators"]},
    {"apiGroups": ["topology.node.k8s.io"], "resources": ["noderesourcetopologies"]},
]
NARROW = [
    {"apiGroups": ["fournos.dev"], "resources": ["fournosjobs"]},
    {"apiGroups": [""], "resources": ["pods", "events"]},
    {"apiGroups": ["batch"], "resources": ["cronjobs"]},
    {"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads", "localqueues"]},
    {"apiGroups": ["tekton.dev"], "resources": ["pipelineruns", "taskruns"]},
    {"apiGroups": ["workload.codeflare.dev"], "resources": ["appwrappers"]},
    {"apiGroups": ["inference.redhat.com"], "resources": ["allocationclaims"]},
]
STREAM = "/api/v1/stream"


def grant(lab, kind, name, rules, ns=None):
    place = {"name": name, **({"namespace": ns} if ns else {})}
    verbs = [{**rule, "verbs": ["get", "list", "watch"]} for rule in rules]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": place, "rules": verbs}
    subject = {"kind": "ServiceAccount", "name": "bea", "namespace": TEAM}
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": f"{kind}Binding", "metadata": place, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}, "subjects": [subject]}
    for one in (role, binding):
        lab.kubectl("apply", "-f", "-", stdin=json.dumps(one))


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A lab whose clusters Hearth manages, with jobs in the usual namespace."""
    folder = tmp_path_factory.mktemp("rights")
    for name in ("lab.yaml", "pipelines.yaml"):
        text = (ROOT / "examples/hearth" / name).read_text(encoding="utf-8").replace("psap-automation", JOBS)
        (folder / name).write_text(text, encoding="utf-8")
    one = Lab(folder / "lab", ["--storage", "memory", "--lab", str(folder / "lab.yaml")])
    try:
        one.start()
        yield one
    finally:
        one.close()


@pytest.fixture(scope="module")
def crowd(lab):
    """A team with its job that waits, and another namespace whose job runs on, waits, is wrapped and scheduled."""
    lab.kubectl("create", "namespace", TEAM)
    lab.kubectl("label", "namespace", TEAM, "fournos.dev/queue-access=true")
    lab.kubectl("create", "serviceaccount", "bea", "-n", TEAM)
    grant(lab, "ClusterRole", "console-rights", WIDE)
    grant(lab, "Role", "console-rights", NARROW, TEAM)
    found = lambda: json.loads(lab.kubectl("get", "fournosclusters", "-A", "-o", "json").out)["items"]  # noqa: E731
    wait_for("the cluster", lambda: any(one["metadata"]["name"] == CLUSTER and one.get("status", {}).get("gpuSummary") for one in found()))
    node = json.loads(lab.kubectl("get", "nodes", "-o", "json").out)["items"][0]["metadata"]["name"]
    pod = {"metadata": {"name": f"{MARK}-pod", "namespace": JOBS}, "spec": {"nodeName": node, "containers": [{"name": "c", "image": "busybox", "command": ["sleep", "600"], "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]}}
    assert lab.http("POST", f"/api/v1/namespaces/{JOBS}/pods", pod).code == 201
    lab.submit({**JOB, "exclusive": True, "env": {"NOTE": f"{MARK}-env"}}, name=f"{MARK}-runs", ns=JOBS)
    never = {"hardware": {"gpuType": "a100", "gpuCount": 9000}}  # both wait for ever, in this order
    lab.submit({**JOB, **never}, name=f"{MARK}-waits", ns=JOBS)
    lab.submit({**JOB, **never, "owner": "bea"}, name="rights-job", ns=TEAM)
    lab.kubectl("patch", "fournoscluster", CLUSTER, "-n", "hearth", "--type=merge", "-p", json.dumps({"spec": {"owner": "somebody", "ttl": "2h"}}))
    yield node
    for name in (f"{MARK}-runs", f"{MARK}-waits"):
        lab.kubectl("delete", "fournosjob", name, "-n", JOBS, "--wait=false")
    lab.kubectl("delete", "pod", f"{MARK}-pod", "-n", JOBS, "--wait=false")
    lab.kubectl("delete", "namespace", TEAM, "--wait=false")


@pytest.fixture(scope="module")
def console(lab, crowd, tmp_path_factory):
    one = ConsoleProcess(lab, tmp_path_factory.mktemp("rights"), CONSOLE_AUTH="token", CONSOLE_NAMESPACES=f"{JOBS},{TEAM}")
    yield one
    one.stop()


@pytest.fixture(scope="module")
def bea(lab, console):
    return Viewer(console, lab.kubectl("create", "token", "bea", "-n", TEAM).out.strip())


@pytest.fixture(scope="module")
def boss(lab, console):
    lab.kubectl("create", "serviceaccount", "rights-boss", "-n", "kube-system")
    lab.kubectl("create", "clusterrolebinding", "rights-boss", "--clusterrole=cluster-admin", "--serviceaccount=kube-system:rights-boss")
    yield Viewer(console, lab.kubectl("create", "token", "rights-boss", "-n", "kube-system").out.strip())
    lab.kubectl("delete", "clusterrolebinding", "rights-boss")
    lab.kubectl("delete", "serviceaccount", "rights-boss", "-n", "kube-system")


def paths(console, node):
    """Each GET route with parts that exist in the team's namespace or in the whole cluster."""
    _, data = console.request("GET", "/openapi.json")
    fixed = {"ns": TEAM, "clusterqueue": "fournos-queue"}
    by_route = {"clusters": CLUSTER, "nodes": node, "jobs": "rights-job", "workloads": "rights-job"}
    for path, verbs in json.loads(data)["paths"].items():
        if "get" not in verbs or path == STREAM:
            continue
        names = {**fixed, "name": by_route.get(path.removeprefix("/api/v1/").split("/")[0], "rights-job")}
        yield re.sub(r"\{(\w+)\}", lambda part, names=names: names.get(part[1], "none"), path)
    yield f"/api/v1/whatif?change=node&cluster={CLUSTER}&days=1"
    yield f"/api/v1/jobs/compare?job={TEAM}/rights-job&job={TEAM}/rights-job"
    for kind, version, name in (("Node", "v1", node), ("FournosCluster", "fournos.dev/v1", CLUSTER)):
        query = urllib.parse.urlencode({"kind": kind, "apiVersion": version, "ns": "hearth" if kind == "FournosCluster" else "", "name": name})
        yield f"/api/v1/objects?{query}"
        yield f"/api/v1/objects/tree?{query}"
    yield "/"


def test_no_answer_names_what_a_viewer_may_not_see(console, crowd, bea, boss):
    def marked(viewer):
        found = {}
        for path in paths(console, crowd):
            answer, data = viewer.request("GET", path)
            found[path] = (answer.status, MARK in data.decode("utf-8", "replace"))
        return found

    wait_for("what the lock blocks", lambda: MARK in json.dumps(boss.get("/api/v1/locks")))
    # Until then Hearth's own message in the FournosCluster, which bea may read, names the jobs that the lock waits for.
    wait_for("the lock", lambda: boss.get("/api/v1/locks")["items"][0]["state"] == "Held")
    wait_for("the waiting job's explanation", lambda: MARK in json.dumps(boss.get(f"/api/v1/jobs/{TEAM}/rights-job/explain")))
    everything, seen = marked(boss), marked(bea)
    named = sorted(path for path, (_, mark) in everything.items() if mark)
    assert len(named) > 8, f"the marks are on few pages: {named}"
    leaks = sorted(path for path, (_, mark) in seen.items() if mark)
    assert not leaks, leaks
    shown = [path for path, (status, _) in seen.items() if status == 200]
    assert len(shown) > 15, f"most pages answer: {seen}"


def test_hidden_workloads_are_counted_in_an_explanation(crowd, bea, boss):
    path = f"/api/v1/jobs/{TEAM}/rights-job/explain"
    whole = wait_for("who is ahead", lambda: (found := boss.get(path))["ahead"] and found)
    assert any(MARK in one["workload"] for one in whole["ahead"]) and "hidden" not in whole, whole
    part = bea.get(path)
    assert part["hidden"] >= 1 and MARK not in json.dumps(part), part
    assert part["position"] == whole["position"], "the count stays"


def test_counts_of_queues_are_marked_partial(bea, boss):
    """T9 of docs/spec/dashboard.md."""
    assert bea.get("/api/v1/queue")["partial"] is True
    assert boss.get("/api/v1/queue")["partial"] is False


def test_pages_say_that_their_numbers_are_partial(lab, console, crowd, tabs):  # noqa: F811
    tab = tabs(f"http://{console.host}")
    page = tab.page
    page.goto(f"{tab.url}/login")
    page.locator("form.login input").fill(lab.kubectl("create", "token", "bea", "-n", TEAM).out.strip())
    page.locator("form.login button[type=submit]").click()
    page.wait_for_url(f"{tab.url}/")
    for path in ("/", "/gpus", "/insights", "/queue", "/locks", "/mig", "/numa", f"/clusters/{CLUSTER}"):
        tab.open(path).locator("text=Partial:").or_(tab.page.locator(".empty")).first.wait_for(state="attached")


def follow(console, viewer, topics):
    connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=DEADLINE)
    connection.request("GET", f"/api/v1/stream?topics={topics}", headers={"Host": console.host, "Cookie": viewer.cookie})
    answer = connection.getresponse()
    assert answer.status == 200
    return connection, answer


def read_until(stream, text):
    seen, end = "", time.monotonic() + DEADLINE
    while text not in seen:
        assert time.monotonic() < end, seen[-2000:]  # beats of an open stream keep its time-out away
        line = stream.readline().decode()
        assert line, f"the stream ended: {seen[-2000:]}"
        seen += line
    return seen


def test_streams_name_no_hidden_jobs(console, crowd, bea, boss):
    """A row of the whole cluster may name jobs: those that a lock blocks, the next one."""
    wait_for("what the lock blocks", lambda: MARK in json.dumps(boss.get("/api/v1/locks")))
    topics = "clusters,locks,mig,numa,nodes,workloads,jobs,appwrappers,schedules"
    streams = [follow(console, viewer, topics) for viewer in (boss, bea)]
    try:
        for number in range(2):  # the state of the lock and what it blocks may come apart
            lock = {"owner": f"lock-holder-{number}", "ttl": "2h", "transfer": True}
            # Hearth may write the cluster between the console's read and its write: 409.
            wait_for("the lock", lambda lock=lock: boss.request("PUT", f"/api/v1/clusters/{CLUSTER}/lock", lock)[0].status == 200)
            all_rows, part = (read_until(stream, f"lock-holder-{number}") for _, stream in streams)
            assert MARK not in part, part
        assert MARK in all_rows, "the row names the job that waits"
        wait_for("what the lock blocks", lambda: any(MARK in name for name in boss.get("/api/v1/locks")["items"][0]["blocks"]))
        shown = lambda: bea.get("/api/v1/locks")["items"][0]  # noqa: E731
        wait_for("the lock", lambda: shown()["holder"] == "lock-holder-1" and shown()["blocks"] == [f"{TEAM}/rights-job"])
    finally:
        for connection, _ in streams:
            connection.close()
