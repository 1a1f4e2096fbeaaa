# SPDX-License-Identifier: Apache-2.0
"""Emulated nodes as what runs beside them sees them: podresources sockets, sysfs, the kubelet's configuration (docs/spec/numa.md 16.4 to 16.6)."""

import os
import shutil
import tempfile

import grpc
import pytest
import yaml

from numa_lab import LAB, TOPOLOGIES, container, create, deploy, free, node, patch, pod, remove, runs, OPERATOR, POOL, FREE
from support import ATHANOR, run, wait_for

SOCKET = "var/lib/kubelet/pod-resources/kubelet.sock"


def files(lab, name):
    return lab.data / "nodes" / name


def asked(lab, name, *words, code=0):
    done = run([ATHANOR, "numa", "podresources", f"--socket=unix://{files(lab, name)}/{SOCKET}", *words])
    assert done.code == code, done.err
    return yaml.safe_load(done.out) if code == 0 else done.err


@pytest.fixture
def lab(make_lab):
    return deploy(make_lab("--storage", "memory", "--lab", str(LAB)).start())


@pytest.fixture
def short():
    """A folder whose name leaves room in a socket's address."""
    folder = tempfile.mkdtemp(prefix="n")
    yield folder
    shutil.rmtree(folder)


def test_grpcs_own_client_is_answered(lab, short):
    wait_for("the socket", lambda: (files(lab, "worker-1") / SOCKET).exists())
    os.symlink(files(lab, "worker-1") / "var/lib/kubelet/pod-resources", f"{short}/p")
    with grpc.insecure_channel(f"unix:{short}/p/kubelet.sock") as channel:

        def call(method, message=b""):
            return channel.unary_unary(f"/v1.PodResourcesLister/{method}")(message, timeout=10)

        create(lab, pod("listed", container(cpu="5"), nodeSelector={"kubernetes.io/hostname": "worker-1"}))
        runs(lab, "listed")
        wait_for("the pod to be listed", lambda: b"listed" in call("List"))
        assert len(call("GetAllocatableResources")) > 50
        assert b"listed" in call("Get", b"\x0a\x06listed\x12\x07default")
        with pytest.raises(grpc.RpcError) as unknown:
            call("Get", b"\x0a\x02no\x12\x07default")
        assert unknown.value.code() == grpc.StatusCode.UNKNOWN
        assert unknown.value.details() == "pod no in namespace default not found"
        with pytest.raises(grpc.RpcError) as malformed:
            call("Get", b"\x0a\xff")
        assert malformed.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        with pytest.raises(grpc.RpcError) as other:
            call("Watch")
        assert other.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_what_pods_hold_is_told_until_they_go(lab):
    create(lab, pod("holds", container(cpu="6", extra={"vendor.io/nic": "2", "hugepages-1Gi": "1Gi"}), container("d", cpu="1500m")))
    where = runs(lab, "holds")
    allocatable = asked(lab, where, "allocatable")
    assert len(allocatable["cpu_ids"]) == 18 and 0 not in allocatable["cpu_ids"]
    got = asked(lab, where, "get", "default/holds")["pod_resources"]["containers"]
    assert [one["name"] for one in got] == ["c", "d"]
    assert len(got[0]["cpu_ids"]) == 6 and got[1]["cpu_ids"] == []
    assert got[0]["devices"][0]["topology"]["nodes"] == [{"ID": 0}] and len(got[0]["devices"][0]["device_ids"]) == 2
    assert {one["memory_type"]: one["size"] for one in got[0]["memory"]} == {"memory": 1 << 30, "hugepages-1Gi": 1 << 30}
    remove(lab, "holds")
    wait_for("nothing to be held", lambda: not any(one["name"] == "holds" for one in asked(lab, where, "list")["pod_resources"]))
    # A node that goes takes its socket with it; other nodes have none.
    assert not (files(lab, "control") / SOCKET).exists()
    lab.kubectl("delete", "node", where)
    wait_for("the socket to go", lambda: not (files(lab, where) / SOCKET).exists())


def test_an_exporter_process_publishes_what_the_lab_publishes(lab):
    for index, cpu in enumerate(("3", "5", "500m")):
        create(lab, pod(f"some-{index}", container(cpu=cpu), nodeSelector={"kubernetes.io/hostname": "worker-1"}))
        runs(lab, f"some-{index}")
    wait_for("the cpus of two", lambda: sum(int(free(lab)[f"worker-1/{zone}"]) for zone in ("node-0", "node-1")) == 10)
    root = files(lab, "worker-1")
    done = run(
        [
            ATHANOR,
            "numa",
            "exporter",
            "--hostname=twin",
            f"--sysfs={root}/sys",
            f"--podresources-socket=unix://{root}/{SOCKET}",
            f"--kubelet-config-file={root}/var/lib/kubelet/config.yaml",
            "--oneshot",
            "--podreadiness=false",
            "--add-nrt-owner=false",
        ],
        env=lab.env,
    )
    assert done.code == 0, done.err
    objects = [lab.http("GET", f"{TOPOLOGIES}/{name}").json for name in ("worker-1", "twin")]
    assert objects[0]["zones"] == objects[1]["zones"]
    assert objects[0]["attributes"] == objects[1]["attributes"]


def test_exporters_keep_their_periods_where_asked(make_lab, tmp_path):
    file = tmp_path / "lab.yaml"
    file.write_text(LAB.read_text(encoding="utf-8") + "settings: {NUMA_EXPORTER_PERIODS: true}\n", encoding="utf-8")
    lab = deploy(make_lab("--storage", "memory", "--lab", str(file)).start())
    patch(lab, OPERATOR, {"spec": {"nodeGroups": [{"machineConfigPoolSelector": POOL, "config": {"infoRefreshPeriod": "1h"}}]}})

    def exporters():
        pods = lab.http("GET", "/api/v1/namespaces/numaresources/pods").json["items"]
        return [one for one in pods if one["metadata"]["labels"].get("name") == "resource-topology"]

    def publishes_hourly(pod):
        conditions = {one["type"]: one["status"] for one in pod["status"].get("conditions", [])}
        return "--sleep-interval=1h0m0s" in str(pod["spec"]) and conditions.get("NodeTopologyUpdated") == "True"

    # Each publishes once when it starts, and only then for an hour nothing.
    wait_for("two new exporters", lambda: [publishes_hourly(pod) for pod in exporters()] == [True, True])
    create(lab, pod("unseen", container(cpu="4")))
    runs(lab, "unseen")
    assert free(lab) == FREE, "nothing is published for an hour"
    # Nothing is given twice meanwhile: the scheduler counts what it bound.
    for index in range(4):
        create(lab, pod(f"whole-{index}", container(cpu="12")))
    wait_for("one of the two zones of 12 to be used", lambda: [node(lab, f"whole-{index}") for index in range(4)].count(None) == 3)
    config = {"infoRefreshPeriod": "1h", "infoRefreshMode": "PeriodicAndEvents"}
    patch(lab, OPERATOR, {"spec": {"nodeGroups": [{"machineConfigPoolSelector": POOL, "config": config}]}})
    wait_for("the cpus to be taken", lambda: sum(map(int, free(lab).values())) < 36)


def test_older_kubelets_list_more(make_lab, tmp_path):
    lab_file = yaml.safe_load(LAB.read_text(encoding="utf-8"))
    lab_file["nodes"][1]["numa"] |= {"podResources": {"sharedCpus": True, "terminalPods": True}, "cells": True, "devices": {"vendor.io/gpu": 2}}
    lab_file["nodes"][1]["numa"]["zones"][0]["cpus"] = "0-3,8-11"
    lab_file["nodes"][1]["numa"]["zones"][0]["reservedCpus"] = "0,8"
    file = tmp_path / "lab.yaml"
    file.write_text(yaml.safe_dump(lab_file), encoding="utf-8")
    lab = deploy(make_lab("--storage", "memory", "--lab", str(file)).start())
    create(lab, pod("ends", container(cpu="2", command=["true"], extra={"vendor.io/gpu": "1"}), restartPolicy="Never"))
    wait_for("it to end", lambda: lab.http("GET", "/api/v1/namespaces/default/pods/ends").json["status"]["phase"] == "Succeeded")
    where = node(lab, "ends")
    listed = {one["name"]: one["containers"][0] for one in asked(lab, where, "list")["pod_resources"]}
    assert "ends" in listed
    create(lab, pod("mine", container(cpu="2", extra={"vendor.io/gpu": "1", "kni.node/numacell01": "1"}), nodeSelector={"kubernetes.io/hostname": where}))
    runs(lab, "mine")
    got = asked(lab, where, "get", "default/mine")["pod_resources"]["containers"][0]
    assert {one["resource_name"]: one.get("topology") for one in got["devices"]} == {
        "vendor.io/gpu": None,
        "kni.node/numacell01": {"nodes": [{"ID": 1}]},
    }
    # Others have the shared pool, which holds the reserved cpus and none of the exclusive ones.
    shared = next(one["containers"][0]["cpu_ids"] for one in asked(lab, where, "list")["pod_resources"] if one["name"] not in ("ends", "mine"))
    assert {0, 8} <= set(shared) and not set(shared) & set(got["cpu_ids"])
    assert sorted(asked(lab, where, "allocatable")["cpu_ids"])[:6] == [1, 2, 3, 9, 10, 11]
