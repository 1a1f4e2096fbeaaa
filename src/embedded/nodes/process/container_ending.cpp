// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/container_ending.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace athanor::nodes {
namespace {

std::filesystem::path device_file(const std::string& folder, const Value& device) {
  return std::filesystem::path(folder) / "nodes" / device["file"].as_string();
}

}  // namespace

ContainerEnding ending_of(const EndedContainer& ended, int code) {
  if (std::string problem = ended.container["problem"].str(); !problem.empty()) {
    return {.code = code, .message = std::move(problem)};
  }
  if (!ended.is_step) {
    return {.code = code, .message = ended.directory.termination_message(ended.container, code)};
  }
  ended.directory.write_exit_code(ended.container, code);
  auto results = ended.directory.read_results(ended.container);
  return results.ok() ? ContainerEnding{.code = code, .message = *std::move(results)}
                      : ContainerEnding{.code = 1, .message = results.error().message};
}

std::string missing_devices(const std::string& folder, const Value& container) {
  std::string missing;
  for (const Value& device : container["devices"].items()) {
    std::error_code failure;
    if (!std::filesystem::exists(device_file(folder, device), failure)) {
      missing += (missing.empty() ? "" : ", ") + device["name"].str();
    }
  }
  return missing;
}

void run_poststop(const std::string& folder, const Value& container) {
  for (const Value& device : container["devices"].items()) {
    if (device["poststop"].as_bool()) {
      std::error_code failure;  // the system that wrote it may have removed it
      std::filesystem::remove(device_file(folder, device), failure);
    }
  }
}

}  // namespace athanor::nodes
