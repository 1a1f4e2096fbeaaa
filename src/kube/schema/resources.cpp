// SPDX-License-Identifier: Apache-2.0
#include "kube/schema/resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.hpp"
#include "kube/schema/data.hpp"
#include "kube/text/text_table.hpp"

namespace athanor {
namespace {

using text_table::split;
using text_table::take;

void split_group_version(std::string_view text, std::string& group, std::string& version) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    group.clear();
    version = text;
    return;
  }
  group = text.substr(0, slash);
  version = text.substr(slash + 1);
}

// "*" and "gpu" are short for the verbs named in the table's head.
std::vector<std::string> parse_verbs(std::string_view text) {
  std::vector<std::string> verbs;
  for (std::string& verb : split(text, ',')) {
    if (verb == "*") {
      verbs.insert(verbs.end(), {"create", "delete", "deletecollection", "get", "list", "patch",
                                 "update", "watch"});
    } else if (verb == "gpu") {
      verbs.insert(verbs.end(), {"get", "patch", "update"});
    } else {
      verbs.push_back(std::move(verb));
    }
  }
  return verbs;
}

// name[group/version/Kind]:verbs
std::optional<BuiltinSubresource> parse_subresource(std::string_view text,
                                                    const BuiltinResource& owner) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find("]:");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  BuiltinSubresource sub;
  sub.name = text.substr(0, open);
  const std::string_view type = text.substr(open + 1, close - open - 1);
  const std::size_t slash = type.rfind('/');
  if (slash == std::string_view::npos) {
    sub.group = owner.group;
    sub.version = owner.version;
    sub.kind = type;
  } else {
    split_group_version(type.substr(0, slash), sub.group, sub.version);
    sub.kind = type.substr(slash + 1);
  }
  sub.verbs = parse_verbs(text.substr(close + 2));
  return sub;
}

std::optional<BuiltinResource> parse_line(std::string_view line) {
  if (std::count(line.begin(), line.end(), '|') != 8) {
    return std::nullopt;
  }
  std::array<std::string_view, 9> cells;
  for (std::string_view& cell : cells) {
    cell = take(line, '|');
  }
  BuiltinResource resource;
  split_group_version(cells[0], resource.group, resource.version);
  resource.plural = cells[1];
  resource.singular = cells[2];
  resource.kind = cells[3];
  if (cells[4] != "ns" && cells[4] != "cl") {
    return std::nullopt;
  }
  resource.namespaced = cells[4] == "ns";
  resource.short_names = split(cells[5], ',');
  resource.categories = split(cells[6], ',');
  resource.verbs = parse_verbs(cells[7]);
  for (const std::string& text : split(cells[8], ' ')) {
    std::optional<BuiltinSubresource> sub = parse_subresource(text, resource);
    if (!sub) {
      return std::nullopt;
    }
    resource.subresources.push_back(*std::move(sub));
  }
  return resource;
}

}  // namespace

bool BuiltinResource::has_verb(std::string_view verb) const {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

const BuiltinSubresource* BuiltinResource::subresource(std::string_view subresource_name) const {
  const auto found =
      std::find_if(subresources.begin(), subresources.end(),
                   [&](const BuiltinSubresource& sub) { return sub.name == subresource_name; });
  return found == subresources.end() ? nullptr : &*found;
}

Result<std::vector<BuiltinResource>> parse_builtin_resources(std::string_view text) {
  std::vector<BuiltinResource> resources;
  while (!text.empty()) {
    const std::string_view line = take(text, '\n');
    if (line.empty()) {
      continue;
    }
    std::optional<BuiltinResource> resource = parse_line(line);
    if (!resource) {
      return Error::internal(fmt::format("resource table: malformed line: {}", line));
    }
    resources.push_back(*std::move(resource));
  }
  return resources;
}

std::span<const BuiltinResource> builtin_resources() {
  static const std::vector<BuiltinResource> kResources = [] {
    Result<std::vector<BuiltinResource>> parsed = parse_builtin_resources(data::resources_text());
    ATHANOR_CHECK(parsed.ok(), "the embedded resource table is well-formed");
    return std::move(parsed).value();
  }();
  return kResources;
}

const BuiltinResource* find_builtin_resource(std::string_view group, std::string_view version,
                                             std::string_view plural) {
  for (const BuiltinResource& resource : builtin_resources()) {
    if (resource.plural == plural && resource.group == group && resource.version == version) {
      return &resource;
    }
  }
  return nullptr;
}

}  // namespace athanor
