// SPDX-License-Identifier: Apache-2.0
#include "kube/apply/scale_managers.hpp"

#include <algorithm>
#include <utility>

#include "kube/apply/managed_entry.hpp"

namespace athanor {
namespace {

using managed::Entries;
using managed::Entry;

constexpr std::string_view kScaleVersion = "autoscaling/v1";

Entry* find_same(Entries& entries, const Entry& wanted) {
  const auto place = std::ranges::find_if(
      entries, [&](const Entry& entry) { return managed::same_writer(entry, wanted); });
  return place == entries.end() ? nullptr : &*place;
}

std::vector<Value> elements_of(const std::vector<std::string>& path) {
  std::vector<Value> elements;
  elements.reserve(path.size());
  for (const std::string& name : path) {
    elements.push_back(path_element::field(name));
  }
  return elements;
}

FieldSet only(const std::vector<std::string>& path) {
  FieldSet set;
  set.insert(elements_of(path));
  return set;
}

bool owns(const Entry& entry, const std::vector<std::string>& path) {
  return !fields_v1::intersection(entry.fields, only(path)).empty();
}

const std::vector<std::string>& scale_replicas() {
  static const std::vector<std::string> kPath = {"spec", "replicas"};
  return kPath;
}

// The entry with nothing but the replicas, in that version.
Entry narrowed(const Entry& entry, std::string_view api_version,
               const std::vector<std::string>& path) {
  Entry result = entry;
  result.api_version = api_version;
  result.source = Value();
  result.fields = only(path).to_fields_v1();
  return result;
}

}  // namespace

Value scale_entries(const Value& parent, const ReplicasPath& path) {
  Entries entries;
  for (const Entry& entry : managed::read_stored(parent, {})) {
    const auto replicas = path(entry.api_version.as_string());
    if (replicas && !replicas->empty() && owns(entry, *replicas)) {
      entries.push_back(narrowed(entry, kScaleVersion, scale_replicas()));
    }
  }
  return managed::print(std::move(entries));
}

Value parent_entries(const Value& parent, const Value& scale, std::string_view api_version,
                     const ReplicasPath& path) {
  Entries before = managed::read_stored(parent, {});
  Entries owners = managed::read_stored(scale, {});
  Entries entries;
  for (Entry& entry : before) {
    const auto replicas = path(entry.api_version.as_string());
    if (!replicas) {
      continue;
    }
    if (!replicas->empty() && owns(entry, *replicas)) {
      if (const Entry* same = find_same(owners, entry)) {
        owners.erase(owners.begin() + (same - owners.data()));
      } else {
        Entry rest = entry;
        rest.set_fields(fields_v1::minus(entry.fields, only(*replicas)));
        entries.push_back(std::move(rest));
        continue;
      }
    }
    entries.push_back(entry);
  }
  const auto replicas = path(api_version);
  for (const Entry& owner : owners) {
    if (replicas && !replicas->empty() && owns(owner, scale_replicas())) {
      Entry entry = narrowed(owner, api_version, *replicas);
      const Entry* same = find_same(before, owner);
      entry.time = same == nullptr ? Value() : same->time;
      entries.push_back(std::move(entry));
    }
  }
  return managed::print(std::move(entries));
}

}  // namespace athanor
