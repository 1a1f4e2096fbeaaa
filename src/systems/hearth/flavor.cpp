// SPDX-License-Identifier: Apache-2.0
// Making and labelling flavors.
#include "systems/hearth/flavor.hpp"

#include <fmt/format.h>

#include "api/kueue.hpp"
#include "runtime/view/failures.hpp"
#include "systems/hearth/names.hpp"

namespace athanor::hearth {
namespace {

Value node_labels(const std::string& cluster) {
  return Value::object({{name::kClusterNodeLabel, cluster}});
}

Create creation(const std::string& cluster, bool healthy) {
  Value object = flavor_object(cluster);
  object.set_path({"metadata", "labels", name::kHealthyLabel}, healthy ? "true" : "false");
  return {.target = {&api::kueue::kResourceFlavor, {"", cluster}}, .object = std::move(object)};
}

}  // namespace

Value flavor_object(const std::string& cluster) {
  Value object = Value::object({{"apiVersion", api::kueue::kResourceFlavor.api_version()},
                                {"kind", api::kueue::kResourceFlavor.name}});
  object.set_path({"metadata", "name"}, cluster);
  object.set_path({"metadata", "labels"}, Value::object({{name::kManagedBy, name::kHearth}}));
  object.set_path({"spec", "nodeLabels"}, node_labels(cluster));
  return object;
}

FlavorState flavor_state(const Object* flavor, const std::string& cluster) {
  if (flavor == nullptr || flavor->deleting()) {
    return FlavorState::Absent;
  }
  return flavor->spec()["nodeLabels"] == node_labels(cluster) ? FlavorState::Good
                                                              : FlavorState::Conflict;
}

bool is_our_flavor(const Object& flavor, const std::string& cluster) {
  return flavor.label(name::kManagedBy) == name::kHearth ||
         (flavor.spec().size() == 1 && flavor.spec()["nodeLabels"] == node_labels(cluster));
}

std::optional<Error> flavor_refused(const View& view, const std::string& cluster) {
  for (const bool healthy : {true, false}) {
    if (auto error = refused(view, creation(cluster, healthy))) {
      return error;
    }
  }
  return std::nullopt;
}

Plan keep_flavor(const Context& context, bool healthy) {
  const std::string cluster = context.name();
  Plan plan;
  if (cluster.size() > kLongestName) {
    return plan;
  }
  const Ref ref{&api::kueue::kResourceFlavor, {"", cluster}};
  const auto flavor = context.view.get(*ref.kind, ref.key);
  if (!flavor) {
    plan.then(creation(cluster, healthy));
    plan.then(context.event("Normal", "FlavorCreated",
                            fmt::format("created ResourceFlavor {}", cluster)));
    return plan;
  }
  if (flavor_state(&*flavor, cluster) == FlavorState::Good) {
    Value merge = Value::object();
    merge.set_path({"metadata", "labels", name::kHealthyLabel}, healthy ? "true" : "false");
    Patch patch{
        .target = ref, .merge = std::move(merge), .guard = {.uid = std::string(flavor->uid())}};
    // Without the right to patch flavors the lock's steps, which follow, are still carried out.
    if (!refused(context.view, patch)) {
      plan.then(std::move(patch));
    }
  }
  return plan;
}

}  // namespace athanor::hearth
