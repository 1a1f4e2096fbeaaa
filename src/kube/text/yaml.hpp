// SPDX-License-Identifier: Apache-2.0
// YAML 1.1 as Kubernetes clients read and print it (docs/spec/foundations.md 3).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::yaml {

struct ParseOptions {
  bool strict = false;  // a duplicate key is an error
  // When set, receives (path, line) of every node, paths like "nodes[0].capacity.cpu", the root's
  // is ""; lines count from 1, a member's is its key's.
  std::vector<std::pair<std::string, std::size_t>>* lines = nullptr;
  std::vector<std::string>* duplicates = nullptr;  // as json::ParseOptions::duplicates
  // Likewise with their lines, in the words of Go's strict parser:
  // `line 3: key "a" already set in map`; the line is the value's.
  std::vector<std::string>* repeated_keys = nullptr;
};

// Parses the first document; ignores later ones. Bounds the expansion of aliases. Errors are
// BadRequest and name the line.
Result<Value> parse(std::string_view text, const ParseOptions& options = {});
// Parses every non-empty document of a stream separated by "---".
Result<std::vector<Value>> parse_all(std::string_view text, const ParseOptions& options = {});
// Prints as sigs.k8s.io/yaml does: keys sorted, two blanks, sequences not indented.
std::string print(const Value& value);

}  // namespace athanor::yaml
