# SPDX-License-Identifier: Apache-2.0
"""Other people's clients: the Python Kubernetes client and a kopf operator of twenty lines."""

import subprocess
import sys
import threading

import pytest
from kubernetes import client, config, watch
from kubernetes.client.rest import ApiException
from support import DEADLINE, JOBS, TIMEOUT, forge, wait_for

KOPF_OPERATOR = '''
import kopf

@kopf.on.startup()
def quiet(settings, **_):
    settings.posting.enabled = True
    settings.persistence.finalizer = "e2e.example.com/kopf"

@kopf.on.create("e2e.kopf.dev", "v1", "greetings")
def greet(spec, name, patch, **_):
    patch.status["text"] = f"hello {spec.get('who', 'nobody')}"
    return {"made": name}

@kopf.on.update("e2e.kopf.dev", "v1", "greetings", field="spec.who")
def again(new, patch, **_):
    patch.status["text"] = f"hello again {new}"

@kopf.on.delete("e2e.kopf.dev", "v1", "greetings")
def bye(**_):
    pass
'''


@pytest.fixture(scope="module")
def api(lab):
    return config.new_client_from_config(str(lab.kubeconfig))


def test_typed_client_creates_reads_updates_and_deletes(api, ns):
    core = client.CoreV1Api(api)
    body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="py", labels={"by": "python"}), data={"a": "1"})
    created = core.create_namespaced_config_map(ns, body)
    assert created.metadata.uid and created.metadata.resource_version
    created.data["a"] = "2"
    assert core.replace_namespaced_config_map("py", ns, created).data == {"a": "2"}
    with pytest.raises(ApiException) as conflict:
        core.replace_namespaced_config_map("py", ns, created)
    assert conflict.value.status == 409
    assert core.patch_namespaced_config_map("py", ns, {"data": {"b": "3"}}).data == {"a": "2", "b": "3"}
    assert [c.metadata.name for c in core.list_namespaced_config_map(ns, label_selector="by=python").items] == ["py"]
    assert core.delete_namespaced_config_map("py", ns).status == "Success"
    with pytest.raises(ApiException) as missing:
        core.read_namespaced_config_map("py", ns)
    assert missing.value.status == 404


def test_watch_of_the_typed_client(api, ns):
    core, seen = client.CoreV1Api(api), []
    version = core.list_namespaced_secret(ns).metadata.resource_version

    def follow():
        for event in watch.Watch().stream(core.list_namespaced_secret, ns, resource_version=version, timeout_seconds=int(DEADLINE)):
            seen.append((event["type"], event["object"].metadata.name))
            if event["type"] == "DELETED":
                return

    thread = threading.Thread(target=follow)
    thread.start()
    core.create_namespaced_secret(ns, client.V1Secret(metadata=client.V1ObjectMeta(name="w"), string_data={"k": "v"}))
    core.patch_namespaced_secret("w", ns, {"metadata": {"labels": {"x": "y"}}})
    core.delete_namespaced_secret("w", ns)
    thread.join(DEADLINE)
    assert [e for e in seen if e[1] == "w"] == [("ADDED", "w"), ("MODIFIED", "w"), ("DELETED", "w")]


def test_custom_objects_of_the_dynamic_client(api, lab):
    jobs = client.CustomObjectsApi(api)
    body = {"apiVersion": "fournos.dev/v1", "kind": "FournosJob", "metadata": {"generateName": "py-"}, "spec": forge()}
    name = jobs.create_namespaced_custom_object("fournos.dev", "v1", JOBS, "fournosjobs", body)["metadata"]["name"]
    lab.wait_phase(name, "Succeeded")
    assert jobs.get_namespaced_custom_object_status("fournos.dev", "v1", JOBS, "fournosjobs", name)["status"]["cluster"] == "cluster-1"
    jobs.delete_namespaced_custom_object("fournos.dev", "v1", JOBS, "fournosjobs", name)


def test_pod_logs_of_the_typed_client(api, ns):
    core = client.CoreV1Api(api)
    container = client.V1Container(name="c", image="busybox", command=["sh", "-c", "echo from the pod; exit 0"])
    pod = client.V1Pod(metadata=client.V1ObjectMeta(name="p"), spec=client.V1PodSpec(containers=[container], restart_policy="Never"))
    core.create_namespaced_pod(ns, pod)
    wait_for("the pod to end", lambda: core.read_namespaced_pod("p", ns).status.phase == "Succeeded")
    assert core.read_namespaced_pod_log("p", ns) == "from the pod\n"


def test_nodes_of_the_typed_client(api):
    """It refuses a node without one field of nodeInfo; one that a user makes is a node like those of the lab."""
    core = client.CoreV1Api(api)
    name = "python-node"
    core.create_node(client.V1Node(metadata=client.V1ObjectMeta(name=name, labels={"athanor.dev/emulated": "true"})))
    try:
        wait_for("the node to report", lambda: core.read_node(name).status.node_info)
        wait_for("its labels", lambda: "kubernetes.io/arch" in core.read_node(name).metadata.labels)
        nodes = {one.metadata.name: one for one in core.list_node().items}
        assert name in nodes and len(nodes) > 1
        for one in nodes.values():
            labels, info = one.metadata.labels, one.status.node_info
            assert (labels["kubernetes.io/arch"], labels["kubernetes.io/os"]) == (info.architecture, info.operating_system) == ("amd64", "linux")
            assert labels["kubernetes.io/hostname"] == one.metadata.name
            assert all(getattr(info, field) for field in info.attribute_map if field != "swap"), info
    finally:
        core.delete_node(name)


def test_a_kopf_operator_of_twenty_lines(lab, ns, tmp_path):
    crd = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: greetings.e2e.kopf.dev}
spec:
  group: e2e.kopf.dev
  scope: Namespaced
  names: {plural: greetings, singular: greeting, kind: Greeting}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
    lab.kubectl("apply", "-f", "-", stdin=crd)
    lab.kubectl("wait", "--for=condition=Established", "crd/greetings.e2e.kopf.dev", TIMEOUT)
    (tmp_path / "greeter.py").write_text(KOPF_OPERATOR, encoding="utf-8")
    log = open(tmp_path / "kopf.log", "w", encoding="utf-8")
    operator = subprocess.Popen(
        [sys.executable, "-m", "kopf", "run", "--standalone", "-n", ns, str(tmp_path / "greeter.py")],
        env=lab.env, stdout=log, stderr=subprocess.STDOUT, cwd=tmp_path,
    )
    path = f"/apis/e2e.kopf.dev/v1/namespaces/{ns}/greetings"
    try:
        body = {"apiVersion": "e2e.kopf.dev/v1", "kind": "Greeting", "metadata": {"name": "g"}, "spec": {"who": "world"}}
        assert lab.http("POST", path, body).code == 201
        text = lambda: lab.get(path + "/g").get("status", {}).get("text")  # noqa: E731
        wait_for("kopf's create handler", lambda: text() == "hello world")
        lab.http("PATCH", path + "/g", {"spec": {"who": "you"}}, content_type="application/merge-patch+json")
        wait_for("kopf's update handler", lambda: text() == "hello again you")
        assert lab.http("DELETE", path + "/g").code == 200
        wait_for("kopf's finalizer to go", lambda: lab.http("GET", path + "/g").code == 404)
        assert operator.poll() is None
    except AssertionError as error:
        raise AssertionError(f"{error}\n{(tmp_path / 'kopf.log').read_text(encoding='utf-8')[-4000:]}") from error
    finally:
        operator.terminate()
        operator.wait(DEADLINE)
        log.close()
