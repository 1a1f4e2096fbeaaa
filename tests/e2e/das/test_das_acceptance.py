# SPDX-License-Identifier: Apache-2.0
"""The checklist of docs/spec/das.md 17, from outside, on emulated nodes. The numbers are in the tests' names; docs/testing.md lists
them with the tests of other files that show the same."""

import http.client
import itertools
import json
import re
import threading
import time

import pytest
import yaml
from support import ATHANOR, ROOT, run, wait_for

LAB = ROOT / "examples/das/lab.yaml"
CLAIMS = "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/allocationclaims"
PODS = "/api/v1/namespaces/default/pods"
# profile: size, starts, most on one GPU
SHAPES = {
    "1g.5gb": (1, (0, 1, 2, 3, 4, 5, 6), 7),
    "1g.5gb+me": (1, (0, 1, 2, 3, 4, 5, 6), 1),
    "1g.10gb": (2, (0, 2, 4, 6), 4),
    "2g.10gb": (2, (0, 2, 4), 3),
    "3g.20gb": (4, (0, 4), 2),
    "4g.20gb": (4, (0,), 1),
    "7g.40gb": (8, (0,), 1),
}


@pytest.fixture
def lab(make_lab):
    lab = make_lab("--storage", "memory", "--lab", str(LAB)).start()
    wait_for("the node offers slices", lambda: offered(lab) == "14")
    return lab


def offered(lab, node="gpu-node", resource="mig.das.com/1g.5gb"):
    return lab.get(f"/api/v1/nodes/{node}").get("status", {}).get("allocatable", {}).get(resource)


def claims(lab):
    return lab.get(CLAIMS)["items"]


def places(lab):
    return sorted(
        (c["spec"]["profile"], c["spec"]["migPlacement"]["start"], c["spec"]["migPlacement"]["size"], c.get("status", {}).get("state"))
        for c in claims(lab)
    )


def pod(name, limits, command="env; exec sleep 3600", **spec):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "OnFailure",
            "containers": [
                {"name": "c", "image": "busybox", "command": ["sh", "-c", command], "resources": {"limits": {k: str(v) for k, v in limits.items()}}}
            ],
            **spec,
        },
    }


def slices(**counts):
    return {f"nvidia.com/mig-{k}": v for k, v in counts.items()}


def create(lab, *pods):
    for one in pods:
        answer = lab.http("POST", PODS, one)
        assert answer.code == 201, answer.text


def phase(lab, name):
    answer = lab.http("GET", f"{PODS}/{name}")
    return answer.json["status"].get("phase") if answer.code == 200 else None


def why(lab, name):
    conditions = lab.get(f"{PODS}/{name}").get("status", {}).get("conditions", [])
    return next((c.get("message", "") for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"), "")


def running(lab, *names):
    wait_for(f"{', '.join(names)} run", lambda: all(phase(lab, name) == "Running" for name in names))


def cdi_files(lab, node="gpu-node"):
    folder = lab.data / "nodes" / node / "var/run/cdi"
    return sorted(p.name for p in folder.glob("*.cdi.json")) if folder.exists() else []


def test_a01_a_pod_gets_its_slice(lab):
    create(lab, pod("p", {"nvidia.com/mig-1g.5gb": 1}))
    running(lab, "p")
    stored = lab.get(f"{PODS}/p")["spec"]
    assert stored["containers"][0]["resources"] == {"limits": {"mig.das.com/1g.5gb": "1"}, "requests": {"mig.das.com/1g.5gb": "1"}}
    assert stored["schedulerName"] == "das-scheduler" and stored["nodeName"] == "gpu-node"
    assert places(lab) == [("1g.5gb", 0, 1, "inUse")]
    wait_for("its environment", lambda: "NVIDIA_VISIBLE_DEVICES=test\n" in lab.kubectl("logs", "p").out)
    assert "CUDA_VISIBLE_DEVICES=0\n" in lab.kubectl("logs", "p").out


def test_a02_the_fifteenth_waits_for_room(lab):
    create(lab, *(pod(f"p{i}", {"nvidia.com/mig-1g.5gb": 1}) for i in range(14)))
    running(lab, *(f"p{i}" for i in range(14)))
    create(lab, pod("late", {"nvidia.com/mig-1g.5gb": 1}))
    wait_for("the reason", lambda: "Insufficient mig.das.com/1g.5gb" in why(lab, "late"))
    lab.kubectl("delete", "pod", "p5", "--wait=false")
    running(lab, "late")
    live = {p["metadata"]["uid"] for p in lab.get(PODS)["items"]}
    wait_for("claims are those of live pods", lambda: {c["spec"]["podRef"]["uid"] for c in claims(lab)} <= live and len(claims(lab)) == 14)


def test_a03_three_slices_in_one_container(lab):
    create(lab, pod("p", {"nvidia.com/mig-1g.5gb": 3}))
    running(lab, "p")
    assert [p[1] for p in places(lab)] == [0, 1, 2]
    wait_for("its environment", lambda: "NVIDIA_VISIBLE_DEVICES=test,test,test\n" in lab.kubectl("logs", "p").out)
    assert "CUDA_VISIBLE_DEVICES=0,1,2\n" in lab.kubectl("logs", "p").out


def test_a04_a_small_slice_then_a_double_one(lab):
    create(lab, pod("small", {"nvidia.com/mig-1g.5gb": 1}))
    running(lab, "small")
    create(lab, pod("double", {"nvidia.com/mig-2g.10gb": 1}))
    running(lab, "double")
    assert [(p[0], p[1]) for p in places(lab)] == [("1g.5gb", 0), ("2g.10gb", 2)]
    assert len({c["spec"]["gpuUUID"] for c in claims(lab)}) == 1


def test_a05_reasons_on_full_gpus(lab):
    create(lab, pod("a", {"nvidia.com/mig-7g.40gb": 1}), pod("b", {"nvidia.com/mig-7g.40gb": 1}))
    running(lab, "a", "b")
    create(lab, pod("c", {"nvidia.com/mig-7g.40gb": 1}), pod("d", {"nvidia.com/mig-1g.5gb": 1}))
    wait_for("the count is used up", lambda: "1 Insufficient mig.das.com/7g.40gb" in why(lab, "c"))
    wait_for("no place is left", lambda: "1 no GPU available" in why(lab, "d"))


def test_a06_what_a_deleted_pod_held_goes_soon(lab):
    create(lab, pod("p", {"nvidia.com/mig-1g.5gb": 1}, terminationGracePeriodSeconds=0))
    running(lab, "p")
    assert len(cdi_files(lab)) == 1
    lab.kubectl("delete", "pod", "p", "--grace-period=0", "--force")
    began = time.monotonic()
    wait_for("claim and file go", lambda: claims(lab) == [] and cdi_files(lab) == [])
    assert time.monotonic() - began < 5


def test_a07_a_restarted_container_has_the_same_device(lab):
    """Upstream defect of 8.7: there the slice is gone with the first container."""
    create(lab, pod("p", {"nvidia.com/mig-1g.5gb": 1}, command="env; sleep 1; exit 1"))
    wait_for("a claim in use", lambda: [p[3] for p in places(lab)] == ["inUse"])
    before, file = claims(lab)[0]["metadata"]["uid"], cdi_files(lab)

    def restarts():
        return next(iter(lab.get(f"{PODS}/p")["status"].get("containerStatuses", [])), {}).get("restartCount", 0)

    wait_for("a restart", lambda: restarts() >= 1)
    assert [c["metadata"]["uid"] for c in claims(lab)] == [before] and cdi_files(lab) == file
    wait_for("the device again", lambda: "NVIDIA_VISIBLE_DEVICES=test\n" in lab.kubectl("logs", "p").out)


def test_a08_a_restart_of_everything_loses_no_claim(make_lab):
    """Operator, scheduler, agent and kubelet of a lab are one process."""
    lab = make_lab("--lab", str(LAB)).start()
    create(lab, pod("p", {"nvidia.com/mig-1g.5gb": 2}), pod("q", {"nvidia.com/mig-3g.20gb": 1}))
    running(lab, "p", "q")
    before = sorted(c["metadata"]["uid"] for c in claims(lab))
    for stop in ("terminate", "kill"):
        getattr(lab.process, stop)()
        lab.process.wait(60)
        lab.start()
        began = time.monotonic()
        wait_for("capacity", lambda: offered(lab) == "14")
        assert time.monotonic() - began < 10
        running(lab, "p", "q")
        assert sorted(c["metadata"]["uid"] for c in claims(lab)) == before


def test_a09_a_node_without_its_label(lab):
    lab.kubectl("label", "node", "gpu-node", "nvidia.com/mig.capable-")
    create(lab, pod("p", {"nvidia.com/mig-1g.5gb": 1}))
    wait_for("the reason", lambda: any(r in why(lab, "p") for r in ("node not MIG capable", "Insufficient mig.das.com/1g.5gb")))
    wait_for("the agent leaves", lambda: offered(lab) is None and "1 Insufficient mig.das.com/1g.5gb" in why(lab, "p"))
    lab.kubectl("label", "node", "gpu-node", "nvidia.com/mig.capable=true")
    running(lab, "p")


def test_a10_conditions_and_policies(lab):
    url = "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/dasoperators/cluster"

    def conditions():
        return {c["type"]: c["status"] for c in lab.get(url).get("status", {}).get("conditions", [])}

    wait_for("available", lambda: conditions() == {"Available": "True", "Progressing": "False", "Degraded": "False"})
    ready = lab.get("/apis/apps/v1/namespaces/das-operator/deployments/das-operator")["status"]["readyReplicas"]
    assert lab.get(url)["status"]["readyReplicas"] == ready == 2
    policies = "/apis/networking.k8s.io/v1/namespaces/das-operator/networkpolicies"
    names = sorted(p["metadata"]["name"] for p in lab.get(policies)["items"])
    ingress, egress = ("extender", "metrics", "webhook"), ("cluster-dns", "extender", "kube-apiserver")
    assert names == [*(f"das-allow-egress-{one}" for one in egress), *(f"das-allow-ingress-{one}" for one in ingress), "das-deny-all"]
    for name in names:
        uid = lab.get(f"{policies}/{name}")["metadata"]["uid"]
        assert lab.http("DELETE", f"{policies}/{name}").code == 200
        wait_for("it comes back", lambda n=name, u=uid: lab.http("GET", f"{policies}/{n}").code == 200 and lab.get(f"{policies}/{n}")["metadata"]["uid"] != u)
    # Upstream defect of 10.4: there the status is written on every sync.
    version = lab.get(url)["metadata"]["resourceVersion"]
    time.sleep(2)
    assert lab.get(url)["metadata"]["resourceVersion"] == version


def test_a11_verbosity_follows_the_operator(lab):
    before = lab.err.count("debug") + lab.err.count("DEBUG")
    lab.kubectl("patch", "dasoperator", "cluster", "-n", "das-operator", "--type=merge", "-p", '{"spec":{"operatorLogLevel":"Debug"}}')
    create(lab, pod("p", {"nvidia.com/mig-1g.5gb": 1}))
    wait_for("more is said", lambda: len(lab.err.splitlines()) > 0 and lab.err.lower().count("debug") > before)
    assert lab.process.poll() is None


def test_a12_a_claim_outside_the_gpu(lab):
    body = {"apiVersion": "inference.redhat.com/v1alpha1", "kind": "AllocationClaim", "metadata": {"name": "bad"}, "spec": {"migPlacement": {"start": 7, "size": 4}}}
    answer = lab.http("POST", CLAIMS, body)
    assert answer.code == 422 and "migPlacement must lie within 8 memory slices" in answer.text
    create(lab, pod("p", {"nvidia.com/mig-7g.40gb": 2}))
    running(lab, "p")


class ClaimsWatch(threading.Thread):
    """Follows all claims from one revision on; remembers the first illegal instant, and what was written."""

    def __init__(self, lab, version):
        super().__init__(daemon=True)
        self.lab, self.version, self.held, self.problem, self.writes, self.ended = lab, version, {}, None, {}, False

    def run(self):
        connection = self.lab.connection(timeout=600)
        connection.request("GET", f"{CLAIMS}?watch=true&resourceVersion={self.version}", headers={"Authorization": f"Bearer {self.lab.token}"} if self.lab.token else {})
        answer = connection.getresponse()
        while not self.ended:
            try:
                line = answer.readline()
            except (OSError, http.client.HTTPException):
                return
            if not line:
                return
            event = json.loads(line)
            claim = event["object"]
            uid = claim["metadata"]["uid"]
            self.writes.setdefault(claim["spec"]["podRef"]["uid"], []).append((event["type"], claim.get("status", {}).get("state")))
            if event["type"] == "DELETED":
                self.held.pop(uid, None)
                continue
            self.held[uid] = claim["spec"]
            self.problem = self.problem or self.illegal(claim["spec"]["gpuUUID"])

    def illegal(self, gpu):
        taken, counts = set(), {}
        for spec in self.held.values():
            if spec["gpuUUID"] != gpu:
                continue
            start, size = spec["migPlacement"]["start"], spec["migPlacement"]["size"]
            wanted, starts, most = SHAPES[spec["profile"]]
            slots = set(range(start, start + size))
            counts[spec["profile"]] = counts.get(spec["profile"], 0) + 1
            if size != wanted or start not in starts or slots & taken or counts[spec["profile"]] > most:
                return f"{gpu}: {spec} beside {sorted(taken)}"
            taken |= slots
        return None


def fleet(tmp_path, nodes, gpus, **more):
    path = tmp_path / "lab.yaml"
    node = {"capacity": {"cpu": 400, "memory": "4000Gi", "pods": 1000}, "gpus": {"model": "A100-PCIE-40GB", "count": gpus}}
    path.write_text(yaml.safe_dump({"apiVersion": "athanor.dev/v1", "kind": "Lab", "nodes": [{"name": f"n{i}", **node} for i in range(nodes)], **more}))
    return path


def test_a13_a_thousand_pods_and_not_one_illegal_claim(make_lab, tmp_path):
    lab = make_lab("--storage", "memory", "--pods", "timed", "--lab", str(fleet(tmp_path, 10, 8))).start()
    wait_for("all nodes offer slices", lambda: all(offered(lab, f"n{i}") == "56" for i in range(10)))
    watch = ClaimsWatch(lab, lab.get(CLAIMS)["metadata"]["resourceVersion"])
    watch.start()
    profiles = ["1g.5gb", "1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "1g.5gb.me", "4g.20gb", "2g.10gb", "1g.5gb", "7g.40gb"]
    for number in range(1000):
        one = pod(f"p{number}", {f"nvidia.com/mig-{profiles[number % len(profiles)]}": 1}, command=f"sleep {3 + number % 40}", restartPolicy="Never")
        create(lab, one)
        if number % 7 == 0 and number > 50:
            lab.http("DELETE", f"{PODS}/p{number - 50}")

    def settled():
        waiting = [p for p in lab.get(PODS)["items"] if p["status"].get("phase") in (None, "Pending", "Running")]
        return not waiting and claims(lab) == []

    wait_for("all have run", settled, deadline=300, interval=1)
    watch.ended = True
    assert watch.problem is None, watch.problem
    # S-B3: at most two writes to a claim before its pod is bound, and none for another node.
    placed = [writes for writes in watch.writes.values() if any(state == "inUse" for _, state in writes)]
    assert len(placed) > 700
    for writes in placed:
        before = [w for w in itertools.takewhile(lambda w: w[1] not in ("processing", "inUse"), writes) if w[0] != "DELETED"]
        assert len(before) <= 2, writes


def legal_multisets():
    """Of the seven shapes of docs/spec/das.md 4.1, as sorted tuples; found by laying them out."""
    found = set()

    def lay(multiset, taken, counts, minimum):
        found.add(tuple(sorted(multiset)))
        options = [(p, s) for p in SHAPES for s in SHAPES[p][1]]
        for index in range(minimum, len(options)):
            profile, start = options[index]
            mask = ((1 << SHAPES[profile][0]) - 1) << start
            if not mask & taken and counts.get(profile, 0) < SHAPES[profile][2]:
                lay((*multiset, profile), taken | mask, {**counts, profile: counts.get(profile, 0) + 1}, index + 1)

    lay((), 0, {}, 0)
    return found


def test_a14_every_legal_multiset_and_no_other(make_lab, tmp_path):
    lab = make_lab("--storage", "memory", "--pods", "timed", "--lab", str(fleet(tmp_path, 1, 1))).start()
    wait_for("the node offers slices", lambda: offered(lab, "n0") == "7")
    legal = legal_multisets()
    assert len(legal) == 128
    maximal = [m for m in legal if not any(tuple(sorted((*m, p))) in legal for p in SHAPES)]
    assert len(maximal) == 44

    def ask(multiset):
        limits = {}
        for profile in multiset:
            key = "mig.das.com/" + profile.replace("+", "-plus-")
            limits[key] = limits.get(key, 0) + 1
        one = pod("p", limits, terminationGracePeriodSeconds=0)
        one["metadata"]["annotations"] = {"athanor.dev/simulate": '{"c": {"seconds": 600}}'}  # else it ends after 0.1 s, and its claims go
        create(lab, one)

    def clear():
        lab.http("DELETE", f"{PODS}/p?gracePeriodSeconds=0")
        wait_for("no claims", lambda: lab.http("GET", f"{PODS}/p").code == 404 and claims(lab) == [], interval=0.01)

    for multiset in sorted(legal - {()}):
        ask(multiset)
        wait_for(f"{multiset} is placed", lambda: len(claims(lab)) == len(multiset) and "nodeName" in lab.get(f"{PODS}/p")["spec"], interval=0.01)
        assert sorted(c["spec"]["profile"] for c in claims(lab)) == sorted(multiset), lab.get(f"{PODS}/p")
        clear()
    more = {tuple(sorted((*m, p))) for m in maximal for p in SHAPES}
    assert not more & legal
    for multiset in sorted(more):
        ask(multiset)
        wait_for(f"{multiset} is refused", lambda: why(lab, "p"), interval=0.01)
        assert "Insufficient mig.das.com/" in why(lab, "p") or "no GPU available" in why(lab, "p"), why(lab, "p")
        assert claims(lab) == []
        clear()


def test_a15_a_webhook_that_is_away_stops_slices_alone(make_lab):
    """With the registration that a real cluster gets, whose webhook answers nobody."""
    lab = make_lab("--storage", "memory", "--pods", "timed").start()
    printed = run([ATHANOR, "webhooks", "--controllers", "das", "--url", "https://127.0.0.1:9", "-o", "yaml"])
    assert printed.code == 0, printed.err
    (hook,) = [d for d in yaml.safe_load_all(printed.out) if d and d["kind"] == "MutatingWebhookConfiguration"]
    (entry,) = hook["webhooks"]
    assert hook["metadata"]["name"] == "das-mutating-webhook-configuration" and entry["name"] == "instaslice.redhat.com"
    assert entry["failurePolicy"] == "Fail" and entry["timeoutSeconds"] == 5 and entry["sideEffects"] == "None"
    assert entry["rules"] == [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"], "scope": "Namespaced"}]
    (excluded,) = entry["namespaceSelector"]["matchExpressions"]
    assert excluded["operator"] == "NotIn" and {"das-operator", "cert-manager", "kube-system", "gpu-operator"} <= set(excluded["values"])
    # The lab asks its own webhook in process; this name is one that it does not know.
    hook["metadata"]["name"], entry["name"] = "away", "away.example.com"
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(hook))

    def refused():
        answer = lab.http("POST", PODS, pod("sliced", {"nvidia.com/mig-1g.5gb": 1}))
        return answer.code == 500 and "away.example.com" in answer.text

    wait_for("pods with slices are refused", refused)
    began = time.monotonic()
    create(lab, pod("plain", {"cpu": 1}))
    assert time.monotonic() - began < 1
    in_init = pod("init", {"cpu": 1}, initContainers=[{"name": "i", "image": "busybox", "resources": {"limits": {"mig.das.com/1g.5gb": "1"}}}])
    assert lab.http("POST", PODS, in_init).code == 500


def test_api_writes_of_a_pod_with_one_slice(lab):
    """Section "Speed": at most seven from creation to running, Events left out."""

    def events(path, version):
        connection = lab.connection(timeout=5)
        connection.request("GET", f"{path}?watch=true&timeoutSeconds=1&resourceVersion={version}", headers={"Authorization": f"Bearer {lab.token}"} if lab.token else {})
        return [json.loads(line) for line in connection.getresponse().read().splitlines() if line]

    def writes_of(name):
        version = lab.get(CLAIMS)["metadata"]["resourceVersion"]
        create(lab, pod(name, {"nvidia.com/mig-1g.5gb": 1}))
        running(lab, name)
        of_pod = [e for e in events(PODS, version) if e["object"]["metadata"]["name"] == name]
        until = next(i for i, e in enumerate(of_pod) if e["object"]["status"].get("phase") == "Running")
        return [e["object"] for e in [*of_pod[: until + 1], *(e for e in events(CLAIMS, version) if e["type"] != "DELETED")]]

    # On a busy machine a container may take so long to start that its waiting is reported: the fewest count.
    writes = min((writes_of(name) for name in ("p", "q", "r")), key=len)
    print(f"writes of a pod with one slice: {len(writes)}")
    assert len(writes) <= 7, json.dumps(writes, indent=1)


def test_the_list_of_tests_is_true():
    """docs/testing.md names a test for every line of the checklist and for every mark *Upstream defect*."""
    text = (ROOT / "docs/testing.md").read_text(encoding="utf-8")
    section = text[text.index("## The acceptance checklist of slices") : text.index("## The API server's acceptance checks")]
    known = "".join(p.read_text(encoding="utf-8") for p in [*(ROOT / "tests/e2e").rglob("test_das*.py"), *(ROOT / "tests/unit").rglob("*.cpp")])
    for number in range(1, 16):
        assert f"def test_a{number:02}_" in known and f"a{number:02}`" in section, number
    for suite, name in re.findall(r"\b([A-Z]\w+)\.(\w+)", section):
        assert f"({suite}, {name})" in known, f"{suite}.{name}"
    for file in re.findall(r"tests/\S+\.py", section):
        assert (ROOT / file).is_file(), file
    for name in re.findall(r"\b(test_(?!a\d)\w+)\b", re.sub(r"tests/\S+\.py", "", section)):
        assert f"def {name}(" in known, name
