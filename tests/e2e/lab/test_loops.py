# SPDX-License-Identifier: Apache-2.0
"""The control loops of kube-controller-manager as kubectl meets them: roll-outs, scale, drain, autoscale, cron jobs, endpoints."""

import base64
import json
import time

from support import TIMEOUT, free_port, run, wait_for


def create(lab, *objects):
    lab.kubectl("create", "-f", "-", stdin="\n---\n".join(json.dumps(o) for o in objects))


def pods(lab, ns, selector=""):
    return [p for p in lab.get(f"/api/v1/namespaces/{ns}/pods", labelSelector=selector)["items"] if "deletionTimestamp" not in p["metadata"]]


def workload(kind, ns, name="w", command=("sleep", "9000"), **spec):
    container = {"name": "c", "image": "busybox:1", "command": list(command)}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": ns},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template, **spec},
    }


def test_a_stateful_set_rolls_out_in_order_with_claims_and_back(lab, ns):
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    create(lab, workload("StatefulSet", ns, serviceName="w", replicas=2, volumeClaimTemplates=[claim]))
    lab.kubectl("rollout", "status", "statefulset/w", "-n", ns, TIMEOUT)
    assert [p["metadata"]["name"] for p in pods(lab, ns)] == ["w-0", "w-1"]

    def claims():
        return [(c["metadata"]["name"], c["status"]["phase"]) for c in lab.get(f"/api/v1/namespaces/{ns}/persistentvolumeclaims")["items"]]

    wait_for("its claims", lambda: claims() == [("data-w-0", "Bound"), ("data-w-1", "Bound")])
    lab.kubectl("set", "image", "statefulset/w", "c=busybox:2", "-n", ns)
    lab.kubectl("rollout", "status", "statefulset/w", "-n", ns, TIMEOUT)
    assert {p["spec"]["containers"][0]["image"] for p in pods(lab, ns)} == {"busybox:2"}
    history = lab.kubectl("rollout", "history", "statefulset/w", "-n", ns).out
    assert [line.split()[0] for line in history.splitlines() if line[:1].isdigit()] == ["1", "2"]
    lab.kubectl("rollout", "undo", "statefulset/w", "-n", ns)
    wait_for("the old image", lambda: {p["spec"]["containers"][0]["image"] for p in pods(lab, ns)} == {"busybox:1"})
    lab.kubectl("scale", "statefulset/w", "--replicas=1", "-n", ns)
    wait_for("one pod", lambda: [p["metadata"]["name"] for p in pods(lab, ns)] == ["w-0"])
    lab.kubectl("delete", "statefulset/w", "-n", ns)
    wait_for("no pod", lambda: not pods(lab, ns))
    lab.kubectl("delete", "pvc", "--all", "-n", ns, TIMEOUT)


def test_a_daemon_set_runs_on_every_node_and_updates(lab, ns):
    nodes = {n["metadata"]["name"] for n in lab.get("/api/v1/nodes")["items"]}
    create(lab, workload("DaemonSet", ns))
    lab.kubectl("rollout", "status", "daemonset/w", "-n", ns, TIMEOUT)
    assert {p["spec"]["nodeName"] for p in pods(lab, ns)} == nodes
    lab.kubectl("rollout", "restart", "daemonset/w", "-n", ns)
    lab.kubectl("rollout", "status", "daemonset/w", "-n", ns, TIMEOUT)
    status = lab.get(f"/apis/apps/v1/namespaces/{ns}/daemonsets/w")["status"]
    assert status["updatedNumberScheduled"] == status["numberAvailable"] == len(nodes)
    lab.kubectl("rollout", "undo", "daemonset/w", "-n", ns)
    lab.kubectl("rollout", "status", "daemonset/w", "-n", ns, TIMEOUT)
    assert len(lab.get(f"/apis/apps/v1/namespaces/{ns}/controllerrevisions")["items"]) == 2


def test_a_deployment_is_paused_rolled_out_and_undone(lab, ns):
    create(lab, workload("Deployment", ns, replicas=2))
    lab.kubectl("rollout", "status", "deployment/w", "-n", ns, TIMEOUT)
    lab.kubectl("rollout", "pause", "deployment/w", "-n", ns)
    lab.kubectl("set", "image", "deployment/w", "c=busybox:2", "-n", ns)
    lab.kubectl("annotate", "deployment/w", "kubernetes.io/change-cause=second", "-n", ns)
    assert {p["spec"]["containers"][0]["image"] for p in pods(lab, ns)} == {"busybox:1"}
    lab.kubectl("rollout", "resume", "deployment/w", "-n", ns)
    lab.kubectl("rollout", "status", "deployment/w", "-n", ns, TIMEOUT)
    history = lab.kubectl("rollout", "history", "deployment/w", "-n", ns).out
    assert "2         second" in history
    lab.kubectl("rollout", "undo", "deployment/w", "-n", ns)
    lab.kubectl("rollout", "status", "deployment/w", "-n", ns, TIMEOUT)
    assert {p["spec"]["containers"][0]["image"] for p in pods(lab, ns)} == {"busybox:1"}
    revisions = [line.split()[0] for line in lab.kubectl("rollout", "history", "deployment/w", "-n", ns).out.splitlines() if line[:1].isdigit()]
    assert revisions == ["2", "3"]


def test_a_drain_waits_for_the_disruption_budget(lab, ns):
    create(lab, workload("Deployment", ns, replicas=2))
    lab.kubectl("create", "poddisruptionbudget", "b", "-n", ns, "--selector=app=w", "--min-available=2")
    lab.kubectl("rollout", "status", "deployment/w", "-n", ns, TIMEOUT)
    budget = f"/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets/b"
    wait_for("the budget counts", lambda: lab.get(budget).get("status", {}).get("currentHealthy") == 2)
    node = pods(lab, ns)[0]["spec"]["nodeName"]
    drain = ["drain", node, "--pod-selector=app=w", "--ignore-daemonsets", "--delete-emptydir-data"]
    try:
        refused = lab.kubectl(*drain, "--timeout=8s", code=None)  # time enough for one try on a slow machine
        assert refused.code != 0 and "violate the pod's disruption budget" in refused.err
        wait_for("the taint", lambda: "node.kubernetes.io/unschedulable" in [t["key"] for t in lab.get(f"/api/v1/nodes/{node}")["spec"]["taints"]])
        lab.kubectl("patch", "pdb", "b", "-n", ns, "-p", '{"spec":{"minAvailable":1}}')
        lab.kubectl(*drain, TIMEOUT)
        # The Deployment's status may still tell of the pod that went.
        wait_for("two pods elsewhere", lambda: [p["spec"]["nodeName"] != node for p in pods(lab, ns)] == [True, True])
    finally:
        lab.kubectl("uncordon", node)
    wait_for("the taint to go", lambda: not lab.get(f"/api/v1/nodes/{node}")["spec"].get("taints"))


def test_a_no_execute_taint_evicts(lab, ns):
    create(lab, workload("Deployment", ns, replicas=1))
    lab.kubectl("rollout", "status", "deployment/w", "-n", ns, TIMEOUT)
    pod = pods(lab, ns)[0]
    node = pod["spec"]["nodeName"]
    key = f"e2e/{ns}"
    try:
        lab.kubectl("taint", "node", node, f"{key}=x:NoExecute")
        wait_for("another node", lambda: [p for p in pods(lab, ns) if p["spec"].get("nodeName", node) != node])
    finally:
        lab.kubectl("taint", "node", node, f"{key}-")
    told = f"Marking for deletion Pod {ns}/{pod['metadata']['name']}"
    wait_for(told, lambda: told in [e["message"] for e in lab.get(f"/api/v1/namespaces/{ns}/events")["items"]])


def test_nodes_renew_their_leases(lab):
    nodes = {n["metadata"]["name"] for n in lab.get("/api/v1/nodes")["items"]}

    def leases():
        items = lab.get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")["items"]
        return {lease["metadata"]["name"]: lease["spec"] for lease in items}

    found = wait_for("a lease of each node", lambda: leases().keys() == nodes and leases())
    assert all(lease["leaseDurationSeconds"] == 40 for lease in found.values())


def test_an_autoscaler_tells_that_there_are_no_metrics(lab, ns):
    create(lab, workload("Deployment", ns, replicas=1))
    lab.kubectl("autoscale", "deployment/w", "-n", ns, "--min=2", "--max=4", "--cpu-percent=80")
    wait_for("two pods", lambda: len(pods(lab, ns)) == 2)
    path = f"/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers/w"
    told = ("ScalingActive", "False", "FailedGetResourceMetric")
    wait_for("the condition", lambda: told in [(c["type"], c["status"], c["reason"]) for c in lab.get(path)["status"]["conditions"]])
    assert "<unknown>/80%" in lab.kubectl("get", "hpa", "w", "-n", ns).out


def test_a_cron_job_starts_by_hand_and_by_itself(lab, ns):
    lab.kubectl("create", "cronjob", "tick", "-n", ns, "--image=busybox", "--schedule=0 0 1 1 *", "--", "true")
    lab.kubectl("create", "job", "now", "-n", ns, "--from=cronjob/tick")
    lab.kubectl("wait", "job/now", "-n", ns, "--for=condition=complete", TIMEOUT)
    lab.kubectl("patch", "cronjob", "tick", "-n", ns, "-p", '{"spec":{"schedule":"@every 1s","timeZone":"Europe/Berlin"}}')
    jobs = f"/apis/batch/v1/namespaces/{ns}/jobs"
    wait_for("jobs of the schedule", lambda: [j for j in lab.get(jobs)["items"] if j["metadata"]["name"].startswith("tick-")])
    lab.kubectl("patch", "cronjob", "tick", "-n", ns, "-p", '{"spec":{"suspend":true}}')
    wait_for("the last time", lambda: lab.get(f"/apis/batch/v1/namespaces/{ns}/cronjobs/tick")["status"].get("lastSuccessfulTime"))


def test_a_job_obeys_its_policies_and_goes_after_its_time(lab, ns):
    rule = {"action": "FailJob", "onExitCodes": {"containerName": "c", "operator": "In", "values": [42]}}
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox", "command": ["sh", "-c", "exit 42"]}]}}
    spec = {"backoffLimit": 3, "template": template, "podFailurePolicy": {"rules": [rule]}}
    create(lab, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": ns}, "spec": spec})
    lab.kubectl("wait", "job/j", "-n", ns, "--for=condition=failed", TIMEOUT)
    conditions = lab.get(f"/apis/batch/v1/namespaces/{ns}/jobs/j")["status"]["conditions"]
    assert "PodFailurePolicy" in [c["reason"] for c in conditions if c["type"] == "Failed"]
    lab.kubectl("patch", "job", "j", "-n", ns, "-p", '{"spec":{"ttlSecondsAfterFinished":0}}')
    wait_for("the job to go", lambda: lab.http("GET", f"/apis/batch/v1/namespaces/{ns}/jobs/j").code == 404)


def test_a_service_has_endpoints_and_slices(lab, ns):
    create(lab, workload("Deployment", ns, replicas=2))
    lab.kubectl("expose", "deployment/w", "-n", ns, "--port=80", "--target-port=8080")
    lab.kubectl("rollout", "status", "deployment/w", "-n", ns, TIMEOUT)
    slices = f"/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices"

    def ready():
        found = lab.get(slices, labelSelector="kubernetes.io/service-name=w")["items"]
        return found if found and sum(e["conditions"]["ready"] for e in found[0].get("endpoints") or []) == 2 else None

    found = wait_for("two ready endpoints", ready)
    assert found[0]["ports"] == [{"name": "", "port": 8080, "protocol": "TCP"}]
    endpoints = f"/api/v1/namespaces/{ns}/endpoints/w"  # another controller's
    wait_for("the Endpoints", lambda: lab.get(endpoints)["subsets"][0]["ports"][0]["port"] == 8080)
    lab.kubectl("delete", "service", "w", "-n", ns)
    wait_for("the slices to go", lambda: not lab.get(slices)["items"])


def test_a_token_secret_is_filled_and_works(lab, ns):
    lab.kubectl("create", "serviceaccount", "bot", "-n", ns)
    metadata = {"name": "bot-token", "namespace": ns, "annotations": {"kubernetes.io/service-account.name": "bot"}}
    create(lab, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/service-account-token"})
    path = f"/api/v1/namespaces/{ns}/secrets/bot-token"
    data = wait_for("the token", lambda: lab.get(path).get("data", {}) if "token" in lab.get(path).get("data", {}) else None)
    assert base64.b64decode(data["namespace"]).decode() == ns
    token = base64.b64decode(data["token"]).decode()
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = lab.http("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review, token=token)
    assert answer.json["status"]["userInfo"]["username"] == f"system:serviceaccount:{ns}:bot"
    lab.kubectl("delete", "secret", "bot-token", "-n", ns)
    assert lab.http("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review, token=token).code == 401


def test_an_approved_request_becomes_a_certificate_that_lets_in(lab, tmp_path):
    key, request = tmp_path / "jane.key", tmp_path / "jane.csr"
    run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
         "-keyout", key, "-out", request, "-subj", "/CN=jane/O=devs"])  # fmt: skip
    wish = {
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "jane"},
        "spec": {"request": base64.b64encode(request.read_bytes()).decode(), "usages": ["client auth"],
                 "signerName": "kubernetes.io/kube-apiserver-client", "expirationSeconds": 3600},
    }  # fmt: skip
    assert lab.http("POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests", wish).code == 201
    lab.kubectl("create", "clusterrole", "half", "--verb=get,update", "--resource=certificatesigningrequests,certificatesigningrequests/approval")
    lab.kubectl("create", "clusterrolebinding", "half", "--clusterrole=half", "--user=joe")
    refused = lab.kubectl("certificate", "approve", "jane", "--as=joe", code=1)
    assert 'user not permitted to approve requests with signerName "kubernetes.io/kube-apiserver-client"' in refused.err
    lab.kubectl("delete", "clusterrole,clusterrolebinding", "half")
    lab.kubectl("certificate", "approve", "jane")
    made = wait_for("the certificate", lambda: lab.kubectl("get", "csr", "jane", "-o", "jsonpath={.status.certificate}").out)
    certificate = tmp_path / "jane.crt"
    certificate.write_bytes(base64.b64decode(made))
    config = lab.kubectl("config", "view", "--raw", "-o", "json").json
    config["users"][0]["user"] = {"client-certificate": str(certificate), "client-key": str(key)}
    own = tmp_path / "jane.kubeconfig"
    own.write_text(json.dumps(config), encoding="utf-8")
    who = lab.kubectl("auth", "whoami", "-o", "json", f"--kubeconfig={own}").json
    assert who["status"]["userInfo"]["username"] == "jane" and "devs" in who["status"]["userInfo"]["groups"]
    lab.kubectl("delete", "csr", "jane")


def test_requests_reach_processes_of_pods_through_the_proxy(lab, ns):
    port, nobody = free_port(), free_port()
    lab.kubectl("apply", "-n", ns, "-f", "-", stdin=json.dumps({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
        "spec": {"restartPolicy": "Never", "containers": [{
            "name": "c", "image": "python", "ports": [{"containerPort": port}],
            "command": ["python3", "-m", "http.server", str(port), "--bind", "$(POD_IP)", "--directory", "/etc"],
            "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]}]},
    }))  # fmt: skip
    path = f"/api/v1/namespaces/{ns}/pods/web:{port}/proxy/hostname"
    answer = wait_for("the pod answers", lambda: (a := lab.http("GET", path)).code == 200 and a)
    assert answer.body
    refused = lab.http("GET", f"/api/v1/namespaces/{ns}/pods/web:{nobody}/proxy/")
    assert refused.code == 503 and "error trying to reach service" in refused.json["message"]


def config_map(name, ns, owners=(), finalizers=()):
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid, "blockOwnerDeletion": True} for owner, uid in owners
    ]  # fmt: skip
    return {
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": ns, "ownerReferences": references, "finalizers": list(finalizers)},
    }  # fmt: skip


def test_foreground_deletions_in_a_circle_end(lab, ns):
    url = f"/api/v1/namespaces/{ns}/configmaps"
    uids = {name: lab.http("POST", url, config_map(name, ns)).json["metadata"]["uid"] for name in "abc"}
    for name, owner in ("ba", "cb", "ac"):
        body = config_map(name, ns, [(owner, uids[owner])])
        assert lab.http("PUT", f"{url}/{name}", body).code == 200
    for name in "abc":
        assert lab.http("DELETE", f"{url}/{name}", {"propagationPolicy": "Foreground"}).code in (200, 202, 404)  # the first one may have taken it along
    wait_for("all three to go", lambda: all(lab.http("GET", f"{url}/{name}").code == 404 for name in "abc"))


def test_a_dependent_with_another_living_owner_holds_nobody_up(lab, ns):
    url = f"/api/v1/namespaces/{ns}/configmaps"
    uids = {name: lab.http("POST", url, config_map(name, ns)).json["metadata"]["uid"] for name in ("leaves", "lives")}
    assert lab.http("POST", url, config_map("child", ns, list(uids.items()))).code == 201
    assert lab.http("DELETE", f"{url}/leaves", {"propagationPolicy": "Foreground"}).code in (200, 202)
    wait_for("the owner to go", lambda: lab.http("GET", f"{url}/leaves").code == 404)
    child = lab.http("GET", f"{url}/child").json
    assert [o["name"] for o in child["metadata"]["ownerReferences"]] == ["lives"]


def test_a_pending_pod_is_deleted_by_force_again_and_again(lab, ns):
    """Each answer is about the pod that was there, whoever else ends it meanwhile."""
    url = f"/api/v1/namespaces/{ns}/pods"
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"nodeName": "node-0", "containers": [{"name": "c", "image": "i"}]}}
    for _ in range(30):
        made = lab.http("POST", url, pod)
        assert made.code == 201, made.text
        gone = lab.http("DELETE", f"{url}/p?gracePeriodSeconds=0")
        assert gone.code == 200 and gone.json["metadata"]["uid"] == made.json["metadata"]["uid"], gone.text
        wait_for("the pod to go", lambda: lab.http("GET", f"{url}/p").code == 404)


def test_a_stuck_namespace_says_why(lab):
    """Pods go first; what keeps the namespace is in its conditions."""
    core = "/api/v1/namespaces/stuck"
    create(lab, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "stuck"}})
    wait_for("the service account", lambda: lab.http("GET", f"{core}/serviceaccounts/default").code == 200)
    held = {"name": "held", "namespace": "stuck", "finalizers": ["example.com/held"]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": held, "spec": {"nodeName": "nowhere", "containers": [{"name": "c", "image": "i"}]}}
    create(lab, pod)
    create(lab, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept", "namespace": "stuck"}})
    lab.kubectl("delete", "namespace", "stuck", "--wait=false")

    def conditions():
        return {c["type"]: c for c in lab.get(core)["status"].get("conditions", [])}

    wait_for("the conditions", lambda: "NamespaceFinalizersRemaining" in conditions())
    said = conditions()
    assert said["NamespaceContentRemaining"]["message"] == "Some resources are remaining: pods. has 1 resource instances"
    assert "example.com/held in 1 resource instances" in said["NamespaceFinalizersRemaining"]["message"]
    assert lab.http("GET", f"{core}/configmaps/kept").code == 200, "the rest waits until the pods have ended"
    release = [{"op": "remove", "path": "/metadata/finalizers"}]
    assert lab.http("PATCH", f"{core}/pods/held", release, content_type="application/json-patch+json").code == 200
    wait_for("the namespace is gone", lambda: lab.http("GET", core).code == 404)


def test_refusals_of_control_loops_are_logged_and_counted(make_lab):
    one = make_lab("--pods", "timed", "-v", "1").start()
    role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:controller:namespace-controller"
    kept = one.get(role)
    kept["metadata"]["annotations"]["rbac.authorization.kubernetes.io/autoupdate"] = "false"
    assert one.http("PUT", role, {**kept, "rules": []}).code == 200
    create(one, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "refused"}})
    one.kubectl("delete", "namespace", "refused", "--wait=false")
    wait_for("it is counted", lambda: 'athanor_loop_refusals_total{loop="namespace-controller",code="403"}' in one.http("GET", "/metrics").text)
    assert "a request of a control loop was refused" in one.err
    assert one.http("PUT", role, {**one.get(role), "rules": kept["rules"]}).code == 200
    wait_for("the namespace is gone", lambda: one.http("GET", "/api/v1/namespaces/refused").code == 404)


def test_replaced_pods_have_new_names_and_every_pod_an_address(lab, ns):
    labels = {"app": "w"}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "w", "namespace": ns}, "spec": {"selector": labels, "ports": [{"port": 80}]}}
    create(lab, service)
    create(lab, workload("DaemonSet", ns))
    nodes = len(lab.get("/api/v1/nodes")["items"])

    def ready():
        return [p for p in pods(lab, ns) if p["status"].get("podIP") and p["status"]["phase"] == "Running"]

    wait_for("a pod a node", lambda: len(ready()) == nodes)
    before = {p["metadata"]["name"]: p["status"]["podIP"] for p in ready()}
    assert len(set(before.values())) == nodes and all(ip.startswith("127.") and ip != "127.0.0.1" for ip in before.values())
    slices = f"/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices"

    def addresses():
        return {a for s in lab.get(slices)["items"] for e in s["endpoints"] or [] for a in e["addresses"]}

    wait_for("the endpoints", lambda: addresses() == set(before.values()))
    time.sleep(1)  # names differ from second to second
    gone = sorted(before)[0]
    lab.kubectl("delete", "pod", gone, "-n", ns)
    wait_for("another pod", lambda: len(ready()) == nodes)
    after = {p["metadata"]["name"] for p in ready()}
    assert gone not in after and len(after - set(before)) == 1


def test_termination_messages_and_init_containers(lab, ns):
    def container(name, script, **more):
        return {"name": name, "image": "busybox:1", "command": ["sh", "-c", script], **more}

    spec = {
        "restartPolicy": "Never",
        "initContainers": [container("first", "sleep 2"), container("second", "true")],
        "containers": [
            container("file", "echo why > /dev/termination-log; exit 3"),
            container("path", "echo there > /tmp/said", terminationMessagePath="/tmp/said"),
            container("log", "echo last words; exit 1", terminationMessagePolicy="FallbackToLogsOnError"),
            container("quiet", "echo not this; exit 1"),
        ],
    }
    create(lab, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "words", "namespace": ns}, "spec": spec})
    path = f"/api/v1/namespaces/{ns}/pods/words"

    def status():
        return lab.get(path)["status"]

    wait_for("the first runs", lambda: "running" in status().get("initContainerStatuses", [{"state": {}}])[0]["state"])
    early = status()
    assert [(c["ready"], c["state"].get("waiting", {}).get("reason")) for c in early["initContainerStatuses"]] == [(False, None), (False, "PodInitializing")]
    assert {c["state"]["waiting"]["reason"] for c in early["containerStatuses"]} == {"PodInitializing"}
    wait_for("the end", lambda: status()["phase"] == "Failed")
    end = status()
    assert [c["ready"] for c in end["initContainerStatuses"]] == [True, True]
    said = {c["name"]: c["state"]["terminated"].get("message", "") for c in end["containerStatuses"]}
    assert said == {"file": "why\n", "path": "there\n", "log": "last words\n", "quiet": ""}
