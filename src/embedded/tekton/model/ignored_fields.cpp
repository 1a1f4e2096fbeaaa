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

// Params of the resolvers git and bundles; the latter reads a folder and no registry.
void add_ref(const std::string& path, const Value& ref, std::vector<std::string>& sentences) {
  const bool bundles = ref["resolver"].as_string() == "bundles";
  if (!bundles && ref["resolver"].as_string() != "git") {
    return;
  }
  for (std::size_t i = 0; i < ref["params"].size(); ++i) {
    const std::string_view name = ref["params"][i]["name"].as_string();
    if (bundles && (name == "serviceAccount" || name == "secret")) {
      sentences.push_back(fmt::format(
          "{}.{} ({}) has no effect: bundles are read from a folder, without credentials", path,
          at("params", i), name));
    } else if (name == "cache") {
      sentences.push_back(
          fmt::format("{}.{} (cache) has no effect: each answer counts for ten minutes", path,
                      at("params", i)));
    }
  }
}

void add_pipeline(const std::string& path, const Value& spec, std::vector<std::string>& sentences) {
  for (const std::string_view part : {"tasks", "finally"}) {
    for (std::size_t i = 0; i < spec[part].size(); ++i) {
      add_ref(path + "." + at(part, i) + ".taskRef", spec[part][i]["taskRef"], sentences);
      add_below(path + "." + at(part, i) + ".taskSpec", spec[part][i]["taskSpec"], sentences);
      add_ref(path + "." + at(part, i) + ".pipelineRef", spec[part][i]["pipelineRef"], sentences);
      if (spec[part][i]["pipelineSpec"].is_object()) {
        add_pipeline(path + "." + at(part, i) + ".pipelineSpec", spec[part][i]["pipelineSpec"],
                     sentences);
      }
    }
  }
}

}  // namespace

std::vector<std::string> ignored_fields(const Value& task_spec) {
  std::vector<std::string> sentences;
  add(task_spec["steps"], "steps", kOfSteps, sentences);
  if (!task_spec["stepTemplate"]["volumeDevices"].empty()) {
    sentences.push_back(fmt::format("stepTemplate.{} {}", kOfSteps[0].field, kOfSteps[0].sentence));
  }
  add(task_spec["sidecars"], "sidecars", kOfSidecars, sentences);
  for (std::size_t i = 0; i < task_spec["steps"].size(); ++i) {
    add_ref(at("steps", i) + ".ref", task_spec["steps"][i]["ref"], sentences);
  }
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
    add_ref("spec.taskRef", spec["taskRef"], sentences);
    if (!spec["debug"].empty()) {
      sentences.emplace_back(kDebugIgnored);
    }
  } else if (kind == "Pipeline") {
    add_pipeline("spec", spec, sentences);
  } else if (kind == "PipelineRun") {
    add_pipeline("spec.pipelineSpec", spec["pipelineSpec"], sentences);
    add_ref("spec.pipelineRef", spec["pipelineRef"], sentences);
  } else if (kind == "VerificationPolicy") {
    sentences.emplace_back(
        "spec has no effect: the embedded engine verifies no signatures of definitions");
  } else if (kind == "ResolutionRequest") {
    sentences.emplace_back("spec has no effect: the embedded engine answers no ResolutionRequests");
  }
  return sentences;
}

}  // namespace athanor::tekton
