# SPDX-License-Identifier: Apache-2.0
"""The rejection tables 5.2 and 5.3 of docs/spec/kueue.md, and conversion, on the served API."""

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


def cohort(**quota):
    groups = [{"coveredResources": ["cpu"], "flavors": [flavor_quota(**quota)]}]
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": "refused"}, "spec": {"resourceGroups": groups}}


def resource_flavor(**spec):
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "refused"}, "spec": spec}


def workload(pod_sets=None, **spec):
    container = {"name": "c", "image": "i"}
    pod_sets = pod_sets or [{"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}]
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": "refused"}, "spec": {"podSets": pod_sets, **spec}}


def group(covered, *flavors):
    return {"coveredResources": list(covered), "flavors": list(flavors)}


def requests(**amounts):
    container = {"name": "c", "image": "i", "resources": {"requests": {key: value for key, value in amounts.items()}}}
    return [{"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}]


TRY_NEXT = {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor", "preference": "PreemptionOverBorrowing"}
NO_TOPOLOGY_LABELS = resource_flavor(topologyName="t")

# What is created; the code; a part of the message.
CREATES = {
    "borrowing without cohort": (queue([group(["cpu"], flavor_quota(borrowingLimit="1"))]), 422, "borrowingLimit must be nil when cohort is empty"),
    "borrowing in the old version": (
        queue([group(["cpu"], flavor_quota(borrowingLimit="1"))], version="v1beta1"),
        422,
        "borrowingLimit must be nil when cohort is empty",
    ),
    "another number of resources": (
        queue([group(["cpu", "memory"], flavor_quota())]),
        422,
        "flavors must have the same number of resources as the coveredResources",
    ),
    "borrow within cohort": (
        queue(preemption={"reclaimWithinCohort": "Never", "borrowWithinCohort": {"policy": "LowerPriority"}}),
        422,
        "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
    ),
    "preference": (queue(flavorFungibility=TRY_NEXT), 422, "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor"),
    "checks twice": (
        queue(version="v1beta1", admissionChecks=["a"], admissionChecksStrategy={"admissionChecks": [{"name": "b"}]}),
        422,
        "Either AdmissionChecks or AdmissionCheckStrategy can be set, but not both",
    ),
    "topology without label": (NO_TOPOLOGY_LABELS, 422, "at least one nodeLabel is required when topology is set"),
    "minCount": (
        workload([{"name": "main", "count": 1, "minCount": 2, "template": {"spec": {"containers": []}}}]),
        422,
        "minCount should be positive and less or equal to count",
    ),
    "class without priority": (
        workload(priorityClassRef={"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "p"}),
        422,
        "priority should not be nil when priorityClassRef is set",
    ),
    "class of the other group": (
        workload(priority=1, priorityClassRef={"group": "kueue.x-k8s.io", "kind": "PriorityClass", "name": "p"}),
        422,
        "only the WorkloadPriorityClass kind is allowed for the kueue.x-k8s.io group",
    ),
    "19 pod sets": (
        workload([{"name": f"p{i}", "count": 1, "template": {"spec": {"containers": []}}} for i in range(19)]),
        422,
        "must have at most 18 items",
    ),
    "levels twice": (
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Topology",
            "metadata": {"name": "refused"},
            "spec": {"levels": [{"nodeLabel": "a"}, {"nodeLabel": "a"}]},
        },
        422,
        "must be unique",
    ),
    "two ways to a cluster": (
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "MultiKueueCluster",
            "metadata": {"name": "refused"},
            "spec": {"clusterSource": {"kubeConfig": {"location": "s"}, "clusterProfileRef": {"name": "p"}}},
        },
        422,
        "exactly one of the fields in [kubeConfig clusterProfileRef] must be set",
    ),
    "no clusters": (
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "MultiKueueConfig", "metadata": {"name": "refused"}, "spec": {"clusters": []}},
        422,
        "should have at least 1 items",
    ),
    "no provisioning class": (
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ProvisioningRequestConfig", "metadata": {"name": "refused"}, "spec": {}},
        422,
        "spec.provisioningClassName: Required value",
    ),
    "a name that is no resource": (
        queue([group(["a b"], flavor_quota(resources=(("a b", "1"),)))]),
        403,
        'spec.resourceGroups[0].coveredResources[0]: Invalid value: "a b": name part must consist of alphanumeric characters',
    ),
    "a resource in two groups": (
        queue([group(["cpu"], flavor_quota()), group(["cpu"], flavor_quota("g"))]),
        403,
        'spec.resourceGroups[1].coveredResources[0]: Duplicate value: "cpu"',
    ),
    "a flavor in two groups": (
        queue([group(["cpu"], flavor_quota()), group(["memory"], flavor_quota(resources=(("memory", "1"),)))]),
        403,
        'spec.resourceGroups[1].flavors[0].name: Duplicate value: "f"',
    ),
    "another order": (
        queue([group(["cpu", "memory"], flavor_quota(resources=(("memory", "1"), ("cpu", "1"))))]),
        403,
        '[spec.resourceGroups[0].flavors[0].resources[0].name: Invalid value: "memory": must match the name in coveredResources, '
        'spec.resourceGroups[0].flavors[0].resources[1].name: Invalid value: "cpu": must match the name in coveredResources]',
    ),
    "a negative quota": (
        queue([group(["cpu"], flavor_quota(resources=(("cpu", "-1"),)))]),
        403,
        'spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: Invalid value: "-1": must be greater than or equal to 0',
    ),
    "lending without cohort": (
        queue([group(["cpu"], flavor_quota(lendingLimit="1"))]),
        403,
        'spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: Invalid value: "1": must be nil when cohort is empty',
    ),
    "lending without parent": (
        cohort(lendingLimit=1),
        403,
        'spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: Invalid value: "1": must be nil when parent is empty',
    ),
    "lending more than there is": (
        queue([group(["cpu"], flavor_quota(lendingLimit="2"))], cohortName="c"),
        403,
        'lendingLimit: Invalid value: "2": must be less than or equal to the nominalQuota',
    ),
    "a tiny weight": (
        queue(fairSharing={"weight": "1n"}),
        403,
        'spec.fairSharing.weight: Invalid value: "1n": When not 0, weight must be > 10e-9',
    ),
    "a check on no flavor": (
        queue(admissionChecksStrategy={"admissionChecks": [{"name": "c", "onFlavors": ["x"]}]}),
        403,
        'spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]: Unsupported value: "x": supported values: "f"',
    ),
    "257 flavors": (
        queue([group([f"r{i}"], *[flavor_quota(f"f{i}-{j}", resources=((f"r{i}", "1"),)) for j in range(52)]) for i in range(5)]),
        403,
        "total number of flavors across all resourceGroups must be ≤ 256, got 260",
    ),
    "513 combinations": (
        queue([group([f"r{i}" for i in range(27)], *[flavor_quota(f"f{j}", resources=tuple((f"r{i}", "1") for i in range(27))) for j in range(19)])]),
        403,
        "number of flavor-resource combinations in a resourceGroup must be ≤ 512, got 513",
    ),
    "a preference in the old version": (
        queue(version="v1beta1", flavorFungibility=TRY_NEXT),
        403,
        'preference "PreemptionOverBorrowing" requires both whenCanBorrow and whenCanPreempt to be TryNextFlavor',
    ),
    "a selector": (
        queue(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "Near"}]}),
        403,
        'spec.namespaceSelector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator',
    ),
    "a taint twice": (
        resource_flavor(nodeTaints=[{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}]),
        403,
        "taints must be unique by key and effect pair",
    ),
    "a label's key": (
        resource_flavor(nodeLabels={"a b": "c"}),
        403,
        'spec.nodeLabels: Invalid value: "a b": name part must consist of alphanumeric characters',
    ),
    "the key pods": (workload(requests(pods="1")), 403, 'requests[pods]: Invalid value: "pods": the key is reserved for internal kueue use'),
    "a negative request": (workload(requests(cpu="-1")), 403, 'requests[cpu]: Invalid value: "-1": must be greater than or equal to 0'),
    "minCount twice": (
        workload([{"name": f"p{i}", "count": 2, "minCount": 1, "template": {"spec": {"containers": []}}} for i in range(2)]),
        403,
        "spec.podSets: Invalid value: 2: at most one podSet can use minCount",
    ),
}
PLURALS = {
    "ClusterQueue": "clusterqueues",
    "Cohort": "cohorts",
    "ResourceFlavor": "resourceflavors",
    "Workload": "namespaces/default/workloads",
    "Topology": "topologies",
    "MultiKueueCluster": "multikueueclusters",
    "MultiKueueConfig": "multikueueconfigs",
    "ProvisioningRequestConfig": "provisioningrequestconfigs",
}


def path_of(body):
    return f"/apis/{body['apiVersion']}/{PLURALS[body['kind']]}"


@pytest.mark.parametrize("case", CREATES)
def test_bad_input_is_refused_with_the_text(lab, case):
    body, code, message = CREATES[case]
    answer = lab.http("POST", path_of(body) + "?dryRun=All", body)
    assert answer.code == code, answer.text
    assert message in answer.json["message"]
    if code == 403:
        kind = body["kind"].lower()
        assert answer.json["message"].startswith(f'admission webhook "v{kind}.kb.io" denied the request: ')


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
    # Admitted, too: a reservation in a queue that is missing is dropped.
    some = {"status": "True", "reason": "r", "message": "m", "lastTransitionTime": f"{datetime.date.today()}T00:00:00Z"}
    status = {
        "conditions": [{"type": kind, **some} for kind in ("QuotaReserved", "Admitted", "PodsReady")],
        "admission": {"clusterQueue": "q", "podSetAssignments": [{"name": "main", "count": 1, "flavors": {}, "resourceUsage": {"cpu": "1000m"}}]},
        "reclaimablePods": [{"name": "main", "count": 1}],
    }
    answer = lab.http("PATCH", f"{path}/refused/status", {"status": status}, headers={"Content-Type": "application/merge-patch+json"})
    assert answer.code == 200, answer.text
    return f"{path}/refused"


IMMUTABLE = {
    "queueName": ({"spec": {"queueName": "other"}}, 422, "queueName is immutable while workload quota reserved"),
    "queueName removed": ({"spec": {"queueName": None}}, 422, "queueName is immutable while workload quota reserved"),
    "time": ({"spec": {"maximumExecutionTimeSeconds": None}}, 422, "maximumExecutionTimeSeconds is immutable while workload quota reserved"),
    "class removed": ({"spec": {"priorityClassRef": None}}, 422, "priorityClassRef is immutable while workload quota reserved"),
    "class": ({"spec": {"priorityClassRef": {"name": "z"}}}, 422, "priorityClassRef.name is immutable while workload quota reserved"),
    "pod sets": (
        {"spec": {"podSets": [{"name": "main", "count": 2, "template": {"spec": {"containers": []}}}]}},
        403,
        "spec.podSets: Invalid value: ",
    ),
}


@pytest.mark.parametrize("case", IMMUTABLE)
def test_what_holds_quota_keeps_what_it_asked_for(lab, reserved, case):
    patch, code, message = IMMUTABLE[case]
    answer = lab.http("PATCH", reserved + "?dryRun=All", patch, headers={"Content-Type": "application/merge-patch+json"})
    assert answer.code == code, answer.text
    assert message in answer.json["message"]


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
