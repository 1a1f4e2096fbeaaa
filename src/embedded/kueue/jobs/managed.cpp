// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/jobs/managed.hpp"

#include <algorithm>
#include <utility>

#include "api/builtin.hpp"
#include "embedded/kueue/jobs/identifiers.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "embedded/kueue/model/configuration.hpp"
#include "kube/names/selector.hpp"

namespace athanor::kueue::jobs {
namespace {

constexpr int kMostAncestors = 10;

std::string_view framework_of(const Kind& kind) {
  static constexpr std::pair<const Kind*, std::string_view> kOf[] = {
      {&api::kJob, "batch/job"},
      {&kJobSet, "jobset.x-k8s.io/jobset"},
      {&kPyTorchJob, "kubeflow.org/pytorchjob"},
      {&kRayCluster, "ray.io/raycluster"},
      {&kRayJob, "ray.io/rayjob"},
      {&kAppWrapper, kAppWrapperFramework}};
  for (const auto& [one, framework] : kOf) {
    if (one == &kind) {
      return framework;
    }
  }
  return {};
}

bool names_queue(const Object& object) {
  return !object.label(name::kQueue).empty() || !prebuilt_name(object).empty();
}

// Returns the managed objects of the chain of controllers above, from the bottom up.
std::vector<Object> managers_of(const View& view, const Integrations& settings,
                                const Object& object) {
  std::vector<Object> managers;
  auto owner = object.controller();
  const std::string ns(object.ns());
  for (int i = 0; owner && i < kMostAncestors; ++i) {
    const auto kinds = ancestor_kinds();
    const auto kind = std::ranges::find_if(kinds, [&](const Kind* one) {
      return one->name == owner->kind && one->api_version() == owner->api_version;
    });
    if (kind == kinds.end()) {
      break;
    }
    auto above = view.get(**kind, {ns, owner->name});
    if (!above || above->uid() != owner->uid) {
      break;
    }
    owner = above->controller();
    if (settings.has(framework_of(**kind)) &&
        (names_queue(*above) || settings.manage_without_queue) && selects(view, settings, ns)) {
      managers.push_back(*std::move(above));
    }
  }
  return managers;
}

}  // namespace

bool Integrations::has(std::string_view framework) const {
  return std::ranges::find(frameworks, framework) != frameworks.end();
}

Integrations integrations_of(const View& view) {
  const Value section = configured_section(view);
  const Value& written = section["integrations"];
  Integrations settings{.manage_without_queue = written["manageJobsWithoutQueueName"].as_bool(),
                        .namespaces = written["managedJobsNamespaceSelector"],
                        .wait_for_pods_ready = section["waitForPodsReady"].as_bool(true),
                        .granular = section["admissionReasons"].as_string() == "granular",
                        .partial_admission = section["partialAdmission"].as_bool(true),
                        .short_workload_names = section["shortWorkloadNames"].as_bool()};
  settings.keep_deactivated = api::kueue::kept_deactivated(section);
  if (const Value& names = written["frameworks"]; names.is_list()) {
    for (const Value& one : names.items()) {
      settings.frameworks.push_back(one.str());
    }
  } else {
    const auto all = known_frameworks();
    settings.frameworks.assign(all.begin(), all.end());
  }
  return settings;
}

std::span<const Kind* const> ancestor_kinds() {
  static constexpr const Kind* kKinds[] = {
      &api::kJob,   &kJobSet,          &kPyTorchJob,      &kRayCluster,       &kRayJob,
      &kAppWrapper, &api::kReplicaSet, &api::kDeployment, &api::kStatefulSet, &kLeaderWorkerSet};
  return kKinds;
}

bool is_below_managed(const View& view, const Integrations& settings, const Object& object) {
  return !managers_of(view, settings, object).empty();
}

std::optional<Object> managing_app(const View& view, const Integrations& settings,
                                   const Object& object) {
  std::optional<Object> app;
  for (Object& one : managers_of(view, settings, object)) {
    if (one.kind() == kAppWrapper.name) {
      app = std::move(one);
    }
  }
  return app;
}

bool selects(const View& view, const Integrations& settings, std::string_view ns) {
  if (settings.namespaces.is_null()) {
    return true;
  }
  const auto found = view.get(api::kNamespace, {"", std::string(ns)});
  const auto selector = LabelSelector::from_value(settings.namespaces);
  return found && selector.ok() && selector->matches(found->metadata()["labels"]);
}

bool is_managed(const View& view, const Integrations& settings, const Object& object) {
  if (is_system_namespace(object.ns())) {
    return false;
  }
  return (names_queue(object) || settings.manage_without_queue) &&
         selects(view, settings, object.ns()) && !is_below_managed(view, settings, object);
}

}  // namespace athanor::kueue::jobs
