# SPDX-License-Identifier: Apache-2.0
"""Each small input that users, other projects and attackers sent (`../shared/cases` beside the project, where there is one) has tests here."""

import pytest
from support import ROOT, has_test

SHARED = ROOT.parent / "shared/cases"
HELPERS = {"lib.sh", "runtk.sh", "attack/lab.py"}
GROUPS = "tests/e2e/kueue/test_queueing_groups.py"
FORMS = "tests/e2e/lab/test_pipeline_forms.py"
# By the case's name: tests of its right value, `file::name`; a scenario is its file alone.
CASES = {
    "05b-dead-waiting-group.sh": [f"{GROUPS}::test_a_waiting_group_goes_with_its_pods"],
    "06-sidecar-requests.sh": [f"{GROUPS}::test_sidecars_count_and_a_queued_job_with_them_completes"],
    "08-pod-level-limit.sh": [f"{GROUPS}::test_a_limit_of_the_pod_is_no_request"],
    "10-running-job-parallelism.sh": [f"{GROUPS}::test_another_parallelism_of_a_running_job_stays"],
    "12-podgroup-replaced-while-terminating.sh": [f"{GROUPS}::test_a_replacement_starts_when_its_predecessor_has_ended"],
    "15-podgroup-of-20.sh": [f"{GROUPS}::test_twenty_equal_pods_are_one_pod_set"],
    "16-podgroup-failed-member.sh": [f"{GROUPS}::test_a_failed_member_is_replaced", "tests/scenarios/kueue/groups/unretriable.yaml"],
    "31-result-path-in-param.yaml": [f"{FORMS}::test_variables_reach_scripts_through_params"],
    "35-exit-code-path.yaml": [f"{FORMS}::test_variables_reach_scripts_through_params"],
    "36-inputs-params.yaml": [f"{FORMS}::test_variables_reach_scripts_through_params"],
    "62-runaway-replicas.yaml": [
        "tests/e2e/numa/test_numa.py::test_a_set_whose_pods_are_refused_makes_few_of_them",
        "tests/scenarios/workloads/pods_that_a_node_refuses_are_replaced_slowly.yaml",
    ],
    "70-kubeconfig-zoo.py": [
        "tests/unit/kube/text/kubeconfig_test.cpp::Kubeconfig.FormsOfOtherProgramsAreRead",
        "tests/unit/kube/text/kubeconfig_test.cpp::Kubeconfig.RefusesWithKubectlsRules",
        "tests/unit/systems/hearth/discovery_test.cpp::Probes.UnreachableSticksUntilTheClusterAnswers",
        "tests/e2e/hearth/test_hearth.py::test_targets_that_do_not_answer_say_why",
    ],
    "89-cel-namespace-field.yaml": [
        "tests/e2e/api/test_policies.py::test_reserved_words_name_fields",
        "tests/e2e/api/test_policies.py::test_a_policy_that_reads_the_namespace_has_no_warning",
    ],
    "92-java-clients-and-the-key.sh": [
        "tests/e2e/hearth/test_hearth_lab.py::test_kubeconfigs_of_targets_have_keys_that_java_reads",
        "tests/unit/embedded/transport/pki_test.cpp::PkiTest.WritesClientKeysThatJavaReads",
    ],
    "93-dra-whole-gpu-by-limit.yaml": ["tests/e2e/das/test_das_dra.py::test_a_limit_of_whole_gpus_gets_a_claim"],
    "94-v1beta1-task-resources.yaml": [f"{FORMS}::test_old_versions_are_read"],
    "attack/r1_claim_cel.py": ["tests/unit/embedded/devices/allocator_test.cpp::AllocatorTest.BoundsAnExpression"],
    "attack/r2_two_kubeletconfigs.py": ["tests/sim/owners/numa.yaml"],
    "attack/r3_empty_configmap.py": ["tests/e2e/lab/test_faults.py::test_a_config_map_without_data_ends_neither_the_lab_nor_its_next_start"],
}


@pytest.mark.parametrize("case", CASES)
def test_a_case_has_tests(case):
    assert CASES[case], "a case needs a test"
    assert [test for test in CASES[case] if not has_test(test)] == []


@pytest.mark.skipif(not SHARED.is_dir(), reason="the cases are not here")
def test_each_shared_case_is_listed():
    there = {str(path.relative_to(SHARED)) for kind in ("sh", "py", "yaml") for path in SHARED.rglob(f"*.{kind}")}
    assert there - HELPERS == set(CASES)
