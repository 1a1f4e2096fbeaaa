// SPDX-License-Identifier: Apache-2.0
// Which of a job's containers have written something, and why there is nothing to read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/session.hpp"
#include "kube/value/object.hpp"

namespace athanor::cli {

// A container that runs or ran.
struct StartedContainer {
  std::string name{};
  std::string started{};  // RFC 3339
  std::size_t place = 0;  // in the pod's specification
  bool terminated = false;
};
// Returns the containers that run or ran.
std::vector<StartedContainer> started_containers(const Object& pod);

// "[TASK/STEP]"; a pod without a task is labelled by its own name.
std::string log_prefix(const Object& pod, std::string_view container);

// Returns why the job has no log: what it waits for, what it failed of, or that it has no such
// task.
Result<std::string> why_no_log(Session& session, const std::string& ns, const std::string& name,
                               const std::string& task);

}  // namespace athanor::cli
