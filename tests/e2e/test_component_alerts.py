# SPDX-License-Identifier: Apache-2.0
"""Alerts and dashboards of slices, zones, the extender and queues: each alert is explained, and what they ask for is exported."""

import json
import re

import pytest
import yaml
from support import KUBECTL, ROOT, run

COMPONENTS = ROOT / "deploy/kustomize/components"
# The component; the heading of its alerts in the guide; where what it asks for is exported; the kinds it renders.
PARTS = {
    "accelerators": (
        "Alerts of slices and zones",
        ("src/systems/das/instruments.cpp", "src/systems/numa/instruments.cpp", "src/extender/serving", "src/cli/controllers/status_server.cpp"),
        {"PrometheusRule", "ServiceMonitor", "ConfigMap"},
    ),
    "queues": ("Alerts of queues", ("src/embedded/kueue/metrics",), {"PrometheusRule", "ConfigMap"}),
}


@pytest.fixture(params=PARTS)
def part(request):
    return request.param


def rules(part):
    rule = yaml.safe_load((COMPONENTS / part / "prometheusrule.yaml").read_text(encoding="utf-8"))
    return [one for group in rule["spec"]["groups"] for one in group["rules"]]


def panels(part):
    return [one for one in json.loads((COMPONENTS / part / "dashboard.json").read_text(encoding="utf-8"))["panels"] if one["type"] != "row"]


def test_every_alert_is_explained(part):
    names = [rule["alert"] for rule in rules(part)]
    section = (ROOT / "docs/operations.md").read_text(encoding="utf-8").split(f"## {PARTS[part][0]}\n")[1].split("\n## ")[0]
    assert re.findall(r"^### (\w+)$", section, re.M) == names
    for name in names:
        text = section.split(f"### {name}\n")[1].split("\n#")[0]
        assert "**Means**" in text and "**Do**" in text, name
    for rule in rules(part):
        assert rule["labels"]["severity"] in ("critical", "warning") and rule["annotations"]["summary"] and rule["annotations"]["description"]


def test_what_they_ask_for_is_exported(part):
    exported = ""
    for path in PARTS[part][1]:
        where = ROOT / path
        exported += "".join(one.read_text(encoding="utf-8") for one in (where.glob("*.?pp") if where.is_dir() else [where]))
    expressions = [rule["expr"] for rule in rules(part)] + [target["expr"] for panel in panels(part) for target in panel["targets"]]
    for text in expressions:
        names = {re.sub("_bucket$", "", name) for name in re.findall(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\{", text)}
        assert names, text
        assert all(f'"{name}"' in exported for name in names), names
        assert all('job=~"athanor.*"' in selector for selector in re.findall(r"\{[^{}]*\}", text)), text


def test_the_component_renders(tmp_path, part):
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    (overlay / "component").mkdir()
    for file in (COMPONENTS / part).iterdir():
        (overlay / "component" / file.name).write_bytes(file.read_bytes())
    (overlay / "kustomization.yaml").write_text("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\ncomponents: [component]\n")
    done = run([KUBECTL, "kustomize", overlay])
    assert done.code == 0, done.err
    assert {one["kind"] for one in yaml.safe_load_all(done.out)} == PARTS[part][2]
