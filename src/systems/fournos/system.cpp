// SPDX-License-Identifier: Apache-2.0
#include "systems/fournos/system.hpp"

#include <string>

#include "api/builtin.hpp"
#include "kube/text/yaml.hpp"
#include "systems/fournos/instruments.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/notify.hpp"
#include "systems/fournos/operators.hpp"
#include "systems/fournos/schedules/mock_resolver.hpp"
#include "systems/fournos/schedules/resume.hpp"
#include "systems/fournos/schedules/submit_step.hpp"
#include "systems/fournos/settings.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"

namespace athanor::fournos {
namespace {

// The claim of the built-in lab (examples/fournos/setup/32-benchmark.yaml).
constexpr const char* kLabResults = "fournos-results";
// An installation's template of resolve Jobs, relative to the working directory
// (docs/spec/fournos.md 3).
constexpr const char* kResolveTemplate = "config/forge/resolve_job.yaml";
constexpr int kAbsent = 404;

std::vector<const Operator*> all_operators() {
  std::vector<const Operator*> operators{fournos_operators().begin(), fournos_operators().end()};
  operators.push_back(&notify_operator());
  operators.push_back(&resume_operator());
  return operators;
}

bool has_work(const Operator& op, const Value& settings) {
  return &op != &notify_operator() || !api::decode<Settings>(settings).notify_url.empty();
}

// Webhooks are called on connections of their own.
std::size_t notifications_at_once(const Value& /*settings*/) {
  return 4;
}

std::vector<const api::CustomKind*> kinds(const Value& settings) {
  const auto dialect = api::decode<Settings>(settings).api();
  return {&api::fournos_job_crd(dialect)};
}

// Reads the resolve Job's template, once. The file of the default need not be there; a lab has the
// built-in one.
Result<void> read_template(const SettingsSource& source, Settings& settings) {
  const bool is_default = settings.resolve_template_path.empty();
  if (!source.read_file || (is_default && source.in_lab)) {
    return {};
  }
  const std::string path = is_default ? kResolveTemplate : settings.resolve_template_path;
  const auto text = source.read_file(path);
  if (!text) {
    return is_default && text.error().code == kAbsent ? Result<void>() : text.error();
  }
  auto parsed = yaml::parse(*text);
  if (!parsed.ok()) {
    return parsed.error().with_context(path);
  }
  if (!parsed->is_object()) {
    return Error::bad_request(path + ": holds no Job");
  }
  settings.resolve_template = *std::move(parsed);
  return {};
}

Result<Value> read_settings(const SettingsSource& source) {
  std::map<std::string, std::string> variables = source.variables;
  if (!variables.contains("FOURNOS_WORKLOAD_NAMESPACE") && !source.jobs_namespace.empty()) {
    variables.emplace("FOURNOS_NAMESPACE", source.jobs_namespace);
  }
  ATHANOR_TRY(Settings settings, parse_settings(variables));
  if (source.in_lab && settings.results_claim.empty()) {
    settings.results_claim = kLabResults;
  }
  ATHANOR_TRY_VOID(read_template(source, settings));
  return api::encode(settings);
}

// Jobs and all that belongs to them are in one namespace; secrets are copied from another one.
Places places(const SystemConfig& config) {
  const auto settings = api::decode<Settings>(config.find("fournos")->second);
  const std::string& jobs = settings.workload_namespace;
  Places places = places_of_all(fournos_operators(), {.watched = {jobs}, .written = {jobs}});
  places[&api::kCronJob] = {.watched = {jobs}, .written = {jobs}};
  places[&api::kSecret].watched = {jobs, settings.secrets_namespace};
  places[&api::kFournosCluster] = {.watched = {config.find("hearth")->second["namespace"].str()}};
  places[&api::kEvent] = {.written = {jobs}};
  return places;
}

}  // namespace

const System& labelled_namespaces_system() {
  static const System kSystem{
      .name = "fournos-namespaces",
      .summary = "jobs in every namespace with access to the queues",
      .stand_in = true,
      .operators = {labelled_operators().begin(), labelled_operators().end()}};
  return kSystem;
}

const System& system() {
  static const System kSystem{
      .name = "fournos",
      .summary = "benchmark jobs through queues and pipelines",
      .by_default = true,
      .kinds = kinds,
      .operators = all_operators(),
      .runs = has_work,
      .optional_kinds = {&api::kFournosCluster},  // where Hearth runs
      .instruments = &fournos_instruments(),
      .settings = read_settings,
      .variables = {"FOURNOS_API",
                    "FOURNOS_ARTIFACT_PVC_SIZE",
                    "FOURNOS_EVICTION_POLICY",
                    "FOURNOS_GC_INTERVAL_SEC",
                    "FOURNOS_GPU_RESOURCE_PREFIX",
                    "FOURNOS_KUBECONFIG_SECRET_PATTERN",
                    "FOURNOS_KUEUE_LOCAL_QUEUE_NAME",
                    "FOURNOS_LOG_LEVEL",
                    "FOURNOS_MIN_PHASE_SEC",
                    "FOURNOS_NAMESPACE",
                    "FOURNOS_NOTIFY_FORMAT",
                    "FOURNOS_NOTIFY_URL",
                    "FOURNOS_PIPELINE_FINALLY_TIMEOUT",
                    "FOURNOS_PIPELINE_TASKS_TIMEOUT",
                    "FOURNOS_PIPELINE_TIMEOUT",
                    "FOURNOS_RECONCILE_MODE",
                    "FOURNOS_RESOLVE_DEADLINE_SEC",
                    "FOURNOS_RESOLVE_JOB_TEMPLATE",
                    "FOURNOS_RESULTS_CLAIM",
                    "FOURNOS_SECRETS_NAMESPACE",
                    "FOURNOS_SECRET_GRACE_SEC",
                    "FOURNOS_TEKTON_DASHBOARD_URL",
                    "FOURNOS_VAULT_SECRET_PATTERN",
                    "FOURNOS_WORKLOAD_NAMESPACE"},
      .log_level_variable = "FOURNOS_LOG_LEVEL",
      .places = places,
      .probes = {{.name = kNotifyProbe, .concurrency = notifications_at_once}},
      .node_hooks = {&mock_resolver(), &submit_step()}};
  return kSystem;
}

}  // namespace athanor::fournos
