# SPDX-License-Identifier: Apache-2.0
"""Security contexts: ids, groups, capabilities and privileges of containers; an event names what is not applied."""

import json
import os
import pathlib
import pwd
import shutil
import tempfile

import pytest

from support import Lab, wait_for

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="as an ordinary user one id can be mapped")
NET_BIND_SERVICE, CHOWN, SYS_ADMIN, IPC_LOCK = 10, 0, 21, 14


def subordinate_user():
    """A user of this machine with subordinate ids, or None."""
    path = pathlib.Path("/etc/subuid")
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    names = [line.split(":")[0] for line in path.read_text().splitlines()] if path.exists() else []
    return next((known[name] for name in names if name in known and known[name].pw_uid != 0), None)


def pod_of(ns, name, script, context=None, pod_context=None, **more):
    container = {"name": "c", "image": "busybox", "command": ["sh", "-c", script], "securityContext": context or {}, "volumeMounts": more.pop("mounts", [])}
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "securityContext": pod_context or {}, "containers": [container], **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": ns}, "spec": spec}


def status_of(lab, ns, name):
    return lab.get(f"/api/v1/namespaces/{ns}/pods/{name}")["status"]


def notes(lab, ns, name):
    events = lab.get(f"/api/v1/namespaces/{ns}/events")["items"]
    return [(e["reason"], e["message"]) for e in events if e["involvedObject"]["name"] == name]


def output_of(lab, ns, name, *arguments, **more):
    lab.kubectl("create", "-f", "-", stdin=json.dumps(pod_of(ns, name, *arguments, **more)))
    wait_for(f"the end of {name}", lambda: status_of(lab, ns, name)["phase"] in ("Succeeded", "Failed"))
    return lab.kubectl("logs", name, "-n", ns).out


@AS_ROOT
def test_ids_and_groups_are_those_of_the_pod(lab, ns):
    context = {"runAsUser": 1000, "runAsGroup": 3000, "supplementalGroups": [4000], "fsGroup": 2000}
    said = output_of(lab, ns, "ids", "id -u; id -g; id -G; touch /v/f; stat -c %u:%g /v/f; stat -c %g /v", pod_context=context, mounts=[{"name": "v", "mountPath": "/v"}], volumes=[{"name": "v", "emptyDir": {}}])
    user, group, groups, file, folder = said.splitlines()
    assert (user, group, folder) == ("1000", "3000", "2000") and file == "1000:2000", said
    assert set(groups.split()) == {"3000", "4000", "2000"}


@AS_ROOT
def test_a_container_wins_over_its_pod(lab, ns):
    assert output_of(lab, ns, "own", "id -u", {"runAsUser": 7}, {"runAsUser": 1000}) == "7\n"


@AS_ROOT
def test_a_group_reads_files_of_secrets(lab, ns):
    lab.kubectl("create", "secret", "generic", "s", "-n", ns, "--from-literal=k=hidden")
    volume = {"name": "v", "secret": {"secretName": "s", "defaultMode": 0o400}}
    said = output_of(lab, ns, "reads", "cat /v/k; echo; stat -L -c %a:%g /v/k", {"runAsUser": 1000}, {"fsGroup": 2000}, mounts=[{"name": "v", "mountPath": "/v"}], volumes=[volume])
    assert said == "hidden\n440:2000\n"


@AS_ROOT
def test_capabilities_are_added_and_dropped(lab, ns):
    script = "grep CapBnd /proc/self/status | cut -f 2"

    def bounds(name, **capabilities):
        return int(output_of(lab, ns, name, script, {"capabilities": capabilities}), 16)

    usual = bounds("usual")
    assert usual >> CHOWN & 1 and usual >> NET_BIND_SERVICE & 1 and not usual >> SYS_ADMIN & 1 and not usual >> IPC_LOCK & 1
    changed = bounds("changed", drop=["CHOWN"], add=["CAP_IPC_LOCK", "SYS_ADMIN"])
    assert not changed >> CHOWN & 1 and changed >> IPC_LOCK & 1 and not changed >> SYS_ADMIN & 1
    assert bounds("least", drop=["ALL"], add=["NET_BIND_SERVICE"]) == 1 << NET_BIND_SERVICE
    wait_for("the event", lambda: ("SecurityContextNotApplied", "capabilities that reach this machine are not given to containers: SYS_ADMIN") in notes(lab, ns, "changed"))


def test_no_process_gains_privileges(lab, ns):
    script = "grep NoNewPrivs /proc/self/status | cut -f 2"
    assert output_of(lab, ns, "fixed", script, {"allowPrivilegeEscalation": False}) == "1\n"
    assert output_of(lab, ns, "asks", script, {"allowPrivilegeEscalation": True}) == "1\n"
    text = "allowPrivilegeEscalation: true has no effect: processes gain no privileges in c"
    wait_for("the event", lambda: ("SecurityContextNotApplied", text) in notes(lab, ns, "asks"))
    assert not any(reason == "SecurityContextNotApplied" and "Escalation" in m for reason, m in notes(lab, ns, "fixed"))


def test_profiles_without_effect_are_named(lab, ns):
    context = {"seccompProfile": {"type": "Unconfined"}, "appArmorProfile": {"type": "Unconfined"}, "seLinuxOptions": {"level": "s0"}}
    output_of(lab, ns, "profiles", "true", context)
    output_of(lab, ns, "usual", "true", {"seccompProfile": {"type": "RuntimeDefault"}})
    path = "spec.containers[0].securityContext"
    named = [m for reason, m in notes(lab, ns, "profiles") if reason == "FieldsNotApplied"]
    assert len(named) == 1 and all(f"{path}.{field}" in named[0] for field in context), named
    assert not any(reason == "FieldsNotApplied" for reason, _ in notes(lab, ns, "usual"))


@AS_ROOT
def test_root_is_refused_where_it_must_not_be(lab, ns):
    for name, image, text in (("asks", "busybox", "container's runAsUser breaks non-root policy"), ("image", "busybox", "container has runAsNonRoot and image will run as root")):
        context = {"runAsNonRoot": True, **({"runAsUser": 0} if name == "asks" else {})}
        pod = pod_of(ns, name, "true", context)
        lab.kubectl("create", "-f", "-", stdin=json.dumps(pod))
        uid = lab.get(f"/api/v1/namespaces/{ns}/pods/{name}")["metadata"]["uid"]

        def refused(name=name, uid=uid, text=text):
            waiting = (status_of(lab, ns, name).get("containerStatuses") or [{}])[0].get("state", {}).get("waiting", {})
            return (waiting.get("reason"), waiting.get("message")) == ("CreateContainerConfigError", f'{text} (pod: "{name}_{ns}({uid})", container: c)')

        wait_for(f"the refusal of {name}", refused)
    assert output_of(lab, ns, "named", "id -u", {"runAsNonRoot": True, "runAsUser": 5}) == "5\n"


@AS_ROOT
@pytest.mark.skipif(not shutil.which("newuidmap") or not subordinate_user(), reason="needs uidmap and a user with subordinate ids")
def test_an_ordinary_user_has_groups_by_subordinate_ids():
    user = subordinate_user()
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, user.pw_uid, user.pw_gid)
        lab = Lab(pathlib.Path(folder) / "lab")
        try:
            lab.start(user=user.pw_uid, group=user.pw_gid, extra_groups=[])
            context = {"runAsUser": 1000, "runAsGroup": 3000, "supplementalGroups": [4000], "fsGroup": 2000}
            said = output_of(lab, "default", "ids", "id -u; id -g; id -G; touch /v/f; stat -c %u:%g /v/f", pod_context=context, mounts=[{"name": "v", "mountPath": "/v"}], volumes=[{"name": "v", "emptyDir": {}}])
            assert said.splitlines()[:2] + said.splitlines()[3:] == ["1000", "3000", "1000:2000"]
            assert set(said.splitlines()[2].split()) == {"3000", "4000", "2000"}
            assert not any(reason == "SecurityContextNotApplied" for reason, _ in notes(lab, "default", "ids"))
        finally:
            lab.close()


def test_pods_without_isolation_change_this_machine(make_lab, lab, ns, tmp_path):
    """The lab says so at its start; with isolation the same step leaves nothing behind."""
    mark = tmp_path / "mark"
    script = f"mkdir -p {tmp_path}; echo x > {mark}; echo written"
    assert output_of(lab, ns, "inside", script) == "written\n"
    assert not mark.exists()
    open_lab = make_lab("--pod-isolation", "off").start()
    assert "--pod-isolation off: what pods run can change this machine's files" in open_lab.err
    assert "pods share the ports of this machine" in open_lab.err
    assert output_of(open_lab, "default", "outside", script) == "written\n"
    assert mark.read_text() == "x\n"


def test_home_folders_are_seen_only_where_the_lab_says_so(make_lab, lab, ns):
    with tempfile.TemporaryDirectory(prefix=".athanor-test-", dir=pathlib.Path.home()) as folder:
        os.chmod(folder, 0o755)
        (pathlib.Path(folder) / "seen").write_text("seen")
        script = f"cat {folder}/seen || echo hidden; echo x 2>/dev/null > {folder}/new; true"
        assert output_of(lab, ns, "hides", script).endswith("hidden\n")
        shows = make_lab("--pod-home").start()
        assert output_of(shows, "default", "shows", script) == "seen"
        assert os.listdir(folder) == ["seen"], "what it writes stays in its layer"
