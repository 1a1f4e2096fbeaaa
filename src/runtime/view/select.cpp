// SPDX-License-Identifier: Apache-2.0
// Matching objects against selects.
#include "runtime/view/select.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/contain.hpp"

namespace athanor {

std::optional<std::vector<std::string>> index_values(const Kind& kind, const Object& object,
                                                     std::string_view index,
                                                     std::span<const Index> declared) {
  for (const Index& one : declared) {
    if (one.kind == &kind && one.name == index) {
      // Caches file objects by this, half of which would stay undone: one that cannot be filed is
      // found under no value.
      std::vector<std::string> filed;
      const auto broken = contain([&] { filed = one.values(object); });
      return broken ? std::vector<std::string>() : filed;
    }
  }
  std::vector<std::string> values;
  if (index == "owner") {
    for (const Value& owner : object.metadata()["ownerReferences"].items()) {
      values.push_back(owner["uid"].str());
    }
    return values;
  }
  if (index == "node") {
    if (const auto node = object.spec()["nodeName"].as_string(); !node.empty()) {
      values.emplace_back(node);
    }
    return values;
  }
  return std::nullopt;
}

bool selects(const Kind& kind, const Select& select, const Object& object,
             std::span<const Index> declared) {
  if (!select.ns.empty() && object.ns() != select.ns) {
    return false;
  }
  for (const auto& [name, value] : select.labels) {
    const Value* label = object.metadata()["labels"].find(name);
    if (label == nullptr || label->as_string() != value) {
      return false;
    }
  }
  if (select.index.empty()) {
    return true;
  }
  const auto values = index_values(kind, object, select.index, declared);
  ATHANOR_CHECK(values.has_value(), "an operator lists by built-in or declared indexes only");
  return std::find(values->begin(), values->end(), select.index_value) != values->end();
}

bool is_coarse(const Kind& kind, const Select& select) {
  return (select.ns.empty() || !kind.namespaced) && select.labels.empty() && select.index.empty();
}

}  // namespace athanor
