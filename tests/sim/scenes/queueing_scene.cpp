// SPDX-License-Identifier: Apache-2.0
// Queues in a random tree of cohorts with random policies, workloads that come, are preempted, come
// back and finish (docs/spec/kueue.md 7, 8). What becomes of each does not depend on the order: all
// that fits finishes.
#include <fmt/format.h>

#include <random>
#include <set>

#include "api/kueue.hpp"
#include "base/check.hpp"
#include "embedded/kueue/cycle/scheduler.hpp"
#include "kube/value/condition.hpp"
#include "product/list.hpp"
#include "sim/scenes/lab_scene.hpp"
#include "sim/scenes/queue_rules.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/scenes/stand_ins.hpp"

namespace athanor::sim {
namespace {

constexpr const char* kNs = "default";
// How many seconds a workload runs; 0: for ever.
constexpr const char* kRuns = "example.com/runs";
constexpr int kWorkloads = 10;
// Faults last for ten minutes, one queue is stopped for five, and all workloads one after the
// other, each preempted three times before its end, run for an hour and a quarter.
constexpr Duration kInTime = std::chrono::minutes(90);

// What the integration of a job does: gives the quota back once it is evicted (8.2), and says when
// it is over. An eviction is the end of that attempt.
Plan own_workload(const View& view, const Key& key, Instant now) {
  const auto workload = view.get(api::kueue::kWorkload, key);
  if (!workload) {
    return Plan::done();
  }
  Value conditions = workload->status()["conditions"];
  if (condition_is(conditions, "Finished", "True") ||
      !condition_is(conditions, "QuotaReserved", "True")) {
    return Plan::done();
  }
  Plan plan;
  Value status = Value::object();
  if (const Value evicted = find_condition(conditions, "Evicted");
      evicted["status"].as_string() == "True") {
    const std::string reason = evicted["reason"].str();
    set_condition(conditions, {"QuotaReserved", "False", "Pending", "released", {}}, now);
    set_condition(conditions, {"Admitted", "False", "NoReservation", "released", {}}, now);
    set_condition(conditions,
                  {"Requeued", reason == "Preempted" ? "True" : "False", reason, "released", {}},
                  now);
    status.set("admission", Value());
  } else if (condition_is(conditions, "Admitted", "True")) {
    const std::int64_t runs = std::stoll(std::string(workload->annotation(kRuns)));
    const auto since =
        parse_time(find_condition(conditions, "Admitted")["lastTransitionTime"].as_string());
    const Instant due = since.value_or(now) + std::chrono::seconds(runs);
    if (runs == 0) {
      return plan;
    }
    if (now < due) {
      plan.wake_at(due);
      return plan;
    }
    set_condition(conditions, {"Finished", "True", "Succeeded", "done", {}}, now);
  } else {
    return plan;
  }
  status.set("conditions", std::move(conditions));
  plan.then(Status{.target = {&api::kueue::kWorkload, key},
                   .status = std::move(status),
                   .guard = {.uid = std::string(workload->uid()),
                             .resource_version = std::string(workload->resource_version())}});
  return plan;
}

// A member of a spec that names a cohort; nothing without one.
std::string named(const char* key, const std::string& cohort) {
  return cohort.empty() ? "" : fmt::format("{}: {}, ", key, cohort);
}

constexpr Operator kOwner = stand_in<api::kueue::kWorkload>("workload-owner", own_workload);

void must(const Result<Object>& done) {
  ATHANOR_CHECK(done.ok(), "the API server takes a change of the scene");
}

class Tree {
 public:
  explicit Tree(std::uint64_t seed) : random_(seed) {}

  // Cohorts, queues and workloads, into the scene.
  void plant(Scene& scene) {
    for (const char* name : {"f", "g"}) {
      scene.objects.push_back(from_yaml(
          fmt::format("{{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: "
                      "{{name: {}}}, spec: {{}}}}",
                      name)));
    }
    const int cohorts = one_of(4);
    for (int i = 0; i < cohorts; ++i) {
      const std::string parent = i > 0 && !maybe(4) ? fmt::format("cohort-{}", one_of(i)) : "";
      const std::string groups = maybe(3)
                                     ? fmt::format("[{{coveredResources: [gpu], flavors: [{}]}}]",
                                                   flavor("f", !parent.empty()))
                                     : "[]";
      scene.objects.push_back(from_yaml(fmt::format(
          "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {{name: cohort-{}}}, "
          "spec: {{{}resourceGroups: {}}}}}",
          i, named("parentName", parent), groups)));
    }
    const int queues = 1 + one_of(4);
    for (int i = 0; i < queues; ++i) {
      const std::string cohort =
          cohorts > 0 && !maybe(6) ? fmt::format("cohort-{}", one_of(cohorts)) : "";
      add_queue(scene, fmt::format("queue-{}", i), cohort);
    }
    for (int i = 0; i < kWorkloads; ++i) {
      add_workload(scene, i, one_of(queues));
    }
    stop_one(scene, one_of(queues));
  }

 private:
  int one_of(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  bool maybe(int one_in) { return one_of(one_in) == 0; }

  std::string flavor(const std::string& name, bool in_cohort) {
    const int nominal = one_of(7);
    std::string more;
    if (in_cohort && maybe(4)) {
      more += fmt::format(", borrowingLimit: {}", one_of(6));
    }
    if (in_cohort && maybe(4)) {
      more += fmt::format(", lendingLimit: {}", one_of(nominal + 1));
    }
    return fmt::format("{{name: {}, resources: [{{name: gpu, nominalQuota: {}{}}}]}}", name,
                       nominal, more);
  }

  void add_queue(Scene& scene, const std::string& name, const std::string& cohort) {
    static constexpr std::array kWithin{"Never", "LowerPriority", "LowerOrNewerEqualPriority"};
    static constexpr std::array kReclaim{"Never", "LowerPriority", "Any"};
    const std::string reclaim = kReclaim.at(static_cast<std::size_t>(one_of(3)));
    const std::string borrow =
        reclaim != "Never" && maybe(2) ? ", borrowWithinCohort: {policy: LowerPriority}" : "";
    const std::string flavors =
        flavor("f", !cohort.empty()) + (maybe(2) ? "" : ", " + flavor("g", !cohort.empty()));
    scene.objects.push_back(from_yaml(fmt::format(
        "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {{name: {}}}, spec: "
        "{{namespaceSelector: {{}}, {}queueingStrategy: {}, resourceGroups: "
        "[{{coveredResources: [gpu], flavors: [{}]}}], flavorFungibility: {{whenCanBorrow: {}, "
        "whenCanPreempt: {}}}, preemption: {{withinClusterQueue: {}, reclaimWithinCohort: {}{}}}, "
        "fairSharing: {{weight: {}}}}}}}",
        name, named("cohortName", cohort), maybe(3) ? "StrictFIFO" : "BestEffortFIFO", flavors,
        maybe(2) ? "TryNextFlavor" : "MayStopSearch", maybe(2) ? "TryNextFlavor" : "MayStopSearch",
        kWithin.at(static_cast<std::size_t>(one_of(3))), reclaim, borrow, 1 + one_of(3))));
    scene.objects.push_back(from_yaml(
        fmt::format("{{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {{name: "
                    "{0}, namespace: {1}}}, spec: {{clusterQueue: {0}}}}}",
                    name, kNs)));
  }

  void add_workload(Scene& scene, int number, int queue) {
    const int need = 1 + one_of(maybe(3) ? 6 : 3);
    const int priority = one_of(4);
    const int runs = 20 + one_of(100);
    scene.actors.push_back(
        {.at = std::chrono::seconds(1 + one_of(90)), .act = [=](World& world) {
           const std::string name = fmt::format("queue-{}", queue);
           int allowed = need;
           // Under StrictFIFO one that never fits would keep all behind it out, and which these are
           // is a matter of time.
           const auto object = world.get(api::kueue::kClusterQueue, {"", name});
           if (object && object->spec()["queueingStrategy"].as_string() == "StrictFIFO") {
             const std::int64_t room =
                 std::max(QuotaCount(world, "f", "gpu").capacity("cq/" + name),
                          QuotaCount(world, "g", "gpu").capacity("cq/" + name));
             if (room == 0) {
               return;
             }
             allowed = static_cast<int>(std::min<std::int64_t>(need, room));
           }
           must(world.create(from_yaml(fmt::format(
               "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {{name: job-{}, "
               "namespace: {}, annotations: {{{}: '{}'}}}}, spec: {{queueName: {}, priority: {}, "
               "podSets: [{{name: main, count: 1, template: {{spec: {{restartPolicy: Never, "
               "containers: [{{name: c, image: i, resources: {{requests: {{gpu: "
               "{}}}}}}}]}}}}}}]}}}}",
               number, kNs, kRuns, runs, name, priority, allowed))));
         }});
  }

  // One queue is drained, and starts again.
  void stop_one(Scene& scene, int queue) {
    const std::string name = fmt::format("queue-{}", queue);
    for (const auto& [at, policy] : {std::pair(40, "HoldAndDrain"), std::pair(300, "None")}) {
      scene.actors.push_back(
          {.at = std::chrono::seconds(at), .act = [name, policy = policy](World& world) {
             must(world.patch(api::kueue::kClusterQueue, {"", name},
                              Value::object({{"spec", Value::object({{"stopPolicy", policy}})}})));
           }});
    }
  }

  std::mt19937_64 random_;
};

void add_fixed_queue(Scene& scene, const std::string& name, int nominal,
                     const std::string& cohort) {
  scene.objects.push_back(from_yaml(fmt::format(
      "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {{name: {}}}, spec: "
      "{{namespaceSelector: {{}}, {}preemption: {{reclaimWithinCohort: Any}}, "
      "resourceGroups: [{{coveredResources: [gpu], flavors: [{{name: f, resources: [{{name: gpu, "
      "nominalQuota: {}}}]}}]}}]}}}}",
      name, named("cohortName", cohort), nominal)));
  scene.objects.push_back(from_yaml(
      fmt::format("{{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {{name: {0}, "
                  "namespace: {1}}}, spec: {{clusterQueue: {0}}}}}",
                  name, kNs)));
}

void submit(Scene& scene, int at, const std::string& name, const std::string& queue, int need,
            int runs) {
  scene.actors.push_back(
      {.at = std::chrono::seconds(at), .act = [=](World& world) {
         must(world.create(from_yaml(fmt::format(
             "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {{name: {}, "
             "namespace: {}, annotations: {{{}: '{}'}}}}, spec: {{queueName: {}, podSets: [{{name: "
             "main, count: 1, template: {{spec: {{restartPolicy: Never, containers: [{{name: c, "
             "image: i, resources: {{requests: {{gpu: {}}}}}}}]}}}}}}]}}}}",
             name, kNs, kRuns, runs, queue, need))));
       }});
}

// Somebody runs for hours on what it borrowed; its owner has it back within minutes, and the other
// one finishes afterwards.
Invariant borrowed_quota_returns() {
  return {.name = "borrowed quota returns",
          .when = Invariant::When::AtRest,
          .check = [](const World& world,
                      std::span<const store::EventPtr> /*news*/) -> std::optional<std::string> {
            const auto ended = [&](const char* name) {
              const auto workload = world.get(api::kueue::kWorkload, {kNs, name});
              return workload ? parse_time(find_condition(workload->status()["conditions"],
                                                          "Finished")["lastTransitionTime"]
                                               .as_string())
                              : std::nullopt;
            };
            if (!world.get(api::kueue::kWorkload, {kNs, "owner"}) ||
                !world.get(api::kueue::kWorkload, {kNs, "guest"})) {
              return std::nullopt;  // an administrator deleted them (P11)
            }
            const auto owner = ended("owner");
            const auto guest = ended("guest");
            if (!owner || !guest) {
              return "the owner of the quota, or who borrowed it, did not finish";
            }
            if (*owner + std::chrono::hours(1) > *guest) {
              return "the owner waited for who borrowed from it";
            }
            return std::nullopt;
          }};
}

}  // namespace

Scene queueing_scene(std::uint64_t seed) {
  Scene scene;
  scene.operators = {&kueue::scheduler_operator(),       &kueue::workload_operator(),
                     &kueue::cluster_queue_operator(),   &kueue::local_queue_operator(),
                     &kueue::cohort_operator(),          &kueue::resource_flavor_operator(),
                     &kueue::admission_check_operator(), &kOwner};
  for (const api::CustomKind* kind : kinds_of(all_systems())) {
    if (kind->kind->group == "kueue.x-k8s.io") {
      scene.objects.push_back(definition_of(*kind));
    }
  }
  Tree(seed).plant(scene);
  add_fixed_queue(scene, "owner-queue", 4, "pair");
  add_fixed_queue(scene, "guest-queue", 0, "pair");
  submit(scene, 1, "guest", "guest-queue", 4, 3 * 3600);
  submit(scene, 60, "owner", "owner-queue", 4, 60);
  // What is in use for ever: counts at rest are not of nothing.
  add_fixed_queue(scene, "kept-queue", 6, "");
  for (int i = 0; i < 3; ++i) {
    submit(scene, 5 + i, fmt::format("kept-{}", i), "kept-queue", 2, 0);
  }
  scene.config["kueue"] =
      Value::object({{"waitForPodsReady", false}, {"fairSharing", seed % 3 == 0}});
  scene.admission = system_webhooks;
  // Nothing runs any more but what runs for ever.
  scene.converged = [](const World& world) {
    for (const Object& workload : world.list(api::kueue::kWorkload, kNs)) {
      const Value& conditions = workload.status()["conditions"];
      if (condition_is(conditions, "QuotaReserved", "True") && workload.annotation(kRuns) != "0" &&
          !condition_is(conditions, "Finished", "True")) {
        return false;
      }
    }
    const auto guest = world.get(api::kueue::kWorkload, {kNs, "guest"});
    return guest && condition_is(guest->status()["conditions"], "Finished", "True");
  };
  scene.invariants = {tree_quota_holds(),
                      admitted_once(),
                      preemption_rests(3 * kWorkloads),
                      finished_in_time("job-", kInTime),
                      who_waits_does_not_fit(),
                      counts_are_those_of_workloads(),
                      borrowed_quota_returns()};
  return scene;
}

Faults queueing_handovers() {
  return {.lost_applied = 0.03, .lag = 0.2, .gap = 0.02, .old_replica = true, .handover = 0.1};
}

// What became of each workload.
Value queueing_ending(const World& world) {
  Value all = Value::object();
  for (const Object& workload : world.list(api::kueue::kWorkload, kNs)) {
    const Value& conditions = workload.status()["conditions"];
    all.set(workload.name(), condition_is(conditions, "Finished", "True")        ? "finished"
                             : condition_is(conditions, "QuotaReserved", "True") ? "runs"
                                                                                 : "waits");
  }
  return all;
}

}  // namespace athanor::sim
