// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/system.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "api/kueue.hpp"
#include "base/ascii.hpp"
#include "base/environment.hpp"
#include "embedded/kueue/cycle/scheduler.hpp"
#include "embedded/kueue/explain/visibility.hpp"
#include "embedded/kueue/jobs/managed.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "embedded/kueue/jobs/reconcile.hpp"
#include "embedded/kueue/jobs/webhooks.hpp"
#include "embedded/kueue/metrics/instruments.hpp"
#include "embedded/kueue/model/configuration.hpp"
#include "embedded/kueue/model/settings.hpp"
#include "embedded/kueue/rules/conversion.hpp"
#include "embedded/kueue/rules/webhooks.hpp"
#include "embedded/kueue/verb.hpp"
#include "embedded/kueue/workload/checks.hpp"

namespace athanor::kueue {
namespace {

constexpr std::string_view kConfigVariable = "KUEUE_CONFIG";
constexpr std::string_view kLacksAppWrappers = "lacksAppWrappers";

std::vector<const api::CustomKind*> kinds(const Value& /*settings*/) {
  return {api::kueue_kinds().begin(), api::kueue_kinds().end()};
}

Result<Value> convert_object(const Value& object, std::string_view to_version) {
  return convert(object, to_version);
}

Result<void> read_system_flag(const Environment& variables, std::string_view name, Value& into) {
  std::string text = into.as_bool() ? "true" : "false";
  ATHANOR_TRY_VOID(variables.choice(name, {"true", "false"}, text));
  into = text == "true";
  return {};
}

// What the integrations read, as Kueue's configuration names it.
Result<void> read_integrations(const Environment& variables, Value& section) {
  constexpr std::string_view kList = "KUEUE_INTEGRATIONS";
  ATHANOR_TRY_VOID(read_system_flag(variables, "KUEUE_CLUSTER_QUEUE_RESOURCE_METRICS",
                                    section.member("clusterQueueResourceMetrics")));
  ATHANOR_TRY_VOID(
      read_system_flag(variables, "KUEUE_MANAGE_JOBS_WITHOUT_QUEUE_NAME",
                       section.member("integrations").member("manageJobsWithoutQueueName")));
  const std::string* text = variables.find(kList);
  if (text == nullptr) {
    return {};
  }
  const auto known = jobs::known_frameworks();
  Value names = Value::list();
  for (const std::string_view word : words_of(*text, ',')) {
    const std::string_view name = trimmed(word, " ");
    if (std::ranges::find(known, name) == known.end()) {
      std::string all;
      for (const std::string_view one : known) {
        all += (all.empty() ? "" : ", ") + std::string(one);
      }
      return refuse_setting(kList, *text, "must be names out of " + all + ", comma-separated");
    }
    names.push_back(name);
  }
  section.member("integrations").set("frameworks", std::move(names));
  return {};
}

// Resources that systems before this one count as others. What the settings say of an input wins,
// and what a ConfigMap says later.
void add_transformations(const SystemConfig& config, Value& section) {
  constexpr const char* kMember = "resourceTransformations";
  Value all = section[kMember].is_list() ? section[kMember] : Value::list();
  const auto known = [&](const Value& input) {
    return std::ranges::any_of(all.items(),
                               [&](const Value& one) { return one["input"] == input; });
  };
  Value of_systems = Value::list();
  for (const auto& [name, other] : config) {
    for (const Value& one : other[kMember].items()) {
      of_systems.push_back(one);
      if (!known(one["input"])) {
        all.push_back(one);
      }
    }
  }
  if (!of_systems.empty()) {
    section.set(kSystemTransformations, std::move(of_systems));
  }
  if (!all.empty()) {
    section.set(kMember, std::move(all));
  }
}

// Returns true if this process queues Jobs and pods but no AppWrappers: one event tells of each.
bool lacks_app_wrappers(const SettingsSource& source) {
  const auto runs = [&](std::string_view name) {
    return std::ranges::find(source.systems, name) != source.systems.end();
  };
  return runs("kueue") && !runs("appwrapper-kueue");
}

bool runs(const Operator& op, const Value& settings) {
  return &op != &jobs::unqueued_operator() || settings[kLacksAppWrappers].as_bool();
}

Result<Value> read_alone(const SettingsSource& source) {
  ATHANOR_TRY(const Settings settings, parse_settings(source.variables));
  Value section = api::encode(settings);
  ATHANOR_TRY_VOID(read_integrations(Environment(source.variables), section));
  std::string path;
  Environment(source.variables).text(kConfigVariable, path);
  if (path.empty()) {
    add_transformations(source.config, section);
    return section;
  }
  if (!source.read_file) {
    return refuse_setting(kConfigVariable, path, "files cannot be read here");
  }
  ATHANOR_TRY(const std::string text, source.read_file(path));
  auto read = read_configuration(section, text);
  if (!read.ok()) {
    return read.error().with_context(path);
  }
  if (source.warn) {
    for (const std::string& sentence : read->warnings) {
      source.warn(fmt::format("{}: {}", path, sentence));
    }
  }
  add_transformations(source.config, read->section);
  return std::move(read->section);
}

Result<Value> read(const SettingsSource& source) {
  ATHANOR_TRY(Value section, read_alone(source));
  if (lacks_app_wrappers(source)) {
    section.set(kLacksAppWrappers, true);
    if (source.warn) {
      source.warn(fmt::format("label {} of AppWrappers: appwrapper-kueue does not run here",
                              jobs::name::kQueue));
    }
  }
  return section;
}

std::vector<const Operator*> all_operators() {
  std::vector<const Operator*> all{
      &scheduler_operator(),       &workload_operator(),      &cluster_queue_operator(),
      &local_queue_operator(),     &cohort_operator(),        &resource_flavor_operator(),
      &admission_check_operator(), &configuration_operator(), &check_finalizer_operator()};
  const auto jobs = jobs::operators();
  all.insert(all.end(), jobs.begin(), jobs.end());
  return all;
}

std::vector<Webhook> all_webhooks() {
  std::vector<Webhook> all(webhooks().begin(), webhooks().end());
  const auto jobs = jobs::webhooks();
  all.insert(all.end(), jobs.begin(), jobs.end());
  return all;
}

// Where the configuration is, as Kueue's own manifests have it.
std::vector<std::string> lab_namespaces(const SystemConfig& /*config*/) {
  return {std::string(kConfigurationNamespace)};
}

std::vector<Value> lab_objects(const LabFacts& /*lab*/) {
  return visibility_objects();
}

}  // namespace

const System& system() {
  static const System kSystem{
      .name = "kueue",
      .summary = "Kueue-compatible queueing",
      .stand_in = true,
      .kinds = kinds,
      .convert = convert_object,
      .operators = all_operators(),
      .runs = runs,
      .optional_kinds = {&jobs::kJobSet, &jobs::kPyTorchJob, &jobs::kRayCluster, &jobs::kRayJob,
                         &jobs::kLeaderWorkerSet, &jobs::kAppWrapper, &jobs::kRayService,
                         &jobs::kTrainJob, &jobs::kMpiJob, &jobs::kTfJob, &jobs::kXgBoostJob,
                         &jobs::kPaddleJob, &jobs::kJaxJob},
      .served_group = &visibility_group(),
      .webhooks = all_webhooks(),
      .instruments = &kueue_instruments(),
      .settings = read,
      .variables = {"KUEUE_ADMISSION_REASONS",
                    "KUEUE_BLOCK_ADMISSION",
                    "KUEUE_CLUSTER_QUEUE_RESOURCE_METRICS",
                    "KUEUE_CONFIG",
                    "KUEUE_EXCLUDE_RESOURCE_PREFIXES",
                    "KUEUE_FAIR_SHARING",
                    "KUEUE_FLAVOR_SELECTOR_KEYS",
                    "KUEUE_INTEGRATIONS",
                    "KUEUE_MANAGE_JOBS_WITHOUT_QUEUE_NAME",
                    "KUEUE_PODS_READY_RECOVERY_TIMEOUT",
                    "KUEUE_PODS_READY_TIMEOUT",
                    "KUEUE_PREEMPTION_STRATEGIES",
                    "KUEUE_QUOTA_CHECK_STRATEGY",
                    "KUEUE_REQUEUE_BACKOFF_BASE_SECONDS",
                    "KUEUE_REQUEUE_BACKOFF_LIMIT_COUNT",
                    "KUEUE_REQUEUE_BACKOFF_MAX_SECONDS",
                    "KUEUE_REQUEUE_TIMESTAMP",
                    "KUEUE_RESOURCE_TRANSFORMATIONS",
                    "KUEUE_RETENTION_AFTER_DEACTIVATED",
                    "KUEUE_RETENTION_AFTER_FINISHED",
                    "KUEUE_WAIT_FOR_PODS_READY"},
      .verbs = {queues_verb()},
      .lab_namespaces = lab_namespaces,
      .lab_objects = lab_objects};
  return kSystem;
}

}  // namespace athanor::kueue
