# SPDX-License-Identifier: Apache-2.0
"""Roles of people in every way of installing (docs/operations.md, Roles of people), and what each person may with them."""

import pytest
import yaml
from manifests import load
from support import ATHANOR, KUBECTL, ROOT, Lab, run, wait_for

DEPLOY = ROOT / "deploy"
PEOPLE = DEPLOY / "kustomize/base/people.yaml"
# Bindings of the table by person, in a cluster whose jobs are in `team`.
BINDINGS = [
    ("rolebinding", "reads", "view", "team"), ("rolebinding", "runs", "edit", "team"), ("rolebinding", "locks", "edit", "hearth"),
    ("rolebinding", "owns", "admin", "hearth"), ("clusterrolebinding", "calls", "view", ""),
]  # fmt: skip
QUESTIONS = [
    ("reads", "list", "fournosjobs.fournos.dev", "team", True), ("reads", "create", "fournosjobs.fournos.dev", "team", False),
    ("runs", "create", "fournosjobs.fournos.dev", "team", True), ("runs", "delete", "appwrappers.workload.codeflare.dev", "team", True),
    ("runs", "patch", "fournosclusters.fournos.dev", "hearth", False), ("runs", "create", "pods", "team", True),
    ("locks", "patch", "fournosclusters.fournos.dev", "hearth", True), ("locks", "delete", "fournosclusters.fournos.dev", "hearth", False),
    ("owns", "create", "fournosclusters.fournos.dev", "hearth", True), ("owns", "create", "fournosjobs.fournos.dev", "team", False),
    ("calls", "list", "fournosjobs.fournos.dev", "team", True), ("calls", "list", "fournosclusters.fournos.dev", "hearth", True),
    ("calls", "patch", "fournosjobs.fournos.dev", "team", False), ("calls", "patch", "fournosjobs.fournos.dev/status", "team", False),
    ("runs", "patch", "allocationclaims.inference.redhat.com", "team", False),
]  # fmt: skip


def printed(*flags):
    done = run([ATHANOR, "rbac", "--people", *flags])
    assert done.code == 0, done.err
    return load(done.out)


def roles(objects):
    return {one["metadata"]["name"]: one for one in objects if one["kind"] == "ClusterRole" and one["metadata"].get("labels", {}).get("app.kubernetes.io/component") == "people"}


@pytest.mark.parametrize("folder", ["kustomize/overlays/default", "kustomize/overlays/production", "kustomize/overlays/openshift", "."])
def test_each_kustomization_has_the_roles(folder):
    done = run([KUBECTL, "kustomize", DEPLOY / folder])
    assert done.code == 0, done.err
    assert list(roles(load(done.out)).values()) and roles(load(done.out)) == roles(printed())


def test_manifests_and_bundle_of_das_have_its_own_roles():
    own = roles(printed("--controllers", "das", "--name", "das"))
    assert set(own) == {"das-view", "das-admin"}
    assert {group for one in own.values() for rule in one["rules"] for group in rule["apiGroups"]} == {"inference.redhat.com"}
    bundle = [one for path in sorted((DEPLOY / "das/bundle/manifests").glob("*.clusterrole.yaml")) for one in load(path.read_text(encoding="utf-8"))]
    assert roles(bundle) == roles(load((DEPLOY / "das/02_people.yaml").read_text(encoding="utf-8"))) == own


def test_the_chart_leaves_the_roles_out_where_they_are_not_wanted():
    text = (DEPLOY / "chart/athanor/templates/people.yaml").read_text(encoding="utf-8")
    assert "{{- if .Values.peopleRoles.create }}" in text and text.count("kind: ClusterRole") == 3
    assert yaml.safe_load((DEPLOY / "chart/athanor/values.yaml").read_text(encoding="utf-8"))["peopleRoles"] == {"create": True}


def test_a_wrong_system_is_refused():
    done = run([ATHANOR, "rbac", "--people", "--controllers", "dass"])
    assert done.code == 2 and '"dass" is neither a system nor a controller' in done.err


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """An API server whose only roles for our kinds are those of deploy/."""
    one = Lab(tmp_path_factory.mktemp("people") / "lab", ["--storage", "memory", "--pods", "timed"])
    try:
        one.start()
        one.kubectl("delete", "clusterrole", "athanor-view", "athanor-edit", "athanor-admin", "--ignore-not-found")
        for namespace in ("team", "hearth"):
            one.kubectl("create", "namespace", namespace, code=None)
        one.kubectl("apply", "--server-side", "--validate=strict", "-f", PEOPLE)
        for kind, user, role, namespace in BINDINGS:
            one.kubectl("create", kind, user, f"--clusterrole={role}", f"--user={user}", *(["-n", namespace] if namespace else []))
        yield one
    finally:
        one.close()


@pytest.mark.parametrize(("user", "verb", "what", "namespace", "allowed"), QUESTIONS)
def test_each_person_may_what_the_page_says(cluster, user, verb, what, namespace, allowed):
    resource, _, subresource = what.partition("/")
    asked = ["auth", "can-i", verb, resource, *([f"--subresource={subresource}"] if subresource else []), "-n", namespace, "--as", user]
    wait_for(f"{user} {verb} {what}: {allowed}", lambda: (cluster.kubectl(*asked, code=None).out.strip() == "yes") == allowed, deadline=20)
