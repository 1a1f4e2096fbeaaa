# SPDX-License-Identifier: Apache-2.0
"""Hearth on emulated target clusters: the seed document's commands, docs/hearth.md, faults, and fifty clusters at once."""

import base64
import itertools
import json
import os
import pathlib
import re
import subprocess
import threading
import time

import pytest
import yaml
from support import ATHANOR, DEADLINE, KUBECTL, ROOT, run, wait_for

EXAMPLE = ROOT / "examples/hearth/lab.yaml"
CLUSTERS = "/apis/fournos.dev/v1/namespaces/hearth/fournosclusters"


def lab_text(targets, **settings):
    return yaml.safe_dump(
        {
            "apiVersion": "athanor.dev/v1",
            "kind": "Lab",
            "namespace": "psap-automation",
            "targets": targets,
            "queues": [{"name": "fournos-queue"}],
            "settings": settings,
        }
    )


@pytest.fixture
def hearth_lab(make_lab, tmp_path):
    """A lab with these targets: hearth_lab([{name: ...}], HEARTH_...=...)."""

    def make(targets, **settings):
        path = tmp_path / "lab.yaml"
        path.write_text(lab_text(targets, **settings), encoding="utf-8")
        return make_lab("--storage", "memory", "--pods", "timed", "--lab", str(path)).start()

    return make


def cluster(lab, name):
    answer = lab.http("GET", f"{CLUSTERS}/{name}")
    return answer.json if answer.code == 200 else {}


def status(lab, name):
    return cluster(lab, name).get("status", {})


def condition(lab, name, kind):
    return next((c for c in status(lab, name).get("conditions", []) if c["type"] == kind), {})


def quotas(lab, queue="fournos-queue"):
    """By flavor, what is not 0."""
    spec = lab.get(f"/apis/kueue.x-k8s.io/v1beta2/clusterqueues/{queue}")["spec"]
    return {
        flavor["name"]: {r["name"]: int(r["nominalQuota"]) for r in flavor["resources"] if int(r["nominalQuota"])}
        for group in spec.get("resourceGroups", [])
        for flavor in group["flavors"]
    }


def configure(lab, name, **data):
    lab.kubectl("patch", "configmap", f"target-{name}", "-n", "hearth", "--type", "merge", "-p", json.dumps({"data": data}))


_marks = itertools.count(1)


def probed(lab, name, what, condition):
    """Has the cluster asked, and again should the target not have been as it was configured yet; waits for the condition."""
    asked = 0.0

    def hold():
        nonlocal asked
        if seen := condition():
            return seen
        if time.monotonic() - asked > 15:
            lab.kubectl("annotate", "fc", name, "-n", "hearth", "--overwrite", f"fournos.dev/rediscover={next(_marks)}")
            asked = time.monotonic()
        return None

    return wait_for(what, hold)


A100 = [{"count": 2, "gpus": 4, "model": "NVIDIA-A100-SXM4-80GB"}]


def shell(lab, arguments, cwd, **env):
    """A script with the lab's kubeconfig, this kubectl and this athanor."""
    tools = pathlib.Path(cwd) / "bin"
    tools.mkdir(exist_ok=True)
    for name, program in (("athanor", ATHANOR), ("kubectl", KUBECTL)):
        link = tools / name
        if not link.exists() and "/" in str(program):
            link.symlink_to(pathlib.Path(program).resolve())
    path = f"{tools}:{os.environ['PATH']}"
    return run(arguments, env={**lab.env, "PATH": path, **env}, cwd=cwd, timeout=900)


@pytest.mark.parametrize("mode", ["auto", "manual"])
def test_the_seed_documents_commands(hearth_lab, mode):
    lab = hearth_lab(
        [{"name": "edge", "onboard": False, "nodes": [{"count": 2, "gpus": 4, "model": "NVIDIA-L40S"}]}, {"name": "other", "nodes": A100}],
        HEARTH_OFFBOARDING=mode,
    )
    done = run(
        [ROOT / "tests/e2e/hearth/hearth_seed.sh", lab.data / "targets/edge.kubeconfig"],
        env={**lab.env, "KUBECTL": KUBECTL, "SEED_OFFBOARDING": mode, "SEED_LIMIT": f"{DEADLINE:.0f}"},
        timeout=900,
    )
    assert done.code == 0, done.out[-3000:] + done.err[-5000:]
    wait_for("the other one alone to be in the queue", lambda: quotas(lab).keys() == {"other"})


def test_the_guides_commands(make_lab, tmp_path):
    """Every `sh` block of docs/hearth.md, in order, in one shell that ends at the first failure."""
    lab = make_lab("--storage", "memory", "--pods", "timed", "--lab", str(EXAMPLE)).start()
    for name in ("edge", "far"):
        (tmp_path / f"{name}.kubeconfig").write_bytes((lab.data / f"targets/{name}.kubeconfig").read_bytes())
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "docs/hearth.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 8
    script = "set -euo pipefail\nPS4='+ '\nset -x\n" + "\n".join(blocks)
    done = shell(lab, ["bash", "-c", script], tmp_path)
    assert done.code == 0, done.out[-3000:] + done.err[-3000:]


def test_kubeconfigs_of_targets_have_keys_that_java_reads(hearth_lab):
    """fabric8's client reads the traditional forms, not PKCS#8."""
    lab = hearth_lab([{"name": name, "nodes": A100} for name in ("edge", "far")])
    paths = [lab.kubeconfig, *sorted(lab.data.glob("targets/*.kubeconfig"))]
    users = [yaml.safe_load(path.read_text(encoding="utf-8"))["users"][0]["user"] for path in paths]
    keys = [base64.b64decode(user["client-key-data"]).decode().splitlines()[0] for user in users if "client-key-data" in user]
    assert len(keys) == 3 and set(keys) <= {"-----BEGIN EC PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----"}, (paths, keys)


def test_jobs_run_on_the_labs_clusters(make_lab):
    """What `up` says to type works: the run reads the kubeconfig of its cluster."""
    lab = make_lab("--storage", "memory", "--lab", str(EXAMPLE)).start()
    hint = re.search(r"  athanor (submit .* --follow)", lab.out).group(1).split()
    assert hint[1:3] == ["--cluster", "cluster-a-1"]
    wait_for("its quota", lambda: quotas(lab).get("cluster-a-1"))
    done = lab.athanor(*hint)
    server = re.search(r"https://\S+", (lab.data / "targets/cluster-a-1.kubeconfig").read_text(encoding="utf-8")).group()
    assert f"[mock-run] cluster: {server}" in done.out and "in namespace psap-automation" in done.out


def test_somebody_elses_lock_is_kept(hearth_lab):
    lab = hearth_lab([{"name": "edge", "nodes": A100}])
    wait_for("the cluster", lambda: cluster(lab, "edge"))
    lab.athanor("lock", "edge", "--owner", "bob")
    for verb in (["unlock", "edge"], ["clusters", "remove", "edge"]):
        refused = lab.athanor(*verb, "--owner", "ada", code=1)
        assert "edge is locked for bob, not for ada; --take-over" in refused.err
    assert cluster(lab, "edge")["spec"]["owner"] == "bob"
    lab.athanor("unlock", "edge", "--owner", "ada", "--take-over")
    assert not cluster(lab, "edge")["spec"].get("owner")


def test_examples_apply(make_lab):
    lab = make_lab("--storage", "memory", "--pods", "timed", "--lab", str(EXAMPLE)).start()
    files = sorted(p for p in EXAMPLE.parent.glob("*.yaml") if p.name != "lab.yaml")
    assert files
    for path in files:
        lab.kubectl("apply", "-f", path)
    spec = wait_for("the Secret of the examples is a cluster", lambda: cluster(lab, "nowhere"))["spec"]
    assert (spec["owner"], spec["ttl"]) == ("alice", "2h")
    for name, gpus in (("cluster-a-1", "8x A100"), ("cluster-h-2", "8x H200")):
        wait_for(f"{name} has {gpus}", lambda name=name, gpus=gpus: status(lab, name).get("gpuSummary") == gpus)


def test_faults_are_told_and_pass(hearth_lab):
    """Each fault's cause is in lastError, the quotas stay, and the cluster is well again when the fault is gone."""
    lab = hearth_lab([{"name": "edge", "nodes": A100}, {"name": "well", "nodes": A100}], HEARTH_GPU_DISCOVERY_TIMEOUT_SEC=4)
    wait_for("both are in the queue", lambda: {n: q.get("fournos/gpu-a100") for n, q in quotas(lab).items()} == {"edge": 8, "well": 8})
    faults = {
        "dead: true": "connection refused",
        "forbidden: true": "HTTP 403",
        "unauthorized: true": "HTTP 401",
        "wrong-certificate: true": "TLS: ",
        "hang: true": "timeout after 4s",
        "garbage: true": "",
        "web-page: true": "",
        "endless: true": "",
        "redirect: https://elsewhere.invalid/": "HTTP 302",
    }
    for fault, cause in faults.items():
        configure(lab, "edge", faults=fault)

        def told(cause=cause):
            error = cluster(lab, "edge")["spec"]["hardware"].get("lastError", "")
            return error.startswith("Failed to connect to cluster 'edge': ") and cause in error and "\n" not in error

        probed(lab, "edge", fault, told)
        wait_for(f"the condition after {fault}", lambda: condition(lab, "edge", "GPUDiscovered")["status"] == "False")
        assert quotas(lab)["edge"]["fournos/gpu-a100"] == 8
        configure(lab, "edge", faults="{}")
        probed(lab, "edge", f"well after {fault}", lambda: "lastError" not in cluster(lab, "edge")["spec"]["hardware"])
    assert status(lab, "well")["kubeconfigStatus"] == "Valid"


def test_a_waiting_job_leaves_a_cluster_that_does_not_answer(hearth_lab):
    """Hearth's label of a flavor and the redirect of Fournos, from the fault of a target to the run elsewhere."""
    lab = hearth_lab([{"name": "edge", "nodes": A100}, {"name": "well", "nodes": A100}], HEARTH_GPU_DISCOVERY_TIMEOUT_SEC=4)
    wait_for("both are in the queue", lambda: {n: q.get("fournos/gpu-a100") for n, q in quotas(lab).items()} == {"edge": 8, "well": 8})
    pipeline = {"apiVersion": "tekton.dev/v1", "kind": "Pipeline", "metadata": {"name": "brief", "namespace": "psap-automation"}}
    pipeline["spec"] = {"tasks": [{"name": "t", "taskSpec": {"steps": [{"name": "s", "image": "bash", "script": "true"}]}}]}
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(pipeline))
    lab.submit({"cluster": "edge", "lockOnly": True, "exclusive": True}, name="holder", ns="psap-automation")
    wait_for("the cluster is held", lambda: "held" in lab.job("holder", "psap-automation").get("status", {}).get("message", ""))
    job = {"cluster": "edge", "pipeline": "brief", "hardware": {"gpuType": "a100", "gpuCount": 2}, "forge": {"project": "llmd", "args": []}}
    lab.submit(job, name="waits", ns="psap-automation")
    lab.wait_phase("waits", "Pending", "psap-automation")
    configure(lab, "edge", faults="dead: true")

    def label():
        flavor = lab.http("GET", "/apis/kueue.x-k8s.io/v1beta2/resourceflavors/edge").json
        return flavor["metadata"].get("labels", {}).get("fournos.dev/healthy") == "false"

    probed(lab, "edge", "the label of its flavor", label)
    job = lab.wait_phase("waits", "Running", "psap-automation")
    assert job["status"]["redirectedFrom"] == "edge" and job["status"]["redirectCount"] == 1 and job["status"]["cluster"] == "well"


def test_gpus_come_and_go(hearth_lab):
    lab = hearth_lab([{"name": "edge", "nodes": A100}])
    wait_for("8 A100", lambda: status(lab, "edge").get("gpuSummary") == "8x A100")
    configure(lab, "edge", nodes="- {count: 1, gpus: 4, model: NVIDIA-H200}")
    probed(lab, "edge", "4 H200", lambda: status(lab, "edge").get("gpuSummary") == "4x H200")
    wait_for("their quota", lambda: quotas(lab)["edge"] == {"fournos/cluster-slot": 100, "fournos/gpu-h200": 4})
    configure(lab, "edge", nodes="[]")
    probed(lab, "edge", "none", lambda: status(lab, "edge").get("gpuSummary") == "" and quotas(lab)["edge"] == {"fournos/cluster-slot": 100})


def test_many_nodes_are_read_by_pages(hearth_lab):
    lab = hearth_lab([{"name": "large", "nodes": [{"count": 100000, "gpus": 1, "model": "NVIDIA-H100-NVL"}]}])
    wait_for("100,000 GPUs", lambda: status(lab, "large").get("gpuSummary") == "100000x H100")
    assert status(lab, "large")["nodeCount"] == 100000


def test_fifty_clusters_at_once_while_somebody_watches(hearth_lab):
    lab = hearth_lab([{"name": "c", "count": 50, "onboard": False, "nodes": A100}, {"name": "hole", "faults": {"black-hole": True}}])
    seen = []
    watch = subprocess.Popen([ATHANOR, "clusters", "-w"], stdout=subprocess.PIPE, text=True, env=lab.env)
    reader = threading.Thread(target=lambda: seen.extend(watch.stdout), daemon=True)
    reader.start()
    try:
        secrets = [
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": f"kubeconfig-c-{i}", "namespace": "psap-secrets", "labels": {"fournos.dev/cluster-kubeconfig": "true"}},
                "stringData": {"kubeconfig": (lab.data / f"targets/c-{i}.kubeconfig").read_text(encoding="utf-8")},
            }
            for i in range(1, 51)
        ]
        lab.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(secrets))
        names = {f"c-{i}" for i in range(1, 51)}
        wait_for("all are in the queue", lambda: {n for n, q in quotas(lab).items() if q.get("fournos/gpu-a100") == 8} == names)

        def shown():
            last = {line.split()[0]: line.split() for line in seen[1:]}
            return all(last.get(n, [""] * 7)[2:8] == ["8x", "A100", "Valid", "false", "fournos-queue", "0%"] for n in names)

        wait_for("the watch shows all of them", shown)
    finally:
        watch.terminate()
        watch.wait(DEADLINE)
    spec = lab.get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/fournos-queue")["spec"]
    for group in spec["resourceGroups"]:
        assert group["coveredResources"] == sorted(group["coveredResources"])
        for flavor in group["flavors"]:
            assert [r["name"] for r in flavor["resources"]] == group["coveredResources"]


def test_verbs_edit_clusters(hearth_lab):
    lab = hearth_lab([{"name": "edge", "onboard": False, "nodes": A100}])
    assert "No clusters in namespace hearth" in lab.athanor("clusters").err
    kubeconfig = lab.data / "targets/edge.kubeconfig"
    done = lab.athanor("clusters", "add", "edge", "--kubeconfig", kubeconfig, "--wait")
    assert "edge: Valid, 8x A100" in done.out
    assert "--replace" in lab.athanor("clusters", "add", "edge", "--kubeconfig", kubeconfig, code=1).err
    lab.athanor("clusters", "check", "edge")
    lab.athanor("lock", "edge", "--owner", "alice", "--for", "30m", "--wait")
    line = lab.athanor("clusters").out.splitlines()[1].split()
    assert line[:6] == ["edge", "alice", "8x", "A100", "Valid", "true"]
    refused = lab.athanor("lock", "edge", "--owner", "bob", code=1)
    assert "edge is locked for alice; --take-over hands the lock to bob" in refused.err
    lab.athanor("lock", "edge", "--owner", "bob", "--take-over")
    assert "it was locked for bob" in lab.athanor("unlock", "edge", "--owner", "bob").out
    wait_for("unlocked", lambda: status(lab, "edge").get("locked") is False)
    assert lab.athanor("unlock", "edge").out == "edge is not locked\n"
    configure(lab, "edge", faults="forbidden: true")
    # The target takes its configuration over in a moment.
    checked = wait_for("the check to fail", lambda: (done := lab.athanor("clusters", "check", "edge", code=None)).code == 1 and done)
    assert checked.out.startswith("edge: DiscoveryFailed") and "GPUDiscovered: DiscoveryFailed: Failed to connect to cluster 'edge': HTTP 403" in checked.out
    gone = lab.athanor("clusters", "remove", "edge", "--wait")
    assert gone.out.endswith("edge is gone\n")
    lab.athanor("clusters", "add", "edge")  # the Secret is still there
    wait_for("it is back", lambda: cluster(lab, "edge"))


def test_clusters_are_cordoned_drained_and_described(hearth_lab):
    lab = hearth_lab([{"name": "edge", "nodes": A100}])
    wait_for("the cluster is known", lambda: status(lab, "edge").get("kubeconfigStatus") == "Valid" and quotas(lab).get("edge"))
    assert lab.athanor("clusters", "cordon", "edge").out == "edge is cordoned\n"
    wait_for("its slots are gone", lambda: "fournos/cluster-slot" not in quotas(lab)["edge"])
    assert "Valid,Cordoned" in lab.athanor("clusters").out
    assert lab.athanor("clusters", "--phase", "cordoned", "-o", "name").out == "fournoscluster.fournos.dev/edge\n"
    assert lab.athanor("clusters", "drain", "edge", "--timeout", "60").out.endswith("edge is drained\n")
    shown = json.loads(lab.athanor("clusters", "describe", "edge", "-o", "json").out)
    assert shown["kind"] == "FournosCluster" and shown["facts"]["State"] == "Cordoned" and shown["timeline"]
    lab.athanor("submit", "--cluster", "edge", "--project", "p", "--name", "held", code=None)
    wait_for("the queue says cordoned", lambda: "cordoned or out of service" in lab.athanor("queue").out)
    wait_for("the job says so", lambda: "the job says: Cluster edge is cordoned" in lab.athanor("queue", "--explain", "held").out)
    lab.athanor("cancel", "held")
    assert lab.athanor("clusters", "uncordon", "edge").out == "edge is uncordoned\n"
    wait_for("its slots are back", lambda: quotas(lab)["edge"].get("fournos/cluster-slot") == 100)
    assert "edge is Valid" in lab.athanor("wait", "clusters/edge", "--timeout", "60s").out
    assert "not found" in lab.athanor("clusters", "cordon", "none", code=1).err


def test_one_server_under_two_names_counts_once(hearth_lab):
    lab = hearth_lab([{"name": "edge", "nodes": A100}])
    wait_for("the cluster is known", lambda: quotas(lab).get("edge", {}).get("fournos/gpu-a100") == 8)
    secret = lab.get("/api/v1/namespaces/psap-secrets/secrets/kubeconfig-edge")
    # Objects of one second are ordered by name: the copy comes second in any case.
    copy = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "kubeconfig-edge-again", "namespace": "psap-secrets", "labels": secret["metadata"]["labels"]}, "data": secret["data"]}
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(copy))
    wait_for("the second name is told", lambda: condition(lab, "edge-again", "KueueSynced").get("reason") == "SameCluster")
    assert quotas(lab).get("edge-again", {}) == {} and quotas(lab)["edge"]["fournos/gpu-a100"] == 8
    checked = lab.athanor("clusters", "check", "edge-again", code=1)
    assert checked.out.startswith("edge-again: SameCluster") and "FournosCluster edge" in checked.out


def test_a_kubeconfig_that_hearth_would_refuse_is_not_handed_in(hearth_lab, tmp_path):
    lab = hearth_lab([{"name": "spare", "onboard": False}])
    file = tmp_path / "bad.kubeconfig"
    secret = "/api/v1/namespaces/psap-secrets/secrets/kubeconfig-bad"
    for text, why in (
        ("current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\nclusters: [{name: k, cluster: {server: 'https://x'}}]\nusers: [{name: u, user: {exec: {command: sh}}}]\n",
         "Invalid kubeconfig for cluster 'bad': user \"u\": exec credentials would run a program, which is not allowed"),
        ("[", "Secret 'kubeconfig-bad' kubeconfig is not valid YAML"),
        ("{}", "Kubeconfig for 'bad' has no contexts"),
    ):
        file.write_text(text, encoding="utf-8")
        refused = lab.athanor("clusters", "add", "bad", "--kubeconfig", file, code=1)
        assert why in refused.err and "--no-check" in refused.err
        assert lab.http("GET", secret).code == 404
    lab.athanor("clusters", "add", "bad", "--kubeconfig", file, "--no-check")
    assert lab.http("GET", secret).code == 200
    wait_for("Hearth says the same", lambda: condition(lab, "bad", "KubeconfigValid").get("message") == "Kubeconfig for 'bad' has no contexts")


@pytest.mark.parametrize(
    ("args", "code", "text"),
    [
        (["lock", "edge", "--for", "10s", "--owner", "a"], 2, '--for: "10s" is not a time such as 30m, 4h or 2d'),
        (["lock", "no-such-cluster", "--owner", "a"], 1, 'fournosclusters.fournos.dev "no-such-cluster" not found'),
        (["unlock", "no-such-cluster"], 1, "not found"),
        (["clusters", "check", "no-such-cluster"], 1, "not found"),
        (["clusters", "remove", "no-such-cluster"], 1, "not found"),
        (["clusters", "add", "Bad_Name", "--kubeconfig", "x"], 2, '"Bad_Name" cannot name a cluster'),
        (["clusters", "add", "edge", "--kubeconfig", "/does/not/exist"], 1, "/does/not/exist"),
        (["clusters", "-o", "csv"], 2, "--output"),
        (["clusters", "ad", "edge"], 2, ""),
    ],
)
def test_mistakes_are_explained(lab, args, code, text):
    done = lab.athanor(*args, code=code)
    assert text in done.err
