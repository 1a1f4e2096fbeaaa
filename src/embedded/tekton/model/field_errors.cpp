// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/model/field_errors.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "embedded/tekton/model/text.hpp"

namespace athanor::tekton {

void FieldErrors::add(std::string message, std::vector<std::string> paths, std::string details) {
  errors_.push_back({std::move(message), std::move(paths), std::move(details)});
}

void FieldErrors::invalid(std::string_view value, std::string path, std::string details) {
  add("invalid value: " + std::string(value), {std::move(path)}, std::move(details));
}

void FieldErrors::missing(std::string path) {
  add("missing field(s)", {std::move(path)});
}

void FieldErrors::disallowed(std::string path) {
  add("must not set the field(s)", {std::move(path)});
}

void FieldErrors::got_neither(std::vector<std::string> paths) {
  add("expected exactly one, got neither", std::move(paths));
}

void FieldErrors::got_both(std::vector<std::string> paths) {
  add("expected exactly one, got both", std::move(paths));
}

void FieldErrors::merge(FieldErrors other, std::string_view prefix) {
  for (Entry& entry : other.errors_) {
    for (std::string& path : entry.paths) {
      path = below(prefix, path);
    }
    errors_.push_back(std::move(entry));
  }
}

std::string FieldErrors::text() const {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> merged;
  for (const Entry& entry : errors_) {
    merged[{entry.message, entry.details}].insert(entry.paths.begin(), entry.paths.end());
  }
  std::vector<std::string> lines;
  for (const auto& [what, paths] : merged) {
    std::string line =
        what.first + ": " + join(std::vector<std::string>(paths.begin(), paths.end()), ", ");
    if (!what.second.empty()) {
      line += "\n" + what.second;
    }
    lines.push_back(std::move(line));
  }
  return join(lines, "\n");
}

std::string at(std::string_view list, std::size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

std::string at(std::string_view list, std::string_view key) {
  return std::string(list) + "[" + std::string(key) + "]";
}

std::string below(std::string_view prefix, std::string_view path) {
  if (prefix.empty() || path.empty()) {
    return std::string(prefix) + std::string(path);
  }
  return std::string(prefix) + (path.starts_with('[') ? "" : ".") + std::string(path);
}

}  // namespace athanor::tekton
