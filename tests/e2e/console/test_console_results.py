# SPDX-License-Identifier: Apache-2.0
"""Files of a run's results place in the console: those of `athanor results`, shown as what they are, and hostile ones as text."""

import json

import pytest
from console_browser import chromium, tabs, until  # noqa: F401
from support import JOBS, wait_for
from test_console_api import Console, make_job

NAME = "console-results"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
HOSTILE = "<img src=x onerror=alert(1)>.html"
SCRIPT = f"""
mkdir -p /results/{NAME}/deep && cd /results/{NAME}
echo {PNG} | base64 -d > deep/plot.png
echo '{{"p99": 12.5}}' > summary.json
printf 'name,value\\n"a, b",=1+1\\n' > table.csv
printf '<script>alert(1)</script>' > '{HOSTILE}'
printf '\\377\\376\\000' > raw.bin
head -c 7000000 /dev/zero > large.log
ln -s /etc/passwd outside
"""


@pytest.fixture(scope="module")
def console(lab):
    """A lab whose results place has a folder for a job that is gone, as a run would have left it."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "writer", "namespace": JOBS},
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "write", "image": "busybox:1.36", "command": ["/bin/sh", "-ec", SCRIPT], "volumeMounts": [{"name": "results", "mountPath": "/results"}]}],
            "volumes": [{"name": "results", "persistentVolumeClaim": {"claimName": "fournos-results"}}],
        },
    }
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(pod))
    wait_for("the files", lambda: json.loads(lab.kubectl("get", "pod", "writer", "-n", JOBS, "-o", "json").out)["status"]["phase"] == "Succeeded")
    return Console(lab)


def file(console, path, name=NAME):
    return console.request("GET", f"/api/v1/results/{JOBS}/{name}/file?path={path}")


def test_files_are_those_of_the_command_line(lab, console):
    shown = console.get(f"/api/v1/results/{JOBS}/{NAME}")
    told = json.loads(lab.athanor("results", NAME, "-n", JOBS, "-o", "json").out)
    assert shown["available"] and shown["complete"]
    assert [(one["path"], one["bytes"]) for one in shown["files"]] == [(one["path"], one["size"]) for one in told["files"]]
    types = {one["path"]: one["type"] for one in shown["files"]}
    assert types == {
        "deep/plot.png": "image/png", "summary.json": "application/json", "table.csv": "text/csv", HOSTILE: "text/plain", "raw.bin": "text/plain", "large.log": "text/plain",
    }  # fmt: skip
    pods = [one["metadata"]["name"] for one in lab.get(f"/api/v1/namespaces/{JOBS}/pods")["items"]]
    assert not [name for name in pods if name.startswith("results-reader-")]


def test_a_file_is_handed_out_as_what_it_is(console):
    answer, data = file(console, "summary.json")
    assert (answer.status, answer.getheader("Content-Type")) == (200, "application/json; charset=utf-8")
    assert json.loads(data) == {"p99": 12.5}
    answer, data = file(console, "deep/plot.png")
    assert answer.getheader("Content-Type") == "image/png" and data.startswith(b"\x89PNG")
    answer, data = file(console, "raw.bin")
    assert (answer.getheader("Content-Type"), data) == ("application/octet-stream", b"\xff\xfe\x00")
    assert answer.getheader("Content-Disposition").startswith("attachment")
    answer, _ = file(console, "%3Cimg%20src%3Dx%20onerror%3Dalert%281%29%3E.html")
    assert answer.getheader("Content-Type").startswith("text/plain")
    assert answer.getheader("Content-Disposition") == 'inline; filename="_img_src_x_onerror_alert_1__.html"'


def test_what_cannot_be_read_is_refused(console):
    for path, status in (("..%2Fother", 400), ("%2Fetc%2Fpasswd", 400), ("", 400), ("none.txt", 404), ("outside", 404), ("large.log", 413)):
        answer, data = file(console, path)
        assert answer.status == status, (path, data)
        assert json.loads(data)["error"]["message"]
    assert file(console, "summary.json", name="%2e%2e")[0].status == 400
    answer, _ = console.request("GET", f"/api/v1/results/{JOBS}/{NAME}", headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status == 403
    assert console.request("GET", f"/api/v1/results/kube-system/{NAME}")[0].status == 403


def test_files_are_shown_on_the_page_of_a_job(lab, console, tabs):  # noqa: F811
    make_job(lab, NAME)
    tab = tabs(f"http://{console.host}")
    wait_for("the job", lambda: console.request("GET", f"/api/v1/jobs/{JOBS}/{NAME}")[0].status == 200)
    page = tab.open(f"/jobs/{NAME}?ns={JOBS}&tab=artifacts")
    page.get_by_role("button", name="table.csv").click()
    page.get_by_role("cell", name="a, b").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="summary.json").click()
    page.locator("dialog pre", has_text='"p99": 12.5').wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name=HOSTILE).click()
    page.locator("dialog pre", has_text="<script>alert(1)</script>").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="deep/plot.png").click()
    until(page, "document.querySelector('dialog img')?.naturalWidth === 1")
    tab.check_access()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="large.log").click()
    page.locator("dialog", has_text="too large to be shown").wait_for()
