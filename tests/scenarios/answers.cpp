// SPDX-License-Identifier: Apache-2.0
#include "scenarios/answers.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "kube/text/json.hpp"
#include "scenarios/match.hpp"

namespace athanor::test {

Error error_of(const Value& error) {
  return {.code = static_cast<int>(error["code"].as_int(500)),
          .reason = error["reason"].str(),
          .message = error["message"].str()};
}

void Answers::add(const Value& rules) {
  for (const Value& rule : rules.items()) {
    EXPECT_TRUE(rule.contains("answer") || rule.contains("error")) << json::print(rule);
    rules_.insert(rules_.begin(), rule);
    world_.probes[rule["probe"].str()] = [this](FakeWorld& /*world*/, std::string_view query) {
      return answer(query);
    };
  }
}

Result<Value> Answers::answer(std::string_view query) {
  const std::size_t colon = std::min(query.find(':'), query.size() - 1);
  const auto text = json::parse(query.substr(colon + 1));
  asked_.push_back({std::string(query.substr(0, colon)), text.value_or(Value())});
  for (const Value& rule : rules_) {
    if (concerns(rule, asked_.back())) {
      const Value& error = rule["error"];
      return error.is_object() ? Result<Value>(error_of(error)) : Result<Value>(rule["answer"]);
    }
  }
  return Error::unavailable("the scenario has no answer to " + std::string(query));
}

bool Answers::concerns(const Value& rule, const Question& question) {
  return rule["probe"].as_string() == question.probe &&
         (!rule.contains("where") || contains(question.text, rule["where"]));
}

void Answers::check_asked(const Value& expected) const {
  const auto count = std::ranges::count_if(
      asked_, [&](const Question& question) { return concerns(expected, question); });
  EXPECT_EQ(count, expected["is"].as_int(-1)) << json::print(expected);
}

}  // namespace athanor::test
