# SPDX-License-Identifier: Apache-2.0
"""Names and addresses of pods that are processes: Services, headless names, ports of their own, gangs."""

import json
import os
import socket
import sys
import urllib.request

import pytest
from support import TIMEOUT, wait_for

PYTHON = os.path.realpath(sys.executable)


def pod(name, command, labels=None, **spec):
    container = {"name": "c", "image": "python", "command": command, **spec.pop("container", {})}
    meta = {"name": name, "labels": {"app": name, **(labels or {})}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container], "terminationGracePeriodSeconds": 1, **spec}}


def service(name, ports, selector, **spec):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": ports, "selector": selector, **spec}}


def create(lab, ns, *objects):
    for item in objects:
        lab.kubectl("create", "-n", ns, "-f", "-", stdin=json.dumps(item))


def ready(lab, ns, *names):
    for name in names:
        lab.kubectl("wait", f"pod/{name}", "-n", ns, "--for=condition=Ready", TIMEOUT)


def inside(lab, ns, name, *command):
    return lab.kubectl("exec", name, "-n", ns, "--", *command).out.strip()


# Answers each connection with the name of its pod and the address of its client.
ECHO = """
import os, socket, sys
s = socket.create_server(("", int(sys.argv[1])), backlog=64)
while True:
    c, a = s.accept()
    c.sendall((os.environ["HOSTNAME"] + " " + a[0]).encode())
    c.close()
"""
ASK = """
import socket, sys
c = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=10)
data = b""
while part := c.recv(100):
    data += part
print(data.decode())
"""


def server(name, port, labels, **spec):
    container = {"ports": [{"name": "echo", "containerPort": port}], "readinessProbe": {"tcpSocket": {"port": "echo"}, "periodSeconds": 1}}
    return pod(name, ["python3", "-c", ECHO, str(port)], labels, container=container, **spec)


def ask(lab, ns, client, host, port):
    return inside(lab, ns, client, "python3", "-c", ASK, host, str(port))


@pytest.fixture
def pair(lab, ns):
    """Two servers on one port behind a Service with a node port, and a client."""
    create(
        lab,
        ns,
        server("one", 7700, {"tier": "web"}),
        server("two", 7700, {"tier": "web"}),
        pod("client", ["sleep", "1000"]),
        service("web", [{"name": "p", "port": 80, "targetPort": "echo"}], {"tier": "web"}, type="NodePort"),
        service("all", [{"port": 7700}], {"tier": "web"}, clusterIP="None"),
    )
    ready(lab, ns, "one", "two", "client")
    wait_for("two endpoints", lambda: len(addresses(lab, ns, "web")) == 2)
    return lab.get(f"/api/v1/namespaces/{ns}/services/web")["spec"]


def addresses(lab, ns, name):
    slices = lab.get(f"/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices?labelSelector=kubernetes.io/service-name%3D{name}")["items"]
    return [e["addresses"][0] for s in slices for e in s.get("endpoints") or [] if e["conditions"]["ready"]]


def test_services_answer_by_name_and_address(lab, ns, pair):
    own = lab.get(f"/api/v1/namespaces/{ns}/pods/client")["status"]["podIP"]
    for host in ("web", f"web.{ns}", f"web.{ns}.svc.cluster.local", pair["clusterIP"]):
        answers = {ask(lab, ns, "client", host, 80) for _ in range(2)}
        assert answers == {f"one {own}", f"two {own}"}, host
    found = inside(lab, ns, "client", "python3", "-c", "import socket; print(sorted(a[4][0] for a in socket.getaddrinfo('all', 1, socket.AF_INET, socket.SOCK_STREAM)))")
    assert found == str(sorted(addresses(lab, ns, "all")))
    assert ask(lab, ns, "client", addresses(lab, ns, "all")[0], 7700).endswith(own)


def test_services_answer_on_this_machine(lab, ns, pair):
    alias = "127" + pair["clusterIP"][pair["clusterIP"].index(".") :]
    port = 80 if os.geteuid() == 0 else 64592
    for host, number in (("127.0.0.1", pair["ports"][0]["nodePort"]), (alias, port)):
        answers = set()
        for _ in range(2):
            with socket.create_connection((host, number), timeout=10) as connection:
                answers.add(connection.recv(100).decode().split()[0])
        assert answers == {"one", "two"}, host
    assert ask(lab, ns, "client", "127.0.0.1", pair["ports"][0]["nodePort"]).split()[0] in ("one", "two")


def test_a_client_keeps_its_endpoint_with_affinity(lab, ns, pair):
    create(lab, ns, service("sticky", [{"port": 81, "targetPort": 7700}], {"tier": "web"}, sessionAffinity="ClientIP"))
    wait_for("its endpoints", lambda: len(addresses(lab, ns, "sticky")) == 2)
    assert len({ask(lab, ns, "client", "sticky", 81) for _ in range(4)}) == 1


def test_a_service_without_endpoints_refuses(lab, ns):
    create(lab, ns, pod("client", ["sleep", "1000"]), service("empty", [{"port": 80}], {"app": "nothing"}))
    ready(lab, ns, "client")
    result = lab.kubectl("exec", "client", "-n", ns, "--", "python3", "-c", ASK, "empty", "80", code=None)
    assert "ConnectionRefusedError" in result.err, result.err


def test_localhost_is_that_of_the_pod(lab, ns):
    """Containers of one pod reach each other, and not those of another one with the same port."""
    sidecar = {"name": "side", "image": "python", "command": ["sleep", "1000"]}
    pods = [server(name, 7701, {}) for name in ("left", "right")]
    for item in pods:
        item["spec"]["containers"].append(sidecar)
    create(lab, ns, *pods)
    ready(lab, ns, "left", "right")
    for name in ("left", "right"):
        found = lab.kubectl("exec", name, "-c", "side", "-n", ns, "--", "python3", "-c", ASK, "localhost", "7701")
        assert found.out.split()[0] == name
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", 7701), timeout=1)


def test_names_outside_and_variables(lab, ns):
    create(
        lab,
        ns,
        service("db-main", [{"name": "sql", "port": 5432}], {"app": "db"}),
        service("alias", [], None, type="ExternalName", externalName=f"db-main.{ns}.svc.cluster.local"),
    )
    spec = lab.get(f"/api/v1/namespaces/{ns}/services/db-main")["spec"]
    create(lab, ns, pod("client", ["sleep", "1000"]))
    ready(lab, ns, "client")
    assert inside(lab, ns, "client", "sh", "-c", "echo $DB_MAIN_SERVICE_HOST $DB_MAIN_SERVICE_PORT_SQL $DB_MAIN_PORT") == f"{spec['clusterIP']} 5432 tcp://{spec['clusterIP']}:5432"
    lookup = "import socket, sys; print(socket.gethostbyname(sys.argv[1]))"
    assert inside(lab, ns, "client", "python3", "-c", lookup, "alias") == spec["clusterIP"]
    result = lab.kubectl("exec", "client", "-n", ns, "--", "python3", "-c", lookup, "nothere", code=None)
    assert "gaierror" in result.err
    timing = "import socket, time; socket.gethostbyname('db-main'); t = time.monotonic(); [socket.gethostbyname('db-main') for _ in range(100)]; print(time.monotonic() - t)"
    assert float(inside(lab, ns, "client", "python3", "-c", timing)) < 5


def test_the_api_server_answers_by_its_service(lab, ns):
    slices = lab.get("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes")
    assert slices["endpoints"][0]["addresses"] == ["127.0.0.1"]
    create(lab, ns, pod("client", ["sleep", "1000"]))
    ready(lab, ns, "client")
    script = (
        "import ssl, urllib.request; c = ssl.create_default_context(cafile='/var/run/secrets/kubernetes.io/serviceaccount/ca.crt');"
        "print(urllib.request.urlopen('https://kubernetes.default.svc/version', context=c).status)"
    )
    assert inside(lab, ns, "client", "python3", "-c", script) == "200"


# An all-reduce around a ring: each member finds its neighbour by name and adds what comes.
RING = """
import os, socket, sys, time
rank, size, names, port = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
server = socket.create_server(("0.0.0.0", port))
deadline = time.monotonic() + 60
while True:
    try:
        right = socket.create_connection((names.format((rank + 1) % size), port), timeout=10)
        break
    except OSError:
        if time.monotonic() > deadline:
            raise
        time.sleep(0.05)
left = server.accept()[0].makefile("r")
total, value = 0, rank + 1
for _ in range(size):
    total += value
    right.sendall(f"{value}\\n".encode())
    value = int(left.readline())
print("sum", total)
"""


def test_a_gang_of_an_indexed_job_adds_up(lab, ns):
    create(lab, ns, service("ring", [{"port": 29500}], {"gang": "ring"}, clusterIP="None", publishNotReadyAddresses=True))
    script = 'exec python3 -c "$RING" $JOB_COMPLETION_INDEX 4 "ring-{}.ring" 29500'
    container = {"name": "c", "image": "python", "command": ["sh", "-c", script], "env": [{"name": "RING", "value": RING}]}
    template = {"metadata": {"labels": {"gang": "ring"}}, "spec": {"subdomain": "ring", "restartPolicy": "Never", "containers": [container]}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "ring"},
        "spec": {"completions": 4, "parallelism": 4, "completionMode": "Indexed", "backoffLimit": 0, "template": template},
    }
    create(lab, ns, job)
    lab.kubectl("wait", "job/ring", "-n", ns, "--for=condition=complete", TIMEOUT)
    logs = lab.kubectl("logs", "-n", ns, "-l", "gang=ring", "--tail=-1").out
    assert logs.split("\n").count("sum 10") == 4


def test_a_deployment_of_one_port_is_scaled_and_forwarded(lab, ns):
    container = {"name": "c", "image": "python", "command": ["python3", "-m", "http.server", "8099"], "readinessProbe": {"httpGet": {"port": 8099}, "periodSeconds": 1}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "http"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "http"}},
            "template": {"metadata": {"labels": {"app": "http"}}, "spec": {"containers": [container], "terminationGracePeriodSeconds": 1}},
        },
    }
    create(lab, ns, deployment, service("http", [{"port": 80, "targetPort": 8099}], {"app": "http"}, type="NodePort"))
    lab.kubectl("rollout", "status", "deployment/http", "-n", ns)
    wait_for("three endpoints", lambda: len(addresses(lab, ns, "http")) == 3)
    port = lab.get(f"/api/v1/namespaces/{ns}/services/http")["spec"]["ports"][0]["nodePort"]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as answer:
        assert answer.status == 200
