# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/lab.md, fournos.md, controllers.md, operations.md, envtest.md and kueue.md, run as they stand there. Those of README.md,
docs/simulate.md, numa.md and appwrapper.md: test_first_commands.py. For all pages: commands within the text, and rows of tables that say "required",
"accepted" or "no effect", are run here or name the test that tries them."""

import json
import os
import re
import subprocess

import pytest
import yaml
from guide import Guide, block_with, commands_of, inline_of, text_of
from support import ATHANOR, DEADLINE, KUBECTL, ROOT, Lab, run, wait_for

# Every page with commands, and the test that runs its blocks.
PAGES = {
    "README": "test_first_commands.py::test_the_first_commands",
    "appwrapper": "test_first_commands.py::test_the_commands_about_appwrappers",
    "architecture": "",
    "concepts": "",
    "console": "test_deployed_console.py::test_it_follows_what_it_shows_and_its_probes_answer",
    "controllers": "test_guides.py::test_the_controllers_commands",
    "das": "test_das_lab.py::test_the_guides_commands",
    "envtest": "test_guides.py::test_the_envtest_commands",
    "fournos": "test_guides.py::test_fournos_commands",
    "guides": "test_people_guide.py::test_the_commands_for_people",
    "hearth": "test_hearth_lab.py::test_the_guides_commands",
    "kueue": "test_guides.py::test_the_queueings_commands_for_a_cluster",
    "lab": "test_guides.py::test_the_labs_commands",
    "numa": "test_first_commands.py::test_the_commands_about_zones",
    "operations": "test_guides.py::test_operations_commands",
    "performance": "",
    "runbooks": "test_guides.py::test_the_runbooks_commands",
    "simulate": "test_first_commands.py::test_the_simulations_commands",
    "streams": "",
    "tutorial": "test_first_commands.py::test_the_tutorials_commands",
    "testing": "test_guides.py::test_what_the_page_about_tests_names_is_there",
    "upstream": "",
}
PAGES_WITH_ROWS = sorted(path.stem for path in (ROOT / "docs").glob("*.md") if path.stem != "engine")  # no rows about settings

# What no test of a page runs, and where it is run. The keys are the commands' beginnings.
ELSEWHERE = {
    "athanor cancel A B": "test_daily.py::test_verbs_take_several_names_or_labels",
    "athanor cancel -l": "test_daily.py::test_verbs_take_several_names_or_labels",
    "scripts/image": "make image-test (needs buildah and root)",
    "IMG=REGISTRY/athanor:0.1.0 scripts/image": "make image-test (needs buildah and root)",
    "IMG=REGISTRY/athanor:0.1.0 scripts/deploy apply": "test_deploy.py: the overlays apply (with no image of a registry)",
    "helm install das": "tests/real/test_das_chart.py::test_a_release_works_and_leaves_nothing_but_the_kinds",
    "helm install": "tests/real/test_chart.py::test_a_release_installs_upgrades_rolls_back_and_leaves_what_people_made",
    "kubectl label namespace athanor-system pod-security": "test_deploy.py::test_a_pod_of_the_namespace_must_be_restricted",
    "kubectl apply -k deploy/argocd": "test_deploy.py::test_the_argocd_objects_apply_with_strict_validation",
    "kubectl get --raw /api/v1/namespaces/athanor-system/services": "test_deployed.py asks the paths themselves; emulated pods serve nothing",
    "kubectl -n athanor-system port-forward": "tests/real/test_kubectl_versions.py::test_port_forward; emulated pods serve nothing",
    "kubectl get --raw": "test_queueing_jobs.py asks the paths of the visibility API",
    "kubectl get events": "test_queueing_jobs.py reads the events that are told of",
    "athanor up --proxy-named-endpoints": "the unit test Proxies.FollowNoAddressNamedByServiceEditors tries both",
    "curl": "test_deployed.py asks the paths themselves; emulated pods serve nothing",
    "go test": "tests/real/test_go_clients.py::test_an_envtest_suite_passes_unchanged",
    "athanor up --repair": "tests/e2e/api/test_storage.py::test_a_lost_log_is_refused_until_the_loss_is_accepted",
    "athanor up --set NAME=VALUE": "tests/e2e/lab/test_pipelines.py::test_settings_of_the_lab_file_the_environment_and_the_flag",
    "athanor vault sync": "tests/e2e/fournos/test_vault.py",
    "kubectl create -f examples/fournos/sample-job.yaml": "test_guides.py::test_fournos_commands",
    "kubectl create -f examples/fournos/engine/engine-job.yaml": "tests/e2e/cli/test_examples.py",
    "kubectl annotate fj NAME fournos.dev/trigger-now=true": "tests/e2e/fournos/test_recurring.py::test_copies_run_on_request_and_none_twice",
    "athanor up --data": "support.py starts every lab so",
    "athanor logs -l": "test_daily.py::test_logs_of_several_workloads",
    "athanor logs JOB": "test_daily.py::test_nothing_failed_is_no_failure",
    "athanor logs NAME": "test_daily.py::test_logs_of_jobs_and_their_flags",
    "athanor logs A B": "test_daily.py::test_logs_of_several_workloads",
    "athanor events NAME": "test_daily.py::test_events_of_a_job_and_what_belongs_to_it",
    "athanor templates save": "test_daily.py::test_a_template_is_saved_and_submitted",
    "athanor submit --template": "test_daily.py::test_a_template_is_saved_and_submitted",
    "athanor results": "test_daily.py::test_results_are_shown_and_copied",
    "athanor compare": "test_daily.py::test_jobs_are_compared",
    "athanor jobs --since 30d -o trace": "test_daily.py::test_own_history_and_fleet_are_simulated",
    "athanor clusters -o fleet": "test_daily.py::test_own_history_and_fleet_are_simulated",
    "athanor jobs -o trace": "test_daily.py::test_own_history_and_fleet_are_simulated",
    "athanor simulate - ": "test_daily.py::test_own_history_and_fleet_are_simulated",
    "athanor rbac --people": "test_daily.py::test_users_of_a_lab_have_the_rights_of_their_role",
    "kubectl apply -f -": "test_daily.py::test_users_of_a_lab_have_the_rights_of_their_role",
    "athanor up --user": "test_daily.py::test_users_of_a_lab_have_the_rights_of_their_role",
    "athanor labs": "test_daily.py::test_labs_are_listed_merged_stopped_and_deleted",
    "athanor up --controllers=external": "tests/real/test_real_controllers.py",
    "athanor up --controllers": "tests/e2e/cli/test_cli.py::test_crds_can_be_applied_to_a_bare_control_plane",
    "athanor up --lab examples/das/lab.yaml": "test_das_lab.py starts it",
    "athanor up --allocation-api=": "tests/e2e/das/test_das_dra.py",
    "kubectl apply --server-side -k": "test_deploy.py: the overlays apply",
    "kubectl describe pod": "tests/real/test_kubectl_versions.py::test_get_and_describe",
    "kubectl logs -f": "tests/e2e/api/test_streams.py",
    "kubectl top": "tests/e2e/lab/test_pod_usage.py::test_kubectl_top_shows_what_pods_use",
    "kubectl patch --subresource resize": "tests/e2e/lab/test_pod_usage.py::test_a_status_says_what_was_granted",
    "kubectl auth can-i": "tests/unit/embedded/targets/server_test.cpp",
    "kubectl get allocationclaims -A": "tests/e2e/das/das_seed.sh lists claims",
    "kubectl get lease athanor-extender": "tests/e2e/deploy/test_extender.py reads who leads from /readyz",
    "athanor extender --print-scheduler-config": "tests/e2e/deploy/test_extender.py::test_the_schedulers_configuration_and_roles",
    "athanor slices defrag --dry-run": "tests/e2e/das/test_das_lab.py::test_slices_answers_what_would_fit_and_who_could_move",
    "athanor slices defrag --yes": "tests/e2e/das/test_das_lab.py::test_defrag_moves_pods",
    "athanor slices explain POD": "tests/e2e/das/test_das_lab.py::test_slices_answers_what_would_fit_and_who_could_move",
    "athanor slices what-if": "tests/e2e/das/test_das_lab.py::test_slices_answers_what_would_fit_and_who_could_move",
    "athanor numa explain POD NODE": "test_first_commands.py::test_the_commands_about_zones",
    "athanor numa exporter": "tests/e2e/numa/test_numa_exporter.py::test_files_become_a_topology_and_only_changes_are_written",
    "athanor numa render": "tests/e2e/numa/test_numa_exporter.py::test_what_render_prints_is_accepted",
    "athanor controllers --systems=numa": "tests/e2e/numa/test_numa_operator.py::test_its_flags_have_their_effect",
    "athanor controllers --systems=appwrapper": "test_controllers_webhooks.py::test_appwrappers_controllers_start_once_the_certificates_are_in_place",
    "athanor controllers --controllers hearth": "make bench-hearth",
    "athanor extender --zones-for": "tests/e2e/deploy/test_extender.py::test_zones_beside_slices",
    "athanor appwrappers suspend NAME": "tests/e2e/appwrapper/test_appwrapper.py::test_the_verbs",
    "athanor clusters": "tests/e2e/hearth/test_hearth_lab.py::test_the_guides_commands, test_clusters.py",
    "athanor lock NAME": "tests/e2e/hearth/test_hearth_lab.py::test_the_guides_commands",
    "athanor unlock NAME": "tests/e2e/hearth/test_hearth_lab.py::test_the_guides_commands",
    "make demo": "test_first_commands.py::test_the_demo",
    "make test": "make test",
    "make deploy SYSTEM=appwrapper": "tests/e2e/deploy/test_appwrapper_deploy.py::test_a_server_takes_it",
    "make undeploy SYSTEM=appwrapper": "tests/real/test_appwrapper.py::test_install_and_run",
    "make install run": "tests/real/test_appwrapper.py::test_install_and_run",
    "kubectl apply -k deploy/das": "tests/e2e/deploy/test_das_deploy.py::test_deploy_and_undeploy",
    "kubectl apply --server-side -f cm.yaml": "tests/e2e/api/test_kubectl_write.py",
    "kubectl run -it": "tests/e2e/api/test_streams.py",
    "scripts/salvage": "tests/unit/embedded/store/salvage_test.cpp",
    "scripts/fuzz": "make fuzz",
    "kubectl logs -n das-operator -l name=das-daemonset": "tests/e2e/das/test_agent.py reads the agent's log; emulated pods write none",
    "athanor controllers --controllers kueue,appwrapper-kueue": "tests/e2e/deploy/test_deployed_queueing.py",
    "kubectl -n athanor-system rollout status deployment/athanor-queueing": "tests/e2e/deploy/test_deployed_queueing.py rolls it out",
    "kubectl -n athanor-system rollout status deployment/athanor-console": "tests/e2e/deploy/test_deployed_console.py applies it; emulated pods serve nothing",
    "athanor crds --group inference.redhat.com": "test_missing_kinds.py::test_a_kind_of_another_platform_is_named_and_never_fails_readiness",
    "athanor rbac --console": "test_ways.py::test_an_account_holds_what_the_program_declares",
    "kubectl create token NAME": "test_deployed_console.py logs in with such tokens",
    "athanor crds --conversion-service": "tests/e2e/deploy/test_deployed_queueing.py::test_the_old_version_is_converted",
    "athanor queue -A": "tests/e2e/kueue/test_queues.py::test_why_a_job_waits",
    "athanor queue --explain": "tests/e2e/kueue/test_queues.py::test_why_a_job_waits",
    "athanor queue -w": "tests/e2e/kueue/test_queueing_jobs.py::test_a_line_is_printed_when_somebody_moves",
    "athanor queues NAME": "tests/e2e/kueue/test_queueing_jobs.py::test_every_command_of_the_page_works",
    "athanor queues --fits": "tests/e2e/kueue/test_queues.py::test_whether_a_request_would_fit",
    "kubectl describe clusterqueue": "tests/e2e/kueue/test_queueing_jobs.py::test_every_command_of_the_page_works",
    "kubectl kueue list workloads": "a plugin of Kueue's; test_queueing_jobs.py asks the paths that it reads",
    "kubectl get workloads -A --sort-by=.spec.priority": "tests/e2e/fournos/test_preemption.py reads workloads and their priorities",
    "athanor simulate --slices": "tests/e2e/cli/test_simulate.py::test_slice_requests_are_played_with_every_policy",
    "athanor jobs": "tests/e2e/cli/test_lists.py::test_jobs_are_selected_sorted_and_cut",
    "athanor describe": "tests/e2e/cli/test_describe.py::test_a_job_is_waited_for_and_described",
    "athanor wait": "tests/e2e/cli/test_describe.py::test_a_job_is_waited_for_and_described",
    "athanor logs JOB": "test_people_guide.py::test_the_commands_for_people",
    "athanor cancel JOB": "tests/e2e/cli/test_cli.py cancels jobs",
    "athanor appwrappers retry NAME": "tests/e2e/appwrapper/test_appwrapper.py::test_the_verbs",
    "athanor appwrappers NAME": "test_first_commands.py::test_the_commands_about_appwrappers",
    "athanor rbac --people": "the unit test People.JoinTheRolesOfKubernetes",
    "kubectl -n athanor-system scale deployment": "tests/e2e/deploy/test_deployed.py scales it",
    "athanor rerun": "tests/e2e/cli/test_describe.py::test_a_job_is_run_again_with_other_values",
    "athanor submit -f suite/": "tests/e2e/cli/test_describe.py::test_several_jobs_are_checked_first",
    "athanor numa must-gather": "tests/e2e/numa/test_numa_exporter.py::test_the_tools_on_a_lab_with_zones",
    "athanor numa pfpsync": "tests/e2e/numa/test_numa_exporter.py::test_the_tools_on_a_lab_with_zones",
    "kubectl get fournosjobs -A -w": "runs on; test_guides.py::test_fournos_commands watches jobs",
}


def elsewhere(command):
    return next((key for key in ELSEWHERE if command.startswith(key)), None)


@pytest.mark.parametrize("page", PAGES)
def test_every_command_within_the_text_is_run_or_has_its_place(page):
    known = set(RUN_INLINE.get(page, []))
    unknown = [one for one in inline_of(text_of(page)) if one not in known and not elsewhere(one)]
    assert not unknown, unknown
    assert known <= set(inline_of(text_of(page))), "commands that the text no longer has"


def test_every_make_target_of_the_pages_exists():
    there = set(re.findall(r"^([a-z][\w-]*(?: [a-z][\w-]*)*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    there = {target for line in there for target in line.split()}
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    named = {(page.name, target) for page in pages for target in re.findall(r"(?:^|`)make ([a-z][\w-]*)", page.read_text(encoding="utf-8"), re.M)}
    assert len(named) > 30 and {one for one in named if one[1] not in there} == set()


def test_every_page_with_commands_is_known():
    texts = {page: text_of(page) for page in ["README", *(path.stem for path in (ROOT / "docs").glob("*.md"))]}
    del texts["verbs"]  # the program's own help
    assert {page for page, text in texts.items() if commands_of(text) or inline_of(text)} == PAGES.keys()
    assert [page for page, test in PAGES.items() if not test and commands_of(texts[page])] == []


def dangling(text):
    """What a reference to a test names and is not there; everything, where no test is named."""
    files = re.findall(r"([\w./-]+\.(?:py|sh|cpp))(?:::(\w+))?", text)
    targets = re.findall(r"\bmake ([a-z-]+)", text)
    units = re.findall(r"\b([A-Z]\w+)\.([A-Z]\w+)\b", text)
    missing = [] if files or targets or units else [text]
    for name, test in files:
        found = [ROOT / name] if "/" in name else list((ROOT / "tests").rglob(name))
        if len(found) != 1 or not found[0].is_file() or f"def {test}(" not in ("def (" if not test else found[0].read_text(encoding="utf-8")):
            missing.append(f"{name}::{test}" if test else name)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    missing += [f"make {target}" for target in targets if not re.search(rf"^{target}:", makefile, re.M)]
    for suite, case in units:
        test = re.compile(rf"^TEST(_F|_P)?\({suite}, {case}\)", re.M)
        if not any(test.search(path.read_text(encoding="utf-8")) for path in (ROOT / "tests").rglob("*_test.cpp")):
            missing.append(f"{suite}.{case}")
    return missing


def test_what_is_run_elsewhere_is_run_there():
    """Every reference leads to a test, and every entry is needed."""
    named = [*ELSEWHERE.values(), *(test for test in PAGES.values() if test), *(test for rows in ROWS.values() for test in rows.values())]
    assert [one for text in named for one in dangling(text)] == []
    commands = [one for page in PAGES for one in (*commands_of(text_of(page)), *inline_of(text_of(page)))]
    assert [key for key in ELSEWHERE if not any(elsewhere(one) == key for one in commands)] == []
    for wrong in ("test_faults.py::test_of_another_name", "test_that_is_not_there.py", "make nothing", "Proxies.OfAnotherName", "every lab"):
        assert dangling(wrong), wrong


def test_what_the_page_about_tests_names_is_there():
    """Its commands take minutes to hours; here the scripts, make targets and files that they name."""
    commands = commands_of(text_of("testing"))
    assert len(commands) > 10
    for command in commands:
        words = command.split(" #")[0]
        named = re.findall(r"(?:^| |\()((?:scripts|tests)/[\w./-]+)", words)
        targets = re.findall(r"^make ([\w-]+)", words)
        programs = re.findall(r"build/\w+/(?:tests/sim/athanor_sim|src/test_kueue)", words)
        assert named or targets or programs, command
        assert [path for path in named if not (ROOT / path).exists()] == [], command
        assert [one for target in targets for one in dangling(f"make {target}")] == [], command


# Commands within the text that the tests below run.
RUN_INLINE = {
    "lab": [
        "kubectl create configmap fournos-mock-config -n fournos-local-dev --from-literal=sleep=10",
        "kubectl --kubeconfig DATA/targets/edge.kubeconfig get nodes",
    ],
    "fournos": [
        "athanor submit -f examples/fournos/sample-job.yaml --follow",
        "kubectl get fj",
        "kubectl get resourceflavors",
        "kubectl get workloadpriorityclasses",
        "kubectl describe pod",
        """kubectl patch fj NAME --type merge -p '{"spec":{"shutdown":"Stop"}}'""",
        "kubectl delete fj NAME",
    ],
    "controllers": ["athanor controllers --help", "athanor rbac --webhooks"],
    "envtest": ["athanor apiserver --help"],
    "appwrapper": [
        "kubectl describe aw NAME",
        "athanor appwrappers NAME",
        """kubectl patch workload NAME --type merge -p '{"spec":{"active":true}}'""",
        "kubectl describe aw",
    ],
    "das": ["athanor up --emulate-cluster-policy"],
    "numa": [
        "athanor numa [NODE]",
        "athanor numa explain POD [NODE]",
        "athanor rbac --controllers numa --webhooks --webhook-secret numaresources-webhook-server-cert "
        "--webhook-crd numaresourcesoperators.nodetopology.openshift.io,numaresourcesschedulers.nodetopology.openshift.io",
    ],
    "guides": [
        "athanor submit --cluster NAME --gpu a100:2 --project P --follow",
        "athanor rerun JOB --config batch_size=128 --follow",
        "athanor describe JOB",
        "athanor logs JOB",
        "athanor jobs -l suite=nightly --sort-by duration",
        "athanor jobs -A --phase Failed",
        "kubectl delete fj JOB",
    ],
    "simulate": ["athanor simulate --generate --jobs 2000 --days 28 --seed 3 > trace.csv"],
    "operations": [
        "kubectl -n athanor-system rollout restart deployment/athanor-controllers",
        "kubectl diff --server-side -k deploy/kustomize/base/crds",
        "kubectl get lease",
        "athanor rbac --help",
        "athanor controllers --help",
    ],
    "runbooks": [
        "kubectl -n athanor-system get pods,events",
        "kubectl get pods -n das-operator",
        "kubectl -n athanor-system describe pod POD",
        "kubectl -n athanor-system logs POD --previous",
        "kubectl -n athanor-system get lease athanor -o yaml",
        "kubectl apply --server-side -k deploy/kustomize/base/crds",
        "kubectl apply --server-side -f deploy/kustomize/base/rbac.yaml",
        "kubectl get --raw /readyz?verbose",
    ],
    # A table of its own: test_upstream_commands.py tries each row.
    "upstream": inline_of(text_of("upstream")),
}


# --- docs/lab.md ------------------------------------------------------------------------------------------
TARGETS = "## Emulated target clusters"
TRY = "### Try a service and a gang"


def test_the_labs_commands(tmp_path):
    before, _ = text_of("lab").split(TARGETS)
    before = before.replace(before.split(TRY)[1].split("\n#")[0], "")  # the next test's
    done = Guide(tmp_path).run([*commands_of(before), RUN_INLINE["lab"][0]])
    assert "Succeeded" in done.out and "cluster-1" in done.out
    assert (tmp_path / "lab-again/admin.kubeconfig").exists()


def test_a_service_and_a_gang_as_the_labs_page_tries_them(tmp_path, make_lab):
    """Every answer is that of the page's commands, in a lab of its own; the first block's services, the second block's training."""
    lab = make_lab("--storage", "memory").start()
    guide = Guide(tmp_path, kubeconfig=lab.kubeconfig)
    section = text_of("lab").split(TRY)[1].split("\n#")[0]
    web, train = (commands_of(f"```sh{block}```") for block in re.findall(r"```sh(.*?)```", section, re.DOTALL))
    done = guide.run(web)
    assert re.search(r"^hello from web-\S+$", done.out, re.MULTILINE), done.out
    assert re.search(r"^hello again from web-\S+$", done.out, re.MULTILINE), done.out
    assert re.search(r"^web-\S+ +\d+m +\d+Mi", done.out, re.MULTILINE), done.out
    done = guide.run(train)
    losses = [float(loss) for loss in re.findall(r"^step \d+ loss (\S+)$", done.out, re.MULTILINE)]
    assert len(losses) == 6 and losses == sorted(losses, reverse=True) and losses[0] > 1 > 0.001 > losses[-1], done.out
    for rank in (0, 3):
        assert f"rank {rank} of 4: y = 3.00 x + 1.00" in done.out, done.out


def test_the_commands_about_target_clusters(tmp_path):
    up = ["athanor up --lab examples/hearth/lab.yaml --storage memory --pods timed --data ~/lab &", "export KUBECONFIG=~/lab/admin.kubeconfig"]
    commands = commands_of(text_of("lab").split(TARGETS)[1])
    assert len(commands) >= 3
    # The last one but the nodes' kills the target; it is asked when it is well again.
    done = Guide(tmp_path).run([*up, *commands, RUN_INLINE["lab"][1]], DATA="~/lab")
    assert "node" in done.out


def lab_without(path):
    """The guide's lab file without one value."""
    (text,) = re.findall(r"```yaml\n(apiVersion: athanor.dev/v1\n.*?)```", text_of("lab"), re.DOTALL)
    lab = yaml.safe_load(text)
    lab["targets"] = [{"name": "edge"}]
    lab["images"] = [{"name": "tool", "entrypoint": ["tool"]}]
    at = lab
    for key in path[:-1]:
        at = at[key]
    del at[path[-1]]
    return lab


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (["apiVersion"], "apiVersion: a lab file starts with"),
        (["kind"], "apiVersion: a lab file starts with"),
        (["nodes", 0, "name"], "nodes[0].name: is required"),
        (["nodes", 0, "taints", 0, "key"], "nodes[0].taints[0].key: is required"),
        (["clusters", 0, "name"], "clusters[0].name: is required"),
        (["queues", 0, "name"], "queues[0].name: is required"),
        (["images", 0, "name"], "images[0].name: is required"),
        (["targets", 0, "name"], "targets[0].name: is required"),
    ],
)
def test_what_the_labs_tables_call_required_is(tmp_path, path, said):
    (tmp_path / "lab.yaml").write_text(yaml.safe_dump(lab_without(path), sort_keys=False), encoding="utf-8")
    done = run([ATHANOR, "up", "--data", tmp_path / "d", "--port", "0", "--lab", tmp_path / "lab.yaml"])
    assert done.code == 1 and re.search(rf"lab.yaml:\d+: {re.escape(said)}", done.err), done.err


# Rows of tables that say "required", "accepted" or "no effect", by the first name in them, and the test that tries what they say.
LAB_ROWS = "test_guides.py::test_what_the_labs_tables_call_required_is"
STARTS = "test_cli.py::test_controllers_that_cannot_start_say_so_at_once"
FLAGS = "test_guides.py::test_what_the_api_server_accepts_without_effect_is_told"
ROWS = {
    "appwrapper": {
        "terminalExitCodes": "the unit test ExitCodes.DecideOnRetries",
        "--zap-stacktrace-level": "the unit test OperatorProcess.WarnsOfSettingsWithoutEffect",
    },
    "das": {
        "NODE_NAME": "tests/e2e/das/test_agent.py::test_what_cannot_be_is_said",
        "requests.mig.das.com/1g.5gb": "the unit test WebhookTest.K6WarnsOfQuotasThatNeverBite",
    },
    "envtest": {"--etcd-servers": FLAGS, "--feature-gates": FLAGS},
    "fournos": {"FOURNOS_NAMESPACE": STARTS},
    "kueue": {"UnsupportedIntegration": "test_queueing_jobs.py::test_what_is_not_integrated_is_warned_of", "featureGates": "test_queueing_configuration.py::test_what_has_no_effect_is_warned_of"},
    "lab": {name: LAB_ROWS for name in ("apiVersion", "nodes[].name", "nodes[].taints[]", "clusters[].name", "queues[].name", "images[].name", "name")},
    "tekton": {"feature-flags": "the unit test ConfigObjects.HonourEachKeyOrWarn", "keep-pod-on-cancel": "the unit test ConfigObjects.HonourEachKeyOrWarn", "experimental.tekton.dev/execution-mode": "the unit test IgnoredFields.AreReportedByPath", "debug": "the unit test IgnoredFields.AreReportedByPath", "results-from": "the unit test ConfigObjects.HonourEachKeyOrWarn"},
    "numa": {"--enable-http2": "the unit test NumaOperatorProcess.WarnsOfFlagsWithoutEffect", "--logtostderr": "the unit test NumaOperatorProcess.TakesKlogsFlags"},
    "operations": {"ERROR: FOURNOS_WORKLOAD_NAMESPACE env var is required": STARTS},
}


@pytest.mark.parametrize("page", PAGES_WITH_ROWS)
def test_rows_that_promise_something_are_known(page):
    """A new row that says "required", "accepted" or "no effect" needs its entry, and its test."""
    rows = [line for line in text_of(page).splitlines() if line.startswith("|") and re.search(r"no effect|accepted|\brequired\b", line)]
    assert [re.findall(r"`([^`]+)`", row)[0] for row in rows] == list(ROWS.get(page, {}))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("{FOURNOS_EVICTION: fail}", "lab.yaml:3: settings.FOURNOS_EVICTION: no system has such a setting; did you mean FOURNOS_EVICTION_POLICY?"),
        ("{FOURNOS_RESOLVE_JOB_TEMPLATE: /does/not/exist}", "lab.yaml:3: settings.FOURNOS_RESOLVE_JOB_TEMPLATE: cannot read /does/not/exist"),
        ("{HEARTH_OFFBOARDING: maybe}", "lab.yaml:3: settings.HEARTH_OFFBOARDING: HEARTH_OFFBOARDING=maybe: must be"),
        ("{KUEUE_BLOCK_ADMISSION: maybe}", "lab.yaml:3: settings.KUEUE_BLOCK_ADMISSION: KUEUE_BLOCK_ADMISSION=maybe"),
        ("{EMULATED_MODE: maybe}", "lab.yaml:3: settings.EMULATED_MODE: "),
        ("{EMULATED_GPU_MODEL: X99}", "lab.yaml:3: settings.EMULATED_GPU_MODEL: unknown emulated GPU model"),
        ("{NUMA_PLATFORM: maybe}", "lab.yaml:3: settings.NUMA_PLATFORM: "),
        ("{FOURNOS_GC_INTERVAL_SEC: soon}", "lab.yaml:3: settings.FOURNOS_GC_INTERVAL_SEC: FOURNOS_GC_INTERVAL_SEC=soon: must be a number"),
    ],
)
def test_settings_of_a_lab_are_checked_with_their_line(tmp_path, settings, said):
    file = tmp_path / "lab.yaml"
    file.write_text(f"apiVersion: athanor.dev/v1\nkind: Lab\nsettings: {settings}\n", encoding="utf-8")
    done = run([ATHANOR, "up", "--data", tmp_path / "d", "--port", "0", "--lab", file])
    assert done.code == 1 and said in done.err, done.err


# --- docs/fournos.md --------------------------------------------------------------------------------------
def test_fournos_commands(tmp_path, make_lab):
    lab = make_lab("--storage", "memory").start()
    lab.kubectl("create", "configmap", "fournos-mock-config", "-n", "fournos-local-dev", "--from-literal=sleep=0.1")
    commands = [one for one in commands_of(text_of("fournos")) if "vault.example" not in one]  # test_vault.py asks a Vault
    (tmp_path / "secrets/token").mkdir(parents=True)
    (tmp_path / "secrets/token/value").write_text("s3cr3t", encoding="utf-8")
    create = next(i for i, one in enumerate(commands) if one.startswith("kubectl create -f"))
    commands[create] = f"JOB=$({commands[create]} -o jsonpath='{{.metadata.name}}')"
    replaced = {"test-job-x7k2p": "$JOB", "fj NAME": "fj $JOB -n fournos-local-dev"}
    done = Guide(tmp_path, lab.kubeconfig).run([*commands, *RUN_INLINE["fournos"]], **replaced)
    assert re.search(r"^fournosjob.fournos.dev/\S+ patched", done.out, re.M) and re.search(r'^fournosjob.fournos.dev "\S+" deleted', done.out, re.M), done.out[-2000:]
    assert "[mock-run] done" in done.out and "Succeeded" in done.out


# --- docs/controllers.md ----------------------------------------------------------------------------------
@pytest.fixture
def api_server(tmp_path):
    """An API server alone, without any kind of ours, and an administrator's kubeconfig."""
    (tmp_path / "tokens").write_text('secret,admin,1,"system:masters"\n', encoding="utf-8")
    with open(tmp_path / "server.out", "wb") as out:
        server = subprocess.Popen(
            [ATHANOR, "apiserver", "--secure-port", "0", "--authorization-mode=RBAC", "--token-auth-file", tmp_path / "tokens"],
            stdout=out, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        address = wait_for("the server", lambda: re.search(r"https://\S+", (tmp_path / "server.out").read_text(encoding="utf-8"))).group()
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": address, "insecure-skip-tls-verify": True}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {"token": "secret"}}],
        }  # fmt: skip
        (tmp_path / ".kube").mkdir()
        (tmp_path / ".kube/config").write_text(yaml.safe_dump(config), encoding="utf-8")
        yield tmp_path / ".kube/config"
    finally:
        server.terminate()
        server.wait(DEADLINE)


def test_the_controllers_commands(tmp_path, api_server):
    """The first command leaves Kueue's own definition alone."""
    kubectl = [KUBECTL, "--kubeconfig", api_server]
    theirs = run([ATHANOR, "crds", "--group", "kueue.x-k8s.io"]).out
    assert run([*kubectl, "create", "-f", "-"], stdin=theirs).code == 0

    def versions():
        listed = run([*kubectl, "get", "crds", "-o", "json"]).json["items"]
        return {one["metadata"]["name"]: one["spec"] for one in listed}

    before = versions()
    commands = commands_of(text_of("controllers"))
    assert commands[0].startswith("athanor crds | ")
    Guide(tmp_path).run(commands[:1])
    after = versions()
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() == {"fournosjobs.fournos.dev", "fournosclusters.fournos.dev"}
    for name in before:
        run([*kubectl, "delete", "crd", name])
    out = Guide(tmp_path).run([*commands[1:], *RUN_INLINE["controllers"]]).out
    assert "validatingwebhookconfiguration.admissionregistration.k8s.io/athanor created" in out


# --- docs/kueue.md ----------------------------------------------------------------------------------------
def test_the_queueings_commands_for_a_cluster(tmp_path, api_server):
    """Those for a lab: test_queueing_jobs.py::test_every_command_of_the_page_works."""
    commands = block_with(text_of("kueue"), "athanor crds")
    assert len(commands) == 4
    out = Guide(tmp_path).run(commands).out
    for kind in ("customresourcedefinition", "clusterrole", "mutatingwebhookconfiguration", "validatingwebhookconfiguration"):
        assert re.search(rf"^{kind}\.\S+/\S+ (created|serverside-applied)$", out, re.M), (kind, out)
    listed = run([KUBECTL, "--kubeconfig", api_server, "get", "clusterqueues"])
    assert listed.code == 0 and "No resources found" in listed.err, listed.err


# --- docs/operations.md -----------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Athanor deployed on a lab, whose pods take time and run nothing, with a lease that somebody holds."""
    one = Lab(
        tmp_path_factory.mktemp("operations") / "lab",
        ["--storage", "memory", "--pods", "timed", "--lab", str(ROOT / "tests/e2e/data/cluster.yaml"), "--controllers", "*,-fournosjob"],
    )
    try:
        one.start()
        one.kubectl("apply", "--server-side", "--force-conflicts", "-k", ROOT / "deploy/kustomize/overlays/default")
        one.kubectl("apply", "--server-side", "--force-conflicts", "-k", ROOT / "deploy/kustomize/queue")
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "athanor", "namespace": "athanor-system"}, "spec": {"holderIdentity": "a-pod"}}
        one.kubectl("apply", "-f", "-", stdin=json.dumps(lease))
        yield one
    finally:
        one.close()


def test_operations_commands(tmp_path, cluster):
    """All but the restore, which wants another cluster."""
    text = text_of("operations")
    restore = block_with(text, "FRESH=")
    blocks = [one for one in commands_of(text) if one not in restore and not elsewhere(one)]
    commands = [*blocks, *RUN_INLINE["operations"]]
    # diff says by its exit code 1 that there is a difference.
    commands = [f"{one} || [ $? = 1 ]" if one.startswith("kubectl diff") else one for one in commands]
    assert len(commands) > 12
    guide = Guide(tmp_path, cluster.kubeconfig)
    level = next(i for i, one in enumerate(commands) if "log-level: debug" in one) + 1
    guide.run(commands[:level])
    config = cluster.kubectl("get", "configmap", "athanor-controllers", "-n", "athanor-system", "-o", "json").json
    assert yaml.safe_load(config["data"]["controllers.yaml"])["log-level"] == "debug"
    guide.run(commands[level:])
    for namespace, role in (("team-jobs", "athanor"), ("team-secrets", "athanor")):
        roles = cluster.kubectl("get", "roles", "-n", namespace, "-o", "name").out
        assert role in roles, (namespace, roles)


def test_the_runbooks_commands(tmp_path, cluster):
    commands = [one for one in RUN_INLINE["runbooks"] if "--previous" not in one]
    pod = "$(kubectl -n athanor-system get pods --sort-by=.metadata.creationTimestamp -o name | tail -n 1 | cut -d/ -f2)"
    done = Guide(tmp_path, cluster.kubeconfig).run(commands, POD=pod)
    assert re.search(r"^Name: +athanor-controllers-", done.out, re.M), "the pod is described"


def test_the_log_of_a_pod_that_restarted(tmp_path, make_lab):
    (command,) = [one for one in RUN_INLINE["runbooks"] if "--previous" in one]
    lab = make_lab("--storage", "memory").start()
    lab.kubectl("create", "namespace", "athanor-system")
    wait_for("its account", lambda: lab.http("GET", "/api/v1/namespaces/athanor-system/serviceaccounts/default").code == 200)
    script = "if [ -e /v/x ]; then sleep 1000; fi; touch /v/x; echo FOURNOS_GC_INTERVAL_SEC=soon: must be a number; exit 1"
    container = {"name": "c", "image": "athanor", "command": ["/bin/sh", "-c", script], "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "athanor-1"}, "spec": {"containers": [container], "volumes": [{"name": "v", "emptyDir": {}}]}}
    lab.kubectl("apply", "-n", "athanor-system", "-f", "-", stdin=json.dumps(pod))
    restarts = lambda: lab.get("/api/v1/namespaces/athanor-system/pods/athanor-1")["status"]["containerStatuses"][0]["restartCount"]  # noqa: E731
    wait_for("it restarts", lambda: restarts() == 1)
    assert "must be a number" in Guide(tmp_path, lab.kubeconfig).run([command], POD="athanor-1").out


def test_the_overlay_of_ones_own(tmp_path):
    """The guide's kustomization renders, and its patches arrive."""
    (text,) = re.findall(r"```yaml\n(# kustomization.yaml\n.*?)```", text_of("operations"), re.DOTALL)
    kustomization = yaml.safe_load(text)
    relative = os.path.relpath(ROOT / "deploy/kustomize/overlays/production", tmp_path)
    kustomization["resources"] = [relative]
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization), encoding="utf-8")
    done = run([KUBECTL, "kustomize", tmp_path])
    assert done.code == 0, done.err
    objects = {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(done.out) if one}
    container = objects["Deployment", "athanor-controllers"]["spec"]["template"]["spec"]["containers"][0]
    assert {"name": "FOURNOS_GC_INTERVAL_SEC", "value": "60"} in container["env"]
    assert container["image"] == "REGISTRY/athanor:0.1.0"
    flags = yaml.safe_load(objects["ConfigMap", "athanor-controllers"]["data"]["controllers.yaml"])
    base = yaml.safe_load(yaml.safe_load((ROOT / "deploy/kustomize/base/configmap.yaml").read_text(encoding="utf-8"))["data"]["controllers.yaml"])
    assert flags == {**base, "log-level": "debug"}, "the patch says what the base says, but for the level"


def test_a_backup_is_restored_without_the_jobs_that_are_over(tmp_path, make_lab):
    """On a second lab that has the kinds, the namespaces and nothing else."""
    text = text_of("operations")
    lab = str(ROOT / "tests/e2e/data/cluster.yaml")
    labs = [make_lab("--storage", "memory", "--controllers", "", "--lab", lab).start() for _ in range(2)]
    first, second = labs
    for one in labs:
        for namespace in ("psap-secrets", "jobs"):
            one.http("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    first.kubectl("apply", "--server-side", "--force-conflicts", "-f", ROOT / "deploy/kustomize/queue/cluster.yaml")
    first.kubectl("create", "secret", "generic", "kubeconfig-edge", "-n", "psap-secrets", "--from-literal=kubeconfig=mock")
    for name, phase in (("waits", "Pending"), ("over", "Succeeded")):
        first.submit({"owner": "o", "cluster": "edge", "forge": {"project": "p", "args": []}}, name, "jobs")
        first.kubectl("patch", "fj", name, "-n", "jobs", "--subresource=status", "--type=merge", "-p", json.dumps({"status": {"phase": phase}}))
    Guide(tmp_path, first.kubeconfig).run(block_with(text, "> jobs.json"))
    Guide(tmp_path, second.kubeconfig).run(block_with(text, "FRESH="))
    names = lambda kind: second.kubectl("get", kind, "-A", "-o", "jsonpath={.items[*].metadata.name}").out.split()  # noqa: E731
    assert names("fournosjobs") == ["waits"]
    assert "kubeconfig-edge" in names("secrets") and names("clusterqueues") and names("resourceflavors")


# --- docs/envtest.md --------------------------------------------------------------------------------------
def test_the_envtest_commands(tmp_path):
    commands = commands_of(text_of("envtest"))
    assert [elsewhere(one) for one in commands] == [None, "go test"]
    done = Guide(tmp_path).run([*RUN_INLINE["envtest"], commands[0], 'ls "$KUBEBUILDER_ASSETS"', '"$KUBEBUILDER_ASSETS/kube-apiserver" --help | head -n 1'])
    assert re.search(r"^etcd\nkube-apiserver\nkubectl$", done.out, re.M) and "The API server alone" in done.out


def test_what_the_api_server_accepts_without_effect_is_told(tmp_path):
    """docs/envtest.md: the rows about flags that change nothing, and the flags that the help calls so."""
    flags = re.findall(r"^\s+--([a-z-]+)\b.*accepted, without effect", run([ATHANOR, "apiserver", "--help"]).out, re.M)
    assert {"feature-gates", "runtime-config"} <= set(flags)
    switches = re.findall(r"^\s+--([a-z-]+)   ", run([ATHANOR, "apiserver", "--help"]).out, re.M)
    given = [f"--{flag}={'true' if flag in switches else 'a'}" for flag in flags]
    with open(tmp_path / "out", "wb") as out, open(tmp_path / "err", "wb") as err:
        server = subprocess.Popen([ATHANOR, "apiserver", "--secure-port=0", "--etcd-servers=http://nowhere:1", *given], stdout=out, stderr=err)
    try:
        wait_for("the server", lambda: "listening" in (tmp_path / "out").read_text(encoding="utf-8"))
        said = [json.loads(line)["msg"] for line in (tmp_path / "err").read_text(encoding="utf-8").splitlines()]
        assert [one for one in said if "has no effect here" in one] == [f"--{flag} has no effect here" for flag in flags]
        assert "--etcd-servers is ignored: objects are kept by this process" in said
    finally:
        server.terminate()
        server.wait(DEADLINE)
    refused = run([ATHANOR, "apiserver", "--insecure-port=8080"])
    assert refused.code == 1 and "--insecure-port must be 0" in refused.err
