// SPDX-License-Identifier: Apache-2.0
#include "cel/conditions.hpp"

#include "cel/program.hpp"

namespace athanor::cel {

std::string condition_errors(std::string_view expression) {
  const auto program = Program::compile(expression, {});
  return program ? std::string() : program.error().message;
}

Result<bool> evaluate_condition(std::string_view expression) {
  ATHANOR_TRY(const Program::Ptr program, Program::compile(expression, {}));
  const Evaluation done = program->evaluate({});
  if (done.value.is_error()) {
    return Error::bad_request(std::string(done.value.text()));
  }
  if (done.value.kind() != Val::Kind::Bool) {
    return Error::bad_request("is not evaluated to a boolean");
  }
  return done.value.is_true();
}

}  // namespace athanor::cel
