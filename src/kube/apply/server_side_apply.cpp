// SPDX-License-Identifier: Apache-2.0
// Server-side apply: merge, removal of abandoned fields, conflicts.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/cancellation.hpp"
#include "kube/apply/managed_changes.hpp"
#include "kube/apply/managed_entry.hpp"
#include "kube/apply/managed_fields.hpp"
#include "kube/apply/member_edit.hpp"
#include "kube/apply/typed_node.hpp"
#include "kube/text/json.hpp"

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

// "ns/name; apps/v1, Kind=Deployment"
std::string described(const Value& object) {
  return object["metadata"]["namespace"].str() + "/" + object["metadata"]["name"].str() + "; " +
         kind_text(object);
}

std::string joined(const std::vector<std::string>& problems) {
  if (problems.size() == 1) {
    return problems.front();
  }
  std::string text = "errors:";
  for (const std::string& problem : problems) {
    text += "\n  " + problem;
  }
  return text;
}

std::optional<ApplyError> check_config(const Value& config) {
  if (!config.is_object()) {
    return bad_request("error decoding YAML: not an object");
  }
  if (!config["metadata"]["managedFields"].is_null()) {
    return bad_request("metadata.managedFields must be nil");
  }
  return std::nullopt;
}

// An object that is not of its type, or whose list elements have no keys, has no owner, and
// cannot be from now on.
std::optional<ApplyError> check_live(const Value& live, const FieldManagement& by) {
  if (live.is_null() || !live["metadata"]["managedFields"].empty()) {
    return std::nullopt;
  }
  const std::vector<std::string> problems = type_errors(live, by.schema, Duplicates::Allowed);
  if (problems.empty()) {
    return std::nullopt;
  }
  return ill_typed("failed to create manager for existing fields: failed to convert new object (" +
                   described(live) + ") to smd typed: " + joined(problems));
}

std::optional<ApplyError> check_types(const Value& config, SchemaPtr schema) {
  const std::vector<std::string> problems = type_errors(config, schema);
  if (problems.empty()) {
    return std::nullopt;
  }
  return ill_typed("failed to create typed patch object (" + described(config) +
                   "): " + joined(problems));
}

FieldSet decoded(const Value& fields) {
  return FieldSet::from_fields_v1(fields).value_or(FieldSet());
}

// An object without managed fields so far: everything in it belongs to one manager.
void track_existing(Entries& entries, const Value& live, const FieldManagement& by) {
  FieldChanges changes = compare_fields(Value(), live, by.schema);
  managed::leave_out(changes, by.reset_fields);
  FieldManagement before = by;
  before.manager = kBeforeFirstApply;
  Entry& entry = managed::entry_of(entries, before, managed::kUpdate);
  entry.set_fields(changes.added.united(changes.modified).to_fields_v1());
  entry.set_time(by.now);
}

// The fields of `last` without remaining owners. A declared field covers what is below it: it
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
    const std::string_view subresource = entry.subresource.as_string();
    return std::tuple(entry.manager.as_string(), entry.operation.as_string(),
                      entry.api_version.as_string(),
                      entry.is_apply() ? std::string_view() : entry.time.as_string(),
                      subresource.empty(), subresource);
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

// kubectl may take over what its own client-side apply wrote, if unchanged since.
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

// Whether the configuration has a null where there is nothing: a change, although nothing comes.
bool adds_nulls(const Value& config, const Value& live, const typed::Node& node) {
  give_up_if_cancelled();
  if (config.is_object() && live.is_object()) {
    MemberEdit present(live);
    return std::ranges::any_of(config.members(), [&](const Member& member) {
      const Value* old = present.find(member.key());
      return old == nullptr ? member.value.is_null()
                            : adds_nulls(member.value, *old, node.member(member.key()));
    });
  }
  if (!config.is_list() || !live.is_list() || node.schema == nullptr ||
      node.schema->list_type != ListType::Map) {
    return false;
  }
  const typed::ElementIndex present(*node.schema, &live);
  return std::ranges::any_of(config.items(), [&](const Value& item) {
    const Value element = typed::element_of(*node.schema, item);
    const auto same = element.is_null() ? std::nullopt : present.first(element);
    return same && adds_nulls(item, live[*same], node.item());
  });
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
    if (own.time.is_null()) {
      own.time = managed::time_of_apply(stored_, by_);
    }
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
    if (std::optional<ApplyError> error = take_over(object, changes, respelled)) {
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
    const bool nulls = adds_nulls(config_, live_, typed::root_node(by_.schema));
    if (live_.is_null() || !changes.empty() || !respelled.empty() || nulls) {
      managed::stamp(own_entry(), by_);  // an apply that changes no value leaves no time
    }
    if (!same_fields || !changes.empty() || !respelled.empty() || nulls) {
      entries_changed_ = true;
    }
    return managed::with_list(std::move(object),
                              entries_changed_ ? managed::print(std::move(entries_)) : stored_);
  }

 private:
  Entry& own_entry() { return entries_[own_]; }

  // Fields that the last apply set and that have no other owner go, in the words of its version;
  // every other version brings back what goes only there, or is owned in it.
  void remove_abandoned(Value& object, const FieldSet& last, const FieldSet& wanted) {
    const std::string version = own_entry().api_version.str();
    if (calls_the_same(version) && last.minus(wanted).empty()) {
      return;
    }
    const VersionedObject whole = shown(object, version);
    const FieldSet owned = owned_in(version, wanted);
    FieldSet gone = abandoned(last, owned, typed::root_node(whole.schema));
    // Metadata goes as any other field does, and its name with it, unless the configuration has
    // one.
    const Value metadata = path_element::field("metadata");
    if (!config_.contains("metadata") && last.find(metadata.as_string()) != nullptr &&
        owned.find(metadata.as_string()) == nullptr) {
      gone.insert(metadata);
    }
    if (gone.empty()) {
      return;
    }
    Value rest = remove_fields(whole.object, gone, whole.schema);
    if (by_.in_version == nullptr) {
      object = std::move(rest);
      return;
    }
    std::set<std::string, std::less<>> others{std::string(by_.api_version)};
    for (const Entry& entry : entries_) {
      others.insert(entry.api_version.str());
    }
    others.erase(version);
    if (others.empty()) {
      object = std::move(rest);
      return;
    }
    for (const std::string& other : others) {
      rest = shown(with_owned(whole.object, rest, other, wanted), version).object;
    }
    // In the end nothing goes that the last apply did not set.
    const FieldSet lost = compare_fields(whole.object, rest, whole.schema).removed;
    const Value kept = remove_fields(whole.object, lost.minus(lost.minus(last)), whole.schema);
    object = shown(kept, by_.api_version).object;
  }

  // `whole` in that version without what `rest` lacks and has no owner there.
  [[nodiscard]] Value with_owned(const Value& whole, const Value& rest, std::string_view version,
                                 const FieldSet& wanted) const {
    const VersionedObject before = shown(whole, version);
    const VersionedObject after = shown(rest, version);
    const FieldSet lost = compare_fields(before.object, after.object, before.schema).removed;
    return remove_fields(
        before.object, abandoned(lost, owned_in(version, wanted), typed::root_node(before.schema)),
        before.schema);
  }

  [[nodiscard]] bool calls_the_same(std::string_view version) const {
    return by_.in_version == nullptr || version == by_.api_version;
  }

  // An object of any version in that one.
  [[nodiscard]] VersionedObject shown(const Value& object, std::string_view version) const {
    if (by_.in_version != nullptr && object["apiVersion"].as_string() != version) {
      if (std::optional<VersionedObject> there = by_.in_version(object, version)) {
        return *std::move(there);
      }
    }
    return {.object = object, .schema = schema_of(object)};
  }
  [[nodiscard]] SchemaPtr schema_of(const Value& object) const {
    const std::string_view version = object["apiVersion"].as_string();
    if (!calls_the_same(version)) {
      if (const std::optional<VersionedObject> itself = by_.in_version(object, version)) {
        return itself->schema;
      }
    }
    return by_.schema;
  }

  // What others own in that version, and the applier from now on.
  [[nodiscard]] FieldSet owned_in(std::string_view version, const FieldSet& wanted) const {
    FieldSet owned = calls_the_same(version) ? wanted : FieldSet();
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const bool same = by_.in_version == nullptr || entries_[i].api_version == Value(version);
      if (i != own_ && same) {
        owned = owned.united(decoded(entries_[i].fields));
      }
    }
    return owned;
  }

  // Other managers lose what the apply changes or spells anew, if they may.
  std::optional<ApplyError> take_over(const Value& object, const FieldChanges& changes,
                                      const FieldSet& respelled) {
    if (changes.empty() && respelled.empty()) {
      return std::nullopt;
    }
    managed::VersionedChanges versions(live_, object, changes, by_);
    const FieldSet set = changes.added.united(changes.modified).united(respelled);
    const auto set_for = [&](const Entry& entry) {
      const FieldChanges& there = versions.in(entry.api_version.as_string());
      return &there == &changes ? set : there.added.united(there.modified).united(respelled);
    };
    std::vector<Clash> clashes;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (i == own_) {
        continue;
      }
      FieldSet fields = fields_v1::intersection(entries_[i].fields, set_for(entries_[i]));
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
        const Value rest = fields_v1::minus(entries_[i].fields, set_for(entries_[i]));
        entries_[i].set_fields(
            fields_v1::minus(rest, versions.in(entries_[i].api_version.as_string()).removed));
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
  if (std::optional<ApplyError> error = check_config(config)) {
    return *std::move(error);
  }
  if (std::optional<ApplyError> error = check_live(live, by)) {
    return *std::move(error);
  }
  if (std::optional<ApplyError> error = check_types(config, by.schema)) {
    return *std::move(error);
  }
  if (by.reset_fields == nullptr) {
    return Apply(live, config, by, options).run();
  }
  const Value allowed = remove_fields(config, *by.reset_fields, by.schema);
  return Apply(live, allowed, by, options).run();
}

}  // namespace athanor
