// SPDX-License-Identifier: Apache-2.0
// A world of queues of one flavor, and hands for those who own workloads.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>

#include "api/kueue.hpp"
#include "embedded/kueue/cycle/scheduler.hpp"
#include "kube/value/condition.hpp"
#include "unit/embedded/kueue/fixture.hpp"

namespace athanor::kueue::test {

class QueueWorld : public ::testing::Test {
 protected:
  QueueWorld() {
    world.put(bench_namespace());
    world.put(flavor("f"));
    world.put(flavor("g"));
  }

  // A ClusterQueue of flavor f with its LocalQueue of the same name.
  void queue(const std::string& name, const std::string& quota, const std::string& more = "") {
    world.put(small_queue(name, quota, more));
    world.put(local_queue(name, name));
  }
  void cohort(const std::string& name, const std::string& spec) {
    world.put(from_yaml("{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: " +
                        name + "}, spec: {" + spec + "}}"));
  }
  // Later than all before.
  void submit(const std::string& name, const std::string& queue, int gpus, int priority = 0,
              const std::string& more = "") {
    world.advance(std::chrono::seconds(1));
    world.put(workload(name, queue, fmt::format("gpu: {}", gpus),
                       fmt::format(", priority: {}{}", priority, more)));
  }
  // Submits and lets the engine run.
  void run(const std::string& name, const std::string& queue, int gpus, int priority = 0,
           const std::string& more = "") {
    submit(name, queue, gpus, priority, more);
    settle();
  }
  void settle() {
    world.settle({&scheduler_operator(), &workload_operator(), &cluster_queue_operator(),
                  &local_queue_operator(), &cohort_operator()});
  }
  // The engine runs whenever something is due.
  void pass(Duration duration) {
    world.settle_for({&scheduler_operator(), &workload_operator(), &cluster_queue_operator(),
                      &local_queue_operator(), &cohort_operator()},
                     duration);
  }

  Value condition(const std::string& name, const std::string& type) {
    return world.condition(api::kueue::kWorkload, {"bench", name}, type);
  }
  bool admitted(const std::string& name) {
    return condition(name, "Admitted")["status"].as_string() == "True";
  }
  bool evicted(const std::string& name) {
    return condition(name, "Evicted")["status"].as_string() == "True";
  }
  std::string message(const std::string& name) {
    return condition(name, "QuotaReserved")["message"].str();
  }
  std::string preempted_for(const std::string& name) {
    const Value preempted = condition(name, "Preempted");
    return preempted["status"].as_string() == "True" ? preempted["reason"].str() : std::string();
  }
  std::string flavor_of(const std::string& name) {
    return world.must(api::kueue::kWorkload, {"bench", name})
        .status()["admission"]["podSetAssignments"][0]["flavors"]["gpu"]
        .str();
  }

  // What the owner of a workload does once its pods are gone (docs/spec/kueue.md 8.2).
  void release(const std::string& name) {
    world.update(api::kueue::kWorkload, {"bench", name}, [&](Value& object) {
      Value& status = object.member("status");
      Value conditions = status["conditions"];
      const std::string reason = find_condition(conditions, "Evicted")["reason"].str();
      set_condition(conditions, {"QuotaReserved", "False", "Pending", "released", {}}, world.now);
      set_condition(conditions, {"Admitted", "False", "NoReservation", "released", {}}, world.now);
      set_condition(conditions,
                    {"Requeued", reason == "Preempted" ? "True" : "False", reason, "released", {}},
                    world.now);
      status.set("conditions", conditions);
      status.erase("admission");
    });
    settle();
  }
  void remove(const std::string& name) {
    world.remove(api::kueue::kWorkload, {"bench", name});
    settle();
  }

  FakeWorld world;
};

}  // namespace athanor::kueue::test
