// SPDX-License-Identifier: Apache-2.0
// Events as rows, the newest last. Pure.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "views/listing.hpp"

namespace athanor::views {

// An object and what belongs to it.
struct EventSubject {
  std::string name{};  // objects of this name, of any kind, and those whose names begin with it
  std::set<std::pair<std::string, std::string>> members{};  // kind and name
};
bool is_about(const Object& event, const EventSubject& subject);

// Returns the time when an event was seen last; the epoch: it does not say.
Instant last_seen(const Object& event);
Traits event_traits(const Object& event);
std::vector<std::string> event_header(bool with_namespace);
std::vector<std::size_t> event_widths(bool with_namespace);
std::vector<std::string> event_cells(const Object& event, bool with_namespace, Instant now);
Listing event_listing(std::vector<Object> events, bool with_namespace, Instant now);

}  // namespace athanor::views
