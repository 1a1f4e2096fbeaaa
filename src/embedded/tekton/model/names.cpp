// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/model/names.hpp"

#include "base/digest.hpp"

namespace athanor::tekton {
namespace {

constexpr std::size_t kMaxName = 63;
constexpr std::size_t kHashLength = 32;  // of an md5 in hex
constexpr std::size_t kKept = kMaxName - kHashLength;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string trimmed_end(std::string text) {
  while (!text.empty() && !is_alphanumeric(text.back())) {
    text.pop_back();
  }
  return text;
}

}  // namespace

std::string child_name(std::string_view parent, std::string_view suffix) {
  std::string whole = std::string(parent) + std::string(suffix);
  if (whole.size() <= kMaxName) {
    return whole;
  }
  if (suffix.size() < kKept) {
    return std::string(parent.substr(0, kKept - suffix.size())) + md5_hex(parent) +
           std::string(suffix);
  }
  const std::string name = std::string(parent.substr(0, kKept)) + md5_hex(whole);
  const std::size_t left = kMaxName - name.size();
  return trimmed_end(name + std::string(suffix.substr(0, left)));
}

std::string task_run_name(std::string_view run, std::string_view task) {
  return child_name(run, "-" + std::string(task));
}

std::string matrix_task_run_name(std::string_view run, std::string_view task,
                                 std::string_view ordinal) {
  std::string name = child_name(run, "-" + std::string(task) + std::string(ordinal));
  if (name.ends_with(ordinal)) {
    return name;
  }
  return task_run_name(run, task).substr(0, kMaxName - ordinal.size()) + std::string(ordinal);
}

std::string pod_name(std::string_view task_run, std::size_t attempt) {
  if (attempt == 0) {
    return child_name(task_run, "-pod");
  }
  return child_name(task_run, "-pod-retry" + std::to_string(attempt));
}

std::string claim_name(std::string_view base, std::string_view workspace,
                       std::string_view owner_uid) {
  const std::string hash = sha256_hex(std::string(workspace) + std::string(owner_uid));
  return std::string(base.empty() ? "pvc" : base) + "-" + hash.substr(0, 10);
}

std::string workspace_volume_name(std::string_view workspace) {
  return "ws-" + md5_hex(workspace).substr(0, 5);
}

std::string inline_pipeline_name(std::string_view generate_name, std::string_view run) {
  if (generate_name.empty()) {
    return std::string(run);
  }
  return trimmed_end(std::string(generate_name.substr(0, kMaxName)));
}

}  // namespace athanor::tekton
