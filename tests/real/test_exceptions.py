# SPDX-License-Identifier: Apache-2.0
"""The list of meant differences: every entry has patterns that compile and a reason that docs/testing.md tells."""

import pathlib

from differential.compare import FIELDS, Difference, Exceptions, differences, own_event, refusal

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs/testing.md"


def test_every_exception_has_its_reason_in_the_documentation():
    text = DOCS.read_text(encoding="utf-8")
    for entry in Exceptions().entries:
        assert set(entry) <= {"reason", "used", *FIELDS, *("_" + name for name in FIELDS)}
        assert f"* {entry['reason']}\n" in text


def test_an_exception_covers_what_it_says_and_nothing_else():
    exceptions = Exceptions()
    assert exceptions.covers(Difference("list pods", ".body.columnDefinitions[3].description", "theirs", "ours"))
    assert not exceptions.covers(Difference("list pods", ".body.columnDefinitions[3].name", "theirs", "ours"))
    assert not exceptions.covers(Difference("create pods", "code", "201 ", "422 Pod is invalid"))


def test_a_refusal_is_covered_by_what_it_says():
    exceptions = Exceptions()
    refused = '422 ConfigMap "b" is invalid: {}'
    immutable = "binaryData: Forbidden: field is immutable when `immutable` is set"
    for causes, covered in ((immutable, True), (f"data{immutable[10:]}; {immutable}", True), (f"{immutable}; metadata.name: Required value", False)):
        assert exceptions.covers(Difference("merge-patch configmaps", "code", refused.format(causes), "200 ")) == covered


def test_an_empty_map_is_told_beside_what_is_wrong():
    told = {"field": "parameters", "message": "Forbidden: updates to parameters are forbidden.", "reason": "FieldValueForbidden"}
    other = {"field": "provisioner", "message": "Required value", "reason": "FieldValueRequired"}
    assert Exceptions().covers(Difference("merge-patch storageclasses.storage.k8s.io", ".body.details.causes", [told, other], [other]))
    assert not Exceptions().covers(Difference("merge-patch storageclasses.storage.k8s.io", ".body.details.causes", [other], [told, other]))


def test_the_answer_may_be_part_of_an_exception():
    written = Difference("update secrets", ".body.metadata.resourceVersion", "<rv #2>", "<rv #1>", {"data": {"k": ""}})
    assert Exceptions().covers(written)
    written.body = {"data": {"k": "YQ=="}}
    assert not Exceptions().covers(written)


def test_an_object_beside_the_empty_form_of_its_kind_is_one_difference():
    empty = {"kind": "Service", "metadata": {}, "spec": {}}
    whole = {"kind": "Service", "metadata": {"name": "a", "finalizers": ["foregroundDeletion"]}, "spec": {"ports": []}}
    found = list(differences({"body": empty}, {"body": whole}))
    assert [path for path, _, _ in found] == [".body"]
    assert Exceptions().covers(Difference("delete services", *found[0]))
    assert [path for path, _, _ in differences({"body": whole}, {"body": {**whole, "spec": {}}})] == [".body.spec.ports"]


def test_the_managers_of_a_conflict_have_no_order():
    groups = ['conflicts with "a" using v1:\n- .spec.max', 'conflicts with "a" with subresource "scale" using v1:\n- .spec.replicas']
    one, other = ({"message": "Apply failed with 2 conflicts: " + "\n".join(order)} for order in (groups, groups[::-1]))
    assert refusal(one) == refusal(other)


def test_events_of_the_repair_loop_are_not_compared():
    assert not own_event({"metadata": {"name": "a.18ea3ed3e934d609"}})
    assert not own_event({"cells": [], "object": {"metadata": {"name": "a.18ea3ed3e934d609"}}})
    assert own_event({"metadata": {"name": "a"}})
