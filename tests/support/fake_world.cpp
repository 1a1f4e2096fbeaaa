// SPDX-License-Identifier: Apache-2.0
// FakeWorld's objects, observations and settings.
#include "support/fake_world.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "kube/text/json.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/live.hpp"
#include "runtime/view/select.hpp"

namespace athanor::test {

namespace {

std::string group_of(std::string_view api_version) {
  const auto slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string()
                                         : std::string(api_version.substr(0, slash));
}

// Everything whose change is a new generation.
Value without_metadata_and_status(const Value& body) {
  Value rest = body;
  rest.erase("metadata");
  rest.erase("status");
  return rest;
}

Value without_resource_version(const Value& body) {
  Value rest = body;
  rest.erase_path({"metadata", "resourceVersion"});
  return rest;
}

}  // namespace

FakeWorld::FakeWorld() : now(*parse_time("2026-01-05T00:00:00Z")) {
  probes["live"] = [](FakeWorld& world, std::string_view text) -> Result<Value> {
    const auto query = LiveQuery::parse(text);
    if (!query) {
      return Error::bad_request("not a live read");
    }
    const Kind kind{.group = query->group,
                    .version = query->version,
                    .name = query->kind,
                    .plural = query->plural};
    if (query->key.name.empty()) {
      const std::size_t equals = query->label.find('=');
      Select select{.ns = query->key.ns};
      if (equals != std::string::npos) {
        select.labels = {{query->label.substr(0, equals), query->label.substr(equals + 1)}};
      }
      return LiveQuery::answer(world.list(kind, select));
    }
    const auto object = world.get(kind, query->key);
    return LiveQuery::answer(object ? std::vector<Object>{*object} : std::vector<Object>());
  };
}
FakeWorld::~FakeWorld() = default;

FakeWorld::Id FakeWorld::id_of(const Kind& kind, const Key& key) {
  return {std::string(kind.group), std::string(kind.name), key.ns, key.name};
}

FakeWorld::Id FakeWorld::id_of(const Value& object) {
  const Object view(object);
  return {group_of(view.api_version()), std::string(view.kind()), std::string(view.ns()),
          std::string(view.name())};
}

FakeWorld::Stored* FakeWorld::find(const Ref& ref) {
  const auto at = objects_.find(id_of(*ref.kind, ref.key));
  return at == objects_.end() ? nullptr : &at->second;
}

void FakeWorld::make(Value body, const Id& id, std::string_view manager, const Value& applied) {
  Value metadata = body["metadata"];
  ++made_;
  if (!metadata.contains("uid")) {
    metadata.set("uid", fmt::format("00000000-0000-4000-8000-{:012}", made_));
  }
  if (!metadata.contains("creationTimestamp")) {
    metadata.set("creationTimestamp", format_time(now));
  }
  if (!metadata.contains("generation") && (!std::get<0>(id).empty() || body.contains("spec"))) {
    metadata.set("generation", 1);
  }
  metadata.set("resourceVersion", std::to_string(++version_));
  body.set("metadata", std::move(metadata));
  Stored& stored = objects_[id];
  stored.object = Object(std::move(body));
  if (!manager.empty()) {
    stored.applied[std::string(manager)] = applied;
  }
  changes_.push_back({.id = id, .before = std::nullopt, .after = stored.object});
}

bool FakeWorld::store(const Id& id, Value body, std::string_view manager, const Value& applied) {
  Stored& stored = objects_.at(id);
  const Object before = stored.object;
  if (!manager.empty()) {
    stored.applied[std::string(manager)] = applied;
  }
  for (const char* kept : {"uid", "creationTimestamp", "name", "namespace"}) {
    if (before.metadata().contains(kept)) {
      body.set_path({"metadata", kept}, before.metadata()[kept]);
    }
  }
  if (body["metadata"]["finalizers"].empty()) {
    body.erase_path({"metadata", "finalizers"});
  }
  if (without_resource_version(body) == without_resource_version(before.body())) {
    return false;
  }
  if (without_metadata_and_status(body) != without_metadata_and_status(before.body()) &&
      before.metadata().contains("generation")) {
    body.set_path({"metadata", "generation"}, before.generation() + 1);
  }
  body.set_path({"metadata", "resourceVersion"}, std::to_string(++version_));
  stored.object = Object(std::move(body));
  changes_.push_back({.id = id, .before = before, .after = stored.object});
  const bool held = before.has_finalizer("foregroundDeletion") &&
                    stored.object.has_finalizer("foregroundDeletion");
  // A pod whose grace has not passed stays for its kubelet.
  const bool graceful = ends_gracefully(stored.object) &&
                        stored.object.metadata()["deletionGracePeriodSeconds"].as_int() > 0;
  if (before.deleting() && !before.metadata()["finalizers"].empty() && !held && !graceful &&
      stored.object.metadata()["finalizers"].empty()) {
    erase(id, Propagation::Background);
  }
  return true;
}

Object FakeWorld::put(Value object) {
  const Id id = id_of(object);
  if (std::get<1>(id).empty() || std::get<3>(id).empty()) {
    ADD_FAILURE() << "put: apiVersion, kind and metadata.name are required: "
                  << json::print(object);
    return {};
  }
  if (objects_.contains(id)) {
    store(id, std::move(object));
  } else {
    make(std::move(object), id, {}, {});
  }
  const auto at = objects_.find(id);
  return at == objects_.end() ? Object() : at->second.object;
}

Object FakeWorld::update(const Kind& kind, const Key& key,
                         const std::function<void(Value& object)>& edit) {
  const Object before = must(kind, key);
  if (before.body().is_null()) {
    return before;
  }
  Value body = before.body();
  edit(body);
  store(id_of(kind, key), std::move(body));
  return get(kind, key).value_or(Object());
}

void FakeWorld::remove(const Kind& kind, const Key& key, Propagation mode) {
  const std::vector<Write> kept = writes;
  const auto done = run(Delete{.target = {&kind, key}, .mode = mode}, "user");
  EXPECT_TRUE(done.ok());
  writes = kept;
}

void FakeWorld::configure(std::string_view section, Value settings) {
  config_[std::string(section)] = std::move(settings);
}

void FakeWorld::observe_as(std::string_view query, Value answer) {
  observations_[std::string(query)] = {.value = std::move(answer), .at = now};
  changed_queries_.emplace_back(query);
}

void FakeWorld::fail_observation(std::string_view query, Error error) {
  Observed& observed = observations_[std::string(query)];
  observed.error = std::move(error);
  observed.at = now;
  observed.in_flight = false;
  changed_queries_.emplace_back(query);
}

void FakeWorld::forget_observation(std::string_view query) {
  if (const auto at = observations_.find(query); at != observations_.end()) {
    observations_.erase(at);
  }
  changed_queries_.emplace_back(query);
}

std::optional<Object> FakeWorld::get(const Kind& kind, const Key& key) const {
  const auto at = objects_.find(id_of(kind, key));
  if (at == objects_.end()) {
    return std::nullopt;
  }
  return at->second.object;
}

std::vector<Object> FakeWorld::list(const Kind& kind, const Select& select) const {
  std::vector<Object> found;
  const Id first{std::string(kind.group), std::string(kind.name), select.ns, ""};
  for (auto at = objects_.lower_bound(first); at != objects_.end(); ++at) {
    if (std::get<0>(at->first) != kind.group || std::get<1>(at->first) != kind.name) {
      break;
    }
    if (selects(kind, select, at->second.object, indexes_)) {
      found.push_back(at->second.object);
    }
  }
  return found;
}

Observed FakeWorld::observe(std::string_view query, Duration) const {
  const auto at = observations_.find(query);
  return at == observations_.end() ? Observed{} : at->second;
}

const Value& FakeWorld::config(std::string_view section) const {
  static const Value kNone;
  const auto at = config_.find(section);
  return at == config_.end() ? kNone : at->second;
}

Object FakeWorld::must(const Kind& kind, const Key& key) const {
  const auto found = get(kind, key);
  if (!found) {
    ADD_FAILURE() << "no " << kind.name << " " << key.text();
    return {};
  }
  return *found;
}

Value FakeWorld::condition(const Kind& kind, const Key& key, std::string_view type) const {
  return find_condition(must(kind, key).status()["conditions"], type);
}

int FakeWorld::event_count(std::string_view reason, std::string_view about_name) const {
  int total = 0;
  for (const RecordedEvent& event : events) {
    if (event.reason == reason && (about_name.empty() || event.about.name == about_name)) {
      total += event.count;
    }
  }
  return total;
}

}  // namespace athanor::test
