# SPDX-License-Identifier: Apache-2.0
"""Volumes of pods: limits, modes, paths below them, fields in files, tokens, local volumes; limits of memory."""

import base64
import json
import pathlib
import time

from support import TIMEOUT, wait_for


def pod_of(ns, name, script, mounts=(), volumes=(), **more):
    container = {"name": "c", "image": "python", "command": ["sh", "-c", script], "volumeMounts": [dict(zip(("name", "mountPath"), m)) if isinstance(m, tuple) else m for m in mounts]}
    container.update(more.pop("container", {}))
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container], "volumes": list(volumes), **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": ns, "labels": {"app": name}, "annotations": {"note": "first"}}, "spec": spec}


def create(lab, pod):
    lab.kubectl("create", "-f", "-", stdin=json.dumps(pod))


def status_of(lab, ns, name):
    return lab.get(f"/api/v1/namespaces/{ns}/pods/{name}")["status"]


def notes(lab, ns, name):
    events = lab.get(f"/api/v1/namespaces/{ns}/events")["items"]
    return [(e["reason"], e["message"]) for e in events if e["involvedObject"]["name"] == name]


def output_of(lab, ns, name, *arguments, **more):
    create(lab, pod_of(ns, name, *arguments, **more))
    wait_for(f"the end of {name}", lambda: status_of(lab, ns, name)["phase"] in ("Succeeded", "Failed"))
    return lab.kubectl("logs", name, "-n", ns).out


def test_a_volume_beyond_its_limit_evicts_the_pod(lab, ns):
    volume = {"name": "v", "emptyDir": {"sizeLimit": "1Mi"}}
    create(lab, pod_of(ns, "fat", "head -c 3000000 /dev/zero > /v/f; exec sleep 1000", [("v", "/v")], [volume]))
    wait_for("the eviction", lambda: status_of(lab, ns, "fat").get("reason") == "Evicted")
    status = status_of(lab, ns, "fat")
    text = 'Usage of EmptyDir volume "v" exceeds the limit "1Mi". '
    assert (status["phase"], status["message"]) == ("Failed", text)
    assert ("Evicted", text) in notes(lab, ns, "fat")


def test_memory_beyond_its_limit_kills_the_container(lab, ns):
    limits = {"resources": {"limits": {"memory": "64Mi"}}}
    create(lab, pod_of(ns, "greedy", "python3 -c 'x = bytearray(200 << 20); import time; time.sleep(1000)'", container=limits))
    wait_for("the end", lambda: status_of(lab, ns, "greedy")["phase"] == "Failed")
    ended = status_of(lab, ns, "greedy")["containerStatuses"][0]["state"]["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)
    assert not any(reason == "LimitsNotEnforced" for reason, _ in notes(lab, ns, "greedy"))


def test_unmet_limits_are_named_once(lab, ns):
    limits = {"resources": {"limits": {"memory": "64Mi", "cpu": "1"}}}
    output_of(lab, ns, "slow", "true", container=limits)
    delegated = pathlib.Path(f"/proc/{lab.process.pid}/cgroup").read_text().strip().endswith("/athanor")
    if delegated:  # cgroups hold the container to both
        wait_for("its events", lambda: "Scheduled" in [reason for reason, _ in notes(lab, ns, "slow")])
        assert "LimitsNotEnforced" not in [reason for reason, _ in notes(lab, ns, "slow")]
    else:
        wait_for("the event", lambda: ("LimitsNotEnforced", "Limits of cpu are not enforced on emulated nodes") in notes(lab, ns, "slow"))


def test_a_volume_in_memory_is_full_at_its_limit(lab, ns):
    volume = {"name": "m", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}
    said = output_of(lab, ns, "mem", "stat -f -c %T /m; head -c 3000000 /dev/zero > /m/f 2>/dev/null || stat -c %s /m/f", [("m", "/m")], [volume])
    assert said == "tmpfs\n1048576\n"


def test_modes_and_paths_of_files(lab, ns):
    lab.kubectl("create", "configmap", "cm", "-n", ns, "--from-literal=a=1", "--from-literal=b=2")
    source = {"name": "cm", "defaultMode": 0o440, "items": [{"key": "a", "path": "x/a"}, {"key": "b", "path": "b", "mode": 0o400}]}
    said = output_of(lab, ns, "modes", "stat -L -c %a /v/x/a /v/b; cat /v/x/a", [("v", "/v")], [{"name": "v", "configMap": source}])
    assert said == "440\n400\n1"


def test_sub_paths_keep_what_they_were(lab, ns):
    lab.kubectl("create", "configmap", "cm", "-n", ns, "--from-literal=a=old")
    volumes = [{"name": "cm", "configMap": {"name": "cm"}}, {"name": "e", "emptyDir": {}}]
    mounts = [{"name": "cm", "mountPath": "/one/a", "subPath": "a"}, ("cm", "/all"), {"name": "e", "mountPath": "/own", "subPathExpr": "of/$(POD)"}, ("e", "/e")]
    variables = {"env": [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}
    create(lab, pod_of(ns, "subs", "touch /own/f; exec sleep 1000", mounts, volumes, container=variables))
    lab.kubectl("wait", "pod/subs", "-n", ns, "--for=condition=Ready", TIMEOUT)

    def inside(command):
        return lab.kubectl("exec", "subs", "-n", ns, "--", "sh", "-c", command).out

    wait_for("the file", lambda: inside("ls /e/of/subs") == "f\n")
    lab.kubectl("patch", "configmap", "cm", "-n", ns, "-p", '{"data":{"a":"new"}}')
    begin = time.monotonic()
    wait_for("the update", lambda: inside("cat /all/a") == "new")
    assert time.monotonic() - begin < 2
    assert inside("cat /one/a") == "old"


def test_fields_in_files_follow_the_pod(lab, ns):
    items = [
        {"path": "note", "fieldRef": {"fieldPath": "metadata.annotations['note']"}},
        {"path": "memory", "resourceFieldRef": {"containerName": "c", "resource": "limits.memory", "divisor": "1Mi"}},
        {"path": "cpu", "resourceFieldRef": {"containerName": "c", "resource": "limits.cpu"}},
        {"path": "asked", "resourceFieldRef": {"containerName": "c", "resource": "requests.cpu", "divisor": "1m"}},
    ]
    container = {
        "resources": {"limits": {"memory": "96Mi"}, "requests": {"cpu": "250m"}},
        "env": [
            {"name": "CPUS", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            {"name": "OTHER", "valueFrom": {"resourceFieldRef": {"containerName": "d", "resource": "limits.memory", "divisor": "1Mi"}}},
        ],
    }
    pod = pod_of(ns, "fields", "cd /v; cat memory; echo; cat cpu; echo; cat asked; echo; echo $CPUS $OTHER; exec sleep 1000", [("v", "/v")], [{"name": "v", "downwardAPI": {"items": items}}], container=container)
    pod["spec"]["containers"].append({"name": "d", "image": "busybox", "command": ["sleep", "1000"], "resources": {"limits": {"memory": "32Mi"}}})
    create(lab, pod)
    lab.kubectl("wait", "pod/fields", "-n", ns, "--for=condition=Ready", TIMEOUT)
    node = lab.get(f"/api/v1/nodes/{lab.get(f'/api/v1/namespaces/{ns}/pods/fields')['spec']['nodeName']}")
    cpus = node["status"]["allocatable"]["cpu"]
    wait_for("the log", lambda: lab.kubectl("logs", "fields", "-c", "c", "-n", ns).out == f"96\n{cpus}\n250\n{cpus} 32\n")
    lab.kubectl("annotate", "pod", "fields", "-n", ns, "note=second", "--overwrite")
    wait_for("the new note", lambda: lab.kubectl("exec", "fields", "-c", "c", "-n", ns, "--", "cat", "/v/note").out == "second")


def test_projected_tokens_have_audience_and_life(lab, ns):
    source = {"serviceAccountToken": {"path": "t", "audience": "vault", "expirationSeconds": 600}}
    said = output_of(lab, ns, "tokens", "cat /v/t", [("v", "/v")], [{"name": "v", "projected": {"sources": [source]}}])
    claims = said.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    assert claims["aud"] == ["vault"] and claims["exp"] - claims["iat"] == 600, claims


def test_refused_volumes_give_their_reason(lab, ns):
    create(lab, pod_of(ns, "odd", "true", [("i", "/i")], [{"name": "i", "image": {"reference": "example.org/x:1"}}]))
    wait_for("the event", lambda: any(r == "FailedMount" and "image volumes are not supported on emulated nodes" in m for r, m in notes(lab, ns, "odd")))


def test_local_volumes_stay_on_their_node(lab, ns):
    node = lab.get("/api/v1/nodes")["items"][-1]["metadata"]["name"]
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"local-{ns}"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": f"local-{ns}",
            "local": {"path": "/mnt/disk"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        },
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "disk", "namespace": ns},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": f"local-{ns}", "resources": {"requests": {"storage": "1Gi"}}},
    }
    create(lab, volume)
    create(lab, claim)
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "disk"}}]
    output_of(lab, ns, "writer", "echo kept > /v/f", [("v", "/v")], volumes)
    assert output_of(lab, ns, "reader", "cat /v/f", [("v", "/v")], volumes) == "kept\n"
    assert {lab.get(f"/api/v1/namespaces/{ns}/pods/{name}")["spec"]["nodeName"] for name in ("writer", "reader")} == {node}
    lab.kubectl("delete", "pv", f"local-{ns}", "--wait=false")
