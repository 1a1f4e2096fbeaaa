// SPDX-License-Identifier: Apache-2.0
#include "systems/fournos/system.hpp"

#include <string>

#include "api/builtin.hpp"
#include "kube/text/yaml.hpp"
#include "systems/fournos/instruments.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/mock_resolver.hpp"
#include "systems/fournos/operators.hpp"
#include "systems/fournos/settings.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"

namespace athanor::fournos {
namespace {

std::vector<const api::CustomKind*> kinds(const Value& settings) {
  const auto dialect = api::decode<Settings>(settings).api();
  return {&api::fournos_job_crd(dialect)};
}

Result<Value> read(const SettingsSource& source) {
  std::map<std::string, std::string> variables = source.variables;
  if (!variables.contains("FOURNOS_WORKLOAD_NAMESPACE") && !source.jobs_namespace.empty()) {
    variables.emplace("FOURNOS_NAMESPACE", source.jobs_namespace);
  }
  ATHANOR_TRY(Settings settings, parse_settings(variables));
  if (!settings.resolve_template_path.empty() && source.read_file) {
    ATHANOR_TRY(const std::string text, source.read_file(settings.resolve_template_path));
    auto parsed = yaml::parse(text);
    if (!parsed.ok()) {
      return parsed.error().with_context(settings.resolve_template_path);
    }
    settings.resolve_template = *std::move(parsed);
  }
  return api::encode(settings);
}

// Jobs and all that belongs to them are in one namespace; secrets are copied from another one.
Places places(const SystemConfig& config) {
  const auto settings = api::decode<Settings>(config.find("fournos")->second);
  const std::string& jobs = settings.workload_namespace;
  Places places = places_of_all(fournos_operators(), {.watched = {jobs}, .written = {jobs}});
  places[&api::kSecret].watched = {jobs, settings.secrets_namespace};
  places[&api::kFournosCluster] = {.watched = {config.find("hearth")->second["namespace"].str()}};
  places[&api::kEvent] = {.written = {jobs}};
  return places;
}

}  // namespace

const System& system() {
  static const System kSystem{
      .name = "fournos",
      .summary = "benchmark jobs through queues and pipelines",
      .by_default = true,
      .kinds = kinds,
      .operators = {fournos_operators().begin(), fournos_operators().end()},
      .optional_kinds = {&api::kFournosCluster},  // where Hearth runs
      .instruments = &fournos_instruments(),
      .settings = read,
      .variables = {"FOURNOS_API", "FOURNOS_ARTIFACT_PVC_SIZE", "FOURNOS_EVICTION_POLICY",
                    "FOURNOS_GC_INTERVAL_SEC", "FOURNOS_GPU_RESOURCE_PREFIX",
                    "FOURNOS_KUBECONFIG_SECRET_PATTERN", "FOURNOS_KUEUE_LOCAL_QUEUE_NAME",
                    "FOURNOS_LOG_LEVEL", "FOURNOS_NAMESPACE", "FOURNOS_PIPELINE_FINALLY_TIMEOUT",
                    "FOURNOS_PIPELINE_TASKS_TIMEOUT", "FOURNOS_PIPELINE_TIMEOUT",
                    "FOURNOS_RESOLVE_DEADLINE_SEC", "FOURNOS_RESOLVE_JOB_TEMPLATE",
                    "FOURNOS_SECRETS_NAMESPACE", "FOURNOS_SECRET_GRACE_SEC",
                    "FOURNOS_TEKTON_DASHBOARD_URL", "FOURNOS_VAULT_SECRET_PATTERN",
                    "FOURNOS_WORKLOAD_NAMESPACE"},
      .log_level_variable = "FOURNOS_LOG_LEVEL",
      .places = places,
      .node_hooks = {&mock_resolver()}};
  return kSystem;
}

}  // namespace athanor::fournos
