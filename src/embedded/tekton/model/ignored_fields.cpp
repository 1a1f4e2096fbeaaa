// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/model/ignored_fields.hpp"

#include <fmt/format.h>

#include <string_view>

#include "embedded/tekton/model/conversion.hpp"
#include "embedded/tekton/model/field_errors.hpp"

namespace athanor::tekton {
namespace {

constexpr std::string_view kNoDevices =
    "volumeDevices has no effect: the embedded engine has no block devices";

// Hermetic execution, an alpha feature of Tekton.
constexpr std::string_view kExecutionMode = "experimental.tekton.dev/execution-mode";

void add_devices(const Value& list, std::string_view name, std::vector<std::string>& sentences) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i]["volumeDevices"].empty()) {
      sentences.push_back(fmt::format("{}.{}", at(name, i), kNoDevices));
    }
  }
}

void add_below(const std::string& path, const Value& task_spec,
               std::vector<std::string>& sentences) {
  for (const std::string& sentence : ignored_fields(task_spec)) {
    sentences.push_back(fmt::format("{}.{}", path, sentence));
  }
}

// Params of the resolvers cluster, git and bundles; the last reads a folder and no registry.
void add_ref(const std::string& path, const Value& ref, std::vector<std::string>& sentences) {
  const bool bundles = ref["resolver"].as_string() == "bundles";
  const bool cluster = ref["resolver"].as_string() == "cluster";
  if (!bundles && !cluster && ref["resolver"].as_string() != "git") {
    return;
  }
  for (std::size_t i = 0; i < ref["params"].size(); ++i) {
    const std::string_view name = ref["params"][i]["name"].as_string();
    if (bundles && (name == "serviceAccount" || name == "secret")) {
      sentences.push_back(fmt::format(
          "{}.{} ({}) has no effect: bundles are read from a folder, without credentials", path,
          at("params", i), name));
    } else if (cluster && name != "kind" && name != "name" && name != "namespace") {
      sentences.push_back(
          fmt::format("{}.{} ({}) has no effect: resolver cluster takes kind, name and namespace",
                      path, at("params", i), name));
    } else if (!cluster && name == "cache") {
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
  add_devices(task_spec["steps"], "steps", sentences);
  if (!task_spec["stepTemplate"]["volumeDevices"].empty()) {
    sentences.push_back(fmt::format("stepTemplate.{}", kNoDevices));
  }
  add_devices(task_spec["sidecars"], "sidecars", sentences);
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
  if (object["metadata"]["annotations"][kExecutionMode].as_string() == "hermetic") {
    sentences.push_back(
        fmt::format("metadata.annotations[{}] has no effect: steps keep the network of their pod",
                    kExecutionMode));
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
