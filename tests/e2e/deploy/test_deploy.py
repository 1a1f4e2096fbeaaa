# SPDX-License-Identifier: Apache-2.0
"""deploy/: that what is generated is up to date, that it applies with strict validation and rolls out, that it asks for no
more than it needs, and that alerts, dashboard and documentation speak of what there is. The Helm chart is rendered and
compared in tests/real/test_chart.py, the controllers run as deployed in test_deployed.py."""

import json
import os
import pathlib
import re
import tempfile

import pytest
import yaml
from support import ATHANOR, KUBECTL, ROOT, TIMEOUT, Lab, run, wait_for

DEPLOY = ROOT / "deploy"
KUSTOMIZE = DEPLOY / "kustomize"
OVERLAYS = ["default", "production", "openshift"]
SYSTEM, WORKLOAD, SECRETS, HEARTH = "athanor-system", "psap-automation", "psap-secrets", "hearth"
ACCOUNT = f"system:serviceaccount:{SYSTEM}:athanor"
RESOLVER = f"system:serviceaccount:{WORKLOAD}:fournos"
VERSION = re.search(r"project\(athanor VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)


def rendered(folder):
    done = run([KUBECTL, "kustomize", folder])
    assert done.code == 0, done.err
    assert not done.err, f"kustomize warns: {done.err}"
    return [one for one in yaml.safe_load_all(done.out) if one]


@pytest.fixture(scope="module")
def production():
    return rendered(KUSTOMIZE / "overlays/production")


def only(manifests, kind, name="athanor-controllers"):
    found = [one for one in manifests if one["kind"] == kind and one["metadata"]["name"] == name]
    assert len(found) == 1, f"{len(found)} {kind} {name}"
    return found[0]


# --- what is generated ------------------------------------------------------------------------------------
def test_crds_rbac_and_chart_are_what_the_program_and_the_kustomization_generate():
    done = run([ROOT / "scripts/deploy", "generate", "--check"], env={**os.environ, "ATHANOR": str(ATHANOR), "KUBECTL": KUBECTL})
    assert done.code == 0, done.err


def test_a_stale_file_is_named(tmp_path):
    copy = tmp_path / "copy"
    done = run(["git", "-C", ROOT, "ls-files", "deploy", "scripts", "examples/fournos", "CMakeLists.txt", "tests/e2e/requirements.txt"])
    for name in done.out.split():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes((ROOT / name).read_bytes())
        (copy / name).chmod((ROOT / name).stat().st_mode)
    rbac = copy / "deploy/kustomize/base/rbac.yaml"
    rbac.write_text(rbac.read_text(encoding="utf-8").replace("  - create\n", "", 1), encoding="utf-8")
    done = run([copy / "scripts/deploy", "generate", "--check"], env={**os.environ, "ATHANOR": str(ATHANOR), "KUBECTL": KUBECTL})
    assert done.code == 1
    assert "out of date, run scripts/deploy generate: kustomize/base/rbac.yaml, chart/athanor/templates/rbac.yaml" in done.err


def test_path_deploy_is_the_production_overlay(production):
    assert rendered(DEPLOY) == production


@pytest.mark.parametrize("name", ["athanor", "das"])
def test_values_schema_and_templates_know_the_same_values(name):
    chart = DEPLOY / "chart" / name

    def leaves(tree, schema, at=""):
        for name, value in tree.items():
            known = schema["properties"][name]
            if "properties" in known:
                assert known["additionalProperties"] is False
                yield from leaves(value, known, f"{at}{name}.")
            else:
                yield f"{at}{name}"

    schema = json.loads((chart / "values.schema.json").read_text(encoding="utf-8"))
    values = set(leaves(yaml.safe_load((chart / "values.yaml").read_text(encoding="utf-8")), schema))
    used = {at for file in (chart / "templates").iterdir() for at in re.findall(r"\.Values\.([A-Za-z.]+)", file.read_text(encoding="utf-8"))}
    assert used == values
    documented = set(re.findall(r"^\| `([A-Za-z.]+)` \|", (chart / "README.md").read_text(encoding="utf-8"), re.M))
    assert documented == values


# --- what is applied --------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A lab that knows the kinds of Prometheus operator, ArgoCD and OpenShift."""
    one = Lab(tmp_path_factory.mktemp("deploy") / "lab", ["--pods", "timed", "--lab", str(ROOT / "tests/e2e/data/cluster.yaml")])
    try:
        one.start()
        one.remove_roles_of_people()
        one.kubectl("apply", "-f", ROOT / "tests/e2e/data/foreign-kinds.yaml")
        one.kubectl("wait", "--for=condition=Established", "crd", "--all", TIMEOUT)
        one.kubectl("create", "namespace", "openshift-gitops")
        yield one
    finally:
        one.close()


def apply(lab, folder):
    return lab.kubectl("apply", "--server-side", "--validate=strict", "-k", folder)


def versions(lab, folder):
    """Of everything that does not change by itself."""
    listed = lab.kubectl("get", "-k", folder, "-o", "json").json["items"]
    moving = ("Deployment", "PodDisruptionBudget", "Namespace")
    return {(one["kind"], one["metadata"]["name"]): one["metadata"]["resourceVersion"] for one in listed if one["kind"] not in moving}


@pytest.fixture(scope="module")
def deployed(cluster):
    done = apply(cluster, KUSTOMIZE / "overlays/production")
    assert "Warning" not in done.err, done.err
    return cluster


def test_the_production_overlay_rolls_out_two_replicas(deployed):
    deployed.kubectl("-n", SYSTEM, "rollout", "status", "deployment/athanor-controllers", TIMEOUT)

    def counted():
        status = deployed.kubectl("-n", SYSTEM, "get", "pdb", "athanor-controllers", "-o", "json").json["status"]
        return (status["expectedPods"], status["disruptionsAllowed"]) == (2, 1)

    wait_for("the budget has counted", counted)


def test_applying_again_changes_nothing(deployed):
    folder = KUSTOMIZE / "overlays/production"
    before = versions(deployed, folder)
    assert len(before) > 15
    apply(deployed, folder)
    assert versions(deployed, folder) == before


@pytest.mark.parametrize("folder", ["overlays/default", "overlays/openshift", "overlays/console", "queue"])
def test_everything_else_applies_with_strict_validation(deployed, folder):
    assert "Warning" not in apply(deployed, KUSTOMIZE / folder).err


def test_the_argocd_objects_apply_with_strict_validation(deployed):
    apply(deployed, DEPLOY / "argocd")


def test_strict_validation_means_something_for_foreign_kinds(deployed, production):
    monitor = only(production, "ServiceMonitor")
    monitor["spec"]["endpoints"][0]["intervall"] = "30s"
    done = deployed.kubectl("apply", "--server-side", "--validate=strict", "--dry-run=server", "-f", "-", stdin=json.dumps(monitor), code=1)
    assert "intervall" in done.err


def test_the_submitter_component_applies(deployed):
    with tempfile.TemporaryDirectory(dir=KUSTOMIZE / "overlays") as folder:  # kustomize takes components below its root alone
        pathlib.Path(folder, "kustomization.yaml").write_text(
            yaml.safe_dump({"kind": "Kustomization", "resources": ["../default"], "components": ["../../components/submitter"]}), encoding="utf-8"
        )
        apply(deployed, folder)
    can = lambda verb, what: deployed.kubectl("auth", "can-i", verb, what, "-n", WORKLOAD, "--as", f"system:serviceaccount:{WORKLOAD}:ocpci", code=None).out.strip()  # noqa: E731
    assert can("create", "fournosjobs.fournos.dev") == "yes" and can("get", "pods/log") == "yes"
    assert can("get", "secrets") == "no" and can("create", "pods") == "no"


# --- least privilege --------------------------------------------------------------------------------------
def test_the_pod_is_allowed_nothing(production):
    pod = only(production, "Deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert not any(pod.get(key) for key in ("hostNetwork", "hostPID", "hostIPC"))
    assert [set(volume) for volume in pod["volumes"]] == [{"name", "configMap"}]
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert set(container["resources"]) == {"requests", "limits"}
        assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "health"}
        assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "health"}


def test_a_pod_of_the_namespace_must_be_restricted(deployed, production):
    namespace = only(production, "Namespace", SYSTEM)
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_no_rule_has_a_wildcard_and_each_namespace_gets_what_is_done_there(production):
    for one in production:
        if one["metadata"].get("labels", {}).get("app.kubernetes.io/component") == "people":
            continue  # bound to no account; test_people.py tries them
        for rule in one.get("rules", []):
            assert "*" not in rule["verbs"] + rule["resources"] + rule["apiGroups"], one["metadata"]
            assert not {"escalate", "bind", "impersonate", "deletecollection"} & set(rule["verbs"])
            if one["kind"] == "ClusterRole":
                # Hearth makes flavors and writes quotas; both kinds have no namespace.
                assert set(rule["verbs"]) <= {"get", "list", "watch"} or set(rule["resources"]) <= {"resourceflavors", "clusterqueues"}
                assert not {"secrets", "pods", "configmaps"} & set(rule["resources"])
            assert not {"pods", "pods/exec", "serviceaccounts/token", "roles", "rolebindings"} & set(rule["resources"])
    roles = {one["metadata"]["namespace"]: one["rules"] for one in production if one["kind"] == "Role" and one["metadata"]["name"] == "athanor"}
    granted = {ns: {(r, v) for rule in rules for r in rule["resources"] for v in rule["verbs"]} for ns, rules in roles.items()}
    assert set(granted) == {WORKLOAD, SECRETS, HEARTH}
    assert granted[SECRETS] == {("secrets", verb) for verb in ("get", "list", "watch", "patch", "delete")} | {("events", "create"), ("events", "patch")}
    assert {r for r, _ in granted[HEARTH]} == {"secrets", "events", "fournosclusters", "fournosclusters/status"}
    assert {v for r, v in granted[HEARTH] if r == "secrets"} == {"get", "list", "watch"}


@pytest.mark.parametrize(
    ("user", "verb", "what", "namespace", "allowed"),
    [
        (ACCOUNT, "patch", "fournosjobs.fournos.dev/status", WORKLOAD, True),
        (ACCOUNT, "create", "workloads.kueue.x-k8s.io", WORKLOAD, True),
        (ACCOUNT, "create", "pipelineruns.tekton.dev", WORKLOAD, True),
        (ACCOUNT, "list", "secrets", SECRETS, True),
        (ACCOUNT, "watch", "clusterqueues.kueue.x-k8s.io", "", True),
        (ACCOUNT, "create", "leases.coordination.k8s.io", SYSTEM, True),
        (ACCOUNT, "list", "fournosjobs.fournos.dev", "default", False),
        (ACCOUNT, "get", "secrets", SYSTEM, False),
        (ACCOUNT, "get", "secrets", "kube-system", False),
        (ACCOUNT, "create", "pods", WORKLOAD, False),
        (ACCOUNT, "patch", "clusterqueues.kueue.x-k8s.io", "", True),
        (ACCOUNT, "delete", "resourceflavors.kueue.x-k8s.io", "", True),
        (ACCOUNT, "delete", "clusterqueues.kueue.x-k8s.io", "", False),
        (ACCOUNT, "patch", "fournosclusters.fournos.dev/status", HEARTH, True),
        (ACCOUNT, "list", "secrets", HEARTH, True),
        (ACCOUNT, "patch", "secrets", HEARTH, False),
        (ACCOUNT, "patch", "secrets", SECRETS, True),
        (ACCOUNT, "create", "secrets", SECRETS, False),
        (ACCOUNT, "list", "fournosjobs.fournos.dev", SECRETS, False),
        (ACCOUNT, "patch", "fournosclusters.fournos.dev", WORKLOAD, False),
        (ACCOUNT, "update", "leases.coordination.k8s.io", "kube-system", False),
        (RESOLVER, "patch", "fournosjobs.fournos.dev", WORKLOAD, True),
        (RESOLVER, "patch", "fournosjobs.fournos.dev/status", WORKLOAD, True),
        (RESOLVER, "get", "secrets", WORKLOAD, False),
        (RESOLVER, "delete", "fournosjobs.fournos.dev", WORKLOAD, False),
    ],
)
def test_accounts_may_do_this_and_not_that(deployed, user, verb, what, namespace, allowed):
    resource, _, subresource = what.partition("/")
    resource, _, group = resource.partition(".")
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": user,
            "groups": ["system:serviceaccounts", "system:authenticated"],
            "resourceAttributes": {"verb": verb, "group": group, "resource": resource, "subresource": subresource, "namespace": namespace},
        },
    }
    answer = deployed.http("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    assert answer.code == 201 and answer.json["status"]["allowed"] is allowed, answer.text


# --- names that must agree --------------------------------------------------------------------------------
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_image_has_the_versions_tag(overlay):
    text = run([KUBECTL, "kustomize", KUSTOMIZE / "overlays" / overlay]).out
    images = re.findall(r"^\s+(?:- )?image: (\S+)$", text, re.M)
    assert images and all(image == f"athanor:{VERSION}" for image in images), images
    for stream in (one for one in yaml.safe_load_all(text) if one["kind"] == "ImageStream"):
        assert [(tag["name"], tag["from"]["name"]) for tag in stream["spec"]["tags"]] == [(VERSION, f"athanor:{VERSION}")]
        triggers = only(list(yaml.safe_load_all(text)), "Deployment")["metadata"]["annotations"]["image.openshift.io/triggers"]
        assert json.loads(triggers)[0]["from"]["name"] == f"athanor:{VERSION}"


def test_the_containerfile_pins_its_base_by_an_argument():
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    assert re.findall(r"^ARG BUILD_BASE=(\S+)$", text, re.M) == ["docker.io/library/debian:12"]
    bases = re.findall(r"^FROM (\S+)", text, re.M)
    assert set(bases) == {"${BUILD_BASE}", "binary-${SOURCE}", "agent-${SOURCE}", "scratch"} and bases[-1] == "scratch"
    # The agent works in the kubelet's folders (docs/spec/das.md 8.1: root); the program, the last stage, is nobody.
    assert re.findall(r"^USER (.+)$", text, re.M) == ["0:0", "65532:65532"]


def test_selectors_find_the_pods_and_the_port(production):
    pods = only(production, "Deployment")["spec"]["template"]
    ports = {port["name"] for port in pods["spec"]["containers"][0]["ports"]}
    wanted = {
        "Deployment": lambda one: one["spec"]["selector"]["matchLabels"],
        "Service": lambda one: one["spec"]["selector"],
        "NetworkPolicy": lambda one: one["spec"]["podSelector"]["matchLabels"],
        "PodDisruptionBudget": lambda one: one["spec"]["selector"]["matchLabels"],
    }
    for kind, labels_of in wanted.items():
        labels = labels_of(only(production, kind))
        assert labels and labels.items() <= pods["metadata"]["labels"].items(), kind
    service = only(production, "Service")
    monitor = only(production, "ServiceMonitor")["spec"]
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert service["metadata"]["labels"][monitor["jobLabel"]] == "athanor", "alerts and panels select this job"
    assert {endpoint["port"] for endpoint in monitor["endpoints"]} <= {port["name"] for port in service["spec"]["ports"]}
    assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
    assert only(production, "NetworkPolicy")["spec"]["ingress"][0]["ports"][0]["port"] in ports
    account = pods["spec"]["serviceAccountName"]
    assert ACCOUNT.endswith(f":{account}") and only(production, "ServiceAccount", account)["metadata"]["namespace"] == SYSTEM


def test_what_people_made_is_neither_pruned_nor_deleted(production):
    kept = [one for one in production if one["kind"] == "CustomResourceDefinition"]
    kept += [only(production, "Namespace", name) for name in (WORKLOAD, SECRETS, HEARTH)]
    for one in kept:
        assert one["metadata"]["annotations"]["argocd.argoproj.io/sync-options"] == "Prune=false,Delete=false"
        assert one["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_the_argocd_applications_say_what_the_specification_says(production):
    objects = rendered(DEPLOY / "argocd")
    application = only(objects, "Application", "athanor")["spec"]
    assert application["source"]["path"] == "deploy" and application["source"]["targetRevision"] == "main"
    assert application["syncPolicy"] == {
        "automated": {"prune": True, "selfHeal": True},
        "syncOptions": ["CreateNamespace=true", "ServerSideApply=true", "RespectIgnoreDifferences=true"],
    }
    assert application["ignoreDifferences"] == [
        {"group": "apps", "kind": "Deployment", "jqPathExpressions": [".spec.template.spec.containers[].image", ".spec.template.metadata.annotations"]}
    ]
    queue = only(objects, "Application", "fournos-queue")["spec"]
    assert "RespectIgnoreDifferences=true" in queue["syncPolicy"]["syncOptions"]
    assert queue["ignoreDifferences"] == [
        {"group": "kueue.x-k8s.io", "kind": "ClusterQueue", "jsonPointers": ["/spec/resourceGroups"]},
        {"group": "kueue.x-k8s.io", "kind": "ResourceFlavor", "jsonPointers": ["/spec"]},
    ]
    # The project lets through what the applications bring, and nothing more.
    project = only(objects, "AppProject", "athanor")["spec"]
    brought = rendered(KUSTOMIZE / "overlays/openshift") + rendered(KUSTOMIZE / "queue")
    kinds = lambda namespaced: {(one["apiVersion"].rpartition("/")[0], one["kind"]) for one in brought if ("namespace" in one["metadata"]) is namespaced}  # noqa: E731
    assert {(one["group"], one["kind"]) for one in project["clusterResourceWhitelist"]} == kinds(False)
    assert {(one["group"], one["kind"]) for one in project["namespaceResourceWhitelist"]} == kinds(True)
    assert {one["metadata"]["namespace"] for one in brought if "namespace" in one["metadata"]} <= {one["namespace"] for one in project["destinations"]}
    assert [application["source"]["repoURL"]] == project["sourceRepos"] == [queue["source"]["repoURL"]]


# --- what is watched --------------------------------------------------------------------------------------
def rules(production):
    return [rule for group in only(production, "PrometheusRule")["spec"]["groups"] for rule in group["rules"]]


def alerts(production):
    return [rule for rule in rules(production) if "alert" in rule]


def panels(production):
    board = json.loads(only(production, "ConfigMap", "athanor-dashboard")["data"]["athanor.json"])
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def metrics_of(expression):
    """Names that stand before a selector; every one here has one."""
    return {re.sub(r"_bucket$", "", name) for name in re.findall(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\{", expression)}


def test_the_runbooks_have_the_alerts_in_their_order(production):
    names = [rule["alert"] for rule in alerts(production)]
    assert len(names) == len(set(names))
    guide = (ROOT / "docs/runbooks.md").read_text(encoding="utf-8").split("## Slices and zones\n")[0]
    assert re.findall(r"^### (\w+)$", guide, re.M) == names
    for name in names:
        section = guide.split(f"### {name}\n")[1].split("\n#")[0]
        assert "**Means**" in section and "**Do**" in section, name


def test_every_alert_says_how_bad_and_what(production):
    for rule in alerts(production):
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"]["summary"] and rule["annotations"]["description"]
        assert metrics_of(rule["expr"]), rule["alert"]
    for rule in rules(production):
        assert all('job="athanor"' in selector for selector in re.findall(r"\{[^{}]*\}", rule["expr"])), rule["expr"]


def test_panels_do_not_overlap_and_ask_for_this_job(production):
    taken = set()
    for panel in panels(production):
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken and at["x"] + at["w"] <= 24, panel["title"]
        taken |= cells
        assert all('job="athanor"' in target["expr"] for target in panel["targets"]), panel["title"]


# --- the program in a container ---------------------------------------------------------------------------
@pytest.mark.parametrize("args", [["--help"], ["--version"], ["controllers", "--help"], ["crds", "-o", "name"], ["rbac", "-o", "name"]])
def test_verbs_without_state_need_no_home_and_nothing_to_write(args):
    done = run([ATHANOR, *args], env={}, cwd="/")
    assert done.code == 0 and done.out and not done.err
