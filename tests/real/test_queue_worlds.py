# SPDX-License-Identifier: Apache-2.0
"""Random worlds of queues are decided as by Kueue's real scheduler (tests/real/kueue, built once from its pinned module), and its
configuration and metrics are known."""

import json
import os
import pathlib
import re

import queue_worlds
from support import ROOT, run
from test_go_clients import built, go

SEEDS = int(os.environ.get("QUEUE_WORLDS", "1000"))
OURS = ROOT / "build/dev/tests/queue_worlds/athanor_queue_worlds"
# A release of each minor version since 0.16 that the module proxy has, beside the pinned one.
RELEASES = ("v0.16.2", "v0.17.0", "v0.18.3", "v0.19.2")
SHIPPED = "config/components/manager/controller_manager_config.yaml"


def passes(name, **files):
    """Runs a test of the configuration with these lists; one that is skipped has not passed."""
    program = next(one for one in (ROOT / "build/dev").rglob("test_kueue") if one.is_file())
    done = run([program, f"--gtest_filter=Configuration.{name}"], env={**os.environ, **{key: str(path) for key, path in files.items()}})
    return done.code == 0 and "[  PASSED  ] 1 test" in done.out and "SKIPPED" not in done.out, done.out


def test_every_field_and_gate_is_known(tmp_path):
    listed = run([built(".", "kueue", "queue-worlds"), "--fields"])
    assert listed.code == 0 and listed.out.count("---") > 200, listed.err + listed.out[-500:]
    (tmp_path / "fields").write_text(listed.out, encoding="utf-8")
    good, text = passes("KnowsEveryFieldAndGateOfKueue", KUEUE_FIELDS=tmp_path / "fields")
    assert good, text


def test_the_files_of_kueues_releases_load(tmp_path):
    texts = []
    for release in RELEASES:
        done = go("mod", "download", "-json", f"sigs.k8s.io/kueue@{release}", cwd=tmp_path)
        assert done.code == 0, done.out + done.err
        texts.append((pathlib.Path(json.loads(done.out)["Dir"]) / SHIPPED).read_text(encoding="utf-8"))
    (tmp_path / "files").write_text("\n---\n".join(texts), encoding="utf-8")
    good, text = passes("LoadsFilesOfKueuesReleases", KUEUE_FILES=tmp_path / "files")
    assert good, text


def test_every_metric_is_there_or_named_as_absent():
    theirs = set(run([built(".", "kueue", "queue-worlds"), "--metrics"]).out.split())
    ours = {name for file in (ROOT / "src/embedded/kueue/metrics").iterdir() for name in re.findall(r'"(kueue_\w+)"', file.read_text(encoding="utf-8"))}
    page = (ROOT / "docs/kueue.md").read_text(encoding="utf-8")
    absent = set(re.findall(r"`(kueue_\w+)`", page[page.index("Absent:") : page.index("`deploy/kustomize/components/queues`")]))
    assert len(theirs) > 50 and theirs - ours - absent == set()
    assert absent & ours == set() and absent - theirs == set()


def test_worlds_of_queues_are_decided_as_kueue_does():
    kueue = built(".", "kueue", "queue-worlds")
    found = queue_worlds.differences(kueue, OURS, range(SEEDS))
    assert found == [], f"of {SEEDS} worlds"
