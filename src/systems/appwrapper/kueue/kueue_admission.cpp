// SPDX-License-Identifier: Apache-2.0
// What Kueue's webhooks do to AppWrappers.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "api/kueue.hpp"
#include "api/kueue_integration.hpp"
#include "kube/names/names.hpp"
#include "systems/appwrapper/admission/admission.hpp"
#include "systems/appwrapper/admission/field_texts.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/appwrapper/model/managed.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/appwrapper/pod_sets/pod_sets.hpp"
#include "systems/appwrapper/pod_sets/template_path.hpp"

namespace athanor::appwrapper {
namespace {

constexpr std::string_view kDefaultQueue = "default";
constexpr std::string_view kFieldImmutable = "field is immutable";

// The annotation of a queue's name is that of v0.5.0.
constexpr api::kueue::KnownName kKnown[] = {{"labels", "kueue.x-k8s.io/multikueue-origin"},
                                            {"annotations", name::kPrebuiltWorkload},
                                            {"annotations", name::kElasticJob},
                                            {"annotations", name::kQueueName}};

const Value& label(const Value& object, std::string_view key) {
  return object["metadata"]["labels"][key];
}

std::string label_path(std::string_view key) {
  return fmt::format("metadata.labels[{}]", key);
}

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty()
             ? std::optional(number)
             : std::nullopt;
}

// Whether a LocalQueue leads to a ClusterQueue with a MultiKueue check.
bool leads_to_multikueue(const View& view, const Key& local_queue) {
  const auto local = view.get(api::kueue::kLocalQueue, local_queue);
  const auto cluster =
      local ? view.get(api::kueue::kClusterQueue, {"", local->spec()["clusterQueue"].str()})
            : std::nullopt;
  if (!cluster) {
    return false;
  }
  const Value& checks = cluster->spec().at({"admissionChecksStrategy", "admissionChecks"});
  return std::ranges::any_of(checks.items(), [&](const Value& rule) {
    const auto check = view.get(api::kueue::kAdmissionCheck, {"", rule["name"].str()});
    return check && check->spec()["controllerName"].as_string() == name::kMultiKueue;
  });
}

void check_queue_name(const Value& object, Errors& errors) {
  const Value& queue = label(object, name::kQueueName);
  if (queue.is_null() || queue.as_string().empty()) {
    return;
  }
  if (const auto wrong = validate_dns1123_subdomain(queue.as_string())) {
    errors.push_back(invalid(label_path(name::kQueueName), queue, *wrong));
  }
}

void check_priority_class(const Value& object, const Value& old, bool suspended, Errors& errors) {
  const Value& now = label(object, name::kPriorityClass);
  const Value& before = label(old, name::kPriorityClass);
  const std::string field = label_path(name::kPriorityClass);
  if (before.as_string().empty() && !now.as_string().empty() && !suspended) {
    errors.push_back(invalid(field, now.as_string(),
                             "WorkloadPriorityClass cannot be added to a non-suspended workload"));
  } else if (!before.as_string().empty() && now.as_string().empty()) {
    errors.push_back(invalid(field, "", "WorkloadPriorityClass cannot be removed from a workload"));
  }
}

}  // namespace

Value with_kueue_defaults(const View& view, const Value& object, const Queueing& queueing) {
  const std::string ns = object["metadata"]["namespace"].str();
  if (!queueing.enabled || api::kueue::is_system_namespace(ns)) {
    return object;
  }
  Value result = object;
  if (label(result, name::kQueueName).is_null() &&
      view.get(api::kueue::kLocalQueue, {ns, std::string(kDefaultQueue)})) {
    result.member("metadata").member("labels").set(name::kQueueName, kDefaultQueue);
  }
  const std::string queue = label(result, name::kQueueName).str();
  Value& spec = result.member("spec");
  if (is_queued(view, result, queueing)) {
    spec.set("suspend", true);
  }
  const Value& managed = spec["managedBy"];
  if (!queue.empty() && (managed.is_null() || managed.as_string() == name::kController) &&
      leads_to_multikueue(view, {ns, queue})) {
    spec.set("managedBy", name::kMultiKueue);
  }
  return result;
}

std::vector<std::string> kueue_warnings(const Value& object, std::string_view reader) {
  std::vector<std::string> sentences =
      api::kueue::unknown_names(kAppWrapper, object, kKnown, reader);
  if (label(object, name::kQueueName).as_string().empty()) {
    return sentences;
  }
  const AppWrapper app = api::read<AppWrapper>(Object(object));
  Value pod_sets = Value::list();
  const auto found = pod_sets_of(app);
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const PodSet& one : found[i]) {
      pod_sets.push_back(
          Value::object({{"template", resolve_path(app.spec.components[i].template_value, one.path)
                                          .value_or(Value::object())}}));
    }
  }
  const auto more = api::kueue::left_out_topologies(pod_sets, "pod set", reader);
  sentences.insert(sentences.end(), more.begin(), more.end());
  return sentences;
}

Errors validate_kueue_create(const Value& object) {
  Errors errors;
  check_queue_name(object, errors);
  if (const Value& text = label(object, name::kMaxExecTime); !text.is_null()) {
    const auto seconds = integer(text.as_string());
    if (!seconds) {
      errors.push_back(invalid(label_path(name::kMaxExecTime), text, "must be an integer"));
    } else if (*seconds <= 0) {
      errors.push_back(
          invalid(label_path(name::kMaxExecTime), *seconds, "should be greater than 0"));
    }
  }
  if (object["metadata"]["annotations"][name::kElasticJob].as_string() == "true") {
    errors.push_back(forbidden(fmt::format("metadata.annotations[{}]", name::kElasticJob),
                               fmt::format("elastic job is not supported for \"{}, Kind={}\"",
                                           kAppWrapper.api_version(), kAppWrapper.name)));
  }
  return errors;
}

Errors validate_kueue_update(const Value& object, const Value& old_object, bool has_default_queue) {
  Errors errors;
  const bool suspended = object["spec"]["suspend"].as_bool();
  const bool was_suspended = old_object["spec"]["suspend"].as_bool();
  const auto changed = [&](std::string_view key) {
    return label(object, key).as_string() != label(old_object, key).as_string();
  };
  const auto immutable = [&](std::string_view key) {
    if (changed(key)) {
      errors.push_back(invalid(label_path(key), label(object, key).as_string(), kFieldImmutable));
    }
  };
  if (!suspended) {
    immutable(name::kQueueName);
  }
  if (has_default_queue && !label(old_object, name::kQueueName).as_string().empty() &&
      label(object, name::kQueueName).as_string().empty()) {
    errors.push_back(invalid(label_path(name::kQueueName), "",
                             "queue-name must not be empty in namespace with default queue"));
  }
  check_priority_class(object, old_object, suspended, errors);
  if (!suspended || !was_suspended) {
    immutable(name::kMaxExecTime);
  }
  const std::string prebuilt = prebuilt_workload(Object(object));
  if (!suspended && prebuilt != prebuilt_workload(Object(old_object))) {
    const Value& annotation = object["metadata"]["annotations"][name::kPrebuiltWorkload];
    const bool annotated =
        annotation != old_object["metadata"]["annotations"][name::kPrebuiltWorkload];
    errors.push_back(invalid(annotated
                                 ? fmt::format("metadata.annotations[{}]", name::kPrebuiltWorkload)
                                 : label_path(name::kPrebuiltWorkload),
                             prebuilt, kFieldImmutable));
  }
  return errors;
}

}  // namespace athanor::appwrapper
