# SPDX-License-Identifier: Apache-2.0
"""Storage seen from outside: watches over a kill, backups of a running lab, the flags of the store."""

import json
import signal

from support import ATHANOR, DEADLINE, run

MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name, data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": data}}


def put(lab, name, data):
    """Makes or changes one; its resourceVersion."""
    answer = lab.http("POST", MAPS, config_map(name, data))
    if answer.code == 409:
        answer = lab.http("PUT", f"{MAPS}/{name}", config_map(name, data))
    assert answer.code in (200, 201), answer.text
    return int(answer.json["metadata"]["resourceVersion"])


def watched(lab, revision, is_last=None):
    """What a watch from that revision sees: within a second, or up to an event that is the last one."""
    connection = lab.connection()
    try:
        seconds = DEADLINE if is_last else 1
        connection.request("GET", f"{MAPS}?watch=true&resourceVersion={revision}&timeoutSeconds={seconds:.0f}")
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        seen = []
        for line in answer:
            seen.append(json.loads(line))
            if is_last and is_last(seen[-1]):
                break
        return seen
    finally:
        connection.close()


def test_a_watch_continues_over_a_kill_without_loss(make_lab):
    lab = make_lab("--pods", "timed").start()
    start = put(lab, "first", "1")
    put(lab, "second", "1")
    put(lab, "second", "2")
    assert lab.http("DELETE", f"{MAPS}/first").code == 200
    lab.process.send_signal(signal.SIGKILL)
    lab.process.wait(DEADLINE)
    lab.start()
    newest = put(lab, "third", "1")
    assert newest > start + 4
    seen = watched(lab, start, lambda event: event["object"]["metadata"]["name"] == "third")
    ours = [e for e in seen if e["object"]["metadata"]["name"] in ("first", "second", "third")]  # the lab's own maps come, too
    assert [(e["type"], e["object"]["metadata"]["name"], e["object"]["data"]["k"]) for e in ours] == [("ADDED", "second", "1"), ("MODIFIED", "second", "2"), ("DELETED", "first", "1"), ("ADDED", "third", "1")]
    assert [e["type"] for e in watched(lab, newest + 1000)] == []


def test_a_backup_of_a_running_lab_lives_on_elsewhere(make_lab, tmp_path):
    lab = make_lab("--pods", "timed", name="origin").start()
    before = put(lab, "kept", "1")
    file = tmp_path / "lab.backup"
    done = run([ATHANOR, "backup", file, "--data", lab.data])
    assert done.code == 0, done.err
    put(lab, "kept", "2")
    newest = put(lab, "late", "1")

    copy = make_lab("--pods", "timed", name="copy")
    done = run([ATHANOR, "restore", file, "--data", copy.data])
    assert done.code == 0, done.err
    copy.start()
    assert copy.get(f"{MAPS}/kept")["data"] == {"k": "1"}
    assert copy.http("GET", f"{MAPS}/late").code == 404
    assert put(copy, "new", "1") > newest
    expired = watched(copy, before, lambda event: event["type"] == "ERROR")
    assert [e["type"] for e in expired] == ["ERROR"] and expired[0]["object"]["code"] == 410
    # Same authority, same credentials: who could talk to the origin can talk to the copy.
    assert (copy.data / "pki" / "ca.crt").read_bytes() == (lab.data / "pki" / "ca.crt").read_bytes()

    again = run([ATHANOR, "restore", file, "--data", copy.data])
    assert again.code == 1 and "in use by" in again.err
    copy.stop()
    again = run([ATHANOR, "restore", file, "--data", copy.data])
    assert again.code == 1 and "already holds a store" in again.err


def test_no_sync_is_warned_about(make_lab):
    lab = make_lab("--pods", "timed", "--unsafe-no-sync", "--history-max-bytes", "1MiB").start()
    assert "--unsafe-no-sync" in lab.err
    put(lab, "a", "1")


def test_a_lost_log_is_refused_until_the_loss_is_accepted(make_lab):
    lab = make_lab("--pods", "timed", name="lost").start()
    newest = put(lab, "acknowledged", "1")
    lab.process.send_signal(signal.SIGKILL)
    lab.process.wait(DEADLINE)
    for name in ("store.db-wal", "store.db-shm"):
        (lab.data / name).unlink()
    refused = run([ATHANOR, "up", "--data", lab.data, "--port", "0", "--pods", "timed"])
    assert refused.code == 1, refused.out
    assert "were acknowledged" in refused.err and "--repair" in refused.err
    again = make_lab("--pods", "timed", "--repair", name="lost").start()
    assert put(again, "later", "1") > newest
