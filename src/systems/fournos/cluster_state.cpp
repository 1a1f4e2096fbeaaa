// SPDX-License-Identifier: Apache-2.0
#include "systems/fournos/cluster_state.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "api/kueue.hpp"
#include "kube/value/condition.hpp"
#include "systems/fournos/messages.hpp"

namespace athanor::fournos {
namespace {

// From the label on a Secret to quota: Hearth asks the cluster for its GPUs within seconds.
constexpr Duration kJoining = std::chrono::minutes(1);

std::string hearth_namespace(const Context& context) {
  const std::string hearth = context.view.config("hearth")["namespace"].str();
  return hearth.empty() ? "hearth" : hearth;
}

bool joins(const Context& context, const api::FournosCluster& cluster) {
  const auto made = cluster.object.creation_time();
  const std::string& state = cluster.status.kubeconfig_status;
  const Value& synced = find_condition(cluster.object.status()["conditions"], "KueueSynced");
  return made && context.now < *made + kJoining && !cluster.object.deleting() &&
         (state.empty() || state == "Valid") && synced["status"].as_string() != "False";
}

// The end of a lock for a sentence.
std::string lock_end(const api::FournosCluster& cluster, std::string_view without) {
  return cluster.status.lock_expires_at.empty()
             ? std::string(without)
             : fmt::format(text::kUntil, cluster.status.lock_expires_at);
}

}  // namespace

std::optional<api::FournosCluster> cluster_of_hearth(const Context& context,
                                                     const std::string& cluster) {
  return context.view.get<api::FournosCluster>({hearth_namespace(context), cluster});
}

bool is_joining(const Context& context, const std::string& cluster) {
  const auto known = cluster_of_hearth(context, cluster);
  return known && joins(context, *known);
}

bool may_bring_gpus(const Context& context, const std::string& type) {
  const auto all = context.view.list<api::FournosCluster>({.ns = hearth_namespace(context)});
  return std::ranges::any_of(all, [&](const api::FournosCluster& cluster) {
    const Value& asked = find_condition(cluster.object.status()["conditions"], "GPUDiscovered");
    const bool unknown = asked.is_null() || asked["reason"].as_string() == "Pending";
    const bool has = cluster.spec.hardware && std::ranges::any_of(cluster.spec.hardware->gpus,
                                                                  [&](const api::ClusterGpu& gpu) {
                                                                    return gpu.short_name == type;
                                                                  });
    return joins(context, cluster) && (unknown || has);
  });
}

std::string unreachable_text(const api::FournosCluster& cluster) {
  if (cluster.status.kubeconfig_status != "Unreachable") {
    return {};
  }
  const std::string cause =
      find_condition(cluster.object.status()["conditions"], "KubeconfigValid")["message"].str();
  return fmt::format(text::kUnreachable, cluster.object.name(),
                     cause.empty() ? "it does not answer" : cause);
}

std::string no_place_text(const Context& context, const std::string& cluster) {
  for (const Object& queue : context.view.list(api::kueue::kClusterQueue)) {
    for (const Value& group : queue.spec()["resourceGroups"].items()) {
      for (const Value& flavor : group["flavors"].items()) {
        if (flavor["name"].as_string() == cluster) {
          return {};
        }
      }
    }
  }
  std::string why;
  if (const auto known = cluster_of_hearth(context, cluster)) {
    const Value& synced = find_condition(known->object.status()["conditions"], "KueueSynced");
    if (synced["status"].as_string() == "False") {
      why = fmt::format(" ({}: {})", synced["reason"].as_string(), synced["message"].as_string());
    }
  }
  return fmt::format(text::kNoPlace, cluster, why);
}

std::string closed_by_hearth(const Context& context, const std::string& cluster) {
  const auto known = cluster_of_hearth(context, cluster);
  if (!known) {
    return {};
  }
  if (api::is_cordoned(*known)) {
    return fmt::format(text::kCordoned, cluster);
  }
  if (std::string unreachable = unreachable_text(*known); !unreachable.empty()) {
    return unreachable;
  }
  const Value& synced = find_condition(known->object.status()["conditions"], "KueueSynced");
  if (synced["reason"].as_string() == "SameCluster") {
    return fmt::format(text::kSameCluster, cluster, synced["message"].as_string());
  }
  const bool own = known->status.lock_job_name == context.job.object().name();
  if (known->status.lock_state == "Acquiring" && !own) {
    return fmt::format(text::kReserved, cluster, known->spec.owner, lock_end(*known, ""));
  }
  if (known->status.lock_state == "Held" && !own && !known->spec.owner.empty()) {
    return fmt::format(text::kLockedFor, cluster, known->spec.owner,
                       lock_end(*known, text::kUntilUnlocked));
  }
  return {};
}

}  // namespace athanor::fournos
