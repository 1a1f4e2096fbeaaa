// SPDX-License-Identifier: Apache-2.0
// The slack ClusterQueue (docs/spec/appwrapper.md 7.4): what no pod can get on the nodes of the
// cluster is not lent to others.
#include <fmt/core.h>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "kube/text/quantity.hpp"
#include "systems/appwrapper/model/operators.hpp"
#include "systems/appwrapper/model/settings.hpp"
#include "systems/appwrapper/node_health/autopilot.hpp"

namespace athanor::appwrapper {
namespace {

// Sets the lending limits of the first flavor of the first group to what is left of each quota.
void limit_lending(Value& flavor, const std::map<std::string, Quantity>& unusable) {
  const Quantity zero = Quantity::from_int(0);
  Value& resources = flavor.member("resources");
  for (std::size_t i = 0; i < resources.size(); ++i) {
    Value& resource = resources.item(i);
    const auto lost = unusable.find(resource["name"].str());
    const auto nominal = Quantity::parse(resource["nominalQuota"]);
    if (lost == unusable.end() || !nominal) {
      resource.erase("lendingLimit");
      continue;
    }
    const Quantity left = std::max(zero, *nominal - lost->second);
    const auto now = Quantity::parse(resource["lendingLimit"]);
    if (!now || *now != left) {
      resource.set("lendingLimit", left.text());
    }
  }
}

Plan reconcile_slack(const View& view, const Key& key, Instant /*now*/) {
  const Settings settings = settings_of(view);
  if (key.name != settings.slack_queue_name) {
    return Plan::done();
  }
  const auto queue = view.get(api::kueue::kClusterQueue, key);
  if (!queue || queue->spec()["resourceGroups"].empty() ||
      queue->spec()["resourceGroups"][0]["flavors"].empty()) {
    return Plan::done();
  }
  Value groups = queue->spec()["resourceGroups"];
  limit_lending(groups.item(0).member("flavors").item(0),
                unusable_resources(view.list(api::kNode), settings.autopilot));
  if (groups == queue->spec()["resourceGroups"]) {
    return Plan::done();
  }
  if (queue->spec()["cohortName"].as_string().empty() &&
      queue->spec()["cohort"].as_string().empty()) {
    return Plan::reject(Error::invalid(
        "appwrapper.slackQueueName",
        fmt::format("ClusterQueue {} is in no cohort: Kueue allows no lendingLimit", key.name)));
  }
  Plan plan;
  plan.then(Patch{
      .target = {&api::kueue::kClusterQueue, key},
      .merge = Value::object({{"spec", Value::object({{"resourceGroups", std::move(groups)}})}}),
      .guard = {.uid = std::string(queue->uid()),
                .resource_version = std::string(queue->resource_version())}});
  return plan;
}

}  // namespace

const Operator& slack_queue_operator() {
  static constexpr const Kind* kReads[] = {&api::kueue::kClusterQueue, &api::kNode};
  static constexpr const Kind* kWrites[] = {&api::kueue::kClusterQueue};
  static constexpr const Kind* kSmall[] = {&api::kNode, &api::kueue::kClusterQueue};
  static constexpr Access kAccess[] = {{&api::kueue::kClusterQueue, "get patch update"}};
  static const Operator kOperator{.name = "appwrapper-slack",
                                  .primary = &api::kueue::kClusterQueue,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_slack,
                                  .small = kSmall,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::appwrapper
