// SPDX-License-Identifier: Apache-2.0
// Adoption and release.
#include "embedded/workloads/claim.hpp"

#include <map>
#include <string>
#include <utility>

#include "embedded/workloads/controlled_pods.hpp"
#include "kube/names/selector.hpp"

namespace athanor::workloads {
namespace {

// Guarded by the version: another controller may be adopting it at the same time.
Step set_owners(const Kind& kind, const Object& object, Value owners) {
  return Patch{.target = {&kind, object.key()},
               .merge = Value::object(
                   {{"metadata", Value::object({{"ownerReferences", std::move(owners)}})}}),
               .guard = {.uid = std::string(object.uid()),
                         .resource_version = std::string(object.resource_version())}};
}

Step release(const Kind& kind, const Object& object, std::string_view owner_uid) {
  Value left = Value::list();
  for (const Value& reference : object.metadata()["ownerReferences"].items()) {
    if (reference["uid"].as_string() != owner_uid) {
      left.push_back(reference);
    }
  }
  return set_owners(kind, object, left.empty() ? Value() : left);
}

Step adopt(const Kind& kind, const Object& object, const Object& owner, const Kind& owner_kind) {
  Value owners = object.metadata()["ownerReferences"];
  owners.push_back(controller_reference(owner, owner_kind));
  return set_owners(kind, object, std::move(owners));
}

}  // namespace

std::vector<Object> claim(const View& view, const Kind& kind, const Object& owner,
                          const Kind& owner_kind, Plan& plan,
                          bool (*member)(const Object&, const Object&)) {
  const auto selector = LabelSelector::from_value(owner.spec()["selector"]);
  Select by_labels{.ns = std::string(owner.ns())};
  for (const Member& label : owner.spec()["selector"]["matchLabels"].members()) {
    by_labels.labels.emplace_back(label.key(), label.value.str());
  }
  std::map<std::string, Object> candidates;
  for (const Object& object : view.list(kind, {.ns = std::string(owner.ns()),
                                              .index = "owner",
                                              .index_value = std::string(owner.uid())})) {
    candidates.emplace(object.name(), object);
  }
  if (selector.ok() && !selector->empty()) {
    for (const Object& object : view.list(kind, by_labels)) {
      candidates.emplace(object.name(), object);
    }
  }
  std::vector<Object> mine;
  for (const auto& [name, object] : candidates) {
    const auto controller = object.controller();
    const bool matches = selector.ok() && !selector->empty() &&
                         selector->matches(object.metadata()["labels"]) &&
                         (member == nullptr || member(owner, object));
    if (controller && controller->uid != owner.uid()) {
      continue;
    }
    if (matches && (controller || (!owner.deleting() && !object.deleting()))) {
      if (!controller) {
        plan.then(adopt(kind, object, owner, owner_kind));
      }
      mine.push_back(object);
    } else if (controller && !matches && !owner.deleting()) {
      plan.then(release(kind, object, owner.uid()));
    }
  }
  return mine;
}

}  // namespace athanor::workloads
