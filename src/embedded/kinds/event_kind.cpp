// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/event_kind.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/ascii.hpp"
#include "embedded/kinds/edit.hpp"

namespace athanor::apiserver {
namespace {

bool is_modern(const Value& event) {
  return event["apiVersion"].as_string() == "events.k8s.io/v1";
}

// A field under its name in core/v1, or in events.k8s.io/v1.
const Value& field(const Value& event, std::string_view core, std::string_view modern) {
  return event[is_modern(event) ? modern : core];
}

const Value& about(const Value& event) {
  return field(event, "involvedObject", "regarding");
}

std::string source_text(const Value& event) {
  const Value& source = field(event, "source", "deprecatedSource");
  std::string component = source["component"].str();
  if (component.empty()) {
    component = field(event, "reportingComponent", "reportingController").str();
  }
  std::string host = source["host"].str();
  if (host.empty()) {
    host = event["reportingInstance"].str();
  }
  return host.empty() ? component : fmt::format("{}, {}", component, host);
}

}  // namespace

namespace {

constexpr std::size_t kMaxText = 128;
constexpr std::size_t kMaxNote = 1024;

void check_length(FieldErrors& errors, const std::string& path, std::string_view text,
                  std::size_t limit) {
  if (text.size() > limit) {
    errors.push_back(
        FieldError::invalid(path, "", fmt::format("can have at most {} characters", limit)));
  }
}

// What every event obeys: one without eventTime is of the old kind.
void check_event(FieldErrors& errors, const Value& object) {
  const std::string ns = object["metadata"]["namespace"].str();
  const std::string involved = about(object)["namespace"].str();
  const bool modern = object["eventTime"].is_string();
  // Events about cluster-scoped objects live in the default namespace.
  const bool matches = involved.empty()
                           ? is_one_of(ns, {"", "default"}) || (modern && ns == "kube-system")
                           : modern || involved == ns;
  if (!matches) {
    errors.push_back(FieldError::invalid("involvedObject.namespace", involved,
                                         "does not match event.namespace"));
  }
  if (!modern) {
    return;
  }
  const std::string controller = is_modern(object) ? "reportingController" : "reportingComponent";
  require(errors, controller, object[controller]);
  for (const std::string& wrong : qualified_name_errors(object[controller].as_string())) {
    errors.push_back(FieldError::invalid(controller, object[controller].str(), wrong));
  }
  for (const std::string_view field : {"reportingInstance", "action", "reason"}) {
    const std::string path(field);
    require(errors, path, object[field]);
    check_length(errors, path, object[field].as_string(), kMaxText);
  }
  check_length(errors, "message", field(object, "message", "note").as_string(), kMaxNote);
}

void check_series(FieldErrors& errors, const Value& series) {
  if (!series.is_object()) {
    return;
  }
  if (series["count"].as_int() < 2) {
    errors.push_back(FieldError::invalid("series.count", "", "should be at least 2"));
  }
  require(errors, "series.lastObservedTime", series["lastObservedTime"]);
}

}  // namespace

FieldErrors validate_event(const Value& object, const KindContext& context) {
  FieldErrors errors;
  check_event(errors, object);
  if (context.resource.group != "events.k8s.io") {
    return errors;
  }
  check_series(errors, object["series"]);
  require(errors, "eventTime", object["eventTime"]);
  if (!is_one_of(object["type"].as_string(), {"Normal", "Warning"})) {
    errors.push_back(FieldError::invalid(
        "type", "", fmt::format("has invalid value: {}", object["type"].as_string())));
  }
  for (const auto& [name, old] :
       {std::pair<std::string_view, std::string_view>{"firstTimestamp", "deprecatedFirstTimestamp"},
        {"lastTimestamp", "deprecatedLastTimestamp"},
        {"count", "deprecatedCount"},
        {"source", "deprecatedSource"}}) {
    const Value& value = object[old];
    const bool unset = value.is_null() || (value.is_number() && value.as_int() == 0) ||
                       (value.is_object() && value.empty());
    if (!unset) {
      errors.push_back(FieldError::invalid(name, "", "needs to be unset"));
    }
  }
  return errors;
}

FieldErrors validate_event_update(const Value& object, const Value& old_object,
                                  const KindContext& context) {
  FieldErrors errors;
  check_event(errors, object);
  if (context.resource.group != "events.k8s.io") {
    return errors;
  }
  if (object["series"] != old_object["series"]) {
    check_series(errors, object["series"]);
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kFixed = {{
      {"involvedObject", "regarding"},
      {"reason", "reason"},
      {"message", "note"},
      {"source", "deprecatedSource"},
      {"firstTimestamp", "deprecatedFirstTimestamp"},
      {"lastTimestamp", "deprecatedLastTimestamp"},
      {"count", "deprecatedCount"},
      {"type", "type"},
      {"eventTime", "eventTime"},
      {"action", "action"},
      {"related", "related"},
      {"reportingController", "reportingController"},
  }};
  for (const auto& [name, now] : kFixed) {
    const Value& given = object[now];
    const bool none = name == "count" && given.is_null() && !old_object[now].is_null();
    check_unchanged(errors, std::string(name), none ? Value(0) : given, old_object[now]);
  }
  check_unchanged(errors, "reportingInstance", object["reportingInstance"],
                  old_object["reportingInstance"]);
  return errors;
}

Cells event_cells(const Value& object, Instant now) {
  const Value& first_time = field(object, "firstTimestamp", "deprecatedFirstTimestamp");
  const Value& last_time = field(object, "lastTimestamp", "deprecatedLastTimestamp");
  const Value& series = object["series"];
  const Value first =
      since_cell(first_time.as_string().empty() ? object["eventTime"] : first_time, now);
  Value last = last_time.as_string().empty() ? first : since_cell(last_time, now);
  std::int64_t count = field(object, "count", "deprecatedCount").as_int();
  if (series.is_object()) {
    last = since_cell(series["lastObservedTime"], now);
    count = series["count"].as_int();
  } else if (count == 0) {
    count = 1;
  }
  const std::string kind = lower(about(object)["kind"].as_string());
  const std::string_view name = about(object)["name"].as_string();
  return {last,
          object["type"].str(),
          object["reason"].str(),
          name.empty() ? kind : fmt::format("{}/{}", kind, name),
          about(object)["fieldPath"].str(),
          source_text(object),
          trimmed(field(object, "message", "note").as_string()),
          first,
          count,
          name_cell(object)};
}

}  // namespace athanor::apiserver
