// SPDX-License-Identifier: Apache-2.0
// The rules.
#include "simulation/invariants.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "embedded/bridge/kind_feed.hpp"

namespace athanor::sim {

namespace {

using News = std::span<const store::EventPtr>;

std::string full_name(const store::Stored& object) {
  return object.resource + " " + object.key.text();
}

std::optional<std::string> find_orphan(const World& world) {
  const std::vector<store::StoredPtr> all = world.stored();
  std::set<std::string_view> uids;
  for (const store::StoredPtr& object : all) {
    uids.insert(object->body["metadata"]["uid"].as_string());
  }
  for (const store::StoredPtr& object : all) {
    const Value& owners = object->body["metadata"]["ownerReferences"];
    bool owned = owners.size() == 0;
    for (const Value& owner : owners.items()) {
      owned = owned || uids.contains(owner["uid"].as_string());
    }
    if (!owned) {
      return fmt::format("{} is left although its owner {} is gone", full_name(*object),
                         owners[0]["name"].as_string());
    }
  }
  return std::nullopt;
}

Invariant no_return() {
  const auto gone = std::make_shared<std::set<std::string, std::less<>>>();
  return {.name = "no deleted object comes back",
          .check = [gone](const World&, News news) -> std::optional<std::string> {
            for (const store::EventPtr& event : news) {
              const auto uid = event->object->body["metadata"]["uid"].as_string();
              if (event->type == store::Event::Type::Deleted) {
                gone->emplace(uid);
              } else if (!gone->empty() && gone->contains(uid)) {
                return full_name(*event->object) + " was written after its deletion";
              }
            }
            return std::nullopt;
          }};
}

Invariant identity_stays() {
  return {.name = "an object keeps its identity",
          .check = [](const World&, News news) -> std::optional<std::string> {
            for (const store::EventPtr& event : news) {
              if (event->type != store::Event::Type::Modified) {
                continue;
              }
              const Value& before = event->previous->body["metadata"];
              const Value& after = event->object->body["metadata"];
              if (before["uid"] != after["uid"] ||
                  before["creationTimestamp"] != after["creationTimestamp"]) {
                return full_name(*event->object) + " changed its uid or time of creation";
              }
              if (before.contains("deletionTimestamp") && !after.contains("deletionTimestamp")) {
                return full_name(*event->object) + " was deleted and lives again";
              }
            }
            return std::nullopt;
          }};
}

// What was decided on an object that is gone does not reach the next one of its name.
Invariant own_status() {
  return {.name = "no status speaks of a generation to come",
          .check = [](const World&, News news) -> std::optional<std::string> {
            for (const store::EventPtr& event : news) {
              const Value& body = event->object->body;
              const Value& observed = body["status"]["observedGeneration"];
              const Value& generation = body["metadata"]["generation"];
              if (observed.is_integer() && generation.is_integer() &&
                  observed.as_int() > generation.as_int()) {
                return fmt::format("{} is of generation {}, and its status of {}",
                                   full_name(*event->object), generation.as_int(),
                                   observed.as_int());
              }
            }
            return std::nullopt;
          }};
}

}  // namespace

std::vector<Invariant> common_invariants() {
  return {
      {.name = "no orphan after its owner",
       .when = Invariant::When::AtRest,
       .check = [](const World& world, News) { return find_orphan(world); }},
      no_return(),
      identity_stays(),
      own_status(),
  };
}

Invariant runs_once(const Kind& owner, const Kind& child,
                    std::function<bool(const Object&)> given_up) {
  const std::string resource = bridge::KindFeed::resource_of(child);
  // By the owner's uid: its child as it was last seen.
  const auto last = std::make_shared<std::map<std::string, Value, std::less<>>>();
  return {
      .name = fmt::format("no {} runs twice", owner.name),
      .check = [resource, last, given_up = std::move(given_up), &owner](
                   const World&, News news) -> std::optional<std::string> {
        for (const store::EventPtr& event : news) {
          if (event->object->resource != resource) {
            continue;
          }
          const Value& body = event->object->body;
          for (const Value& reference : body["metadata"]["ownerReferences"].items()) {
            if (reference["kind"].as_string() != owner.name || !reference["controller"].as_bool()) {
              continue;
            }
            Value& seen = (*last)[reference["uid"].str()];
            const bool another =
                !seen.is_null() && seen["metadata"]["uid"] != body["metadata"]["uid"];
            if (another && !(given_up && given_up(Object(seen)))) {
              return fmt::format("{} {} got a second run: {}", owner.name,
                                 reference["name"].as_string(), full_name(*event->object));
            }
            seen = body;
          }
        }
        return std::nullopt;
      }};
}

Invariant finished_stays(const Kind& kind, std::function<bool(const Object&)> finished,
                         std::vector<std::string> kept) {
  const std::string resource = bridge::KindFeed::resource_of(kind);
  return {.name = fmt::format("finished {} stays", kind.name),
          .check = [resource, finished = std::move(finished), kept = std::move(kept)](
                       const World&, News news) -> std::optional<std::string> {
            for (const store::EventPtr& event : news) {
              if (event->type != store::Event::Type::Modified ||
                  event->object->resource != resource || !finished(Object(event->previous->body))) {
                continue;
              }
              const Value& before = event->previous->body["status"];
              const Value& after = event->object->body["status"];
              for (const std::string& key : kept) {
                if (before[key] != after[key]) {
                  return fmt::format("{} had finished, and its status.{} changed",
                                     full_name(*event->object), key);
                }
              }
            }
            return std::nullopt;
          }};
}

}  // namespace athanor::sim
