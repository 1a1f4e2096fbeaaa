// SPDX-License-Identifier: Apache-2.0
#include "systems/appwrapper/model/managed.hpp"

#include <algorithm>
#include <string>

#include "api/builtin.hpp"
#include "api/kueue_configuration.hpp"
#include "api/kueue_integration.hpp"
#include "kube/names/selector.hpp"
#include "systems/appwrapper/model/names.hpp"

namespace athanor::appwrapper {
namespace {

constexpr std::string_view kNamespaceName = "kubernetes.io/metadata.name";

// A namespace that cannot be read has its name, at least.
bool selects(const View& view, const Value& selector, const std::string& ns) {
  if (selector.is_null()) {
    return true;
  }
  const auto found = view.get(api::kNamespace, {"", ns});
  const Value labels = found ? found->metadata()["labels"] : Value::object({{kNamespaceName, ns}});
  const auto parsed = LabelSelector::from_value(selector);
  return parsed.ok() && parsed->matches(labels);
}

}  // namespace

Queueing queueing_of(const View& view, const Settings& settings) {
  if (settings.queueing.integrated) {
    return settings.queueing;
  }
  const auto map = view.get(api::kConfigMap, api::kueue::configuration_map());
  const Value section = api::kueue::configured_by(view.config(api::kueue::kConfigurationSection),
                                                  map ? map->body() : Value());
  const Value& written = section["integrations"];
  const Value& frameworks = written["frameworks"];
  Queueing queueing = settings.queueing;
  queueing.enabled =
      !frameworks.is_list() || std::ranges::any_of(frameworks.items(), [](const Value& one) {
        return one.as_string() == api::kueue::kAppWrapperFramework;
      });
  queueing.without_queue = written["manageJobsWithoutQueueName"].as_bool();
  queueing.namespaces = written["managedJobsNamespaceSelector"];
  queueing.wait_for_pods_ready = section["waitForPodsReady"].as_bool(true);
  queueing.granular = section["admissionReasons"].as_string() == "granular";
  queueing.short_workload_names = section["shortWorkloadNames"].as_bool();
  queueing.keep_deactivated = api::kueue::kept_deactivated(section);
  return queueing;
}

bool is_queued(const View& view, const Value& app, const Queueing& queueing) {
  const Value& metadata = app["metadata"];
  if (!queueing.enabled || api::kueue::is_system_namespace(metadata["namespace"].as_string())) {
    return false;
  }
  const bool wanted =
      queueing.without_queue || !metadata["labels"][name::kQueueName].as_string().empty();
  return wanted && selects(view, queueing.namespaces, metadata["namespace"].str());
}

bool is_managed_here(const AppWrapper& app) {
  return app.spec.managed_by.value_or(std::string(name::kController)) == name::kController;
}

bool has_workload(const AppWrapper& app) {
  return is_managed_here(app) || app.spec.managed_by == name::kMultiKueue;
}

std::string prebuilt_workload(const Object& app) {
  // An annotation since Kueue 0.18, a label before.
  const std::string_view annotation = app.annotation(name::kPrebuiltWorkload);
  return std::string(annotation.empty() ? app.label(name::kPrebuiltWorkload) : annotation);
}

}  // namespace athanor::appwrapper
