# SPDX-License-Identifier: Apache-2.0
"""Probes and hooks ask as a kubelet does: TLS, redirects, headers, named ports, gRPC services, their own grace."""

import json
import subprocess
import time
from concurrent import futures

import grpc
import pytest

from support import TIMEOUT, ProbeTarget, cpu_share, wait_for

# /ok: 200; /go: a redirect to /ok; /away: one to another host; /log: the paths and agents that were asked for; /header: 200 if X-Probe is "yes".
SERVER = """
import http.server, ssl, sys
asked = []
class Handler(http.server.BaseHTTPRequestHandler):
    default_request_version = "HTTP/1.0"
    def do_GET(self):
        asked.append(self.path + " " + self.headers.get("User-Agent", ""))
        code, body = 404, b""
        if self.path in ("/go", "/away"):
            self.send_response(302)
            self.send_header("Location", "/ok" if self.path == "/go" else "http://elsewhere.example/x")
            self.send_header("Content-Length", "4")
            self.end_headers()
            return self.wfile.write(b"moved"[:4])
        if self.path == "/log":
            code, body = 200, "\\n".join(asked).encode()
        elif self.path == "/ok" or (self.path == "/header" and self.headers.get("X-Probe") == "yes" and self.headers.get("Host") == "named.example"):
            code, body = 200, b"fine"
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(("", int(sys.argv[1])), Handler)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("/tls/cert.pem", "/tls/key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=nothing", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture
def files(lab, ns, certificate):
    (certificate / "server.py").write_text(SERVER)
    lab.kubectl("create", "configmap", "files", "-n", ns, *(f"--from-file={certificate / name}" for name in ("server.py", "cert.pem", "key.pem")))


def server_pod(name, ns, *arguments, sleep="exec sleep 1000", **container):
    mounts = [{"name": "files", "mountPath": "/tls"}]
    grace = container.pop("grace", 2)
    main = {"name": "c", "image": "python", "command": ["python3", "/tls/server.py", *arguments], "volumeMounts": mounts, **container}
    spec = {"containers": [main], "volumes": [{"name": "files", "configMap": {"name": "files"}}], "terminationGracePeriodSeconds": grace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": ns}, "spec": spec}


def create(lab, pod):
    lab.kubectl("create", "-f", "-", stdin=json.dumps(pod))


def notes(lab, ns, name):
    events = lab.get(f"/api/v1/namespaces/{ns}/events")["items"]
    return [(e["reason"], e["message"]) for e in events if e["involvedObject"]["name"] == name]


def first_status(lab, ns, name):
    return (lab.get(f"/api/v1/namespaces/{ns}/pods/{name}")["status"].get("containerStatuses") or [{}])[0]


def probe(handler, **more):
    return {**handler, "periodSeconds": 1, "failureThreshold": 1, **more}


def test_https_probes_check_no_certificate(lab, ns, files):
    get = {"httpGet": {"scheme": "HTTPS", "port": "web", "path": "/ok"}}
    ports = [{"name": "web", "containerPort": 8443}]
    create(lab, server_pod("good", ns, "8443", "tls", ports=ports, readinessProbe=probe(get)))
    create(lab, server_pod("plain", ns, "8443", ports=ports, readinessProbe=probe(get)))
    lab.kubectl("wait", "pod/good", "-n", ns, "--for=condition=Ready", TIMEOUT)
    wait_for("the reason", lambda: any(r == "Unhealthy" and m.endswith("http: server gave HTTP response to HTTPS client") for r, m in notes(lab, ns, "plain")))
    lab.kubectl("patch", "pod", "good", "-n", ns, "-p", '{"metadata":{"labels":{"a":"b"}}}')
    assert first_status(lab, ns, "good")["ready"] is True and first_status(lab, ns, "plain")["ready"] is False


def test_https_answers_count_by_their_status(lab, ns, files):
    get = {"httpGet": {"scheme": "HTTPS", "port": 8443, "path": "/missing"}}
    create(lab, server_pod("bad", ns, "8443", "tls", readinessProbe=probe(get)))
    wait_for("the failure", lambda: ("Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 404") in notes(lab, ns, "bad"))


def test_redirects_are_followed_on_one_host(lab, ns, files):
    here = {"httpGet": {"port": 8080, "path": "/go"}}
    away = {"httpGet": {"port": 8080, "path": "/away"}}
    create(lab, server_pod("moves", ns, "8080", readinessProbe=probe(here), livenessProbe=probe(away, initialDelaySeconds=1)))
    lab.kubectl("wait", "pod/moves", "-n", ns, "--for=condition=Ready", TIMEOUT)
    log = lab.kubectl("exec", "moves", "-n", ns, "--", "python3", "-c", "import urllib.request as r; print(r.urlopen('http://127.0.0.1:8080/log').read().decode())").out
    assert "/go kube-probe/1.35" in log and "/ok kube-probe/1.35" in log, log
    wait_for("the warning", lambda: ("ProbeWarning", "Liveness probe warning: Probe terminated redirects, Response body: move") in notes(lab, ns, "moves"))
    assert first_status(lab, ns, "moves")["restartCount"] == 0


def test_headers_and_hosts_of_probes(lab, ns, files):
    headers = [{"name": "X-Probe", "value": "yes"}, {"name": "Host", "value": "named.example"}]
    get = {"httpGet": {"port": 8080, "path": "/header", "httpHeaders": headers}}
    create(lab, server_pod("asked", ns, "8080", readinessProbe=probe(get)))
    lab.kubectl("wait", "pod/asked", "-n", ns, "--for=condition=Ready", TIMEOUT)
    address = lab.get(f"/api/v1/namespaces/{ns}/pods/asked")["status"]["podIP"]
    other = {"httpGet": {"host": address, "port": 8080, "path": "/ok"}}
    create(lab, server_pod("asks", ns, "8081", readinessProbe=probe(other)))
    lab.kubectl("wait", "pod/asks", "-n", ns, "--for=condition=Ready", TIMEOUT)


def test_a_port_without_a_name_is_an_error(lab, ns, files):
    create(lab, server_pod("odd", ns, "8080", readinessProbe=probe({"tcpSocket": {"port": "metrics"}})))
    text = 'Readiness probe errored and resulted in unknown state: strconv.Atoi: parsing "metrics": invalid syntax'
    wait_for("the event", lambda: ("Unhealthy", text) in notes(lab, ns, "odd"))


def test_hooks_use_tls_and_take_any_status(lab, ns, files):
    def hook(path, scheme="HTTPS", port=8443):
        return {"httpGet": {"scheme": scheme, "port": port, "path": path}}

    pod = server_pod("hooked", ns, "8443", "tls", grace=30)
    server = pod["spec"]["containers"][0]
    pod["spec"]["initContainers"] = [
        {**server, "name": "tls", "restartPolicy": "Always", "startupProbe": probe(hook("/ok"), failureThreshold=30)},
        {**server, "name": "plain", "command": ["python3", "/tls/server.py", "8080"], "restartPolicy": "Always", "startupProbe": probe(hook("/ok", "HTTP", 8080), failureThreshold=30)},
    ]
    lifecycles = {"asks": {"postStart": hook("/started"), "preStop": hook("/stopping")}, "mistaken": {"postStart": hook("/fallen", "HTTPS", 8080)}}
    pod["spec"]["containers"] = [{"name": name, "image": "busybox", "command": ["sleep", "1000"], "lifecycle": lifecycle} for name, lifecycle in lifecycles.items()]
    create(lab, pod)
    lab.kubectl("wait", "pod/hooked", "-n", ns, "--for=condition=Ready", TIMEOUT)

    def asked(address):
        fetch = "import ssl, urllib.request as r; print(r.urlopen('%s', context=ssl._create_unverified_context()).read().decode())"
        return lab.kubectl("exec", "hooked", "-c", "tls", "-n", ns, "--", "python3", "-c", fetch % address).out

    assert "/started kube-lifecycle/1.35" in asked("https://127.0.0.1:8443/log")
    assert "/fallen kube-lifecycle/1.35" in asked("http://127.0.0.1:8080/log")
    lab.kubectl("delete", "pod", "hooked", "-n", ns, "--wait=false")
    wait_for("the end", lambda: lab.http("GET", f"/api/v1/namespaces/{ns}/pods/hooked").code == 404, deadline=40)
    assert not any(r == "FailedPreStopHook" for r, _ in notes(lab, ns, "hooked"))


def test_a_failed_hook_ends_its_container(lab, ns, files):
    pod = server_pod("fails", ns, "8080", lifecycle={"postStart": {"tcpSocket": {"port": 8080}}})
    create(lab, pod)
    wait_for("the events", lambda: {("FailedPostStartHook", "PostStartHook failed"), ("Killing", "FailedPostStartHook")} <= set(notes(lab, ns, "fails")))


def test_a_probe_has_its_own_grace(lab, ns, files):
    stubborn = "import signal,time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(1000)"
    liveness = probe({"exec": {"command": ["false"]}}, terminationGracePeriodSeconds=1, initialDelaySeconds=2)
    pod = server_pod("slow", ns, "8080", grace=600, livenessProbe=liveness)
    pod["spec"]["containers"][0]["command"] = ["python3", "-c", stubborn]
    create(lab, pod)
    wait_for("a restart", lambda: first_status(lab, ns, "slow").get("restartCount", 0) > 0)
    ended = first_status(lab, ns, "slow")["lastState"]["terminated"]
    assert ended["exitCode"] == 137, ended
    assert ("Killing", "Container c failed liveness probe, will be restarted") in notes(lab, ns, "slow")
    lab.kubectl("delete", "pod", "slow", "-n", ns, "--grace-period=0", "--force")


class HealthServer(grpc.GenericRpcHandler):
    """grpc.health.v1.Health of this machine: SERVING (1) or NOT_SERVING (2) by service."""

    def __init__(self, states):
        self.states, self.asked = states, []

    def service(self, call):
        return grpc.unary_unary_rpc_method_handler(self.check) if call.method == "/grpc.health.v1.Health/Check" else None

    def check(self, request, context):
        name = request[2:].decode()  # field 1, a short text
        self.asked.append(name)
        if name not in self.states:
            context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
        return bytes([8, self.states[name]])  # field 1, a number


def test_grpc_probes_ask_a_server_of_upstreams_library(lab, ns, files):
    """A pod on the host's network is probed at this machine's address, where grpcio answers."""
    health = HealthServer({"": 1, "store": 2})
    server = grpc.server(futures.ThreadPoolExecutor(2), handlers=[health])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        for name, service in (("whole", None), ("store", "store"), ("odd", "odd")):
            pod = server_pod(name, ns, readinessProbe=probe({"grpc": {"port": port, **({"service": service} if service else {})}}))
            pod["spec"]["hostNetwork"] = True
            pod["spec"]["containers"][0]["command"] = ["sleep", "1000"]
            create(lab, pod)
        lab.kubectl("wait", "pod/whole", "-n", ns, "--for=condition=Ready", TIMEOUT)
        text = 'Readiness probe failed: service unhealthy (responded with "NOT_SERVING")'
        wait_for("the refusal", lambda: ("Unhealthy", text) in notes(lab, ns, "store"))
        wait_for("the unknown service", lambda: any(r == "Unhealthy" and m.startswith("Readiness probe failed: ") for r, m in notes(lab, ns, "odd")))
        health.states["store"] = 1
        lab.kubectl("wait", "pod/store", "-n", ns, "--for=condition=Ready", TIMEOUT)
        assert first_status(lab, ns, "odd")["ready"] is False
        assert set(health.asked) == {"", "store", "odd"}
    finally:
        server.stop(0)


def test_readiness_gates_hold_a_pod_back(lab, ns, files):
    pod = server_pod("gated", ns, "8080")
    pod["spec"]["readinessGates"] = [{"conditionType": "example.com/open"}]
    create(lab, pod)
    wait_for("running", lambda: first_status(lab, ns, "gated").get("ready") is True)

    def ready():
        conditions = lab.get(f"/api/v1/namespaces/{ns}/pods/gated")["status"]["conditions"]
        return next((c["status"], c.get("reason")) for c in conditions if c["type"] == "Ready")

    assert ready() == ("False", "ReadinessGatesNotReady")
    gate = {"status": {"conditions": [{"type": "example.com/open", "status": "True"}]}}
    lab.kubectl("patch", "pod", "gated", "-n", ns, "--subresource=status", "--type=strategic", "-p", json.dumps(gate))
    wait_for("ready", lambda: ready()[0] == "True")


def test_probes_and_hooks_that_hang_are_cut_off(lab, ns, files):
    hangs = "import socket\ns = socket.socket()\ns.bind(('', 8080))\ns.listen()\nheld = []\nwhile True: held.append(s.accept())"
    liveness = probe({"exec": {"command": ["sleep", "1000"]}}, timeoutSeconds=1, failureThreshold=100)
    pod = server_pod("stuck", ns, grace=3, readinessProbe=probe({"httpGet": {"port": 8080}}), livenessProbe=liveness, lifecycle={"preStop": {"exec": {"command": ["sleep", "1000"]}}})
    pod["spec"]["containers"][0]["command"] = ["python3", "-c", hangs]
    create(lab, pod)
    for text in ("context deadline exceeded (Client.Timeout exceeded while awaiting headers)", 'command timed out: "sleep 1000" timed out after 1s'):
        wait_for(text, lambda text=text: any(r == "Unhealthy" and text in m for r, m in notes(lab, ns, "stuck")))
    begin = time.monotonic()
    lab.kubectl("delete", "pod", "stuck", "-n", ns, "--wait=false")
    wait_for("the end", lambda: lab.http("GET", f"/api/v1/namespaces/{ns}/pods/stuck").code == 404)
    assert 2 < time.monotonic() - begin < 10


def test_probes_of_fifty_pods_cost_little(make_lab):
    """A tenth of what bench/pods_bench.py measures."""
    lab = make_lab("--storage", "memory").start()
    with ProbeTarget() as target:
        for i in range(50):
            container = {"name": "c", "image": "busybox", "command": ["sleep", "100000"], "livenessProbe": target.probe()}
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{i}"}, "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]}}
            assert lab.http("POST", "/api/v1/namespaces/default/pods", pod).code == 201
        wait_for("the pods", lambda: {p["status"]["phase"] for p in lab.get("/api/v1/namespaces/default/pods")["items"]} == {"Running"})
        wait_for("a second round of probes", lambda: target.asked > 100)
        asked = target.asked
        share = cpu_share(lab.process.pid, 10)
        assert target.asked - asked > 250, "each pod is asked each second"
        assert share <= 10, f"{share:.1f} % of a processor"
