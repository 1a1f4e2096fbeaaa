// SPDX-License-Identifier: Apache-2.0
// Workload, Secret copies, resolve Job, and the metadata that all children share.
#include "systems/fournos/desired.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "base/ascii.hpp"
#include "kube/names/names.hpp"
#include "systems/fournos/children.hpp"
#include "systems/fournos/cluster_state.hpp"
#include "systems/fournos/messages.hpp"
#include "systems/fournos/metadata.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"

namespace athanor::fournos {
namespace {

std::string replaced(std::string pattern, std::string_view what, std::string_view with) {
  for (auto at = pattern.find(what); at != std::string::npos;
       at = pattern.find(what, at + with.size())) {
    pattern.replace(at, what.size(), with);
  }
  return pattern;
}

// What the launcher asks for: it is never started, Kueue counts its requests.
Value requests_of(const Context& context) {
  const Job& job = context.job;
  const bool all_slots = job.exclusive || job.lock_only;
  Value requests = Value::object({{name::kClusterSlot, all_slots ? "100" : "1"}});
  if (job.wants_gpus() && !job.lock_only) {
    requests.set(context.settings.gpu_prefix + lower(job.spec().hardware->gpu_type),
                 std::to_string(job.spec().hardware->gpu_count));
  }
  return requests;
}

// The built-in template. The release of `current` has no entry point at a fixed path: there an
// image's own one runs (docs/spec/fournos.md 6.1; 19, engine contract).
Value default_resolve_template(api::FournosApi served) {
  const auto variable = [](std::string_view key, std::string_view value) {
    return Value::object({{"name", key}, {"value", value}});
  };
  Value container = Value::object(
      {{"name", "resolve"},
       {"imagePullPolicy", "Always"},
       {"env", Value::list({variable("FJOB_NAME", ""), variable("FOURNOS_WORKLOAD_NAMESPACE", ""),
                            variable("FOURNOS_STEP", "resolve-fournos-config"),
                            variable("FOURNOS_CI", "true")})}});
  if (served != api::FournosApi::Current) {
    container.set("command", Value::list({name::kEngineEntrypoint}));
  }
  Value job = Value::object();
  job.set_path({"spec", "backoffLimit"}, 0);
  job.set_path({"spec", "template", "spec"},
               Value::object({{"serviceAccountName", "fournos"},
                              {"restartPolicy", "Never"},
                              {"containers", Value::list({container})}}));
  return job;
}

void set_variable(Value& env, std::string_view key, std::string_view value) {
  for (std::size_t i = 0; i < env.size(); ++i) {
    if (env[i]["name"].as_string() == key) {
      env.item(i).set("value", value);
      return;
    }
  }
  env.push_back(Value::object({{"name", key}, {"value", value}}));
}

}  // namespace

Value job_labels(const Job& job) {
  return Value::object({{name::kManagedBy, name::kFournos}, {name::kJobName, job.name()}});
}

Value child_metadata(const Job& job, std::string_view child_name, Control control) {
  const OwnerReference owner{.api_version = api::kFournosJob.api_version(),
                             .kind = std::string(api::kFournosJob.name),
                             .name = job.name(),
                             .uid = job.uid(),
                             .controller = control == Control::Controller,
                             .block_owner_deletion = true};
  Value reference = owner.to_value();
  reference.set("controller", control == Control::Controller);
  return Value::object({{"name", child_name},
                        {"namespace", job.ns()},
                        {"labels", job_labels(job)},
                        {"ownerReferences", Value::list({std::move(reference)})}});
}

namespace {

// Returns the affinity for any cluster but this one.
Value without_cluster(const std::string& cluster) {
  const Value rule = Value::object(
      {{"key", name::kCluster}, {"operator", "NotIn"}, {"values", Value::list({cluster})}});
  const Value term = Value::object({{"matchExpressions", Value::list({rule})}});
  Value affinity = Value::object();
  affinity.set_path({"nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"},
                    Value::object({{"nodeSelectorTerms", Value::list({term})}}));
  return affinity;
}

}  // namespace

Value workload_object(const Context& context, std::optional<std::int64_t> priority) {
  const Job& job = context.job;
  Value metadata = child_metadata(job, job.name(), Control::Controller);
  metadata.member("labels").set(api::kueue::kQueueLabel, context.settings.local_queue);
  if (job.lock_only && !validate_label_value(job.spec().cluster)) {
    // The queue lets no job pass that came after a lock (docs/spec/hearth.md 9.5).
    metadata.member("labels").set(name::kClusterLock, job.spec().cluster);
  }

  const Value container =
      Value::object({{"name", "placeholder"},
                     {"image", "pause:3.9"},
                     {"resources", Value::object({{"requests", requests_of(context)}})}});
  Value pod = Value::object({{"restartPolicy", "Never"}, {"containers", Value::list({container})}});
  if (const std::string& cluster = job.pinned_cluster(); !cluster.empty()) {
    pod.set("nodeSelector", Value::object({{name::kCluster, cluster}}));
  } else if (const std::string& left = job.status().redirected_from; !left.empty()) {
    // Its place there may be free: without this the queue would choose it again.
    pod.set("affinity", without_cluster(left));
  }
  const Value pod_set = Value::object({{"name", "launcher"},
                                       {"count", 1},
                                       {"template", Value::object({{"spec", std::move(pod)}})}});

  Value spec = Value::object(
      {{"queueName", context.settings.local_queue}, {"podSets", Value::list({pod_set})}});
  if (priority) {
    spec.set("priorityClassRef", Value::object({{"group", api::kueue::kGroup},
                                                {"kind", api::kueue::kWorkloadPriorityClass.name},
                                                {"name", job.spec().priority}}));
    spec.set("priority", *priority);
  }
  return Value::object({{"apiVersion", api::kueue::kWorkload.api_version()},
                        {"kind", api::kueue::kWorkload.name},
                        {"metadata", std::move(metadata)},
                        {"spec", std::move(spec)}});
}

Value resolve_job_object(const Context& context, std::string_view image) {
  const Job& job = context.job;
  const Value& given = context.settings.resolve_template;
  Value object = given.is_object() ? given : default_resolve_template(context.settings.api());
  object.set("apiVersion", "batch/v1");
  object.set("kind", "Job");
  object.erase("status");
  object.set("metadata", child_metadata(job, resolve_job_name(job), Control::Controller));
  object.set_path({"spec", "activeDeadlineSeconds"}, context.settings.resolve_deadline_seconds);
  object.set_path({"spec", "template", "metadata"}, Value::object({{"labels", job_labels(job)}}));
  Value containers = object.at({"spec", "template", "spec", "containers"});
  if (containers.empty()) {
    containers = Value::list({Value::object({{"name", "resolve"}})});
  }
  Value& container = containers.item(0);
  container.set("image", image);
  Value env = container["env"].is_list() ? container["env"] : Value::list();
  set_variable(env, "FJOB_NAME", job.name());
  set_variable(env, "FOURNOS_WORKLOAD_NAMESPACE", context.settings.workload_namespace);
  container.set("env", std::move(env));
  object.set_path({"spec", "template", "spec", "containers"}, std::move(containers));
  return object;
}

Value secret_copy(const Context& context, const Object& source, std::string_view copy_name,
                  bool vault_entry) {
  Value metadata = child_metadata(context.job, copy_name, Control::Plain);
  Value labels = Value::object({{name::kManagedBy, name::kFournos}});
  if (vault_entry) {
    labels.set(name::kVaultEntry, "true");
  }
  metadata.set("labels", std::move(labels));
  Value copy =
      Value::object({{"apiVersion", "v1"}, {"kind", "Secret"}, {"metadata", std::move(metadata)}});
  for (const char* key : {"type", "data"}) {
    if (source.body().contains(key)) {
      copy.set(key, source.body()[key]);
    }
  }
  return copy;
}

std::string resolve_job_name(const Job& job) {
  return job.name() + "-resolve";
}
std::string kubeconfig_copy_name(const Job& job) {
  return job.name() + "-kubeconfig";
}

std::string secret_copy_name(const Job& job, std::string_view ref) {
  return fmt::format("{}-{}", job.name(), ref);
}

std::string kubeconfig_secret_name(const Context& context, std::string_view cluster) {
  const std::string& given = context.settings.kubeconfig_secret_pattern;
  const std::string_view usual =
      context.job.dialect == Dialect::Seed ? "{cluster}-kubeconfig" : "kubeconfig-{cluster}";
  return replaced(given.empty() ? std::string(usual) : given, "{cluster}", cluster);
}

namespace {

struct HearthSecret {
  bool known = true;
  std::optional<Key> key{};
};

HearthSecret find_hearth_secret(const Context& context) {
  const std::string& cluster = context.job.status().cluster;
  const bool seed = context.job.dialect == Dialect::Seed;
  const Key own{seed ? context.settings.workload_namespace : context.settings.secrets_namespace,
                kubeconfig_secret_name(context, cluster)};
  if (context.job.clusterless) {
    return {};
  }
  const Confirmed given = cached_or_confirmed(context, api::kSecret, own);
  if (!given.known || given.object) {
    return {.known = given.known};
  }
  const auto known = cluster_of_hearth(context, cluster);
  const std::string secret = known ? known->spec.kubeconfig_secret : std::string();
  const Key key{context.settings.secrets_namespace, secret};
  if (secret.empty()) {
    return {};
  }
  const Confirmed found = cached_or_confirmed(context, api::kSecret, key);
  return {.known = found.known, .key = found.object ? std::optional(key) : std::nullopt};
}

}  // namespace

std::optional<Key> hearth_secret(const Context& context) {
  return find_hearth_secret(context).key;
}

bool knows_kubeconfig(const Context& context) {
  return find_hearth_secret(context).known;
}

std::string vault_secret_name(const Context& context, std::string_view ref) {
  return replaced(context.settings.vault_secret_pattern, "{entry}", ref);
}

std::string shell_quote(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += R"('"'"')";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string env_text(const std::map<std::string, std::string>& env) {
  std::string text;
  for (const auto& [key, value] : env) {
    text += key + "=" + shell_quote(value) + "\n";
  }
  return text;
}

}  // namespace athanor::fournos
