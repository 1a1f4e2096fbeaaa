# SPDX-License-Identifier: Apache-2.0
"""All alerts, recording rules and panels of deploy/: every alert leads to its runbook, and every metric that they read is exported."""

import json
import re

import pytest
import yaml
from support import ROOT

RUNBOOKS = "https://git.example.com/athanor/blob/main/docs/runbooks.md"
RULES = sorted((ROOT / "deploy").rglob("prometheusrule.yaml"))
BOARDS = sorted((ROOT / "deploy").rglob("dashboard.json"))
# Names in an expression that are no metrics.
WORDS = {"and", "or", "unless", "offset", "bool"}
# A system without an alert or panel of its own would not be noticed.
PREFIXES = {"fournos", "hearth", "das", "numa", "appwrapper", "kueue", "athanor"}


def rules(path):
    return [rule for group in yaml.safe_load(path.read_text(encoding="utf-8"))["spec"]["groups"] for rule in group["rules"]]


def all_rules():
    return [rule for path in RULES for rule in rules(path)]


def panel_expressions():
    boards = [json.loads(path.read_text(encoding="utf-8")) for path in BOARDS]
    return [target["expr"] for board in boards for panel in board["panels"] if panel["type"] != "row" for target in panel["targets"]]


def metrics_of(expression):
    """The names of metrics: all names but functions, operators, labels, and what is in selectors, ranges and texts."""
    text = re.sub(r"\{[^{}]*\}|\[[^\]]*\]", " ", re.sub(r'"(?:[^"\\]|\\.)*"', '""', expression))
    text = re.sub(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^()]*\)", " ", text)
    names = re.findall(r"(?<![\w:.$])([a-zA-Z_:][\w:]*)\b(?!\s*\()", text)
    return {name for name in names if name not in WORDS and not re.search(rf"\b{name}\s+\(", expression)}


def exported():
    """Names that a program's sources declare. Histograms have three series each."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.?pp")]
    return {"up", *(name for text in texts for name in re.findall(r"\"(?:# TYPE )?([a-z][a-z0-9]*(?:_[a-z0-9]+)+)[ \"]", text))}


def anchors(text):
    """GitHub's: lower case, blanks as hyphens, without other punctuation."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ('sum by (a, b) (rate(x_total{job="j",r=~"a|b"}[5m])) > 0', {"x_total"}),
        ("max by (result) (x_total unless y_total offset 15m) > 0 or up == 1", {"x_total", "y_total", "up"}),
        ("histogram_quantile(0.99,\n  sum by (le) (rate(x_bucket[10m]))) > 4 * 3600", {"x_bucket"}),
        ('a:x:rate1h{job="j"} - on (c) group_left (d) time()', {"a:x:rate1h"}),
        ("absent(up == 1) < 1e3", {"up"}),
    ],
)
def test_metrics_are_found_in_expressions(expression, names):
    assert metrics_of(expression) == names


def test_every_metric_is_exported_or_recorded():
    known = exported()
    recorded = {rule["record"] for rule in all_rules() if "record" in rule}
    expressions = [*(rule["expr"] for rule in all_rules()), *panel_expressions()]
    assert len(expressions) > 100
    used = {name for text in expressions for name in metrics_of(text)}
    assert [text for text in expressions if not metrics_of(text)] == []
    missing = {name for name in used if name not in recorded and name not in known and re.sub(r"_(?:bucket|count|sum)$", "", name) not in known}
    assert missing == set()
    assert recorded - used == set(), "recorded, and read by no alert and no panel"
    assert {name.split("_")[0].split(":")[0] for name in used} >= PREFIXES


def test_every_alert_leads_to_its_runbook():
    guide = (ROOT / "docs/runbooks.md").read_text(encoding="utf-8")
    alerts = [rule for rule in all_rules() if "alert" in rule]
    names = [rule["alert"] for rule in alerts]
    assert len(names) == len(set(names)) and len(names) > 40
    assert sorted(re.findall(r"^### (\w+)$", guide, re.M)) == sorted(names)
    for rule in alerts:
        page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert page == RUNBOOKS and anchor in anchors(guide) and anchor == rule["alert"].lower(), rule["alert"]
        section = guide.split(f"### {rule['alert']}\n")[1].split("\n#")[0]
        assert re.search(r"\*\*Means\*\* \S", section) and re.search(r"\*\*Do\*\* \S", section), rule["alert"]


def test_no_other_file_has_alerts():
    """The tests above see all of them; the chart is compared with the kustomization elsewhere."""
    found = {path for path in (ROOT / "deploy").rglob("*.yaml") if re.search(r"^ *- alert:", path.read_text(encoding="utf-8"), re.M)}
    assert {path for path in found if "chart" not in path.parts} == set(RULES)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.stem)
def test_links_between_pages_have_their_target(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file.read_text(encoding="utf-8")), target
