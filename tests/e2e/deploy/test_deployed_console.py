# SPDX-License-Identifier: Apache-2.0
"""The console as deploy/kustomize/console runs it: its flags, its environment, its account's rights. It follows every kind that it shows, people log
in with tokens, and each sees and does what they may and no more (T9 of docs/spec/dashboard.md)."""

import http.client
import json
import re
import shutil
import signal
import subprocess

import pytest
import yaml
from support import ATHANOR, DEADLINE, KUBECTL, ROOT, Lab, run, wait_for

FOLDER = ROOT / "deploy/kustomize/console"
SYSTEM, WORKLOAD, OTHER = "athanor-system", "psap-automation", "other-team"
ACCOUNT = f"system:serviceaccount:{SYSTEM}:athanor-console"
JOB = {"apiVersion": "fournos.dev/v1", "kind": "FournosJob", "spec": {"owner": "o", "cluster": "cluster-1", "forge": {"project": "p", "args": []}}}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A lab with the console's objects, and two people: of one namespace, and of the whole cluster."""
    one = Lab(tmp_path_factory.mktemp("console") / "lab", ["--pods", "timed", "--lab", str(ROOT / "tests/e2e/data/cluster.yaml")])
    try:
        one.start()
        for namespace in (SYSTEM, WORKLOAD, OTHER):
            one.kubectl("create", "namespace", namespace)
        one.kubectl("apply", "--server-side", "--validate=strict", "-k", FOLDER)
        for name in ("member", "root"):
            one.kubectl("create", "serviceaccount", name, "-n", WORKLOAD)
        one.kubectl("create", "role", "jobs", "-n", WORKLOAD, "--verb=get,list,create,patch", "--resource=fournosjobs.fournos.dev")
        one.kubectl("create", "rolebinding", "jobs", "-n", WORKLOAD, "--role=jobs", f"--serviceaccount={WORKLOAD}:member")
        one.kubectl("create", "clusterrolebinding", "root-of-tests", "--clusterrole=cluster-admin", f"--serviceaccount={WORKLOAD}:root")
        for namespace in (WORKLOAD, OTHER):
            one.kubectl("create", "-f", "-", stdin=json.dumps({**JOB, "metadata": {"name": f"job-of-{namespace}", "namespace": namespace}}))
        yield one
    finally:
        one.close()


class Person:
    """Somebody who logged in; changes carry the session's token and the origin of the pages."""

    def __init__(self, cluster, port, name):
        self.port, self.headers = port, {"Host": f"127.0.0.1:{port}", "Origin": f"http://127.0.0.1:{port}", "Content-Type": "application/json"}
        token = cluster.kubectl("create", "token", name, "-n", WORKLOAD).out.strip()
        status, headers, session = self.ask("POST", "/api/v1/login", {"token": token})
        assert status == 200, session
        self.headers["Cookie"] = headers["Set-Cookie"].partition(";")[0]
        self.headers["X-Athanor-CSRF"] = session["csrf"]

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        try:
            connection.request(method, path, body=json.dumps(body) if body is not None else None, headers=self.headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, json.loads(answer.read())
        finally:
            connection.close()

    def get(self, path):
        status, _, body = self.ask("GET", f"/api/v1/{path}")
        assert status == 200, (path, body)
        return body


def deployed(cluster, folder, **more):
    """The Deployment's container on this machine; of its environment what `more` names is another."""
    objects = {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(run([KUBECTL, "kustomize", FOLDER]).out)}
    pod = objects["Deployment", "athanor-console"]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    token = cluster.kubectl("create", "token", pod["serviceAccountName"], "-n", SYSTEM).out.strip()
    access = yaml.safe_load(cluster.kubeconfig.read_text(encoding="utf-8"))
    access["users"][0]["user"] = {"token": token}
    (folder / "kubeconfig").write_text(yaml.safe_dump(access), encoding="utf-8")
    arguments = [arg.replace("0.0.0.0:8000", "127.0.0.1:0").replace("/var/lib/athanor-console", str(folder)) for arg in container["args"]]
    environment = {**{one["name"]: one["value"] for one in container["env"]}, "KUBECONFIG": str(folder / "kubeconfig"), **more}
    out = folder / "log"
    with open(out, "wb") as stream:
        process = subprocess.Popen([ATHANOR, *arguments], stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, env=environment, cwd="/")
    return process, out


@pytest.fixture
def console(cluster, tmp_path):
    """console(CONSOLE_READ_ONLY="true") starts one and returns its port."""
    running = []

    def start(**more):
        folder = tmp_path / str(len(running))
        folder.mkdir()
        process, out = deployed(cluster, folder, **more)
        running.append(process)
        return int(wait_for("the console's address", lambda: re.search(r"console: http://127\.0\.0\.1:(\d+)/", out.read_text(encoding="utf-8"))).group(1))

    yield start
    for one in running:
        one.send_signal(signal.SIGKILL)
        one.wait(DEADLINE)


def test_it_follows_what_it_shows_and_its_probes_answer(cluster, console):
    port = console()
    root = Person(cluster, port, "root")
    wait_for("all kinds to be listed", lambda: all(one["listed"] or one.get("error") for one in root.get("system")["watches"]))
    refused = [(one["kind"], one["error"]) for one in root.get("system")["watches"] if "forbidden" in one.get("error", "").lower()]
    assert not refused
    assert not [one for one in root.get("system")["features"] if "may not list" in one.get("reason", "")]
    for path, text in (("/healthz", "ok"), ("/readyz", "ok"), ("/metrics", "athanor_console_connected 1")):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
        connection.request("GET", path, headers={"Host": "10.0.0.7:8000"})  # as the kubelet and Prometheus ask
        answer = connection.getresponse()
        assert answer.status == 200 and text in answer.read().decode(), path
        connection.close()
    for page in ("overview", "problems", "jobs", "queue", "clusters", "locks", "gpus", "nodes", "mig", "numa", "appwrappers", "schedules", "insights"):
        root.get(page)


def test_a_member_sees_and_changes_one_namespace(cluster, console):
    port = console(CONSOLE_NAMESPACES="*")
    # The rights of a console of one namespace do not reach further: what it cannot list is named, not left out in silence.
    member = Person(cluster, port, "member")
    assert member.get("session")["user"] == f"system:serviceaccount:{WORKLOAD}:member"
    assert {row["ns"] for row in member.get("jobs")["items"]} <= {WORKLOAD}
    job = {**JOB, "metadata": {"generateName": "made-", "namespace": OTHER}}
    status, _, body = member.ask("POST", "/api/v1/jobs", job)
    assert status == 403, body


def test_changes_are_the_persons_own(cluster, console):
    port = console()
    member = Person(cluster, port, "member")
    wait_for("the job", lambda: [row["name"] for row in member.get("jobs")["items"] if row["name"] == f"job-of-{WORKLOAD}"])
    status, _, body = member.ask("POST", f"/api/v1/jobs/{WORKLOAD}/job-of-{WORKLOAD}/stop", {})
    assert status == 200, body
    status, _, body = member.ask("DELETE", f"/api/v1/jobs/{WORKLOAD}/job-of-{WORKLOAD}")
    assert status == 403 and "member" in body["error"]["message"], body
    status, _, body = member.ask("GET", "/api/v1/queue")
    assert status == 403 and "clusterqueues" in body["error"]["message"], body
    member.headers["X-Athanor-CSRF"] = "forged"
    assert member.ask("POST", f"/api/v1/jobs/{WORKLOAD}/job-of-{WORKLOAD}/stop", {})[0] == 403
    member.headers["Cookie"] = "athanor_console=forged"
    assert member.ask("GET", "/api/v1/jobs")[0] == 401


def test_a_read_only_console_refuses_what_the_person_may(cluster, console):
    root = Person(cluster, console(CONSOLE_READ_ONLY="true"), "root")
    status, _, body = root.ask("POST", f"/api/v1/jobs/{WORKLOAD}/job-of-{WORKLOAD}/stop", {})
    assert status == 403 and "read-only" in body["error"]["message"]


@pytest.mark.parametrize(
    ("verb", "what", "namespace", "allowed"),
    [
        ("watch", "fournosjobs.fournos.dev", WORKLOAD, True),
        ("watch", "fournosjobs.fournos.dev", OTHER, False),
        ("list", "pods", OTHER, True),
        ("get", "pods/log", WORKLOAD, True),
        ("get", "pods/log", OTHER, False),
        ("impersonate", "users", None, True),
        ("create", "tokenreviews.authentication.k8s.io", None, True),
        ("create", "subjectaccessreviews.authorization.k8s.io", None, True),
        ("get", "secrets", WORKLOAD, False),
        ("create", "pods", WORKLOAD, False),
        ("patch", "fournosjobs.fournos.dev", WORKLOAD, False),
        ("patch", "fournosclusters.fournos.dev", WORKLOAD, False),
    ],
)
def test_its_account_may_do_this_and_not_that(cluster, verb, what, namespace, allowed):
    resource, _, subresource = what.partition("/")
    resource, _, group = resource.partition(".")
    attributes = {"verb": verb, "group": group, "resource": resource, "subresource": subresource, **({"namespace": namespace} if namespace else {})}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": ACCOUNT, "resourceAttributes": attributes}}
    answer = cluster.http("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    assert answer.code == 201 and answer.json["status"]["allowed"] is allowed, answer.text


def test_a_namespace_that_no_queue_takes_is_a_cause(cluster, console):
    """The console reads namespaces, so an explanation names a namespaceSelector that does not match."""
    kueue, name = "kueue.x-k8s.io/v1beta2", "choosy"
    group = {"coveredResources": ["cpu"], "flavors": [{"name": name, "resources": [{"name": "cpu", "nominalQuota": "1"}]}]}
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}]}}
    objects = [
        {"kind": "ResourceFlavor", "metadata": {"name": name}, "spec": {}},
        {"kind": "ClusterQueue", "metadata": {"name": name}, "spec": {"namespaceSelector": {"matchLabels": {"team": "x"}}, "resourceGroups": [group]}},
        {"kind": "LocalQueue", "metadata": {"name": name, "namespace": WORKLOAD}, "spec": {"clusterQueue": name}},
        {"kind": "Workload", "metadata": {"name": name, "namespace": WORKLOAD}, "spec": {"queueName": name, "podSets": [{"name": "main", "count": 1, "template": template}]}},
    ]
    for one in objects:
        cluster.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": kueue, **one}))
    root = Person(cluster, console(), "root")
    why = wait_for("the cause", lambda: [one for one in root.get(f"workloads/{WORKLOAD}/{name}/explain").get("causes", []) if "spec.namespaceSelector" in one["text"]])
    assert why[0]["object"] == f"ClusterQueue/{name}" and WORKLOAD in why[0]["text"]
    assert "namespaces" not in root.get(f"workloads/{WORKLOAD}/{name}/explain").get("missing", [])


def test_pods_of_schedules_run_an_overlays_image(tmp_path):
    """By the overlay of docs/console.md, On a cluster."""
    text = (ROOT / "docs/console.md").read_text(encoding="utf-8").split("\n## On a cluster\n")[1].split("\n## ")[0]
    (overlay,) = [block for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if "replacements:" in block]
    shutil.copytree(ROOT / "deploy", tmp_path / "athanor/deploy")
    (tmp_path / "kustomization.yaml").write_text(overlay, encoding="utf-8")
    done = run([KUBECTL, "kustomize", tmp_path])
    assert done.code == 0, done.err
    objects = {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(done.out)}
    (container,) = objects["Deployment", "athanor-console"]["spec"]["template"]["spec"]["containers"]
    images = container["image"], next(one["value"] for one in container["env"] if one["name"] == "CONSOLE_SUBMIT_IMAGE")
    assert images == ("REGISTRY/athanor:0.1.0", "REGISTRY/athanor:0.1.0")


def test_schedules_have_an_account_that_may_submit(cluster, console):
    root = Person(cluster, console(), "root")
    form = {"name": "deployed", "project": "llm", "cluster": "cluster-1", "cron_expr": "0 3 * * *"}
    status, _, body = root.ask("POST", "/api/v1/schedules", {**form, "service_account": "ghost"})
    assert status == 422 and body["error"]["field"] == "service_account", body
    status, _, body = root.ask("POST", "/api/v1/schedules", form)
    assert status == 201, body
    pod = json.loads(cluster.kubectl("get", "cronjob", "deployed", "-n", WORKLOAD, "-o", "json").out)["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "athanor-submit" and pod["containers"][0]["image"].startswith("athanor:")
    account = f"--as=system:serviceaccount:{WORKLOAD}:athanor-submit"
    assert cluster.kubectl("auth", "can-i", "create", "fournosjobs.fournos.dev", "-n", WORKLOAD, account).out.strip() == "yes"
    assert cluster.kubectl("auth", "can-i", "list", "fournosjobs.fournos.dev", "-n", WORKLOAD, account, code=None).out.strip() == "no"
    status, _, body = root.ask("POST", "/api/v1/schedules/deployed/trigger", {})
    assert status == 200, body

    def submitted():
        jobs = json.loads(cluster.kubectl("get", "fournosjobs", "-n", WORKLOAD, "-l", "fournos-launcher/schedule-name=deployed", "-o", "json").out)["items"]
        return [one["metadata"]["labels"]["fournos-launcher/trigger-type"] for one in jobs]

    assert wait_for("its job", submitted) == ["manual"]
