// SPDX-License-Identifier: Apache-2.0
// The JSONPath subset of printer columns and selectable fields: .a.b, ['a'], [0], [*],
// [?(@.type=="x")].
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor {

class JsonPath {
 public:
  static Result<JsonPath> parse(std::string_view path);
  [[nodiscard]] std::vector<Value> find(const Value& root) const;
  // Returns the first result, or Null.
  [[nodiscard]] Value first(const Value& root) const;

 private:
  struct Step;
  std::vector<std::shared_ptr<const Step>> steps_{};
};

}  // namespace athanor
