# SPDX-License-Identifier: Apache-2.0
"""CEL as kubectl meets it: rules of custom resources and ValidatingAdmissionPolicies."""

import json

from support import wait_for

RULED = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "scales.cel.example.com"},
    "spec": {
        "group": "cel.example.com",
        "scope": "Namespaced",
        "names": {"plural": "scales", "kind": "Scale"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"min": {"type": "integer"}, "max": {"type": "integer"}},
                                "x-kubernetes-validations": [
                                    {"rule": "self.min <= self.max", "message": "min above max"},
                                    {"rule": "self.max >= oldSelf.max", "message": "max never shrinks"},
                                ],
                            }
                        },
                    }
                },
            }
        ],
    },
}

POLICY = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "no-bad-names"},
    "spec": {
        "matchConstraints": {
            "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
            ],
        },
        "validations": [
            {"expression": "object.metadata.name != 'bad'", "message": "name is bad"},
            {"expression": "!has(object.nope)"},
        ],
    },
}

BINDING = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": "no-bad-names"},
    "spec": {
        "policyName": "no-bad-names",
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": {"matchLabels": {}}},
    },
}


def test_rules_of_custom_resources_judge_what_kubectl_applies(lab, ns):
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(RULED))
    wait_for("the kind", lambda: lab.http("GET", "/apis/cel.example.com/v1").code == 200)
    scale = {"apiVersion": "cel.example.com/v1", "kind": "Scale", "metadata": {"name": "s", "namespace": ns}}
    refused = lab.kubectl("apply", "-f", "-", stdin=json.dumps(scale | {"spec": {"min": 3, "max": 2}}), code=1)
    assert 'spec: Invalid value: min above max' in refused.err
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(scale | {"spec": {"min": 1, "max": 2}}))
    refused = lab.kubectl("apply", "-f", "-", stdin=json.dumps(scale | {"spec": {"min": 1, "max": 1}}), code=1)
    assert "max never shrinks" in refused.err
    lab.kubectl("delete", "crd", "scales.cel.example.com")


def test_reserved_words_name_fields(lab, ns):
    """JobSet's and Kubeflow Trainer's rules read a field `namespace` directly."""
    one = json.loads(json.dumps(RULED))
    one["metadata"]["name"] = "refs.cel.example.com"
    one["spec"]["names"] = {"plural": "refs", "kind": "Ref"}
    schema = one["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    words = ("namespace", "import", "package", "return")
    schema["properties"]["spec"] = {
        "type": "object",
        "properties": {word: {"type": "string"} for word in words},
        "x-kubernetes-validations": [
            {"rule": "!has(self.namespace) || self.namespace != 'kube-system'", "message": "direct"},
            {"rule": "!has(self.__namespace__) || self.__namespace__ != 'default'", "message": "escaped"},
            {"rule": "!has(self.import) && !has(self.package) && !has(self.return)", "message": "others"},
        ],
    }
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(one))
    try:
        wait_for("the kind", lambda: "refs" in [r["name"] for r in lab.get("/apis/cel.example.com/v1")["resources"]])
        ref = {"apiVersion": "cel.example.com/v1", "kind": "Ref", "metadata": {"name": "r", "namespace": ns}}
        for spec, message in (({"namespace": "kube-system"}, "direct"), ({"namespace": "default"}, "escaped"), ({"return": "x"}, "others")):
            refused = lab.kubectl("create", "-f", "-", stdin=json.dumps(ref | {"spec": spec}), code=1)
            assert f"spec: Invalid value: {message}" in refused.err
        lab.kubectl("create", "-f", "-", stdin=json.dumps(ref | {"spec": {"namespace": "mine"}}))
    finally:
        lab.kubectl("delete", "crd", "refs.cel.example.com")


def test_a_policy_that_reads_the_namespace_has_no_warning(lab):
    policy = json.loads(json.dumps(POLICY))
    policy["metadata"]["name"] = "no-such-place"
    policy["spec"]["validations"] = [{"expression": "object.metadata.namespace != 'nowhere'"}]
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/no-such-place"
    try:
        lab.kubectl("apply", "-f", "-", stdin=json.dumps(policy))
        status = wait_for("the type check", lambda: lab.get(path)["status"] if lab.get(path)["status"]["observedGeneration"] == 1 else None)
        assert not status.get("typeChecking", {}).get("expressionWarnings")
    finally:
        lab.kubectl("delete", "validatingadmissionpolicy", "no-such-place", "--ignore-not-found")


def test_policies_deny_and_are_type_checked(lab, ns):
    policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    binding = json.loads(json.dumps(BINDING))
    binding["spec"]["matchResources"]["namespaceSelector"]["matchLabels"] = {"kubernetes.io/metadata.name": ns}
    try:
        lab.kubectl("apply", "-f", "-", stdin=json.dumps(POLICY))
        lab.kubectl("apply", "-f", "-", stdin=json.dumps(binding))
        refused = lab.kubectl("create", "configmap", "bad", "-n", ns, code=1)
        assert (
            "configmaps \"bad\" is forbidden: ValidatingAdmissionPolicy 'no-bad-names' with binding 'no-bad-names' "
            "denied request: name is bad" in refused.err
        )
        lab.kubectl("create", "configmap", "good", "-n", ns)

        def status():
            return lab.http("GET", f"{policies}/no-bad-names").json.get("status", {})

        warnings = wait_for("the type check", lambda: status()["observedGeneration"] == 1 and status()["typeChecking"]["expressionWarnings"])
        assert [one["fieldRef"] for one in warnings] == ["spec.validations[1].expression"]
        assert "undefined field 'nope'" in warnings[0]["warning"]
    finally:
        lab.kubectl("delete", "validatingadmissionpolicybinding", "no-bad-names", "--ignore-not-found")
        lab.kubectl("delete", "validatingadmissionpolicy", "no-bad-names", "--ignore-not-found")
