# SPDX-License-Identifier: Apache-2.0
"""Worlds of queues from a seed, played on Kueue's real scheduler and on this tree's, step by step.

python queue_worlds.py --kueue PROGRAM --athanor PROGRAM [--seeds N] [--first N]: prints each world that was decided differently.
"""

import argparse
import json
import random
import subprocess
import sys

API = "kueue.x-k8s.io/v1beta2"
STEPS = 5
# Worlds of which docs/kueue.md names the difference in another way than first_difference() sees.
NAMED = {841: "a workload whose pod sets get other flavors in turn: one behind it has its turn later"}


class World:
    """Cohorts to depth 3, queues with limits, policies and strategies, workloads that come and end."""

    def __init__(self, seed):
        self.seed = seed
        self.random = random.Random(seed)
        self.fair = self.maybe(4)
        self.resources = ["cpu", "gpu"] if self.maybe(3) else ["cpu"]
        self.flavors = ["f", "g", "h"][: 1 + self.below(3)]
        self.objects = [self.named("ResourceFlavor", one, {}) for one in self.flavors]
        self.cohorts = {}  # name: depth
        self.queues = []
        self.jobs = []
        for number in range(self.below(5)):
            self.add_cohort(f"c{number}")
        for number in range(1 + self.below(4)):
            self.add_queue(f"q{number}")

    def below(self, count):
        return self.random.randrange(count)

    def maybe(self, one_in):
        return self.below(one_in) == 0

    def one_of(self, *values):
        return self.random.choice(values)

    @staticmethod
    def named(kind, name, spec, namespace=None):
        metadata = {"name": name, "uid": name, **({"namespace": namespace} if namespace else {})}
        return {"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec}

    def quota(self, resource, has_parent):
        nominal = self.below(7)
        quota = {"name": resource, "nominalQuota": str(nominal)}
        if has_parent and self.maybe(4):
            quota["borrowingLimit"] = str(self.below(5))
        if has_parent and self.maybe(4):
            quota["lendingLimit"] = str(self.below(nominal + 1))
        return quota

    def groups(self, flavors, has_parent):
        # Each resource in a group of its own, or all in one.
        split = [[one] for one in self.resources] if len(self.resources) > 1 and len(flavors) > 1 and self.maybe(3) else [self.resources]
        groups = []
        for index, resources in enumerate(split):
            own = flavors if len(split) == 1 else flavors[index::2]
            groups.append({"coveredResources": resources,
                           "flavors": [{"name": name, "resources": [self.quota(one, has_parent) for one in resources]} for name in own]})  # fmt: skip
        return groups

    def share(self):
        return {"fairSharing": {"weight": str(self.one_of(0, 1, 1, 1, 2, 3))}} if self.fair else {}

    def add_cohort(self, name):
        parents = [one for one, depth in self.cohorts.items() if depth < 3]
        parent = self.random.choice(parents) if parents and not self.maybe(4) else None
        spec = {**({"parentName": parent} if parent else {}), **self.share()}
        if self.maybe(3):
            spec["resourceGroups"] = self.groups(self.flavors[: 1 + self.below(len(self.flavors))], parent is not None)
        self.cohorts[name] = self.cohorts[parent] + 1 if parent else 1
        self.objects.append(self.named("Cohort", name, spec))

    def add_queue(self, name):
        cohort = self.random.choice(list(self.cohorts)) if self.cohorts and not self.maybe(6) else None
        flavors = self.random.sample(self.flavors, 1 + self.below(len(self.flavors)))
        reclaim = self.one_of("Never", "LowerPriority", "Any")
        preemption = {"withinClusterQueue": self.one_of("Never", "LowerPriority", "LowerOrNewerEqualPriority"), "reclaimWithinCohort": reclaim}
        preemption["borrowWithinCohort"] = {"policy": "Never"}
        if reclaim != "Never" and self.maybe(2):
            preemption["borrowWithinCohort"] = {"policy": "LowerPriority", **({"maxPriorityThreshold": self.below(3)} if self.maybe(2) else {})}
        fungibility = {"whenCanBorrow": self.one_of("MayStopSearch", "TryNextFlavor"), "whenCanPreempt": self.one_of("MayStopSearch", "TryNextFlavor")}
        if list(fungibility.values()) == ["TryNextFlavor"] * 2 and self.maybe(2):
            fungibility["preference"] = self.one_of("PreemptionOverBorrowing", "BorrowingOverPreemption")
        spec = {
            **({"cohortName": cohort} if cohort else {}),
            **self.share(),
            "namespaceSelector": {},
            "stopPolicy": "None",
            "queueingStrategy": self.one_of("StrictFIFO", "BestEffortFIFO", "BestEffortFIFO"),
            "resourceGroups": self.groups(flavors, cohort is not None),
            "flavorFungibility": fungibility,
            "preemption": preemption,
        }
        self.objects.append(self.named("ClusterQueue", name, spec))
        self.objects.append(self.named("LocalQueue", name, {"clusterQueue": name, "stopPolicy": "None"}, "bench"))
        self.queues.append(name)

    def pod_set(self, name):
        requests = {one: str(1 + self.below(6 if self.maybe(3) else 3)) for one in self.resources if one == "cpu" or not self.maybe(3)}
        pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]}
        return {"name": name, "count": 1 + self.below(2 if self.maybe(3) else 1), "template": {"metadata": {}, "spec": pod}}

    def job(self):
        name = f"j{len(self.jobs):02}"
        self.jobs.append(name)
        sets = [self.pod_set("main")] + ([self.pod_set("more")] if self.maybe(6) else [])
        return self.named("Workload", name, {"queueName": self.random.choice(self.queues), "active": True, "priority": self.below(4), "podSets": sets}, "bench")

    def text(self):
        steps = []
        for _ in range(STEPS):
            end = [one for one in self.jobs if self.maybe(5)]
            steps.append({"submit": [self.job() for _ in range(self.below(5))], "end": end})
        return json.dumps({"seed": self.seed, "fair": self.fair, "objects": self.objects, "steps": steps})


def played(program, worlds):
    done = subprocess.run([program], input="\n".join(worlds) + "\n", capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def victims(rests):
    return sorted(word for rest in rests for word in rest.split() if "!" in word)


def equal(theirs, ours):
    """Whether a step is decided alike: the last rest, and who had to leave. Before its victims are gone Kueue may admit more (docs/kueue.md)."""
    return theirs[-1:] == ours[-1:] and victims(theirs) == victims(ours)


def first_difference(theirs, ours):
    """(step, Kueue's rests, Athanor's rests); None where nothing differs but what docs/kueue.md names.

    A world in which Kueue comes back to one workload for ever ends there.
    """
    for number, (kueue, athanor) in enumerate(zip(theirs["steps"], ours["steps"], strict=False)):
        if not equal(kueue, athanor):
            return number, kueue, athanor
    if theirs.get("endless"):
        return None
    circles = theirs.get("circle"), ours.get("circle")
    return None if circles[0] == circles[1] and len(theirs["steps"]) == len(ours["steps"]) else ("circle", *circles)


def differences(kueue, athanor, seeds):
    """Seeds of the worlds that are decided differently, with their first difference."""
    worlds = [World(seed).text() for seed in seeds]
    found = []
    for theirs, ours in zip(played(kueue, worlds), played(athanor, worlds), strict=True):
        assert theirs["seed"] == ours["seed"]
        first = first_difference(theirs, ours)
        if first is not None and theirs["seed"] not in NAMED:
            found.append((theirs["seed"], first))
    return found


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--kueue", required=True)
    flags.add_argument("--athanor", required=True)
    flags.add_argument("--seeds", type=int, default=1000)
    flags.add_argument("--first", type=int, default=0)
    flags.add_argument("--print", action="store_true")
    args = flags.parse_args()
    seeds = range(args.first, args.first + args.seeds)
    if args.print:
        print("\n".join(World(seed).text() for seed in seeds))
        return 0
    found = differences(args.kueue, args.athanor, seeds)
    for seed, first in found:
        print(f"seed {seed}: {first}")
    print(f"{len(seeds)} worlds, {len(found)} differ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
