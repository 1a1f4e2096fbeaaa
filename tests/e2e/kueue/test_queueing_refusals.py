# SPDX-License-Identifier: Apache-2.0
"""What docs/spec/kueue.md 5.2, 5.3 and 15 refuse or warn of, on the served API: the rows of refusals.yaml."""

import datetime
import pathlib
import re

import pytest
import yaml
from queue_world import MERGE
from support import ROOT, wait_for

TABLE = yaml.safe_load((pathlib.Path(__file__).parent / "refusals.yaml").read_text(encoding="utf-8"))
ROWS = TABLE["rows"]
# Group, plural, and whether it has namespaces.
KINDS = {
    "ClusterQueue": ("kueue.x-k8s.io", "clusterqueues", False),
    "Cohort": ("kueue.x-k8s.io", "cohorts", False),
    "ResourceFlavor": ("kueue.x-k8s.io", "resourceflavors", False),
    "AdmissionCheck": ("kueue.x-k8s.io", "admissionchecks", False),
    "Topology": ("kueue.x-k8s.io", "topologies", False),
    "MultiKueueCluster": ("kueue.x-k8s.io", "multikueueclusters", False),
    "MultiKueueConfig": ("kueue.x-k8s.io", "multikueueconfigs", False),
    "ProvisioningRequestConfig": ("kueue.x-k8s.io", "provisioningrequestconfigs", False),
    "Workload": ("kueue.x-k8s.io", "workloads", True),
    "LocalQueue": ("kueue.x-k8s.io", "localqueues", True),
    "Job": ("batch", "jobs", True),
    "Pod": ("", "pods", True),
    "Deployment": ("apps", "deployments", True),
    "StatefulSet": ("apps", "statefulsets", True),
    "ConfigMap": ("", "configmaps", True),
}


def quota(flavor, resources):
    return {"name": flavor, "resources": [{"name": one, "nominalQuota": "1"} for one in resources]}


def group(resources, flavors):
    return {"coveredResources": resources, "flavors": [quota(one, resources) for one in flavors]}


# Specs of rows that are too long to be written.
GENERATED = {
    "pod_sets": {"podSets": [{"name": f"p{i}", "count": 1, "template": {"spec": {"containers": []}}} for i in range(19)]},
    "flavors": {"resourceGroups": [group([f"r{i}"], [f"f{i}-{j}" for j in range(52)]) for i in range(5)]},
    "resources": {"resourceGroups": [group([f"r{i}-{j}" for j in range(52)], [f"f{i}"]) for i in range(5)]},
    "combinations": {"resourceGroups": [group([f"r{i}" for i in range(27)], [f"f{j}" for j in range(19)])]},
}


def filled(value, ns):
    """The value with what its texts leave open."""
    if isinstance(value, dict):
        return {key: filled(one, ns) for key, one in value.items()}
    if isinstance(value, list):
        return [filled(one, ns) for one in value]
    if isinstance(value, str):
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return value.replace("{now}", now).replace("{ns}", ns)
    return value


def object_of(row, ns):
    """The object of a row and the path of its kind."""
    api, plural, namespaced = KINDS[row["kind"]]
    version = row.get("version") or {"kueue.x-k8s.io": "v1beta2"}.get(api, "v1")
    place = f"namespaces/{ns}/" if namespaced else ""
    name = row.get("name") or ("refused" if namespaced else f"{ns}-refused")
    if row["kind"] == "ConfigMap":
        place, name = "namespaces/kueue-system/", "kueue-manager-config"
        more = {"data": {"controller_manager_config.yaml": row["configuration"]}}
    else:
        more = {"spec": GENERATED[row["generate"]] if "generate" in row else row["spec"]}
    metadata = {"name": name, "labels": row.get("labels", {}), "annotations": row.get("annotations", {})}
    body = {"apiVersion": f"{api}/{version}" if api else version, "kind": row["kind"], "metadata": metadata, **more}
    return body, f"/apis/{api}/{version}/{place}{plural}" if api else f"/api/{version}/{place}{plural}"


class Objects:
    """Objects of one row; those without namespace are removed afterwards."""

    def __init__(self, lab, ns):
        self.lab, self.ns, self.made = lab, ns, []

    def make(self, row):
        body, path = object_of(row, self.ns)
        answer = self.lab.http("POST", path, body)
        assert answer.code == 201, answer.text
        self.made.append(f"{path}/{body['metadata']['name']}")
        if "status" in row:
            self.merge(f"{self.made[-1]}/status", {"status": row["status"]})
        return self.made[-1], answer

    def merge(self, path, patch):
        answer = self.lab.http("PATCH", path, patch, content_type=MERGE)
        assert answer.code == 200, answer.text

    def attempt(self, row):
        """The answer to what the row tries."""
        if "patch" in row or "patch_status" in row:
            path, _ = self.make(row)
            sub, patch = ("/status", {"status": row["patch_status"]}) if "patch_status" in row else ("", row["patch"])
            return self.lab.http("PATCH", f"{path}{sub}?dryRun=All", patch, content_type=MERGE)
        body, path = object_of(row, self.ns)
        return self.lab.http("POST", f"{path}?dryRun=All", body)

    def events(self):
        return [one["reason"] for one in self.lab.get(f"/api/v1/namespaces/{self.ns}/events")["items"]]

    def remove(self):
        for path in reversed(self.made):
            self.lab.http("DELETE", path)


@pytest.fixture
def objects(lab, ns):
    some = Objects(lab, ns)
    yield some
    some.remove()


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['row']}: {row['what']}" for row in ROWS])
def test_a_row(objects, row):
    row = filled(row, objects.ns)
    if "also" in row:
        objects.make(row["also"])
    if "code" in row:
        answer = objects.attempt(row)
        codes = row["code"] if isinstance(row["code"], list) else [row["code"]]
        assert answer.code in codes, answer.text
        message = row.get("message", "")
        assert not message or message in answer.json["message"]
        if answer.code == 403:
            name = "configuration" if row["kind"] == "ConfigMap" else row["kind"].lower()
            assert answer.json["message"].startswith(f'admission webhook "v{name}.kb.io" denied the request: ')
    else:
        path, answer = objects.make(row)
    assert row.get("warning", "") in answer.headers.get("Warning", ""), answer.headers
    if "event" in row:
        wait_for(f"event {row['event']}", lambda: row["event"] in objects.events())
        assert objects.events().count(row["event"]) == 1
    if "condition" in row:
        wanted = row["condition"]
        wait_for(f"condition {wanted}", lambda: any(wanted.items() <= one.items() for one in objects.lab.get(path).get("status", {}).get("conditions", [])))


def cells(section):
    """The first cells of a section's tables."""
    text = (ROOT / "docs/spec/kueue.md").read_text(encoding="utf-8")
    body = re.split(rf"^#+ {re.escape(section)}[ .].*$", text, maxsplit=1, flags=re.M)[1].split("\n## ")[0].split("\n### ")[0]
    rows = [re.split(r"(?<!\\)\|", line)[1].strip() for line in body.splitlines() if line.startswith("|")]
    return rows[2:]  # without head and rule


@pytest.mark.parametrize("section", ["5.2", "5.3", "15"])
def test_each_row_of_the_specification_has_rows_here(section):
    here = {row["row"].removeprefix(f"{section} ") for row in ROWS if row["row"].startswith(f"{section} ")}
    assert here == set(cells(section))
