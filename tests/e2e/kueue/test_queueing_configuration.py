# SPDX-License-Identifier: Apache-2.0
"""ConfigMap kueue-manager-config changes while the lab runs: each key has its effect, or a warning says that it has none (docs/spec/kueue.md 12)."""

import json

import pytest
import yaml
from queue_world import GPU, MERGE, World
from support import Lab, wait_for

NAME = "kueue-manager-config"
KEY = "controller_manager_config.yaml"
JOBS = "/apis/batch/v1/namespaces/{}/jobs"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A lab of this file's own: what is configured holds for all of it."""
    one = Lab(tmp_path_factory.mktemp("configured") / "lab", ["--storage", "memory"])
    try:
        one.start()
        yield one
    finally:
        one.close()


@pytest.fixture
def configure(lab):
    """Applies a configuration; afterwards there is none."""

    def write(text, code=0):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, "namespace": "kueue-system"}, "data": {KEY: text}}
        return lab.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(body), code=code)

    yield write
    lab.kubectl("-n", "kueue-system", "delete", "cm", NAME, "--ignore-not-found")


@pytest.fixture
def world(lab, ns):
    one = World(lab, ns)
    one.flavor("f")
    return one


def try_job(world, labels=None):
    """What would be stored of a Job, and the warnings."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "tried", "labels": labels or {}}, "spec": {"template": {"spec": pod}}}
    answer = world.lab.http("POST", JOBS.format(world.ns) + "?dryRun=All", body)
    assert answer.code == 201, answer.text
    return answer.json["spec"].get("suspend", False), answer.headers.get("Warning", "")


def suspends(world, **labels):
    return try_job(world, labels)[0]


def test_fair_sharing(world, configure):
    world.queue("q", 8)
    shares = lambda: world.cluster_queue("q").get("status", {}).get("fairSharing")
    configure("fairSharing: {enable: true}")
    wait_for("the share is reported", lambda: shares() == {"weightedShare": 0})
    configure("fairSharing: {enable: false}")
    wait_for("it is gone", lambda: shares() is None)


def test_jobs_without_queue(world, configure):
    assert not suspends(world)
    configure("manageJobsWithoutQueueName: true")
    wait_for("every Job waits", lambda: suspends(world))
    configure("manageJobsWithoutQueueName: true\nmanagedJobsNamespaceSelector: {matchLabels: {managed: 'yes'}}")
    wait_for("not in a namespace that is not selected", lambda: not suspends(world))
    world.patch(f"/api/v1/namespaces/{world.ns}", {"metadata": {"labels": {"managed": "yes"}}})
    wait_for("in one that is", lambda: suspends(world))


def test_frameworks(world, configure):
    label = {"kueue.x-k8s.io/queue-name": "q"}
    assert suspends(world, **label)
    configure("integrations: {frameworks: [pod]}")
    wait_for("a Job runs at once", lambda: not suspends(world, **label))
    assert "Job is not integrated with the queueing" in try_job(world, label)[1]
    configure("integrations: {frameworks: [pod, batch/job]}")
    wait_for("it waits again", lambda: suspends(world, **label))


def test_resources_that_are_not_counted(world, configure):
    world.queue("q", 8)
    world.submit("w", "q", 1, pod={"containers": [{"name": "c", "image": "i", "resources": {"requests": {"free.example.com/x": "1"}}}]})
    world.await_message("w", "resource free.example.com/x unavailable in ClusterQueue")
    configure("resources: {excludeResourcePrefixes: [free.example.com/]}")
    world.await_admitted("w")


def test_transformations_beside_those_of_systems(world, configure):
    world.queue("q", 8)
    world.submit("w", "q", 1, pod={"containers": [{"name": "c", "image": "i", "resources": {"requests": {"example.com/half": "4"}}}]})
    world.await_message("w", "resource example.com/half unavailable in ClusterQueue")
    configure("resources:\n  transformations:\n  - {input: example.com/half, strategy: Replace, outputs: {example.com/gpu: 500m}}\n")
    world.await_admitted("w")
    assert world.get("w")["status"]["admission"]["podSetAssignments"][0]["resourceUsage"] == {GPU: "2"}
    # Slices that NVIDIA's name asks for are still counted as the lab's.
    world.submit("slice", "q", 1, pod={"containers": [{"name": "c", "image": "i", "resources": {"requests": {"nvidia.com/mig-1g.5gb": "1"}}}]})
    world.await_message("slice", "resource mig.das.com/1g.5gb unavailable in ClusterQueue")


def test_pods_that_must_get_ready(world, configure):
    world.queue("q", 8)
    world.submit("w", "q", 1)
    world.await_admitted("w")
    configure("waitForPodsReady:\n  timeout: 1s\n  requeuingStrategy: {backoffBaseSeconds: 1, backoffLimitCount: 3}\n")
    wait_for("it is evicted", lambda: world.condition("w", "Evicted").get("reason") == "PodsReadyTimeout")
    assert world.get("w")["status"]["requeueState"]["count"] == 1


APP = {
    "apiVersion": "workload.codeflare.dev/v1beta2",
    "kind": "AppWrapper",
    "spec": {
        "components": [
            {
                "template": {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": "unplaced"},
                    "spec": {
                        "restartPolicy": "Never",
                        "nodeSelector": {"no": "node"},
                        "containers": [{"name": "c", "image": "i", "resources": {"limits": {GPU: "1"}}}],
                    },
                }
            }
        ]
    },
}


def test_appwrappers_that_must_get_ready(world, configure):
    """Their Workloads have PodsReady where it counts, are evicted, come back after the back-off, and are given up (appwrapper.md 4.6)."""
    apps = f"/apis/workload.codeflare.dev/v1beta2/namespaces/{world.ns}/appwrappers"
    configure("apiVersion: config.kueue.x-k8s.io/v1beta1\nwaitForPodsReady: {enable: false}\n")
    world.queue("q", 8)
    app = {**APP, "metadata": {"name": "aw", "labels": {"kueue.x-k8s.io/queue-name": "q"}}}
    assert world.lab.http("POST", apps, app).code == 201
    phase = lambda: world.lab.http("GET", f"{apps}/aw").json.get("status", {}).get("phase")
    wait_for("it runs", lambda: phase() == "Running")
    name = world.lab.http("GET", world.workloads).json["items"][0]["metadata"]["name"]
    assert world.condition(name, "PodsReady") == {}
    configure("waitForPodsReady:\n  timeout: 3s\n  requeuingStrategy: {backoffBaseSeconds: 2, backoffLimitCount: 1}\n")
    wait_for("Kueue's side knows", lambda: world.condition(name, "PodsReady").get("reason") == "WaitForStart")
    wait_for("it is evicted", lambda: world.condition(name, "Requeued").get("reason") == "PodsReadyTimeout")
    assert world.get(name)["status"]["requeueState"]["count"] == 1
    assert world.condition(name, "QuotaReserved")["message"] == f"Exceeded the PodsReady timeout {world.ns}/{name}"
    wait_for("it starts again", lambda: world.condition(name, "Requeued").get("reason") == "BackoffFinished" and phase() == "Running")
    wait_for("it is given up", lambda: world.get(name)["spec"].get("active") is False and phase() == "Suspended")
    assert world.condition(name, "DeactivationTarget")["reason"] == "RequeuingLimitExceeded"


def test_appwrappers_that_are_no_framework(world, configure):
    apps = f"/apis/workload.codeflare.dev/v1beta2/namespaces/{world.ns}/appwrappers?dryRun=All"
    app = {**APP, "metadata": {"name": "aw", "labels": {"kueue.x-k8s.io/queue-name": "q"}}}
    suspends = lambda: world.lab.http("POST", apps, app).json["spec"].get("suspend", False)
    assert suspends()
    configure("integrations: {frameworks: [batch/job]}")
    wait_for("it would run at once", lambda: not suspends())
    assert "AppWrapper is not integrated with the queueing" in world.lab.http("POST", apps, app).headers.get("Warning", "")


def test_one_after_the_other(world, configure):
    configure("waitForPodsReady: {timeout: 1h, blockAdmission: true}")
    world.queue("q", 8)
    world.submit("a", "q", 1)
    world.await_admitted("a")
    world.submit("b", "q", 1)
    world.await_message("b", "waiting for all admitted workloads to be in PodsReady condition")
    configure("waitForPodsReady: {timeout: 1h}")
    world.await_admitted("b")


def test_retention(world, configure):
    world.submit("w", "none", 1)
    now = world.get("w")["metadata"]["creationTimestamp"]
    finished = {"type": "Finished", "status": "True", "reason": "Succeeded", "message": "done", "lastTransitionTime": now}
    world.patch(f"{world.workloads}/w/status", {"status": {"conditions": [finished]}})
    assert world.get("w")
    configure("objectRetentionPolicies: {workloads: {afterFinished: 0s}}")
    wait_for("it is deleted", lambda: world.lab.http("GET", f"{world.workloads}/w").code == 404)


def test_metrics_of_resources(world, configure):
    world.queue("q", 8)
    line = f'kueue_cluster_queue_nominal_quota{{cluster_queue="{world.name("q")}"'
    scrape = lambda: world.lab.http("GET", "/metrics").text
    series = lambda: [one for one in scrape().splitlines() if one.startswith("kueue_cluster_queue_nominal_quota") and world.name("q") in one]
    assert not series(), line
    configure("metrics: {enableClusterQueueResources: true}")
    wait_for("quota is a metric", series)
    configure("metrics: {enableClusterQueueResources: false}")
    wait_for("it is none", lambda: not series())


def test_gates(world, configure):
    def min_count():
        pods = {"name": "main", "count": 2, "minCount": 1, "template": {"spec": {"containers": []}}}
        body = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": "tried"}, "spec": {"podSets": [pods]}}
        return world.post(world.workloads + "?dryRun=All", body)["spec"]["podSets"][0].get("minCount")

    assert min_count() == 1
    configure("featureGates: {PartialAdmission: false}")
    wait_for("it is removed", lambda: min_count() is None)


def test_what_has_no_effect_is_warned_of(lab, configure):
    done = configure("webhook: {port: 9443}\nmetrics: {bindAddress: ':8443'}\nmultiKueue: {gcInterval: 1m}\nfeatureGates: {TopologyAwareScheduling: true}\nintegrations: {frameworks: [apps/deployment]}\n")
    process = f"{KEY}: without effect here: metrics.bindAddress, webhook; the process takes these as flags, and a change of a flag needs a restart"
    absent = f"{KEY}: without effect here: featureGates.TopologyAwareScheduling, integrations.frameworks apps/deployment, multiKueue"
    assert f"Warning: {process}" in done.err and f"Warning: {absent}" in done.err

    def told():
        events = json.loads(lab.kubectl("-n", "kueue-system", "get", "events", "-o", "json").out)["items"]
        return {(one["type"], one["reason"], one.get("message")) for one in events if one["involvedObject"]["name"] == NAME}

    wait_for(
        "events say so, too",
        lambda: {("Normal", "ConfigurationRead", "The queueing follows this configuration"), ("Warning", "ConfigurationWithoutEffect", process), ("Warning", "ConfigurationWithoutEffect", absent)} <= told(),
    )


WRONG = {
    "an unknown field": ("kind: Configuration\nfairSharing: {enabled: true}\n", 'line 2: unknown field "fairSharing.enabled"'),
    "a value": ("waitForPodsReady:\n  timeout: soon\n", "line 2: waitForPodsReady.timeout: must be a duration of at most a year, as 30m"),
    "an unknown gate": ("\n\nfeatureGates: {NoSuchGate: true}\n", "line 3: featureGates: gate NoSuchGate is unknown"),
    "no YAML": ("a: [\n", "line 2"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_one_is_refused_and_the_old_one_stays_in_force(world, configure, case):
    text, message = WRONG[case]
    configure("manageJobsWithoutQueueName: true")
    wait_for("the old one holds", lambda: suspends(world))
    done = configure(text, code=1)
    assert message in done.err and KEY in done.err
    assert suspends(world)
    # Neither does a merge patch get past the check.
    answer = world.lab.http("PATCH", f"/api/v1/namespaces/kueue-system/configmaps/{NAME}", {"data": {KEY: text}}, content_type=MERGE)
    assert answer.code == 403 and message in answer.json["message"]
    # Without a configuration the settings of the start hold.
    world.lab.kubectl("-n", "kueue-system", "delete", "cm", NAME)
    wait_for("it is over", lambda: not suspends(world))
