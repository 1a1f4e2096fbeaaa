// SPDX-License-Identifier: Apache-2.0
// A CEL expression, compiled once and evaluated often.
//
//   auto program = cel::Program::compile("object.spec.replicas <= 5",
//                                        {{"object", cel::simple_type(cel::TypeKind::Dyn)}});
//   cel::Evaluation done = (*program)->evaluate({{"object", cel::adapt(object)}});
//   done.value.is_true(), done.value.is_error() and its text()
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cel/checker.hpp"
#include "cel/evaluator.hpp"
#include "cel/values/type.hpp"
#include "cel/values/val.hpp"

namespace athanor::cel {

// One expression may cost this much (kube-apiserver's PerCallLimit).
inline constexpr std::uint64_t kCostLimit = 1'000'000;
// Bytes of the values that one evaluation may make: ten of the largest requests.
inline constexpr std::size_t kByteLimit = std::size_t{32} << 20;
// All rules of one object together (RuntimeCELCostBudget), all match conditions of one hook.
inline constexpr std::int64_t kObjectCostBudget = 10'000'000;
inline constexpr std::int64_t kMatchCostBudget = 2'500'000;
// What estimates may say about one rule and about all rules of a schema.
inline constexpr std::uint64_t kEstimateLimit = 10'000'000;
inline constexpr std::uint64_t kSchemaEstimateLimit = 100'000'000;

// Immutable and thread-safe.
class Program {
 public:
  using Ptr = std::shared_ptr<const Program>;

  // Compiles `source`. The error's message is what follows "compilation failed: " in the API's
  // texts ("ERROR: <input>:1:1: undeclared reference to 'x' (in container '')\n | x\n | ^").
  static Result<Ptr> compile(std::string_view source, const Declarations& declarations);

  struct Limits {
    std::uint64_t cost = kCostLimit;
    std::size_t bytes = kByteLimit;
    const Authority* authority = nullptr;  // answers `authorizer`
  };
  [[nodiscard]] Evaluation evaluate(const Bindings& bindings) const;
  [[nodiscard]] Evaluation evaluate(const Bindings& bindings, const Limits& limits) const;

  [[nodiscard]] const Type& result_type() const { return *checked_.types[root_->id]; }
  // Checks whether the expression mentions the variable.
  [[nodiscard]] bool uses(std::string_view variable) const;
  [[nodiscard]] const std::string& source() const { return source_; }

  // Returns the expression, for cost estimates.
  [[nodiscard]] const Expr& root() const { return *root_; }
  [[nodiscard]] const Checked& checked() const { return checked_; }

 private:
  Program() = default;

  std::string source_{};
  ExprPtr root_{};
  Checked checked_{};
  Runtime::RegexMap regexes_{};
};

}  // namespace athanor::cel
