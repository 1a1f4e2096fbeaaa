# SPDX-License-Identifier: Apache-2.0
"""The console of a lab in a browser: real data on every page, and a walk as a new user would take it."""

import json
import re
import subprocess

import pytest
from console_browser import chromium, tabs  # noqa: F401
from support import ATHANOR, DEADLINE, JOBS, ROOT, run, wait_for

PATHS = [
    "/",
    "/jobs",
    "/jobs?view=timeline",
    "/jobs?view=board",
    "/queue",
    "/clusters",
    "/clusters/cluster-1",
    "/locks",
    "/gpus",
    "/nodes",
    "/mig",
    "/numa",
    "/appwrappers",
    "/submit",
    "/submit?mode=yaml",
    "/schedules",
    "/insights",
    "/system",
]
TABS = ["overview", "pipeline", "queue", "pods", "logs", "artifacts", "yaml", "events", "related"]


@pytest.fixture(scope="module")
def address(lab, tmp_path_factory):
    """The address of a console for the lab, with the pages of web/dist; a job has run there."""
    if run([ATHANOR, "console", "--help"]).code != 0:
        pytest.skip("this program has no console")
    out = tmp_path_factory.mktemp("console") / "out"
    arguments = ["console", "--address", "127.0.0.1:0", "--web", ROOT / "web/dist", "--kubeconfig", lab.data / "admin.kubeconfig"]
    with open(out, "wb") as stream:
        process = subprocess.Popen([ATHANOR, *arguments], stdout=stream, stderr=stream, stdin=subprocess.DEVNULL)
    try:
        url = wait_for("the console's address", lambda: re.search(r"console: (http://[\d.]+:\d+)/", out.read_text())).group(1)
        lab.kubectl("create", "-f", ROOT / "examples/fournos/sample-job.yaml")
        wait_for("a job that succeeded", lambda: "Succeeded" in lab.kubectl("get", "fournosjobs", "-n", JOBS).out)
        yield url
    finally:
        process.terminate()
        process.wait(DEADLINE)


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_every_page_opens_with_real_data(lab, address, tabs, theme):  # noqa: F811
    tab = tabs(address, theme)
    jobs = json.loads(lab.kubectl("get", "fournosjobs", "-n", JOBS, "-o", "json").out)["items"]
    # Pages of a job that failed rightly show its notice.
    job = next(one["metadata"]["name"] for one in jobs if one.get("status", {}).get("phase") == "Succeeded")
    for path in [*PATHS, *(f"/jobs/{job}?ns={JOBS}&tab={name}" for name in TABS)]:
        page = tab.open(path)
        assert page.locator("[data-testid=page-error], .notice.bad, [data-testid=stale-banner]").count() == 0, path
        tab.check_access()


def test_a_job_is_submitted_watched_and_run_again(address, tabs):  # noqa: F811
    tab = tabs(address)
    page = tab.open("/submit")
    page.locator("[data-testid=field-project]").fill("llmd")
    page.get_by_role("radio", name=re.compile("^cluster-1")).check()
    page.get_by_label("Arguments").fill("cks")
    page.locator("[data-testid=dry-run]").click()
    page.wait_for_selector("[data-testid=form-checked]")
    page.locator("[data-testid=submit]").click()
    page.wait_for_url(re.compile("/jobs/forge-llmd-"))
    wait_for("the end of the job on the page", lambda: page.locator(".pagehead [data-testid=phase-badge]").inner_text().endswith("Succeeded"))
    name = page.locator(".object-name").inner_text()
    page.locator("[data-testid=action-rerun]").click()
    page.locator("[data-testid=confirm]").click()
    page.wait_for_selector("[data-testid=toast]")
    page = tab.open("/jobs?filter=llmd%20archived:false&sort=-created")
    wait_for("two jobs", lambda: page.locator("[data-testid=table-jobs] tbody tr[data-index]").count() >= 2)
    assert page.locator(f"[data-testid=row-job-{JOBS}-{name}]").count() == 1
    for box in page.locator("[data-testid=table-jobs] tbody input[type=checkbox]").all()[:2]:
        box.check()
    page.get_by_role("link", name="Compare 2").click()
    page.wait_for_selector("table[aria-label=Jobs]")
    assert page.locator(".notice.bad").count() == 0
