# SPDX-License-Identifier: Apache-2.0
"""What tests of pipelines ask of runs."""

from support import DEADLINE, wait_for


def over(lab, plural, name, ns="default", deadline=DEADLINE):
    """Waits for the end of a PipelineRun or TaskRun and returns it."""

    def done():
        one = lab.get(f"/apis/tekton.dev/v1/namespaces/{ns}/{plural}/{name}")
        return one if one["status"]["conditions"][0]["status"] != "Unknown" else None

    return wait_for(f"{name} is over", done, deadline)


def outcome(lab, plural, name, ns="default", deadline=DEADLINE):
    """Waits for the end of a run and returns its condition."""
    return over(lab, plural, name, ns, deadline)["status"]["conditions"][0]
