// SPDX-License-Identifier: Apache-2.0
#include "systems/fournos/schedules/submit_step.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/schedules/scheduled_job.hpp"

namespace athanor::fournos {
namespace {

constexpr std::string_view kOwnJobLabel = "batch.kubernetes.io/job-name";

// Athanor's image with the arguments of a scheduled submission.
bool submits_job(const Value& container) {
  if (!is_submit_image(container["image"].as_string()) || container.contains("command")) {
    return false;
  }
  const auto words = submit_arguments();
  const Value& given = container["args"];
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (given[i].as_string() != words[i]) {
      return false;
    }
  }
  return true;
}

// A script of such a pod computes values for the job; without them the job would be another one.
bool has_resolver(const Object& pod) {
  return std::ranges::any_of(pod.spec()["initContainers"].items(), [](const Value& container) {
    return container["name"].as_string() == "resolver";
  });
}

std::optional<std::string> variable_for(const Value& container, const Object& pod,
                                        std::string_view name) {
  if (name == "FOURNOS_JOB_NAME") {  // from the downward API
    const std::string_view label = pod.label(kOwnJobLabel);
    return label.empty() ? std::nullopt : std::optional(std::string(label));
  }
  for (const Value& one : container["env"].items()) {
    if (one["name"].as_string() == name && one["value"].is_string()) {
      return one["value"].str();
    }
  }
  return std::nullopt;
}

NodeAdmission admit_submission(const View& view, const Object& pod, const Object& /*node*/,
                               Instant /*now*/) {
  NodeAdmission admission;
  for (const Value& container : pod.spec()["containers"].items()) {
    if (!submits_job(container)) {
      continue;
    }
    if (has_resolver(pod)) {
      return {.answer = NodeAdmission::Answer::Refuse,
              .message = "no job is submitted: a lab runs no resolver scripts",
              .reason = "SubmitFailed"};
    }
    const auto job = scheduled_job(
        [&](std::string_view name) { return variable_for(container, pod, name); }, "");
    if (!job.ok()) {
      return {.answer = NodeAdmission::Answer::Refuse,
              .message = "no job is submitted: " + job.error().message,
              .reason = "SubmitFailed"};
    }
    Key key{std::string(pod.ns()), (*job)["metadata"]["name"].str()};
    // A node that starts again has created it before.
    if (!key.name.empty() && view.get(api::kFournosJob, key)) {
      continue;
    }
    Value object = *job;
    object.member("metadata").set("namespace", pod.ns());
    admission.steps.then(
        Create{.target = {&api::kFournosJob, std::move(key)}, .object = std::move(object)});
  }
  return admission;
}

}  // namespace

const NodeHooks& submit_step() {
  static constexpr const Kind* kReads[] = {&api::kFournosJob};
  static constexpr const Kind* kWrites[] = {&api::kFournosJob};
  static constexpr Access kAccess[] = {{&api::kFournosJob, "create"}};
  static const NodeHooks kHooks{.name = "submit-step",
                                .reads = kReads,
                                .writes = kWrites,
                                .access = kAccess,
                                .admit = admit_submission};
  return kHooks;
}

}  // namespace athanor::fournos
