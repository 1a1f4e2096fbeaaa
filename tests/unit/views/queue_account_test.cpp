// SPDX-License-Identifier: Apache-2.0
// Places in the queue against an account of their own: how many of a random world go before.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "api/kueue_configuration.hpp"
#include "embedded/kueue/cycle/scheduler.hpp"
#include "embedded/kueue/explain/visibility.hpp"
#include "kube/value/condition.hpp"
#include "unit/embedded/kueue/fixture.hpp"
#include "views/queue_view.hpp"

namespace athanor::views::queue_account_test {
namespace {

using kueue::test::FakeWorld;

constexpr int kWorkloads = 24;
constexpr int kWorlds = 60;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(engine_); }
  bool one_in(int chances) { return below(chances) == 0; }

 private:
  std::mt19937 engine_;
};

Value condition(const std::string& type, const std::string& status, const std::string& reason,
                const std::string& message, const std::string& at) {
  return Value::object({{"type", type},
                        {"status", status},
                        {"reason", reason},
                        {"message", message},
                        {"lastTransitionTime", at}});
}

std::string second(int number) {
  return "2026-01-01T00:00:" + std::string(number < 10 ? "0" : "") + std::to_string(number) + "Z";
}

Value random_workload(int number, Random& random) {
  Value conditions = Value::list();
  switch (random.below(8)) {
    case 0:
      conditions.push_back(condition("Finished", "True", "Succeeded", "done", second(1)));
      break;
    case 1:
      conditions.push_back(condition("Admitted", "True", "Admitted", "runs", second(1)));
      [[fallthrough]];
    case 2:
      conditions.push_back(condition("QuotaReserved", "True", "Reserved", "has it", second(1)));
      break;
    case 3:
      conditions.push_back(condition("QuotaReserved", "False", "Pending",
                                     "no room. Pending the preemption of 1 workload(s)",
                                     second(1)));
      break;
    case 4:
    case 5: {
      const char* reasons[] = {"PodsReadyTimeout", "AdmissionCheck", "Preempted"};
      conditions.push_back(condition("Evicted", random.one_in(4) ? "False" : "True",
                                     reasons[random.below(3)], "went", second(random.below(60))));
      break;
    }
    default:
      break;
  }
  Value spec = Value::object({{"queueName", random.one_in(2) ? "a" : "b"},
                              {"priority", random.below(3)},
                              {"podSets", Value::list()}});
  if (random.one_in(6)) {
    spec.set("active", false);
  }
  return Value::object(
      {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
       {"kind", "Workload"},
       {"metadata", Value::object({{"name", "w" + std::to_string(number)},
                                   {"namespace", "bench"},
                                   {"uid", "u" + std::to_string(random.below(99)) + "-" +
                                               std::to_string(number)},
                                   {"creationTimestamp", second(random.below(30))}})},
       {"spec", std::move(spec)},
       {"status", Value::object({{"conditions", std::move(conditions)}})}});
}

bool says(const Object& workload, const std::string& type) {
  return find_condition(workload.status()["conditions"], type)["status"].as_string() == "True";
}

bool waits(const Object& workload) {
  return !says(workload, "Finished") && !says(workload, "QuotaReserved") &&
         workload.spec()["active"].as_bool(true);
}

// From docs/spec/kueue.md 7.2, rule by rule.
bool goes_before(const Object& a, const Object& b, bool by_creation) {
  const auto preempts = [](const Object& one) {
    return find_condition(one.status()["conditions"], "QuotaReserved")["message"].str().find(
               "Pending the preemption") != std::string::npos;
  };
  if (preempts(a) != preempts(b)) {
    return preempts(a);
  }
  if (a.spec()["priority"].as_int() != b.spec()["priority"].as_int()) {
    return a.spec()["priority"].as_int() > b.spec()["priority"].as_int();
  }
  const auto since = [&](const Object& one) {
    const Value& evicted = find_condition(one.status()["conditions"], "Evicted");
    const std::string reason = says(one, "Evicted") ? evicted["reason"].str() : "";
    return reason == "AdmissionCheck" || (reason == "PodsReadyTimeout" && !by_creation)
               ? evicted["lastTransitionTime"].str()
               : one.metadata()["creationTimestamp"].str();
  };
  return since(a) != since(b) ? since(a) < since(b) : a.uid() < b.uid();
}

Value settings(const std::string& timestamp) {
  return Value::object(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata", Value::object({{"name", api::kueue::configuration_map().name},
                                   {"namespace", api::kueue::configuration_map().ns}})},
       {"data", Value::object({{"controller_manager_config.yaml",
                                "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
                                "waitForPodsReady: {timeout: 5m, requeuingStrategy: {timestamp: " +
                                    timestamp + "}}\n"}})}});
}

std::string state_word(const Object& workload) {
  if (says(workload, "QuotaReserved")) {
    return says(workload, "Admitted") ? "running" : "has-quota";
  }
  return waits(workload) ? "waiting" : "inactive";
}

class QueueAccount : public ::testing::TestWithParam<bool> {
 protected:
  // Puts one random world, and checks every figure of its queue.
  static void check(unsigned seed, bool by_creation) {
    SCOPED_TRACE(seed);
    Random random(seed);
    FakeWorld world;
    world.put(kueue::test::small_queue("cq", "0"));
    const Object a = world.put(kueue::test::local_queue("a", "cq"));
    const Object b = world.put(kueue::test::local_queue("b", "cq"));
    const Value map = settings(by_creation ? "Creation" : "Eviction");
    world.put(map);
    std::vector<Object> workloads;
    for (int i = 0; i < kWorkloads; ++i) {
      workloads.push_back(world.put(random_workload(i, random)));
    }
    const Queues queues = queues_of({a, b}, {}, map);
    const auto entries = queue_entries(workloads, queues);
    check_entries(entries, workloads, by_creation);
    check_engine(entries, world);
  }

  static void check_entries(const std::vector<QueueEntry>& entries,
                            const std::vector<Object>& workloads, bool by_creation) {
    std::size_t unfinished = 0;
    for (const Object& one : workloads) {
      unfinished += says(one, "Finished") ? 0 : 1;
    }
    ASSERT_EQ(entries.size(), unfinished);
    for (const QueueEntry& entry : entries) {
      const Object& self = entry.workload;
      SCOPED_TRACE(self.name());
      std::size_t local = waits(self) ? 1 : 0;
      std::size_t all = local;
      std::size_t of = 0;
      for (const Object& other : workloads) {
        const bool same = other.spec()["queueName"].str() == entry.queue;
        of += waits(other) && same ? 1 : 0;
        if (waits(self) && waits(other) && goes_before(other, self, by_creation)) {
          local += same ? 1 : 0;
          ++all;
        }
      }
      EXPECT_EQ(entry.position, local);
      EXPECT_EQ(entry.cluster_position, all);
      EXPECT_EQ(queue_row(entry, {}).traits.phase, state_word(self));
      const auto place = queue_position(entries, "bench", std::string(self.name()));
      ASSERT_EQ(place.has_value(), waits(self));
      if (place) {
        EXPECT_EQ(*place, (QueuePlace{.place = local, .of = of}));
      }
    }
  }

  static void check_engine(const std::vector<QueueEntry>& entries, FakeWorld& world) {
    world.settle({&kueue::local_queue_operator()});  // it keeps the index
    Reads reads;
    std::map<std::string, const QueueEntry*> shown;
    std::size_t waiting = 0;
    for (const QueueEntry& entry : entries) {
      shown.emplace(entry.workload.name(), &entry);
      waiting += entry.position > 0 ? 1 : 0;
    }
    const auto pending = kueue::pending_workloads(View(world, reads), "cq");
    EXPECT_EQ(pending.size(), waiting);
    for (const kueue::PendingWorkload& one : pending) {
      const QueueEntry& entry = *shown.at(std::string(one.workload.name()));
      EXPECT_EQ(static_cast<std::int64_t>(entry.position), one.in_local_queue + 1);
      EXPECT_EQ(static_cast<std::int64_t>(entry.cluster_position), one.in_cluster_queue + 1);
    }
  }
};

TEST_P(QueueAccount, EqualsCountOfThoseBefore) {
  for (unsigned seed = 0; seed < kWorlds; ++seed) {
    check(seed, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, QueueAccount, ::testing::Bool());

}  // namespace
}  // namespace athanor::views::queue_account_test
