# SPDX-License-Identifier: Apache-2.0
"""Faults: a kill in the middle of a thousand creates, a full disk, pods that do not want to die."""

import http.client
import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import threading

import pytest
from support import ATHANOR, DEADLINE, JOBS, ROOT, alive, forge, pids_of, sleep_argument, wait_for

JOBS_PATH = f"/apis/fournos.dev/v1/namespaces/{JOBS}/fournosjobs"


class Writer(threading.Thread):
    """Creates jobs over one connection until told to stop or the server is gone; notes what was acknowledged."""

    def __init__(self, lab, number, count, half):
        super().__init__()
        self.lab, self.number, self.count, self.half = lab, number, count, half
        self.acknowledged, self.refused = {}, []

    def run(self):
        connection = self.lab.connection()
        headers = {"Content-Type": "application/json"}
        if self.lab.token:
            headers["Authorization"] = f"Bearer {self.lab.token}"
        try:
            for i in range(self.count):
                name = f"kill-{self.number}-{i:03d}"
                body = {"metadata": {"name": name}, "apiVersion": "fournos.dev/v1", "kind": "FournosJob", "spec": forge()}
                connection.request("POST", JOBS_PATH, json.dumps(body), headers)
                answer = connection.getresponse()
                text = answer.read()
                if answer.status == 201:
                    self.acknowledged[name] = json.loads(text)["metadata"]["uid"]
                    self.half.release()
                else:
                    self.refused.append(text)
        except OSError:
            return
        except Exception as error:  # noqa: BLE001 - http.client raises its own kinds when the server dies
            if type(error).__module__ != "http.client":
                raise


def test_kill_in_the_middle_of_a_thousand_creates(make_lab):
    lab = make_lab("--pods", "timed", name="kill").start()
    wait_for("the namespace", lambda: lab.http("GET", f"/api/v1/namespaces/{JOBS}").code == 200)
    half = threading.Semaphore(0)
    writers = [Writer(lab, number, 250, half) for number in range(4)]
    for writer in writers:
        writer.start()
    runs_path = f"/apis/tekton.dev/v1/namespaces/{JOBS}/pipelineruns"
    runs_before = {}
    for number in range(500):
        assert half.acquire(timeout=DEADLINE), "creates do not get through"
        if number == 250:  # not right before the kill, which has to come in the middle
            runs_before = {r["metadata"]["name"]: r["metadata"]["uid"] for r in lab.get(runs_path)["items"]}
    os.kill(lab.process.pid, signal.SIGKILL)
    lab.process.wait(DEADLINE)
    for writer in writers:
        writer.join(DEADLINE)
    acknowledged = {k: v for writer in writers for k, v in writer.acknowledged.items()}
    assert 500 <= len(acknowledged) < 1000, "the kill came too late to be in the middle"
    assert not [r for writer in writers for r in writer.refused]

    lab.start()
    jobs = {j["metadata"]["name"]: j for j in lab.get(JOBS_PATH)["items"]}
    lost = [name for name, uid in acknowledged.items() if jobs.get(name, {}).get("metadata", {}).get("uid") != uid]
    assert not lost, f"{len(lost)} acknowledged jobs are gone, such as {lost[:3]}"

    # A second run would show as a new uid of the same name: a watch from the restart on sees each one made and removed.
    def all_done():
        phases = {j["metadata"]["name"]: j.get("status", {}).get("phase") for j in lab.get(JOBS_PATH)["items"]}
        assert "Failed" not in phases.values()
        return all(phase == "Succeeded" for phase in phases.values())

    wait_for("every job to finish", all_done, deadline=600, interval=0.5)
    runs = lab.get(runs_path)["items"]
    after = {r["metadata"]["name"]: r["metadata"]["uid"] for r in runs}
    twice = [name for name, uid in runs_before.items() if after.get(name) != uid]
    assert not twice, f"PipelineRuns made anew: {twice[:3]}"
    owners = [r["metadata"]["ownerReferences"][0]["uid"] for r in runs]
    assert len(owners) == len(set(owners)) == len(jobs)


class Changer(threading.Thread):
    """Creates, changes and deletes maps of its own until the server is gone; knows what was acknowledged."""

    def __init__(self, lab, number, path):
        super().__init__()
        self.lab, self.number, self.path = lab, number, path
        self.known, self.unsure, self.writes = {}, set(), 0

    def run(self):
        connection = self.lab.connection()
        dice = random.Random(self.number)
        try:
            while True:
                name = f"c{self.number}-{dice.randrange(8)}"
                self.unsure.add(name)  # until the answer is there
                if name not in self.known:
                    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"n": str(self.writes)}}
                    code, answer = self.ask(connection, "POST", self.path, body)
                    assert code == 201, answer
                elif dice.random() < 0.3:
                    code, answer = self.ask(connection, "DELETE", f"{self.path}/{name}")
                    assert code == 200, answer
                    del self.known[name]
                    answer = None
                else:
                    code, answer = self.ask(connection, "PATCH", f"{self.path}/{name}", {"data": {"n": str(self.writes)}})
                    assert code == 200, answer
                if answer:
                    self.known[name] = int(answer["metadata"]["resourceVersion"])
                self.unsure.discard(name)
                self.writes += 1
        except (OSError, http.client.HTTPException):
            return

    def ask(self, connection, method, path, body=None):
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": kind})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def test_killed_again_and_again_it_keeps_what_it_acknowledged(make_lab):
    """A7. E2E_KILLS is how often; 100 is the whole check."""
    lab = make_lab("--pods", "timed", "--controllers", "", name="kills").start()
    path = "/api/v1/namespaces/default/configmaps"
    newest = 0
    for kill in range(int(os.environ.get("E2E_KILLS", "4"))):
        begin = lab.get(path)
        state = {one["metadata"]["name"]: int(one["metadata"]["resourceVersion"]) for one in begin["items"]}
        version = int(begin["metadata"]["resourceVersion"])
        assert version >= newest, "versions went back"
        changers = [Changer(lab, number, path) for number in range(3)]
        for changer in changers:
            changer.known = {name: at for name, at in state.items() if name.startswith(f"c{changer.number}-")}
            changer.start()
        wait_for("enough writes", lambda: sum(c.writes for c in changers) >= 60 + 10 * (kill % 5), interval=0.01)
        os.kill(lab.process.pid, signal.SIGKILL)
        lab.process.wait(DEADLINE)
        for changer in changers:
            changer.join(DEADLINE)
        lab.start()
        after = lab.get(path)
        now = {one["metadata"]["name"]: int(one["metadata"]["resourceVersion"]) for one in after["items"]}
        newest = int(after["metadata"]["resourceVersion"])
        for changer in changers:
            mine = {name: at for name, at in now.items() if name.startswith(f"c{changer.number}-")}
            for name in set(mine) | set(changer.known):
                assert name in changer.unsure or mine.get(name) == changer.known.get(name), (kill, name, changer.known.get(name), mine.get(name))
        # What the log tells of the time before the kill leads to the state behind it.
        replayed, last = dict(state), version
        for event in events_until(lab, f"{path}?watch=1&timeoutSeconds={DEADLINE:.0f}&allowWatchBookmarks=true&resourceVersion={version}", newest):
            at = int(event["object"]["metadata"]["resourceVersion"])
            assert at > last, "twice, or out of order"
            last, name = at, event["object"]["metadata"]["name"]
            if event["type"] == "DELETED":
                del replayed[name]
            else:
                assert (name in replayed) == (event["type"] == "MODIFIED"), event
                replayed[name] = at
        assert replayed == now


def events_until(lab, path, newest):
    """Events of a watch; a mark is written so that it has an end."""
    connection = lab.connection()
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        mark = lab.http("POST", path.split("?")[0], {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "mark-"}})
        assert mark.code == 201 and int(mark.json["metadata"]["resourceVersion"]) > newest, mark.text
        name = mark.json["metadata"]["name"]
        for line in answer:
            event = json.loads(line)
            if event["type"] == "BOOKMARK":
                continue
            assert event["type"] in ("ADDED", "MODIFIED", "DELETED"), event
            if event["object"]["metadata"]["name"] == name:
                break
            yield event
        assert lab.http("DELETE", f"{path.split('?')[0]}/{name}").code == 200
    finally:
        connection.close()


def fill(mount, keep):
    """Writes a file until the file system has less than `keep` bytes left."""
    with open(mount / "ballast", "ab", buffering=0) as ballast:
        while True:
            free = os.statvfs(mount)
            left = free.f_bavail * free.f_frsize
            if left <= keep:
                return
            ballast.write(b"\0" * min(65536, left - keep if left - keep > 4096 else 4096))


def start_with_small_disk(lab):
    """A file system of 48 MiB that only this lab sees; the test reaches it through /proc."""
    lab.start(wrapper=["unshare", "-Urm", "sh", "-c", f'mount -t tmpfs -o size=48m t {lab.data} && exec "$0" "$@"'], ready=False)
    mount = pathlib.Path(f"/proc/{lab.process.pid}/root{lab.data}")
    wait_for("the lab's own mount", lambda: lab.address and (mount / "admin.kubeconfig").exists())
    (lab.data / "admin.kubeconfig").write_bytes((mount / "admin.kubeconfig").read_bytes())
    wait_for("the lab is ready", lab._ready)
    return mount


def can_mount(folder):
    probe = ["unshare", "-Urm", "mount", "-t", "tmpfs", "-o", "size=1m", "t", str(folder)]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def write_until_refused(lab, path, body):
    """Creates until three in a row are refused; the names that were acknowledged, and those that were not."""
    acknowledged, refused = [], []
    for i in range(400):
        name = f"full-{i}"
        answer = lab.http("POST", path, {"metadata": {"name": name}, "data": body})
        if answer.code == 201:
            acknowledged.append(name)
            continue
        assert answer.code >= 500 and answer.json["kind"] == "Status", answer.text
        refused.append(name)
        if len(refused) == 3:
            return acknowledged, refused
    raise AssertionError(f"the disk never became full ({len(acknowledged)} writes)")


@pytest.mark.parametrize("how", ["file system", "file size"])
def test_a_full_disk_is_an_error_to_the_writer_and_passes(make_lab, how):
    lab = make_lab("--controllers", "", name="full")
    lab.data.mkdir()
    mount = None
    if how == "file system":
        if not can_mount(lab.data):
            pytest.skip("no user namespaces here; the other variant covers the same with a limit on file sizes")
        mount = start_with_small_disk(lab)
    else:
        lab.start(restore_signals=False)  # SIGXFSZ stays ignored: the write fails instead
    path = "/api/v1/namespaces/default/configmaps"
    body = {"a": "x" * 200_000}
    assert lab.http("POST", path, {"metadata": {"name": "before"}, "data": body}).code == 201

    if mount:
        fill(mount, 0)
    else:
        size = max(f.stat().st_size for f in lab.data.rglob("*") if f.is_file())
        resource.prlimit(lab.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    acknowledged, refused = write_until_refused(lab, path, body)
    assert lab.process.poll() is None, "a full disk ended the server"
    assert lab.http("GET", path + "/before").code == 200, "what is on disk can be read"
    for name in refused:
        assert lab.http("GET", f"{path}/{name}").code != 200, "a read of what is not stored would be a lie"

    if mount:
        (mount / "ballast").unlink()
    else:
        resource.prlimit(lab.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    wait_for("writing again", lambda: lab.http("POST", path, {"metadata": {"name": "after"}}).code in (201, 409))
    # A refused write may have come true meanwhile, as with any server that lost its disk in the middle; it must then stay true.
    now = {name: lab.http("GET", f"{path}/{name}").code for name in [*acknowledged, *refused, "before", "after"]}
    assert {now[name] for name in [*acknowledged, "before", "after"]} == {200}
    assert {now[name] for name in refused} <= {200, 404}
    if not mount:
        assert lab.stop(signal.SIGKILL) == -signal.SIGKILL
        lab.start()
        assert {name: lab.http("GET", f"{path}/{name}").code for name in now} == now


def test_a_config_map_without_data_ends_neither_the_lab_nor_its_next_start(make_lab):
    """Its label names a target; whoever may write ConfigMaps of one namespace can set it."""
    lab = make_lab("--lab", str(ROOT / "examples/hearth/lab.yaml")).start()
    maps = "/api/v1/namespaces/default/configmaps"
    for i, data in enumerate((None, {}, {"nodes": ""}, {"nodes": "[" * 5000}, {"faults": "a: *b"})):
        body = {"metadata": {"name": f"m{i}", "labels": {"athanor.dev/emulated-target": f"x{i}"}}}
        assert lab.http("POST", maps, body | ({} if data is None else {"data": data})).code == 201
    wait_for("the lab says what is wrong with them", lambda: "InvalidTarget" in json.dumps(lab.get("/api/v1/namespaces/default/events")))
    for _ in range(2):
        assert lab.http("GET", "/readyz").code == 200
        assert lab.stop() == 0, lab.err
        lab.start()


def test_logs_of_ended_pods_outlive_a_restart(make_lab):
    lab = make_lab(name="logs").start()
    pods = "/api/v1/namespaces/default/pods"
    for name in ("kept", "gone"):
        pod = {"metadata": {"name": name}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox", "command": ["echo", name]}]}}
        assert lab.http("POST", pods, pod).code == 201
        wait_for("its end", lambda name=name: lab.get(f"{pods}/{name}")["status"].get("phase") == "Succeeded")
    uids = {name: lab.get(f"{pods}/{name}")["metadata"]["uid"] for name in ("kept", "gone")}
    lab.stop(signal.SIGKILL)
    (lab.data / "pods" / uids["gone"] / "logs" / "c.log").unlink()
    (lab.data / "pods" / "nobody").mkdir()
    lab.start()
    assert lab.http("GET", f"{pods}/kept/log").text == "kept\n"
    lost = lab.http("GET", f"{pods}/gone/log")
    assert (lost.code, lost.json["message"]) == (404, 'the log of container "c" in pod "gone" is not on its node any more')
    assert lab.http("GET", f"{pods}/kept/log?previous=true").json["message"] == 'previous terminated container "c" in pod "kept" not found'
    assert not (lab.data / "pods" / "nobody").exists(), "files of a pod that is no more"


def test_a_start_on_a_full_disk_says_what_is_missing(make_lab, tmp_path):
    lab = make_lab("--controllers", "", name="fills").start()
    path = "/api/v1/namespaces/default/configmaps"
    assert lab.http("POST", path, {"metadata": {"name": "kept"}}).code == 201
    lab.stop(signal.SIGKILL)
    disk = tmp_path / "disk"
    disk.mkdir()
    if not can_mount(disk):
        pytest.skip("no user namespaces here")
    script = (
        f"mount -t tmpfs -o size=48m t {disk} && cp -a {lab.data}/. {disk} && rm -f {disk}/store.db-shm; cat /dev/zero >{disk}/ballast 2>/dev/null; "
        f"timeout 60 {ATHANOR} up --data {disk} --port 0 --pods timed --controllers ''; echo code $?; "
        f"rm {disk}/ballast; {ATHANOR} backup {tmp_path}/after --data {disk} && echo saved"
    )
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", script], capture_output=True, text=True, check=False)
    assert "code 1" in done.stdout, done
    assert f"the disk of {disk} is full: a start needs 8 MiB, 0 KiB are free" in done.stderr
    assert "saved" in done.stdout, done
    restored = make_lab("--controllers", "", name="restored")
    assert subprocess.run([ATHANOR, "restore", tmp_path / "after", "--data", restored.data], check=False).returncode == 0
    assert restored.start().http("GET", f"{path}/kept").code == 200


STUBBORN = 'trap "" TERM; (trap "" TERM; sleep {0}) & while :; do sleep {1}; done'


def test_a_pod_that_ignores_sigterm_dies_after_its_grace_with_its_children(lab, ns):
    child, parent = sleep_argument(), sleep_argument()
    grace = 5  # longer than the requests below take on a slow machine
    command = ["sh", "-c", STUBBORN.format(child, parent)]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "stubborn"},
        "spec": {"terminationGracePeriodSeconds": grace, "containers": [{"name": "c", "image": "busybox", "command": command}]},
    }
    assert lab.http("POST", f"/api/v1/namespaces/{ns}/pods", pod).code == 201
    pids = wait_for("its processes", lambda: pids_of(child) and pids_of(parent) and pids_of(child) + pids_of(parent))
    path = f"/api/v1/namespaces/{ns}/pods/stubborn"
    assert lab.http("DELETE", path).code == 200
    dying = lab.http("GET", path)
    assert dying.code == 200 and dying.json["metadata"]["deletionGracePeriodSeconds"] == grace
    assert any(alive(p) for p in pids), "killed before its grace was over"
    wait_for("the pod to go", lambda: lab.http("GET", path).code == 404)
    # A kill takes effect when the kernel gets round to it.
    wait_for("no child outlives its pod", lambda: not [p for p in pids + pids_of(child) + pids_of(parent) if alive(p)])


@pytest.mark.parametrize("force", [False, True])
def test_exit_codes_and_restarts_are_those_of_the_process(lab, ns, force):
    command = "kill -9 $$$$" if force else "exit 42"  # $$ is an escaped $ in a container's command
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "ends"},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox", "command": ["sh", "-c", command]}]},
    }
    lab.http("POST", f"/api/v1/namespaces/{ns}/pods", pod)
    path = f"/api/v1/namespaces/{ns}/pods/ends"
    wait_for("its end", lambda: lab.get(path)["status"].get("phase") == "Failed")
    state = lab.get(path)["status"]["containerStatuses"][0]["state"]["terminated"]
    assert state["exitCode"] == (137 if force else 42)
