# SPDX-License-Identifier: Apache-2.0
"""Statuses by meaning, conversion, and objects of older versions, on the served API (docs/spec/kueue.md 4, 5)."""

import copy
import datetime

import pytest
from support import wait_for

GROUP = "/apis/kueue.x-k8s.io"


def flavor_quota(name="f", resources=(("cpu", "1"),), **more):
    return {"name": name, "resources": [{"name": resource, "nominalQuota": amount, **more} for resource, amount in resources]}


def queue(groups=None, version="v1beta2", **spec):
    groups = groups if groups is not None else [{"coveredResources": ["cpu"], "flavors": [flavor_quota()]}]
    return {"apiVersion": f"kueue.x-k8s.io/{version}", "kind": "ClusterQueue", "metadata": {"name": "refused"}, "spec": {"resourceGroups": groups, **spec}}


def workload(pod_sets=None, **spec):
    container = {"name": "c", "image": "i"}
    pod_sets = pod_sets or [{"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}]
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": "refused"}, "spec": {"podSets": pod_sets, **spec}}


def group(covered, *flavors):
    return {"coveredResources": list(covered), "flavors": list(flavors)}


def requests(**amounts):
    container = {"name": "c", "image": "i", "resources": {"requests": {key: value for key, value in amounts.items()}}}
    return [{"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}]


@pytest.fixture
def reserved(lab, ns):
    """A Workload that holds quota, by hand: no queue admits it."""
    body = workload(
        queueName="none",
        priority=1,
        maximumExecutionTimeSeconds=60,
        priorityClassRef={"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "p"},
    )
    path = f"{GROUP}/v1beta2/namespaces/{ns}/workloads"
    assert lab.http("POST", path, body).code == 201
    some = {"status": "True", "reason": "r", "message": "m", "lastTransitionTime": f"{datetime.date.today()}T00:00:00Z"}
    status = {
        "conditions": [{"type": kind, **some} for kind in ("QuotaReserved", "Admitted", "PodsReady")],
        "admission": {"clusterQueue": "q", "podSetAssignments": [{"name": "main", "count": 1, "flavors": {}, "resourceUsage": {"cpu": "1000m"}}]},
        "reclaimablePods": [{"name": "main", "count": 1}],
    }
    answer = lab.http("PATCH", f"{path}/refused/status", {"status": status}, headers={"Content-Type": "application/merge-patch+json"})
    assert answer.code == 200, answer.text
    return f"{path}/refused"


def test_a_status_written_by_a_go_client_changes_nothing(lab, reserved):
    def write():
        written = copy.deepcopy(lab.http("GET", reserved).json)
        assignment = written["status"]["admission"]["podSetAssignments"][0]
        assignment.pop("flavors", None)  # empty maps are dropped
        assignment["resourceUsage"] = {"cpu": "1"}
        return lab.http("PUT", reserved + "/status", written)

    answer = wait_for("a write that no controller comes before", lambda: (a := write()).code != 409 and a)
    assert answer.code == 200, answer.text
    other = copy.deepcopy(lab.http("GET", reserved).json)
    other["status"]["admission"]["clusterQueue"] = "z"
    answer = lab.http("PUT", reserved + "/status", other)
    assert answer.code == 403 and "status.admission: Invalid value: " in answer.json["message"]
    fewer = copy.deepcopy(lab.http("GET", reserved).json)
    fewer["status"]["reclaimablePods"][0]["count"] = 0
    answer = lab.http("PUT", reserved + "/status", fewer)
    assert "status.reclaimablePods[main].count: Invalid value: 0: cannot be less than 1" in answer.json["message"]


def test_what_is_written_in_one_version_is_read_in_the_other(lab, ns):
    name = f"{ns}-converted"
    groups = [group(["cpu"], flavor_quota(borrowingLimit="1"))]
    body = queue(groups, version="v1beta1", cohort="team", admissionChecks=["check"], flavorFungibility={"whenCanBorrow": "Borrow"})
    body["metadata"]["name"] = name
    answer = lab.http("POST", f"{GROUP}/v1beta1/clusterqueues", body)
    assert answer.code == 201, answer.text
    new = lab.http("GET", f"{GROUP}/v1beta2/clusterqueues/{name}").json["spec"]
    assert new["cohortName"] == "team" and "cohort" not in new
    assert new["admissionChecksStrategy"] == {"admissionChecks": [{"name": "check"}]}
    assert new["flavorFungibility"]["whenCanBorrow"] == "MayStopSearch"
    old = lab.http("GET", f"{GROUP}/v1beta1/clusterqueues/{name}").json["spec"]
    assert old["cohort"] == "team" and "cohortName" not in old
    assert lab.http("DELETE", f"{GROUP}/v1beta2/clusterqueues/{name}").code == 200

    old = workload(priority=5, priorityClassName="p", priorityClassSource="kueue.x-k8s.io/workloadpriorityclass")
    old["apiVersion"] = "kueue.x-k8s.io/v1beta1"
    assert lab.http("POST", f"{GROUP}/v1beta1/namespaces/{ns}/workloads", old).code == 201
    new = lab.http("GET", f"{GROUP}/v1beta2/namespaces/{ns}/workloads/refused").json
    assert new["spec"]["priorityClassRef"] == {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "p"}


def test_admission_checks_of_other_controllers_say_so(lab, ns):
    body = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "AdmissionCheck",
        "metadata": {"name": f"{ns}-check"},
        "spec": {"controllerName": "kueue.x-k8s.io/multikueue"},
    }
    assert lab.http("POST", f"{GROUP}/v1beta2/admissionchecks", body).code == 201
    path = f"{GROUP}/v1beta2/admissionchecks/{ns}-check"

    def said():
        conditions = lab.http("GET", path).json.get("status", {}).get("conditions", [])
        return [(one["reason"], one["message"]) for one in conditions]

    text = "controller kueue.x-k8s.io/multikueue is not available in the embedded engine"
    wait_for("it is told", lambda: said() == [("UnsupportedController", text)])
    assert lab.http("GET", path).json["metadata"]["finalizers"] == ["kueue.x-k8s.io/resource-in-use"]
    lab.http("DELETE", path)
    wait_for("it is gone", lambda: lab.http("GET", path).code == 404)


def test_objects_stored_in_the_old_version_are_understood(make_lab):
    """Kueue's own older definitions store v1beta1: queues read what they mean, whatever is stored."""
    lab = make_lab("--storage", "memory").start()
    crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clusterqueues.kueue.x-k8s.io"
    body = lab.http("GET", crd).json
    for version in body["spec"]["versions"]:
        version["storage"] = version["name"] == "v1beta1"
    answer = lab.http("PUT", crd, body)
    assert answer.code == 200, answer.text
    flavor = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "f"}, "spec": {}}
    assert lab.http("POST", f"{GROUP}/v1beta2/resourceflavors", flavor).code == 201
    for name, amount in (("lender", "2"), ("borrower", "0")):
        one = queue([group(["cpu"], flavor_quota(resources=(("cpu", amount),)))], version="v1beta1", cohort="team", namespaceSelector={})
        one["metadata"]["name"] = name
        answer = lab.http("POST", f"{GROUP}/v1beta1/clusterqueues", one)
        assert answer.code == 201, answer.text
    local = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "lq"}, "spec": {"clusterQueue": "borrower"}}
    assert lab.http("POST", f"{GROUP}/v1beta2/namespaces/default/localqueues", local).code == 201
    asking = workload(requests(cpu="1"), queueName="lq")
    assert lab.http("POST", f"{GROUP}/v1beta2/namespaces/default/workloads", asking).code == 201
    path = f"{GROUP}/v1beta2/namespaces/default/workloads/refused"
    wait_for("it borrows", lambda: lab.http("GET", path).json.get("status", {}).get("admission", {}).get("clusterQueue") == "borrower")
    usage = f"{GROUP}/v1beta1/clusterqueues/borrower"
    wait_for("it is counted", lambda: lab.http("GET", usage).json["status"]["flavorsUsage"][0]["resources"][0]["borrowed"] == "1")
