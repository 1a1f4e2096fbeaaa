# SPDX-License-Identifier: Apache-2.0
"""Names and addresses of pods that are processes: Services, headless names, ports of their own, gangs."""

import json
import os
import socket
import subprocess
import sys
import urllib.request

import pytest
from support import TIMEOUT, free_port, wait_for

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


# Answers each datagram with the name of its pod.
UDP_ECHO = """
import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 7720))
print("bound", flush=True)
while True:
    data, a = s.recvfrom(100)
    s.sendto(os.environ["HOSTNAME"].encode() + b" " + data, a)
"""
UDP_ASK = """
import socket, sys
for attempt in range(10):
    c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    c.settimeout(5)
    c.connect((sys.argv[1], int(sys.argv[2])))
    try:
        c.send(b"hello")
        print(c.recv(100).decode())
        break
    except OSError as problem:
        print(problem, file=sys.stderr)
else:
    sys.exit(1)
"""


def test_a_service_of_udp_answers_connected_clients(lab, ns):
    """A server on all addresses answers from the pod's own, and a connected client takes no other."""
    create(
        lab,
        ns,
        pod("echo", ["python3", "-c", UDP_ECHO], container={"ports": [{"containerPort": 7720, "protocol": "UDP"}]}),
        pod("client", ["sleep", "1000"]),
        service("udp", [{"port": 53, "targetPort": 7720, "protocol": "UDP"}], {"app": "echo"}, type="NodePort"),
    )
    ready(lab, ns, "echo", "client")
    wait_for("the server", lambda: "bound" in lab.kubectl("logs", "echo", "-n", ns).out)
    wait_for("an endpoint", lambda: addresses(lab, ns, "udp"))
    spec = lab.get(f"/api/v1/namespaces/{ns}/services/udp")["spec"]
    node_port = spec["ports"][0]["nodePort"]
    for host, port in (("udp", 53), (spec["clusterIP"], 53), (addresses(lab, ns, "udp")[0], 7720), ("127.0.0.1", node_port)):
        assert inside(lab, ns, "client", "python3", "-c", UDP_ASK, host, str(port)) == "echo hello", host
    outside = subprocess.run([PYTHON, "-c", UDP_ASK, "127.0.0.1", str(node_port)], capture_output=True, text=True, timeout=90, check=False)
    assert outside.stdout.strip() == "echo hello", outside.stderr


@pytest.fixture
def other_node(lab):
    """other_node(NODE): the name of another node, which is made, and removed afterwards, where there is none."""
    made = []

    def find(node):
        names = [n["metadata"]["name"] for n in lab.get("/api/v1/nodes")["items"]]
        if len(names) > 1:
            return next(name for name in names if name != node)
        labels = {"athanor.dev/emulated": "true"}
        lab.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "beside-it", "labels": labels}}))
        made.append("beside-it")
        return made[-1]

    yield find
    for name in made:
        lab.kubectl("delete", "node", name)


def events_of(lab, ns, name, reason):
    events = lab.get(f"/api/v1/namespaces/{ns}/events")["items"]
    return [e["message"] for e in events if e["involvedObject"]["name"] == name and e["reason"] == reason]


def test_a_port_that_is_taken_is_an_event(lab, ns):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        create(lab, ns, pod("late", ["sleep", "1000"], container={"ports": [{"containerPort": 7712, "hostPort": number}]}))
        said = wait_for("an event", lambda: events_of(lab, ns, "late", "PortNotServed"))
    assert said[0].startswith(f"Port {number} of this machine is not open: "), said


def test_other_protocols_are_named(lab, ns):
    created = lab.kubectl("create", "-n", ns, "-f", "-", stdin=json.dumps(service("odd", [{"port": 9, "protocol": "SCTP"}], {"app": "odd"})))
    assert "spec.ports[0].protocol: SCTP is not served in this lab" in created.err, created
    assert wait_for("an event", lambda: events_of(lab, ns, "odd", "PortNotServed")) == ["Port 9/SCTP is not served: only TCP and UDP are"]


def test_host_ports_of_pods_answer_until_they_end(lab, ns, other_node):
    number = free_port()
    host = server("host", 7710, {})
    host["spec"]["containers"][0]["ports"][0]["hostPort"] = number
    create(lab, ns, host, pod("client", ["sleep", "1000"]))
    ready(lab, ns, "host", "client")

    def answer():
        with socket.create_connection(("127.0.0.1", number), timeout=10) as connection:
            return connection.recv(100).decode().split()[0]

    assert wait_for("the port", answer) == "host"
    assert ask(lab, ns, "client", "127.0.0.1", number).split()[0] == "host"
    # Another one on this node waits; on another node it runs, and says that this machine's port is taken.
    node = lab.get(f"/api/v1/namespaces/{ns}/pods/host")["spec"]["nodeName"]
    waits = pod("waits", ["sleep", "1000"], container={"ports": [{"containerPort": 7711, "hostPort": number}]}, nodeSelector={"kubernetes.io/hostname": node})
    beside = pod("beside", ["sleep", "1000"], container={"ports": [{"containerPort": 7711, "hostPort": number}]}, nodeName=other_node(node))
    create(lab, ns, waits, beside)

    def refusal():
        conditions = lab.get(f"/api/v1/namespaces/{ns}/pods/waits")["status"].get("conditions", [])
        return [c["message"] for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"]

    assert "1 node(s) didn't have free ports for the requested pod ports" in wait_for("a refusal", refusal)[0]
    said = wait_for("an event", lambda: events_of(lab, ns, "beside", "PortNotServed"))
    assert said == [f"Host port {number} is not open: all nodes of the lab are on one machine, and pod {ns}/host has it"]
    lab.kubectl("delete", "pod", "beside", "waits", "-n", ns)
    lab.kubectl("delete", "pod", "host", "-n", ns)

    def refused():
        try:
            answer()
        except ConnectionRefusedError:
            return True
        return False

    wait_for("no port any more", refused)


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
import socket, sys, time
rank, size, right, port = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
server = socket.create_server(("0.0.0.0", port))
deadline = time.monotonic() + 60
while True:
    try:
        right = socket.create_connection((right, port), timeout=10)
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
print("sum", total, flush=True)
"""


def member(script, **env):
    """The template of a member: `script` sets `right`, its neighbour's rank, to a name and runs python3 -c "$RING"."""
    variables = [{"name": "RING", "value": RING}, *({"name": name, **value} for name, value in env.items())]
    container = {"name": "pytorch", "image": "python", "command": ["sh", "-ec", script], "env": variables}
    return {"metadata": {"labels": {"gang": "ring"}}, "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}}


def add_up(lab, ns):
    def sums():
        return lab.kubectl("logs", "-n", ns, "-l", "gang=ring", "--tail=-1").out.split("\n").count("sum 10") == 4

    wait_for("four sums", sums)


def test_a_gang_of_an_indexed_job_adds_up(lab, ns):
    create(lab, ns, service("ring", [{"port": 29500}], {"gang": "ring"}, clusterIP="None", publishNotReadyAddresses=True))
    template = member('python3 -c "$RING" $JOB_COMPLETION_INDEX 4 ring-$(((JOB_COMPLETION_INDEX + 1) % 4)).ring 29500')
    template["spec"]["subdomain"] = "ring"
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "ring"},
        "spec": {"completions": 4, "parallelism": 4, "completionMode": "Indexed", "backoffLimit": 0, "template": template},
    }
    create(lab, ns, job)
    lab.kubectl("wait", "job/ring", "-n", ns, "--for=condition=complete", TIMEOUT)
    add_up(lab, ns)


def test_a_gang_of_a_job_set_adds_up(lab, ns):
    """Two Jobs of two pods, found as JOBSET-REPLICATEDJOB-JOB-POD.SUBDOMAIN."""
    script = 'rank=$((2 * JOB + JOB_COMPLETION_INDEX)); right=$(((rank + 1) % 4)); python3 -c "$RING" $rank 4 ring-w-$((right / 2))-$((right % 2)).sub 29500'
    template = member(script, JOB={"valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['jobset.sigs.k8s.io/job-index']"}}})
    replicated = {"name": "w", "replicas": 2, "template": {"spec": {"completions": 2, "parallelism": 2, "backoffLimit": 0, "template": template}}}
    job_set = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "ring"},
        "spec": {"network": {"subdomain": "sub"}, "replicatedJobs": [replicated]},
    }
    create(lab, ns, job_set)
    lab.kubectl("wait", "jobset/ring", "-n", ns, "--for=condition=Completed", TIMEOUT)
    add_up(lab, ns)


def test_a_gang_of_a_pytorch_job_adds_up(lab, ns):
    script = 'right=$(((RANK + 1) % WORLD_SIZE)); name=ring-worker-$((right - 1)); [ $right != 0 ] || name=$MASTER_ADDR; python3 -c "$RING" $RANK $WORLD_SIZE $name $MASTER_PORT'
    replicas = {"Master": {"template": member(script)}, "Worker": {"replicas": 3, "template": member(script)}}
    create(lab, ns, {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "ring"}, "spec": {"pytorchReplicaSpecs": replicas}})
    lab.kubectl("wait", "pytorchjob/ring", "-n", ns, "--for=condition=Succeeded", TIMEOUT)
    add_up(lab, ns)


@pytest.mark.parametrize("policy", ["Shared", "UniquePerReplica"])
def test_a_gang_of_a_leader_worker_set_adds_up(lab, ns, policy):
    script = (
        "domain=${LWS_LEADER_ADDRESS#*.}; right=$(((LWS_WORKER_INDEX + 1) % LWS_GROUP_SIZE)); name=ring-0-$right.$domain; [ $right != 0 ] || name=$LWS_LEADER_ADDRESS;"
        'python3 -c "$RING" $LWS_WORKER_INDEX $LWS_GROUP_SIZE $name 29500; exec sleep 1000'
    )
    template = member(script)
    template["spec"]["restartPolicy"] = "Always"
    spec = {"replicas": 1, "networkConfig": {"subdomainPolicy": policy}, "leaderWorkerTemplate": {"size": 4, "workerTemplate": template}}
    create(lab, ns, {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "ring"}, "spec": spec})
    add_up(lab, ns)


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
