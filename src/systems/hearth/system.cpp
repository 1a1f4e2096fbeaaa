// SPDX-License-Identifier: Apache-2.0
#include "systems/hearth/system.hpp"

#include <map>
#include <string>
#include <utility>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "systems/hearth/instruments.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "systems/hearth/names.hpp"
#include "systems/hearth/operators.hpp"
#include "systems/hearth/settings.hpp"

namespace athanor::hearth {
namespace {

std::vector<const api::CustomKind*> kinds(const Value& /*settings*/) {
  return {api::hearth_kinds().begin(), api::hearth_kinds().end()};
}

// Locks are made where Fournos has its jobs, and kubeconfigs lie where it takes secrets from.
Result<Value> read_settings(const SettingsSource& source) {
  std::map<std::string, std::string> variables = source.variables;
  if (const auto jobs = source.config.find("fournos"); jobs != source.config.end()) {
    variables.emplace("HEARTH_EXECUTION_NAMESPACE", jobs->second["workloadNamespace"].str());
    variables.emplace("HEARTH_SECRETS_NAMESPACE", jobs->second["secretsNamespace"].str());
  }
  ATHANOR_TRY(const Settings settings, parse_settings(variables));
  return api::encode(settings);
}

Settings settings_of(const SystemConfig& config) {
  const auto section = config.find("hearth");
  return section == config.end() ? Settings() : api::decode<Settings>(section->second);
}

// Clusters in their namespace, kubeconfigs in a second one, locks among the jobs in a third.
Places places(const SystemConfig& config) {
  const Settings settings = settings_of(config);
  const std::string& jobs = settings.execution_namespace;
  const std::string& secrets = settings.secrets_namespace;
  Places places = places_of_all(hearth_operators(), {.watched = {jobs}, .written = {jobs}});
  places[&api::kFournosCluster] = {.watched = {settings.ns}, .written = {settings.ns}};
  places[&api::kSecret] = {.watched = {secrets, settings.ns}, .written = {secrets}};
  places[&api::kEvent] = {.written = {settings.ns, secrets, jobs}};
  return places;
}

std::string lease_namespace(const Value& settings) {
  return api::decode<Settings>(settings).ns;
}

std::size_t probes_at_once(const Value& settings) {
  return static_cast<std::size_t>(api::decode<Settings>(settings).discovery_concurrency);
}

std::vector<std::string> lab_namespaces(const SystemConfig& config) {
  const Settings settings = settings_of(config);
  return {settings.ns, settings.secrets_namespace};
}

std::string targets_namespace(const SystemConfig& config) {
  return settings_of(config).ns;
}

// The labelled Secret that discovery makes a FournosCluster of.
std::vector<Value> onboard_target(const TargetCluster& target, const SystemConfig& config) {
  Value metadata = Value::object({{"name", "kubeconfig-" + target.name},
                                  {"namespace", settings_of(config).secrets_namespace}});
  metadata.set("labels", Value::object({{std::string(name::kKubeconfigLabel), "true"}}));
  Value annotations = Value::object();
  if (!target.owner.empty()) {
    annotations.set(name::kOwner, target.owner);
  }
  if (!target.ttl.empty()) {
    annotations.set(name::kTtl, target.ttl);
  }
  if (!annotations.empty()) {
    metadata.set("annotations", std::move(annotations));
  }
  return {
      Value::object({{"apiVersion", "v1"},
                     {"kind", "Secret"},
                     {"metadata", std::move(metadata)},
                     {"type", "Opaque"},
                     {"data", Value::object({{"kubeconfig", base64_encode(target.kubeconfig)}})}})};
}

}  // namespace

const System& system() {
  static const System kSystem{
      .name = "hearth",
      .summary = "GPU clusters onboarded, watched and locked",
      .by_default = true,
      .kinds = kinds,
      .operators = {hearth_operators().begin(), hearth_operators().end()},
      .instruments = &hearth_instruments(),
      .settings = read_settings,
      .variables = {"HEARTH_ALLOW_EXEC_CREDENTIALS", "HEARTH_ALLOW_PLAIN_HTTP",
                    "HEARTH_DISCOVERY_CONCURRENCY", "HEARTH_EXECUTION_NAMESPACE",
                    "HEARTH_GPU_DISCOVERY_DEFAULT_INTERVAL_SEC", "HEARTH_GPU_DISCOVERY_TIMEOUT_SEC",
                    "HEARTH_GPU_MODEL_MAP", "HEARTH_GPU_NODE_FILTER", "HEARTH_GPU_RESOURCE_PREFIX",
                    "HEARTH_KUBECONFIG_CHECK", "HEARTH_KUBECONFIG_SECRET_PATTERN",
                    "HEARTH_KUEUE_CLUSTER_QUEUE_NAME", "HEARTH_LOCK_JOB_PREFIX", "HEARTH_LOG_LEVEL",
                    "HEARTH_METRICS_ADDR", "HEARTH_NAMESPACE", "HEARTH_OFFBOARDING",
                    "HEARTH_RECONCILE_INTERVAL_SEC", "HEARTH_SECRETS_NAMESPACE"},
      .log_level_variable = "HEARTH_LOG_LEVEL",
      .metrics_address_variable = "HEARTH_METRICS_ADDR",
      .places = places,
      .lease_name = "hearth",
      .lease_namespace = lease_namespace,
      .probes = {{.name = "cluster", .concurrency = probes_at_once}},
      .lab_namespaces = lab_namespaces,
      .targets_namespace = targets_namespace,
      .onboard_target = onboard_target};
  return kSystem;
}

}  // namespace athanor::hearth
