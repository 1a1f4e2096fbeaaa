# SPDX-License-Identifier: Apache-2.0
"""The same PipelineRuns by Athanor's controllers and by the real Tekton's, one after the other on one API server: wall, CPU and requests.

Started by scripts/bench-pipelines --beside-tekton. Both are programs of their own with an account of their own; the API server is a lab without
pipelines, whose pods only take time. Prints one line a figure.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import yaml
from pipelines_bench import GROUP, LIMIT, Load, pipeline

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from replica import Replica  # noqa: E402
from support import ATHANOR, Lab, wait_for  # noqa: E402

NS = "tekton-pipelines"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "athanor/real"
MODULE = ROOT / "tests/real/stack"
TEKTON = "github.com/tektoncd/pipeline"
POLICY = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n"
LAB = "apiVersion: athanor.dev/v1\nkind: Lab\nnodes: [{name: hub, count: 4, capacity: {cpu: 400000, memory: 16Ti, pods: 100000}}]\n"


def go(*words):
    done = subprocess.run(["go", *words], cwd=MODULE, env={**os.environ, "GOFLAGS": "-mod=readonly", "CGO_ENABLED": "0"}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.strip()


def documents(folder, kinds):
    texts = (file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*.yaml")))
    return [one for text in texts for one in yaml.safe_load_all(text) if one and one["kind"] in kinds]


def kubeconfig(lab, folder, name):
    """That of an account which may do everything."""
    lab.kubectl("create", "serviceaccount", name, "-n", NS)
    lab.kubectl("create", "clusterrolebinding", f"bench-{name}", "--clusterrole=cluster-admin", f"--serviceaccount={NS}:{name}")
    text = yaml.safe_load(lab.kubeconfig.read_text(encoding="utf-8"))
    token = lab.kubectl("create", "token", name, "-n", NS, "--duration=24h").out.strip()
    text["users"] = [{"name": one["name"], "user": {"token": token}} for one in text["users"]]
    file = folder / f"{name}.kubeconfig"
    file.write_text(yaml.safe_dump(text), encoding="utf-8")
    return file


def tekton_command(lab, config):
    """The command and the environment of Tekton's controller, by its own manifests; its definitions and ConfigMaps are applied."""
    program = CACHE / "tekton-controller"  # as tests/real/stack.py has it
    CACHE.mkdir(parents=True, exist_ok=True)
    go("build", "-trimpath", "-ldflags=-s -w", "-o", str(program), f"{TEKTON}/cmd/controller")
    manifests = pathlib.Path(go("list", "-m", "-f", "{{.Dir}}", TEKTON)) / "config"
    (deployment,) = [one for one in documents(manifests, ["Deployment"]) if one["metadata"]["name"] == "tekton-pipelines-controller"]
    maps = [one for one in documents(manifests, ["ConfigMap"]) if one["metadata"].get("namespace") == NS]
    lab.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=yaml.safe_dump_all(maps))
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    fields = {"metadata.name": "pod-0", "metadata.namespace": NS}
    env = {one["name"]: str(one["value"]) if "value" in one else fields[one["valueFrom"]["fieldRef"]["fieldPath"]] for one in container["env"]}
    more = {"KUBECONFIG": str(config), "POD_NAME": "pod-0", "PROBES_PORT": "8089", "METRICS_PROMETHEUS_PORT": "9095", "SSL_CERT_FILE": "/dev/null"}
    return [program, *(str(word) for word in container["args"])], {**os.environ, **env, **more}


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def requests_of(log, user):
    """Completed requests by verb, of one account."""
    counts = collections.Counter()
    for line in log.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["user"]["username"] == f"system:serviceaccount:{NS}:{user}":
            counts[event["verb"]] += 1
    return counts


def over(lab, name):
    items = lab.get(f"{GROUP}/pipelineruns", labelSelector=f"bench={name}")["items"]
    ended = [one for one in items if one.get("status", {}).get("completionTime")]
    failed = [one["status"]["conditions"] for one in ended if one["status"]["conditions"][0]["status"] != "True"]
    if failed:
        raise RuntimeError(f"{len(failed)} runs failed: {failed[0]}")
    return len(ended)


def start_runs(lab, name, count, definition):
    body = {"apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "spec": {"pipelineRef": {"name": definition}}}
    Load(lab).send([(f"{GROUP}/pipelineruns", {**body, "metadata": {"name": f"{name}-{number}", "labels": {"bench": name}}}) for number in range(count)])


def measure(lab, log, name, program, options):
    """Wall, CPU and requests of one program for all runs, after one that warms it up."""
    try:
        start_runs(lab, f"{name}-warm", 1, "bench")
        wait_for(f"{name} works", lambda: program.process.poll() is not None or over(lab, f"{name}-warm") == 1, 120)
        if program.process.poll() is not None:
            raise RuntimeError(f"{name} ended: {program.text[-2000:]}")
        cpu, before, began = cpu_seconds(program.process.pid), requests_of(log, name), time.monotonic()
        start_runs(lab, name, options.runs, "bench")
        while over(lab, name) < options.runs:
            if time.monotonic() > began + LIMIT:
                raise RuntimeError(f"{name}: {over(lab, name)} of {options.runs} runs ended within {LIMIT} s")
            time.sleep(0.5)
        wall = time.monotonic() - began
        return {"wall": wall, "CPU": cpu_seconds(program.process.pid) - cpu, "requests": (requests_of(log, name) - before).total()}
    finally:
        program.end()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--tasks", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="athanor-bench.") as work:
        folder = pathlib.Path(work)
        (folder / "lab.yaml").write_text(LAB, encoding="utf-8")
        (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
        log = folder / "audit.log"
        audit = ["--audit-policy-file", str(folder / "policy.yaml"), "--audit-log-path", str(log), "--audit-log-maxsize", "4000"]
        lab = Lab(folder / "lab", ["--pods", "timed", "--storage", "memory", "--controllers", "*,-tekton-pipelinerun,-tekton-taskrun,-tekton-customrun-events,-tekton-pruner", "--lab", str(folder / "lab.yaml"), *audit])
        try:
            lab.start()
            lab.kubectl("create", "namespace", NS, code=None)
            accounts = {name: kubeconfig(lab, folder, name) for name in ("athanor", "tekton")}
            tekton, environment = tekton_command(lab, accounts["tekton"])
            Load(lab).send([(f"{GROUP}/pipelines", pipeline("bench", options.tasks, 0))])
            ours = [ATHANOR, "controllers", "--kubeconfig", accounts["athanor"], "--controllers", "tekton", "--all-namespaces", "--leader-elect=false"]
            rows = {
                "athanor": measure(lab, log, "athanor", Replica(ours, folder / "athanor.log"), options),
                "tekton": measure(lab, log, "tekton", Replica(tekton, folder / "tekton.log", env=environment), options),
            }
        except RuntimeError as error:
            print(f"bench-pipelines: {error}", file=sys.stderr)
            return 1
        finally:
            lab.close()
    print(f"{options.runs} runs of {options.tasks} tasks at once {'athanor':>12} {'tekton':>12} {'ratio':>8}")
    for name, unit in (("wall", "s"), ("CPU", "s"), ("requests", "")):
        mine, theirs = rows["athanor"][name], rows["tekton"][name]
        print(f"{name + (', ' + unit if unit else ''):<30} {mine:>12.1f} {theirs:>12.1f} {theirs / max(mine, 0.01):>8.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
