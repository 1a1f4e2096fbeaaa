// SPDX-License-Identifier: Apache-2.0
#include "kube/apply/rival_fields.hpp"

#include <algorithm>
#include <utility>

namespace athanor {

namespace {

bool is_main_entry(const Value& entry) {
  return entry["subresource"].as_string().empty();
}

bool is_apply_of(const Value& entry, const Managers& appliers) {
  return is_main_entry(entry) && entry["operation"].as_string() == "Apply" &&
         appliers.contains(entry["manager"].as_string());
}

// Returns the entries to keep; Null: none.
Value rivals(const Value& entries, const Managers& appliers) {
  const auto own = std::ranges::find_if(
      entries.items(), [&](const Value& entry) { return is_apply_of(entry, appliers); });
  if (own == entries.items().end()) {
    return {};
  }
  bool contested = false;
  Value kept = Value::list();
  for (const Value& entry : entries.items()) {
    if (is_main_entry(entry)) {
      contested = contested || entry["manager"] != (*own)["manager"];
      kept.push_back(entry);
    }
  }
  return contested ? kept : Value();
}

}  // namespace

void keep_rival_fields(Value& object, const Managers& appliers) {
  const Value& entries = object["metadata"]["managedFields"];
  if (entries.is_null() && !object["metadata"].contains("managedFields")) {
    return;
  }
  Value kept = rivals(entries, appliers);
  if (kept.is_null()) {
    object.erase_path({"metadata", "managedFields"});
  } else if (kept.size() != entries.size()) {
    object.set_path({"metadata", "managedFields"}, std::move(kept));
  }
}

}  // namespace athanor
