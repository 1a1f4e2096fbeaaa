// SPDX-License-Identifier: Apache-2.0
// CEL expressions about devices: `device.attributes["domain"].name`,
// `device.capacity["domain"].name` and `device.driver`, as kube-scheduler evaluates them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cel/expression_cache.hpp"
#include "cel/values/val.hpp"
#include "kube/value/value.hpp"

namespace athanor::devices {

// Returns a published device as expressions see it. Domains that it does not have are empty maps.
cel::Val seen_by_expressions(const Value& device, std::string_view driver);

// Returns a cache of verdicts on devices in one state of the cluster: outlives scheduling cycles.
std::shared_ptr<cel::ExpressionCache> verdict_cache();

// The expressions and the searches of one scheduling cycle. Every namespace has a budget for those
// of its pods; beyond it they fail, and only they. Judges an expression once for each device: one
// address stands for one device. Not thread-safe.
class Expressions {
 public:
  // Units of cel::Evaluation::cost: about 0.1 s.
  static constexpr std::uint64_t kBudget = 2'000'000;
  static constexpr std::uint64_t kBudgetOfDevice = 100;  // more for each device
  // Devices that are tried, and compared with those that are chosen: about 0.2 s.
  static constexpr std::uint64_t kMostSteps = 2'000'000;

  Expressions() : Expressions(verdict_cache(), 0) {}
  Expressions(std::shared_ptr<cel::ExpressionCache> cache, std::size_t devices);

  // Sets the namespace whose pod is looked at from now on.
  void charge_to(std::string_view ns);
  // Returns whether the expression holds; errors say what is wrong with it.
  Result<bool> holds(const std::string& expression, const cel::Val& device);
  // Counts steps of a search. False: the namespace has no more.
  bool take_steps(std::uint64_t count);

 private:
  using Answers = std::map<const cel::Val*, Result<bool>>;  // only looked up

  std::shared_ptr<cel::ExpressionCache> cache_;
  std::uint64_t budget_;
  std::string ns_{};
  struct Spent {
    std::uint64_t cost = 0;
    std::uint64_t steps = 0;
  };
  std::map<std::string, Spent, std::less<>> spent_{};  // by namespace
  std::map<std::string, Answers> answers_{};
};

}  // namespace athanor::devices
