# SPDX-License-Identifier: Apache-2.0
"""The exporter process and the tools of docs/spec/numa.md 9 and 13 on a lab: recorded machines, podresources from files and from a socket."""

import concurrent.futures
import json
import os
import pathlib
import ssl
import subprocess
import tarfile
import urllib.error
import urllib.request

import grpc
import pytest

from numa_lab import LAB, TOPOLOGIES, deploy
from support import ATHANOR, ROOT, run, wait_for

AGENT = pathlib.Path(os.environ.get("ATHANOR_AGENT", ATHANOR.parent / "athanor-agent"))
EXPORTER = ATHANOR.parent / "resource-topology-exporter"
TREES = ROOT / "tests/data/numa/sysfs"

ALLOCATABLE = {
    "cpu_ids": [1, 2, 3, 5, 6, 7],
    "memory": [
        {"memory_type": "memory", "size": 15000000000, "topology": {"nodes": [{"ID": 0}]}},
        {"memory_type": "memory", "size": 16000000000, "topology": {"nodes": [{"ID": 1}]}},
    ],
}
POD_A = {
    "name": "pod-a",
    "namespace": "default",
    "containers": [
        {
            "name": "c1",
            "cpu_ids": [2, 3],
            "memory": [{"memory_type": "memory", "size": 1073741824, "topology": {"nodes": [{"ID": 0}]}}],
        }
    ],
}


def fake_folder(path, pods):
    path.mkdir(exist_ok=True)
    (path / "list.json.new").write_text(json.dumps({"pod_resources": pods}), encoding="utf-8")
    (path / "list.json.new").rename(path / "list.json")
    (path / "get_allocatable_resources.json").write_text(json.dumps(ALLOCATABLE), encoding="utf-8")


class Exporter:
    """An exporter until the block ends."""

    def __init__(self, lab, *flags, program=(ATHANOR, "numa", "exporter"), **env):
        self.command = [*program, "--podreadiness=false", *flags]
        self.env = {**lab.env, **env}

    def __enter__(self):
        self.process = subprocess.Popen(self.command, env=self.env, stderr=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.err = self.process.communicate(timeout=20)[1]


def topology(lab, name):
    answer = lab.http("GET", f"{TOPOLOGIES}/{name}")
    return answer.json if answer.code == 200 else None


def available(lab, name, resource="cpu"):
    found = topology(lab, name)
    return found and [next(r["available"] for r in zone["resources"] if r["name"] == resource) for zone in found["zones"]]


@pytest.fixture
def lab(make_lab):
    """A lab that serves NodeResourceTopology, without exporters of its own."""
    lab = make_lab("--storage", "memory").start()
    lab.kubectl("apply", "-f", "-", stdin=lab.athanor("numa", "operator", "--render-nrt-crd").out)
    wait_for("the kind to be served", lambda: lab.http("GET", TOPOLOGIES).code == 200)
    return lab


@pytest.mark.parametrize("program", [(ATHANOR, "numa", "exporter"), (AGENT, "numa-exporter"), (EXPORTER,)], ids=["athanor", "agent", "alone"])
def test_files_become_a_topology_and_only_changes_are_written(lab, tmp_path, program):
    fake_folder(tmp_path / "pods", [POD_A])
    dump = tmp_path / "dump"
    dump.mkdir()
    with Exporter(
        lab,
        "--hostname=recorded.two",
        f"--sysfs={TREES}/two-zones",
        f"--podresources-socket=fake://{tmp_path}/pods",
        "--sleep-interval=200ms",
        "--max-events-per-second=0",
        "--topology-manager-policy=single-numa-node",
        "--topology-manager-scope=pod",
        "--add-nrt-owner=false",
        "--metrics-mode=http",
        "--metrics-ip=127.0.0.1",
        "--metrics-port=0",
        program=program,
        PFP_STATUS_DUMP=str(dump),
    ) as exporter:
        wait_for("the first object", lambda: available(lab, "recorded.two") == ["1", "3"])
        line = exporter.process.stderr.readline()
        assert "metrics and health on " in line, line
        address = line.split()[-1]
        version = topology(lab, "recorded.two")["metadata"]["resourceVersion"]

        def metrics():
            return urllib.request.urlopen(f"http://{address}/metrics", timeout=10).read().decode()

        wait_for("rounds without a write", lambda: 'operation="unchanged",trigger="periodic"} 3' in metrics())
        assert topology(lab, "recorded.two")["metadata"]["resourceVersion"] == version
        assert urllib.request.urlopen(f"http://{address}/healthz", timeout=10).read() == b"ok\n"
        fake_folder(tmp_path / "pods", [])
        wait_for("the freed cpus", lambda: available(lab, "recorded.two") == ["3", "3"])
        wait_for("the patch to be counted", lambda: 'operation="patch"' in metrics())
        assert json.loads((dump / "recorded_two").read_text())[-1]["fingerprintComputed"] == "pfp0v001ef46db3751d8e999"
        (tmp_path / "pods/list.json").write_text("nonsense", encoding="utf-8")
        wait_for("the failure to be counted", lambda: 'function_name="list"}' in metrics())
        with pytest.raises(urllib.error.HTTPError) as unhealthy:
            urllib.request.urlopen(f"http://{address}/healthz", timeout=10)
        assert unhealthy.value.code == 503
    assert exporter.process.returncode == 0, exporter.err


def test_a_touched_file_is_an_event(lab, tmp_path):
    fake_folder(tmp_path / "pods", [])
    notify = tmp_path / "notify"
    with Exporter(
        lab,
        "--hostname=w",
        f"--sysfs={TREES}/sparse-ids",
        f"--podresources-socket=fake://{tmp_path}/pods",
        "--sleep-interval=0",
        f"--notify-file={notify}",
        "--add-nrt-owner=false",
    ):
        wait_for("the first object", lambda: topology(lab, "w"))
        assert [zone["name"] for zone in topology(lab, "w")["zones"]] == ["node-0", "node-2", "node-5"]
        assert topology(lab, "w")["metadata"]["annotations"]["k8stopoawareschedwg/rte-update"] == "periodic"
        fake_folder(tmp_path / "pods", [POD_A])
        os.utime(notify)
        wait_for(
            "the reactive update",
            lambda: topology(lab, "w")["metadata"]["annotations"]["k8stopoawareschedwg/rte-update"] == "reactive",
        )


class FakeKubelet(grpc.GenericRpcHandler):
    """The podresources API with gRPC's own library, answers as bytes by method."""

    def __init__(self, path, answers):
        self.answers = answers
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
        self.server.add_generic_rpc_handlers((self,))
        self.server.add_insecure_port(f"unix:{path}")
        self.server.start()

    def service(self, handler_call_details):
        method = handler_call_details.method.rpartition("/v1.PodResourcesLister/")[2]

        def answer(request, context):
            said = self.answers[method]
            return said(request, context) if callable(said) else said

        return grpc.unary_unary_rpc_method_handler(answer) if method in self.answers else None


def varint(number):
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def test_a_kubelet_is_asked_over_its_socket(lab, tmp_path):
    container = field(1, b"c1") + field(3, bytes([2, 3]))
    pods = field(1, field(1, b"pod-a") + field(2, b"default") + field(3, container))
    kubelet = tmp_path / "kubelet.sock"
    with Exporter(
        lab,
        "--hostname=socket",
        f"--sysfs={TREES}/two-zones",
        f"--podresources-socket=unix://{kubelet}",
        "--oneshot",
        "--add-nrt-owner=false",
    ) as exporter:
        # A kubelet that is not there yet is waited for.
        assert "waiting for podresources" in exporter.process.stderr.readline()
        def get(request, context):
            if b"pod-a" not in request:
                context.abort(grpc.StatusCode.UNKNOWN, "pod x in namespace y not found")
            return pods

        server = FakeKubelet(kubelet, {"List": pods, "GetAllocatableResources": field(2, bytes([1, 2, 3, 5])), "Get": get}).server
        assert exporter.process.wait(timeout=60) == 0
    assert available(lab, "socket") == ["1", "1"]

    def asked(*words, code=0):
        done = run([ATHANOR, "numa", "podresources", "--socket", f"unix://{kubelet}", *words])
        assert done.code == code, done.err
        return done

    assert json.loads(asked("list").out)["pod_resources"][0]["containers"][0]["cpu_ids"] == [2, 3]
    assert json.loads(asked("allocatable").out)["cpu_ids"] == [1, 2, 3, 5]
    assert json.loads(asked("get", "default/pod-a").out)["pod_resources"]["name"] == "pod-a"
    assert "pod x in namespace y not found" in asked("get", "y/x", code=2).err
    assert "Usage of podresources" in asked("get", code=1).err
    server.stop(0)
    assert "kubelet.sock" in asked("list", code=2).err


def test_m1_metrics_over_tls_grow_and_refuse_old_versions(lab, tmp_path):
    fake_folder(tmp_path / "pods", [])
    certificate, key = lab.data / "pki/apiserver.crt", lab.data / "pki/apiserver.key"
    flags = [
        "--hostname=tls",
        f"--sysfs={TREES}/two-zones",
        f"--podresources-socket=fake://{tmp_path}/pods",
        "--sleep-interval=200ms",
        "--max-events-per-second=0",
        "--add-nrt-owner=false",
        "--metrics-mode=httptls",
        "--metrics-ip=127.0.0.1",
        "--metrics-port=0",
        f"--metrics-certs-dir={lab.data}/pki",
        f"--metrics-cert-file={certificate.name}",
        f"--metrics-key-file={key.name}",
    ]

    def page(address, path, version=None):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if version:
            context.maximum_version = version
        return urllib.request.urlopen(f"https://{address}{path}", timeout=10, context=context).read().decode()

    def rounds(address):
        lines = page(address, "/metrics").splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith("rte_noderesourcetopology_writes_total"))

    for least, refused in [("VersionTLS12", None), ("VersionTLS13", ssl.TLSVersion.TLSv1_2)]:
        with Exporter(lab, *flags, f"--metrics-tls-min-version={least}") as exporter:
            address = exporter.process.stderr.readline().split()[-1]
            wait_for("the first round", lambda: rounds(address) > 0)
            before = rounds(address)
            wait_for("another one", lambda: rounds(address) > before)
            assert page(address, "/healthz") == "ok\n"
            if refused:
                with pytest.raises(urllib.error.URLError):
                    page(address, "/metrics", refused)
            else:
                assert "rte_wakeup_delay_milliseconds" in page(address, "/metrics", ssl.TLSVersion.TLSv1_2)
            with pytest.raises((urllib.error.URLError, ConnectionError)):
                urllib.request.urlopen(f"http://{address}/metrics", timeout=10).read()


def test_what_it_cannot_start_with_is_said(lab, tmp_path):
    for flags, why in [
        (["--sleep-interval=-1s"], "--sleep-interval must not be negative"),
        (["--pods-fingerprint-method=some"], 'unsupported method  "some"'),
        ([f"--notify-file={tmp_path}"], "the notify file must be an empty regular file"),
        (["--podreadiness=true"], "the env REFERENCE_NAMESPACE doesn't exist"),
        (["--metrics-mode=httptls", f"--metrics-certs-dir={tmp_path}"], "tls.crt: cannot be read"),
        (["--dump-config=/tmp/file"], 'dumping config to file not supported (dest="/tmp/file")'),
    ]:
        done = run([ATHANOR, "numa", "exporter", "--podreadiness=false", *flags], env=lab.env)
        assert done.code == 1 and why in done.err, (flags, done.err)
    link = tmp_path / "resource-topology-exporter"
    link.symlink_to(ATHANOR)
    dumped = run([link, "--dump-config", ".andexit", "-v=5"], env={**lab.env, "NODE_NAME": "node.kubelab.io"})
    assert dumped.code == 0 and "hostname: node.kubelab.io" in dumped.out and "verbose: 5" in dumped.out


def test_the_tools_on_a_lab_with_zones(make_lab, tmp_path):
    lab = deploy(make_lab("--storage", "memory", "--lab", str(LAB)).start())
    wait_for("every pod to run", lambda: "PASSED" in lab.athanor("numa", "validate", "--what=nrt,podst,schedcache").out)
    checked = lab.athanor("numa", "validate", "--verbose")
    assert checked.out == "PASSED>>: cluster configuration looks ok!\n", checked.out
    assert checked.err == "INFO>>>>: enabled validators: k8scfg,nrt,podst,schedcache\n"
    link = tmp_path / "nrovalidate"
    link.symlink_to(ATHANOR)
    assert json.loads(run([link, "--json"], env=lab.env).out) == {"succeeded": True, "errors": []}
    assert lab.athanor("numa", "platform").out == "OpenShift\n"
    lab.athanor("numa", "platform", "-is-platform", "Kubernetes", code=1)
    assert lab.athanor("numa", "cache-check", "--dump").out == "worker-1: clean\nworker-2: clean\n"
    assert "topologyManagerPolicy=single-numa-node" in lab.athanor("numa", "watch-attributes", "-count=1").out
    assert "kind: Job" in lab.athanor("numa", "jobs", "-script=ls").out
    refused = lab.athanor("--as", "jane", "numa", "cache-check", "--as-group=guests", code=1)
    assert 'User "jane" cannot list resource' in refused.err, refused.err
    assert lab.athanor("numa", "cache-check", "--dump", "--as=jane", "--as-group", "system:masters").out == "worker-1: clean\nworker-2: clean\n"
    gathered = tmp_path / "gathered.tar"
    lab.athanor("numa", "must-gather", f"--output={gathered}")
    with tarfile.open(gathered) as tar:
        names = tar.getnames()
        tar.extractall(tmp_path / "mg", filter="data")
    assert "cluster-scoped-resources/topology.node.k8s.io/noderesourcetopologies/worker-1.yaml" in names
    assert (tmp_path / "mg/version").read_text().startswith("numaresources-operator/must-gather\n")
    assert "every fingerprint is in sync" in lab.athanor("numa", "pfpsync", "-must-gather", str(tmp_path / "mg")).out
    log = lab.athanor("numa", "sched-logs").out
    assert log.startswith("-------8<-------\n") and log.endswith("-------8<-------\n")


def test_deploy_without_the_operator(make_lab):
    lab = make_lab("--storage", "memory", "--lab", str(LAB)).start()
    lab.athanor("numa", "deploy", "--wait")
    daemon_set = "/apis/apps/v1/namespaces/tas-topology-updater/daemonsets/resource-topology-exporter"
    assert lab.http("GET", daemon_set).code == 200
    wait_for("an object for each worker", lambda: len(lab.http("GET", TOPOLOGIES).json.get("items", [])) == 2)
    wait_for("no finding", lambda: "PASSED" in lab.athanor("numa", "deployer", "validate").out)
    lab.athanor("numa", "remove", "--wait")
    assert lab.http("GET", daemon_set).code == 404


def test_what_render_prints_is_accepted(make_lab):
    lab = make_lab("--storage", "memory").start()
    lab.kubectl("apply", "-f", "-", stdin=lab.athanor("numa", "render", "--render-namespace=numaresources").out)
    deployment = "/apis/apps/v1/namespaces/numaresources/deployments/numaresources-controller-manager"
    assert lab.http("GET", deployment).code == 200
