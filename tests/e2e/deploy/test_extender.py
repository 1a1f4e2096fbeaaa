# SPDX-License-Identifier: Apache-2.0
"""`athanor extender` beside a scheduler that is not the lab's: the tests play a kube-scheduler (filter, prioritize, bind, preempt) for
pods with a schedulerName that the lab leaves alone."""

import concurrent.futures
import http.client
import json
import re
import signal
import ssl
import subprocess

import pytest
import yaml
from replica import Replica
from support import ATHANOR, DEADLINE, ROOT, free_port, run, wait_for

CLAIMS = "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/allocationclaims"
QUICK = ("--lease-duration=3s", "--renew-deadline=2s", "--retry-period=200ms")


class Extender(Replica):
    """One extender of a lab, and the scheduler that asks it."""

    def __init__(self, lab, log, *flags, port=0):
        super().__init__(
            [ATHANOR, "extender", "--kubeconfig", lab.kubeconfig, f"--address=127.0.0.1:{port}", "--metrics-address=127.0.0.1:0",
             "--leader-elect-resource-namespace=kube-system", *QUICK, *flags], log,
            env={**lab.env, "POD_NAME": log.stem},
        )  # fmt: skip

    @property
    def port(self):
        return int(re.search(r'"the extender is served".*?"address":"127\.0\.0\.1:(\d+)"', self.text).group(1))

    def send(self, verb, body, method="POST", context=None):
        """(status, text)."""
        connection = (
            http.client.HTTPSConnection("127.0.0.1", self.port, timeout=DEADLINE, context=context)
            if context
            else http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        )
        try:
            connection.request(method, f"/scheduler/{verb}", body=body if isinstance(body, (str, bytes)) else json.dumps(body))
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def ask_verb(self, verb, body):
        status, text = self.send(verb, body)
        assert status == 200, text
        return json.loads(text)

    def served(self):
        return "the extender is served" in self.text and self.ready()

    # ---- what a kube-scheduler does
    def filter(self, pod, nodes):
        return self.ask_verb("filter", {"Pod": pod, "Nodes": None, "NodeNames": nodes})

    def bind(self, pod, node):
        meta = pod["metadata"]
        return self.ask_verb("bind", {"PodName": meta["name"], "PodNamespace": meta["namespace"], "PodUID": meta["uid"], "Node": node})["Error"]

    def schedule(self, pod, nodes):
        """The node, or the reasons."""
        filtered = self.filter(pod, nodes)
        passed = filtered["NodeNames"]
        if not passed:
            return None, filtered
        scores = {one["Host"]: one["Score"] for one in self.ask_verb("prioritize", {"Pod": pod, "NodeNames": passed})}
        best = max(passed, key=lambda name: scores[name])
        error = self.bind(pod, best)
        return (best, "") if not error else (None, error)


@pytest.fixture
def das_lab(make_lab, tmp_path):
    nodes = [{"name": name, "capacity": {"cpu": 32, "memory": "128Gi"}, "gpus": {"model": "A100-PCIE-40GB", "count": 2}} for name in ("n1", "n2")]
    nodes.append({"name": "plain", "capacity": {"cpu": 8, "memory": "16Gi"}})
    file = tmp_path / "lab.yaml"
    file.write_text(yaml.safe_dump({"apiVersion": "athanor.dev/v1", "kind": "Lab", "nodes": nodes}), encoding="utf-8")
    lab = make_lab("--storage", "memory", "--lab", str(file), "--pods", "timed").start()
    wait_for("the GPUs are published", lambda: len(lab.get("/apis/inference.redhat.com/v1alpha1/nodeaccelerators")["items"]) == 2)
    return lab


@pytest.fixture
def replicas(tmp_path):
    running = []

    def make(lab, *flags, name=None, **more):
        one = Extender(lab, tmp_path / f"{name or f'extender-{len(running)}'}.log", *flags, **more)
        running.append(one)
        return one

    yield make
    for one in running:
        one.end(signal.SIGKILL)


def pod(lab, name, profile="1g.5gb", count=1, priority=None, scheduler="other"):
    answer = lab.http("POST", "/api/v1/namespaces/default/pods", {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "labels": {"das.inference.redhat.com/mutate": "false"}},
        "spec": {"schedulerName": scheduler, "priorityClassName": priority, "containers": [{
            "name": "c", "image": "busybox", "command": ["sleep", "3600"],
            "resources": {"limits": {f"mig.das.com/{profile}": str(count)}, "requests": {f"mig.das.com/{profile}": str(count)}}}]},
    })  # fmt: skip
    assert answer.code == 201, answer.text
    return answer.json


def test_metrics_over_tls_are_for_those_who_may_read_them(das_lab, replicas):
    """docs/spec/das.md 11, V6."""
    one = replicas(das_lab, "--metrics-secure", "--health-address=127.0.0.2:0")
    wait_for("the port", lambda: "metrics are served over TLS" in one.text)
    port = int(re.search(r'"metrics are served over TLS".*?"address":"127\.0\.0\.1:(\d+)"', one.text).group(1))
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    def scrape(account=None):
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=DEADLINE, context=context)
        token = das_lab.kubectl("create", "token", account, "-n", "default").out.strip() if account else ""
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"} if account else {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    for name in ("reader", "stranger"):
        das_lab.kubectl("create", "serviceaccount", name, "-n", "default")
    das_lab.kubectl("create", "clusterrole", "scrape", "--verb=get", "--non-resource-url=/metrics")
    das_lab.kubectl("create", "clusterrolebinding", "scrape", "--clusterrole=scrape", "--serviceaccount=default:reader")
    assert scrape()[0] == 401 and scrape("stranger")[0] == 403
    status, text = scrape("reader")
    assert status == 200 and "athanor_caches_synced" in text
    wait_for("readiness on its own port", one.ready)
    roles = [one for one in yaml.safe_load_all(run([ATHANOR, "extender", "--print-rbac", "--metrics-secure"]).out) if one["kind"] == "ClusterRole"]
    plain = [one for one in yaml.safe_load_all(run([ATHANOR, "extender", "--print-rbac"]).out) if one["kind"] == "ClusterRole"]
    reviews = [r["resources"] for one in roles for r in one["rules"] if r not in [p for q in plain for p in q["rules"]]]
    assert reviews == [["tokenreviews"], ["subjectaccessreviews"]]


def phase(lab, name):
    return lab.get(f"/api/v1/namespaces/default/pods/{name}").get("status", {}).get("phase")


def claims(lab):
    return lab.get(CLAIMS)["items"]


def check_slots(found):
    taken = {}
    for claim in found:
        spec = claim["spec"]
        start = spec["migPlacement"]["start"]
        for slot in range(start, start + spec["migPlacement"]["size"]):
            owner = taken.setdefault((spec["gpuUUID"], slot), spec["podRef"]["uid"])
            assert owner == spec["podRef"]["uid"], f"slot {slot} of {spec['gpuUUID']} is promised twice"


def test_a_pod_runs_with_its_slice(das_lab, replicas):
    extender = replicas(das_lab)
    wait_for("the extender answers", extender.served)
    one = pod(das_lab, "p")
    filtered = extender.filter(one, ["n1", "n2", "plain"])
    assert filtered["NodeNames"] == ["n1", "n2"] and filtered["FailedAndUnresolvableNodes"] == {"plain": "node not MIG capable"}
    node, why = extender.schedule(one, ["n1", "n2", "plain"])
    assert node == "n1", why
    wait_for("the pod runs", lambda: phase(das_lab, "p") == "Running")
    (claim,) = claims(das_lab)
    assert claim["spec"]["podRef"]["uid"] == one["metadata"]["uid"] and claim["spec"]["nodename"] == "n1"
    assert extender.bind(one, "n1") == "", "bound already"
    assert "already assigned" in extender.bind(one, "n2")
    metrics = extender.get("/metrics")
    assert 'athanor_extender_requests_total{code="200",verb="bind"}' in metrics and "das_schedule_seconds_count 1" in metrics
    das_lab.kubectl("delete", "pod", "p", "--wait=false")
    wait_for("the claim is gone", lambda: claims(das_lab) == [])
    assert not extender.denied()


def test_what_came_and_went_between_two_questions_holds_nothing(das_lab, replicas):
    """A pod that is bound and deleted before anybody asks again: its slots are free at once."""
    extender = replicas(das_lab)
    wait_for("the extender answers", extender.served)
    short = pod(das_lab, "short", profile="7g.40gb", count=2)
    assert extender.schedule(short, ["n1"])[0] == "n1"
    wait_for("it runs", lambda: phase(das_lab, "short") == "Running")
    das_lab.kubectl("delete", "pod", "short", "--wait=false")
    wait_for("the claims are gone", lambda: claims(das_lab) == [])
    following = pod(das_lab, "following", profile="7g.40gb", count=2)
    wait_for("the next pod is placed", lambda: extender.schedule(following, ["n1"])[0] == "n1", deadline=10)


def test_a_claim_that_goes_touches_its_node(das_lab, replicas):
    """docs/spec/das.md 7.3 X8: what a kube-scheduler hears of is the node."""
    extender = replicas(das_lab)
    wait_for("the extender answers", extender.served)
    holder = pod(das_lab, "holder", profile="7g.40gb", count=2)
    assert extender.schedule(holder, ["n1"])[0] == "n1"
    waits = pod(das_lab, "waits", profile="7g.40gb", count=2)
    refused = {"status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1: 1 no GPU available."}]}}
    path = "/api/v1/namespaces/default/pods/waits/status"
    assert das_lab.http("PATCH", path, refused, content_type="application/merge-patch+json").code == 200
    digest = lambda: das_lab.get("/api/v1/nodes/n1")["metadata"].get("annotations", {}).get("das.inference.redhat.com/claims")  # noqa: E731
    before = wait_for("the node's claims are noted", digest)
    das_lab.kubectl("delete", "pod", "holder", "--wait=false")
    wait_for("the node is touched", lambda: digest() != before)
    wait_for("the pod that waited has its slices", lambda: extender.schedule(waits, ["n1"])[0] == "n1")


def test_bad_questions_get_a_sentence(das_lab, replicas):
    extender = replicas(das_lab)
    wait_for("the extender answers", extender.served)
    for verb, body, status, sentence in (
        ("filter", "{", 400, "the body is no JSON"),
        ("filter", "", 400, "the body is no JSON"),
        ("filter", "[]", 400, "must be a JSON object"),
        ("filter", {"Pod": {"metadata": {}}, "NodeNames": []}, 400, "metadata.uid"),
        ("prioritize", {"Pod": None}, 400, "Pod must be an object"),
        ("bind", {"PodName": 7}, 400, "PodName must be a text"),
        ("preempt", {"Pod": 3}, 400, "Pod must be an object"),
        ("preempt", "[" * 100_000, 400, "the body is no JSON"),
        ("else", {}, 404, "there is no /scheduler/else"),
    ):
        got, text = extender.send(verb, body)
        assert got == status and sentence in json.loads(text)["Error"], (verb, body, got, text)
    assert extender.send("filter", "", method="GET")[0] == 405
    missing = {"PodName": "none", "PodNamespace": "default", "PodUID": "u", "Node": "n1"}
    assert "not found" in extender.ask_verb("bind", missing)["Error"]
    one = pod(das_lab, "p")
    assert extender.bind(one, "nowhere") == "node not found"
    assert extender.process.poll() is None and claims(das_lab) == []


def test_bindings_at_once_promise_no_slot_twice(das_lab, replicas):
    """Forty pods want 28 slots: all are bound at the same time, each where the filter said that there is room."""
    extender = replicas(das_lab)
    wait_for("the extender answers", extender.served)
    pods = [pod(das_lab, f"p{i}", count=2 if i % 8 == 0 else 1) for i in range(40)]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda one: extender.schedule(one, ["n1", "n2"]), pods))
    bound = [node for node, _ in results if node]
    found = claims(das_lab)
    check_slots(found)
    assert len(found) == 28, [why for _, why in results]
    assert {c["spec"]["podRef"]["uid"] for c in found} == {p["metadata"]["uid"] for p, (node, _) in zip(pods, results) if node}
    assert all("no GPU available" in str(why) for node, why in results if not node)
    wait_for("those bound run", lambda: sum(phase(das_lab, f"p{i}") == "Running" for i in range(40)) == len(bound))


def test_two_replicas_one_answers(das_lab, replicas):
    first, second = replicas(das_lab), replicas(das_lab)
    wait_for("one leads", lambda: [one.text.count("the cluster is seen") for one in (first, second)] in ([1, 0], [0, 1]))
    leader, other = (first, second) if "the cluster is seen" in first.text else (second, first)
    wait_for("the leader is ready", leader.served)
    wait_for("the other has started", lambda: other.ask("/livez")[0] == 200)
    assert other.ask("/readyz")[0] == 503
    one = pod(das_lab, "p", profile="7g.40gb", count=2)
    status, text = other.send("filter", {"Pod": one, "NodeNames": ["n1"]})
    assert status == 503 and "does not lead" in text
    assert leader.schedule(one, ["n1"])[0] == "n1"
    leader.end(signal.SIGKILL)
    wait_for("the other leads", other.served)
    # What the first one promised counts at once.
    late = pod(das_lab, "late")
    assert other.filter(late, ["n1", "n2"])["NodeNames"] == ["n2"]
    check_slots(claims(das_lab))


def test_killed_between_claims_and_binding(das_lab, replicas):
    """The claims are there, the binding is refused and never comes: the next extender takes them over, and nothing leaks."""
    extender = replicas(das_lab, "--leader-elect=false")
    wait_for("the extender answers", extender.served)
    pods = [pod(das_lab, f"p{i}") for i in range(20)]
    bodies = [{"PodName": p["metadata"]["name"], "PodNamespace": "default", "PodUID": p["metadata"]["uid"], "Node": "n1"} for p in pods[:14]]
    connections = []
    for body in bodies:  # asked, and not waited for
        connection = http.client.HTTPConnection("127.0.0.1", extender.port, timeout=DEADLINE)
        connection.request("POST", "/scheduler/bind", body=json.dumps(body))
        connections.append(connection)
    wait_for("some claims are written", lambda: len(claims(das_lab)) >= 2, interval=0.001)
    extender.end(signal.SIGKILL)
    for connection in connections:
        connection.close()
    again = replicas(das_lab, "--leader-elect=false")
    wait_for("the next one answers", again.served)
    check_slots(claims(das_lab))
    for one in pods:
        again.schedule(one, ["n1"])
    found = claims(das_lab)
    check_slots(found)
    assert len(found) == 14
    wait_for("fourteen run", lambda: sum(phase(das_lab, f"p{i}") == "Running" for i in range(20)) == 14)


def test_preempt_adds_who_holds_the_slots(das_lab, replicas):
    extender = replicas(das_lab, "--preemption=off")
    wait_for("the extender answers", extender.served)
    das_lab.kubectl("create", "priorityclass", "high", "--value=1000")
    low = pod(das_lab, "low", profile="7g.40gb", count=2)
    assert extender.schedule(low, ["n1"])[0] == "n1"
    high = pod(das_lab, "high", profile="3g.20gb", priority="high")
    assert extender.schedule(high, ["n1"])[1]["FailedNodes"] == {"n1": "no GPU available"}
    asked = {"Pod": high, "NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "somebody"}], "NumPDBViolations": 0}, "plain": {"Pods": [{"UID": "x"}]}}}
    answer = extender.ask_verb("preempt", asked)["NodeNameToMetaVictims"]
    assert list(answer) == ["n1"]
    assert low["metadata"]["uid"] in [one["UID"] for one in answer["n1"]["Pods"]]


def test_a_pod_that_lacks_slots_alone_preempts_by_itself(das_lab, replicas):
    """kube-scheduler's own trial, without the extender, finds no victims: it does not ask."""
    extender = replicas(das_lab)
    wait_for("the extender answers", extender.served)
    for name, value in (("little", 1), ("urgent", 10), ("most", 50)):
        das_lab.kubectl("create", "priorityclass", name, f"--value={value}")
    for name, priority in (("low", "little"), ("lower", None), ("dear", "most"), ("dearer", "most")):
        assert extender.schedule(pod(das_lab, name, "7g.40gb", priority=priority), ["n2" if priority == "most" else "n1"])[0]
    wait_for("all run", lambda: [phase(das_lab, name) for name in ("low", "lower", "dear", "dearer")] == ["Running"] * 4)
    waiting = pod(das_lab, "waiting", "3g.20gb", priority="urgent")
    assert extender.filter(waiting, ["n1", "n2"])["NodeNames"] == []
    wait_for("the least important pod leaves", lambda: das_lab.http("GET", "/api/v1/namespaces/default/pods/lower").code == 404)
    assert [phase(das_lab, name) for name in ("low", "dear", "dearer")] == ["Running"] * 3
    events = das_lab.get("/api/v1/namespaces/default/events")["items"]
    preempted = [event["involvedObject"]["name"] for event in events if event["reason"] == "Preempted"]
    assert preempted == ["lower"]
    wait_for("the slots are free", lambda: extender.filter(waiting, ["n1", "n2"])["NodeNames"] == ["n1"])


def test_https_and_a_certificate_that_changes(das_lab, replicas, tmp_path):
    def certificate(name):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj", f"/CN={name}",
             "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", tmp_path / "tls.key", "-out", tmp_path / "tls.crt"],
            check=True, capture_output=True,
        )  # fmt: skip
        return ssl.create_default_context(cadata=(tmp_path / "tls.crt").read_text())

    trusted = certificate("one")
    extender = replicas(das_lab, f"--tls-cert-file={tmp_path / 'tls.crt'}", f"--tls-private-key-file={tmp_path / 'tls.key'}")
    wait_for("the extender answers", extender.served)
    one = pod(das_lab, "p")
    status, text = extender.send("filter", {"Pod": one, "NodeNames": ["n1"]}, context=trusted)
    assert status == 200 and json.loads(text)["NodeNames"] == ["n1"]
    renewed = certificate("two")

    def taken_over():
        try:
            return extender.send("filter", {"Pod": one, "NodeNames": ["n1"]}, context=renewed)[0] == 200
        except ssl.SSLError:
            return False

    wait_for("the new certificate is served", taken_over)


TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"


@pytest.fixture
def zones_lab(make_lab):
    lab = make_lab("--storage", "memory", "--lab", str(ROOT / "examples/numa/lab.yaml"), "--pods", "timed").start()
    lab.kubectl("apply", "-f", ROOT / "examples/numa/operator.yaml")
    wait_for("zones are published", lambda: len(lab.get(TOPOLOGIES)["items"]) == 2)
    return lab


def zoned(lab, name, cpu, **spec):
    answer = lab.http("POST", "/api/v1/namespaces/default/pods", {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"schedulerName": "other", **spec, "containers": [{
            "name": "c", "image": "pause", "resources": {"limits": {"cpu": str(cpu), "memory": "1Gi"}}}]},
    })  # fmt: skip
    assert answer.code == 201, answer.text
    return answer.json


def test_zones_beside_slices(zones_lab, replicas):
    lab = zones_lab
    extender = replicas(lab, "--zones-for=other", "--zones-scoring=LeastNUMANodes")
    wait_for("the extender answers", extender.served)
    workers = [node["metadata"]["name"] for node in lab.get("/api/v1/nodes")["items"] if node["metadata"]["name"].startswith("worker")]
    wide = extender.filter(zoned(lab, "wide", 14), workers)
    assert not wide["NodeNames"] and set(wide["FailedNodes"].values()) == {"cannot align container"}
    node, why = extender.schedule(zoned(lab, "narrow", 5), workers)
    assert node in workers, why
    wait_for("the pod runs", lambda: phase(lab, "narrow") == "Running")


def test_a_pod_that_lacks_zones_alone_preempts_in_one_zone(zones_lab, replicas):
    lab = zones_lab
    extender = replicas(lab, "--zones-for=other")
    wait_for("the extender answers", extender.served)
    lab.kubectl("create", "priorityclass", "urgent", "--value=10")

    def free():
        zones = next(one["zones"] for one in lab.get(TOPOLOGIES)["items"] if one["metadata"]["name"] == "worker-1")
        return [one["available"] for zone in zones for one in zone["resources"] if one["name"] == "cpu"]

    for name, cpu, left in (("right", 12, ["6", "0"]), ("left", 6, ["0", "0"])):
        assert extender.schedule(zoned(lab, name, cpu), ["worker-1"])[0] == "worker-1"
        wait_for("its zone is published", lambda left=left: free() == left)
    urgent = zoned(lab, "urgent", 10, priorityClassName="urgent")
    assert extender.filter(urgent, ["worker-1"])["NodeNames"] == []
    wait_for("the pod of that zone leaves", lambda: lab.http("GET", "/api/v1/namespaces/default/pods/right").code == 404)
    assert phase(lab, "left") == "Running"
    wait_for("the zone is free", lambda: extender.filter(urgent, ["worker-1"])["NodeNames"] == ["worker-1"])


def test_the_schedulers_configuration_and_roles():
    done = run([ATHANOR, "extender", "--print-scheduler-config", "--url", "https://das-extender.das-operator.svc:9443", "--ca-file", "/ca.crt"])
    assert done.code == 0, done.err
    config = yaml.safe_load(done.out)
    (extender,) = config["extenders"]
    assert extender["urlPrefix"] == "https://das-extender.das-operator.svc:9443/scheduler" and extender["ignorable"] is False
    names = [one["name"] for one in extender["managedResources"]]
    assert "mig.das.com/1g.5gb" in names and "mig.das.com/1g.5gb-plus-me" in names and len(names) == len(set(names))
    assert config["profiles"] == [{"schedulerName": "das-scheduler"}]
    zones = yaml.safe_load(run([ATHANOR, "extender", "--print-scheduler-config", "--zones-for=topo"]).out)
    assert "managedResources" not in zones["extenders"][0] and {"schedulerName": "topo"} in zones["profiles"]
    assert run([ATHANOR, "extender", "--print-scheduler-config", "--url", "x"]).code == 2
    assert 'schedules nothing; known are das, numa' in run([ATHANOR, "extender", "--systems=fournos", "--print-rbac"]).err
    for preemption in ("on", "off"):
        rbac = run([ATHANOR, "extender", "--print-rbac", "--preemption", preemption])
        rules = [rule for one in yaml.safe_load_all(rbac.out) for rule in one.get("rules", [])]
        assert any("pods/binding" in rule["resources"] and rule["verbs"] == ["create"] for rule in rules)
        assert any("delete" in rule["verbs"] and "pods" in rule["resources"] for rule in rules) == (preemption == "on")
    assert run([ATHANOR, "extender", "--tls-cert-file=x"]).code == 2


def test_a_wrong_address_or_cluster_ends_the_start(das_lab):
    done = run([ATHANOR, "extender", "--kubeconfig", das_lab.kubeconfig, "--address=here"], env=das_lab.env)
    assert done.code == 1 and '"here" is no address: HOST:PORT' in done.err
    taken = free_port()
    done = run([ATHANOR, "extender", "--kubeconfig", das_lab.kubeconfig, f"--address=127.0.0.1:{taken}", "--tls-cert-file=/none", "--tls-private-key-file=/none", "--metrics-address=0"], env=das_lab.env)
    assert done.code == 1 and "/none" in done.err
