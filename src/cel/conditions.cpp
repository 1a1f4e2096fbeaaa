// SPDX-License-Identifier: Apache-2.0
#include "cel/conditions.hpp"

#include <algorithm>

#include "cel/program.hpp"

namespace athanor::cel {

std::string condition_errors(std::string_view expression) {
  const auto program = Program::compile(expression, {});
  return program ? std::string() : program.error().message;
}

Result<bool> Conditions::holds(std::string_view expression) {
  const auto known = known_.find(expression);
  return known != known_.end()
             ? known->second
             : known_.emplace(std::string(expression), evaluate(expression)).first->second;
}

Result<bool> Conditions::evaluate(std::string_view expression) {
  ATHANOR_TRY(const Program::Ptr program, Program::compile(expression, {}));
  const Evaluation done = program->evaluate({}, {.cost = left_});
  left_ -= std::min(left_, done.cost);
  if (done.value.is_error()) {
    const std::string text(done.value.text());
    return Error::bad_request(text.starts_with(kCostExceeded)
                                  ? "conditions cost too much, together with those before it"
                                  : text);
  }
  if (done.value.kind() != Val::Kind::Bool) {
    return Error::bad_request("is not evaluated to a boolean");
  }
  return done.value.is_true();
}

}  // namespace athanor::cel
