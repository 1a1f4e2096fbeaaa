# SPDX-License-Identifier: Apache-2.0
"""Alerts and dashboard of slices, zones and the extender: each alert is explained, and what they ask for is exported."""

import json
import re

import yaml
from support import KUBECTL, ROOT, run

COMPONENT = ROOT / "deploy/kustomize/components/accelerators"
SOURCES = ("src/systems/das/instruments.cpp", "src/systems/numa/instruments.cpp", "src/systems/numa/exporter/metrics.cpp", "src/extender/serving", "src/cli/controllers/status_server.cpp")


def rules():
    rule = yaml.safe_load((COMPONENT / "prometheusrule.yaml").read_text(encoding="utf-8"))
    return [one for group in rule["spec"]["groups"] for one in group["rules"]]


def panels():
    return [one for one in json.loads((COMPONENT / "dashboard.json").read_text(encoding="utf-8"))["panels"] if one["type"] != "row"]


def test_every_alert_is_explained():
    names = [rule["alert"] for rule in rules()]
    section = (ROOT / "docs/operations.md").read_text(encoding="utf-8").split("## Alerts of slices and zones\n")[1].split("\n## ")[0]
    assert re.findall(r"^### (\w+)$", section, re.M) == names
    for name in names:
        text = section.split(f"### {name}\n")[1].split("\n#")[0]
        assert "**Means**" in text and "**Do**" in text, name
    for rule in rules():
        assert rule["labels"]["severity"] in ("critical", "warning") and rule["annotations"]["summary"] and rule["annotations"]["description"]


def test_what_they_ask_for_is_exported():
    exported = ""
    for path in SOURCES:
        where = ROOT / path
        exported += "".join(one.read_text(encoding="utf-8") for one in (where.glob("*.cpp") if where.is_dir() else [where]))
    expressions = [rule["expr"] for rule in rules()] + [target["expr"] for panel in panels() for target in panel["targets"]]
    for text in expressions:
        names = {re.sub("_bucket$", "", name) for name in re.findall(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\{", text)}
        assert names, text
        assert all(name == "up" or f'"{name}"' in exported or f"{name} " in exported for name in names), names
        assert all('job=~"athanor' in selector for selector in re.findall(r"\{[^{}]*\}", text)), text


def test_the_component_renders(tmp_path):
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    (overlay / "component").mkdir()
    for file in COMPONENT.iterdir():
        (overlay / "component" / file.name).write_bytes(file.read_bytes())
    (overlay / "kustomization.yaml").write_text("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\ncomponents: [component]\n")
    done = run([KUBECTL, "kustomize", overlay])
    assert done.code == 0, done.err
    assert {one["kind"] for one in yaml.safe_load_all(done.out)} == {"PrometheusRule", "ServiceMonitor", "ConfigMap"}
