// SPDX-License-Identifier: Apache-2.0
#include "cel/builder.hpp"

namespace athanor::cel {

ExprPtr Builder::make(ExprKind kind, std::string name) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->id = ++last_id_;
  expr->position = position_;
  expr->name = std::move(name);
  return expr;
}

ExprPtr Builder::literal(Val value) {
  ExprPtr expr = make(ExprKind::Literal);
  expr->literal = std::move(value);
  return expr;
}

ExprPtr Builder::select(ExprPtr operand, std::string field) {
  ExprPtr expr = make(ExprKind::Select, std::move(field));
  expr->target = std::move(operand);
  return expr;
}

ExprPtr Builder::member_call(ExprPtr target, std::string function) {
  ExprPtr expr = make(ExprKind::Call, std::move(function));
  expr->target = std::move(target);
  return expr;
}

ExprPtr Builder::list(ExprPtr item) {
  ExprPtr expr = make(ExprKind::List);
  if (item != nullptr) {
    expr->arguments.push_back(std::move(item));
    expr->optional_items.push_back(false);
  }
  return expr;
}

ExprPtr Builder::fold(Fold parts) {
  ExprPtr expr = make(ExprKind::Fold);
  expr->fold = std::make_unique<Fold>(std::move(parts));
  return expr;
}

ExprPtr Builder::clone(const Expr& expr) {
  ExprPtr copy = make(expr.kind, expr.name);
  copy->position = expr.position;
  copy->literal = expr.literal;
  copy->test_only = expr.test_only;
  copy->optional_items = expr.optional_items;
  const auto part = [this](const ExprPtr& child) {
    return child == nullptr ? nullptr : clone(*child);
  };
  copy->target = part(expr.target);
  for (const ExprPtr& argument : expr.arguments) {
    copy->arguments.push_back(part(argument));
  }
  for (const MapEntry& entry : expr.entries) {
    copy->entries.push_back(
        {.key = part(entry.key), .value = part(entry.value), .optional = entry.optional});
  }
  if (expr.fold != nullptr) {
    const Fold& fold = *expr.fold;
    copy->fold = std::make_unique<Fold>(Fold{.variable = fold.variable,
                                             .variable2 = fold.variable2,
                                             .range = part(fold.range),
                                             .accumulator = fold.accumulator,
                                             .initial = part(fold.initial),
                                             .condition = part(fold.condition),
                                             .step = part(fold.step),
                                             .result = part(fold.result)});
  }
  return copy;
}

}  // namespace athanor::cel
