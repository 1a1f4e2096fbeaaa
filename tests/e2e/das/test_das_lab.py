# SPDX-License-Identifier: Apache-2.0
"""DAS in the lab: the seed document's commands, and what the acceptance list of docs/spec/das.md 17 says of one node."""

import json
import os
import re
import shutil

import pytest
from support import ATHANOR, DEADLINE, KUBECTL, ROOT, run, wait_for

EXAMPLES = ROOT / "examples/das"


@pytest.fixture
def das_lab(make_lab):
    return make_lab("--storage", "memory", "--lab", str(EXAMPLES / "lab.yaml")).start()


def claims(lab):
    answer = lab.http("GET", "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/allocationclaims")
    return json.loads(answer.text)["items"] if answer.code == 200 else None


def test_the_seed_documents_commands(make_lab, tmp_path, monkeypatch):
    monkeypatch.setenv("EMULATED_MODE", "enabled")
    lab = make_lab("--storage", "memory", "--lab", str(EXAMPLES / "lab.yaml")).start()
    (tmp_path / "test").symlink_to(EXAMPLES)
    done = run(
        [ROOT / "tests/e2e/das/das_seed.sh", lab.data],
        env={**lab.env, "KUBECTL": KUBECTL, "SEED_LIMIT": f"{DEADLINE:.0f}"},
        cwd=tmp_path,
        timeout=900,
    )
    assert done.code == 0, done.out[-3000:] + done.err[-5000:]


def test_the_built_in_lab_has_gpus_where_they_are_asked_for(make_lab, monkeypatch):
    """EMULATED_MODE=enabled alone, without a lab file: every node has the usual two GPUs."""
    monkeypatch.setenv("EMULATED_MODE", "enabled")
    lab = make_lab("--storage", "memory").start()
    lab.kubectl("apply", "-f", str(EXAMPLES / "test-pod-emulated.yaml"))
    lab.kubectl("wait", "pod/test-pod-emulated", "--for=condition=Ready", f"--timeout={DEADLINE:.0f}s")
    assert [claim["status"]["state"] for claim in claims(lab)] == ["inUse"]
    maps = run([ATHANOR, "slices"], env=lab.env).out
    assert maps.count("NVIDIA A100-PCIE-40GB") == 4, maps


def test_pods_of_one_node_start_at_slot_0_and_1(make_lab, monkeypatch):
    """Two of 1g.5gb on one GPU of the built-in lab: where upstream's e2e expects them (docs/das.md)."""
    monkeypatch.setenv("EMULATED_MODE", "enabled")
    lab = make_lab("--storage", "memory", "--pods", "timed").start()
    node = wait_for("a node with GPUs", lambda: lab.get("/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/nodeaccelerators")["items"])[0]["metadata"]["name"]
    for name in ("first", "second"):
        container = {"name": "c", "image": "i", "command": ["sleep", "1000"], "resources": {"limits": {"nvidia.com/mig-1g.5gb": "1"}}}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"nodeSelector": {"kubernetes.io/hostname": node}, "containers": [container]}}
        assert lab.http("POST", "/api/v1/namespaces/default/pods", pod).code == 201
        lab.kubectl("wait", f"pod/{name}", "--for=condition=Ready", f"--timeout={DEADLINE:.0f}s")
    places = [(claim["spec"]["nodename"], claim["spec"]["gpuUUID"], claim["spec"]["migPlacement"]) for claim in claims(lab)]
    assert sorted(place["start"] for _, _, place in places) == [0, 1], places
    assert {place["size"] for _, _, place in places} == {1}, places
    assert {one for one, _, _ in places} == {node} and len({gpu for _, gpu, _ in places}) == 1, places


def test_a_gpu_that_no_node_has_is_told(make_lab, monkeypatch):
    monkeypatch.setenv("EMULATED_MODE", "enabled")
    lab = make_lab("--storage", "memory", "--pods", "timed").start()
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "elsewhere", "annotations": {"das.inference.redhat.com/gpu-uuid": "GPU-nowhere"}},
           "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/mig-1g.5gb": "1"}}}]}}  # fmt: skip
    assert lab.http("POST", "/api/v1/namespaces/default/pods", pod).code == 201

    def told():
        events = lab.get("/api/v1/namespaces/default/events")["items"]
        reasons = [e["message"] for e in events if e["reason"] == "FailedScheduling" and e["involvedObject"]["name"] == "elsewhere"]
        return [one for one in reasons if one.startswith("0/2 nodes are available: 2 the node has no GPU GPU-nowhere")]  # or not ready yet

    wait_for("a warning that no node has it", told)
    assert claims(lab) == []


def test_slices_of_a_lab_without_gpus_says_how_to_get_them(make_lab):
    lab = make_lab("--storage", "memory").start()
    assert "EMULATED_MODE=enabled" in run([ATHANOR, "slices"], env=lab.env).out


def test_the_guides_commands(das_lab, tmp_path):
    """The `sh` block of docs/das.md, in one shell that ends at the first failure."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "athanor").symlink_to(ATHANOR)
    (tmp_path / "kubectl").symlink_to(shutil.which(KUBECTL))
    (block,) = re.findall(r"```sh\n(.*?)```", (ROOT / "docs/das.md").read_text(encoding="utf-8"), re.DOTALL)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = run(["bash", "-euxc", block], env={**das_lab.env, "PATH": path}, cwd=tmp_path, timeout=300)
    assert done.code == 0, done.out[-3000:] + done.err[-3000:]
    assert "NVIDIA_VISIBLE_DEVICES=test" in done.out


def test_examples_apply(das_lab):
    for path in sorted(p for p in EXAMPLES.glob("*.yaml") if p.name != "lab.yaml"):
        das_lab.kubectl("apply", "-f", path)
    wait_for("five slices", lambda: [c.get("status", {}).get("state") for c in claims(das_lab)] == ["inUse"] * 5)


def test_a_lab_without_gpus_runs_nothing_of_das(make_lab):
    lab = make_lab("--storage", "memory", "--pods", "timed").start()
    assert lab.http("GET", "/api/v1/namespaces/das-operator").code == 404
    assert claims(lab) == []


def test_claims_written_by_hand(das_lab):
    """docs/spec/das.md 2.2 and 17.12: a placement outside the GPU is rejected, spec is immutable, and nothing ends for it."""
    url = "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/allocationclaims"

    def write(name, spec):
        return das_lab.http("POST", url, {"apiVersion": "inference.redhat.com/v1alpha1", "kind": "AllocationClaim", "metadata": {"name": name}, "spec": spec})

    for start, size in ((7, 4), (-1, 1), (0, 0), (0, 9)):
        answer = write("bad", {"migPlacement": {"start": start, "size": size}})
        assert answer.code == 422 and "migPlacement must lie within 8 memory slices" in answer.text, answer.text
    assert write("good", {"migPlacement": {"start": 0, "size": 1}, "anything": {"else": 1}}).code == 201
    done = das_lab.kubectl("patch", "alloc", "good", "-n", "das-operator", "--type=merge", "-p", '{"spec":{"migPlacement":{"start":3}}}', code=1)
    assert "spec is immutable" in done.err
    assert das_lab.kubectl("get", "alloc", "-n", "das-operator").out.split("\n")[0].split() == ["NAME", "AGE"]


def test_slices_shows_the_map(das_lab):
    das_lab.kubectl("apply", "-f", EXAMPLES / "test-pod-multi-resource.yaml")
    wait_for("the slices are in use", lambda: [c.get("status", {}).get("state") for c in claims(das_lab)] == ["inUse", "inUse"])
    out = das_lab.athanor("slices").out
    assert "gpu-node  GPU 0  NVIDIA A100-PCIE-40GB  GPU-" in out
    assert "  | A | B | . | . | . | . | . | . |" in out
    assert "default/test-pod-multi  inUse" in out
    assert das_lab.athanor("slices", "gpu-node").out == out
    shown = json.loads(das_lab.athanor("describe", "slices/gpu-node", "-o", "json").out)
    assert [(one["name"], one["state"]) for one in shown["children"]] == [("default/test-pod-multi", "inUse")] * 2 and "GPU 1" in shown["facts"]


def test_slices_answers_what_would_fit_and_who_could_move(das_lab):
    das_lab.kubectl("apply", "-f", EXAMPLES / "test-pod-emulated.yaml")
    wait_for("the slice is in use", lambda: [c.get("status", {}).get("state") for c in claims(das_lab)] == ["inUse"])
    fits = das_lab.athanor("slices", "what-if", "3g.20gb:3")
    assert "3 of 3 fit" in fits.out
    assert "3 of 4 fit" in das_lab.athanor("slices", "what-if", "3g.20gb:4", code=3).out
    assert "is no MIG profile" in das_lab.athanor("slices", "what-if", "big:4", code=2).err
    explained = das_lab.athanor("slices", "explain", "test-pod-emulated").out
    place = explained.split()[1]  # NAMESPACE/POD, as its first line has it
    assert "/" in place and das_lab.athanor("slices", "explain", place).out == explained
    assert "asks for 1g.5gb" in explained and "holds 1g.5gb on gpu-node" in explained and "gpu-node: 1g.5gb on GPU 0 at slot 0" in explained
    waiting = json.loads(json.dumps({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "whole"},
        "spec": {"containers": [{"name": "c", "image": "busybox", "command": ["sleep", "60"], "resources": {"limits": {"nvidia.com/mig-7g.40gb": "2"}}}]},
    }))  # fmt: skip
    das_lab.kubectl("apply", "-f", "-", stdin=json.dumps(waiting))
    assert "no GPU has the slots free" in das_lab.athanor("slices", "explain", "whole", code=3).out
    assert "movable=true help" in das_lab.athanor("slices", "defrag", "--dry-run", code=3).out
    assert json.loads(das_lab.athanor("slices", "what-if", "7g.40gb", "-o", "json").out)["gpu"] == 1


def deployment(name, profile, movable=False):
    return json.dumps({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}, "annotations": {"das.inference.redhat.com/movable": "true"} if movable else {}},
            "spec": {"terminationGracePeriodSeconds": 0, "containers": [
                {"name": "c", "image": "busybox", "command": ["sleep", "600"], "resources": {"limits": {f"nvidia.com/mig-{profile}": "1"}}}]}}},
    })  # fmt: skip


def test_defrag_moves_pods(das_lab):
    """docs/spec/das.md 16.5: by the Eviction API, within budgets, to slots that are kept for the next pod."""

    def places():
        gpus = das_lab.get("/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/nodeaccelerators/gpu-node")["status"]["nodeResources"]["nodeGpus"]
        index = {gpu["gpuUuid"]: i for i, gpu in enumerate(gpus)}
        return {c["spec"]["podRef"]["name"].split("-")[0]: (index[c["spec"]["gpuUUID"]], c["status"]["state"]) for c in claims(das_lab) if "podRef" in c["spec"]}

    for name, profile, gpu in (("first", "4g.20gb", 0), ("second", "3g.20gb", 0), ("third", "2g.10gb", 1)):
        das_lab.kubectl("apply", "-f", "-", stdin=deployment(name, profile, movable=name == "third"))
        wait_for(f"{name} runs", lambda n=name, g=gpu: places().get(n) == (g, "inUse"))
    das_lab.kubectl("delete", "deployment", "second")
    wait_for("a GPU has room", lambda: set(places()) == {"first", "third"})
    proposed = das_lab.athanor("slices", "defrag", "--dry-run").out
    assert re.search(r"default/third-\S+ +2g.10gb +gpu-node/gpu-1/slot-0 +gpu-node/gpu-0/slot-4", proposed), proposed
    assert "1 pods would be evicted: say --yes" in das_lab.athanor("slices", "defrag", code=2).err
    das_lab.kubectl("create", "poddisruptionbudget", "keep", "--selector=app=third", "--max-unavailable=0")
    wait_for("the budget is judged", lambda: das_lab.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/keep").get("status", {}).get("currentHealthy") == 1)
    refused = das_lab.athanor("slices", "defrag", "--yes", code=1).err
    assert "PodDisruptionBudget keep (1 of 1 needed pods are healthy)" in refused, refused
    assert len(claims(das_lab)) == 2, "nothing is reserved any more"
    das_lab.kubectl("delete", "poddisruptionbudget", "keep")
    moved = das_lab.athanor("slices", "defrag", "--yes").out
    assert re.search(r"pod default/third-\S+ is evicted\npod default/third-\S+ has gpu-node/gpu-0/slot-4\n", moved), moved
    wait_for("it runs there", lambda: places() == {"first": (0, "inUse"), "third": (0, "inUse")})
    assert "movable=true help" in das_lab.athanor("slices", "defrag", "--yes", code=3).out


def test_the_webhooks_answers_are_counted(das_lab):
    """docs/spec/das.md 11, V4: in a lab as on a cluster."""
    counted = lambda result: f'das_webhook_mutations_total{{result="{result}"}} 1\n' in das_lab.http("GET", "/metrics").text  # noqa: E731
    das_lab.kubectl("apply", "-f", EXAMPLES / "test-pod-emulated.yaml")
    das_lab.kubectl("create", "-f", "-", stdin=json.dumps({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "wrong"},
        "spec": {"containers": [{"name": "c", "image": "busybox", "resources": {"limits": {"nvidia.com/mig-foo": "1"}}}]},
    }), code=1)  # fmt: skip
    assert counted("mutated") and counted("denied"), das_lab.http("GET", "/metrics").text


def test_what_if_tells_the_places_of_the_scheduler(make_lab, monkeypatch):
    """docs/spec/das.md 6.1, 6.6: the policy of the settings, as the ConfigMap of the scheduler shows it."""
    monkeypatch.setenv("DAS_PLACEMENT_POLICY", "fragmin")
    monkeypatch.setenv("DAS_PROFILE_WEIGHTS", "1g.5gb=0.5,7g.40gb=2")
    lab = make_lab("--storage", "memory", "--lab", str(EXAMPLES / "lab.yaml")).start()
    path = "/api/v1/namespaces/das-operator/configmaps/das-scheduler-config"
    wait_for("the scheduler's configuration", lambda: lab.http("GET", path).code == 200)
    assert '      profileWeights: {"1g.5gb":0.5,"7g.40gb":2' in lab.get(path)["data"]["config.yaml"]
    wait_for("the node has GPUs", lambda: "gpu-node" in lab.athanor("slices").out)
    told = json.loads(lab.athanor("slices", "what-if", "1g.5gb", "-o", "json").out)
    lab.kubectl("apply", "-f", EXAMPLES / "test-pod-emulated.yaml")
    wait_for("the slice is in use", lambda: [c.get("status", {}).get("state") for c in claims(lab)] == ["inUse"])
    assert told["start"] == claims(lab)[0]["spec"]["migPlacement"]["start"] == 6
    monkeypatch.setenv("DAS_PROFILE_WEIGHTS", "1g.5gb")
    refused = run([ATHANOR, "up", "--data", lab.data.parent / "d", "--port", "0"], env={**os.environ})
    assert refused.code == 1 and 'invalid DAS_PROFILE_WEIGHTS "1g.5gb": must be PROFILE=NUMBER' in refused.err, refused.err


def test_an_init_container_sees_the_slices_that_it_uses(das_lab):
    """docs/spec/das.md E2, S-B2: its claims are those of the container after it."""
    limits = {"limits": {"nvidia.com/mig-1g.5gb": "1"}}
    pod = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {
            "restartPolicy": "Never",
            "initContainers": [{"name": "i", "image": "busybox", "command": ["env"], "resources": limits}],
            "containers": [{"name": "c", "image": "busybox", "command": ["env"], "resources": limits}],
        },
    }  # fmt: skip
    das_lab.kubectl("apply", "-f", "-", stdin=json.dumps(pod))
    for container in ("i", "c"):
        wait_for(f"the environment of {container}", lambda c=container: "NVIDIA_VISIBLE_DEVICES=test\n" in das_lab.kubectl("logs", "p", "-c", c, code=None).out)


def sliced(name, restart, **commands):
    """A pod with a slice for each of its containers."""
    limits = {"limits": {"mig.das.com/1g.5gb": "1"}}
    containers = [{"name": one, "image": "busybox", "command": ["sh", "-c", command], "resources": limits} for one, command in commands.items()]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"restartPolicy": restart, "containers": containers}}


def cdi_files(lab):
    return list((lab.data / "nodes/gpu-node/var/run/cdi").glob("*.cdi.json"))


def test_a_container_without_its_cdi_device_waits(das_lab):
    """9.3 E4: a container is not made while its device is unknown; it is tried again after a back-off."""
    url = "/api/v1/namespaces/default/pods/again"
    assert das_lab.http("POST", "/api/v1/namespaces/default/pods", sliced("again", "Always", c="sleep 3; exit 1")).code == 201
    wait_for("it runs", lambda: das_lab.get(url)["status"]["phase"] == "Running")
    (path,) = cdi_files(das_lab)
    text = path.read_text(encoding="utf-8")
    assert "hooks" not in text, "a container that starts again keeps its file"
    path.unlink()

    def state():
        return das_lab.get(url)["status"]["containerStatuses"][0]

    waiting = wait_for("it is not made", lambda: state()["state"].get("waiting", {}).get("reason") == "CreateContainerError" and state())
    assert re.search(r"CDI device injection failed: unresolvable CDI devices mig.das.com/c1g.5gb=[0-9a-f-]{36}$", waiting["state"]["waiting"]["message"])
    restarts = waiting["restartCount"]
    path.write_text(text, encoding="utf-8")
    wait_for("it runs again", lambda: "running" in state()["state"] or state()["restartCount"] > restarts)


def test_the_end_of_a_container_removes_its_cdi_file(das_lab):
    """9.3 E4, 8.7: the poststop hook, in a pod whose containers never start again."""
    assert das_lab.http("POST", "/api/v1/namespaces/default/pods", sliced("once", "Never", short="true", long="sleep 1000")).code == 201

    def ended():
        statuses = das_lab.get("/api/v1/namespaces/default/pods/once")["status"].get("containerStatuses", [])
        return {one["name"]: next(iter(one["state"])) for one in statuses}

    wait_for("one has ended", lambda: ended() == {"short": "terminated", "long": "running"})
    (kept,) = wait_for("its file is gone", lambda: len(cdi_files(das_lab)) == 1 and cdi_files(das_lab))
    assert '"poststop"' in kept.read_text(encoding="utf-8")
    assert [claim["status"]["state"] for claim in claims(das_lab)] == ["inUse", "inUse"], "claims end with their pod"


def test_a_killed_lab_keeps_slices(make_lab):
    """kill -9 while a pod holds its slice: the next start runs the pod again with the same claim."""
    lab = make_lab("--lab", str(EXAMPLES / "lab.yaml")).start()
    lab.kubectl("apply", "-f", EXAMPLES / "test-pod-emulated.yaml")
    wait_for("the slice is in use", lambda: [c["status"].get("state") for c in claims(lab) if "status" in c] == ["inUse"])
    before = claims(lab)[0]
    lab.process.kill()
    lab.process.wait(DEADLINE)
    lab.start()
    wait_for("the pod runs again", lambda: lab.kubectl("get", "pod", "test-pod-emulated", "-o", "jsonpath={.status.phase}").out == "Running")
    after = claims(lab)
    assert [c["metadata"]["uid"] for c in after] == [before["metadata"]["uid"]]
    lab.kubectl("delete", "pod", "test-pod-emulated", "--wait=false")
    wait_for("the claim is gone", lambda: claims(lab) == [])


def test_a_wrong_mode_ends_the_start(tmp_path):
    done = run([ATHANOR, "up", "--data", tmp_path / "d", "--port", "0"], env={"EMULATED_MODE": "on", "PATH": "/usr/bin:/bin"})
    assert done.code == 1
    assert 'invalid EMULATED_MODE "on": must be "enabled" or "disabled"' in done.err, done.err


def check_slots(found):
    """No two claims share a slot of a GPU, and every placement is a legal one of its profile."""
    sizes = {"1g.5gb": (1, range(7)), "1g.10gb": (2, (0, 2, 4, 6)), "2g.10gb": (2, (0, 2, 4)), "3g.20gb": (4, (0, 4)), "4g.20gb": (4, (0,)), "7g.40gb": (8, (0,))}
    taken = {}
    for claim in found:
        spec = claim["spec"]
        start, size = spec["migPlacement"]["start"], spec["migPlacement"]["size"]
        assert size == sizes[spec["profile"]][0] and start in sizes[spec["profile"]][1], spec
        for slot in range(start, start + size):
            owner = taken.setdefault((spec["gpuUUID"], slot), spec["podRef"]["uid"])
            assert owner == spec["podRef"]["uid"], f"slot {slot} of {spec['gpuUUID']} is promised twice"


def test_kills_while_pods_are_placed_promise_no_slot_twice(make_lab):
    """Deployments of several profiles want more than there is; the lab is killed again and again while they are scheduled."""
    lab = make_lab("--lab", str(EXAMPLES / "lab.yaml"), "--pods", "timed").start()
    template = json.loads(lab.kubectl("create", "deployment", "x", "--image=pause", "--dry-run=client", "-o", "json").out)
    for number, profile in enumerate(("1g.5gb", "2g.10gb", "3g.20gb")):
        template["metadata"]["name"] = f"d{number}"
        template["spec"]["replicas"] = 6
        template["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {f"nvidia.com/mig-{profile}": "1"}}
        lab.kubectl("apply", "-f", "-", stdin=json.dumps(template))
        if number < 2:
            wait_for("a claim", lambda: claims(lab))
        lab.process.kill()
        lab.process.wait(DEADLINE)
        lab.start()
        check_slots(claims(lab))
        lab.kubectl("delete", "pods", "--all", "--wait=false")
        lab.process.kill()
        lab.process.wait(DEADLINE)
        lab.start()
        check_slots(claims(lab))

    def settled():
        found = claims(lab)
        check_slots(found)
        pods = json.loads(lab.kubectl("get", "pods", "-o", "json").out)["items"]
        bound = {p["metadata"]["uid"] for p in pods if p["spec"].get("nodeName")}
        states = {c.get("status", {}).get("state") for c in found}
        return len(pods) == 18 and states == {"inUse"} and {c["spec"]["podRef"]["uid"] for c in found} == bound and len(found) == len(bound)

    wait_for("claims are those of bound pods", settled)
