// SPDX-License-Identifier: Apache-2.0
// One FournosCluster (docs/spec/hearth.md section 5). A run writes either the object itself (what
// has to survive a restart goes there first), or else its status and the objects around it.
#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/hearth/cluster.hpp"
#include "systems/hearth/flavor.hpp"
#include "systems/hearth/gpus.hpp"
#include "systems/hearth/kubeconfig.hpp"
#include "systems/hearth/lock.hpp"
#include "systems/hearth/names.hpp"
#include "systems/hearth/offboard.hpp"
#include "systems/hearth/operators.hpp"
#include "systems/hearth/probe.hpp"

namespace athanor::hearth {
namespace {

// What upstream's framework left, and our finalizer (R8, 10.2).
void adopt(const Context& context, MainPatch& patch) {
  const Value finalizers = wanted_finalizers(context);
  const Value& present = context.object().metadata()["finalizers"];
  if (finalizers != present && !(finalizers.empty() && present.empty())) {
    patch.set_finalizers(finalizers);
  }
  for (const Member& annotation : context.object().metadata()["annotations"].members()) {
    if (annotation.key().starts_with(name::kKopfPrefix)) {
      patch.annotate(annotation.key(), nullptr);
    }
  }
}

// Unreadable user input in spec.hardware; reported once a spec.
void complain(const Context& context, StatusWrite& status) {
  if (!context.spec().hardware ||
      context.status().observed_generation == context.object().generation()) {
    return;
  }
  const Amounts amounts = amounts_of(context.spec().hardware->gpus);
  if (!amounts.ignored.empty()) {
    status.then(context.event("Warning", "HardwareIgnored", amounts.ignored));
  }
}

Plan reconcile_cluster(const View& view, const Key& key, Instant now) {
  const auto settings = api::decode<Settings>(view.config("hearth"));
  const auto cluster = key.ns == settings.ns ? view.get<api::FournosCluster>(key) : std::nullopt;
  if (!cluster) {
    return key.ns == settings.ns ? drop_unlisted_sentinels(view, settings, key.name, now)
                                 : Plan::done();
  }
  const Context context{.view = view, .settings = settings, .cluster = *cluster, .now = now};
  Plan plan;
  MainPatch patch(context);
  adopt(context, patch);
  if (cluster->object.deleting()) {
    if (!patch.empty()) {
      patch.into(plan);
      return plan;
    }
    return offboard(context);
  }
  const KubeconfigCheck check = check_kubeconfig(context);
  const Probing probing = probe(context, check, patch, plan);
  keep_lock_record(context, patch, plan);
  if (!patch.empty()) {
    patch.into(plan);
    return plan;
  }
  StatusWrite status(context);
  Plan steps;
  if (context.status().kubeconfig_status.empty() &&
      cluster->object.label(name::kAutoDiscovered) == "true") {
    status.then(context.event("Normal", "ClusterDiscovered",
                              "found by Secret " + context.spec().kubeconfig_secret));
  }
  write_discovery(context, check, probing, status);
  complain(context, status);
  steps.merge(keep_flavor(context, kubeconfig_state(context, check, probing) == state::kValid));
  keep_lock(context, status, steps);
  status.set("observedGeneration", cluster->object.generation());
  status.into(plan);
  plan.merge(std::move(steps));
  return plan;
}

constexpr const Kind* kReads[] = {&api::kFournosCluster,      &api::kSecret,
                                  &api::kFournosJob,          &api::kueue::kResourceFlavor,
                                  &api::kueue::kClusterQueue, &api::kueue::kWorkload};
constexpr const Kind* kWrites[] = {&api::kFournosCluster, &api::kSecret, &api::kFournosJob,
                                   &api::kueue::kResourceFlavor};
// "get" of a Secret: what a probe reads.
constexpr Access kAccess[] = {{&api::kFournosCluster, "patch"},
                              {&api::kFournosCluster, "patch", "status"},
                              {&api::kSecret, "get patch delete"},
                              {&api::kFournosJob, "get create patch delete"},
                              {&api::kueue::kResourceFlavor, "create patch delete"},
                              {&api::kEvent, "create patch"}};
constexpr const Kind* kSmall[] = {&api::kueue::kClusterQueue};

}  // namespace

const Operator& cluster_operator() {
  static const Index kIndexes[] = {flavor_index()};
  static const Operator kOperator{
      .name = "fournoscluster",
      .primary = &api::kFournosCluster,
      .reads = kReads,
      .writes = kWrites,
      .indexes = kIndexes,
      .reconcile = reconcile_cluster,
      .backoff = {.first = std::chrono::seconds(1), .most = std::chrono::seconds(60)},  // R5
      .small = kSmall,
      .access = kAccess,
  };
  return kOperator;
}

std::span<const Operator* const> hearth_operators() {
  static const Operator* const kAll[] = {&discovery_operator(), &cluster_operator(),
                                         &queue_operator(), &sentinel_operator()};
  return kAll;
}

}  // namespace athanor::hearth
