# SPDX-License-Identifier: Apache-2.0
"""Every page of the console with a lab that has all kinds: each shows what test_console_pages.py wants of it with invented data."""

import json
import re

import pytest
from console_browser import ROOT, chromium, tabs  # noqa: F401
from console_client import Console as Client
from support import wait_for
from test_console_pages import PAGES
from tutorial_lab import tutorial_lab

NS = "fournos-local-dev"
CLUSTER = "edge"
FAILS = "kind: FournosJob\napiVersion: fournos.dev/v1\nmetadata: {name: every-failed, namespace: %s}\nspec: {owner: ann, cluster: cluster-1, pipeline: no-such-pipeline, forge: {project: llmd, args: [a]}}\n" % NS  # fmt: skip


def job(name, **spec):
    spec = {"owner": "ann", "cluster": "cluster-1", "pipeline": "fournos-benchmark", "forge": {"project": "llmd", "args": ["a"]}, **spec}
    return json.dumps({"apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": {"name": name, "namespace": NS}, "spec": spec})


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """The lab of the tutorial with GPUs that are sliced, zones, a lock, a schedule, an AppWrapper, and jobs of each end."""
    with pytest.MonkeyPatch.context() as patch, tutorial_lab(tmp_path_factory.mktemp("every"), patch) as lab:
        client = Client(lab)
        lab.kubectl("apply", "-f", ROOT / "examples/das/test-pod-emulated.yaml")
        lab.kubectl("apply", "-f", ROOT / "examples/appwrapper/appwrapper.yaml")
        for one in (job("every-done"), job("every-gone"), FAILS):
            lab.kubectl("apply", "-f", "-", stdin=one)
        form = {"name": "every-night", "project": "llmd", "cluster": "cluster-1", "cron_expr": "0 3 * * *"}
        assert client.request("POST", "/api/v1/schedules", form)[0].status in (200, 201)
        phase = lambda name: client.get(f"/api/v1/jobs/{NS}/{name}")["job"]["phase"]  # noqa: E731
        for name, ends in (("every-done", "Succeeded"), ("every-gone", "Succeeded"), ("every-failed", "Failed")):
            wait_for(f"the end of {name}", lambda name=name, ends=ends: phase(name) == ends)
        lab.kubectl("delete", "fournosjob", "every-gone", "-n", NS)
        wait_for("the cluster", lambda: any(one["name"] == CLUSTER and one["state"] == "Valid" for one in client.get("/api/v1/clusters")["items"]))
        assert client.request("PUT", f"/api/v1/clusters/{CLUSTER}/lock", {"owner": "bob", "ttl": "2h"})[0].status == 200
        lab.kubectl("apply", "-f", "-", stdin=job("every-waits", cluster=CLUSTER, hardware={"gpuType": "a100", "gpuCount": 2}))
        wait_for("the slice", lambda: any(gpu["holders"] for node in client.get("/api/v1/mig")["nodes"] for gpu in node["gpus"]))
        wait_for("the zones", lambda: client.get("/api/v1/numa")["nodes"])
        wait_for("the lock", lambda: client.get("/api/v1/locks")["items"])
        wait_for("the waiting job", lambda: any(one.get("job") == "every-waits" for one in client.get("/api/v1/workloads")["items"]))
        wait_for("the archived job", lambda: any(one["archived"] and one["name"] == "every-gone" for one in client.get("/api/v1/jobs")["items"]))
        yield lab, client


def live_path(name, path, client):
    """The path of a page with the names that the lab has."""
    done, failed, waits = (f"/jobs/{one}" for one in ("every-done", "every-failed", "every-waits"))
    gpu_node = client.get("/api/v1/mig")["nodes"][0]["node"]
    workload = f"{NS}/every-waits"
    changes = {
        "/jobs/forge-llmd-00000": done, "/jobs/forge-llmd-00008": failed if name in ("job-events", "job-yaml") else done, "/jobs/forge-notebooks-00003": waits,
        "fournos-jobs/forge-llmd-00000": f"{NS}/every-done", "fournos-jobs/forge-llmd-00008": f"{NS}/every-failed",
        "fournos-jobs/forge-notebooks-00003": workload, "/clusters/cluster-1": f"/clusters/{CLUSTER}", "cluster=cluster-1": f"cluster={CLUSTER}",
        "/nodes/node-3": f"/nodes/{gpu_node}", "team/train-0": "default/sample", "nightly-llmd": "every-night",
    }  # fmt: skip
    for old, new in changes.items():
        path = path.replace(old, new)
    return path


# What the lab shows where its names are others, or where it has less than the invented data.
SHOWS = {
    "overview": "[data-testid=problems] tr, [data-testid=problems] .good-text",
    "job-pipeline": ".dag-task",
    "job-artifacts": ".value-tree, .plaintable",
    "compare": "table[aria-label=Jobs]",
    "queue-why": "dialog [data-testid=explanation], dialog li",
    "clusters": f"[data-testid=lock-badge-{CLUSTER}]",
    "cluster": ".facts, .section",
    "cluster-jobs": ".timeline rect, .empty",
    "locks": f"[data-testid=unlock-{CLUSTER}]",
    "gpus": "[data-testid=table-gpus] td, .empty",
    "nodes": "[data-testid=table-nodes] tbody tr",
    "numa": "[data-testid^=numa-zone-zone-node]",
    "appwrappers": "[data-testid=row-appwrapper-default-sample]",
    "schedules": f"[data-testid=row-schedule-{NS}-every-night]",
    "runs": ".empty, [data-testid=absent-starts], table",
    "node-events": "table[aria-label=Events] td, .empty",
    "appwrapper-events": "table[aria-label=Events] td, .empty",
    "job-events": "table[aria-label=Events] td, .empty",
    "insights": ".heat td, [data-testid=table-insights]",
}


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_every_page_shows_what_the_lab_has(full, tabs, theme):  # noqa: F811
    _, client = full
    tab = tabs(f"http://{client.host}", theme)
    wrong = []
    for name, (path, shows) in PAGES.items():
        if name in ("absent", "nowhere"):
            continue
        page = tab.open(live_path(name, path, client))
        page.wait_for_selector(SHOWS.get(name, shows), state="attached")
        if page.locator("[data-testid=page-error], [data-testid=stale-banner]").count():
            wrong.append(name)
        tab.check_access()
    assert not wrong, wrong


def test_keys_reach_every_page(full, tabs):  # noqa: F811
    _, client = full
    page = tabs(f"http://{client.host}").open("/")
    for key, path in {"j": "/jobs", "q": "/queue", "c": "/clusters", "l": "/locks", "n": "/nodes", "m": "/mig", "z": "/numa", "a": "/appwrappers", "s": "/submit", "e": "/schedules", "i": "/insights", "y": "/system"}.items():
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(re.compile(f"{path}($|\\?)"))
        page.wait_for_selector("main > *:not(.loading)")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement !== document.body"), f"{path} takes no focus"


def test_the_table_of_fournos_ui_reads_as_before(full):
    """A4 of docs/spec/dashboard.md: ages, progress, at most 50 rows."""
    _, client = full
    _, data = client.request("GET", "/api/jobs-table")
    rows = re.findall(r"<tr data-job=.*?</tr>", data.decode(), re.DOTALL)
    assert 1 <= len(rows) <= 50
    for row in rows:
        cells = re.findall(r"<td[^>]*>(.*?)</td>", row)
        assert len(cells) == 9 and re.fullmatch(r"\d+[smh]( \d+[mh])?", cells[7]), row
