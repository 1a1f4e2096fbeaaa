// SPDX-License-Identifier: Apache-2.0
// Small steps that complete pods and nodes: tolerations, priority, runtime class, taints
// (docs/spec/apiserver.md 15.1).
#include <fmt/format.h>

#include <algorithm>

#include "embedded/apiserver/admission/steps.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready";
constexpr std::string_view kUnreachable = "node.kubernetes.io/unreachable";
constexpr std::string_view kPriorityGroup = "scheduling.k8s.io";
constexpr std::int64_t kTolerationSeconds = 300;

bool tolerates(const Value& tolerations, std::string_view key) {
  const auto items = tolerations.items();
  return std::any_of(items.begin(), items.end(), [&](const Value& item) {
    const std::string_view held = item["key"].as_string();
    const std::string_view effect = item["effect"].as_string();
    return (held.empty() || held == key) && (effect.empty() || effect == "NoExecute");
  });
}

StatusResult<void> add_tolerations(AdmissionAttributes& request,
                                   const AdmissionContext& /*context*/) {
  if (!is_main_write(request, "", "pods")) {
    return {};
  }
  const Value before = request.object["spec"]["tolerations"];
  for (const std::string_view key : {kNotReady, kUnreachable}) {
    if (!tolerates(before, key)) {
      request.object.member("spec")
          .member("tolerations")
          .push_back(Value::object({{"key", key},
                                    {"operator", "Exists"},
                                    {"effect", "NoExecute"},
                                    {"tolerationSeconds", kTolerationSeconds}}));
    }
  }
  return {};
}

// The class marked as default, the lowest of them; Null without one.
Value default_priority_class(const AdmissionContext& context) {
  Value chosen;
  const auto page = context.store.list("priorityclasses.scheduling.k8s.io", {});
  if (!page.ok()) {
    return chosen;
  }
  for (const store::StoredPtr& stored : page->items) {
    const Value& body = stored->body;
    if (body["globalDefault"].as_bool() &&
        (chosen.is_null() || body["value"].as_int() < chosen["value"].as_int())) {
      chosen = body;
    }
  }
  return chosen;
}

// An update that leaves out what was computed on create does not change it.
void keep_priority(AdmissionAttributes& request) {
  for (const std::string_view field : {"priority", "preemptionPolicy"}) {
    const Value& before = request.old_object["spec"][field];
    if (request.object["spec"][field].is_null() && !before.is_null()) {
      request.object.member("spec").set(field, before);
    }
  }
}

StatusResult<void> set_priority(AdmissionAttributes& request, const AdmissionContext& context) {
  if (!is_main_write(request, "", "pods")) {
    return {};
  }
  if (request.operation == Operation::Update) {
    keep_priority(request);
    return {};
  }
  const std::string name = request.object["spec"]["priorityClassName"].str();
  Value chosen;
  if (name.empty()) {
    chosen = default_priority_class(context);
  } else {
    const store::StoredPtr stored =
        context.store.get("priorityclasses.scheduling.k8s.io", {"", name});
    if (stored == nullptr) {
      return refuse(request, fmt::format("no PriorityClass with name {} was found", name));
    }
    chosen = stored->body;
  }
  const std::int64_t priority = chosen["value"].as_int();
  const std::string policy = chosen["preemptionPolicy"].as_string().empty()
                                 ? "PreemptLowerPriority"
                                 : chosen["preemptionPolicy"].str();
  Value& spec = request.object.member("spec");
  if (spec["priority"].is_number() && spec["priority"].as_int() != priority) {
    return refuse(request, fmt::format("the integer value of priority ({}) must not be provided in "
                                       "pod spec; priority admission controller computed {} from "
                                       "the given PriorityClass name",
                                       spec["priority"].as_int(), priority));
  }
  const std::string_view given = spec["preemptionPolicy"].as_string();
  if (!given.empty() && given != policy) {
    return refuse(request, fmt::format("the string value of PreemptionPolicy ({}) must not be "
                                       "provided in pod spec; priority admission controller "
                                       "computed {} from the given PriorityClass name",
                                       given, policy));
  }
  if (!chosen.is_null()) {
    spec.set("priorityClassName", chosen["metadata"]["name"]);
  }
  spec.set("priority", priority);
  spec.set("preemptionPolicy", policy);
  return {};
}

// One class at most is the default.
StatusResult<void> check_default(AdmissionAttributes& request, const AdmissionContext& context) {
  if (!is_main_write(request, kPriorityGroup, "priorityclasses") ||
      !request.object["globalDefault"].as_bool()) {
    return {};
  }
  const auto page = context.store.list("priorityclasses.scheduling.k8s.io", {});
  for (const store::StoredPtr& other : page.ok() ? page->items : std::vector<store::StoredPtr>()) {
    if (other->key.name != request.key.name && other->body["globalDefault"].as_bool()) {
      return refuse(request, fmt::format("PriorityClass {} is already marked as default. Only one "
                                         "default can exist",
                                         other->key.name));
    }
  }
  return {};
}

StatusResult<void> merge_scheduling(AdmissionAttributes& request, const Value& scheduling) {
  Value& spec = request.object.member("spec");
  for (const Member& label : scheduling["nodeSelector"].members()) {
    const Value& held = spec["nodeSelector"][label.key()];
    if (!held.is_null() && held != label.value) {
      return refuse(request, fmt::format("conflict: runtimeClass.scheduling.nodeSelector[{}] = {}; "
                                         "pod.spec.nodeSelector[{}] = {}",
                                         label.key(), label.value.as_string(), label.key(),
                                         held.as_string()));
    }
    spec.member("nodeSelector").set(label.key(), label.value);
  }
  for (const Value& toleration : scheduling["tolerations"].items()) {
    const auto held = spec["tolerations"].items();
    if (std::find(held.begin(), held.end(), toleration) == held.end()) {
      spec.member("tolerations").push_back(toleration);
    }
  }
  return {};
}

StatusResult<void> apply_runtime_class(AdmissionAttributes& request,
                                       const AdmissionContext& context) {
  if (!creates(request, "", "pods")) {
    return {};
  }
  const std::string name = request.object["spec"]["runtimeClassName"].str();
  const Value overhead = request.object["spec"]["overhead"];
  if (name.empty()) {
    return overhead.empty() ? StatusResult<void>()
                            : refuse(request,
                                     "pod rejected: Pod Overhead set without corresponding "
                                     "RuntimeClass defined Overhead");
  }
  const store::StoredPtr stored = context.store.get("runtimeclasses.node.k8s.io", {"", name});
  if (stored == nullptr) {
    return refuse(request, fmt::format("pod rejected: RuntimeClass \"{}\" not found", name));
  }
  const Value& fixed = stored->body["overhead"]["podFixed"];
  if (!overhead.empty() && overhead != fixed) {
    return refuse(request,
                  "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  }
  if (!fixed.empty()) {
    request.object.member("spec").set("overhead", fixed);
  }
  return merge_scheduling(request, stored->body["scheduling"]);
}

StatusResult<void> taint_node(AdmissionAttributes& request, const AdmissionContext& /*context*/) {
  if (!creates(request, "", "nodes")) {
    return {};
  }
  const auto taints = request.object["spec"]["taints"].items();
  const bool present = std::any_of(taints.begin(), taints.end(), [](const Value& taint) {
    return taint["key"].as_string() == kNotReady && taint["effect"].as_string() == "NoSchedule";
  });
  if (!present) {
    request.object.member("spec").member("taints").push_back(
        Value::object({{"key", kNotReady}, {"effect", "NoSchedule"}}));
  }
  return {};
}

}  // namespace

AdmissionStep default_toleration_step() {
  return {.name = "DefaultTolerationSeconds", .mutate = &add_tolerations, .validate = {}};
}

AdmissionStep priority_step() {
  return {.name = "Priority", .mutate = &set_priority, .validate = &check_default};
}

AdmissionStep runtime_class_step() {
  return {.name = "RuntimeClass", .mutate = &apply_runtime_class, .validate = {}};
}

AdmissionStep taint_nodes_step() {
  return {.name = "TaintNodesByCondition", .mutate = &taint_node, .validate = {}};
}

}  // namespace athanor::apiserver
