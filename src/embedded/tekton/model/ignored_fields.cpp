// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/model/ignored_fields.hpp"

#include <fmt/format.h>

#include <string_view>

#include "embedded/tekton/model/conversion.hpp"
#include "embedded/tekton/model/field_errors.hpp"

namespace athanor::tekton {
namespace {

struct Ignored {
  std::string_view field{};
  std::string_view sentence{};
};

constexpr Ignored kOfSidecars[] = {
    {"readinessProbe", "is not run: the first step starts as soon as the sidecar runs"},
    {"startupProbe", "is not run: the first step starts as soon as the sidecar runs"},
    {"livenessProbe", "is not run by the embedded engine"},
    {"lifecycle", "has no effect: hooks are not run by the embedded engine"},
    {"volumeDevices", "has no effect: the embedded engine has no block devices"}};
constexpr Ignored kOfSteps[] = {
    {"volumeDevices", "has no effect: the embedded engine has no block devices"}};

template <std::size_t Count>
void add(const Value& list, std::string_view name, const Ignored (&fields)[Count],
         std::vector<std::string>& sentences) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (const Ignored& one : fields) {
      if (!list[i][one.field].empty()) {
        sentences.push_back(fmt::format("{}.{} {}", at(name, i), one.field, one.sentence));
      }
    }
  }
}

void add_below(const std::string& path, const Value& task_spec,
               std::vector<std::string>& sentences) {
  for (const std::string& sentence : ignored_fields(task_spec)) {
    sentences.push_back(fmt::format("{}.{}", path, sentence));
  }
}

void add_pipeline(const std::string& path, const Value& spec, std::vector<std::string>& sentences) {
  for (const std::string_view part : {"tasks", "finally"}) {
    for (std::size_t i = 0; i < spec[part].size(); ++i) {
      add_below(path + "." + at(part, i) + ".taskSpec", spec[part][i]["taskSpec"], sentences);
    }
  }
}

}  // namespace

std::vector<std::string> ignored_fields(const Value& task_spec) {
  std::vector<std::string> sentences;
  add(task_spec["steps"], "steps", kOfSteps, sentences);
  add(task_spec["sidecars"], "sidecars", kOfSidecars, sentences);
  return sentences;
}

std::vector<std::string> ignored_fields_of(const Value& object) {
  std::vector<std::string> sentences;
  const std::string_view kind = object["kind"].as_string();
  const Value& spec = object["spec"];
  if (!object["metadata"]["annotations"][kOldResources].is_null()) {
    sentences.emplace_back(
        "spec.resources has no effect: Tekton has no PipelineResources any more");
  }
  if (kind == "Task") {
    add_below("spec", spec, sentences);
  } else if (kind == "TaskRun") {
    add_below("spec.taskSpec", spec["taskSpec"], sentences);
    if (!spec["debug"].empty()) {
      sentences.emplace_back(kDebugIgnored);
    }
  } else if (kind == "Pipeline") {
    add_pipeline("spec", spec, sentences);
  } else if (kind == "PipelineRun") {
    add_pipeline("spec.pipelineSpec", spec["pipelineSpec"], sentences);
  }
  return sentences;
}

}  // namespace athanor::tekton
