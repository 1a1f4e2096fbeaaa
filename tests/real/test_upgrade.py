# SPDX-License-Identifier: Apache-2.0
"""Two versions of the controllers during an upgrade and its way back: an earlier commit's program and manifests (scripts/real earlier), then
this tree's, on the real control plane. Nothing is lost and nothing is made twice."""

import os
import pathlib
import signal
from collections import Counter

import pytest
import yaml
from support import ATHANOR, ROOT, wait_for
from test_rights import DEPLOY, SLOW, Plane, Process, add_nodes, kustomized, let_in, start_helpers

EARLIER = pathlib.Path(os.environ.get("EARLIER", "/nowhere"))  # its tree, with build/dev/athanor
VERSIONS = {"earlier": (EARLIER / "deploy", EARLIER / "build/dev/athanor"), "this": (DEPLOY, ATHANOR)}
JOBS = "psap-automation"
GROUPS = "/apis/workload.codeflare.dev/v1beta2/namespaces/default/appwrappers"
FOLDERS = {"kustomize/overlays/default": "athanor-controllers", "appwrapper/default": "appwrapper-controller-manager", "das": "das-operator"}
CLAIMS = "/apis/inference.redhat.com/v1alpha1/namespaces/das-operator/dasoperators/cluster"


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    folder = tmp_path_factory.mktemp("upgrade")
    one, helpers = Plane(folder / "plane"), None
    try:
        one.start()
        helpers = start_helpers(one, folder)
        add_nodes(one)
        yield one
    finally:
        if helpers is not None:
            helpers.end()
        one.close()


class Installed:
    """One folder of deploy/, as `kubectl apply -k` installs it from one version's tree, and the replicas that run."""

    def __init__(self, plane, folder):
        self.plane, self.folder, self.replicas = plane, folder, []

    def start(self, version):
        """Applies the version's manifests and starts its program beside those that run."""
        deploy, program = VERSIONS[version]
        objects = [one for one in kustomized(self.folder, deploy) if one["kind"] != "ServiceMonitor"]
        self.plane.apply(*objects)
        self.plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        let_in(self.plane, objects)
        (deployment,) = [one for one in objects if one["kind"] == "Deployment" and one["metadata"]["name"] == FOLDERS[self.folder]]
        one = Process(self.plane, objects, deployment, program=program)
        self.replicas.append(one)
        wait_for(f"{version} of {self.folder} is there", lambda: '"health is served"' in one.text or '"metrics are served"' in one.text, SLOW)
        return one

    def replace(self, version, number=signal.SIGTERM):
        """As a Deployment rolls: the new one first, then the end of the old one."""
        old = self.replicas[-1]
        new = self.start(version)
        yield new
        old.end(number)

    def end(self):
        for one in self.replicas:
            one.end()


@pytest.fixture(scope="module")
def systems(plane):
    made = {folder: Installed(plane, folder) for folder in FOLDERS}
    try:
        yield made
    finally:
        for one in made.values():
            one.end()


def prepare_jobs(plane):
    for file in sorted((ROOT / "examples/fournos/setup").glob("*.yaml")):
        text = file.read_text(encoding="utf-8").replace("fournos-local-dev", JOBS)
        plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=text, timeout=SLOW)


def add_work(plane, prefix):
    """Three jobs and three groups, whose pods sleep for some seconds; returns their names."""
    names = [f"{prefix}-{i}" for i in range(3)]
    job = yaml.safe_load((ROOT / "examples/fournos/sample-job.yaml").read_text(encoding="utf-8"))
    pod = {"name": "c", "image": "busybox", "command": ["sleep", "6"], "resources": {"requests": {"cpu": "1"}}}
    for name in names:
        body = {**job, "metadata": {"name": name, "namespace": JOBS}}
        assert plane.http("POST", f"/apis/fournos.dev/v1/namespaces/{JOBS}/fournosjobs", body).code == 201
        template = {"metadata": {"name": name}, "apiVersion": "v1", "kind": "Pod", "spec": {"restartPolicy": "Never", "containers": [pod]}}
        body = {
            "apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": {"name": name},
            "spec": {"suspend": False, "components": [{"template": template}]},
        }  # fmt: skip
        wait_for("it is created", lambda body=body: plane.http("POST", GROUPS, body).code in (201, 409), SLOW)
    return names


def work_succeeds(plane, names):
    for name in names:
        plane.wait_phase(name, "Succeeded", JOBS, SLOW)
        wait_for(f"group {name} succeeds", lambda name=name: plane.get(f"{GROUPS}/{name}").get("status", {}).get("phase") == "Succeeded", SLOW)


def made_twice(plane):
    """What was created more than once under one name, by whichever version."""
    made = Counter()
    for account in ("athanor-system:athanor", "appwrapper-system:appwrapper-controller-manager"):
        for (verb, _, resource), code, event in plane.requests(f"system:serviceaccount:{account}"):
            if verb == "create" and code == 201 and resource in ("pipelineruns", "pods", "workloads"):
                made[resource, event["objectRef"].get("namespace"), event["objectRef"].get("name")] += 1
    return {what: count for what, count in made.items() if count > 1 and what[2]}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["rolls", "crashes"])
def test_an_upgrade_and_its_way_back_lose_nothing(plane, systems, number):
    tag = "rolls" if number == signal.SIGTERM else "crashes"
    for one in systems.values():
        if not one.replicas:
            one.start("earlier")
    prepare_jobs(plane)
    work = add_work(plane, f"{tag}-earlier")
    for version in ("this", "earlier"):
        handing = {folder: one.replace(version, number) for folder, one in systems.items()}
        for each in handing.values():
            next(each)
        work += add_work(plane, f"{tag}-both-{version}")  # both versions run
        for each in handing.values():
            assert next(each, None) is None
        work += add_work(plane, f"{tag}-after-{version}")
        try:
            work_succeeds(plane, work)
        except BaseException:
            print(*(f"{folder}: {replica.text[-3000:]}" for folder, one in systems.items() for replica in one.replicas[-2:]))
            raise
    assert made_twice(plane) == {}
    runs = [one["metadata"]["name"] for one in plane.get(f"/apis/tekton.dev/v1/namespaces/{JOBS}/pipelineruns")["items"]]
    assert sorted(run for run in runs if run in work) == sorted(work), "each job ran once"
    conditions = {one["type"]: one["status"] for one in plane.get(CLAIMS).get("status", {}).get("conditions", [])}
    assert not {name for name, status in conditions.items() if name.endswith("Degraded") and status == "True"}, conditions
