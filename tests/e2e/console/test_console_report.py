# SPDX-License-Identifier: Apache-2.0
"""The page of `athanor simulate --html` in a browser: the console's charts, one file, nothing loaded, names stay text."""

import pytest
from console_browser import chromium, tabs  # noqa: F401
from support import ATHANOR, ROOT, run

FLEETS = (ROOT / "examples/simulate/fleet.yaml", ROOT / "examples/simulate/fleet-plus-2.yaml")
HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    trace, page = folder / "trace & <b>.csv", folder / "report.html"
    lines = [f"{60 * i},{HOSTILE if i % 3 else 'ann'},h200,8,1800,," for i in range(12)]
    trace.write_text("submit,owner,gpu_type,gpus,duration,priority,cluster\n" + "\n".join(lines) + "\n", encoding="utf-8")
    done = run([ATHANOR, "simulate", trace, "--fleet", FLEETS[0], "--what-if", FLEETS[1], "--html", page], timeout=400)
    assert done.code == 0, done.err
    return trace, page


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_report_is_one_file(tabs, report, theme):  # noqa: F811
    trace, file = report
    tab = tabs(file.as_uri(), theme)
    page, loaded = tab.page, []
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector(".plot canvas")
    assert page.inner_text("h1") == str(trace)
    assert page.locator(".plot canvas").count() == 3  # jobs that wait, GPUs of two types
    assert [one.split("\n")[0] for one in page.locator("[data-testid=report-figures]").all_inner_texts()] == [str(fleet) for fleet in FLEETS]
    owners = page.get_by_role("table", name="Waiting by owner")
    assert HOSTILE in owners.inner_text() and page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1360
    tab.check_access()
    assert loaded == [file.as_uri()]
