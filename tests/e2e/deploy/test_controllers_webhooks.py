# SPDX-License-Identifier: Apache-2.0
"""The webhooks of `athanor controllers`, a process of its own with the rights of `athanor rbac --webhooks`, on an API server
that knows nothing of Kueue and Tekton but their kinds: refusals and defaults come through HTTPS, with a certificate that the
process makes, keeps in a Secret, tells to the configurations and renews while requests flow."""

import base64
import json
import os
import re
import signal
import subprocess
import time

import pytest
import yaml
from replica import Replica
from support import ATHANOR, DEADLINE, KUBECTL, TIMEOUT, free_port, run, wait_for

SYSTEM, SECRET = "athanor-system", "athanor-webhook-certificates"
ACCOUNT = f"system:serviceaccount:{SYSTEM}:athanor"
SYSTEMS = "kueue,tekton,appwrapper"
CONFIGURATIONS = ("validatingwebhookconfiguration/athanor", "mutatingwebhookconfiguration/athanor")
QUEUE = {
    "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "queue"},
    "spec": {"namespaceSelector": {}, "resourceGroups": [{
        "coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": "4"}]}]}]},
}  # fmt: skip


class Cluster:
    def __init__(self, folder):
        self.folder = folder
        tokens = folder / "tokens.csv"
        tokens.write_text(f'root-token,root,1,"system:masters"\nathanor-token,{ACCOUNT},2\n', encoding="utf-8")
        self.process = subprocess.Popen(
            [ATHANOR, "apiserver", "--secure-port=0", "--bind-address=127.0.0.1", "--authorization-mode=RBAC", f"--token-auth-file={tokens}"],
            stdout=subprocess.PIPE, stderr=(folder / "apiserver.log").open("w"), text=True,
        )
        self.server = self.process.stdout.readline().split()[1]
        for user in ("root", "athanor"):
            self.config(user)

    def config(self, user):
        path = self.folder / f"{user}.kubeconfig"
        path.write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": SYSTEM}}],
            "clusters": [{"name": "c", "cluster": {"server": self.server, "insecure-skip-tls-verify": True}}],
            "users": [{"name": "u", "user": {"token": f"{user}-token"}}],
        }), encoding="utf-8")  # fmt: skip
        return path

    def kubectl(self, *args, stdin=None, code=0):
        done = run([KUBECTL, "--kubeconfig", self.config("root"), *args], stdin=stdin)
        assert code is None or done.code == code, done.err
        return done

    def apply(self, *command, **variables):
        self.kubectl("apply", "--server-side", "-f", "-", stdin=run([ATHANOR, *command], env=os.environ | variables).out)

    def create(self, what, *flags, code=0):
        return self.kubectl("create", *flags, "-f", "-", stdin=json.dumps(what), code=code)

    def secret(self):
        done = self.kubectl("get", "secret", SECRET, "-n", SYSTEM, "-o", "json", code=None)
        return json.loads(done.out)["data"] if done.code == 0 else {}

    def bundles(self):
        found = [json.loads(self.kubectl("get", one, "-o", "json").out) for one in CONFIGURATIONS]
        return {hook["clientConfig"].get("caBundle", "") for one in found for hook in one["webhooks"]}


def start(cluster, name, port, *flags):
    command = [
        ATHANOR, "controllers", "--kubeconfig", cluster.config("athanor"), "--controllers", SYSTEMS, "--metrics-address=127.0.0.1:0",
        f"--webhook-address=127.0.0.1:{port}", f"--webhook-url=https://127.0.0.1:{port}", "--webhook-host=127.0.0.1", *flags,
    ]  # fmt: skip
    return Replica(command, cluster.folder / f"{name}.log", env={"POD_NAMESPACE": SYSTEM, "POD_NAME": name})


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    one = Cluster(tmp_path_factory.mktemp("webhooks"))
    try:
        for group in ("kueue.x-k8s.io", "tekton.dev", "workload.codeflare.dev"):
            one.apply("crds", "--group", group)
        one.kubectl("create", "namespace", SYSTEM)
        one.apply("rbac", "--controllers", SYSTEMS, "--webhooks")
        one.kubectl("wait", "--for=condition=Established", "crd", "--all", TIMEOUT)
        yield one
    finally:
        one.process.kill()
        one.process.wait()


@pytest.fixture(scope="module")
def replica(cluster):
    """One replica, and its webhooks registered, as if there had never been a certificate."""
    port = free_port()
    one = start(cluster, "first", port, "--record", cluster.folder / "record")
    try:
        wait_for("readiness", one.ready)
        cluster.apply("webhooks", "--controllers", SYSTEMS, "--url", f"https://127.0.0.1:{port}")
        wait_for("the bundle to be told", lambda: cluster.bundles() == {cluster.secret()["ca.crt"]})
        yield one
    finally:
        one.end(signal.SIGKILL)


def test_a_bad_object_is_refused_with_the_labs_words(cluster, replica):
    bad = json.loads(json.dumps(QUEUE))
    bad["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = "-1"
    said = cluster.create(bad, code=1).err
    assert (
        'admission webhook "vclusterqueue.kb.io" denied the request: spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: '
        'Invalid value: "-1": must be greater than or equal to 0' in said
    ), said
    run_ = {"apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "metadata": {"name": "r", "namespace": "default"}, "spec": {}}
    said = cluster.create(run_, code=1).err
    assert 'admission webhook "validation.webhook.pipeline.tekton.dev" denied the request: validation failed: ' in said, said


def test_a_good_object_is_defaulted(cluster, replica):
    cluster.create(QUEUE)
    assert json.loads(cluster.kubectl("get", "clusterqueue", "queue", "-o", "json").out)["metadata"]["finalizers"] == ["kueue.x-k8s.io/resource-in-use"]
    task = {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": "t", "namespace": "default"}, "spec": {"taskRef": {"name": "x"}}}
    stored = json.loads(cluster.create(task, "--dry-run=server", "-o", "json").out)
    assert stored["spec"]["timeout"] == "1h0m0s" and stored["spec"]["taskRef"]["kind"] == "Task"


def test_who_creates_an_appwrapper_may_create_what_it_wraps(cluster, replica):
    """The right of the requesting (here: impersonated) user is asked of the API server, by a SubjectAccessReview."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "wrapped-pod"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    wrapper = {
        "apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": {"name": "w", "namespace": "default"},
        "spec": {"components": [{"template": pod}]},
    }  # fmt: skip
    cluster.kubectl("create", "role", "wraps", "-n", "default", "--verb=create", "--resource=appwrappers.workload.codeflare.dev")
    cluster.kubectl("create", "rolebinding", "wraps", "-n", "default", "--role=wraps", "--user=ann")
    said = cluster.create(wrapper, "--as=ann", code=1).err
    assert "denied the request" in said and "User ann is not authorized to create pods in default" in said, said
    cluster.kubectl("create", "role", "pods", "-n", "default", "--verb=create", "--resource=pods")
    cluster.kubectl("create", "rolebinding", "pods", "-n", "default", "--role=pods", "--user=ann")
    cluster.create(wrapper, "--as=ann")
    # Each create asks afresh: a right that is taken away counts at once.
    cluster.kubectl("delete", "rolebinding", "pods", "-n", "default")
    again = {**wrapper, "metadata": {**wrapper["metadata"], "name": "w2"}}
    assert "User ann is not authorized to create pods in default" in cluster.create(again, "--as=ann", code=1).err


def test_a_labelled_job_waits_and_starts(cluster, replica):
    """On a cluster without JobSet, Ray and their like; nobody there runs its pods."""
    kueue = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
    cluster.create({**kueue, "kind": "LocalQueue", "metadata": {"name": "lq", "namespace": "default"}, "spec": {"clusterQueue": "queue"}})
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    job = {
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "waits", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }  # fmt: skip
    assert json.loads(cluster.create(job, "-o", "json").out)["spec"]["suspend"] is True
    cluster.create({**kueue, "kind": "ResourceFlavor", "metadata": {"name": "f"}, "spec": {"nodeLabels": {"pool": "a"}}})

    def stored():
        return json.loads(cluster.kubectl("get", "job", "waits", "-o", "json", "-n", "default").out)["spec"]

    wait_for("it starts", lambda: stored()["suspend"] is False)
    assert stored()["template"]["spec"]["nodeSelector"] == {"pool": "a"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "lq"}}, "spec": {"containers": [container]}}
    gated = json.loads(cluster.create(pod, "--dry-run=server", "-o", "json").out)
    assert gated["spec"]["schedulingGates"] == [{"name": "kueue.x-k8s.io/admission"}]


def test_a_bundle_that_somebody_removed_comes_back(cluster, replica):
    patch = '[{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]'
    cluster.kubectl("patch", CONFIGURATIONS[0], "--type=json", "-p", patch)
    wait_for("the bundle is back", lambda: cluster.bundles() == {cluster.secret()["ca.crt"]})


def test_another_replica_serves_the_same_certificate_and_nothing_was_denied(cluster, replica):
    before = cluster.secret()
    second = start(cluster, "second", free_port())
    try:
        wait_for("readiness", second.ready)
        wait_for("its word of the certificate", lambda: "a certificate is served" in second.text)
        assert "renewed" not in second.text
        assert cluster.secret() == before
    finally:
        assert second.end() == 0
    assert not replica.denied()
    assert 'athanor_webhook_requests_total{allowed="false",webhook="vclusterqueue.kb.io"} 1' in replica.get("/metrics")


def test_the_certificate_is_renewed_while_requests_flow(cluster, replica):
    """A life of 16 s is renewed with 4 s left; the leader of before ends first, and its certificate is taken over."""
    old = cluster.secret()
    address = re.search(r'"webhooks are served".*?"address":"127.0.0.1:(\d+)"', replica.text)
    assert replica.end() == 0
    brief = start(cluster, "brief", address.group(1), "--webhook-certificate-life=16s")
    try:
        wait_for("readiness", brief.ready)
        assert cluster.secret()["ca.crt"] == old["ca.crt"]
        # What was made for a year has more than 4 s left: it goes when it is not there.
        cluster.kubectl("delete", "secret", SECRET, "-n", SYSTEM)
        wait_for("a new certificate", lambda: cluster.secret().get("ca.crt", old["ca.crt"]) != old["ca.crt"])
        wait_for("the bundle to be told", lambda: cluster.bundles() == {cluster.secret()["ca.crt"]})
        seen, end, asked = set(), time.monotonic() + DEADLINE, 0
        while time.monotonic() < end and len(seen) < 3:
            named = json.loads(json.dumps(QUEUE))
            named["metadata"]["name"] = f"queue-{asked}"
            cluster.create(named, "--dry-run=server")
            asked += 1
            seen.add(base64.b64decode(cluster.secret()["tls.crt"]))
        assert len(seen) >= 3, f"{len(seen)} certificates in {asked} requests"
    finally:
        brief.end(signal.SIGKILL)


def test_appwrappers_controllers_start_once_the_certificates_are_in_place(tmp_path):
    """docs/spec/appwrapper.md 8.3, by a Secret that cannot be written at first. No webhook is registered: the bundle has no place to go."""
    cluster = Cluster(tmp_path)
    health, operator = free_port(), None
    try:
        cluster.apply("crds", "--group", "workload.codeflare.dev")
        cluster.kubectl("create", "namespace", SYSTEM)
        cluster.apply("rbac", "--controllers", "appwrapper", "--webhooks")
        secret = "appwrapper-webhook-server-cert"
        cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": secret, "namespace": SYSTEM}, "immutable": True})
        cluster.kubectl("create", "role", "configuration", "-n", SYSTEM, "--verb=*", "--resource=configmaps")
        cluster.kubectl("create", "rolebinding", "configuration", "-n", SYSTEM, "--role=configuration", f"--user={ACCOUNT}")
        cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", TIMEOUT)
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        metadata = {"name": "w", "namespace": "default"}
        cluster.create({"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": metadata, "spec": {"components": [{"template": pod}]}})
        command = [
            ATHANOR, "controllers", "--systems=appwrapper", "--kubeconfig", cluster.config("athanor"), "--metrics-bind-address=127.0.0.1:0",
            f"--health-address=127.0.0.1:{health}", f"--webhook-address=127.0.0.1:{free_port()}", "--log-format=json",
        ]  # fmt: skip
        operator = Replica(command, tmp_path / "operator.log", env={"NAMESPACE": SYSTEM})

        def seen():
            return json.loads(cluster.kubectl("get", "appwrapper", "w", "-n", "default", "-o", "json").out).get("status")

        def listed():
            return {one["resource"] for one in json.loads(operator.get("/debug/watches")) if one["listed"]}

        # The caches of what there is are full, so nothing but the certificates is missing.
        wait_for("the caches", lambda: {"appwrappers", "pods", "nodes"} <= listed())
        time.sleep(1)
        assert seen() is None and "controllers may run" not in operator.text, operator.text[-3000:]
        cluster.kubectl("delete", "secret", secret, "-n", SYSTEM)
        wait_for("the controllers", seen)
        assert operator.text.index("a certificate is served") < operator.text.index("controllers may run")
    finally:
        if operator is not None:
            operator.end()
        cluster.process.kill()
        cluster.process.wait()


def lines(replica, message):
    return [one for one in map(json.loads, replica.text.splitlines()) if one["msg"] == message]


def test_each_system_works_where_its_own_settings_say(tmp_path):
    """The namespaces of Fournos and Hearth are theirs alone: an AppWrapper anywhere has a status."""
    cluster, one = Cluster(tmp_path), None
    places = {"FOURNOS_WORKLOAD_NAMESPACE": "jobs", "FOURNOS_SECRETS_NAMESPACE": "secrets",
              "HEARTH_NAMESPACE": "hearth", "HEARTH_SECRETS_NAMESPACE": "secrets", "HEARTH_EXECUTION_NAMESPACE": "jobs"}  # fmt: skip
    command = [ATHANOR, "controllers", "--controllers", "fournos,hearth,appwrapper,das", "--kubeconfig", cluster.config("root"),
               "--metrics-address=127.0.0.1:0", "--leader-elect=false", "--log-format=json"]  # fmt: skip
    said = "appwrapper watches appwrappers in jobs alone, and its webhook mappwrapper.kb.io decides on them in every namespace"

    def start_with(name, *flags):
        return Replica([*command, *flags], tmp_path / f"{name}.log", env={**places, "POD_NAMESPACE": SYSTEM, "POD_NAME": name})

    try:
        for group in ("fournos.dev", "workload.codeflare.dev", "inference.redhat.com", "kueue.x-k8s.io", "tekton.dev"):
            cluster.apply("crds", "--group", group)
        cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", TIMEOUT)
        for namespace in ("jobs", "secrets", "hearth", SYSTEM, "other"):
            cluster.kubectl("create", "namespace", namespace)
        one = start_with("own-places")
        wait_for("the address of its metrics", lambda: '"metrics are served"' in one.text)
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        cluster.create({"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": {"name": "w", "namespace": "other"},
                        "spec": {"components": [{"template": pod}]}})  # fmt: skip
        wait_for("a phase", lambda: cluster.kubectl("get", "appwrapper", "w", "-n", "other", "-o", "jsonpath={.status.phase}").out)
        scopes = {line["system"]: line["namespaces"] for line in lines(one, "a system is run")}
        assert scopes == {"fournos": "hearth,jobs,secrets", "hearth": "hearth,jobs,secrets", "appwrapper": "*", "das": "*"}
        assert not lines(one, "objects that a webhook elsewhere lets in are not watched")
        one.end()
        # Webhooks of its own, and the controllers that would not see what they let in.
        refused = start_with("refused", "-n", "jobs", f"--webhook-address=127.0.0.1:{free_port()}")
        assert refused.process.wait(DEADLINE) == 1
        assert said in refused.text, refused.text
        # Webhooks of another process, perhaps.
        one = start_with("warned", "-n", "jobs")
        (warning,) = wait_for("the warning", lambda: lines(one, "objects that a webhook elsewhere lets in are not watched"))
        assert warning["level"] == "warn" and said in warning["error"], warning
    finally:
        if one is not None:
            one.end(signal.SIGKILL)
        cluster.process.kill()
        cluster.process.wait()


def test_a_second_signal_ends_the_operator_at_once(tmp_path):
    """docs/spec/appwrapper.md 8.1: the first SIGTERM waits here for an API server that does not answer any more."""
    cluster, operator = Cluster(tmp_path), None
    try:
        cluster.apply("crds", "--group", "workload.codeflare.dev")
        cluster.kubectl("create", "namespace", SYSTEM)
        cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", TIMEOUT)
        command = [
            ATHANOR, "controllers", "--systems=appwrapper", "--kubeconfig", cluster.config("root"), "--metrics-bind-address=127.0.0.1:0",
            "--health-address=127.0.0.1:0", "--leader-elect=true", "--log-format=json",
        ]  # fmt: skip
        operator = Replica(command, tmp_path / "operator.log", env={"NAMESPACE": SYSTEM, "ENABLE_WEBHOOKS": "false"})
        wait_for("leadership", operator.leads)
        cluster.process.send_signal(signal.SIGSTOP)
        operator.process.send_signal(signal.SIGTERM)
        wait_for("the end to begin", lambda: '"ending"' in operator.text)
        operator.process.send_signal(signal.SIGTERM)
        time.sleep(0.7)
        assert operator.process.poll() is None, "the first signal waits for the Lease; a second one at once is the same, as `timeout` sends it"
        assert operator.end() == 1
        assert "a second signal; the program ends now" in operator.text
    finally:
        if operator is not None:
            operator.end(signal.SIGKILL)
        cluster.process.kill()
        cluster.process.wait()


def test_the_numa_operator_converts_both_versions_losslessly(tmp_path):
    """docs/spec/numa.md 2.5: `numaresources-operator --enable-webhooks`; the API server believes the bundle that it writes into the definitions."""
    cluster = Cluster(tmp_path)
    port, operator = free_port(), None
    try:
        definitions = list(yaml.safe_load_all(run([ATHANOR, "crds", "--group", "nodetopology.openshift.io"]).out))
        names = [one["metadata"]["name"] for one in definitions]
        for one in definitions:
            client = {"url": f"https://127.0.0.1:{port}/convert"}
            one["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}}
        cluster.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(definitions))
        cluster.kubectl("create", "namespace", SYSTEM)
        cluster.apply("rbac", "--controllers", "numa", "--webhooks", "--webhook-secret", "numaresources-webhook-server-cert", "--webhook-crd", ",".join(names), NUMA_NAMESPACE=SYSTEM)
        cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", TIMEOUT)
        selector = {"matchLabels": {"pool": "a"}}
        old = {
            "apiVersion": "nodetopology.openshift.io/v1alpha1", "kind": "NUMAResourcesOperator", "metadata": {"name": "numaresourcesoperator"},
            "spec": {"nodeGroups": [{"machineConfigPoolSelector": selector, "disablePodsFingerprinting": True}]},
        }  # fmt: skip
        assert "conversion webhook" in cluster.create(old, code=1).err, "nothing converts yet"
        program = tmp_path / "numaresources-operator"
        program.symlink_to(ATHANOR)
        command = [
            program, "--enable-webhooks", f"--webhook-port={port}", "--webhook-host=127.0.0.1", f"--webhook-url=https://127.0.0.1:{port}",
            "--platform=kubernetes", "--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.2:0",
        ]  # fmt: skip
        operator = Replica(command, tmp_path / "operator.log", env={"KUBECONFIG": str(cluster.config("athanor")), "NAMESPACE": SYSTEM})

        def bundled():
            found = json.loads(cluster.kubectl("get", "crd", *names, "-o", "json").out)["items"]
            return all(one["spec"]["conversion"]["webhook"]["clientConfig"].get("caBundle") for one in found)

        def read(kind, version):
            return json.loads(cluster.kubectl("get", "--raw", f"/apis/nodetopology.openshift.io/{version}/{kind}s/{kind}").out)

        wait_for("the bundles", bundled)
        wait_for("the conversion", lambda: cluster.create(old, code=None).code == 0)
        (group,) = read("numaresourcesoperator", "v1")["spec"]["nodeGroups"]
        assert group["config"]["podsFingerprinting"] == "Disabled" and "disablePodsFingerprinting" not in group
        assert group["machineConfigPoolSelector"] == selector
        kind = "numaresourcesscheduler"
        spec = {"imageSpec": "i:1", "replicas": 2, "scoringStrategy": {"type": "MostAllocated"}}
        cluster.create({"apiVersion": "nodetopology.openshift.io/v1", "kind": "NUMAResourcesScheduler", "metadata": {"name": kind}, "spec": spec})
        stored, shown = read(kind, "v1"), read(kind, "v1alpha1")
        assert shown["spec"]["imageSpec"] == "i:1" and not set(shown["spec"]) & {"replicas", "scoringStrategy"}
        shown["metadata"] = {key: shown["metadata"][key] for key in ("name", "annotations")}
        shown["spec"]["imageSpec"] = "i:2"
        cluster.kubectl("replace", "-f", "-", stdin=json.dumps(shown))
        assert read(kind, "v1")["spec"] == {**stored["spec"], "imageSpec": "i:2"}, "what v1alpha1 lacks is kept"
    finally:
        if operator is not None:
            operator.end(signal.SIGKILL)
        cluster.process.kill()
        cluster.process.wait()


def test_the_record_of_the_first_replica_is_decided_alike_by_the_same_binary(cluster, replica):
    """Runs last: the replica has ended."""
    record = cluster.folder / "record"
    assert record.stat().st_mode & 0o777 == 0o600
    done = run([ATHANOR, "replay", record, "-o", "json"])
    assert done.code == 0, done.out[-2000:] + done.err
    *plans, summary = [json.loads(line) for line in done.out.splitlines()]
    assert summary["differences"] == 0 and summary["decisions"] == len(plans) > 0
    assert any(plan["now"].get("target", {}).get("name") == "queue" for plan in plans), "the ClusterQueue's status"
    # Another decision than the recorded one is told, with both.
    lines = record.read_text(encoding="utf-8").splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.startswith('["r"') and '"controller":"kueue-clusterqueue"' in line)
    lines[at] = lines[at].replace('"controller":"kueue-', '"controller":"other-', 1)
    changed = cluster.folder / "changed"
    changed.write_text("".join(lines), encoding="utf-8")
    told = run([ATHANOR, "replay", changed, "--differences"])
    assert told.code == 1 and re.search(r"^- .*: other-", told.out, re.M) and re.search(r"^\+ .*: kueue-", told.out, re.M), told.out
    assert run([ATHANOR, "replay", __file__]).code == 2
