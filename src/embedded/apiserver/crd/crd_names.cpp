// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/crd/crd_names.hpp"

#include <fmt/format.h>

#include <set>

namespace athanor::apiserver {
namespace {

// What is taken in a group.
struct Taken {
  std::set<std::string, std::less<>> resources{};  // plurals, singulars and short names
  std::set<std::string, std::less<>> kinds{};      // kinds and list kinds
};

Taken taken_in(const ResourceTable& table, std::string_view group, std::string_view except) {
  Taken taken;
  for (const auto& info : table.all()) {
    if (info->group != group || (info->is_custom && info->crd_name == except)) {
      continue;
    }
    taken.resources.insert(info->plural);
    taken.resources.insert(info->singular);
    taken.resources.insert(info->short_names.begin(), info->short_names.end());
    taken.kinds.insert(info->kind);
    taken.kinds.insert(info->list_kind);
  }
  return taken;
}

}  // namespace

NameConflict find_name_conflict(const Value& crd, const ResourceTable& table) {
  const Value& names = crd["spec"]["names"];
  const Taken taken =
      taken_in(table, crd["spec"]["group"].as_string(), crd["metadata"]["name"].as_string());
  const auto conflict = [](std::string_view reason, std::string_view name) -> NameConflict {
    return {.reason = std::string(reason),
            .message = fmt::format("\"{}\" is already in use", name)};
  };
  if (taken.resources.contains(names["plural"].as_string())) {
    return conflict("PluralConflict", names["plural"].as_string());
  }
  if (taken.resources.contains(names["singular"].as_string())) {
    return conflict("SingularConflict", names["singular"].as_string());
  }
  for (const Value& name : names["shortNames"].items()) {
    if (taken.resources.contains(name.as_string())) {
      return conflict("ShortNamesConflict", name.as_string());
    }
  }
  if (taken.kinds.contains(names["kind"].as_string())) {
    return conflict("KindConflict", names["kind"].as_string());
  }
  if (taken.kinds.contains(names["listKind"].as_string())) {
    return conflict("ListKindConflict", names["listKind"].as_string());
  }
  return {};
}

}  // namespace athanor::apiserver
