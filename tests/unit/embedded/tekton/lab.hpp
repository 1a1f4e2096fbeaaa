// SPDX-License-Identifier: Apache-2.0
// Lab: a FakeWorld with the two Tekton controllers and a node that the test plays.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "embedded/tekton/model/operators.hpp"
#include "support/fake_world.hpp"
#include "support/played_node.hpp"

namespace athanor::tekton {

class Lab {
 public:
  using End = test::ContainerEnd;

  Lab();

  test::FakeWorld world{};
  // How a step ends, by the name of its container ("step-main") in the pod of a TaskRun ("run-a");
  // the default: exit code 0.
  std::function<End(std::string_view task_run, std::string_view container)> ends{};

  // Puts every document of a YAML stream, defaulted as at creation; namespace "ns" where none is
  // given.
  void put(std::string_view yaml);
  void settle();
  // Settles, then lets the node end every pod that runs, until nothing is left to do.
  void play();
  // Puts every container of the pod into running.
  void start(std::string_view pod);
  // Ends every container of the pod, one after another; after a failure the rest is skipped.
  void finish(std::string_view pod);
  // Writes the pod's status as it is given.
  void set_pod_status(std::string_view pod, std::string_view yaml);
  void cancel(std::string_view run, std::string_view how);
  void advance(Duration duration);

  [[nodiscard]] Object run(std::string_view name = "run") const;
  [[nodiscard]] Object task_run(std::string_view name) const;
  [[nodiscard]] Object pod(std::string_view name) const;
  [[nodiscard]] bool has_task_run(std::string_view name) const;
  [[nodiscard]] bool has_pod(std::string_view name) const;
  // "True/Succeeded: message" of a run's condition.
  [[nodiscard]] static std::string outcome(const Object& run);
  // "b (When Expressions evaluated to false), c (…)".
  [[nodiscard]] static std::string skipped(const Object& run);
  [[nodiscard]] int status_writes() const;

 private:
  [[nodiscard]] test::ContainerEnds ends_of_pods() const;
};

// One termination message entry list: [{"key":…,"value":…,"type":1}].
std::string results_message(const std::map<std::string, std::string>& results);

}  // namespace athanor::tekton
