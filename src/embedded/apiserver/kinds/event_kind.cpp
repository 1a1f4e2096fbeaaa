// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/kinds/event_kind.hpp"

#include <fmt/format.h>

#include "embedded/apiserver/kinds/edit.hpp"

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

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return result;
}

std::string source_text(const Value& event) {
  const Value& source = field(event, "source", "deprecatedSource");
  std::string component = source["component"].str();
  std::string host = source["host"].str();
  if (component.empty()) {
    component = field(event, "reportingComponent", "reportingController").str();
    host = event["reportingInstance"].str();
  }
  return host.empty() ? component : fmt::format("{}, {}", component, host);
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) {
    return "";
  }
  return std::string(text.substr(first, text.find_last_not_of(kBlank) - first + 1));
}

}  // namespace

FieldErrors validate_event(const Value& object, const KindContext& context) {
  FieldErrors errors;
  const std::string ns = object["metadata"]["namespace"].str();
  const std::string involved = about(object)["namespace"].str();
  // Events about cluster-scoped objects live in the default namespace.
  const bool matches = involved == ns || (involved.empty() && is_one_of(ns, {"", "default"}));
  if (!matches) {
    errors.push_back(FieldError::invalid("involvedObject.namespace", involved,
                                         "does not match event.namespace"));
  }
  if (context.resource.group == "events.k8s.io") {
    require(errors, "eventTime", object["eventTime"]);
    for (const std::string_view required :
         {"reportingController", "reportingInstance", "action", "reason"}) {
      require(errors, std::string(required), object[required]);
    }
    if (!is_one_of(object["type"].as_string(), {"Normal", "Warning"})) {
      errors.push_back(FieldError::invalid("type", object["type"].str(), "has invalid value: "));
    }
  }
  return errors;
}

FieldErrors validate_event_update(const Value& object, const Value& old_object,
                                  const KindContext& context) {
  if (context.resource.group != "events.k8s.io") {
    return validate_event(object, context);
  }
  FieldErrors errors;
  for (const std::string_view fixed :
       {"regarding", "related", "reason", "note", "type", "eventTime", "reportingController",
        "reportingInstance", "action"}) {
    check_unchanged(errors, std::string(fixed), object[fixed], old_object[fixed]);
  }
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
