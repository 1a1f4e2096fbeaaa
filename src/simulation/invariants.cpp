// SPDX-License-Identifier: Apache-2.0
// The rules.
#include "simulation/invariants.hpp"

#include <fmt/format.h>

#include <set>

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

}  // namespace athanor::sim
