// SPDX-License-Identifier: Apache-2.0
#include "sim/properties/kind_rules.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "embedded/bridge/kind_feed.hpp"

namespace athanor::sim {

namespace {

using KindNews = std::span<const store::EventPtr>;

std::string stored_name(const store::Stored& object) {
  return object.resource + " " + object.key.text();
}

}  // namespace

Invariant runs_once(const Kind& owner, const Kind& child,
                    std::function<bool(const Object&)> given_up) {
  const std::string resource = bridge::KindFeed::resource_of(child);
  // By the owner's uid: its child as it was last seen.
  const auto last = std::make_shared<std::map<std::string, Value, std::less<>>>();
  return {
      .name = fmt::format("no {} runs twice", owner.name),
      .check = [resource, last, given_up = std::move(given_up), &owner](
                   const World&, KindNews news) -> std::optional<std::string> {
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
                                 reference["name"].as_string(), stored_name(*event->object));
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
                       const World&, KindNews news) -> std::optional<std::string> {
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
                                     stored_name(*event->object), key);
                }
              }
            }
            return std::nullopt;
          }};
}

}  // namespace athanor::sim
