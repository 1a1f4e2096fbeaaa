// SPDX-License-Identifier: Apache-2.0
#include "views/description.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kube/value/condition.hpp"
#include "views/reasons.hpp"
#include "views/table.hpp"

namespace athanor::views {
namespace {

constexpr std::size_t kMostEvents = 20;

// The time of an event, in whichever member its writer has put it.
std::optional<Instant> time_of_event(const Object& event) {
  for (const char* member : {"lastTimestamp", "eventTime", "firstTimestamp"}) {
    if (const auto at = parse_time(event.body()[member].as_string())) {
      return at;
    }
  }
  if (const auto at = parse_time(event.body()["series"]["lastObservedTime"].as_string())) {
    return at;
  }
  return event.creation_time();
}

std::string indented(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += "  " + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

}  // namespace

void add_fact(Description& description, std::string title, std::string text) {
  if (!text.empty()) {
    description.facts.emplace_back(std::move(title), std::move(text));
  }
}

void add_conditions(Description& description, const Object& object) {
  if (const auto created = object.creation_time()) {
    description.timeline.push_back({.at = *created, .what = "created"});
  }
  for (const Value& condition : object.status()["conditions"].items()) {
    const auto at = parse_time(condition["lastTransitionTime"].as_string());
    if (!at) {
      continue;
    }
    const std::string message = clear_reason(condition["message"].as_string());
    description.timeline.push_back(
        {.at = *at,
         .what = fmt::format("{}={} {}{}{}", condition["type"].as_string(),
                             condition["status"].as_string(), condition["reason"].as_string(),
                             message.empty() ? "" : ": ", message)});
  }
}

void finish_timeline(Description& description, std::optional<Instant> end) {
  auto& timeline = description.timeline;
  std::ranges::stable_sort(timeline, {}, &Description::Moment::at);
  for (std::size_t i = 0; i < timeline.size(); ++i) {
    if (timeline[i].lasted) {
      continue;
    }
    const auto next = i + 1 < timeline.size() ? std::optional(timeline[i + 1].at) : end;
    if (next && *next >= timeline[i].at) {
      timeline[i].lasted = *next - timeline[i].at;
    }
  }
}

void add_child(Description& description, const Object& object) {
  Description::Child child{.kind = std::string(object.kind()),
                           .name = std::string(object.name()),
                           .state = object.status()["phase"].str()};
  for (const char* type : {"Finished", "Admitted", "Succeeded", "QuotaReserved"}) {
    const Value& condition = find_condition(object.status()["conditions"], type);
    if (child.state.empty() && condition.is_object()) {
      child.state = condition["reason"].str();
      child.message = clear_reason(condition["message"].as_string());
    }
  }
  for (const char* type : {"Complete", "Failed"}) {
    if (child.state.empty() && condition_is(object.status()["conditions"], type, "True")) {
      child.state = type;
      child.message = find_condition(object.status()["conditions"], type)["message"].str();
    }
  }
  description.children.push_back(std::move(child));
}

void add_events(Description& description, const std::vector<Object>& events) {
  const auto concerns = [&](const Value& about) {
    const std::string_view kind = about["kind"].as_string();
    const std::string_view name = about["name"].as_string();
    return (kind == description.kind && name == description.name) ||
           std::ranges::any_of(description.children, [&](const Description::Child& child) {
             return child.kind == kind && child.name == name;
           });
  };
  for (const Object& event : events) {
    const Value& body = event.body();
    const Value& about =
        body.contains("involvedObject") ? body["involvedObject"] : body["regarding"];
    const auto at = time_of_event(event);
    if (!at || !concerns(about)) {
      continue;
    }
    const std::int64_t count =
        std::max({body["count"].as_int(1), body["series"]["count"].as_int(1), std::int64_t{1}});
    description.events.push_back(
        {.last = *at,
         .count = count,
         .type = body["type"].str(),
         .reason = body["reason"].str(),
         .object = about["kind"].str() + "/" + about["name"].str(),
         .message = body.contains("message") ? body["message"].str() : body["note"].str()});
  }
  std::ranges::stable_sort(description.events, {}, &Description::Event::last);
  if (description.events.size() > kMostEvents) {
    description.events.erase(description.events.begin(),
                             description.events.end() - static_cast<std::ptrdiff_t>(kMostEvents));
  }
}

Value Description::to_value() const {
  Value fact_values = Value::object();
  for (const auto& [title, text] : facts) {
    fact_values.set(title, text);
  }
  Value moments = Value::list();
  for (const Moment& moment : timeline) {
    Value one = Value::object({{"at", format_time(moment.at)}, {"what", moment.what}});
    if (moment.lasted) {
      one.set("seconds", std::chrono::duration<double>(*moment.lasted).count());
    }
    moments.push_back(std::move(one));
  }
  Value child_values = Value::list();
  for (const Child& child : children) {
    child_values.push_back(Value::object({{"kind", child.kind},
                                          {"name", child.name},
                                          {"state", child.state},
                                          {"message", child.message}}));
  }
  Value event_values = Value::list();
  for (const Event& event : events) {
    event_values.push_back(Value::object({{"last", format_time(event.last)},
                                          {"count", event.count},
                                          {"type", event.type},
                                          {"reason", event.reason},
                                          {"object", event.object},
                                          {"message", event.message}}));
  }
  return Value::object({{"kind", kind},
                        {"namespace", ns},
                        {"name", name},
                        {"facts", std::move(fact_values)},
                        {"timeline", std::move(moments)},
                        {"children", std::move(child_values)},
                        {"events", std::move(event_values)},
                        {"why", why}});
}

std::string Description::text(Instant now) const {
  std::size_t width = 0;
  for (const auto& [title, text] : facts) {
    width = std::max(width, title.size());
  }
  std::string out = fmt::format("{} {}{}{}\n", kind, ns, ns.empty() ? "" : "/", name);
  for (const auto& [title, text] : facts) {
    out += fmt::format("  {:<{}}   {}\n", title, width, text);
  }
  if (!why.empty()) {
    out += "\nWhy\n" + indented(why);
  }
  if (!timeline.empty()) {
    Table table({"TIME", "LASTED", "WHAT"});
    for (const Moment& moment : timeline) {
      table.add(
          {format_time(moment.at), moment.lasted ? format_age(*moment.lasted) : "-", moment.what});
    }
    out += "\nTimeline\n" + indented(table.text());
  }
  if (!children.empty()) {
    Table table({"KIND", "NAME", "STATE", "MESSAGE"});
    for (const Child& child : children) {
      table.add({child.kind, child.name, child.state.empty() ? "-" : child.state, child.message});
    }
    out += "\nChildren\n" + indented(table.text());
  }
  if (!events.empty()) {
    Table table({"LAST", "COUNT", "TYPE", "REASON", "OBJECT", "MESSAGE"});
    for (const Event& event : events) {
      table.add({format_age(now - event.last), std::to_string(event.count), event.type,
                 event.reason, event.object, event.message});
    }
    out += "\nEvents\n" + indented(table.text());
  }
  return out;
}

}  // namespace athanor::views
