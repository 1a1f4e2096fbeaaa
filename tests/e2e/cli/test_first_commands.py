# SPDX-License-Identifier: Apache-2.0
"""The commands of README.md, docs/tutorial.md, docs/appwrapper.md, docs/numa.md and docs/simulate.md, and one of docs/das.md, run as they stand there."""

import itertools
import re

from guide import Guide, block_with, commands_of, text_of
from support import ATHANOR, ROOT, run
from test_guides import RUN_INLINE

NEWEST = "$(kubectl get {} -o name | head -n 1 | cut -d/ -f2)"


# --- README.md --------------------------------------------------------------------------------------------
def test_the_demo():
    """What `make demo` does once the program is built."""
    recipe = run(["make", "-n", "demo"], cwd=ROOT).out.splitlines()
    assert recipe[-1] == "scripts/demo", recipe
    done = run([ROOT / "scripts/demo", ATHANOR])
    assert done.code == 0 and "demo: Succeeded" in done.out, done.out + done.err


def test_the_first_commands(tmp_path):
    blocks = commands_of(text_of("README"))
    commands = block_with(text_of("README"), "athanor up")
    assert [one.split(" #")[0].rstrip() for one in blocks if one not in commands] == ["make demo", "make test"]
    guide = Guide(tmp_path)
    (tmp_path / "build/release").mkdir(parents=True)
    (tmp_path / "build/release/athanor").symlink_to(tmp_path / "bin/athanor")
    done = guide.run(commands, JOB=NEWEST.format("fj -n fournos-local-dev"))
    assert "[mock-run] done" in done.out and "Succeeded" in done.out
    assert re.search(r"^cluster-2 ", done.out, re.M) and "athanor help VERB" in done.out


# --- docs/tutorial.md -------------------------------------------------------------------------------------
def test_the_tutorials_commands(tmp_path, monkeypatch):
    """From the first command to the last: all five systems in one lab."""
    monkeypatch.setenv("ATHANOR_LABS", str(tmp_path / "labs"))
    done = Guide(tmp_path).run(commands_of(text_of("tutorial")))
    assert re.search(r"^throughput +133 +177 \(\+33\.1%\)$", done.out, re.M), done.out[-3000:]
    assert re.search(r"^forge.configOverrides.batch_size +16 +64$", done.out, re.M)
    assert (tmp_path / "second-results/summary.json").is_file()
    assert "99 a100 fit in no cluster" in done.out and "lab tutorial stopped" in done.out
    assert re.search(r"^zone-node-?\S* +node-0 ", done.out, re.M), "athanor numa"


# --- docs/appwrapper.md -----------------------------------------------------------------------------------
def test_the_commands_about_appwrappers(tmp_path):
    """The block, and the commands within the text on an AppWrapper whose Workload was deactivated."""
    first = [one for one in commands_of(text_of("appwrapper")) if not one.startswith("make ")]
    create = next(one for one in first if one.startswith("kubectl apply"))
    described, shown, activated, all_described = RUN_INLINE["appwrapper"]
    becomes = "kubectl wait aw/sample --for=jsonpath={{.status.phase}}={} --timeout=60s"
    done = Guide(tmp_path).run(
        [
            *first,
            create,
            becomes.format("Running"),
            activated.replace("true", "false"),
            becomes.format("Suspended"),
            activated,
            becomes.format("Running"),
            described,
            shown,
            all_described,
        ],
        **{"workload NAME": f"workload {NEWEST.format('workloads')}", "NAME": "sample"},
    )
    assert "appwrapper.workload.codeflare.dev/sample created" in done.out and 'appwrapper.workload.codeflare.dev "sample" deleted' in done.out
    assert "user-queue" in done.out and "QUOTA RESERVED" in done.out and re.search(r"^Name: +sample$", done.out, re.M)


# --- docs/numa.md -----------------------------------------------------------------------------------------
def test_the_commands_about_zones(tmp_path):
    text = text_of("numa")
    pod = NEWEST.format("pods")
    replaced = {"[NODE]": "worker-1", "explain POD": f"explain {pod}"}
    # The pod may still be on its way to its node.
    placed = f"kubectl wait pod/{pod} --for=condition=Ready --timeout=60s"
    (create,) = [i for i, one in enumerate(commands_of(text)) if one.startswith("kubectl create")]
    commands = commands_of(text)
    done = Guide(tmp_path).run([*commands[: create + 1], placed, *commands[create + 1 :], *RUN_INLINE["numa"]], **replaced)
    assert re.search(r"^pod/aligned-\S+ created$", done.out, re.M)
    assert re.search(r"^worker-1 +node-0 +cpu ", done.out, re.M), "athanor numa worker-1"
    assert '"cpuIds"' in done.out or '"cpu_ids"' in done.out, done.out[-3000:]
    assert "kind: ClusterRole" in done.out


# --- docs/das.md ------------------------------------------------------------------------------------------
def test_a_lab_with_a_cluster_policy(tmp_path):
    (up,) = RUN_INLINE["das"]
    policy = "kubectl --kubeconfig ~/lab/admin.kubeconfig get clusterpolicy gpu-cluster-policy -o 'jsonpath={.status.state}'"
    done = Guide(tmp_path).run([f"{up} --storage memory --pods timed --data ~/lab &", f"until {policy}; do sleep 0.2; done"])
    assert "ready" in done.out.split(), done.out


# --- docs/simulate.md -------------------------------------------------------------------------------------
def test_the_simulations_commands(tmp_path):
    """On the first jobs of the quarter: the unoptimised build that runs here takes minutes for all of it."""
    guide = Guide(tmp_path)
    with open(ROOT / "examples/simulate/quarter.csv", encoding="utf-8") as quarter:
        (tmp_path / "weeks.csv").write_text("".join(itertools.islice(quarter, 61)), encoding="utf-8")
    done = guide.run(commands_of(text_of("simulate")), **{"examples/simulate/quarter.csv": "weeks.csv"})
    header = next(line for line in text_of("simulate").splitlines() if line.startswith("FLEET "))
    assert done.out.splitlines()[0].split() == header.split()
    assert re.search(r"^examples/simulate/fleet-plus-2.yaml +60 +60 ", done.out, re.M), done.out
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    guide.run(RUN_INLINE["simulate"])
    assert len((tmp_path / "trace.csv").read_text(encoding="utf-8").splitlines()) == 2001


def test_the_traces_of_the_page_are_played(tmp_path):
    text = text_of("simulate")
    fleet = ["--fleet", ROOT / "examples/simulate/fleet.yaml"]
    for language, how in (("csv", ([*fleet], ["--slices"])), ("yaml", ([*fleet],))):
        traces = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
        for trace, flags in zip(traces, how, strict=True):
            path = tmp_path / f"t.{language}"
            path.write_text(trace, encoding="utf-8")
            words = [*flags, path] if flags == ["--slices"] else [path, *flags]
            done = run([ATHANOR, "simulate", *words])
            assert done.code == 0, done.err
