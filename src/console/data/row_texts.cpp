// SPDX-License-Identifier: Apache-2.0
#include "console/data/row_texts.hpp"

#include <algorithm>
#include <cmath>

namespace athanor::console {

void set_text(Value& row, std::string_view name, std::string_view text) {
  if (!text.empty()) {
    row.set(name, text);
  }
}

void set_time(Value& row, std::string_view name, const std::optional<Instant>& time) {
  if (time) {
    row.set(name, format_time(*time));
  }
}

double seconds_of(Duration length) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(length);
  return static_cast<double>(milliseconds.count()) / 1000.0;
}

Value row_of(const Object& object) {
  Value row = Value::object();
  set_text(row, "ns", object.ns());
  row.set("name", object.name());
  row.set("uid", object.uid());
  row.set("resourceVersion", object.resource_version());
  set_text(row, "created", object.metadata()["creationTimestamp"].as_string());
  return row;
}

std::string safe_link(std::string_view link) {
  const bool web = link.starts_with("https://") || link.starts_with("http://");
  const bool plain = std::ranges::all_of(link, [](char c) { return c > ' ' && c != '\x7f'; });
  return web && plain ? std::string(link) : std::string();
}

Value condition_list(const Value& conditions) {
  Value list = Value::list();
  for (const Value& condition : conditions.items()) {
    list.push_back(Value::object({{"type", condition["type"]},
                                  {"status", condition["status"]},
                                  {"reason", condition["reason"]},
                                  {"message", condition["message"]},
                                  {"at", condition["lastTransitionTime"]}}));
  }
  return list;
}

Value shown_object(const Object& object) {
  Value body = object.body();
  body.erase_path({"metadata", "managedFields"});
  if (object.kind() == "Secret") {
    body.erase_path(
        {"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"});
    for (const char* part : {"data", "stringData"}) {
      Value masked = Value::object();
      for (const Member& member : object.body()[part].members()) {
        masked.set(member.key(), "***");
      }
      if (body.contains(part)) {
        body.set(part, std::move(masked));
      }
    }
  }
  return body;
}

std::optional<double> quantile(std::vector<double> seconds, double part) {
  if (seconds.empty()) {
    return std::nullopt;
  }
  std::ranges::sort(seconds);
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(seconds.size())));
  return seconds[std::clamp<std::size_t>(rank, 1, seconds.size()) - 1];
}

}  // namespace athanor::console
