// SPDX-License-Identifier: Apache-2.0
// Description: one object with its timeline, children, events and the reason why it waits, as data;
// text and JSON are made from it. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::views {

// One object as `athanor describe` prints it, and as a console's page shows it.
struct Description {
  // Something that happened; `lasted` until it ended, or until the next one.
  struct Moment {
    Instant at{};
    std::string what{};
    std::optional<Duration> lasted{};
  };
  struct Child {
    std::string kind{};
    std::string name{};
    std::string state{};
    std::string message{};
  };
  struct Event {
    Instant last{};
    std::int64_t count = 1;
    std::string type{};
    std::string reason{};
    std::string object{};  // "Pod/a"
    std::string message{};
  };

  std::string kind{};
  std::string ns{};  // empty: cluster-scoped
  std::string name{};
  std::vector<std::pair<std::string, std::string>> facts{};
  std::vector<Moment> timeline{};
  std::vector<Child> children{};
  std::vector<Event> events{};
  std::string why{};  // lines

  [[nodiscard]] Value to_value() const;
  [[nodiscard]] std::string text(Instant now) const;
};

// Adds a moment for the creation and for each condition, in order of time.
void add_conditions(Description& description, const Object& object);
// Sorts the timeline; a moment without a length lasts until the next one. `end`: of the last one.
void finish_timeline(Description& description, std::optional<Instant> end);
// Adds a child with its phase, the reason of its condition Finished, Admitted, Succeeded or
// QuotaReserved, or the end of a batch Job.
void add_child(Description& description, const Object& object);
// Adds the events that are about the object or its children, the oldest first; at most the last 20.
void add_events(Description& description, const std::vector<Object>& events);
// Adds a fact unless it is empty.
void add_fact(Description& description, std::string title, std::string text);

}  // namespace athanor::views
