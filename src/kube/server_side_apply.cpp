// SPDX-License-Identifier: Apache-2.0
// Server-side apply: merge, removal of abandoned fields, conflicts.
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "kube/json.hpp"
#include "kube/managed_entry.hpp"
#include "kube/managed_fields.hpp"
#include "kube/typed_node.hpp"

namespace athanor {

namespace {

using managed::Entries;
using managed::Entry;

constexpr std::string_view kBeforeFirstApply = "before-first-apply";
constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";
constexpr std::string_view kKubectl = "kubectl";

ApplyError bad_request(std::string message) {
  return {.error = Error::bad_request(std::move(message))};
}

// A configuration that does not fit the type: the reference has neither a better code nor a reason.
ApplyError ill_typed(std::string message) {
  return {.error = {.code = 500, .reason = {}, .message = std::move(message)}};
}

// "apps/v1, Kind=Deployment"; the core group prints as "/v1".
std::string kind_text(const Value& config) {
  const std::string_view version = config["apiVersion"].as_string();
  const std::string prefix = version.find('/') == std::string_view::npos ? "/" : "";
  return prefix + std::string(version) + ", Kind=" + config["kind"].str();
}

std::optional<ApplyError> check_config(const Value& config, SchemaPtr schema) {
  if (!config.is_object()) {
    return bad_request("error decoding YAML: not an object");
  }
  if (!config["metadata"]["managedFields"].empty()) {
    return bad_request("metadata.managedFields must be nil");
  }
  const std::vector<std::string> problems = type_errors(config, schema);
  if (problems.empty()) {
    return std::nullopt;
  }
  std::string message = "failed to create typed patch object (" +
                        config["metadata"]["namespace"].str() + "/" +
                        config["metadata"]["name"].str() + "; " + kind_text(config) + "): ";
  if (problems.size() == 1) {
    return ill_typed(message + problems.front());
  }
  message += "errors:";
  for (const std::string& problem : problems) {
    message += "\n  " + problem;
  }
  return ill_typed(std::move(message));
}

FieldSet decoded(const Value& fields) {
  return FieldSet::from_fields_v1(fields).value_or(FieldSet());
}

// An object that nobody tracked so far: everything in it belongs to one manager.
void track_existing(Entries& entries, const Value& live, const FieldManagement& by) {
  FieldChanges changes = compare_fields(Value(), live, by.schema);
  managed::leave_out(changes, by.reset_fields);
  FieldManagement before = by;
  before.manager = kBeforeFirstApply;
  Entry& entry = managed::entry_of(entries, before, managed::kUpdate);
  entry.set_fields(changes.added.united(changes.modified).to_fields_v1());
  entry.set_time(by.now);
}

// The fields of `last` that nobody wants any more. A declared field stands for what is below it: it
// goes when nothing in it is owned, and then with everything in it.
FieldSet abandoned(const FieldSet& last, const FieldSet& kept, const typed::Node& node) {
  FieldSet out;
  for (const FieldSet::Entry& entry : last.entries()) {
    const std::string_view element = entry.element.as_string();
    const bool is_field = path_element::is_field(element);
    const std::string_view name = path_element::field_name(element);
    const typed::Node below = is_field ? node.member(name) : node.item();
    const bool named = is_field && below.declared;
    const FieldSet::Entry* keeper = kept.find(element);
    const bool stays = keeper != nullptr && (keeper->member || named);
    const bool system = is_field && node.is_system(name);
    if (!stays && !system && (entry.member || named)) {
      out.insert(entry.element);
    } else {
      out.add_below(
          entry.element,
          abandoned(entry.children, keeper == nullptr ? FieldSet() : keeper->children, below));
    }
  }
  return out;
}

// What one other manager owns of what the apply changes.
struct Clash {
  std::size_t entry = 0;
  FieldSet fields{};
};

ApplyError conflict_error(const Entries& entries, std::vector<Clash> clashes) {
  const auto order = [&entries](const Clash& clash) {
    const Entry& entry = entries[clash.entry];
    return std::tuple(entry.manager.as_string(), entry.operation.as_string(),
                      entry.api_version.as_string(), entry.subresource.as_string());
  };
  std::sort(clashes.begin(), clashes.end(),
            [&order](const Clash& a, const Clash& b) { return order(a) < order(b); });
  ApplyError result;
  std::string grouped;
  for (const Clash& clash : clashes) {
    const std::string manager = entries[clash.entry].text();
    grouped += (grouped.empty() ? "" : "\n") + ("conflicts with " + manager + ":");
    for (std::string& path : clash.fields.paths()) {
      grouped += "\n- " + path;
      result.conflicts.push_back({.message = "conflict with " + manager, .field = std::move(path)});
    }
  }
  const std::size_t count = result.conflicts.size();
  const ApplyConflict& first = result.conflicts.front();
  result.error = Error::conflict(
      count == 1 ? "Apply failed with 1 conflict: " + first.message + ": " + first.field
                 : "Apply failed with " + std::to_string(count) + " conflicts: " + grouped);
  return result;
}

std::string_view last_applied_of(const Value& object) {
  return object["metadata"]["annotations"][kLastApplied].as_string();
}

// kubectl may take over what its own client-side apply wrote and nobody changed since.
void allow_last_applied(std::vector<Clash>& clashes, const Value& live, SchemaPtr schema) {
  const Result<Value> applied = json::parse(last_applied_of(live));
  if (!applied.ok() || !applied->is_object()) {
    return;
  }
  const FieldChanges since = compare_fields(*applied, live, schema);
  const FieldSet allowed =
      leaves(*applied, schema).minus(since.added).minus(since.modified).minus(since.removed);
  for (Clash& clash : clashes) {
    clash.fields = clash.fields.minus(allowed);
  }
  std::erase_if(clashes, [](const Clash& clash) { return clash.fields.empty(); });
}

Value with_sorted_keys(const Value& value) {
  if (value.is_list()) {
    std::vector<Value> items;
    for (const Value& item : value.items()) {
      items.push_back(with_sorted_keys(item));
    }
    return Value::list(std::move(items));
  }
  if (!value.is_object()) {
    return value;
  }
  std::vector<Member> members;
  for (const Member& member : value.members()) {
    members.emplace_back(member.name, with_sorted_keys(member.value));
  }
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return a.key() < b.key(); });
  return Value::object(std::move(members));
}

// A later client-side apply of kubectl compares with what was applied last, by whichever way.
void refresh_last_applied(Value& object, const Value& config) {
  if (last_applied_of(object).empty()) {
    return;
  }
  Value applied = config;
  if (!last_applied_of(applied).empty()) {
    applied.erase_path({"metadata", "annotations", kLastApplied});
  }
  const std::string text = json::print(with_sorted_keys(applied)) + "\n";
  if (last_applied_of(object) != text) {
    object.set_path({"metadata", "annotations", kLastApplied}, text);
  }
}

// One apply. Lives for one call.
class Apply {
 public:
  Apply(const Value& live, const Value& config, const FieldManagement& by, ApplyOptions options)
      : live_(live),
        config_(config),
        by_(by),
        options_(options),
        stored_(live["metadata"]["managedFields"]),
        entries_(managed::read_stored(stored_, by)) {
    entries_changed_ = entries_.size() != stored_.size();
  }

  Result<Value, ApplyError> run() {
    if (!live_.is_null() && stored_.empty()) {
      track_existing(entries_, live_, by_);
      entries_changed_ = true;
    }
    Entry& own = managed::entry_of(entries_, by_, managed::kApply);
    own_ = static_cast<std::size_t>(&own - entries_.data());
    const FieldSet wanted = leaves(config_, by_.schema);
    const bool same_set = fields_v1::equal(own.fields, wanted);
    Value object = merge_fields(live_, config_, by_.schema);
    if (!same_set) {
      remove_abandoned(object, decoded(own.fields), wanted);
    }

    FieldChanges changes = compare_fields(live_, object, by_.schema);
    managed::leave_out(changes, by_.reset_fields);
    const FieldSet respelled =
        live_.is_null() ? FieldSet() : respelled_quantities(live_, config_, by_.schema);
    if (std::optional<ApplyError> error = take_over(changes, respelled)) {
      return *std::move(error);
    }
    const bool same_fields = same_set && own_entry().api_version == Value(by_.api_version);
    if (!same_fields) {
      own_entry().set_fields(wanted.to_fields_v1());
      own_entry().api_version = by_.api_version;
      own_entry().source = Value();
    }
    if (managed::manager_name(by_) == kKubectl) {
      refresh_last_applied(object, config_);
    }
    if (!object.identical(live_) && object == live_) {
      object = live_;  // taken out and put back
    }
    if (live_.is_null() || !changes.empty()) {
      managed::stamp(own_entry(), by_);  // an apply that changes no value leaves no time
    }
    if (!same_fields || !changes.empty() || !respelled.empty()) {
      entries_changed_ = true;
    }
    return managed::with_list(std::move(object),
                              entries_changed_ ? managed::print(std::move(entries_)) : stored_);
  }

 private:
  Entry& own_entry() { return entries_[own_]; }

  void remove_abandoned(Value& object, const FieldSet& last, const FieldSet& wanted) const {
    if (last.minus(wanted).empty()) {
      return;
    }
    FieldSet kept = wanted;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (i != own_) {
        kept = kept.united(decoded(entries_[i].fields));
      }
    }
    const FieldSet gone = abandoned(last, kept, typed::root_node(by_.schema));
    if (!gone.empty()) {
      object = remove_fields(object, gone, by_.schema);
    }
  }

  // Other managers lose what the apply changes or spells anew, if they may.
  std::optional<ApplyError> take_over(const FieldChanges& changes, const FieldSet& respelled) {
    if (changes.empty() && respelled.empty()) {
      return std::nullopt;
    }
    const FieldSet set = changes.added.united(changes.modified).united(respelled);
    std::vector<Clash> clashes;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (i == own_) {
        continue;
      }
      FieldSet fields = fields_v1::intersection(entries_[i].fields, set);
      if (!fields.empty()) {
        clashes.push_back({.entry = i, .fields = std::move(fields)});
      }
    }
    if (!options_.force && managed::manager_name(by_) == kKubectl) {
      allow_last_applied(clashes, live_, by_.schema);
    }
    if (!options_.force && !clashes.empty()) {
      return conflict_error(entries_, std::move(clashes));
    }
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (i != own_) {
        const Value rest = fields_v1::minus(entries_[i].fields, set);
        entries_[i].set_fields(fields_v1::minus(rest, changes.removed));
      }
    }
    return std::nullopt;
  }

  const Value& live_;
  const Value& config_;
  const FieldManagement& by_;
  ApplyOptions options_{};
  const Value& stored_;
  Entries entries_{};
  std::size_t own_ = 0;
  bool entries_changed_ = false;
};

}  // namespace

Result<Value, ApplyError> apply_configuration(const Value& live, const Value& config,
                                              const FieldManagement& by, ApplyOptions options) {
  if (std::optional<ApplyError> error = check_config(config, by.schema)) {
    return *std::move(error);
  }
  if (by.reset_fields == nullptr) {
    return Apply(live, config, by, options).run();
  }
  const Value allowed = remove_fields(config, *by.reset_fields, by.schema);
  return Apply(live, allowed, by, options).run();
}

}  // namespace athanor
