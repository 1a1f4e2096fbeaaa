// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/explain/listed_world.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace athanor::kueue {

void ListedWorld::add(const Kind& kind, std::vector<Object> objects) {
  for (Object& object : objects) {
    Key key = object.key();
    objects_[&kind].insert_or_assign(std::move(key), std::move(object));
  }
}

std::optional<Object> ListedWorld::get(const Kind& kind, const Key& key) const {
  const auto of_kind = objects_.find(&kind);
  if (of_kind == objects_.end()) {
    return std::nullopt;
  }
  const auto found = of_kind->second.find(key);
  return found == of_kind->second.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Object> ListedWorld::list(const Kind& kind, const Select& select) const {
  std::vector<Object> found;
  const auto of_kind = objects_.find(&kind);
  if (of_kind == objects_.end()) {
    return found;
  }
  const auto index = std::ranges::find_if(
      indexes_, [&](const Index& one) { return one.kind == &kind && one.name == select.index; });
  ATHANOR_CHECK(select.index.empty() || index != indexes_.end(), "the index is known");
  for (const auto& [key, object] : of_kind->second) {
    const bool labelled = std::ranges::all_of(select.labels, [&](const auto& label) {
      return object.label(label.first) == label.second;
    });
    if ((!select.ns.empty() && key.ns != select.ns) || !labelled) {
      continue;
    }
    if (!select.index.empty()) {
      const std::vector<std::string> values = index->values(object);
      if (std::ranges::find(values, select.index_value) == values.end()) {
        continue;
      }
    }
    found.push_back(object);
  }
  return found;
}

Observed ListedWorld::observe(std::string_view /*query*/, Duration /*max_age*/) const {
  return {};
}

const Value& ListedWorld::config(std::string_view section) const {
  static const Value kNone;
  return section == "kueue" ? config_ : kNone;
}

}  // namespace athanor::kueue
