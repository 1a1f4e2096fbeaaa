// SPDX-License-Identifier: Apache-2.0
// The PipelineRun of a job, in both dialects (docs/spec/fournos.md 9.3).
#include <set>

#include "api/tekton.hpp"
#include "kube/text/yaml.hpp"
#include "systems/fournos/desired.hpp"
#include "systems/fournos/messages.hpp"
#include "systems/fournos/metadata.hpp"

namespace athanor::fournos {
namespace {

constexpr std::string_view kSeedParams[] = {"job-name",   "forge-project",     "forge-config",
                                            "env",        "kubeconfig-secret", "gpu-count",
                                            "secret-refs"};
constexpr std::string_view kEngineParams[] = {"fjob-name", "fournos-workload-namespace",
                                              "kubeconfig-secret"};

std::string kubeconfig_param(const Context& context) {
  const Job& job = context.job;
  if (job.dialect == Dialect::Seed) {
    return hearth_secret(context) ? kubeconfig_copy_name(job)
                                  : kubeconfig_secret_name(context, job.status().cluster);
  }
  return job.clusterless ? std::string(name::kClusterlessSecret) : kubeconfig_copy_name(job);
}

Value secret_refs(const Job& job) {
  Value refs = Value::list();
  for (const std::string& ref : job.spec().secret_refs) {
    refs.push_back(ref);
  }
  return refs;
}

Value param_value(const Context& context, std::string_view param) {
  const Job& job = context.job;
  if (param == "job-name") {
    return job.spec().display_name.empty() ? job.name() : job.spec().display_name;
  }
  if (param == "forge-project") {
    return job.forge()["project"].str();
  }
  if (param == "forge-config") {
    return job.forge().is_object() ? yaml::print(job.forge()) : "";
  }
  if (param == "env") {
    return env_text(job.spec().env);
  }
  if (param == "gpu-count") {
    return std::to_string(job.spec().hardware ? job.spec().hardware->gpu_count : 0);
  }
  if (param == "secret-refs") {
    return secret_refs(job);
  }
  if (param == "fjob-name") {
    return job.name();
  }
  if (param == "fournos-workload-namespace") {
    return context.settings.workload_namespace;
  }
  return kubeconfig_param(context);
}

std::set<std::string, std::less<>> declared(const std::optional<Object>& pipeline,
                                            std::string_view list) {
  std::set<std::string, std::less<>> names;
  if (pipeline) {
    for (const Value& item : pipeline->spec()[list].items()) {
      names.insert(item["name"].str());
    }
  }
  return names;
}

// The dialect's own parameters in order, then those of the other dialect that the Pipeline
// declares.
Value params_of(const Context& context, const std::set<std::string, std::less<>>& wanted) {
  const bool seed = context.job.dialect == Dialect::Seed;
  const std::span<const std::string_view> own =
      seed ? std::span(kSeedParams) : std::span<const std::string_view>(kEngineParams);
  const std::span<const std::string_view> other =
      seed ? std::span<const std::string_view>(kEngineParams) : std::span(kSeedParams);
  Value params = Value::list();
  const auto add = [&](std::string_view param) {
    params.push_back(Value::object({{"name", param}, {"value", param_value(context, param)}}));
  };
  for (const std::string_view param : own) {
    add(param);
  }
  for (const std::string_view param : other) {
    if (wanted.contains(param) && param != "kubeconfig-secret") {
      add(param);
    }
  }
  return params;
}

Value vault_volume(const std::vector<SecretMount>& mounts) {
  Value sources = Value::list();
  for (const SecretMount& mount : mounts) {
    Value items = Value::list();
    for (const std::string& key : mount.keys) {
      items.push_back(Value::object({{"key", key}, {"path", mount.ref + "/" + key}}));
    }
    sources.push_back(Value::object(
        {{"secret", Value::object({{"name", mount.secret}, {"items", std::move(items)}})}}));
  }
  return Value::object({{"name", name::kVaultVolume},
                        {"projected", Value::object({{"sources", std::move(sources)}})}});
}

Value artifacts_workspace(const Context& context) {
  Value claim = Value::object();
  claim.set_path({"metadata", "labels"}, job_labels(context.job));
  claim.set_path({"spec", "accessModes"}, Value::list({"ReadWriteOnce"}));
  claim.set_path({"spec", "resources", "requests", "storage"}, context.settings.artifact_size);
  return Value::object({{"name", name::kArtifacts}, {"volumeClaimTemplate", std::move(claim)}});
}

// A folder of the job's own in the results place.
Value results_workspace(const Context& context) {
  return Value::object(
      {{"name", name::kResults},
       {"subPath", context.job.name()},
       {"persistentVolumeClaim", Value::object({{"claimName", context.settings.results_claim}})}});
}

}  // namespace

Value pipeline_run_object(const Context& context, const std::optional<Object>& pipeline,
                          const std::vector<SecretMount>& mounts) {
  const Job& job = context.job;
  const auto params = declared(pipeline, "params");
  const bool engine = job.dialect == Dialect::Engine;

  Value metadata = child_metadata(job, job.name(), Control::Controller);
  metadata.set(
      "annotations",
      Value::object({{name::kCluster, job.clusterless ? std::string() : job.status().cluster}}));

  Value spec = Value::object({{"pipelineRef", Value::object({{"name", job.spec().pipeline}})}});
  if (engine) {
    spec.set("timeouts", Value::object({{"pipeline", context.settings.pipeline_timeout},
                                        {"tasks", context.settings.tasks_timeout},
                                        {"finally", context.settings.finally_timeout}}));
  }
  spec.set("params", params_of(context, params));
  // Tasks of the engine generation mount this volume; a seed job carries it only for a pipeline of
  // that kind.
  if (engine || params.contains("fjob-name")) {
    spec.set_path({"taskRunTemplate", "podTemplate", "volumes"},
                  Value::list({vault_volume(mounts)}));
  }
  const auto workspaces = declared(pipeline, "workspaces");
  if (engine || workspaces.contains(name::kArtifacts)) {
    spec.member("workspaces").push_back(artifacts_workspace(context));
  }
  if (workspaces.contains(name::kResults) && !context.settings.results_claim.empty()) {
    spec.member("workspaces").push_back(results_workspace(context));
  }
  return Value::object({{"apiVersion", api::kPipelineRun.api_version()},
                        {"kind", api::kPipelineRun.name},
                        {"metadata", std::move(metadata)},
                        {"spec", std::move(spec)}});
}

}  // namespace athanor::fournos
