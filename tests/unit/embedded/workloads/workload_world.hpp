// SPDX-License-Identifier: Apache-2.0
// A world with nodes that make pods ready when asked to.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "kube/text/yaml.hpp"
#include "kube/value/condition.hpp"
#include "support/fake_world.hpp"

namespace athanor::workloads {

class WorkloadTest : public testing::Test {
 protected:
  explicit WorkloadTest(test::FakeWorld::Operators operators) : operators_(std::move(operators)) {
    world.on_create = [](test::FakeWorld&, Value& object) {
      if (object["kind"].as_string() == "Pod") {
        object.set_path({"status", "phase"}, "Pending");
      }
    };
  }

  Object put(const std::string& text) { return world.put(yaml::parse(text).value()); }
  void settle() { world.settle(operators_); }
  void pass(Duration duration) { world.settle_for(operators_, duration); }

  std::vector<Object> pods() { return world.list(api::kPod); }
  std::vector<std::string> pod_names() {
    std::vector<std::string> names;
    for (const Object& pod : pods()) {
      names.emplace_back(pod.name());
    }
    return names;
  }
  static std::string image_of(const Object& pod) {
    return pod.spec()["containers"][0]["image"].str();
  }
  // The node a pod is bound to when it becomes ready.
  [[nodiscard]] virtual std::string place_of(const Object& /*pod*/) const { return "n1"; }
  void set_ready(const Key& pod, bool ready = true) {
    world.update(api::kPod, pod, [&](Value& body) {
      if (body["spec"]["nodeName"].as_string().empty()) {
        body.set_path({"spec", "nodeName"}, place_of(Object(body)));
      }
      body.set_path({"status", "phase"}, "Running");
      Value conditions = body["status"]["conditions"];
      set_condition(conditions, {.type = "Ready", .status = ready ? "True" : "False"}, world.now);
      body.set_path({"status", "conditions"}, conditions);
    });
    settle();
  }
  void make_all_ready() {
    for (int round = 0; round < 50; ++round) {
      bool changed = false;
      for (const Object& pod : pods()) {
        if (!is_ready(pod) && !pod.deleting()) {
          set_ready(pod.key());
          changed = true;
        }
      }
      if (!changed) {
        return;
      }
    }
    ADD_FAILURE() << "pods come and come";
  }
  void set_spec(const Kind& kind, const Key& key, Value::Path path, const Value& value) {
    world.update(kind, key, [&](Value& body) { body.member("spec").set_path(path, value); });
    settle();
  }
  [[nodiscard]] std::string note_of(std::string_view reason) const {
    for (const test::RecordedEvent& event : world.events) {
      if (event.reason == reason) {
        return event.type + " " + event.note;
      }
    }
    return {};
  }

  test::FakeWorld world{};
  test::FakeWorld::Operators operators_;
};

}  // namespace athanor::workloads
