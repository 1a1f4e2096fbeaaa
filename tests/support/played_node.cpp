// SPDX-License-Identifier: Apache-2.0
#include "support/played_node.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "api/builtin.hpp"

namespace athanor::test {
namespace {

Value container_status(const Value& container, std::string_view state, Value details) {
  return Value::object({{"name", container["name"]},
                        {"imageID", container["image"]},
                        {"state", Value::object({{state, std::move(details)}})}});
}

void set_status(Value& pod, std::string_view phase, Value containers) {
  pod.set("status",
          Value::object({{"phase", phase}, {"containerStatuses", std::move(containers)}}));
}

}  // namespace

std::vector<Key> open_pods(const FakeWorld& world) {
  std::vector<Key> open;
  for (const Object& pod : world.list(api::kPod)) {
    const std::string_view phase = pod.status()["phase"].as_string();
    if (phase != "Succeeded" && phase != "Failed") {
      open.push_back(pod.key());
    }
  }
  return open;
}

void start_pod(FakeWorld& world, const Key& pod) {
  world.update(api::kPod, pod, [&](Value& object) {
    Value statuses = Value::list();
    for (const Value& container : object["spec"]["containers"].items()) {
      statuses.push_back(container_status(container, "running",
                                          Value::object({{"startedAt", format_time(world.now)}})));
    }
    set_status(object, "Running", std::move(statuses));
  });
}

void end_pod(FakeWorld& world, const Key& pod, const ContainerEnds& ends) {
  world.update(api::kPod, pod, [&](Value& object) {
    Value statuses = Value::list();
    bool failed = false;
    for (const Value& container : object["spec"]["containers"].items()) {
      ContainerEnd end = failed ? ContainerEnd{.exit_code = 1, .reason = "Skipped"}
                                : ends(object, container["name"].as_string());
      failed = failed || end.exit_code != 0;
      if (end.reason.empty()) {
        end.reason = end.exit_code == 0 ? "Completed" : "Error";
      }
      Value terminated = Value::object({{"exitCode", end.exit_code},
                                        {"reason", end.reason},
                                        {"startedAt", format_time(world.now)},
                                        {"finishedAt", format_time(world.now)}});
      if (!end.message.empty()) {
        terminated.set("message", end.message);
      }
      statuses.push_back(container_status(container, "terminated", std::move(terminated)));
    }
    set_status(object, failed ? "Failed" : "Succeeded", std::move(statuses));
  });
}

void play_pods(FakeWorld& world, const FakeWorld::Operators& operators, const ContainerEnds& ends) {
  constexpr int kRounds = 100;
  for (int round = 0; round < kRounds; ++round) {
    world.settle(operators);
    const std::vector<Key> open = open_pods(world);
    if (open.empty()) {
      return;
    }
    for (const Key& pod : open) {
      start_pod(world, pod);
    }
    world.settle(operators);
    for (const Key& pod : open) {
      if (world.has(api::kPod, pod)) {
        end_pod(world, pod, ends);
      }
    }
  }
  ADD_FAILURE() << "there are open pods after " << kRounds << " rounds";
}

}  // namespace athanor::test
