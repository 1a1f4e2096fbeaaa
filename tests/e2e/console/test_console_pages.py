# SPDX-License-Identifier: Apache-2.0
"""Every page of the console in a real browser, with invented data: no error, no foreign request, no violation of accessibility."""

import os
import re

import pytest
from console_browser import chromium, console, make_console, tabs  # noqa: F401
from support import ROOT

# What to open, and an element that it must show.
PAGES = {
    "overview": ("/", "[data-testid=problems] tr"),
    "jobs": ("/jobs", "[data-testid=table-jobs] [data-testid=phase-badge]"),
    "jobs-timeline": ("/jobs?view=timeline&range=1h", ".timeline rect"),
    "jobs-board": ("/jobs?view=board", ".board .card"),
    "job": ("/jobs/forge-llmd-00000", ".facts"),
    "job-pipeline": ("/jobs/forge-llmd-00008?tab=pipeline", ".dag-task.bad"),
    "job-queue": ("/jobs/forge-notebooks-00003?tab=queue", "[data-testid=explain-lock]"),
    "job-pods": ("/jobs/forge-llmd-00000?tab=pods", ".plaintable li a"),
    "job-logs": ("/jobs/forge-llmd-00008?tab=logs", "[data-testid=log-line-1]"),
    "job-artifacts": ("/jobs/forge-llmd-00008?tab=artifacts", ".value-tree a[rel='noopener noreferrer']"),
    "job-yaml": ("/jobs/forge-llmd-00008?tab=yaml", ".yaml-key"),
    "job-events": ("/jobs/forge-llmd-00008?tab=events", "table[aria-label=Events] td"),
    "job-related": ("/jobs/forge-llmd-00008?tab=related", ".tree li li"),
    "compare": ("/compare?job=fournos-jobs/forge-llmd-00000&job=fournos-jobs/forge-llmd-00008", ".compare-bar"),
    "queue": ("/queue", "[data-testid=table-queue] tbody tr"),
    "queue-why": ("/queue?explain=fournos-jobs/forge-notebooks-00003", "dialog [data-testid=estimate]"),
    "workload": ("/workloads/fournos-jobs/forge-notebooks-00003", "[data-testid=explanation] li"),
    "workload-related": ("/workloads/fournos-jobs/forge-notebooks-00003?tab=related", ".tree li li b"),
    "clusters": ("/clusters", "[data-testid=lock-badge-cluster-2]"),
    "cluster": ("/clusters/cluster-1", ".plot canvas"),
    "cluster-jobs": ("/clusters/cluster-1?tab=jobs", ".timeline rect"),
    "cluster-related": ("/clusters/cluster-1?tab=related", ".tree li b"),
    "locks": ("/locks", "[data-testid=unlock-cluster-2]"),
    "gpus": ("/gpus", "[data-testid=table-gpus] td"),
    "whatif": ("/whatif?change=job&cluster=cluster-1&gpuType=a100&gpus=4&play=1", ".plot canvas"),
    "whatif-asks": ("/whatif", "[data-testid=simulate]"),
    "nodes": ("/nodes", "[data-testid=row-node--node-3]"),
    "node": ("/nodes/node-3", ".facts"),
    "node-events": ("/nodes/node-3?tab=events", "table[aria-label=Events] td"),
    "node-related": ("/nodes/node-3?tab=related", ".tree li li"),
    "mig": ("/mig?profile=1g.5gb", ".slot.fits"),
    "numa": ("/numa", "[data-testid=numa-zone-node-1-node-0]"),
    "appwrappers": ("/appwrappers", "[data-testid=row-appwrapper-team-train-2]"),
    "appwrapper": ("/appwrappers/team/train-0", "[data-testid=transitions] tbody tr"),
    "appwrapper-events": ("/appwrappers/team/train-0?tab=events", "table[aria-label=Events] td"),
    "appwrapper-related": ("/appwrappers/team/train-0?tab=related", ".tree li b"),
    "submit": ("/submit", "[data-testid=field-project]"),
    "submit-yaml": ("/submit?mode=yaml", "[data-testid=yaml-editor]"),
    "schedules": ("/schedules", "[data-testid=row-schedule-fournos-jobs-nightly-llmd]"),
    "runs": ("/schedules/nightly-llmd/runs", "[data-testid=absent-starts] td"),
    "insights": ("/insights", ".heat td"),
    "system": ("/system", "[data-testid=controllers] td"),
    "absent": ("/jobs/ghost", "[role=alert] a"),
    "nowhere": ("/jobs/a/b/c", ".empty"),
}
# Those that docs/console.md shows.
PICTURES = {
    "overview",
    "jobs",
    "jobs-timeline",
    "job-pipeline",
    "job-queue",
    "job-logs",
    "compare",
    "queue",
    "clusters",
    "cluster",
    "locks",
    "gpus",
    "whatif",
    "mig",
    "numa",
    "appwrapper",
    "submit",
    "schedules",
    "insights",
    "nodes",
    "system",
}


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("name", [name for name in PAGES if name != "nowhere"])
def test_a_page_opens_clean(console, tabs, tmp_path, name, theme):  # noqa: F811
    path, shows = PAGES[name]
    tab = tabs(console.url, theme)
    page = tab.open(path)
    page.wait_for_selector(shows, state="attached")
    tab.check_access()
    picture = tmp_path / f"{name}-{theme}.png"
    page.screenshot(path=picture)
    assert picture.stat().st_size > 5000
    if name == "absent":  # the answer 404 is part of the page
        tab.faults = [fault for fault in tab.faults if "404" not in fault]
    # CONSOLE_PICTURES=1 renews the pictures of docs/console.md.
    if os.environ.get("CONSOLE_PICTURES") and name in PICTURES and theme == ("light" if name in ("numa", "submit") else "dark"):
        save_picture(page, ROOT / "docs/console" / f"{name}.png")


def test_the_guide_shows_each_page():
    """A picture for each page of the navigation, and none that nothing renews."""
    shown = re.findall(r"!\[[^\]]+\]\(console/([\w-]+)\.png\)", (ROOT / "docs/console.md").read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(PICTURES) == sorted(path.stem for path in (ROOT / "docs/console").glob("*.png"))
    # The page of a job and that of an AppWrapper stand for their lists' details.
    assert {"overview", "jobs", "queue", "submit", "schedules", "clusters", "locks", "gpus", "nodes", "mig", "numa", "appwrapper", "insights", "system"} <= set(shown)


def save_picture(page, target):
    """Saves a picture of at most 60 KB: fewer colours, not fewer pixels."""
    from PIL import Image

    target.parent.mkdir(exist_ok=True)
    page.set_viewport_size({"width": 1300, "height": 690})
    page.wait_for_timeout(300)
    page.screenshot(path=target)
    whole = Image.open(target).convert("RGB")
    for colours in (255, 160, 100, 64):
        whole.quantize(colours, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(target, optimize=True)
        if target.stat().st_size <= 60_000:
            return
    raise AssertionError(f"{target} is larger than 60 KB")


def test_an_unknown_page_names_itself(console, tabs):  # noqa: F811
    tab = tabs(console.url)
    page = tab.open("/jobs")
    page.evaluate("history.pushState(null, '', '/nowhere/at/all'); dispatchEvent(new PopStateEvent('popstate'))")
    assert "/nowhere/at/all" in page.inner_text(".empty")


def test_narrow_screens_scroll_no_page_sideways(console, tabs):  # noqa: F811
    tab = tabs(console.url, width=420, height=800)
    for name in ("overview", "jobs", "queue", "mig", "numa", "submit"):
        page = tab.open(PAGES[name][0])
        page.wait_for_selector(PAGES[name][1], state="attached")
        assert page.evaluate("document.documentElement.scrollWidth") <= 420, name


def test_absent_systems_leave_the_navigation_and_say_why(console, tabs):  # noqa: F811
    """T12 of docs/spec/dashboard.md."""
    console.features.update(mig=False, numa=False, appwrappers=False, schedules=False)
    tab = tabs(console.url)
    page = tab.open("/")
    assert page.locator("[data-testid=nav-queue]").count() == 1
    for name in ("mig", "numa", "appwrappers", "schedules"):
        assert page.locator(f"[data-testid=nav-{name}]").count() == 0
    page = tab.open("/mig")
    assert "no kinds of mig" in page.inner_text(".empty")
    assert "no kinds of numa" in tab.open("/system").inner_text("[data-testid=features]")


def test_a_read_only_console_offers_no_change(console, tabs):  # noqa: F811
    console.read_only = True
    tab = tabs(console.url)
    page = tab.open("/clusters/cluster-1")
    assert page.get_by_text("read-only").count() == 1
    assert page.locator("button", has_text="Lock").count() == 0
    page = tab.open("/jobs/forge-llmd-00000")
    assert page.locator("[data-testid=action-stop]").count() == 0
    assert tab.open("/submit").locator("[data-testid=submit]").is_disabled()


def test_each_page_has_one_heading_and_a_title_of_its_own(console, tabs):  # noqa: F811
    tab = tabs(console.url)
    titles = {}
    for name in (
        "overview",
        "jobs",
        "queue",
        "clusters",
        "locks",
        "gpus",
        "nodes",
        "mig",
        "numa",
        "appwrappers",
        "submit",
        "schedules",
        "insights",
        "system",
    ):
        page = tab.open(PAGES[name][0])
        assert page.locator("h1").count() == 1
        titles[page.title()] = name
    assert len(titles) == 14
