// SPDX-License-Identifier: Apache-2.0
// Entries of metadata.managedFields: reading, checking, ordering, folding old ones.
#include "kube/apply/managed_entry.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "kube/text/json.hpp"

namespace athanor::managed {

namespace {

// More Update entries than this are folded (docs/spec/apiserver.md 18), oldest first.
constexpr std::size_t kMaxUpdates = 10;
constexpr std::string_view kFoldedManager = "ancient-changes";
constexpr std::string_view kFieldsType = "FieldsV1";

Entry read(const Value& source) {
  return {.source = source,
          .manager = source["manager"],
          .operation = source["operation"],
          .api_version = source["apiVersion"],
          .subresource = source["subresource"],
          .time = source["time"],
          .fields = source["fieldsV1"]};
}

bool version_known(const Entry& entry, const FieldManagement& by) {
  return !by.knows_version || by.knows_version(entry.api_version.as_string());
}

bool well_formed(const Entry& entry) {
  const std::string_view operation = entry.operation.as_string();
  return (operation == kApply || operation == kUpdate) && !entry.api_version.as_string().empty() &&
         entry.source["fieldsType"].as_string() == kFieldsType;
}

auto order_key(const Entry& entry) {
  return std::tuple(entry.operation.as_string(), entry.time.as_string(), entry.manager.as_string(),
                    entry.api_version.as_string(), entry.subresource.as_string());
}

// Merges the oldest Update entries of the same version until few enough are left.
void fold_old_updates(Entries& entries) {
  auto updates = static_cast<std::size_t>(std::count_if(
      entries.begin(), entries.end(), [](const Entry& entry) { return !entry.is_apply(); }));
  std::map<std::string, std::size_t, std::less<>> first_of_version;
  for (std::size_t i = 0; i < entries.size() && updates > kMaxUpdates;) {
    if (entries[i].is_apply()) {
      ++i;
      continue;
    }
    const auto [bucket, fresh] = first_of_version.try_emplace(entries[i].api_version.str(), i);
    if (fresh) {
      ++i;
      continue;
    }
    Entry& into = entries[bucket->second];
    const Result<FieldSet> more = FieldSet::from_fields_v1(entries[i].fields);
    into.set_fields(fields_v1::plus(into.fields, more.value_or(FieldSet())));
    into.source = Value();
    into.manager = kFoldedManager;
    into.subresource = Value();
    into.time = entries[i].time;
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i));
    --updates;
  }
}

Value print_entry(const Entry& entry) {
  if (!entry.source.is_null()) {
    return entry.source;
  }
  Value printed = Value::object({{"manager", entry.manager},
                                 {"operation", entry.operation},
                                 {"apiVersion", entry.api_version}});
  if (!entry.time.as_string().empty()) {
    printed.set("time", entry.time);
  }
  printed.set("fieldsType", kFieldsType);
  printed.set("fieldsV1", entry.fields);
  if (!entry.subresource.as_string().empty()) {
    printed.set("subresource", entry.subresource);
  }
  return printed;
}

}  // namespace

void Entry::set_fields(Value changed) {
  if (!changed.identical(fields)) {
    fields = std::move(changed);
    source = Value();
  }
}

void Entry::set_time(Instant now) {
  const std::string text = format_time(now);
  if (time.as_string() != text) {
    time = text;
    source = Value();
  }
}

std::string Entry::text() const {
  std::string out = json::quote(manager.as_string());
  if (!subresource.as_string().empty()) {
    out += " with subresource " + json::quote(subresource.as_string());
  }
  if (!is_apply()) {
    out += " using " + api_version.str();
  }
  return out;
}

bool same_writer(const Entry& a, const Entry& b) {
  return a.manager == b.manager && a.operation == b.operation &&
         a.subresource.as_string() == b.subresource.as_string() &&
         (a.is_apply() || a.api_version == b.api_version);
}

namespace {

// What entries of one writer have in common: manager, operation, subresource and, of updates, the
// version (as same_writer). Points into the entry.
using WriterKey =
    std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>;

WriterKey writer_key(const Value& entry) {
  const std::string_view operation = entry["operation"].as_string();
  return {entry["manager"].as_string(), operation, entry["subresource"].as_string(),
          operation == kApply ? std::string_view() : entry["apiVersion"].as_string()};
}

}  // namespace

Entries read_stored(const Value& list, const FieldManagement& by) {
  Entries entries;
  entries.reserve(list.size() + 1);
  std::map<WriterKey, std::size_t> places;
  for (const Value& source : list.items()) {
    Entry entry = read(source);
    if (!version_known(entry, by)) {
      continue;
    }
    // Of two entries of one writer, as a write of a Scale may leave them, the later one counts.
    const auto [place, fresh] = places.emplace(writer_key(source), entries.size());
    if (fresh) {
      entries.push_back(std::move(entry));
    } else {
      entries[place->second] = std::move(entry);
    }
  }
  return entries;
}

std::optional<Entries> read_requested(const Value& list, const FieldManagement& by) {
  Entries entries;
  for (const Value& source : list.items()) {
    Entry entry = read(source);
    if (!well_formed(entry)) {
      return std::nullopt;
    }
    const Result<FieldSet> fields = FieldSet::from_fields_v1(entry.fields);
    if (!fields.ok()) {
      return std::nullopt;
    }
    if (const std::optional<Instant> time = parse_time(entry.time.as_string()); time) {
      entry.time = format_time(*time);
    } else if (!entry.time.is_null()) {
      return std::nullopt;
    }
    entry.fields = fields->empty() ? Value() : fields->to_fields_v1();
    entry.source = Value();
    if (version_known(entry, by)) {
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

Value print(Entries entries) {
  std::erase_if(entries, [](const Entry& entry) { return entry.fields.empty(); });
  const auto earlier = [](const Entry& a, const Entry& b) { return order_key(a) < order_key(b); };
  std::stable_sort(entries.begin(), entries.end(), earlier);
  if (entries.size() > kMaxUpdates) {
    fold_old_updates(entries);
    std::stable_sort(entries.begin(), entries.end(), earlier);
  }
  if (entries.empty()) {
    return {};
  }
  std::vector<Value> printed;
  printed.reserve(entries.size());
  for (const Entry& entry : entries) {
    printed.push_back(print_entry(entry));
  }
  return Value::list(std::move(printed));
}

bool is_entry_of(const Entry& entry, const FieldManagement& by, std::string_view operation) {
  return entry.operation.as_string() == operation &&
         entry.manager.as_string() == manager_name(by) &&
         entry.subresource.as_string() == by.subresource &&
         (operation == kApply || entry.api_version.as_string() == by.api_version);
}

Entry& entry_of(Entries& entries, const FieldManagement& by, std::string_view operation) {
  const auto place = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
    return is_entry_of(entry, by, operation);
  });
  if (place != entries.end()) {
    return *place;
  }
  return entries.emplace_back(Entry{.manager = manager_name(by),
                                    .operation = operation,
                                    .api_version = by.api_version,
                                    .subresource = by.subresource});
}

Value time_of_apply(const Value& list, const FieldManagement& by) {
  for (const Value& source : list.items()) {
    const Entry entry = read(source);
    if (is_entry_of(entry, by, kApply)) {
      return entry.time;
    }
  }
  return {};
}

void stamp(Entry& entry, const FieldManagement& by) {
  if (by.subresource != "scale") {
    entry.set_time(by.now);
  }
}

Value with_list(Value object, const Value& list) {
  const Value* present = object["metadata"].find("managedFields");
  if (list.is_null()) {
    if (present != nullptr) {
      object.erase_path({"metadata", "managedFields"});
    }
  } else if (present == nullptr || !present->identical(list)) {
    object.set_path({"metadata", "managedFields"}, list);
  }
  return object;
}

void leave_out(FieldChanges& changes, const FieldSet* reset_fields) {
  if (reset_fields != nullptr) {
    changes.added = changes.added.minus_subtrees(*reset_fields);
    changes.modified = changes.modified.minus_subtrees(*reset_fields);
    changes.removed = changes.removed.minus_subtrees(*reset_fields);
  }
}

std::string_view manager_name(const FieldManagement& by) {
  return by.manager.empty() ? std::string_view("unknown") : by.manager;
}

}  // namespace athanor::managed
