# SPDX-License-Identifier: Apache-2.0
"""The console in a browser with 5,000 archived and 500 live jobs, beside the targets of docs/spec/dashboard.md (T4, T5, G4).

Started by scripts/bench-console. Prints one line a figure; exits with 1 where a target is missed.
"""

import json
import os
import pathlib
import re
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tests/e2e/console")]
import support  # noqa: E402
from console_browser import CHROMIUM, FLAGS  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

ARCHIVED, LIVE, VIEWERS, LOADS, CHANGES, IDLE = 5000, 500, 50, 5, 40, 20
LINES, FOLLOWED = 100_000, 10  # of a log; seconds that its end is followed
REQUESTS = 300  # to the API server of an idle lab
NS = support.JOBS
PHASES = ("Succeeded", "Succeeded", "Succeeded", "Failed", "Stopped")
# Milliseconds from an action on the page until its rows are other ones and painted.
ACT = """([find, act, value]) => new Promise((done) => {
  const element = document.querySelector(find), body = document.querySelector('[data-testid=table-jobs] tbody');
  const began = performance.now();
  const watch = new MutationObserver(() => {
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
  });
  watch.observe(body, {childList: true, subtree: true, characterData: true});
  if (act === 'click') element.click();
  else {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(element, value);
    element.dispatchEvent(new Event('input', {bubbles: true}));
  }
})"""
SCROLL = """() => new Promise((done) => {
  const box = document.querySelector('.tablebox'), began = performance.now();
  let frames = 0;
  const step = () => {
    box.scrollTop += 120;
    frames++;
    if (performance.now() - began < 2000) requestAnimationFrame(step);
    else done(frames * 1000 / (performance.now() - began));
  };
  requestAnimationFrame(step);
})"""
# Notes when a text appears in a table: window.seen[text] = time.
SEE = """() => {
  window.seen = {};
  new MutationObserver(() => {
    for (const cell of document.querySelectorAll('[data-testid=table-jobs] [data-testid=cell-owner]'))
      if (cell.textContent.startsWith('changed-')) window.seen[cell.textContent] ??= Date.now();
  }).observe(document.querySelector('[data-testid=table-jobs]'), {childList: true, subtree: true, characterData: true});
}"""
# Milliseconds from the click on the tab of logs until lines are painted.
FIRST_LINES = """() => new Promise((done) => {
  const began = performance.now();
  const watch = new MutationObserver(() => {
    if (!document.querySelector('.log-line')) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
  });
  watch.observe(document.body, {childList: true, subtree: true});
  document.querySelector('[data-testid=tab-logs]').click();
})"""
# A log that grows by ten lines a second, without a server.
GROWS = """
const Real = EventSource;
window.EventSource = function (url, options) {
  if (!String(url).includes('follow=1')) return new Real(url, options);
  const stream = new EventTarget();
  let n = 0;
  const timer = setInterval(() => {
    const data = JSON.stringify({n: ++n, at: new Date().toISOString(), text: `INFO: new line ${n}`});
    stream.dispatchEvent(new MessageEvent('line', {data}));
  }, 100);
  return Object.assign(stream, {readyState: 1, close: () => clearInterval(timer)});
};
window.EventSource.CLOSED = 2;
"""
missed = 0


def judge(name, value, unit, limit, least=False):
    global missed
    good = value >= limit if least else value <= limit
    missed += not good
    print(f"{name:<58} {value:>10.1f} {unit:<6} target {'>=' if least else '<='} {round(limit, 1):g} {unit}   {'ok' if good else 'MISSED'}", flush=True)


def told(name, value, unit):
    print(f"{name:<58} {value:>10.1f} {unit}", flush=True)


def spent(devtools):
    """Milliseconds of processor time of the page's thread: other programs of the machine do not change it."""
    return 1000 * next(one["value"] for one in devtools.send("Performance.getMetrics")["metrics"] if one["name"] == "TaskDuration")


def rss_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) / 1024


def job(number, **metadata):
    return {
        "apiVersion": "fournos.dev/v1",
        "kind": "FournosJob",
        "metadata": {"name": f"bench-{number:05}", "namespace": NS, **metadata},
        "spec": {
            "owner": ("alice", "bob", "carol")[number % 3], "displayName": f"run {number}", "cluster": f"cluster-{number % 2 + 1}",
            "forge": {"project": ("llmd", "notebooks")[number % 2], "args": ["a"]},
        },
    }  # fmt: skip


class Server:
    """One console of the lab, in a process of its own."""

    def __init__(self, lab, folder):
        self.out = folder / f"console-{time.monotonic_ns()}.out"
        with open(self.out, "wb") as stream:
            self.process = subprocess.Popen(
                [support.ATHANOR, "console", "--address", "127.0.0.1:0", "--data", folder / "data", "--kubeconfig", lab.kubeconfig],
                stdin=subprocess.DEVNULL, stdout=stream, stderr=stream,
            )  # fmt: skip
        found = support.wait_for("the console", lambda: re.search(r"console: (http://[\d.]+:(\d+))/", self.out.read_text()))
        self.url, self.port = found.group(1), int(found.group(2))

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def archive(folder):
    now = datetime.now(UTC)
    text = lambda time_: time_.strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: E731
    with sqlite3.connect(folder / "data/console.db") as database:
        for number in range(ARCHIVED):
            created = now - timedelta(minutes=20 * (number + 1))
            one = job(10000 + number, uid=f"archived-{number}", creationTimestamp=text(created))
            one["status"] = {"phase": PHASES[number % 5], "cluster": one["spec"]["cluster"], "message": "it is over"}
            row = (one["metadata"]["uid"], NS, one["metadata"]["name"], one["status"]["phase"], text(created), text(created + timedelta(minutes=12)), json.dumps(one))
            database.execute("INSERT INTO athanor_jobs(uid, ns, name, phase, created, completed, object) VALUES(?, ?, ?, ?, ?, ?, ?)", row)


def counters(lab):
    """Requests answered so far, and open watches."""
    text = lab.http("GET", "/metrics").text
    # The reading of this page is a request, too.
    requests = sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith("apiserver_request_total{"))
    return requests, sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith("apiserver_longrunning_requests{"))


def pages(playwright, server):
    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    first = []
    for _ in range(LOADS):
        context = browser.new_context(viewport={"width": 1360, "height": 820}, reduced_motion="reduce")
        page = context.new_page()
        page.goto(f"{server.url}/jobs", wait_until="commit")
        page.wait_for_selector("[data-testid=table-jobs] [data-testid=phase-badge]")
        first.append(page.evaluate("performance.now()"))
        support.wait_for("all rows", lambda page=page: page.inner_text(".count-of").startswith(str(ARCHIVED + LIVE)))
        if len(first) < LOADS:
            context.close()
    judge("first usable view of 5,500 jobs", statistics.median(first), "ms", 1000)
    sent = page.evaluate("performance.getEntriesByType('resource').filter((one) => one.name.includes('assets')).reduce((sum, one) => sum + one.transferSize, 0)")
    judge("files of the first load, compressed", sent / 1024, "KiB", 300)
    devtools = context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = spent(devtools)
    filters = [page.evaluate(ACT, ["[data-testid=filter-input]", "type", text]) for text in ("llmd", "phase:Failed", "owner:bob age:<30d", "")]
    judge("filter, the slowest of 4", max(filters), "ms", 100)
    told("filter, processor time of the page, mean", (spent(devtools) - before) / 4, "ms")
    sorts = []
    for title in ("Owner", "Cluster", "Owner"):
        page.get_by_role("button", name=title, exact=True).first.evaluate("(button) => button.setAttribute('data-bench', '')")
        sorts.append(page.evaluate(ACT, ["[data-bench]", "click", ""]))
        page.evaluate("document.querySelector('[data-bench]').removeAttribute('data-bench')")
    judge("sort, the slowest of 3", max(sorts), "ms", 100)
    before = spent(devtools)
    frames = page.evaluate(SCROLL)
    judge("scrolling", frames, "fps", 50, least=True)
    told("scrolling, processor time of the page for a frame", (spent(devtools) - before) / (2 * frames), "ms")
    return browser, context


def archive_log(folder):
    """A log of 100,000 lines of a job whose pod is gone."""
    lines = "".join(f"2026-01-01T00:{n // 60000:02}:{n // 1000 % 60:02}.{n % 1000:03}000000Z INFO: iteration {n} took {n % 97} ms\n" for n in range(LINES))
    with sqlite3.connect(folder / "data/logs.db") as database:
        row = (NS, "bench-pod", "main", f"{NS}/bench-00000", "test/main", "2026-01-01T00:00:00Z", len(lines), lines.encode())
        database.execute("INSERT INTO athanor_logs(ns, pod, container, job, source, began, bytes, text) VALUES(?, ?, ?, ?, ?, ?, ?, ?)", row)


def logs(server, context):
    """L5 of docs/spec/dashboard.md."""
    page = context.new_page()
    page.add_init_script(GROWS)
    page.goto(f"{server.url}/jobs/bench-00000?ns={NS}")
    page.wait_for_selector("[data-testid=tab-logs]")
    judge(f"first lines of a log of {LINES:,}", page.evaluate(FIRST_LINES), "ms", 300)
    support.wait_for("all lines", lambda: int(re.match(r"(\d*)", page.inner_text(".log-foot")).group(1) or 0) >= LINES)
    frames = page.evaluate(SCROLL.replace(".tablebox", ".log-box"))
    judge("scrolling a log", frames, "fps", 50, least=True)
    devtools = context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = spent(devtools)
    time.sleep(FOLLOWED)
    judge("following 10 lines a second, processor", (spent(devtools) - before) / (10 * FOLLOWED), "%", 5)
    page.close()


def changes(lab, server, context):
    page = context.new_page()
    page.goto(f"{server.url}/jobs?filter=bench-00000%20archived:false")
    page.wait_for_selector("[data-testid=table-jobs] [data-testid=cell-owner]")
    page.evaluate(SEE)
    sent = {}
    for number in range(CHANGES):
        text = f"changed-{number}"
        lab.http("PATCH", f"/apis/fournos.dev/v1/namespaces/{NS}/fournosjobs/bench-00000", {"spec": {"owner": text}}, content_type="application/merge-patch+json")
        sent[text] = time.time() * 1000
        support.wait_for(f"{text} on the page", lambda text=text: page.evaluate("(text) => window.seen[text]", text))
        time.sleep(0.25)  # a change a quarter of a second: the stream folds bursts
    seen = page.evaluate("window.seen")
    delays = sorted(max(0.0, seen[text] - at) for text, at in sent.items())
    judge("change to browser, p95", delays[int(0.95 * len(delays)) - 1], "ms", 100)
    page.close()


def viewers(lab, server):
    before = counters(lab)[1]
    sockets = []
    try:
        for _ in range(VIEWERS):
            one = socket.create_connection(("127.0.0.1", server.port))
            one.sendall(f"GET /api/v1/stream?topics=jobs,clusters,queue,nodes HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
            assert one.recv(64).startswith(b"HTTP/1.1 200"), "the stream was refused"
            sockets.append(one)
        first, watches = counters(lab)
        began = time.monotonic()
        time.sleep(IDLE)
        last = counters(lab)[0]
        judge(f"watches that {VIEWERS} viewers add", watches - before, "", 0)
        judge(f"requests to the API server of {VIEWERS} viewers", max(0.0, last - first - 1) / (time.monotonic() - began), "/s", 1)
    finally:
        for one in sockets:
            one.close()


def processor_ms(pid):
    """Milliseconds of processor time of a process, all threads."""
    return 1000 * support.processor_seconds(pid)


def latencies(lab):
    """Milliseconds of requests to the API server, one after the other."""
    for _ in range(REQUESTS):
        began = time.monotonic()
        lab.http("GET", f"/api/v1/namespaces/{NS}/pods?limit=1")
        yield 1000 * (time.monotonic() - began)


def idle_lab(folder, name, *arguments):
    """Processor time, requests and memory of a lab without viewers, which keeps its objects on the disk, as labs do unless told otherwise."""
    lab = support.Lab(folder / name, ["--pods", "timed", *arguments], program=pathlib.Path(os.environ["ATHANOR"]))
    try:
        lab.start()
        time.sleep(IDLE)  # until its controllers have done what they do at the start
        spent_before, (first, watches) = processor_ms(lab.process.pid), counters(lab)
        began = time.monotonic()
        time.sleep(IDLE)
        length = time.monotonic() - began
        used, last = processor_ms(lab.process.pid) - spent_before, counters(lab)[0]
        memory = rss_mib(lab.process.pid)  # before more requests, whose memory the allocator keeps for a while
        waits = sorted(latencies(lab))
        return {"processor": used / length, "requests": max(0.0, last - first - 1) / length, "watches": watches, "memory": memory, "p50": waits[len(waits) // 2], "p99": waits[int(0.99 * len(waits)) - 1]}
    finally:
        lab.close()


def without_viewers(folder):
    bare, served = idle_lab(folder, "bare", "--console", "off"), idle_lab(folder, "served")
    judge("requests to the API server that a console without viewers adds", max(0.0, served["requests"] - bare["requests"]), "/s", 1)
    told("watches that a console without viewers adds", served["watches"] - bare["watches"], "")
    told("processor time that a console without viewers adds, a second", max(0.0, served["processor"] - bare["processor"]), "ms")
    judge("memory that a console without viewers adds to a lab", served["memory"] - bare["memory"], "MiB", 3)
    for part in ("p50", "p99"):
        told(f"a request to the API server, {part}, without and with a console", bare[part], "ms")
        told("", served[part], "ms")


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="console-bench-"))
    (folder / "data").mkdir()
    lab = support.Lab(folder / "lab", ["--storage", "memory", "--pods", "timed", "--controllers", "", "--console", "off"], program=pathlib.Path(os.environ["ATHANOR"]))
    server = None
    try:
        lab.start()
        lab.http("POST", "/api/v1/namespaces", {"metadata": {"name": NS}})
        server = Server(lab, folder)
        support.wait_for("the history", (folder / "data/console.db").exists)
        time.sleep(1)
        bare = rss_mib(server.process.pid)
        server.stop()
        archive(folder)
        archive_log(folder)
        for number in range(LIVE):
            answer = lab.http("POST", f"/apis/fournos.dev/v1/namespaces/{NS}/fournosjobs", job(number))
            assert answer.code == 201, answer.text
        server = Server(lab, folder)
        with sync_playwright() as playwright:
            browser, context = pages(playwright, server)
            changes(lab, server, context)
            logs(server, context)
            browser.close()
        viewers(lab, server)
        judge("memory of the server", rss_mib(server.process.pid), "MiB", 60 + bare)
        told("memory without jobs", bare, "MiB")
        server.stop()
        lab.stop()
        without_viewers(folder)
    finally:
        if server is not None and server.process.poll() is None:
            server.stop()
        lab.close()
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
