# SPDX-License-Identifier: Apache-2.0
"""deploy/appwrapper: upstream's names and roles as the contract lists them, the program's webhooks, and that a server takes all of it.
The operator itself runs so in tests/real/test_appwrapper.py."""

import os
import re

import pytest
import yaml
from support import ATHANOR, KUBECTL, ROOT, run

DEPLOY = ROOT / "deploy/appwrapper"
SPEC = (ROOT / "docs/spec/appwrapper.md").read_text(encoding="utf-8")
LABELS = {"app.kubernetes.io/name": "appwrapper", "app.kubernetes.io/component": "controller", "control-plane": "controller-manager"}


def rendered(overlay):
    done = run([KUBECTL, "kustomize", DEPLOY / overlay])
    assert done.code == 0 and not done.err, done.err
    return list(yaml.safe_load_all(done.out))


def only(objects, kind, name):
    (found,) = [one for one in objects if (one["kind"], one["metadata"]["name"]) == (kind, name)]
    return found


@pytest.fixture(scope="module")
def objects():
    return rendered("default")


def table(start):
    """The rows of the first table below this text of the contract, as lists of words."""
    lines = SPEC.split(start)[1].split("\n")
    rows = []
    for line in lines[1:]:
        if line.startswith("|"):
            rows.append([cell.strip().replace("`", "") for cell in line.strip("|").split("|")])
        elif rows:
            break
    return rows[2:]


def flat(rules):
    return sorted((group, resource, verb) for rule in rules for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"])


def test_the_operators_role_is_that_of_the_contract(objects):
    wanted = sorted(
        (group.strip(), resource, verb)
        for groups, resources, verbs in table("`appwrapper-manager-role` (ClusterRole, bound to the service account):")
        for group in (groups.split(",") if groups else [""])
        for resource in resources.split()
        for verb in verbs.split()
    )
    assert flat(only(objects, "ClusterRole", "appwrapper-manager-role")["rules"]) == wanted


def test_the_roles_of_people(objects):
    crd, status = "appwrappers", "appwrappers/status"
    group = "workload.codeflare.dev"
    user = only(objects, "ClusterRole", "appwrapper-user-role")
    assert flat(user["rules"]) == sorted(
        [(group, crd, verb) for verb in "create delete get list watch".split()] + [(group, status, "get"), (group, "appwrappers/finalizer", "update")]
    )
    for name, verbs, into in (("editor", "create delete get list patch update watch", ("edit", "admin")), ("viewer", "get list watch", ("view",))):
        role = only(objects, "ClusterRole", f"appwrapper-{name}-role")
        assert flat(role["rules"]) == sorted([(group, crd, verb) for verb in verbs.split()] + [(group, status, "get")])
        for to in into:
            assert role["metadata"]["labels"][f"rbac.authorization.k8s.io/aggregate-to-{to}"] == "true"
    assert only(objects, "ClusterRole", "appwrapper-metrics-reader")["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    assert {one[1] for one in flat(only(objects, "ClusterRole", "appwrapper-metrics-auth-role")["rules"])} == {"tokenreviews", "subjectaccessreviews"}


def test_names_and_labels_are_upstreams(objects):
    for kind, name in (
        ("Namespace", "appwrapper-system"), ("CustomResourceDefinition", "appwrappers.workload.codeflare.dev"),
        ("Deployment", "appwrapper-controller-manager"), ("ServiceAccount", "appwrapper-controller-manager"),
        ("Service", "appwrapper-webhook-service"), ("Service", "appwrapper-controller-manager-metrics-service"),
        ("Secret", "appwrapper-webhook-server-cert"), ("ConfigMap", "appwrapper-operator-config"),
    ):
        one = only(objects, kind, name)
        assert LABELS.items() <= one["metadata"]["labels"].items()
    deployment = only(objects, "Deployment", "appwrapper-controller-manager")["spec"]
    assert deployment["selector"]["matchLabels"] == LABELS and deployment["replicas"] == 1
    pod = deployment["template"]["spec"]
    (manager,) = pod["containers"]
    assert manager["name"] == "manager" and manager["args"] == ["--zap-log-level=2"]
    assert manager["resources"] == {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "2", "memory": "128Mi"}}
    assert pod["terminationGracePeriodSeconds"] == 10 and pod["securityContext"]["runAsNonRoot"] is True


def test_the_webhooks_are_those_of_the_program(objects):
    done = run([ATHANOR, "webhooks", "--controllers", "appwrapper", "-o", "yaml"])
    ours = {}
    for one in yaml.safe_load_all(done.out):
        if one["kind"].endswith("WebhookConfiguration"):
            (hook,) = one["webhooks"]
            ours[one["kind"], one["metadata"]["name"]] = (hook["name"], hook["clientConfig"]["service"]["path"], hook["rules"][0]["operations"])
    assert len(ours) == 2
    for (kind, name), (hook, path, operations) in ours.items():
        (there,) = only(objects, kind, name)["webhooks"]
        assert (there["name"], there["clientConfig"]["service"]["path"], there["rules"][0]["operations"]) == (hook, path, operations)
        assert (there["failurePolicy"], there["sideEffects"], there["admissionReviewVersions"]) == ("Fail", "None", ["v1"])


def test_a_server_takes_it(make_lab):
    lab = make_lab("--storage", "memory", "--controllers", "").start()
    for overlay in ("default", "dev"):
        text = run([KUBECTL, "kustomize", DEPLOY / overlay]).out
        lab.kubectl("apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-", stdin=text)
    for component in ("kueue-integrations", "slack-queue"):
        lab.kubectl("apply", "--server-side", "--validate=strict", "-f", DEPLOY / component / "roles.yaml")


def test_kube_state_metrics_reads_what_there_is():
    recipe = yaml.safe_load((DEPLOY / "metrics/appwrappers.yaml").read_text(encoding="utf-8"))
    (resource,) = recipe["spec"]["resources"]
    assert resource["groupVersionKind"] == {"group": "workload.codeflare.dev", "version": "v1beta2", "kind": "AppWrapper"}
    assert resource["commonLabels"] == {"crd_type": "appwrapper"} and resource["labelsFromPath"]["namespace"] == ["metadata", "namespace"]
    (crd,) = yaml.safe_load_all((DEPLOY / "crd/crd.yaml").read_text(encoding="utf-8"))
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    metrics = {one["name"]: one["each"] for one in resource["metrics"]}
    for name, each in metrics.items():
        found = schema
        for key in each["stateSet" if each["type"] == "StateSet" else "gauge"]["path"]:
            found = found["properties"][key]
        assert found, name
    phases = set(re.findall(r"^\| `(\w+)` \| ", SPEC.split("### 1.4 Phases")[1].split("### 1.5")[0], re.M))
    assert set(metrics["status_phase"]["stateSet"]["list"]) == phases
    rendered("metrics")


def test_the_slack_queue_has_its_rights(tmp_path):
    """slackQueueName (7.4, 8.7): the component grants what the operator asks for beyond its own role, and no more."""

    def rights(text):
        return {
            (group, resource, verb)
            for one in yaml.safe_load_all(text)
            if one and one["kind"] == "ClusterRole"
            for rule in one["rules"]
            for group in rule.get("apiGroups", [])
            for resource in rule.get("resources", [])
            for verb in rule["verbs"]
        }

    config = tmp_path / "appwrapper.yaml"
    config.write_text("appwrapper: {slackQueueName: slack}\n", encoding="utf-8")
    wanted = rights(run([ATHANOR, "rbac", "--controllers=appwrapper"], env={**os.environ, "APPWRAPPER_CONFIG": str(config)}).out)
    without = rights(run([ATHANOR, "rbac", "--controllers=appwrapper"]).out)
    granted = rights((DEPLOY / "slack-queue/roles.yaml").read_text(encoding="utf-8"))
    assert wanted - without and wanted - without <= granted
    assert granted == {("kueue.x-k8s.io", "clusterqueues", verb) for verb in ("get", "list", "patch", "update", "watch")}
    kustomization = {"resources": [os.path.relpath(DEPLOY / "default", tmp_path)], "components": [os.path.relpath(DEPLOY / "slack-queue", tmp_path)]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization), encoding="utf-8")
    done = run([KUBECTL, "kustomize", "--load-restrictor=LoadRestrictionsNone", tmp_path])
    assert done.code == 0 and "appwrapper-slack-queue-rolebinding" in done.out, done.err
