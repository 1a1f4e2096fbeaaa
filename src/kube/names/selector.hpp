// SPDX-License-Identifier: Apache-2.0
// Label and field selectors: parsing with Kubernetes' texts, and matching
// (docs/spec/apiserver.md 8.4, 8.5).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor {

struct LabelRequirement {
  enum class Operator : std::uint8_t { Exists, NotExists, In, NotIn, GreaterThan, LessThan };
  std::string key{};
  Operator op = Operator::Exists;
  std::vector<std::string> values{};
};

// All requirements must hold; an empty selector matches everything.
class LabelSelector {
 public:
  // Parses "a=b,c in (d,e),!f". Errors: BadRequest with the text of docs/spec/apiserver.md 8.4.
  static Result<LabelSelector> parse(std::string_view text);
  // Reads metav1.LabelSelector {matchLabels, matchExpressions}. Null matches nothing, {} all.
  static Result<LabelSelector> from_value(const Value& selector);
  static LabelSelector equals(std::string_view key, std::string_view value);

  [[nodiscard]] bool matches(const Value& labels) const;
  [[nodiscard]] bool empty() const { return requirements_.empty() && !nothing_; }
  [[nodiscard]] const std::vector<LabelRequirement>& requirements() const { return requirements_; }
  // Returns the canonical text form ("a=b,c in (d,e)").
  [[nodiscard]] std::string text() const;
  void add(LabelRequirement requirement) { requirements_.push_back(std::move(requirement)); }

 private:
  std::vector<LabelRequirement> requirements_{};
  bool nothing_ = false;
};

struct FieldRequirement {
  std::string field{};
  bool equal = true;
  std::string value{};
};
// Parses "spec.nodeName=n1,status.phase!=Failed"; does not check whether the fields exist.
Result<std::vector<FieldRequirement>> parse_field_selector(std::string_view text);

}  // namespace athanor
