// SPDX-License-Identifier: Apache-2.0
// The outside world of a scenario: who answers which question, and what was asked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"
#include "support/fake_world.hpp"

namespace athanor::test {

// Answers the probes of a FakeWorld by rules {probe, where, answer} or {probe, where, error}; the
// newest rule whose `where` the question contains counts. Must outlive the world's runs.
class Answers {
 public:
  explicit Answers(FakeWorld& world) : world_(world) {}
  // Adds the rules of a list before the known ones.
  void add(const Value& rules);
  // Checks {probe, where, is}: how often such a question was asked.
  void check_asked(const Value& expected) const;

 private:
  struct Question {
    std::string probe{};
    Value text{};  // the JSON behind the colon; Null where it is none
  };

  Result<Value> answer(std::string_view query);
  static bool concerns(const Value& rule, const Question& question);

  FakeWorld& world_;
  std::vector<Value> rules_{};  // the newest first
  std::vector<Question> asked_{};
};

// Returns the error of {code, reason, message}.
Error error_of(const Value& error);

}  // namespace athanor::test
