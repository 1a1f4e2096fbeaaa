# SPDX-License-Identifier: Apache-2.0
"""FournosJobs with spec.schedule: copies of them run, at once on request and across a restart (docs/spec/fournos.md 19)."""

import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from support import JOBS, wait_for

PATH = f"/apis/fournos.dev/v1/namespaces/{JOBS}/fournosjobs"
SPEC = {"cluster": "cluster-1", "schedule": "0 3 1 1 *", "forge": {"project": "llmd", "args": []}}


def children(lab, parent):
    return lab.get(PATH, labelSelector=f"fournos.dev/recurring-parent={parent}")["items"]


def trigger(lab, name):
    lab.kubectl("annotate", "fj", name, "-n", JOBS, "fournos.dev/trigger-now=true", "--overwrite")
    wait_for("the request is taken", lambda: lab.job(name)["metadata"]["annotations"]["fournos.dev/trigger-now"] == "false")


@pytest.fixture
def own(make_lab):
    lab = make_lab().start()
    lab.http("POST", f"/api/v1/namespaces/{JOBS}/configmaps", {"metadata": {"name": "fournos-mock-config"}, "data": {"sleep": "0.1"}})
    return lab


def test_copies_run_on_request_and_none_twice(own):
    own.submit(SPEC, name="yearly")
    job = own.wait_phase("yearly", "Recurring")
    assert job["status"]["message"] == "Recurring schedule: 0 3 1 1 *" and "exclusive" not in job["spec"]
    trigger(own, "yearly")
    child = wait_for("the copy", lambda: children(own, "yearly"))[0]
    name = child["metadata"]["name"]
    assert child["metadata"]["generateName"] == "yearly-" and name.startswith("yearly-") and "ownerReferences" not in child["metadata"]
    assert {key: child["spec"][key] for key in ("cluster", "forge")} == {key: SPEC[key] for key in ("cluster", "forge")} and "schedule" not in child["spec"]
    own.wait_phase(name, "Succeeded")
    assert own.job("yearly")["status"]["message"] == f"Recurring schedule: 0 3 1 1 * (last child: {name})"
    own.stop(signal.SIGKILL)
    own.start()
    trigger(own, "yearly")
    assert len(children(own, "yearly")) == 2
    own.kubectl("patch", "fj", "yearly", "-n", JOBS, "--type", "merge", "-p", '{"spec": {"shutdown": "Stop"}}')
    own.wait_phase("yearly", "Stopped")
    own.kubectl("delete", "fj", "yearly", "-n", JOBS)
    assert len(children(own, "yearly")) == 2


def test_a_schedule_of_every_minute_starts_by_itself(own):
    own.submit({**SPEC, "schedule": "* * * * *"}, name="often")
    first = wait_for("the first copy", lambda: children(own, "often"), 100)[0]
    job = own.job("often")
    assert job["status"]["lastScheduledTime"] == first["metadata"]["annotations"]["fournos.dev/recurring-start"]
    assert job["status"]["lastScheduledTime"].endswith(":00Z")
    own.wait_phase(first["metadata"]["name"], "Succeeded")


def test_verbs_list_pause_trigger_and_describe_them(own):
    def schedules(*args, code=0):
        return own.athanor("schedules", *args, "-n", JOBS, code=code)

    own.submit(SPEC, name="yearly")
    own.kubectl("label", "fj", "yearly", "-n", JOBS, "team=a")
    own.wait_phase("yearly", "Recurring")
    assert schedules("-o", "name").out == "fournosjob.fournos.dev/yearly\n"
    row = schedules("--no-headers").out.split()
    assert row[:7] == ["yearly", "Active", *SPEC["schedule"].split()] and "UTC" in row, row
    assert "yearly paused" in schedules("pause", "fournosjob.fournos.dev/yearly").out
    wait_for("it says so", lambda: own.job("yearly")["status"]["message"].endswith("(paused)"))
    assert schedules("--phase", "paused", "--no-headers").out.split()[:2] == ["yearly", "Paused"]
    assert "is paused" in schedules("next", "yearly").err
    schedules("trigger", "yearly")
    (child,) = wait_for("the copy", lambda: children(own, "yearly"))
    assert "yearly resumed" in schedules("resume", "-l", "team=a").out
    wait_for("it goes on", lambda: not own.job("yearly")["status"]["message"].endswith("(paused)"))
    described = own.athanor("describe", "schedules/yearly", "-n", JOBS).out
    assert "Active" in described and child["metadata"]["name"] in described and "Next start 5" in described, described
    own.kubectl("patch", "fj", "yearly", "-n", JOBS, "--type", "merge", "-p", '{"spec": {"shutdown": "Stop"}}')
    own.wait_phase("yearly", "Stopped")
    assert schedules("--no-headers").out.split()[:2] == ["yearly", "Ended"]
    assert "has ended: Job stopped by user" in schedules("pause", "yearly", code=1).err
    assert "deleted; its jobs stay" in schedules("delete", "yearly").out
    assert "not found" in schedules("trigger", "yearly", code=1).err
    assert len(children(own, "yearly")) == 1


def test_triggers_at_once_are_each_kept_or_refused(own):
    own.submit(SPEC, name="pressed")
    own.wait_phase("pressed", "Recurring")
    before = len(children(own, "pressed"))
    with ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(lambda _: own.athanor("schedules", "trigger", "pressed", "-n", JOBS, code=None), range(5)))
    taken = [one for one in answers if one.code == 0]
    assert taken and all(one.code == 0 or "is pending" in one.err for one in answers), answers
    wait_for("a copy for each", lambda: len(children(own, "pressed")) == before + len(taken))
    wait_for("no request is left", lambda: own.job("pressed")["metadata"]["annotations"]["fournos.dev/trigger-now"] == "false")
    assert len(children(own, "pressed")) == before + len(taken)


@pytest.mark.parametrize("schedule", ["61 * * * *", "@daily", "* * * *", "soon"])
def test_what_is_no_schedule_fails(lab, schedule):
    name = f"wrong-{abs(hash(schedule)) % 10**6}"
    lab.submit({**SPEC, "schedule": schedule}, name=name)
    assert lab.wait_phase(name, "Failed")["status"]["message"] == f"Invalid cron expression: {schedule}"
