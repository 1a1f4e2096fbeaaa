// SPDX-License-Identifier: Apache-2.0
// FakeWorld carrying out the steps of plans.
#include <algorithm>
#include <variant>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kube/apply/patch.hpp"
#include "kube/text/json.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/failures.hpp"
#include "runtime/view/step.hpp"
#include "support/fake_world.hpp"

namespace athanor::test {

namespace {

// The member that tells elements of a list apart, as the schemas of the kinds at hand have it;
// empty: replaced whole.
std::string_view list_key(std::string_view field, const Value& list) {
  if (list.empty() || !list[0].is_object()) {
    return {};
  }
  if (field == "conditions") {
    return "type";
  }
  if (field == "ownerReferences") {
    return "uid";
  }
  static constexpr std::string_view kByName[] = {"containers", "initContainers", "env", "volumes",
                                                 "admissionChecks"};
  return std::find(std::begin(kByName), std::end(kByName), field) != std::end(kByName) ? "name"
                                                                                       : "";
}

Value merge_applied(std::string_view field, const Value& live, const Value& fields) {
  if (fields.is_object() && live.is_object()) {
    Value merged = live;
    for (const Member& member : fields.members()) {
      merged.set(member.key(), merge_applied(member.key(), live[member.key()], member.value));
    }
    return merged;
  }
  if (field == "finalizers" && fields.is_list() && live.is_list()) {
    Value merged = live;
    for (const Value& item : fields.items()) {
      const auto known = live.items();
      if (std::find(known.begin(), known.end(), item) == known.end()) {
        merged.push_back(item);
      }
    }
    return merged;
  }
  const std::string_view key = fields.is_list() ? list_key(field, fields) : std::string_view();
  if (key.empty() || !live.is_list()) {
    return fields;
  }
  Value merged = live;
  for (const Value& item : fields.items()) {
    bool found = false;
    for (std::size_t i = 0; i < merged.size() && !found; ++i) {
      if (merged[i][key] == item[key]) {
        merged.item(i) = merge_applied({}, merged[i], item);
        found = true;
      }
    }
    if (!found) {
      merged.push_back(item);
    }
  }
  return merged;
}

// Removes what the manager applied before and no longer does. Keyed list elements count by their
// key.
Value drop_unapplied(std::string_view field, const Value& live, const Value& before,
                     const Value& after) {
  if (live.is_object() && before.is_object()) {
    Value kept = live;
    for (const Member& member : before.members()) {
      const Value* current = live.find(member.key());
      if (current == nullptr) {
        continue;
      }
      if (!after.contains(member.key()) && !member.value.is_object()) {
        kept.erase(member.key());
      } else {
        Value rest = drop_unapplied(member.key(), *current, member.value, after[member.key()]);
        if (rest.empty() && !current->empty()) {
          kept.erase(member.key());
        } else {
          kept.set(member.key(), std::move(rest));
        }
      }
    }
    return kept;
  }
  const bool set = field == "finalizers";
  const std::string_view key = before.is_list() ? list_key(field, before) : std::string_view();
  if (!live.is_list() || (key.empty() && !set)) {
    return live;
  }
  const auto same = [&](const Value& a, const Value& b) { return set ? a == b : a[key] == b[key]; };
  const auto in = [&](const Value& list, const Value& item) {
    return std::any_of(list.items().begin(), list.items().end(),
                       [&](const Value& other) { return same(other, item); });
  };
  Value kept = Value::list();
  for (const Value& item : live.items()) {
    if (!in(before, item) || in(after, item)) {
      kept.push_back(item);
    }
  }
  return kept;
}

Error already_exists(const Ref& ref) {
  return {.code = 409,
          .reason = "AlreadyExists",
          .message = fmt::format("{} \"{}\" already exists", ref.kind->plural, ref.key.name)};
}

Error missing(const Ref& ref) {
  return Error::not_found(fmt::format("{} \"{}\" not found", ref.kind->plural, ref.key.name));
}

// The body as the server stores it: names and version of the target.
Value complete(Value body, const Ref& ref) {
  body.set("apiVersion", ref.kind->api_version());
  body.set("kind", ref.kind->name);
  body.set_path({"metadata", "name"}, ref.key.name);
  if (ref.kind->namespaced) {
    body.set_path({"metadata", "namespace"}, ref.key.ns);
  }
  return body;
}

}  // namespace

Result<void> FakeWorld::apply(const Plan& plan, std::string_view by) {
  for (const Step& step : plan.steps()) {
    const std::optional<Error> error = fault ? fault(step) : std::nullopt;
    const Result<void> done = error
                                  ? Result<void>(*error)
                                  : std::visit([&](const auto& one) { return run(one, by); }, step);
    if (!done.ok()) {
      // As the engine does: what was known already is no news.
      if (is_refusal(done.error()) &&
          observe(refusal_query(step), Duration::max()).error != done.error()) {
        fail_observation(refusal_query(step), done.error());
        fail_observation(refusals_query(step), done.error());
      }
      return done;
    }
    if (observations_.contains(refusal_query(step))) {
      forget_observation(refusal_query(step));
    }
  }
  return {};
}

void FakeWorld::record(std::string_view verb, const Ref& ref, const Value& body) {
  writes.push_back({.verb = std::string(verb),
                    .kind = std::string(ref.kind->name),
                    .key = ref.key.text(),
                    .body = body});
}

Result<void> FakeWorld::check(const Ref& ref, const Guard& guard) {
  const Stored* stored = find(ref);
  if (stored == nullptr) {
    return missing(ref);
  }
  if (!guard.uid.empty() && guard.uid != stored->object.uid()) {
    return Error::conflict(fmt::format("{} \"{}\": uid differs", ref.kind->plural, ref.key.name));
  }
  if (!guard.resource_version.empty() &&
      guard.resource_version != stored->object.resource_version()) {
    return Error::conflict(
        fmt::format("{} \"{}\": the object has been modified", ref.kind->plural, ref.key.name));
  }
  return {};
}

Result<void> FakeWorld::run(const Apply& step, std::string_view by) {
  const std::string manager = step.manager.empty() ? std::string(by) : step.manager;
  const Id id = id_of(*step.target.kind, step.target.key);
  Value fields = step.fields;
  for (const char* identity : {"apiVersion", "kind"}) {
    fields.erase(identity);
  }
  Stored* stored = find(step.target);
  if (stored == nullptr) {
    Value body = complete(fields, step.target);
    if (on_create) {
      on_create(*this, body);
    }
    make(std::move(body), id, manager, fields);
    record("apply", step.target, step.fields);
    return {};
  }
  Value body = stored->object.body();
  if (const auto before = stored->applied.find(manager); before != stored->applied.end()) {
    body = drop_unapplied({}, body, before->second, fields);
  }
  body = complete(merge_applied({}, body, fields), step.target);
  if (store(id, std::move(body), manager, fields)) {
    record("apply", step.target, step.fields);
  }
  return {};
}

Result<void> FakeWorld::run(const Create& step, std::string_view) {
  Ref ref = step.target;
  if (ref.key.name.empty()) {
    const std::string prefix = step.object["metadata"]["generateName"].str();
    if (prefix.empty()) {
      return Error::invalid("metadata.name", "name or generateName is required");
    }
    ref.key.name = prefix + fmt::format("x{:04}", made_ + 1);
  }
  if (const Stored* stored = find(ref)) {
    const auto owner = Object(step.object).controller();
    const auto current = stored->object.controller();
    if (!owner || (current && current->uid == owner->uid)) {
      return {};
    }
    return already_exists(ref);
  }
  Value body = complete(step.object, ref);
  if (on_create) {
    on_create(*this, body);
  }
  make(std::move(body), id_of(*ref.kind, ref.key), {}, {});
  record("create", ref, step.object);
  return {};
}

Result<void> FakeWorld::run(const Patch& step, std::string_view) {
  ATHANOR_TRY_VOID(check(step.target, step.guard));
  const Object before = find(step.target)->object;
  Value body = apply_merge_patch(before.body(), step.merge);
  if (step.subresource == "status") {
    Value only = before.body();
    only.set("status", body["status"]);
    body = std::move(only);
  } else if (before.body().contains("status")) {
    body.set("status", before.status());
  }
  if (store(id_of(*step.target.kind, step.target.key), std::move(body))) {
    record("patch", step.target, step.merge);
  }
  return {};
}

Result<void> FakeWorld::run(const Status& step, std::string_view) {
  ATHANOR_TRY_VOID(check(step.target, step.guard));
  Stored* stored = find(step.target);
  Value body = stored->object.body();
  Value wanted = wanted_status(body["status"], step.status);
  if (wanted.empty() && !body.contains("status")) {
    return {};
  }
  Value applied;
  if (step.applied_as.empty()) {
    body.set("status", std::move(wanted));
  } else {
    applied = Value::object({{"status", wanted_status({}, step.status)}});
    if (const auto before = stored->applied.find(step.applied_as);
        before != stored->applied.end()) {
      body = drop_unapplied({}, body, before->second, applied);
    }
    body = merge_applied({}, body, applied);
  }
  if (store(id_of(*step.target.kind, step.target.key), std::move(body), step.applied_as, applied)) {
    record("status", step.target, step.status);
  }
  return {};
}

Result<void> FakeWorld::run(const Replace& step, std::string_view) {
  const std::string expected(Object(step.object).resource_version());
  ATHANOR_TRY_VOID(check(step.target, {.resource_version = expected}));
  Value body = find(step.target)->object.body();
  if (step.subresource == "binding") {
    if (!body["spec"]["nodeName"].as_string().empty()) {
      return Error::conflict(fmt::format("pod {} is already assigned to node \"{}\"",
                                         step.target.key.name,
                                         body["spec"]["nodeName"].as_string()));
    }
    body.set_path({"spec", "nodeName"}, step.object["target"]["name"]);
    Value conditions = body["status"]["conditions"];
    set_condition(conditions, {.type = "PodScheduled", .status = "True"}, now);
    body.set_path({"status", "conditions"}, std::move(conditions));
  } else if (step.subresource == "finalize") {
    body.set_path({"spec", "finalizers"}, step.object["spec"]["finalizers"]);
  } else if (step.subresource == "status") {
    body.set("status", step.object["status"]);
  } else {
    const Value status = body["status"];
    body = complete(step.object, step.target);
    if (!status.is_null()) {
      body.set("status", status);
    }
  }
  if (store(id_of(*step.target.kind, step.target.key), std::move(body))) {
    record("replace", step.target, step.object);
  }
  return {};
}

bool FakeWorld::must_wait(const Object& object, const Delete& step) const {
  if (!object.metadata()["finalizers"].empty()) {
    return true;
  }
  return step.grace_seconds.value_or(-1) != 0 && ends_gracefully(object);
}

bool FakeWorld::ends_gracefully(const Object& object) const {
  const auto phase = object.status()["phase"].as_string();
  return graceful_pods && object.kind() == "Pod" &&
         !object.spec()["nodeName"].as_string().empty() && phase != "Succeeded" &&
         phase != "Failed";
}

Result<void> FakeWorld::run(const Delete& step, std::string_view) {
  if (find(step.target) == nullptr) {
    return {};
  }
  ATHANOR_TRY_VOID(check(step.target, step.guard));
  const Id id = id_of(*step.target.kind, step.target.key);
  Object object = find(step.target)->object;
  if (step.mode == Propagation::Foreground) {
    collect_dependents(std::string(object.uid()), Propagation::Foreground);
  }
  if (!must_wait(object, step)) {
    record("delete", step.target, {});
    erase(id, step.mode);
    return {};
  }
  if (object.deleting()) {
    return {};
  }
  Value body = object.body();
  const std::int64_t grace =
      object.kind() == "Pod"
          ? step.grace_seconds.value_or(object.spec()["terminationGracePeriodSeconds"].as_int(30))
          : 0;
  body.set_path({"metadata", "deletionTimestamp"}, format_time(now + std::chrono::seconds(grace)));
  body.set_path({"metadata", "deletionGracePeriodSeconds"}, grace);
  store(id, std::move(body));
  record("delete", step.target, {});
  return {};
}

void FakeWorld::erase(const Id& id, Propagation mode) {
  const auto at = objects_.find(id);
  if (at == objects_.end()) {
    return;
  }
  const Object object = at->second.object;
  objects_.erase(at);
  ++version_;
  changes_.push_back({.id = id, .before = object, .after = std::nullopt});
  collect_dependents(std::string(object.uid()), mode);
}

// Orphan: dependents lose the reference. Otherwise those whose other owners are gone, too, are
// deleted.
void FakeWorld::collect_dependents(const std::string& uid, Propagation mode) {
  std::vector<Id> dependents;
  std::set<std::string, std::less<>> alive;
  for (const auto& [id, stored] : objects_) {
    alive.emplace(stored.object.uid());
    if (stored.object.owned_by(uid)) {
      dependents.push_back(id);
    }
  }
  if (mode == Propagation::Foreground) {
    alive.erase(uid);
  }
  for (const Id& id : dependents) {
    const auto at = objects_.find(id);
    if (at == objects_.end()) {
      continue;
    }
    const Object object = at->second.object;
    Value others = Value::list();
    for (const Value& owner : object.metadata()["ownerReferences"].items()) {
      if (owner["uid"].as_string() != uid && alive.contains(owner["uid"].as_string())) {
        others.push_back(owner);
      }
    }
    if (mode != Propagation::Orphan && others.empty()) {
      const Kind kind{.group = std::get<0>(id), .name = std::get<1>(id), .plural = std::get<1>(id)};
      const std::vector<Write> kept = writes;
      EXPECT_TRUE(run(Delete{.target = {&kind, {std::get<2>(id), std::get<3>(id)}}}, "gc").ok());
      writes = kept;
      continue;
    }
    Value body = object.body();
    body.set_path({"metadata", "ownerReferences"}, std::move(others));
    store(id, std::move(body));
  }
}

Result<void> FakeWorld::run(const Emit& step, std::string_view) {
  if (!events.empty()) {
    RecordedEvent& last = events.back();
    if (last.kind == step.about.kind->name && last.about == step.about.key &&
        last.about_uid == step.about_uid && last.type == step.type && last.reason == step.reason &&
        last.note == step.note && last.component == step.component) {
      ++last.count;
      return {};
    }
  }
  events.push_back({.kind = std::string(step.about.kind->name),
                    .about = step.about.key,
                    .about_uid = step.about_uid,
                    .type = step.type,
                    .reason = step.reason,
                    .note = step.note,
                    .component = step.component});
  return {};
}

Result<void> FakeWorld::run(const Act& step, std::string_view) {
  if (!act_ids_.insert(step.verb + ":" + step.id).second) {
    return {};
  }
  acts.push_back(step);
  const std::string query = step.verb + ":" + step.id;
  const auto executor = executors.find(step.verb);
  if (executor == executors.end()) {
    observations_[query].in_flight = true;
    changed_queries_.push_back(query);
    return {};
  }
  auto result = executor->second(*this, step);
  if (result.ok()) {
    observe_as(query, *std::move(result));
  } else {
    fail_observation(query, std::move(result).error());
  }
  return {};
}

}  // namespace athanor::test
