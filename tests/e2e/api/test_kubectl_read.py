# SPDX-License-Identifier: Apache-2.0
"""kubectl as a reader: discovery, explain, get in every format, pages, selectors, describe."""

import json

import pytest
import yaml
from support import JOBS

KINDS = "fournosjobs,workloads,pipelineruns,taskruns,pods"


def test_api_resources_lists_built_in_and_custom_kinds(lab):
    rows = {line.split()[0]: line.split() for line in lab.kubectl("api-resources", "--no-headers").out.splitlines()}
    assert rows["fournosjobs"][1:] == ["fj,fjob,fjobs", "fournos.dev/v1", "true", "FournosJob"]
    for resource in (
        "pods configmaps secrets namespaces serviceaccounts nodes jobs deployments roles clusterroles leases events workloads "
        "clusterqueues localqueues resourceflavors workloadpriorityclasses pipelines pipelineruns tasks taskruns "
        "customresourcedefinitions priorityclasses"
    ).split():
        assert resource in rows, f"{resource} is not served"


def test_api_versions(lab):
    versions = lab.kubectl("api-versions").out.split()
    assert {"v1", "apps/v1", "batch/v1", "fournos.dev/v1", "kueue.x-k8s.io/v1beta2", "tekton.dev/v1"} <= set(versions)


def test_version_is_one_that_clients_understand(lab):
    server = lab.kubectl("version", "-o", "json").json["serverVersion"]
    assert (server["major"], server["minor"]) == ("1", "35")
    assert server["gitVersion"].startswith("v1.35.")


def test_get_every_kind_of_the_lab_in_all_namespaces(lab):
    assert lab.kubectl("get", KINDS, "-A").code == 0


def test_every_listable_resource_can_be_listed(lab):
    names = lab.kubectl("api-resources", "--verbs=list", "-o", "name").out.split()
    assert len(names) > 40
    done = lab.kubectl("get", ",".join(names), "-A", "--ignore-not-found", "-o", "name")
    assert f"namespace/{JOBS}" in done.out.split()


@pytest.mark.parametrize(
    ("path", "texts"),
    [
        ("fournosjob.spec.hardware", ["FIELDS:", "gpuType", "gpuCount", "<integer> -required-", "<string> -required-"]),
        ("fournosjob.status", ["phase", "pipelineRun", "dashboardURL"]),
        ("pod.spec.containers", ["<[]Container>", "image", "volumeMounts"]),
        ("workload.spec", ["podSets", "queueName"]),
        ("pipelinerun.spec", ["params", "pipelineRef", "workspaces"]),
    ],
)
def test_explain(lab, path, texts):
    out = lab.kubectl("explain", path).out
    for text in texts:
        assert text in out, out


def test_explain_of_an_unknown_field_says_so(lab):
    done = lab.kubectl("explain", "fournosjob.spec.nope", code=1)
    assert 'field "nope" does not exist' in done.err


def test_get_formats(lab):
    get = lambda *more: lab.kubectl("get", "namespace", "kube-system", *more).out  # noqa: E731
    assert get("-o", "name") == "namespace/kube-system\n"
    assert get("-o", "jsonpath={.metadata.name}") == "kube-system"
    assert json.loads(get("-o", "json"))["kind"] == "Namespace"
    assert yaml.safe_load(get("-o", "yaml"))["status"]["phase"] == "Active"
    assert get().split()[:3] == ["NAME", "STATUS", "AGE"]
    assert "kubernetes.io/metadata.name=kube-system" in get("--show-labels")
    assert get("-o", "custom-columns=N:.metadata.name,P:.status.phase").split() == ["N", "P", "kube-system", "Active"]
    assert get("-o", "go-template={{.metadata.name}}") == "kube-system"


def test_wide_output_has_more_columns(lab):
    plain = lab.kubectl("get", "nodes").out.splitlines()[0].split()
    wide = lab.kubectl("get", "nodes", "-o", "wide").out.splitlines()[0].split()
    assert plain == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert wide[: len(plain)] == plain and "CONTAINER-RUNTIME" in wide


def test_fournosjob_columns(lab):
    job = lab.submit({"forge": {"project": "p", "args": []}})["metadata"]["name"]
    lab.wait_phase(job, "Failed")
    header = lab.kubectl("get", "fj", job, "-n", JOBS).out.splitlines()[0]
    assert header.split() == ["NAME", "OWNER", "PHASE", "CLUSTER", "MESSAGE", "AGE"]


def test_pages(lab, ns):
    for i in range(7):
        lab.http("POST", f"/api/v1/namespaces/{ns}/configmaps", {"metadata": {"name": f"page-{i}", "labels": {"page": "yes"}}})
    listed = lab.kubectl("get", "configmaps", "-n", ns, "-l", "page=yes", "--chunk-size=2", "-o", "name").out.split()
    assert listed == [f"configmap/page-{i}" for i in range(7)]
    first = lab.get(f"/api/v1/namespaces/{ns}/configmaps", limit=3)
    assert len(first["items"]) == 3 and first["metadata"]["remainingItemCount"] >= 4
    rest = lab.get(f"/api/v1/namespaces/{ns}/configmaps", **{"continue": first["metadata"]["continue"]})
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    names = [item["metadata"]["name"] for item in first["items"] + rest["items"]]
    assert names == sorted(names) and {f"page-{i}" for i in range(7)} <= set(names)


def test_selectors(lab, ns):
    for name, labels in {"a": {"tier": "web", "env": "prod"}, "b": {"tier": "db"}, "c": {}}.items():
        lab.http("POST", f"/api/v1/namespaces/{ns}/secrets", {"metadata": {"name": name, "labels": labels}, "type": "x.io/" + name})
    get = lambda *more: lab.kubectl("get", "secrets", "-n", ns, "-o", "name", *more).out.split()  # noqa: E731
    assert get("-l", "tier") == ["secret/a", "secret/b"]
    assert get("-l", "tier in (web,x),env!=dev") == ["secret/a"]
    assert get("-l", "!tier") == ["secret/c"]
    assert get("--field-selector", "type=x.io/b") == ["secret/b"]
    assert get("--field-selector", "metadata.name=c") == ["secret/c"]


def test_describe_shows_an_object_and_its_events(lab):
    out = lab.kubectl("describe", "node").out
    assert "Capacity:" in out and "Allocatable:" in out


def test_get_of_something_missing(lab):
    done = lab.kubectl("get", "configmap", "nope", "-n", "default", code=1)
    assert done.err == 'Error from server (NotFound): configmaps "nope" not found\n'


def test_cluster_info_and_raw(lab):
    assert "is running at" in lab.kubectl("cluster-info").out
    assert lab.kubectl("get", "--raw", "/readyz").out == "ok"
    assert "[+]ping ok" in lab.kubectl("get", "--raw", "/livez?verbose").out
    assert "athanor_" in lab.kubectl("get", "--raw", "/metrics").out
