// SPDX-License-Identifier: Apache-2.0
// The built-in resources: names, verbs and subresources (Appendix D of docs/spec/apiserver.md).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace athanor {

struct BuiltinSubresource {
  std::string name{};  // "status"
  // Group and version of the body: the resource's own unless the table names another.
  std::string group{};
  std::string version{};
  std::string kind{};
  std::vector<std::string> verbs{};
};

struct BuiltinResource {
  std::string group{};
  std::string version{};
  std::string plural{};
  std::string singular{};
  std::string kind{};
  bool namespaced = false;
  std::vector<std::string> short_names{};
  std::vector<std::string> categories{};
  std::vector<std::string> verbs{};
  std::vector<BuiltinSubresource> subresources{};

  [[nodiscard]] bool has_verb(std::string_view verb) const;
  [[nodiscard]] const BuiltinSubresource* subresource(std::string_view subresource_name) const;
};

// Reads the table's text; Internal naming the line that is not of its form.
Result<std::vector<BuiltinResource>> parse_builtin_resources(std::string_view text);

// Returns the embedded table, in discovery's order; read once, thread-safe.
std::span<const BuiltinResource> builtin_resources();
// Finds a resource by its plural; nullptr: unknown.
const BuiltinResource* find_builtin_resource(std::string_view group, std::string_view version,
                                             std::string_view plural);

}  // namespace athanor
