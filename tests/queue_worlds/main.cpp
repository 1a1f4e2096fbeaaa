// SPDX-License-Identifier: Apache-2.0
// Plays worlds of queues on the queueing of this tree: one world per line on standard input, its
// decisions as a line on standard output. tests/real/kueue does the same with Kueue's scheduler;
// tests/real/queue_worlds.py compares the two.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "api/kueue.hpp"
#include "embedded/kueue/cycle/scheduler.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "kube/value/condition.hpp"
#include "support/fake_world.hpp"

namespace athanor::kueue::worlds {
namespace {

using test::FakeWorld;

constexpr int kMostRounds = 60;

bool is_true(const Object& workload, std::string_view type) {
  return condition_is(workload.status()["conditions"], type, "True");
}

// Returns what was decided about a workload: nothing, its flavors, whether and why it has to leave.
std::string told(const Object& workload) {
  if (!is_true(workload, "QuotaReserved")) {
    return "";
  }
  std::string text = std::string(workload.name()) + "=";
  bool first = true;
  for (const Value& set : workload.status()["admission"]["podSetAssignments"].items()) {
    text += first ? "" : ";";
    first = false;
    std::vector<std::string> flavors;
    for (const Member& flavor : set["flavors"].members()) {
      flavors.push_back(flavor.name.str() + ":" + flavor.value.str());
    }
    std::sort(flavors.begin(), flavors.end());
    for (std::size_t i = 0; i < flavors.size(); ++i) {
      text += (i == 0 ? "" : ",") + flavors[i];
    }
    if (!set["count"].is_null()) {
      text += "*" + std::to_string(set["count"].as_int());
    }
  }
  if (is_true(workload, "Evicted")) {
    text += "!" + find_condition(workload.status()["conditions"], "Preempted")["reason"].str();
  }
  return text;
}

class Play {
 public:
  explicit Play(const Value& world) {
    if (world["fair"].as_bool()) {
      world_.configure("kueue", yaml::parse("{fairSharing: true}").value());
    }
    world_.put(yaml::parse("{apiVersion: v1, kind: Namespace, metadata: {name: bench}}").value());
    for (const Value& object : world["objects"].items()) {
      world_.put(object);
    }
  }

  // Returns the states of rest of one step, each until the next release.
  Value step(const Value& step) {
    for (const Value& workload : step["submit"].items()) {
      world_.advance(std::chrono::seconds(1));
      world_.put(workload);
    }
    for (const Value& name : step["end"].items()) {
      if (world_.has(api::kueue::kWorkload, {"bench", name.str()})) {
        world_.remove(api::kueue::kWorkload, {"bench", name.str()});
      }
    }
    Value states = Value::list();
    for (int round = 0;; ++round) {
      world_.advance(std::chrono::seconds(1));
      settle();
      states.push_back(state());
      if (round == kMostRounds) {
        circle_ = true;
        return states;
      }
      if (!release()) {
        return states;
      }
    }
  }

  [[nodiscard]] bool circle() const { return circle_; }

  [[nodiscard]] Value why() const {
    Value lines = Value::list();
    for (const Object& workload : world_.list(api::kueue::kWorkload)) {
      if (!is_true(workload, "QuotaReserved")) {
        lines.push_back(
            std::string(workload.name()) + ": " +
            find_condition(workload.status()["conditions"], "QuotaReserved")["message"].str());
      }
    }
    return lines;
  }

 private:
  void settle() {
    world_.settle({&scheduler_operator(), &workload_operator(), &cluster_queue_operator(),
                   &local_queue_operator(), &cohort_operator()});
  }

  [[nodiscard]] std::string state() const {
    std::vector<std::string> lines;
    for (const Object& workload : world_.list(api::kueue::kWorkload)) {
      if (std::string text = told(workload); !text.empty()) {
        lines.push_back(std::move(text));
      }
    }
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (const std::string& line : lines) {
      text += (text.empty() ? "" : " ") + line;
    }
    return text;
  }

  // Does what the owner of an evicted workload does once its pods are gone.
  bool release() {
    bool released = false;
    for (const Object& workload : world_.list(api::kueue::kWorkload)) {
      if (!is_true(workload, "Evicted") || !is_true(workload, "QuotaReserved")) {
        continue;
      }
      released = true;
      world_.update(
          api::kueue::kWorkload, {"bench", std::string(workload.name())}, [&](Value& object) {
            Value& status = object.member("status");
            Value conditions = status["conditions"];
            set_condition(conditions, {"QuotaReserved", "False", "Pending", "released", {}},
                          world_.now);
            set_condition(conditions, {"Admitted", "False", "NoReservation", "released", {}},
                          world_.now);
            set_condition(conditions, {"Requeued", "True", "Preempted", "released", {}},
                          world_.now);
            status.set("conditions", conditions);
            status.erase("admission");
          });
    }
    return released;
  }

  FakeWorld world_{};
  bool circle_ = false;
};

int run(bool loud) {
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto world = json::parse(line);
    if (!world.ok()) {
      std::cerr << world.error().message << "\n";
      return 1;
    }
    Play play(world.value());
    Value steps = Value::list();
    Value why = Value::list();
    for (const Value& step : world.value()["steps"].items()) {
      steps.push_back(play.step(step));
      why.push_back(play.why());
      if (play.circle()) {
        break;
      }
    }
    Value answer = Value::object();
    answer.set("seed", world.value()["seed"]);
    answer.set("steps", std::move(steps));
    if (play.circle()) {
      answer.set("circle", true);
    }
    if (loud) {
      answer.set("why", std::move(why));
    }
    std::cout << json::print(answer) << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace athanor::kueue::worlds

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);  // the world reports misuse as failures
  return athanor::kueue::worlds::run(argc > 1 && std::string_view(argv[1]) == "--why");
}
