# SPDX-License-Identifier: Apache-2.0
"""OpenShift's TLS profile at the ports of `athanor controllers` (webhooks, secure metrics) and `athanor extender`: each with the rights that are
printed for it, on an API server that has the profile's kind, or lacks it."""

import json
import re
import signal
import socket
import ssl

import pytest
from replica import Replica
from support import ATHANOR, DEADLINE, TIMEOUT, run, wait_for
from test_controllers_webhooks import SYSTEM, Cluster

SUITES = {size: f"ECDHE-ECDSA-AES{size}-GCM-SHA{256 if size == 128 else 384}" for size in (128, 256)}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    one = Cluster(tmp_path_factory.mktemp("tls"))
    try:
        one.apply("crds", "--group", "inference.redhat.com")
        one.kubectl("create", "namespace", SYSTEM)
        one.kubectl("create", "namespace", "das-operator")
        one.apply("rbac", "--controllers", "das", "--webhooks")
        rights = run([ATHANOR, "extender", "--print-rbac", "--leader-elect-resource-namespace", SYSTEM]).out
        one.kubectl("apply", "--server-side", "-f", "-", stdin=rights)
        one.kubectl("create", "clusterrolebinding", "extender", "--clusterrole=athanor-extender", f"--user=system:serviceaccount:{SYSTEM}:athanor")
        one.kubectl("wait", "--for=condition=Established", "crd", "--all", TIMEOUT)
        yield one
    finally:
        one.process.kill()
        one.process.wait()


def add_kind(cluster):
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "apiservers.config.openshift.io"},
        "spec": {"group": "config.openshift.io", "scope": "Cluster",
                 "names": {"kind": "APIServer", "plural": "apiservers", "singular": "apiserver", "listKind": "APIServerList"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                     "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}))  # fmt: skip
    cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", TIMEOUT)


@pytest.fixture(scope="module")
def openshift(cluster):
    """The same cluster, with the kind."""
    add_kind(cluster)
    return cluster


@pytest.fixture
def certificate(tmp_path):
    files = (f"--tls-cert-file={tmp_path / 'tls.crt'}", f"--tls-private-key-file={tmp_path / 'tls.key'}")
    made = run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj", "/CN=one",
                "-keyout", tmp_path / "tls.key", "-out", tmp_path / "tls.crt"])  # fmt: skip
    assert made.code == 0, made.err
    return files


@pytest.fixture
def served(tmp_path, certificate):
    """Starts the part with a port, and returns it."""
    running = []

    def start(cluster, part, *flags):
        common = [ATHANOR, "extender" if part.startswith("extender") else "controllers", "--kubeconfig", cluster.config("athanor"), "--metrics-address=127.0.0.1:0", "--leader-elect=false"]
        own = {"controllers": ["--controllers=das", "--webhook-address=127.0.0.1:0", "--webhook-host=127.0.0.1"],
               "metrics": ["--controllers=das", "--metrics-secure", "--health-address=127.0.0.2:0"],
               "extender": ["--systems=das", "--address=127.0.0.1:0", *certificate],
               "extender-metrics": ["--systems=das", "--address=127.0.0.2:0", "--metrics-secure", "--health-address=127.0.0.2:0"]}[part]  # fmt: skip
        one = Replica([*common, *own, *flags], tmp_path / f"{part}-{len(running)}.log", env={"POD_NAMESPACE": SYSTEM, "POD_NAME": "p"})
        running.append(one)
        said = r'"(?:webhooks are served|the extender is served|metrics are served over TLS)".*?"address":"127\.0\.0\.1:(\d+)"'
        wait_for("the port", lambda: re.search(said, one.text))
        one.port = int(re.search(said, one.text).group(1))
        wait_for("a handshake", lambda: shakes_hands(one.port))
        return one

    yield start
    for one in running:
        one.end(signal.SIGKILL)


def shakes_hands(port, most=None, cipher=None):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = most or ssl.TLSVersion.MAXIMUM_SUPPORTED
    if cipher:
        context.set_ciphers(cipher)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as raw, context.wrap_socket(raw):
            return True
    except (ssl.SSLError, ConnectionError):
        return False


def old(port, cipher=None):
    return shakes_hands(port, ssl.TLSVersion.TLSv1_2, cipher)


def profile(cluster, spec):
    cluster.kubectl("apply", "-f", "-", stdin=json.dumps({
        "apiVersion": "config.openshift.io/v1", "kind": "APIServer", "metadata": {"name": "cluster"}, "spec": {"tlsSecurityProfile": spec}}))  # fmt: skip


def custom(version, *ciphers):
    return {"type": "Custom", "custom": {"minTLSVersion": version, "ciphers": list(ciphers)}}


@pytest.mark.parametrize("part", ["controllers", "metrics", "extender", "extender-metrics"])
class TestPort:
    def test_a_cluster_without_the_kind_gets_the_defaults(self, cluster, served, part):
        one = served(cluster, part)
        wait_for("readiness", one.ready)
        assert old(one.port) and (part != "controllers" or not one.denied())
        watches = {"controllers": 2, "metrics": 1, "extender": 1, "extender-metrics": 1}[part]  # those of the webhooks' port have caches of their own
        assert one.text.count('"kind":"APIServer"') == watches, "each reports it once"

    def test_the_profile_is_followed_while_the_process_runs(self, openshift, served, part):
        profile(openshift, {"type": "Modern"})
        one = served(openshift, part)
        wait_for("TLS 1.2 is refused", lambda: not old(one.port))
        assert shakes_hands(one.port)
        profile(openshift, custom("VersionTLS12", SUITES[256], "NO-CIPHER"))
        wait_for("TLS 1.2 is back", lambda: old(one.port))
        assert old(one.port, SUITES[256]) and not old(one.port, SUITES[128])
        profile(openshift, custom("VersionTLS12", "TLS_AES_128_GCM_SHA256"))
        wait_for("no cipher of TLS 1.2 is left", lambda: not old(one.port))
        assert shakes_hands(one.port)
        openshift.kubectl("delete", "apiservers.config.openshift.io", "cluster")
        wait_for("the defaults are back", lambda: old(one.port, SUITES[128]))

    def test_flags_win(self, openshift, served, part):
        profile(openshift, {"type": "Modern"})
        one = served(openshift, part, "--tls-min-version=VersionTLS12", "--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")
        assert old(one.port, SUITES[128]) and not old(one.port, SUITES[256])
        one = served(openshift, part, "--tls-min-version=VersionTLS99", "--tls-cipher-suites=NOT_A_CIPHER")
        assert old(one.port) and "VersionTLS99" in one.text and "NOT_A_CIPHER" in one.text
        one = served(openshift, part, "--tls-min-version=VersionTLS13")
        assert shakes_hands(one.port) and not old(one.port)


def test_the_kind_is_used_once_it_appears(tmp_path_factory, served):
    """Every `--platform-look`, by the controllers' own watch and by that of the webhooks' port."""
    cluster = Cluster(tmp_path_factory.mktemp("appears"))
    try:
        cluster.apply("crds", "--group", "inference.redhat.com")
        cluster.kubectl("create", "namespace", SYSTEM)
        cluster.kubectl("create", "namespace", "das-operator")
        cluster.apply("rbac", "--controllers", "das", "--webhooks")
        one = served(cluster, "controllers", "--platform-look=2s")
        wait_for("readiness", one.ready)

        def listed():
            return {watch["resource"]: watch["listed"] for watch in json.loads(one.get("/debug/watches"))}

        assert old(one.port) and not listed()["apiservers"]
        add_kind(cluster)
        profile(cluster, {"type": "Modern"})
        wait_for("the kind is listed", lambda: listed()["apiservers"])
        wait_for("TLS 1.2 is refused", lambda: not old(one.port))
        assert shakes_hands(one.port) and one.ready()
    finally:
        cluster.process.kill()
        cluster.process.wait()


def test_a_look_for_the_kind_has_its_limit(cluster):
    for value, said in (("0s", "--platform-look: at least 1s"), ("soon", "--platform-look")):
        for verb in (("controllers", "--controllers=das"), ("extender", "--systems=das", "--address=127.0.0.1:0")):
            done = run([ATHANOR, *verb, "--kubeconfig", cluster.config("athanor"), "--metrics-address=0", f"--platform-look={value}"])
            assert done.code == 2 and said in done.err, done.err


def test_flags_without_a_port_of_theirs_are_refused(cluster):
    refused = run([ATHANOR, "extender", "--tls-min-version=VersionTLS13"])
    assert refused.code == 2 and "requires --tls-cert-file or --metrics-secure" in refused.err
    done = run([ATHANOR, "controllers", "--kubeconfig", cluster.config("athanor"), "--controllers=das", "--tls-min-version=VersionTLS13", "--metrics-address=0"])
    assert done.code == 2 and "--webhook-address or --metrics-secure" in done.err
