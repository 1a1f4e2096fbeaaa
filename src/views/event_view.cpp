// SPDX-License-Identifier: Apache-2.0
#include "views/event_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace athanor::views {
namespace {

std::int64_t times_seen(const Object& event) {
  const std::int64_t series = event.body()["series"]["count"].as_int();
  return std::max<std::int64_t>({1, series, event.body()["count"].as_int()});
}

}  // namespace

bool is_about(const Object& event, const EventSubject& subject) {
  const Value& object = event.body()["involvedObject"];
  const std::string name = object["name"].str();
  return name == subject.name || name.starts_with(subject.name + "-") ||
         name.starts_with(subject.name + ".") ||
         subject.members.contains({object["kind"].str(), name});
}

Instant last_seen(const Object& event) {
  const Value& body = event.body();
  for (const Value* text : {&body["series"]["lastObservedTime"], &body["lastTimestamp"],
                            &body["eventTime"], &body["firstTimestamp"]}) {
    if (const auto at = parse_time(text->as_string())) {
      return *at;
    }
  }
  return event.creation_time().value_or(Instant());
}

Traits event_traits(const Object& event) {
  return {.phase = event.body()["type"].str(), .owner = {}};
}

std::vector<std::string> event_header(bool with_namespace) {
  std::vector<std::string> header{"LAST", "TYPE", "REASON", "OBJECT", "COUNT", "MESSAGE"};
  if (with_namespace) {
    header.insert(header.begin(), "NAMESPACE");
  }
  return header;
}

std::vector<std::size_t> event_widths(bool with_namespace) {
  std::vector<std::size_t> widths{5, 7, 20, 30, 5, 7};
  if (with_namespace) {
    widths.insert(widths.begin(), 18);
  }
  return widths;
}

std::vector<std::string> event_cells(const Object& event, bool with_namespace, Instant now) {
  const Value& body = event.body();
  const Value& object = body["involvedObject"];
  std::string message = body["message"].str();
  std::ranges::replace(message, '\n', ' ');
  std::vector<std::string> cells;
  if (with_namespace) {
    cells.emplace_back(event.ns());
  }
  for (std::string cell :
       {format_age(now - last_seen(event)), body["type"].str(), body["reason"].str(),
        fmt::format("{}/{}", object["kind"].as_string(), object["name"].as_string()),
        std::to_string(times_seen(event)), message}) {
    cells.push_back(std::move(cell));
  }
  return cells;
}

Listing event_listing(std::vector<Object> events, bool with_namespace, Instant now) {
  std::ranges::stable_sort(events, {}, [](const Object& event) {
    return std::pair(last_seen(event), std::string(event.name()));
  });
  Listing listing{.titles = event_header(with_namespace)};
  for (const Object& event : events) {
    listing.rows.push_back({.object = event,
                            .cells = event_cells(event, with_namespace, now),
                            .traits = event_traits(event)});
  }
  return listing;
}

}  // namespace athanor::views
