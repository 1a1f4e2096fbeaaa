// SPDX-License-Identifier: Apache-2.0
// Live reads as observations.
#include "runtime/view/live.hpp"

#include <array>
#include <utility>

namespace athanor {
namespace {

constexpr std::string_view kPrefix = "live:";

std::string part(std::string_view text) {
  return text.empty() ? "-" : std::string(text);
}

Live live_of(const View& view, const LiveQuery& query, Instant now) {
  const Observed seen = view.observe(query.text(), kLiveAge);
  Live live;
  const bool fresh = !seen.in_flight && now - seen.at <= kLiveAge;
  if (seen.error && fresh) {
    live.error = seen.error;
  } else if (seen.value && fresh) {
    live.known = true;
    for (const Value& body : (*seen.value)["objects"].items()) {
      live.objects.emplace_back(body);
    }
  }
  return live;
}

}  // namespace

LiveQuery LiveQuery::of(const Kind& kind, const Key& key) {
  return {.group = std::string(kind.group),
          .version = std::string(kind.version),
          .kind = std::string(kind.name),
          .plural = std::string(kind.plural),
          .key = key};
}

std::optional<LiveQuery> LiveQuery::parse(std::string_view query) {
  if (!query.starts_with(kPrefix)) {
    return std::nullopt;
  }
  query.remove_prefix(kPrefix.size());
  std::array<std::string, 8> parts;
  for (std::string& one : parts) {
    const auto end = query.find(' ');
    one = query.substr(0, end) == "-" ? std::string() : std::string(query.substr(0, end));
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
  }
  if (parts[3].empty() || !query.empty()) {
    return std::nullopt;
  }
  return LiveQuery{.group = parts[0],
                   .version = parts[1],
                   .kind = parts[2],
                   .plural = parts[3],
                   .key = {.ns = parts[4], .name = parts[5]},
                   .seen = parts[6],
                   .label = parts[7]};
}

std::string LiveQuery::text() const {
  std::string text(kPrefix);
  for (const std::string* one : {&group, &version, &kind, &plural, &key.ns}) {
    text += part(*one) + " ";
  }
  text += part(key.name);
  if (!label.empty()) {
    return text + " " + part(seen) + " " + label;
  }
  return seen.empty() ? text : text + " " + seen;
}

std::string LiveQuery::path() const {
  std::string path = group.empty() ? "/api/" + version : "/apis/" + group + "/" + version;
  if (!key.ns.empty()) {
    path += "/namespaces/" + key.ns;
  }
  path += "/" + plural;
  if (!key.name.empty()) {
    return path + "/" + key.name;
  }
  // Only these two characters of a label have a meaning in a query.
  std::string escaped;
  for (const char one : label) {
    escaped += one == '/' ? "%2F" : one == '=' ? "%3D" : std::string(1, one);
  }
  return label.empty() ? path : path + "?labelSelector=" + escaped;
}

Value LiveQuery::answer(const std::vector<Object>& objects) {
  Value list = Value::list();
  for (const Object& object : objects) {
    list.push_back(object.body());
  }
  return Value::object({{"objects", std::move(list)}});
}

Live read_live(const View& view, const Kind& kind, const Key& key, Instant now,
               std::string_view seen) {
  LiveQuery query = LiveQuery::of(kind, key);
  query.seen = seen;
  return live_of(view, query, now);
}

Live list_live(const View& view, const Kind& kind, const Labelled& which, Instant now,
               std::string_view seen) {
  LiveQuery query = LiveQuery::of(kind, {which.ns, ""});
  query.seen = seen;
  query.label = which.label;
  return live_of(view, query, now);
}

Live list_live(const View& view, const Kind& kind, Instant now) {
  return read_live(view, kind, {}, now);
}

}  // namespace athanor
