# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the browser tests: one Chromium, a mock console for each test, and pages that note what must not happen."""

import pathlib
import sys

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright
from support import DEADLINE, ROOT, wait_for

sys.path.insert(0, str(ROOT / "web/test/mock"))
from console_mock import Console

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-lcd-text",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def chromium():
    """One browser for each file: Playwright keeps an event loop running, which other tests of a worker must not meet."""
    assert pathlib.Path(CHROMIUM).exists(), "chromium is missing: scripts/bootstrap"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def until(page, expression):
    """Waits for an expression of the page. Playwright's own wait needs eval, which the console's policy refuses."""
    wait_for(expression, lambda: page.evaluate(f"!!({expression})"))


class Tab:
    """One page of a console; its faults are texts of errors, refused content and requests to other origins."""

    def __init__(self, page, url):
        self.page = page
        self.url = url
        self.faults = []
        page.set_default_timeout(DEADLINE * 100)
        page.on("console", self._message)
        page.on("pageerror", lambda error: self.faults.append(f"exception: {error}"))
        page.on("dialog", lambda dialog: (self.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", self._request)

    def _message(self, message):
        if message.type in ("error", "warning"):
            self.faults.append(f"{message.type}: {message.text} {message.location.get('url', '')}")

    def _request(self, request):
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.faults.append(f"foreign request: {request.url}")

    def open(self, path):
        self.page.goto(self.url + path)
        self.page.wait_for_selector("main > *:not(.loading)")
        until(self.page, "!document.querySelector('.loading')")
        return self.page

    def check_access(self):
        """Fails if axe-core finds a violation of WCAG 2.1 AA."""
        options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
        found = Axe().run(self.page, options=options).response["violations"]
        lines = [f"{one['id']}: {node['target']} {node['failureSummary']}" for one in found for node in one["nodes"][:3]]
        assert not lines, "\n".join(lines)


@pytest.fixture
def tabs(chromium):
    """Opens tabs: tabs(url, theme="dark"); each must have had no fault when the test ends."""
    contexts, opened = [], []

    def new(url, theme="dark", width=1360, height=820, **options):
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, reduced_motion="reduce", timezone_id="UTC", locale="en-GB", **options
        )
        contexts.append(context)
        opened.append(Tab(context.new_page(), url))
        return opened[-1]

    yield new
    faults = [fault for tab in opened for fault in tab.faults]
    for context in contexts:
        context.close()
    assert not faults, "\n".join(faults)


@pytest.fixture
def make_console():
    """Mock consoles of a test's own: make_console(archived=4500)."""
    consoles = []

    def make(archived=60):
        consoles.append(Console(0, ROOT / "web/dist", archived).start())
        return consoles[-1]

    yield make
    for one in consoles:
        one.down(3600)
        one.shutdown()
        one.server_close()


@pytest.fixture
def console(make_console):
    return make_console()
