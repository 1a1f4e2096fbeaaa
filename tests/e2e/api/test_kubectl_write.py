# SPDX-License-Identifier: Apache-2.0
"""kubectl as a writer: create, apply both ways, edit, label, annotate, patch, diff, wait, tokens, dry runs."""

import json
import subprocess

import pytest
import yaml
from support import DEADLINE, JOBS, KUBECTL, ROOT, TIMEOUT, wait_for


def configmap(name, ns, data, **metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": ns, **metadata}, "data": data}


def test_generators_create_what_they_say(lab, ns):
    lab.kubectl("create", "configmap", "cm", "-n", ns, "--from-literal=a=1")
    lab.kubectl("create", "secret", "generic", "sec", "-n", ns, "--from-literal=password=geheim")
    lab.kubectl("create", "serviceaccount", "sa", "-n", ns)
    lab.kubectl("create", "role", "reader", "-n", ns, "--verb=get", "--resource=configmaps")
    lab.kubectl("create", "rolebinding", "rb", "-n", ns, "--role=reader", f"--serviceaccount={ns}:sa")
    lab.kubectl("create", "quota", "q", "-n", ns, "--hard=pods=5")
    assert lab.kubectl("get", "cm", "cm", "-n", ns, "-o", "jsonpath={.data.a}").out == "1"
    assert lab.kubectl("get", "secret", "sec", "-n", ns, "-o", "jsonpath={.data.password}").out == "Z2VoZWlt"
    assert lab.kubectl("get", "rolebinding", "rb", "-n", ns, "-o", "jsonpath={.subjects[0].name}").out == "sa"


def test_a_new_namespace_gets_its_service_account_and_ca(lab, ns):
    assert lab.http("GET", f"/api/v1/namespaces/{ns}/serviceaccounts/default").code == 200, "the fixture has waited for it"
    assert "BEGIN CERTIFICATE" in lab.get(f"/api/v1/namespaces/{ns}/configmaps/kube-root-ca.crt")["data"]["ca.crt"]


def test_create_of_an_existing_object_is_refused(lab, ns):
    lab.kubectl("create", "configmap", "twice", "-n", ns)
    done = lab.kubectl("create", "configmap", "twice", "-n", ns, code=1)
    assert done.err == 'error: failed to create configmap: configmaps "twice" already exists\n'


def test_apply_client_side_merges_three_ways(lab, ns):
    apply = lambda data: lab.kubectl("apply", "-f", "-", stdin=json.dumps(configmap("cs", ns, data))).out  # noqa: E731
    assert apply({"keep": "1", "drop": "1"}) == "configmap/cs created\n"
    lab.kubectl("patch", "cm", "cs", "-n", ns, "--type=merge", "-p", '{"data":{"foreign":"x"}}')
    assert apply({"keep": "2"}) == "configmap/cs configured\n"
    assert apply({"keep": "2"}) == "configmap/cs unchanged\n"
    assert lab.kubectl("get", "cm", "cs", "-n", ns, "-o", "json").json["data"] == {"keep": "2", "foreign": "x"}


def test_apply_client_side_merges_lists_by_key(lab, ns):
    def deployment(containers):
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "d", "namespace": ns},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}},
            },
        }

    one, two = {"name": "one", "image": "busybox"}, {"name": "two", "image": "busybox"}
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(deployment([one, two])))
    out = lab.kubectl("apply", "-f", "-", stdin=json.dumps(deployment([{"name": "two", "image": "alpine"}]))).out
    assert out == "deployment.apps/d configured\n"
    spec = lab.kubectl("get", "deployment", "d", "-n", ns, "-o", "json").json["spec"]["template"]["spec"]
    assert [(c["name"], c["image"]) for c in spec["containers"]] == [("two", "alpine")]
    lab.kubectl("set", "image", "deployment/d", "-n", ns, "two=busybox:1.36")
    assert lab.kubectl("scale", "deployment/d", "-n", ns, "--replicas=0").out == "deployment.apps/d scaled\n"


def test_apply_server_side_conflicts_name_the_other_manager(lab, ns):
    apply = lambda manager, value, *more, code=0: lab.kubectl(  # noqa: E731
        "apply", "--server-side", f"--field-manager={manager}", *more, "-f", "-",
        stdin=json.dumps(configmap("ss", ns, {"a": value})), code=code,
    )
    assert apply("one", "1").out == "configmap/ss serverside-applied\n"
    refused = apply("two", "2", code=1)
    assert 'Apply failed with 1 conflict: conflict with "one": .data.a' in refused.err
    apply("two", "2", "--force-conflicts")
    owners = {
        entry["manager"]: entry["fieldsV1"]
        for entry in lab.kubectl("get", "cm", "ss", "-n", ns, "-o", "json", "--show-managed-fields").json["metadata"]["managedFields"]
    }
    assert owners == {"two": {"f:data": {"f:a": {}}}}


def test_server_side_after_client_side_apply(lab, ns):
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(configmap("mix", ns, {"a": "1", "b": "1"})))
    lab.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(configmap("mix", ns, {"a": "2"})))
    assert lab.kubectl("get", "cm", "mix", "-n", ns, "-o", "json").json["data"] == {"a": "2"}


def test_server_side_apply_of_a_custom_resource(lab, ns):
    job = {
        "apiVersion": "fournos.dev/v1",
        "kind": "FournosJob",
        "metadata": {"name": "applied", "namespace": ns},
        "spec": {"cluster": "cluster-1", "forge": {"project": "a", "args": ["x"]}},
    }
    apply = lambda: lab.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(job)).out  # noqa: E731
    assert apply() == "fournosjob.fournos.dev/applied serverside-applied\n"
    version = lab.job("applied", ns)["metadata"]["resourceVersion"]
    apply()
    assert lab.job("applied", ns)["metadata"]["resourceVersion"] == version, "an apply that changes nothing wrote"


def test_edit(lab, ns, tmp_path):
    lab.kubectl("create", "configmap", "ed", "-n", ns, "--from-literal=word=before")
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i s/before/after/ \"$1\"\n", encoding="ascii")
    editor.chmod(0o755)
    out = lab.kubectl("edit", "configmap", "ed", "-n", ns, env={"KUBE_EDITOR": str(editor)}).out
    assert out == "configmap/ed edited\n"
    assert lab.kubectl("get", "cm", "ed", "-n", ns, "-o", "jsonpath={.data.word}").out == "after"


def test_label_and_annotate(lab, ns):
    lab.kubectl("create", "configmap", "la", "-n", ns)
    assert lab.kubectl("label", "cm", "la", "-n", ns, "tier=web").out == "configmap/la labeled\n"
    refused = lab.kubectl("label", "cm", "la", "-n", ns, "tier=db", code=1)
    assert "'tier' already has a value (web), and --overwrite is false" in refused.err
    lab.kubectl("label", "cm", "la", "-n", ns, "tier=db", "--overwrite")
    lab.kubectl("annotate", "cm", "la", "-n", ns, "note=hello")
    lab.kubectl("label", "cm", "la", "-n", ns, "tier-")
    metadata = lab.kubectl("get", "cm", "la", "-n", ns, "-o", "json").json["metadata"]
    assert "labels" not in metadata and metadata["annotations"] == {"note": "hello"}
    bad = lab.kubectl("label", "cm", "la", "-n", ns, "k=x y", code=1)
    assert "a valid label must be an empty string or consist of alphanumeric characters" in bad.err


@pytest.mark.parametrize(
    ("kind", "patch", "data"),
    [
        ("json", '[{"op":"replace","path":"/data/a","value":"2"},{"op":"add","path":"/data/b","value":"3"}]', {"a": "2", "b": "3"}),
        ("merge", '{"data":{"a":null,"c":"4"}}', {"c": "4"}),
        ("strategic", '{"data":{"d":"5"}}', {"a": "1", "d": "5"}),
    ],
)
def test_patch(lab, ns, kind, patch, data):
    name = f"patch-{kind}"
    lab.kubectl("create", "configmap", name, "-n", ns, "--from-literal=a=1")
    assert lab.kubectl("patch", "cm", name, "-n", ns, f"--type={kind}", "-p", patch).out == f"configmap/{name} patched\n"
    assert lab.kubectl("get", "cm", name, "-n", ns, "-o", "json").json["data"] == data
    assert lab.kubectl("patch", "cm", name, "-n", ns, f"--type={kind}", "-p", "{}" if kind != "json" else "[]").out == (
        f"configmap/{name} patched (no change)\n"
    )


def test_strategic_patch_merges_lists_by_name(lab, ns):
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": ns},
        "spec": {"schedulerName": "nobody", "containers": [{"name": "a", "image": "one"}, {"name": "b", "image": "one"}]},
    }
    lab.kubectl("create", "-f", "-", stdin=json.dumps(pod))
    lab.kubectl("patch", "pod", "p", "-n", ns, "-p", '{"spec":{"containers":[{"name":"b","image":"two"}]}}')
    containers = lab.kubectl("get", "pod", "p", "-n", ns, "-o", "json").json["spec"]["containers"]
    assert [(c["name"], c["image"]) for c in containers] == [("a", "one"), ("b", "two")]


def test_strategic_patch_of_a_custom_resource_is_refused(lab, ns):
    lab.submit(forge_elsewhere(), "strategic", ns)
    answer = lab.http(
        "PATCH",
        f"/apis/fournos.dev/v1/namespaces/{ns}/fournosjobs/strategic",
        {"spec": {}},
        content_type="application/strategic-merge-patch+json",
    )
    assert answer.code == 415
    assert answer.json["message"] == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )


def forge_elsewhere():
    return {"cluster": "cluster-1", "forge": {"project": "p", "args": []}}


def test_diff(lab, ns):
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(configmap("df", ns, {"a": "1"})))
    assert lab.kubectl("diff", "-f", "-", stdin=json.dumps(configmap("df", ns, {"a": "1"}))).out == ""
    changed = lab.kubectl("diff", "-f", "-", stdin=json.dumps(configmap("df", ns, {"a": "2"})), code=1)
    assert '-  a: "1"' in changed.out and '+  a: "2"' in changed.out
    lab.kubectl("diff", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(configmap("df", ns, {"a": "2"})), code=1)


def test_replace_and_conflict(lab, ns):
    lab.kubectl("create", "configmap", "rp", "-n", ns, "--from-literal=a=1")
    stale = lab.kubectl("get", "cm", "rp", "-n", ns, "-o", "json").json
    lab.kubectl("label", "cm", "rp", "-n", ns, "x=y")
    refused = lab.kubectl("replace", "-f", "-", stdin=json.dumps(stale), code=1)
    assert (
        'Operation cannot be fulfilled on configmaps "rp": the object has been modified; '
        "please apply your changes to the latest version and try again" in refused.err
    )
    del stale["metadata"]["resourceVersion"]
    assert lab.kubectl("replace", "-f", "-", stdin=json.dumps(stale)).out == "configmap/rp replaced\n"


def test_dry_run_stores_nothing(lab, ns):
    done = lab.kubectl("create", "configmap", "dry", "-n", ns, "--dry-run=server", "-o", "json")
    assert done.json["metadata"]["uid"] and "resourceVersion" not in done.json["metadata"]
    assert lab.http("GET", f"/api/v1/namespaces/{ns}/configmaps/dry").code == 404
    bad = {"apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": {"name": "dry", "namespace": ns}, "spec": {"hardware": {}}}
    refused = lab.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(bad), code=1)
    assert "spec.hardware.gpuType: Required value" in refused.err


def test_wait_for_jsonpath_and_delete(lab, ns):
    lab.kubectl("create", "configmap", "wt", "-n", ns, "--from-literal=state=new")
    waiting = subprocess.Popen(
        [KUBECTL, "wait", "configmap/wt", "-n", ns, "--for=jsonpath={.data.state}=ready", TIMEOUT],
        env=lab.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )
    lab.kubectl("patch", "cm", "wt", "-n", ns, "--type=merge", "-p", '{"data":{"state":"ready"}}')
    out, err = waiting.communicate(timeout=DEADLINE)
    assert (waiting.returncode, out) == (0, "configmap/wt condition met\n"), err
    assert lab.kubectl("delete", "cm", "wt", "-n", ns).out.startswith('configmap "wt" deleted')
    lab.kubectl("wait", "configmap/wt", "-n", ns, "--for=delete", TIMEOUT)


def test_auth_can_i(lab, ns):
    assert lab.kubectl("auth", "can-i", "create", "pods", "-n", ns).out == "yes\n"
    denied = lab.kubectl("auth", "can-i", "create", "pods", "-n", ns, "--as=nobody", code=1)
    assert denied.out == "no\n"
    assert "Username" in lab.kubectl("auth", "whoami").out
    assert "*.*" in lab.kubectl("auth", "can-i", "--list", "-n", ns).out


def test_a_service_account_token_carries_its_rights_and_no_more(lab, ns):
    lab.kubectl("create", "serviceaccount", "bot", "-n", ns)
    lab.kubectl("create", "role", "bot", "-n", ns, "--verb=get,list", "--resource=configmaps")
    lab.kubectl("create", "rolebinding", "bot", "-n", ns, "--role=bot", f"--serviceaccount={ns}:bot")
    token = lab.kubectl("create", "token", "bot", "-n", ns).out.strip()
    assert token.count(".") == 2
    assert lab.http("GET", f"/api/v1/namespaces/{ns}/configmaps", token=token).code == 200
    refused = lab.http("GET", f"/api/v1/namespaces/{ns}/secrets", token=token)
    assert refused.code == 403
    assert refused.json["message"] == (
        f'secrets is forbidden: User "system:serviceaccount:{ns}:bot" cannot list resource "secrets" '
        f'in API group "" in the namespace "{ns}"'
    )
    assert lab.http("GET", f"/api/v1/namespaces/{ns}/configmaps", token=token[:-3] + "abc").code == 401
    lab.kubectl("delete", "serviceaccount", "bot", "-n", ns)
    # The reference believes a token that it saw for ten seconds more.
    wait_for("the token is void", lambda: lab.http("GET", f"/api/v1/namespaces/{ns}/configmaps", token=token).code == 401)


def test_deleting_a_namespace_empties_it(lab):
    lab.kubectl("create", "namespace", "short-lived")
    lab.kubectl("create", "configmap", "inside", "-n", "short-lived")
    lab.kubectl("delete", "namespace", "short-lived", TIMEOUT)
    assert lab.http("GET", "/api/v1/namespaces/short-lived").code == 404
    assert lab.http("GET", "/api/v1/namespaces/short-lived/configmaps/inside").code == 404
    refused = lab.kubectl("delete", "namespace", "kube-system", code=1)
    assert 'namespaces "kube-system" is forbidden: this namespace may not be deleted' in refused.err


def test_owner_goes_and_its_dependents_follow(lab, ns):
    lab.kubectl("create", "configmap", "owner", "-n", ns)
    uid = lab.kubectl("get", "cm", "owner", "-n", ns, "-o", "jsonpath={.metadata.uid}").out
    reference = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}]
    for name in ("child-1", "child-2"):
        lab.kubectl("create", "-f", "-", stdin=json.dumps(configmap(name, ns, {}, ownerReferences=reference)))
    lab.kubectl("delete", "cm", "owner", "-n", ns)
    for name in ("child-1", "child-2"):
        wait_for("garbage collection", lambda n=name: lab.http("GET", f"/api/v1/namespaces/{ns}/configmaps/{n}").code == 404)


def test_a_custom_resource_definition_of_the_user(lab, ns):
    crd = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.e2e.example.com}
spec:
  group: e2e.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {size: {type: integer, minimum: 0, default: 1}, name: {type: string}}
          status: {type: object, properties: {size: {type: integer}}}
"""
    lab.kubectl("apply", "-f", "-", stdin=crd)
    lab.kubectl("wait", "--for=condition=Established", "crd/widgets.e2e.example.com", TIMEOUT)
    widget = {"apiVersion": "e2e.example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": ns}, "spec": {"name": "x"}}
    lab.kubectl("create", "-f", "-", stdin=json.dumps(widget))
    assert lab.kubectl("get", "wd", "w", "-n", ns, "--no-headers").out.split()[:2] == ["w", "1"], "default and column"
    lab.kubectl("scale", "widget/w", "-n", ns, "--replicas=3")
    assert lab.kubectl("get", "wd", "w", "-n", ns, "-o", "jsonpath={.spec.size}").out == "3"
    lab.kubectl("patch", "wd", "w", "-n", ns, "--subresource=status", "--type=merge", "-p", '{"status":{"size":3}}')
    widget["spec"]["nope"] = 1
    refused = lab.kubectl("apply", "-f", "-", stdin=json.dumps(widget), code=1)
    assert 'strict decoding error: unknown field "spec.nope"' in refused.err
    lab.kubectl("delete", "crd", "widgets.e2e.example.com", TIMEOUT)
    assert lab.http("GET", "/apis/e2e.example.com/v1/widgets").code == 404


def test_yaml_of_the_examples_applies_unchanged(lab):
    done = lab.kubectl("apply", "--dry-run=server", "-f", ROOT / "examples/fournos/setup", "-n", JOBS, code=None)
    assert done.code == 0, done.err
    assert yaml.safe_load(lab.kubectl("get", "ns", JOBS, "-o", "yaml").out)["metadata"]["labels"]["fournos.dev/queue-access"] == "true"
