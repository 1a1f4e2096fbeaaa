# SPDX-License-Identifier: Apache-2.0
"""Alerts and dashboards of slices, zones, the extender, AppWrappers and queues: each alert is explained, and what they ask for is exported."""

import json
import re
from dataclasses import dataclass

import pytest
import yaml
from support import KUBECTL, ROOT, run


@dataclass(frozen=True)
class Component:
    folder: str
    section: str  # of docs/runbooks.md
    sources: tuple
    kinds: frozenset = frozenset({"PrometheusRule", "ServiceMonitor", "ConfigMap"})

    @property
    def path(self):
        return ROOT / "deploy" / self.folder

    def rules(self):
        rule = yaml.safe_load((self.path / "prometheusrule.yaml").read_text(encoding="utf-8"))
        return [one for group in rule["spec"]["groups"] for one in group["rules"]]

    def panels(self):
        if "ConfigMap" not in self.kinds:
            return []
        return [one for one in json.loads((self.path / "dashboard.json").read_text(encoding="utf-8"))["panels"] if one["type"] != "row"]


STATUS, ENGINE = "src/cli/controllers", "src/runtime/metrics"
COMPONENTS = [
    Component("kustomize/components/accelerators", "Slices and zones",
              ("src/systems/das/instruments.cpp", "src/systems/numa/scheduling/instruments.cpp", "src/systems/numa/exporter/metrics.cpp",
               "src/extender/serving", STATUS, ENGINE)),
    Component("appwrapper/monitoring", "AppWrappers", ("src/systems/appwrapper/instruments.cpp", STATUS, ENGINE)),
    Component("kustomize/components/console-monitoring", "The console", ("src/console/routes/system_routes.cpp",), frozenset({"PrometheusRule", "ServiceMonitor"})),
    Component("kustomize/components/queues", "Queues", ("src/embedded/kueue/metrics",), frozenset({"PrometheusRule", "ConfigMap"})),
]


@pytest.fixture(params=COMPONENTS, ids=lambda one: one.folder)
def component(request):
    return request.param


def test_every_alert_is_explained(component):
    names = [rule["alert"] for rule in component.rules()]
    section = (ROOT / "docs/runbooks.md").read_text(encoding="utf-8").split(f"## {component.section}\n")[1].split("\n## ")[0]
    assert re.findall(r"^### (\w+)$", section, re.M) == names
    for name in names:
        text = section.split(f"### {name}\n")[1].split("\n#")[0]
        assert "**Means**" in text and "**Do**" in text, name
    for rule in component.rules():
        assert rule["labels"]["severity"] in ("critical", "warning") and rule["annotations"]["summary"] and rule["annotations"]["description"]


CONTROLLERS = {
    "athanor": "kustomize/components/monitoring",
    "athanor-appwrapper": "appwrapper/monitoring",
    "athanor-das-operator": "kustomize/components/accelerators",
    "athanor-numa": "kustomize/components/accelerators",
}  # fmt: skip


# What must alert for every operator: a metric, and what its selector has beside the job.
WRONG = {
    "no replica answers": [("up", ""), ("leader_election_master_status", "name=")],
    "none leads": [("leader_election_master_status", "")],
    "a kind is missing": [("athanor_kind_missing", "")],
    "requests are refused": [("rest_client_requests_total", '"401|403"')],
    "requests fail": [("rest_client_requests_total", '"[234].."')],
    "writes fail": [("athanor_failed_writes_total", '"429|5.."')],
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("job", CONTROLLERS)
def test_what_is_wrong_with_an_operator_alerts(job, wrong):
    rule = yaml.safe_load((ROOT / "deploy" / CONTROLLERS[job] / "prometheusrule.yaml").read_text(encoding="utf-8"))
    expressions = [one["expr"] for group in rule["spec"]["groups"] for one in group["rules"] if "alert" in one]

    def alerted(metric, more):
        selectors = [selector for text in expressions for selector in re.findall(rf"\b{metric}\{{([^}}]*)\}}", text)]
        jobs = [re.search(r'job=(~?)"([^"]*)"', selector) for selector in selectors if more in selector]
        return any(re.fullmatch(one.group(2), job) if one.group(1) else one.group(2) == job for one in jobs)

    assert any(alerted(*one) for one in WRONG[wrong])


def test_every_job_of_controllers_is_listed():
    """CONTROLLERS names every job that a ServiceMonitor gives to an `athanor controllers`; the others are named here."""
    others = {"athanor-extender", "athanor-numa-exporter", "athanor-das-daemonset", "athanor-das-scheduler", "athanor-das-extender", "athanor-console"}
    files = [path for path in (ROOT / "deploy").rglob("*.yaml") if "chart" not in path.parts] + [*(ROOT / "src/systems/numa/data").glob("*.yaml")]
    texts = [path.read_text(encoding="utf-8") for path in files]
    assert {job for text in texts for job in re.findall(r"replacement: (athanor[\w-]*)", text)} - others == set(CONTROLLERS) - {"athanor"}
    unnamed = [text for text in texts if re.search(r"^kind: ServiceMonitor$", text, re.M) and "relabelings" not in text and "jobLabel" not in text]
    assert [yaml.safe_load(text)["metadata"]["name"] for text in unnamed] == ["athanor-console"], "the others name their job; the console's Service has it as its name"


def test_what_they_ask_for_is_exported(component):
    exported = ""
    for path in component.sources:
        where = ROOT / path
        exported += "".join(one.read_text(encoding="utf-8") for one in (where.glob("*.?pp") if where.is_dir() else [where]))
    expressions = [rule["expr"] for rule in component.rules()] + [target["expr"] for panel in component.panels() for target in panel["targets"]]
    for text in expressions:
        names = {re.sub("_bucket$", "", name) for name in re.findall(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\{", text)}
        assert names, text
        assert all(name == "up" or f'"{name}"' in exported or f"{name} " in exported for name in names), names
        assert all('job=~"athanor' in selector for selector in re.findall(r"\{[^{}]*\}", text)), text


def test_the_component_renders(component, tmp_path):
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    (overlay / "component").mkdir()
    for file in component.path.iterdir():
        (overlay / "component" / file.name).write_bytes(file.read_bytes())
    (overlay / "kustomization.yaml").write_text("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\ncomponents: [component]\n")
    done = run([KUBECTL, "kustomize", overlay])
    assert done.code == 0, done.err
    assert {one["kind"] for one in yaml.safe_load_all(done.out)} == component.kinds
