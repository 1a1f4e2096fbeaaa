# SPDX-License-Identifier: Apache-2.0
"""A walk as a new user would take it, in a lab of its own: submit a job, watch it, lock a cluster, see why a job waits, unlock, compare two runs.
And what viewers cost the API server (T5).

Where docs/spec/dashboard.md B10 is tested:

| T | test |
|---|---|
| T1 | test_console_api.py::test_old_form_submits_a_job |
| T2 | test_console_api.py::test_a_schedule_of_the_old_ui_keeps_working |
| T3 | test_console_postgres.py::test_tables_of_fournos_ui_are_read; test_console_api.py::test_deleted_job_stays_in_history (a rerun after the job is gone) |
| T4 | test_console_use.py::test_five_thousand_rows_stay_quick, also the memory of the page; scripts/bench-console measures the server |
| T5 | test_viewers_add_no_watch |
| T6 | test_a_new_user_submits_watches_locks_waits_and_compares; test_console_use.py::test_a_lock_is_seen_by_another_viewer |
| T7 | test_a_new_user_submits_watches_locks_waits_and_compares; test_console_use.py::test_a_waiting_job_names_the_lock_in_its_way |
| T8 | test_console_use.py::test_slots_are_blocks_and_counts_follow_the_placements; the server's counts: SliceMap.CountsRoomAsThePlacementsDo of tests/unit/console/data/slice_map_test.cpp |
| T9 | test_console_access.py::test_a_viewer_sees_what_their_rights_show; test_console_rights.py; deploy/test_deployed_console.py |
| T10 | test_console_restart.py; test_console_use.py::test_the_connection_breaks_and_comes_back |
| T11 | test_console_use.py::test_a_hundred_thousand_lines_are_searched_and_stay_text |
| T12 | test_console_pages.py::test_absent_systems_leave_the_navigation_and_say_why |
"""

import json
import re
import socket

import pytest
from console_browser import chromium, tabs  # noqa: F401
from support import ROOT, Lab, wait_for
from test_console_api import Console

VIEWERS = 50
NS, CLUSTER = "psap-automation", "cluster-a-1"


@pytest.fixture(scope="module")
def own_lab(tmp_path_factory):
    """A lab with clusters of Hearth, which no other test locks."""
    one = Lab(tmp_path_factory.mktemp("walk") / "lab", ["--storage", "memory", "--lab", str(ROOT / "examples/hearth/lab.yaml")])
    try:
        one.start()
        yield one
    finally:
        one.close()


@pytest.fixture(scope="module")
def console(own_lab):
    return Console(own_lab)


def submit(tab, project):
    """Fills the form; returns the job's name once its page shows."""
    page = tab.open("/submit")
    page.locator("[data-testid=field-project]").fill(project)
    page.get_by_role("radio", name=re.compile(f"^{CLUSTER}")).check()
    page.get_by_label("Arguments").fill("cks")
    page.locator("[data-testid=dry-run]").click()
    page.wait_for_selector("[data-testid=form-checked]")
    page.locator("[data-testid=submit]").click()
    page.wait_for_url(re.compile(f"/jobs/forge-{project}-"))
    page.wait_for_selector(".pagehead [data-testid=phase-badge]")
    return page.locator(".object-name").inner_text()


def wait_phase(page, phase):
    wait_for(f"{phase} on the page", lambda: page.locator(".pagehead [data-testid=phase-badge]").inner_text().endswith(phase))


def test_a_new_user_submits_watches_locks_waits_and_compares(console, tabs):  # noqa: F811
    url = f"http://{console.host}"
    wait_for("the cluster's quota", lambda: any(one["name"] == CLUSTER and one.get("state") == "Valid" for one in console.get("/api/v1/clusters")["items"]))
    tab, other = tabs(url), tabs(url, "light")
    first = submit(tab, "llmd")
    wait_phase(tab.page, "Succeeded")

    other.open("/clusters")
    page = tab.open(f"/clusters/{CLUSTER}")
    page.locator("[data-testid=lock-cluster]").click()
    page.locator("[data-testid=lock-owner]").fill("alice")
    page.locator("[data-testid=lock-ttl]").fill("2h")
    page.locator("[data-testid=lock-submit]").click()
    for viewer in (page, other.page):
        viewer.locator(f"[data-testid=lock-badge-{CLUSTER}]", has_text="Held").first.wait_for()

    second = submit(tab, "llmd")
    assert second != first
    page = tab.open(f"/jobs/{second}?ns={NS}&tab=queue")
    page.wait_for_selector("[data-testid=explain-lock]")
    text = page.inner_text("[data-testid=explain-lock]")
    assert CLUSTER in text and "alice" in text and "UTC" in text, text

    page = tab.open("/locks")
    page.locator(f"[data-testid=unlock-{CLUSTER}]").click()
    page.locator("[data-testid=confirm]").click()
    page = tab.open(f"/jobs/{second}?ns={NS}")
    wait_phase(page, "Succeeded")

    page = tab.open(f"/compare?job={NS}/{first}&job={NS}/{second}")
    page.wait_for_selector("table[aria-label=Jobs]")
    assert first in page.inner_text("main") and second in page.inner_text("main")


def watches(console):
    """Lists of each kind that is watched."""
    return {one["kind"]: one["lists"] for one in console.get("/api/v1/system")["watches"] if one["watching"]}


def test_viewers_add_no_watch(own_lab, console):
    """T5: streams of many viewers are fed by the watches that one viewer has."""
    console.get("/api/v1/jobs")
    wait_for("the watches", lambda: len(watches(console)) > 10)
    open_watches = lambda: int(re.search(r"^apiserver_longrunning_requests\{.*\} (\d+)", own_lab.http("GET", "/metrics").text, re.M).group(1))  # noqa: E731
    before, lists = open_watches(), watches(console)
    viewers = []
    try:
        for _ in range(VIEWERS):
            one = socket.create_connection(("127.0.0.1", console.port))
            viewers.append(one)
            one.sendall(f"GET /api/v1/stream?topics=jobs,clusters,nodes HTTP/1.1\r\nHost: {console.host}\r\n\r\n".encode())
            assert one.recv(64).startswith(b"HTTP/1.1 200")
        wait_for("all viewers", lambda: console.get("/api/v1/system")["viewers"] >= VIEWERS)
        # A few may be renewed meanwhile; one for each viewer would be more by far.
        assert open_watches() < before + VIEWERS // 2
        assert sum(watches(console).values()) < sum(lists.values()) + VIEWERS // 2
    finally:
        for one in viewers:
            one.close()
    wait_for("their end", lambda: console.get("/api/v1/system")["viewers"] < VIEWERS)


def test_repairs_of_quota_are_counted(own_lab, console):
    """A cluster's share that another writer took out of the queue: Hearth puts it back, Insights counts it."""
    queue = next(one["metadata"]["name"] for one in json.loads(own_lab.kubectl("get", "clusterqueues", "-o", "json").out)["items"])
    flavors = lambda: [one["name"] for one in json.loads(own_lab.kubectl("get", "clusterqueue", queue, "-o", "json").out)["spec"]["resourceGroups"][0]["flavors"]]  # noqa: E731
    wait_for("the share", lambda: CLUSTER in flavors())
    index = flavors().index(CLUSTER)
    own_lab.kubectl("patch", "clusterqueue", queue, "--type=json", "-p", json.dumps([{"op": "remove", "path": f"/spec/resourceGroups/0/flavors/{index}"}]))
    wait_for("its return", lambda: CLUSTER in flavors())
    repairs = wait_for("the record", lambda: (found := console.get("/api/v1/insights?range=24h")["repairs"])["clusters"] and found)
    assert [(one["cluster"], one["count"], one["fights"]) for one in repairs["clusters"]] == [(CLUSTER, 1, 0)], repairs
    assert repairs["newest"][0]["cluster"] == CLUSTER and repairs["newest"][0]["at"] == repairs["clusters"][0]["last"]
