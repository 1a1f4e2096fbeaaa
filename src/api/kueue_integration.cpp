// SPDX-License-Identifier: Apache-2.0
#include "api/kueue_integration.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "api/kueue_configuration.hpp"
#include "base/ascii.hpp"
#include "base/digest.hpp"
#include "kube/value/condition.hpp"

namespace athanor::api::kueue {
namespace {

constexpr std::string_view kPrefix = "kueue.x-k8s.io/";
constexpr std::string_view kProvisioning = "provreq.kueue.x-k8s.io/";

constexpr KnownName kEverywhere[] = {{"labels", "kueue.x-k8s.io/queue-name"},
                                     {"labels", "kueue.x-k8s.io/priority-class"},
                                     {"labels", "kueue.x-k8s.io/prebuilt-workload-name"},
                                     {"labels", kMaxExecTime},
                                     {"labels", "kueue.x-k8s.io/job-uid"},
                                     {"labels", "kueue.x-k8s.io/podset"},
                                     {"labels", "kueue.x-k8s.io/local-queue-name"},
                                     {"labels", "kueue.x-k8s.io/cluster-queue-name"},
                                     {"labels", "kueue.x-k8s.io/managed"},
                                     {"annotations", "kueue.x-k8s.io/workload"},
                                     {"annotations", kGatedBy}};

bool says(const Object& workload, std::string_view type) {
  return condition_is(workload.status()["conditions"], type, "True");
}

bool is_among(std::span<const KnownName> names, std::string_view field, std::string_view key) {
  return std::ranges::any_of(
      names, [&](const KnownName& one) { return one.field == field && one.key == key; });
}

std::string_view article_of(std::string_view word) {
  return word.find_first_of("AEIOU") == 0 ? "an" : "a";
}

}  // namespace

bool is_system_namespace(std::string_view ns) {
  return ns == "kube-system" || ns == kConfigurationNamespace;
}

std::string workload_name(const Kind& kind, std::string_view name, std::string_view uid,
                          NameLength longest) {
  constexpr std::size_t kDigits = 5;
  std::string prefix = fmt::format("{}-{}", lower(kind.name), name);
  prefix.resize(std::min(prefix.size(), static_cast<std::size_t>(longest) - kDigits - 1));
  const std::string digest =
      sha1_hex(fmt::format("{}\n{}\n{}\n{}", kind.name, kind.group, name, uid));
  return fmt::format("{}-{}", prefix, digest.substr(0, kDigits));
}

std::string_view released_reason(bool granular) {
  return granular ? "PendingEvaluation" : "Pending";
}

void set_workload_condition(Value& conditions, const Condition& condition, Instant now) {
  set_condition(conditions, condition, now);
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    if (conditions[i]["type"].as_string() == condition.type && conditions[i]["message"].is_null()) {
      conditions.item(i).set("message", "");
    }
  }
}

bool is_copied_annotation(std::string_view key) {
  return key.starts_with(kProvisioning) || key == kGatedBy;
}

std::optional<Value> gate_patch(const Object& workload, const Object& job) {
  const std::string_view wanted = job.annotation(kGatedBy);
  if (says(workload, "QuotaReserved") || wanted == workload.annotation(kGatedBy)) {
    return std::nullopt;
  }
  Value annotations = Value::object();
  annotations.set(kGatedBy, wanted.empty() ? Value() : Value(wanted));
  return Value::object({{"metadata", Value::object({{"annotations", std::move(annotations)}})}});
}

std::string_view wanted_queue(const Object& workload, std::string_view label, bool prebuilt) {
  return label.empty() && prebuilt ? workload.spec()["queueName"].as_string() : label;
}

bool holds_elsewhere(const Object& workload, std::string_view queue) {
  return says(workload, "QuotaReserved") && workload.spec()["queueName"].as_string() != queue;
}

ClassChange class_change(const Object& workload, std::string_view label, bool prebuilt) {
  if (label.empty() && prebuilt) {
    return ClassChange::None;
  }
  const Value& present = workload.spec()["priorityClassRef"];
  const bool by_label = present["kind"].as_string() == "WorkloadPriorityClass";
  if (label == (by_label ? present["name"].as_string() : std::string_view())) {
    return ClassChange::None;
  }
  const bool renamed = by_label && !label.empty();
  return renamed || !says(workload, "QuotaReserved") ? ClassChange::Possible
                                                     : ClassChange::AfterRelease;
}

std::string not_updated(const Object& workload, std::string_view what) {
  return fmt::format("Workload {} holds quota: its {} follows the label once it waits again",
                     workload.key().text(), what);
}

std::string owned_by_another(const Object& workload) {
  const auto owner = workload.controller();
  return fmt::format(
      "The prebuilt Workload {} belongs to {} {}: another object needs a Workload of its own",
      workload.key().text(), owner ? owner->kind : "", owner ? owner->name : "");
}

std::string left_queue(std::string_view kind) {
  return fmt::format(
      "metadata.labels[{}queue-name] is removed: the {} stays suspended, and its Workload keeps "
      "its "
      "place until it is deleted",
      kPrefix, kind);
}

std::optional<Instant> retires_at(const Object& workload, std::optional<Duration> keep) {
  if (!keep || workload.spec()["active"].as_bool(true) || !says(workload, "DeactivationTarget") ||
      !says(workload, "Evicted")) {
    return std::nullopt;
  }
  const Value& evicted = find_condition(workload.status()["conditions"], "Evicted");
  const auto since = parse_time(evicted["lastTransitionTime"].as_string());
  return since ? std::optional(*since + *keep) : std::nullopt;
}

std::optional<Duration> kept_deactivated(const Value& section) {
  const std::string_view text = section["retentionAfterDeactivated"].as_string();
  const auto duration = parse_go_duration(text);
  return !text.empty() && duration.ok() ? std::optional(*duration) : std::nullopt;
}

std::vector<std::string> unknown_names(const Kind& kind, const Value& object,
                                       std::span<const KnownName> known, std::string_view reader) {
  std::vector<std::string> sentences;
  for (const std::string_view field : {"labels", "annotations"}) {
    for (const Member& member : object["metadata"][field].members()) {
      const std::string_view key = member.key();
      if (key.starts_with(kPrefix) && !is_among(kEverywhere, field, key) &&
          !is_among(known, field, key)) {
        sentences.push_back(
            fmt::format("metadata.{}[{}] has no effect: {} does not read it on {} {}", field, key,
                        reader, article_of(kind.name), kind.name));
      }
    }
  }
  return sentences;
}

std::vector<std::string> left_to_prebuilt(const Value& object, const Value& old_object,
                                          std::string (*prebuilt)(const Object&)) {
  struct Left {
    KnownName name{};
    std::string_view counts{};
  };
  constexpr Left kLeft[] = {{{"labels", kMaxExecTime}, "spec.maximumExecutionTimeSeconds"},
                            {{"annotations", kGatedBy}, "annotation"}};
  std::vector<std::string> sentences;
  const std::string workload = prebuilt(Object(object));
  if (workload.empty()) {
    return sentences;
  }
  const bool known = prebuilt(Object(old_object)) == workload;
  for (const Left& left : kLeft) {
    const Value& text = object["metadata"][left.name.field][left.name.key];
    if (!text.is_null() &&
        !(known && text == old_object["metadata"][left.name.field][left.name.key])) {
      sentences.push_back(
          fmt::format("metadata.{}[{}] has no effect beside the prebuilt Workload {}: its own {} "
                      "counts",
                      left.name.field, left.name.key, workload, left.counts));
    }
  }
  return sentences;
}

bool is_topology_annotation(std::string_view key) {
  return key.starts_with("kueue.x-k8s.io/podset-") && key.ends_with("-topology");
}

bool asks_for_topology(const Value& pod_set) {
  const auto annotations = pod_set.at({"template", "metadata", "annotations"}).members();
  return !pod_set["topologyRequest"].is_null() ||
         std::ranges::any_of(annotations, [](const Member& annotation) {
           return is_topology_annotation(annotation.key());
         });
}

std::vector<std::string> left_out_topologies(const Value& pod_sets, std::string_view path,
                                             std::string_view reader) {
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < pod_sets.size(); ++i) {
    if (asks_for_topology(pod_sets[i])) {
      sentences.push_back(
          fmt::format("the topology request of {}[{}] has no effect: topology-aware scheduling is "
                      "not available in {}",
                      path, i, reader));
    }
  }
  return sentences;
}

}  // namespace athanor::api::kueue
