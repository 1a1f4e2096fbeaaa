// SPDX-License-Identifier: Apache-2.0
#include "runtime/own_news.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "kube/patch.hpp"

namespace athanor::runtime {

namespace {

// Whether both say the same; what is null says nothing.
bool agree(const Value& a, const Value& b) {
  if (a.identical(b)) {
    return true;
  }
  if (a.is_list() && b.is_list()) {
    return std::ranges::equal(a.items(), b.items(), agree);
  }
  if (!a.is_object() || !b.is_object()) {
    return a == b;
  }
  const auto in_both = [&](const Member& member) { return agree(member.value, b[member.key()]); };
  const auto in_first = [&](const Member& member) {
    return member.value.is_null() || a.contains(member.key());
  };
  return std::ranges::all_of(a.members(), in_both) && std::ranges::all_of(b.members(), in_first);
}

// Whether both say the same, but for what the server counts and stamps on every write, and for
// nulls, which it puts where the type of a field has no word for nothing.
bool says_the_same(Value expected, const Value& now) {
  for (const std::string_view name : {"resourceVersion", "generation", "managedFields"}) {
    const Value* stamped = now["metadata"].find(name);
    if (stamped != nullptr) {
      expected.set_path({"metadata", name}, *stamped);
    } else {
      expected.erase_path({"metadata", name});
    }
  }
  return agree(expected, now);
}

}  // namespace

void OwnNews::sent(const WriteRequest& request) {
  Part& part = parts_[request.target];
  if (request.verb == WriteVerb::Create && !part.created && part.patches.empty()) {
    part.created = true;
  } else if (request.verb == WriteVerb::MergePatch && !part.created) {
    part.patches.push_back(request.body);
  } else {
    part.known = false;
  }
}

void OwnNews::written(const Ref& ref, const Object& object) {
  if (const auto at = parts_.find(ref); at != parts_.end()) {
    at->second.written = object;
  }
}

void OwnNews::changed(const Ref& ref, const std::optional<Object>& before,
                      const std::optional<Object>& after) {
  const auto at = parts_.find(ref);
  if (at == parts_.end()) {
    return;
  }
  Part& part = at->second;
  if (!part.changed) {
    part.changed = true;
    part.before = before;
  }
  part.after = after;
}

bool OwnNews::any() const {
  return std::ranges::any_of(parts_, [](const auto& entry) { return entry.second.changed; });
}

bool OwnNews::all_own() const {
  return std::ranges::all_of(
      parts_, [](const auto& entry) { return !entry.second.changed || is_own(entry.second); });
}

bool OwnNews::is_own(const Part& part) {
  if (!part.known || !part.written || !part.after ||
      part.after->resource_version() != part.written->resource_version()) {
    return false;
  }
  if (part.created) {
    return !part.before;
  }
  if (!part.before) {
    return false;
  }
  // Whoever was in between, be it another writer or a webhook, shows in it.
  Value expected = part.before->body();
  for (const Value& patch : part.patches) {
    expected = apply_merge_patch(expected, patch);
  }
  return says_the_same(std::move(expected), part.after->body());
}

}  // namespace athanor::runtime
