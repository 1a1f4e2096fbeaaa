# SPDX-License-Identifier: Apache-2.0
"""What a pod asks for happens: probes, hooks, sidecars, users, contents of volumes; what it does stays inside."""

import json
import os
import statistics
import time

from support import TIMEOUT, wait_for


def pod_of(name, ns, script, **container):
    spec = {key: container.pop(key) for key in ("volumes", "initContainers", "restartPolicy", "securityContext", "subdomain") if key in container}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": ns, "labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": "busybox", "command": ["sh", "-c", script], **container}], "terminationGracePeriodSeconds": 5, **spec},
    }


def create(lab, pod):
    lab.kubectl("create", "-f", "-", stdin=json.dumps(pod))


def status_of(lab, ns, name):
    return lab.get(f"/api/v1/namespaces/{ns}/pods/{name}")["status"]


def notes_of(lab, ns, name):
    events = lab.get(f"/api/v1/namespaces/{ns}/events")["items"]
    return [(e["reason"], e["message"]) for e in events if e["involvedObject"]["name"] == name]


def test_endpoints_follow_readiness(lab, ns):
    probe = {"exec": {"command": ["test", "-e", "/tmp/ready"]}, "periodSeconds": 1, "failureThreshold": 1}
    create(lab, pod_of("web", ns, "exec sleep 1000", readinessProbe=probe, ports=[{"containerPort": 8080}]))
    lab.kubectl("expose", "pod", "web", "-n", ns, "--port=80", "--target-port=8080")

    def ready():
        slices = lab.get(f"/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices")["items"]
        return [e["conditions"]["ready"] for s in slices for e in s.get("endpoints") or []]

    wait_for("an endpoint that is not ready", lambda: ready() == [False])
    wait_for("the event", lambda: any(n[0] == "Unhealthy" and n[1].startswith("Readiness probe failed") for n in notes_of(lab, ns, "web")))
    lab.kubectl("exec", "web", "-n", ns, "--", "touch", "/tmp/ready")
    wait_for("a ready endpoint", lambda: ready() == [True])
    lab.kubectl("exec", "web", "-n", ns, "--", "rm", "/tmp/ready")
    wait_for("an endpoint that is not ready any more", lambda: ready() == [False])


def test_a_container_that_fails_its_liveness_probe_is_restarted(lab, ns):
    probe = {"exec": {"command": ["cat", "/tmp/healthy"]}, "periodSeconds": 1, "failureThreshold": 1}
    create(lab, pod_of("sick", ns, "touch /tmp/healthy; sleep 0.5; rm /tmp/healthy; exec sleep 1000", livenessProbe=probe))
    wait_for("a restart", lambda: status_of(lab, ns, "sick")["containerStatuses"][0]["restartCount"] > 0)
    wait_for("the events", lambda: ("Killing", "Container c failed liveness probe, will be restarted") in notes_of(lab, ns, "sick"))


def test_a_job_with_a_sidecar_completes(lab, ns):
    work = pod_of("x", ns, "test -e /v/up && echo work done", volumeMounts=[{"name": "v", "mountPath": "/v"}], restartPolicy="Never")["spec"]
    work["volumes"] = [{"name": "v", "emptyDir": {}}]
    work["initContainers"] = [
        {
            "name": "side",
            "image": "busybox",
            "restartPolicy": "Always",
            "command": ["sh", "-c", "touch /v/up; exec sleep 1000"],
            "startupProbe": {"exec": {"command": ["test", "-e", "/v/up"]}, "periodSeconds": 1},
            "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        },
        {"name": "prep", "image": "busybox", "command": ["test", "-e", "/v/up"], "volumeMounts": [{"name": "v", "mountPath": "/v"}]},
    ]
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": ns}, "spec": {"template": {"spec": work}}}
    lab.kubectl("create", "-f", "-", stdin=json.dumps(job))
    lab.kubectl("wait", "job/j", "-n", ns, "--for=condition=complete", TIMEOUT)
    assert lab.kubectl("logs", "job/j", "-c", "c", "-n", ns).out == "work done\n"


def test_a_changed_configmap_reaches_the_container(lab, ns):
    lab.kubectl("create", "configmap", "cm", "-n", ns, "--from-literal=key=old")
    volumes = [{"name": "cm", "configMap": {"name": "cm"}}, {"name": "opt", "secret": {"secretName": "later", "optional": True}}]
    mounts = [{"name": "cm", "mountPath": "/etc/cm"}, {"name": "opt", "mountPath": "/etc/opt"}]
    create(lab, pod_of("reads", ns, "exec sleep 1000", volumes=volumes, volumeMounts=mounts))
    lab.kubectl("wait", "pod/reads", "-n", ns, "--for=condition=Ready", TIMEOUT)

    def inside(path):
        return lab.kubectl("exec", "reads", "-n", ns, "--", "sh", "-c", f"cat {path} 2>/dev/null || true").out

    assert inside("/etc/cm/key") == "old" and inside("/etc/opt/k") == ""
    lab.kubectl("create", "secret", "generic", "later", "-n", ns, "--from-literal=k=there")
    lab.kubectl("patch", "configmap", "cm", "-n", ns, "-p", '{"data":{"key":"new"}}')
    wait_for("the new content", lambda: inside("/etc/cm/key") == "new", deadline=20)
    wait_for("the optional secret", lambda: inside("/etc/opt/k") == "there", deadline=20)


def test_changes_of_each_kind_of_source_reach_the_container(lab, ns):
    """Due within 2 s; the times are printed, as slow machines need longer for the commands that look."""
    lab.kubectl("create", "configmap", "cm", "-n", ns, "--from-literal=k=old")
    lab.kubectl("create", "secret", "generic", "sec", "-n", ns, "--from-literal=k=old")
    labels = {"path": "k", "fieldRef": {"fieldPath": "metadata.labels['turn']"}}
    sources = {
        "map": {"configMap": {"name": "cm"}},
        "secret": {"secret": {"secretName": "sec"}},
        "field": {"downwardAPI": {"items": [labels]}},
        "map-of-all": {"projected": {"sources": [{"configMap": {"name": "cm"}}]}},
        "secret-of-all": {"projected": {"sources": [{"secret": {"name": "sec"}}]}},
        "field-of-all": {"projected": {"sources": [{"downwardAPI": {"items": [labels]}}]}},
    }
    pod = pod_of("all", ns, "exec sleep 1000", volumes=[{"name": n, **s} for n, s in sources.items()], volumeMounts=[{"name": n, "mountPath": f"/v/{n}"} for n in sources])
    pod["metadata"]["labels"] = {"turn": "old"}
    create(lab, pod)
    lab.kubectl("wait", "pod/all", "-n", ns, "--for=condition=Ready", TIMEOUT)

    def contents():
        said = lab.kubectl("exec", "all", "-n", ns, "--", "sh", "-c", "for f in /v/*/k; do echo $f $(cat $f); done").out
        return dict(line.removeprefix("/v/").split("/k ") for line in said.splitlines())

    assert contents() == dict.fromkeys(sources, "old")
    changes = {
        "map": ("configmap", "cm", {"data": {"k": "new"}}),
        "secret": ("secret", "sec", {"stringData": {"k": "new"}}),
        "field": ("pod", "all", {"metadata": {"labels": {"turn": "new"}}}),
    }
    for kind, (resource, name, patch) in changes.items():
        lab.kubectl("patch", resource, name, "-n", ns, "-p", json.dumps(patch))
        changed = time.monotonic()
        wanted = {kind, f"{kind}-of-all"}
        wait_for(f"the new {kind}", lambda wanted=wanted: {contents()[w] for w in wanted} == {"new"}, deadline=20)
        print(f"{kind}: {time.monotonic() - changed:.2f} s")


def test_a_pod_beyond_its_deadline_has_its_grace(lab, ns):
    pod = pod_of("late", ns, "trap 'echo bye; exit 5' TERM; echo up; while true; do sleep 0.1; done", restartPolicy="Never")
    pod["spec"]["terminationGracePeriodSeconds"] = 300
    create(lab, pod)
    wait_for("the trap", lambda: "up" in lab.kubectl("logs", "late", "-n", ns, code=None).out)
    lab.kubectl("patch", "pod", "late", "-n", ns, "-p", '{"spec":{"activeDeadlineSeconds":1}}')
    wait_for("its end", lambda: status_of(lab, ns, "late").get("phase") == "Failed")
    status = status_of(lab, ns, "late")
    text = "Pod was active on the node longer than the specified deadline"
    assert (status["reason"], status["message"]) == ("DeadlineExceeded", text)
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 5
    assert "bye" in lab.kubectl("logs", "late", "-n", ns).out.splitlines()
    wait_for("the event", lambda: ("DeadlineExceeded", text) in notes_of(lab, ns, "late"))


def test_a_pod_that_must_not_be_root_is_refused(lab, ns):
    create(lab, pod_of("root", ns, "true", securityContext={"runAsNonRoot": True, "runAsUser": 0}))

    def waiting():
        state = status_of(lab, ns, "root")["containerStatuses"][0]["state"]["waiting"]
        return state["reason"] == "CreateContainerConfigError" and "container's runAsUser breaks non-root policy" in state["message"]

    wait_for("the refusal", waiting)


def test_a_pod_has_its_user_name_and_own_files(lab, ns, tmp_path):
    mark = f"athanor-{os.getpid()}"
    script = f"id -u; hostname; cat /etc/hostname; echo $HOME; grep -c web.svc.{ns}.svc.cluster.local /etc/hosts; for d in /usr/local /etc ~root /tmp; do touch $d/{mark}; done; echo written"
    pod = pod_of("web", ns, script, restartPolicy="Never", subdomain="svc")
    if os.geteuid() != 0:
        pod["spec"]["securityContext"] = {"runAsUser": 0}
    create(lab, pod)
    lab.kubectl("wait", "pod/web", "-n", ns, "--for=jsonpath={.status.phase}=Succeeded", TIMEOUT)
    assert lab.kubectl("logs", "web", "-n", ns).out == "0\nweb\nweb\n/root\n1\nwritten\n"
    for folder in ("/usr/local", "/etc", "/root", "/tmp"):
        assert not os.path.exists(f"{folder}/{mark}"), folder


def test_fields_without_effect_are_named(lab, ns):
    pod = pod_of("odd", ns, "true", restartPolicy="Never")
    pod["spec"]["hostPID"] = True
    create(lab, pod)
    wait_for("the event", lambda: ("FieldsNotApplied", "Fields that have no effect on emulated nodes: spec.hostPID") in notes_of(lab, ns, "odd"))


def test_ephemeral_storage_is_that_of_the_node(lab, ns):
    for name, amount in (("some", "1Gi"), ("more", "2000Gi")):
        create(lab, pod_of(name, ns, "true", restartPolicy="Never", resources={"requests": {"ephemeral-storage": amount}}))
    lab.kubectl("wait", "pod/some", "-n", ns, "--for=jsonpath={.status.phase}=Succeeded", TIMEOUT)
    wait_for("the refusal", lambda: any(r == "FailedScheduling" and "Insufficient ephemeral-storage" in m for r, m in notes_of(lab, ns, "more")))


def test_pods_run_soon(lab, ns):
    times = []
    for i in range(15):
        pod = pod_of(f"quick-{i}", ns, "exec sleep 1000")
        begin = time.monotonic()
        lab.http("POST", f"/api/v1/namespaces/{ns}/pods", pod)
        wait_for("it to run", lambda i=i: status_of(lab, ns, f"quick-{i}").get("phase") == "Running", interval=0.002)
        times.append((time.monotonic() - begin) * 1000)
    print(f"create to Running: p50 {statistics.median(times):.1f} ms, {[round(t) for t in times]}")
    assert statistics.median(times) < 1000
