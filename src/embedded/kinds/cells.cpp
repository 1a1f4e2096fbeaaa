// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/cells.hpp"

#include <fmt/format.h>

#include <map>

#include "kube/names/selector.hpp"
#include "kube/text/json.hpp"

namespace athanor::apiserver {

Value name_cell(const Value& object) {
  return {object["metadata"]["name"].str()};
}

Value since_cell(const Value& time, Instant now, std::string_view fallback) {
  const auto instant = parse_time(time.as_string());
  return instant ? Value(format_age(now - *instant)) : Value(fallback);
}

Value age_cell(const Value& object, Instant now) {
  return since_cell(object["metadata"]["creationTimestamp"], now);
}

Value text_cell(const Value& text, std::string_view fallback) {
  return text.as_string().empty() ? Value(fallback) : Value(text.str());
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

Value labels_cell(const Value& labels) {
  std::map<std::string, std::string> sorted;
  for (const Member& label : labels.members()) {
    sorted.emplace(label.key(), label.value.str());
  }
  std::vector<std::string> parts;
  parts.reserve(sorted.size());
  for (const auto& [key, value] : sorted) {
    parts.push_back(fmt::format("{}={}", key, value));
  }
  return parts.empty() ? Value(kNone) : Value(join(parts, ","));
}

Value selector_cell(const Value& selector) {
  const auto parsed = LabelSelector::from_value(selector);
  if (selector.is_null() || !parsed.ok() || parsed->text().empty()) {
    return kNone;
  }
  return {parsed->text()};
}

namespace {

Value container_texts(const Value& pod_spec, std::string_view field) {
  std::vector<std::string> parts;
  for (const Value& container : pod_spec["containers"].items()) {
    parts.push_back(container[field].str());
  }
  return {join(parts, ",")};
}

}  // namespace

Value containers_cell(const Value& pod_spec) {
  return container_texts(pod_spec, "name");
}

Value images_cell(const Value& pod_spec) {
  return container_texts(pod_spec, "image");
}

Value list_cell(const Value& list, std::string_view separator) {
  std::vector<std::string> parts;
  for (const Value& item : list.items()) {
    parts.push_back(item.str());
  }
  return parts.empty() ? Value(kNone) : Value(join(parts, separator));
}

std::string scalar_text(const Value& value) {
  return value.is_string() ? value.str() : json::print(value);
}

}  // namespace athanor::apiserver
