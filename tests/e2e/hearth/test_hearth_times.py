# SPDX-License-Identifier: Apache-2.0
"""How soon a change of a FournosCluster or FournosJob takes effect, on an idle lab and on a busy one: no key waits for an event that does not come."""

import http.client
import json
import statistics
import threading
import time

from support import ROOT, wait_for

EXAMPLE = ROOT / "examples/hearth/lab.yaml"
CLUSTER = "/apis/fournos.dev/v1/namespaces/hearth/fournosclusters/cluster-a-1"
QUEUE = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/fournos-queue"
JOBS = "/apis/fournos.dev/v1/namespaces/psap-automation/fournosjobs"
TIMES = 20
# On an idle machine every one is below 0.1 s. The barrier of the engine ends after 10 s.
MOST = 1.0
BUSY_JOBS = 200


class Client:
    """One connection: requests without a handshake each."""

    def __init__(self, lab):
        self.lab = lab
        self.connection = lab.connection()

    def __call__(self, method, path, body=None):
        headers = {"Content-Type": "application/merge-patch+json" if method == "PATCH" else "application/json"}
        try:
            self.connection.request(method, path, body=None if body is None else json.dumps(body), headers=headers)
            answer = self.connection.getresponse()
        except (http.client.HTTPException, OSError):
            self.connection = self.lab.connection()
            return self(method, path, body)
        return answer.status, json.loads(answer.read() or b"{}")


def slots(client):
    _, queue = client("GET", QUEUE)
    for group in queue["spec"].get("resourceGroups", []):
        for flavor in group["flavors"]:
            if flavor["name"] == "cluster-a-1":
                return {one["name"]: str(one["nominalQuota"]) for one in flavor["resources"]}.get("fournos/cluster-slot")
    return None


def seconds_until(what, act, condition):
    start = time.monotonic()
    act()
    wait_for(what, condition, interval=0.002)
    return time.monotonic() - start


def test_cordons_take_hold_while_jobs_are_submitted(make_lab, record_property):
    lab = make_lab("--storage", "memory", "--pods", "timed", "--lab", str(EXAMPLE)).start()
    client = Client(lab)
    wait_for("the cluster has slots", lambda: slots(client) == "100")
    submitted = []

    def submit():
        own = Client(lab)
        for number in range(BUSY_JOBS):
            job = {
                "apiVersion": "fournos.dev/v1",
                "kind": "FournosJob",
                "metadata": {"name": f"busy-{number}"},
                "spec": {"owner": "e2e", "cluster": "cluster-a-1", "forge": {"project": "llmd", "args": ["cks"]}},
            }
            submitted.append(own("POST", JOBS, job)[0])

    def set_cordoned(value):
        assert client("PATCH", CLUSTER, {"spec": {"cordoned": value}})[0] == 200

    taken = []
    busy = threading.Thread(target=submit)
    busy.start()
    while busy.is_alive() or len(taken) < 4:
        taken.append(seconds_until("cordoned", lambda: set_cordoned(True), lambda: slots(client) == "0"))
        taken.append(seconds_until("uncordoned", lambda: set_cordoned(False), lambda: slots(client) == "100"))
    busy.join()
    text = f"{len(taken)} changes, median {statistics.median(taken) * 1000:.0f} ms, longest {max(taken) * 1000:.0f} ms"
    record_property("busy", text)
    print(text)
    assert submitted == [201] * BUSY_JOBS
    assert max(taken) <= MOST, text


def test_changes_take_effect_at_once(make_lab, record_property):
    lab = make_lab("--storage", "memory", "--pods", "timed", "--lab", str(EXAMPLE)).start()
    client = Client(lab)
    wait_for("the cluster has slots", lambda: slots(client) == "100")
    wait_for("the lab is at rest", lambda: client("GET", CLUSTER)[1].get("status", {}).get("kubeconfigStatus") == "Valid")
    taken = {"cordon": [], "uncordon": [], "release": [], "deletion": []}

    def set_owner(value):
        assert client("PATCH", CLUSTER, {"spec": {"owner": value}})[0] == 200

    def lock_state():
        return client("GET", CLUSTER)[1].get("status", {}).get("lockState")

    def set_cordoned(value):
        assert client("PATCH", CLUSTER, {"spec": {"cordoned": value}})[0] == 200

    job = {
        "apiVersion": "fournos.dev/v1",
        "kind": "FournosJob",
        "metadata": {"name": "short"},
        "spec": {"owner": "e2e", "cluster": "cluster-a-1", "forge": {"project": "llmd", "args": ["cks"]}},
    }
    for _ in range(TIMES):
        taken["cordon"].append(seconds_until("cordoned", lambda: set_cordoned(True), lambda: slots(client) == "0"))
        assert client("POST", JOBS, job)[0] == 201
        wait_for("the job is queued", lambda: client("GET", f"{JOBS}/short")[1].get("status", {}).get("phase"))
        taken["deletion"].append(
            seconds_until("deleted", lambda: client("DELETE", f"{JOBS}/short"), lambda: client("GET", f"{JOBS}/short")[0] == 404)
        )
        taken["uncordon"].append(seconds_until("uncordoned", lambda: set_cordoned(False), lambda: slots(client) == "100"))
        set_owner("bob")
        wait_for("the lock is held", lambda: lock_state() == "Held")
        taken["release"].append(seconds_until("released", lambda: set_owner(None), lambda: lock_state() == "Unlocked"))
    for name, times in taken.items():
        text = f"median {statistics.median(times) * 1000:.0f} ms, longest {max(times) * 1000:.0f} ms"
        record_property(name, text)
        print(name, text)
    assert {name: max(times) for name, times in taken.items() if max(times) > MOST} == {}
