# SPDX-License-Identifier: Apache-2.0
"""The NUMA stack on a lab with zones: samples, exporters, scenarios N1 to N3 of docs/spec/numa.md section 18."""

from support import ATHANOR, DEADLINE, KUBECTL, ROOT, run

EXAMPLE = ROOT / "examples/numa/lab.yaml"


def test_the_samples_and_the_first_scenarios(make_lab):
    lab = make_lab("--storage", "memory", "--lab", str(EXAMPLE)).start()
    done = run(
        [ROOT / "tests/e2e/numa_seed.sh"],
        env={**lab.env, "KUBECTL": KUBECTL, "SEED_LIMIT": f"{DEADLINE:.0f}"},
        timeout=900,
    )
    assert done.code == 0, done.out[-3000:] + done.err[-5000:]


def test_wrong_zones_in_a_lab_file_are_named(tmp_path):
    path = tmp_path / "lab.yaml"
    path.write_text(
        "apiVersion: athanor.dev/v1\nkind: Lab\nnodes:\n- name: w\n  numa: {policy: single-numa-node, zones: [{cpus: many}]}\n",
        encoding="utf-8",
    )
    done = run([ATHANOR, "up", "--data", str(tmp_path / "data"), "--port", "0", "--lab", str(path)])
    assert done.code != 0
    assert "numa.zones[0].cpus: must be an integer" in done.err
