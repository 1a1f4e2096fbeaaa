// SPDX-License-Identifier: Apache-2.0
#include "queue/decisions.hpp"

#include <fmt/core.h>
#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "api/kueue.hpp"
#include "kube/text/yaml.hpp"
#include "queue/small_world.hpp"

namespace athanor::bench {
namespace {

bool all_met = true;

void figure(const std::string& name, const std::string& value, const std::string& target,
            bool good) {
  all_met = all_met && good;
  fmt::print("{:<58} {:>18}   target {:<14} {}\n", name, value, target, good ? "ok" : "MISSED");
}

double at(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values.empty()
             ? 0
             : values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

double resident_kib() {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word) {
    if (word == "VmRSS:") {
      double kib = 0;
      file >> kib;
      return kib;
    }
  }
  return 0;
}

Value object(const std::string& text) {
  return yaml::parse(text).value();
}

void add_basics(SmallWorld& world) {
  world.add(object("{apiVersion: v1, kind: Namespace, metadata: {name: bench, uid: ns}}"));
  world.add(
      object("{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: f, "
             "uid: f}, spec: {}}"));
}

void add_queue(SmallWorld& world, int number, int nominal, const std::string& cohort,
               const std::string& more = "") {
  world.add(object(fmt::format(
      "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {{name: cq-{0}, uid: "
      "cq-{0}}}, spec: {{namespaceSelector: {{}}, cohortName: {1}, resourceGroups: "
      "[{{coveredResources: [cpu], flavors: [{{name: f, resources: [{{name: cpu, nominalQuota: "
      "{2}}}]}}]}}]{3}}}}}",
      number, cohort, nominal, more)));
  world.add(
      object(fmt::format("{{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: "
                         "{{name: lq-{0}, namespace: bench, uid: lq-{0}}}, spec: "
                         "{{clusterQueue: cq-{0}}}}}",
                         number)));
}

Value workload(const std::string& name, int queue, int cpu, int priority, int second) {
  return object(fmt::format(
      "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {{name: {0}, namespace: "
      "bench, uid: {0}, creationTimestamp: \"2026-11-20T{4:02}:{5:02}:{6:02}Z\"}}, spec: "
      "{{queueName: lq-{1}, active: true, priority: {3}, podSets: [{{name: main, count: 1, "
      "template: {{spec: {{restartPolicy: Never, containers: [{{name: c, image: i, resources: "
      "{{requests: {{cpu: {2}}}}}}}]}}}}}}]}}}}",
      name, queue, cpu, priority, second / 3600 % 24, second / 60 % 60, second % 60));
}

// 10,000 admitted workloads in a cohort of 100 queues: a workload comes that needs preemption.
void preemption() {
  constexpr int kQueues = 100;
  constexpr int kEach = 100;
  SmallWorld world(Value::object({{"waitForPodsReady", false}}));
  add_basics(world);
  for (int i = 0; i < kQueues; ++i) {
    add_queue(world, i, kEach, "all",
              ", preemption: {withinClusterQueue: LowerPriority, reclaimWithinCohort: Any}");
    // Half of the queues borrow from the other half.
    const int held = i % 2 == 0 ? kEach + kEach / 2 : kEach / 2;
    for (int j = 0; j < held; ++j) {
      world.add(workload(fmt::format("w-{}-{}", i, j), i, 1, j % 10, i + j));
    }
  }
  world.start();
  std::vector<double> times;
  for (int i = 0; i < 400; ++i) {
    const int queue = i % kQueues;
    times.push_back(world.change(
        workload(fmt::format("p-{}", i), queue, 1 + i % 20, queue % 2 == 0 ? 5 : 0, 50'000 + i)));
    world.settle();
  }
  figure("preemption over 10,000 admitted in 100 queues, p50 / p99",
         fmt::format("{:.2f} / {:.2f} ms", at(times, 0.5) / 1e3, at(times, 0.99) / 1e3), "<= 5 ms",
         at(times, 0.99) <= 5e3);
}

// 1,000 queues in 10 cohorts, each with a head: a cycle by share.
void fair_sharing() {
  constexpr int kQueues = 1000;
  SmallWorld world(Value::object({{"waitForPodsReady", false}, {"fairSharing", true}}));
  add_basics(world);
  for (int i = 0; i < kQueues; ++i) {
    add_queue(world, i, 10, fmt::format("cohort-{}", i % 10),
              ", preemption: {reclaimWithinCohort: Any}");
    for (int j = 0; j < 12; ++j) {
      world.add(workload(fmt::format("w-{}-{}", i, j), i, 1 + (i + j) % 3, 0, i + j));
    }
  }
  world.start();
  world.forget_cycles();
  // Some end, and all queues compete for what becomes free.
  for (int round = 0; round < 30; ++round) {
    for (int i = 0; i < 10; ++i) {
      const int queue = (round * 37 + i * 101) % kQueues;
      for (int j = 0; j < 12; ++j) {
        const Key key{"bench", fmt::format("w-{}-{}", queue, j)};
        const Object* held = world.find(api::kueue::kWorkload, key);
        if (held != nullptr && !held->status()["admission"].is_null()) {
          world.remove(api::kueue::kWorkload, key);
          break;
        }
      }
    }
    world.settle();
  }
  figure("fair sharing over 1,000 queues, a cycle, p50 / p99",
         fmt::format("{:.2f} / {:.2f} ms", at(world.cycles(), 0.5) / 1e3,
                     at(world.cycles(), 0.99) / 1e3),
         "<= 20 ms", at(world.cycles(), 0.99) <= 20e3);
}

// 100,000 that wait: what each costs, and what an unrelated change costs.
void many_pending() {
  constexpr int kWaiting = 100'000;
  constexpr int kQueues = 100;
  ::malloc_trim(0);
  const double before = resident_kib();
  SmallWorld world(Value::object({{"waitForPodsReady", false}}));
  add_basics(world);
  for (int i = 0; i < kQueues; ++i) {
    add_queue(world, i, 1, fmt::format("cohort-{}", i % 10));
  }
  add_queue(world, kQueues, 1000, "apart");
  for (int i = 0; i < kWaiting; ++i) {
    world.add(workload(fmt::format("w-{}", i), i % kQueues, 1 + i / kQueues % 4, i % 5, i));
  }
  world.start();
  ::malloc_trim(0);
  const double each = (resident_kib() - before) / kWaiting;
  figure("100,000 pending workloads, memory of each", fmt::format("{:.2f} KiB", each), "<= 4 KiB",
         each <= 4);
  std::vector<double> unrelated;
  std::vector<double> related;
  for (int i = 0; i < 200; ++i) {
    // In a queue of its own, where all fits.
    const std::uint64_t runs = world.runs();
    related.push_back(world.change(workload(fmt::format("a-{}", i), kQueues, 1, 0, i)));
    world.settle();
    static_cast<void>(runs);
    Value touched = world.find(api::kueue::kWorkload, {"bench", fmt::format("a-{}", i)})->body();
    touched.set_path({"metadata", "labels", "touched"}, "yes");
    unrelated.push_back(world.change(std::move(touched)));
    world.settle();
  }
  figure("an unrelated change beside them, p50 / p99",
         fmt::format("{:.1f} / {:.1f} us", at(unrelated, 0.5), at(unrelated, 0.99)), "<= 100 us",
         at(unrelated, 0.99) <= 100);
  figure("an admission elsewhere beside them, p50 / p99",
         fmt::format("{:.2f} / {:.2f} ms", at(related, 0.5) / 1e3, at(related, 0.99) / 1e3),
         "<= 20 ms", at(related, 0.99) <= 20e3);
}

}  // namespace

bool measure_decisions() {
  preemption();
  fair_sharing();
  many_pending();
  return all_met;
}

}  // namespace athanor::bench
