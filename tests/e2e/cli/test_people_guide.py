# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/guides.md, run as they stand there."""

from guide import Guide, block_with, text_of
from support import JOBS
from test_guides import RUN_INLINE


def test_the_commands_for_people(tmp_path, make_lab):
    """What a performance engineer does with one job, and the roles."""
    lab = make_lab("--storage", "memory").start()
    roles = block_with(text_of("guides"), "rolebinding")
    may = "until kubectl auth can-i create fournosjobs.fournos.dev -n team --as ann; do sleep 0.2; done"
    submit, *others = RUN_INLINE["guides"]
    newest = "$(kubectl get fj -o name --sort-by=.metadata.creationTimestamp | head -n 1 | cut -d/ -f2)"
    of_jobs = [f"kubectl config set-context --current --namespace={JOBS}", submit.replace("NAME", "cluster-1"), f"J={newest}", *others]
    done = Guide(tmp_path, lab.kubeconfig).run([*roles[:-1], may, *of_jobs], JOB='"$J"')
    assert done.out.count("Succeeded (cluster-1)") == 2 and " deleted" in done.out
    for user, verb, allowed in (("bob", "list", "yes"), ("bob", "create", "no"), ("ann", "create", "yes")):
        assert lab.kubectl("auth", "can-i", verb, "fournosjobs.fournos.dev", "-n", "team", "--as", user, code=None).out.strip() == allowed
