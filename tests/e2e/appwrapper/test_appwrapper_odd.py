# SPDX-License-Identifier: Apache-2.0
"""Templates of components with keys that are named as the kinds they wrap: an answer for each, and the process goes on
(docs/spec/appwrapper.md 13)."""

import pytest
from appwrapper_table import PATH, changed, job_set, pod, wrapper
from support import wait_for

JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": {"spec": pod()["spec"]}}}
KINDS = ("Pod", "Job", "AppWrapper", "JobSet")
PLAIN = {"apiVersion": "example.com/v1", "kind": "Nothing", "metadata": {"name": "n"}}
# By name: the components, and what the answer may be.
ODD = {
    "a key of every kind beside the fields": ([{**pod(), **{kind: pod()["spec"] for kind in KINDS}}], {201}),
    "a list at the key of every kind": ([{**pod(), **{kind: [pod()] for kind in KINDS}}], {201}),
    "keys of kinds in place of the spec": ([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "Pod": pod()["spec"]}], {403}),
    "keys of kinds in the metadata": ([changed(pod(), "metadata", "Pod", value=5)], {201, 422}),
    "keys of kinds in a pod's spec": ([changed(pod(), "spec", "Job", value=JOB["spec"])], {403}),
    "a spec that is a text": ([changed(JOB, "spec", value="Job")], {403}),
    "a spec that is a list": ([changed(job_set(), "spec", value=[{"JobSet": 1}])], {403}),
    "a template that is a kind's name": ([{"template": "AppWrapper"}], {422}),
    "a template that is a list": ([{"template": [pod()]}], {422}),
    "a spec whose member has the kind's name": ([changed(job_set(), "spec", value={"JobSet": job_set()["spec"]})], {403}),
    "a kind that is a map": ([changed(pod(), "kind", value={"Pod": "Pod"})], {400}),
    "a group of nobody with keys of kinds": ([{**PLAIN, **{kind: {"template": {"spec": pod()["spec"]}} for kind in KINDS}}], {403}),
}


@pytest.mark.parametrize("row", ODD)
@pytest.mark.parametrize("validation", ["Ignore", "Warn", "Strict"])
def test_odd_templates_are_answered(lab, ns, row, validation):
    components, codes = ODD[row]
    answer = lab.http("POST", f"{PATH.format(ns)}?fieldValidation={validation}", wrapper(*components))
    allowed = codes | {400} if validation == "Strict" else codes
    assert answer.code in allowed, answer.text
    assert answer.json["kind"] == ("AppWrapper" if answer.code == 201 else "Status"), answer.text
    if answer.code == 201:
        wait_for("its controller goes on", lambda: lab.get(f"{PATH.format(ns)}/aw").get("status", {}).get("phase") in ("Running", "Succeeded", "Resuming", "Resetting", "Failed"))
    assert lab.process.poll() is None and lab.http("GET", "/readyz").code == 200, lab.err[-2000:]
