# SPDX-License-Identifier: Apache-2.0
"""APPWRAPPER_CONFIG (docs/spec/appwrapper.md 8.2): what is wrong is refused, what has no effect is warned of, and verbs and controllers follow it."""

import os
import re

import pytest
from appwrapper_table import PATH, pod, wrapper
from support import ATHANOR, run, wait_for

WRONG = [
    ("- a", "the configuration is no map"),
    ("hello", "the configuration is no map"),
    ("appwrapper: 5", "appwrapper: must be a map"),
    ("appwrapper: {faultTolerance: 5}", "appwrapper.faultTolerance: must be a map"),
    ("appwrapper: {autopilot: yes-please}", "appwrapper.autopilot: must be a map"),
    ("appwrapper: {autopilot: {resourceTaints: {nvidia.com/gpu: 5}}}", "resourceTaints.nvidia.com/gpu: must be a list"),
    ('appwrapper: {autopilot: {preferNoScheduleWeight: "abc"}}', "preferNoScheduleWeight: must be an integer"),
    ("appwrapper: {faultTolerance: {retryLimit: 3000000000}}", "retryLimit: 3000000000 does not fit into 32 bits"),
    (": 900", "did not find expected key"),
    ("a: [", "appwrapper.yaml"),
]
IGNORED = [
    ("appwrapper: {faultTolerence: {retryLimit: 5}}", "appwrapper.faultTolerence is no setting, and ignored"),
    ("faultTolerance: {retryLimits: 5}", "appwrapper.faultTolerance.retryLimits is no setting, and ignored"),
    ("{appwrapper: {}, webhooksEnabled: false}", "webhooksEnabled has no effect in a file"),
    ("{appwrapper: {kueueJobReconciller: {manageJobsWithoutQueueName: true}}}", "appwrapper.kueueJobReconciller has no effect"),
]


def rights(tmp_path, text):
    """What `athanor rbac` does with this configuration: it reads all settings, and runs nothing."""
    config = tmp_path / "appwrapper.yaml"
    config.write_text(text + "\n", encoding="utf-8")
    return run([ATHANOR, "rbac", "--controllers=appwrapper"], env={**os.environ, "APPWRAPPER_CONFIG": str(config)})


@pytest.mark.parametrize("text,error", WRONG)
def test_what_is_wrong_is_refused(tmp_path, text, error):
    done = rights(tmp_path, text)
    assert done.code == 1 and error in done.err, done.err


@pytest.mark.parametrize("text,warning", IGNORED)
def test_what_has_no_effect_is_warned_of(tmp_path, text, warning):
    done = rights(tmp_path, text)
    assert done.code == 0 and warning in done.err, done.err


def test_what_has_an_effect_is_not_warned_of(tmp_path):
    text = (
        "appwrapper: {slackQueueName: q, strictKinds: true, maxPodSets: 9, autopilot: {evacuateUnreachableNodes: true, resourceTaints:"
        " {g: [{key: k, value: v, effect: NoExecute}]}}, faultTolerance: {deleteAfterSuccessTTL: true, deleteForeignComponents: true}, enableKueueIntegrations: true,"
        " kueueJobReconciller: {waitForPodsReady: {enable: true}, labelKeysToCopy: [a]}}"
    )
    done = rights(tmp_path, text)
    assert done.code == 0 and not done.err, done.err


def test_a_lab_warns_and_its_verbs_count_by_the_file(make_lab, tmp_path):
    config = tmp_path / "appwrapper.yaml"
    config.write_text("appwrapper: {enableKueueIntegrations: true, faultTolerance: {retryLimit: 7}}\n", encoding="utf-8")
    lab = make_lab("--storage", "memory", "--set", f"APPWRAPPER_CONFIG={config}").start()
    assert "appwrapper.enableKueueIntegrations has no effect in a lab" in lab.err
    assert lab.http("POST", PATH.format("default"), wrapper(pod(command="sleep 1000"))).code == 201
    assert "7 left" in run([ATHANOR, "appwrappers", "-n", "default"], env={**lab.env, "APPWRAPPER_CONFIG": str(config)}).out
    lab.kubectl("create", "namespace", "appwrapper-system")
    lab.kubectl("create", "configmap", "appwrapper-operator-config", "-n", "appwrapper-system", "--from-literal=config.yaml=appwrapper: {faultTolerance: {retryLimit: 9}}")
    assert "9 left" in lab.athanor("appwrappers", "aw", "-n", "default").out
    lab.kubectl("patch", "configmap", "appwrapper-operator-config", "-n", "appwrapper-system", "-p", '{"data": {"config.yaml": "appwrapper: 5"}}')
    done = lab.athanor("appwrappers", "-n", "default")
    assert "3 left" in done.out and "warning: the controller's settings cannot be read" in done.err


@pytest.mark.parametrize("text,runs", [("{}", True), ("{autopilot: {monitorNodes: false}}", False), ("{autopilot: null}", False)])
def test_the_node_monitor_needs_no_slack_queue(make_lab, tmp_path, text, runs):
    """7.1, 7.3, 8.6: each change of a node is a run of NodeMonitor, with autopilot.monitorNodes alone."""
    config = tmp_path / "appwrapper.yaml"
    config.write_text(text + "\n", encoding="utf-8")
    lab = make_lab("--storage", "memory", "--set", f"APPWRAPPER_CONFIG={config}").start()

    def count(controller):
        pattern = rf'^controller_runtime_reconcile_total\{{controller="{controller}",result="success"\}} (\S+)$'
        return sum(float(one) for one in re.findall(pattern, lab.kubectl("get", "--raw", "/metrics").out, re.M))

    assert lab.http("POST", PATH.format("default"), wrapper(pod())).code == 201
    wait_for("the controllers run", lambda: count("AppWrapper") > 0 and (count("NodeMonitor") > 0 or not runs))
    node = lab.get("/api/v1/nodes")["items"][0]["metadata"]["name"]
    before = count("NodeMonitor")
    lab.kubectl("cordon", node)
    if runs:
        wait_for("the cordoned node is seen", lambda: count("NodeMonitor") > before)
    else:
        assert count("NodeMonitor") == 0
