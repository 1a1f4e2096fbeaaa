# SPDX-License-Identifier: Apache-2.0
"""Jobs and pods in queues, as a user of kubectl sees them (docs/spec/kueue.md 10, 12, 14; docs/kueue.md)."""

import json
import os
import signal
import subprocess
import threading

import pytest
import yaml
from support import ATHANOR, KUBECTL, ROOT, run, wait_for

KUEUE = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
VISIBILITY = "/apis/visibility.kueue.x-k8s.io/{}"


def apply(lab, *objects, check=True):
    text = yaml.safe_dump_all(objects)
    done = run([KUBECTL, "--kubeconfig", lab.kubeconfig, "apply", "-f", "-"], stdin=text)
    assert done.code == 0 or not check, done.err
    return done


@pytest.fixture
def queue(lab, ns):
    """A ClusterQueue of one CPU for the test's namespace, and its LocalQueue `lq`."""
    flavor = {"name": f"{ns}-flavor", "resources": [{"name": "cpu", "nominalQuota": "1"}]}
    spec = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ns}},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}],
    }
    apply(
        lab,
        {**KUEUE, "kind": "ResourceFlavor", "metadata": {"name": f"{ns}-flavor"}, "spec": {}},
        {**KUEUE, "kind": "ClusterQueue", "metadata": {"name": f"{ns}-queue"}, "spec": spec},
        {**KUEUE, "kind": "LocalQueue", "metadata": {"name": "lq", "namespace": ns}, "spec": {"clusterQueue": f"{ns}-queue"}},
    )
    return f"{ns}-queue"


def pod_spec(command, cpu="1"):
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "c", "image": "busybox:1.36", "command": ["sh", "-c", command], "resources": {"requests": {"cpu": cpu}}}],
    }


def job(ns, name, command="sleep 0.1"):
    labels = {"kueue.x-k8s.io/queue-name": "lq"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": ns, "labels": labels},
        "spec": {"template": {"spec": pod_spec(command)}},
    }


def read(lab, path):
    answer = lab.http("GET", path)
    return answer.json if answer.code == 200 else None


def job_of(lab, ns, name):
    return read(lab, f"/apis/batch/v1/namespaces/{ns}/jobs/{name}")


def workloads(lab, ns):
    return read(lab, f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{ns}/workloads")["items"]


def condition(thing, kind):
    return next((one for one in thing.get("status", {}).get("conditions", []) if one["type"] == kind), {})


def test_a_job_over_quota_waits_suspended_and_starts_when_quota_frees(lab, ns, queue):
    apply(lab, job(ns, "first", "sleep 1000"))
    wait_for("the first runs", lambda: job_of(lab, ns, "first").get("status", {}).get("active") == 1)
    apply(lab, job(ns, "second"))

    def waiting():
        found = [one for one in workloads(lab, ns) if one["metadata"]["name"].startswith("job-second-")]
        return found and condition(found[0], "QuotaReserved").get("status") == "False"

    wait_for("the second waits", waiting)
    assert job_of(lab, ns, "second")["spec"]["suspend"] is True
    assert not read(lab, f"/api/v1/namespaces/{ns}/pods?labelSelector=job-name%3Dsecond")["items"]
    # Who waits, and at which place, in both versions.
    for version in ("v1beta1", "v1beta2"):
        path = VISIBILITY.format(version)
        seen = lab.kubectl("get", "--raw", f"{path}/clusterqueues/{queue}/pendingworkloads")
        items = json.loads(seen.out)["items"]
        assert [(one["localQueueName"], one["positionInClusterQueue"], one["positionInLocalQueue"]) for one in items] == [("lq", 0, 0)]
        local = lab.kubectl("get", "--raw", f"{path}/namespaces/{ns}/localqueues/lq/pendingworkloads?limit=0")
        assert json.loads(local.out)["items"] == []
    lab.kubectl("-n", ns, "delete", "job", "first", "--wait=false")
    wait_for("the second completes", lambda: condition(job_of(lab, ns, "second"), "Complete").get("status") == "True")
    finished = [one for one in workloads(lab, ns) if one["metadata"]["name"].startswith("job-second-")][0]
    wait_for("it is told", lambda: condition(read(lab, f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{ns}/workloads/{finished['metadata']['name']}"), "Finished").get("reason") == "Succeeded")
    wait_for("the first's Workload is gone", lambda: len(workloads(lab, ns)) == 1)
    events = lab.kubectl("-n", ns, "get", "events", "-o", "jsonpath={.items[*].reason}").out.split()
    assert {"CreatedWorkload", "Started", "FinishedWorkload"} <= set(events)


def test_a_stopped_queue_takes_its_jobs_back(lab, ns, queue):
    apply(lab, job(ns, "held", "sleep 1000"))
    wait_for("it runs", lambda: job_of(lab, ns, "held").get("status", {}).get("active") == 1)
    patch = '{"spec":{"stopPolicy":"HoldAndDrain"}}'
    lab.kubectl("patch", "clusterqueue", queue, "--type=merge", "-p", patch)
    wait_for("it is suspended", lambda: job_of(lab, ns, "held")["spec"]["suspend"] is True)
    wait_for("the quota is free", lambda: "admission" not in workloads(lab, ns)[0]["status"])
    template = job_of(lab, ns, "held")["spec"]["template"]["metadata"]
    assert "kueue.x-k8s.io/podset" not in template.get("labels", {})
    lab.kubectl("patch", "clusterqueue", queue, "--type=merge", "-p", '{"spec":{"stopPolicy":"None"}}')
    wait_for("it runs again", lambda: job_of(lab, ns, "held").get("status", {}).get("active") == 1)


def test_a_pod_group_waits_for_all_its_pods(lab, ns, queue):
    def member(name):
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": ns,
                "labels": {"kueue.x-k8s.io/queue-name": "lq", "kueue.x-k8s.io/pod-group-name": "pair"},
                "annotations": {"kueue.x-k8s.io/pod-group-total-count": "2"},
            },
            "spec": pod_spec("sleep 0.1", cpu="500m"),
        }

    apply(lab, member("a"))
    gates = read(lab, f"/api/v1/namespaces/{ns}/pods/a")["spec"]["schedulingGates"]
    assert gates == [{"name": "kueue.x-k8s.io/admission"}]
    assert workloads(lab, ns) == []
    apply(lab, member("b"))
    wait_for("the group is done", lambda: workloads(lab, ns) and condition(workloads(lab, ns)[0], "Finished").get("reason") == "Succeeded")
    assert condition(workloads(lab, ns)[0], "Finished")["message"] == "Pods succeeded: 2/2."
    lab.kubectl("-n", ns, "delete", "pod", "a", "b")  # no finalizer holds them


def test_a_job_set_waits_and_its_jobs_are_not_counted_twice(lab, ns, queue):
    template = {"spec": {"template": {"spec": pod_spec("sleep 0.1", cpu="500m")}}}
    body = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "set", "namespace": ns, "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
        "spec": {"replicatedJobs": [{"name": "a", "replicas": 2, "template": template}]},
    }
    apply(lab, body)
    wait_for("it is done", lambda: workloads(lab, ns) and condition(workloads(lab, ns)[0], "Finished").get("reason") == "Succeeded")
    assert len(workloads(lab, ns)) == 1
    assert workloads(lab, ns)[0]["spec"]["podSets"][0]["count"] == 2
    assert job_of(lab, ns, "set-a-0")["spec"]["template"]["metadata"]["labels"]["kueue.x-k8s.io/podset"] == "a"


def test_a_job_with_fewer_pods_than_it_asked_for_runs(lab, ns, queue):
    body = job(ns, "partial")
    body["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "1"}
    body["spec"].update(parallelism=3, completions=3)
    apply(lab, body)
    wait_for("it completes", lambda: condition(job_of(lab, ns, "partial"), "Complete").get("status") == "True")
    assert job_of(lab, ns, "partial")["spec"]["parallelism"] == 1
    body["metadata"] = {**body["metadata"], "name": "wrong", "annotations": {"kueue.x-k8s.io/job-min-parallelism": "3"}}
    assert "should be between 0 and 2" in apply(lab, body, check=False).err


def test_what_is_not_integrated_is_warned_of(lab, ns, queue):
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": pod_spec("sleep 1000", cpu="10m")["containers"]}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": ns, "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }
    text = "Deployment is not integrated with the queueing: label kueue.x-k8s.io/queue-name has no effect"
    assert text in apply(lab, deployment).err
    wait_for("the event", lambda: read(lab, f"/api/v1/namespaces/{ns}/events/web.unsupported-integration"))
    said = lab.kubectl("-n", ns, "get", "events", "--field-selector", "reason=UnsupportedIntegration")
    assert text in said.out


def test_a_configuration_that_would_not_be_read_is_refused_with_its_line(lab):
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kueue-manager-config", "namespace": "kueue-system"},
        "data": {"controller_manager_config.yaml": "kind: Configuration\nwaitForPodsReady:\n  timout: 5m\n"},
    }
    done = apply(lab, body, check=False)
    assert done.code == 1
    assert 'controller_manager_config.yaml: line 3: unknown field "waitForPodsReady.timout"' in done.err


def test_the_visibility_group_is_discovered(lab):
    wait_for("it is available", lambda: "visibility.kueue.x-k8s.io/v1beta2" in lab.kubectl("api-versions").out)
    assert lab.http("GET", VISIBILITY.format("v1beta2") + "/clusterqueues/none/pendingworkloads").code == 404


def test_metrics_tell_of_the_queue(lab, ns, queue):
    apply(lab, job(ns, "one"))
    wait_for("it is over", lambda: condition(job_of(lab, ns, "one"), "Complete").get("status") == "True")
    line = f'kueue_admitted_workloads_total{{cluster_queue="{queue}",priority_class="",replica_role="standalone"}} 1'
    wait_for("it is counted", lambda: line in lab.http("GET", "/metrics").text)


def test_every_command_of_the_page_works(make_lab):
    lab = make_lab("--storage", "memory").start()
    page = (ROOT / "docs/kueue.md").read_text(encoding="utf-8")
    run([KUBECTL, "--kubeconfig", lab.kubeconfig, "apply", "-f", "-"], stdin=page.split("```yaml\n")[1].split("```")[0])
    apply(lab, job("default", "first", "sleep 1000"))
    wait_for("the first runs", lambda: job_of(lab, "default", "first").get("status", {}).get("active") == 1)
    apply(lab, job("default", "second"))
    wait_for("the second waits", lambda: len(workloads(lab, "default")) == 2)
    name = next(one["metadata"]["name"] for one in workloads(lab, "default") if "second" in one["metadata"]["name"])
    wait_for("the API is there", lambda: "visibility.kueue.x-k8s.io/v1beta2" in lab.kubectl("api-versions").out)
    commands = page.split("```sh\n")[1].split("```")[0].replace("job-second-a1b2c", name).splitlines()
    assert len(commands) == 5
    for command in commands:
        words = command.split("#")[0].split()
        done = run([KUBECTL, "--kubeconfig", lab.kubeconfig, *words[1:]])
        assert done.code == 0 and "second" in done.out, command + done.out + done.err
    # Those of the text.
    env = {**os.environ, "KUBECONFIG": str(lab.kubeconfig)}
    for words, said in (
        (["queues"], "ClusterQueue team"),
        (["queues", "team"], "ClusterQueue team: 1 admitted, 1 waiting"),
        (["queue", "-A"], "second"),
        (["queue", "--explain", "second"], "job-first-"),
        (["queue", "--explain", "second", "-o", "json"], '"notPreempted"'),
        (["queues", "--fits", "cpu=1", "lq", "-n", "default"], "does not fit: "),
    ):
        assert f"athanor {words[0]}" in page
        done = run([ATHANOR, *words], env=env)
        assert said in done.out and done.code == (1 if "--fits" in words else 0), done.out + done.err
    for words, said in ((["describe", "clusterqueue"], "Can admit new workloads"), (["get", "events"], "CreatedWorkload")):
        assert f"`kubectl {' '.join(words)}`" in page
        assert said in lab.kubectl(*words).out
    # Those for a cluster: tests/e2e/cli/test_guides.py.


def test_a_line_is_printed_when_somebody_moves(lab, ns, queue):
    env = {**os.environ, "KUBECONFIG": str(lab.kubeconfig), "NO_COLOR": "1"}
    apply(lab, job(ns, "first", "sleep 1000"))
    wait_for("the first runs", lambda: job_of(lab, ns, "first").get("status", {}).get("active") == 1)
    apply(lab, job(ns, "second", "sleep 1000"))
    wait_for("the second waits", lambda: len(workloads(lab, ns)) == 2)
    watch = subprocess.Popen([ATHANOR, "queue", "-w", "-n", ns], env=env, stdout=subprocess.PIPE, text=True)
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(watch.stdout), daemon=True)
    reader.start()
    try:
        wait_for("both are listed", lambda: any("job-second" in line and " 1 " in line for line in lines))
        lab.kubectl("-n", ns, "delete", "job", "first", "--wait=false")
        wait_for("the second runs", lambda: any("job-second" in line and "running" in line for line in lines))
        wait_for("the first is gone", lambda: any("job-first" in line and "gone" in line for line in lines))
    finally:
        watch.send_signal(signal.SIGINT)
        assert watch.wait(10) == 130


def test_a_wrong_configuration_ends_the_start_with_its_line(make_lab, tmp_path):
    path = tmp_path / "kueue.yaml"
    path.write_text("kind: Configuration\nfeatureGates: {NoSuchGate: true}\n", encoding="utf-8")
    done = run([ATHANOR, "up", "--data", tmp_path / "data", "--storage", "memory"], env={**os.environ, "KUEUE_CONFIG": str(path)})
    assert done.code == 1
    assert f"{path}: line 2: featureGates: gate NoSuchGate is unknown" in done.err
