// SPDX-License-Identifier: Apache-2.0
// Expressions that are asked about the same values again and again.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "cel/program.hpp"

namespace athanor::cel {

// Compiled expressions over one variable of any type, and their results where these were costly:
// what takes long is done once. Bounded. Decides nothing: a result depends on its arguments alone.
// Thread-safe.
class ExpressionCache {
 public:
  ExpressionCache(std::string variable, Program::Limits limits)
      : variable_(std::move(variable)), limits_(limits) {}

  // Evaluates the expression with the variable as `subject`, an immutable value that lives as long
  // as the cache: its address stands for it. The error is that of Program::compile().
  Result<Evaluation> evaluate(const std::string& expression, const Val& subject);

 private:
  struct Known {
    Result<Program::Ptr> program;
    std::map<const Val*, Evaluation> results{};  // the costly ones; only looked up
  };
  Known& known(const std::string& expression);

  const std::string variable_;
  const Program::Limits limits_;
  std::mutex mutex_{};
  std::map<std::string, Known, std::less<>> expressions_{};
  std::size_t bytes_ = 0;  // of expressions and results, about
};

}  // namespace athanor::cel
