// SPDX-License-Identifier: Apache-2.0
#include "cel/program.hpp"

#include "cel/literals.hpp"
#include "cel/parser.hpp"

namespace athanor::cel {
namespace {

bool mentions(const Expr& expr, std::string_view variable) {
  if (expr.kind == ExprKind::Ident && expr.name == variable) {
    return true;
  }
  bool found = false;
  for_each_child(expr, [&](const Expr& child) { found = found || mentions(child, variable); });
  return found;
}

Error refused(std::string_view source, std::vector<Issue> issues) {
  return {.code = 422, .reason = "Invalid", .message = issues_text(source, std::move(issues))};
}

}  // namespace

Result<Program::Ptr> Program::compile(std::string_view source, const Declarations& declarations) {
  Parsed parsed = parse(source);
  if (!parsed.issues.empty()) {
    return refused(source, std::move(parsed.issues));
  }
  Checked checked = check(*parsed.root, parsed.last_id, declarations);
  if (!checked.issues.empty()) {
    return refused(source, std::move(checked.issues));
  }
  Literals literals = check_literals(*parsed.root);
  if (!literals.issues.empty()) {
    return refused(source, std::move(literals.issues));
  }
  // The constructor is private, and make_shared cannot be a friend.
  struct Access : Program {};
  auto program = std::make_shared<Access>();
  program->source_ = source;
  program->root_ = std::move(parsed.root);
  program->checked_ = std::move(checked);
  program->regexes_ = std::move(literals.regexes);
  return Ptr(std::move(program));
}

Evaluation Program::evaluate(const Bindings& bindings) const {
  return evaluate(bindings, Limits{});
}

Evaluation Program::evaluate(const Bindings& bindings, const Limits& limits) const {
  Runtime runtime(regexes_, limits.authority, {.cost = limits.cost, .bytes = limits.bytes});
  return cel::evaluate(*root_, checked_, {.bindings = bindings, .runtime = runtime});
}

bool Program::uses(std::string_view variable) const {
  return mentions(*root_, variable);
}

}  // namespace athanor::cel
