// SPDX-License-Identifier: Apache-2.0
#include "cel/macros.hpp"

#include <cstdint>
#include <utility>

#include "cel/literals.hpp"

namespace athanor::cel {
namespace {

using MacroArguments = std::vector<ExprPtr>;

Expansion refused_macro(const Expr& at, std::string text) {
  return {.expr = nullptr, .error = std::move(text), .position = at.position};
}

bool is_name(const Expr& expr) {
  return expr.kind == ExprKind::Ident && !expr.name.starts_with('.');
}

// The names of the loop: one or two arguments at the front.
std::optional<Expansion> check_variables(const MacroArguments& arguments, std::size_t count,
                                         const char* text) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_name(*arguments[i])) {
      return refused_macro(*arguments[i], text);
    }
    if (arguments[i]->name == kAccumulator || arguments[i]->name == "__result__") {
      return refused_macro(*arguments[i], "iteration variable overwrites accumulator variable");
    }
  }
  if (count == 2 && arguments[0]->name == arguments[1]->name) {
    return refused_macro(*arguments[1], "duplicate variable name: " + arguments[1]->name);
  }
  return std::nullopt;
}

Fold start(ExprPtr& target, const MacroArguments& arguments, std::size_t variables) {
  Fold fold;
  fold.variable = arguments[0]->name;
  if (variables == 2) {
    fold.variable2 = arguments[1]->name;
  }
  fold.range = std::move(target);
  fold.accumulator = kAccumulator;
  return fold;
}

ExprPtr accumulator(Builder& builder) {
  return builder.ident(kAccumulator);
}

Expansion quantifier(Builder& builder, bool all, ExprPtr& target, MacroArguments& arguments) {
  const std::size_t variables = arguments.size() - 1;
  if (auto bad = check_variables(arguments, variables, "argument must be a simple name")) {
    return std::move(*bad);
  }
  Fold fold = start(target, arguments, variables);
  fold.initial = builder.literal(Val::boolean(all));
  ExprPtr so_far = accumulator(builder);
  if (!all) {
    so_far = builder.call(op::kNot, std::move(so_far));
  }
  fold.condition = builder.call(op::kNotStrictlyFalse, std::move(so_far));
  fold.step =
      builder.call(all ? op::kAnd : op::kOr, accumulator(builder), std::move(arguments.back()));
  fold.result = accumulator(builder);
  return {.expr = builder.fold(std::move(fold))};
}

Expansion exists_one(Builder& builder, ExprPtr& target, MacroArguments& arguments) {
  const std::size_t variables = arguments.size() - 1;
  if (auto bad = check_variables(arguments, variables, "argument must be a simple name")) {
    return std::move(*bad);
  }
  Fold fold = start(target, arguments, variables);
  fold.initial = builder.literal(Val::integer(0));
  fold.condition = builder.literal(Val::boolean(true));
  ExprPtr more = builder.call(op::kAdd, accumulator(builder), builder.literal(Val::integer(1)));
  fold.step = builder.call(op::kConditional, std::move(arguments.back()), std::move(more),
                           accumulator(builder));
  fold.result = builder.call(op::kEquals, accumulator(builder), builder.literal(Val::integer(1)));
  return {.expr = builder.fold(std::move(fold))};
}

// The step, taken only where the filter holds.
ExprPtr filtered(Builder& builder, ExprPtr filter, ExprPtr step) {
  if (filter == nullptr) {
    return step;
  }
  return builder.call(op::kConditional, std::move(filter), std::move(step), accumulator(builder));
}

Expansion to_list(Builder& builder, std::size_t variables, ExprPtr& target,
                  MacroArguments& arguments) {
  if (auto bad = check_variables(arguments, variables, "argument is not an identifier")) {
    return std::move(*bad);
  }
  Fold fold = start(target, arguments, variables);
  ExprPtr filter = arguments.size() > variables + 1 ? std::move(arguments[variables]) : nullptr;
  fold.initial = builder.list();
  fold.condition = builder.literal(Val::boolean(true));
  ExprPtr step =
      builder.call(op::kAdd, accumulator(builder), builder.list(std::move(arguments.back())));
  fold.step = filtered(builder, std::move(filter), std::move(step));
  fold.result = accumulator(builder);
  return {.expr = builder.fold(std::move(fold))};
}

Expansion filter(Builder& builder, ExprPtr& target, MacroArguments& arguments) {
  if (auto bad = check_variables(arguments, 1, "argument is not an identifier")) {
    return std::move(*bad);
  }
  arguments.push_back(builder.ident(arguments[0]->name));
  return to_list(builder, 1, target, arguments);
}

Expansion to_map(Builder& builder, bool entries, ExprPtr& target, MacroArguments& arguments) {
  if (auto bad = check_variables(arguments, 2, "argument must be a simple name")) {
    return std::move(*bad);
  }
  Fold fold = start(target, arguments, 2);
  ExprPtr filter = arguments.size() > 3 ? std::move(arguments[2]) : nullptr;
  fold.initial = builder.make(ExprKind::Map);
  fold.condition = builder.literal(Val::boolean(true));
  ExprPtr step =
      entries ? builder.call(op::kMapInsert, accumulator(builder), std::move(arguments.back()))
              : builder.call(op::kMapInsert, accumulator(builder), builder.ident(fold.variable),
                             std::move(arguments.back()));
  fold.step = filtered(builder, std::move(filter), std::move(step));
  fold.result = accumulator(builder);
  return {.expr = builder.fold(std::move(fold))};
}

// The macro below doubles its target: a chain of them must not fill the memory.
constexpr std::uint32_t kMostNodes = 50'000;

std::uint32_t count_nodes(const Expr& expr) {
  std::uint32_t count = 1;
  for_each_child(expr, [&](const Expr& child) { count += count_nodes(child); });
  return count;
}

// target.hasValue() ? optional.of(bind v = target.value() in e) : optional.none()
Expansion optional_map(Builder& builder, bool flat, ExprPtr& target, MacroArguments& arguments) {
  if (!is_name(*arguments[0])) {
    return refused_macro(*arguments[0],
                         flat ? "optFlatMap() variable name must be a simple identifier"
                              : "optMap() variable name must be a simple identifier");
  }
  if (builder.last_id() + count_nodes(*target) > kMostNodes) {
    return refused_macro(*arguments[0], "expression is too large");
  }
  ExprPtr again = builder.clone(*target);
  ExprPtr has_value = builder.member_call(std::move(target), "hasValue");
  Fold bind;
  bind.variable = "#unused";
  bind.range = builder.list();
  bind.accumulator = arguments[0]->name;
  bind.initial = builder.member_call(std::move(again), "value");
  bind.condition = builder.literal(Val::boolean(false));
  bind.step = builder.ident(arguments[0]->name);
  bind.result = std::move(arguments[1]);
  ExprPtr mapped = builder.fold(std::move(bind));
  if (!flat) {
    mapped = builder.call("optional.of", std::move(mapped));
  }
  return {.expr = builder.call(op::kConditional, std::move(has_value), std::move(mapped),
                               builder.call("optional.none"))};
}

// bind v = target in v.@sortByAssociatedKeys(v.map(x, key))
Expansion sort_by(Builder& builder, ExprPtr& target, MacroArguments& arguments) {
  constexpr const char* kInput = "@__sortBy_input__";
  switch (target->kind) {
    case ExprKind::Literal:
    case ExprKind::Map:
    case ExprKind::Struct:
      return refused_macro(
          *target,
          "sortBy can only be applied to a list, identifier, comprehension, call or "
          "select expression");
    default:
      break;
  }
  ExprPtr input = builder.ident(kInput);
  Expansion keys = to_list(builder, 1, input, arguments);
  if (keys.expr == nullptr) {
    return keys;
  }
  Fold bind;
  bind.variable = "#unused";
  bind.range = builder.list();
  bind.accumulator = kInput;
  bind.initial = std::move(target);
  bind.condition = builder.literal(Val::boolean(false));
  bind.step = builder.ident(kInput);
  bind.result = builder.member_call(builder.ident(kInput), op::kSortBy);
  bind.result->arguments.push_back(std::move(keys.expr));
  return {.expr = builder.fold(std::move(bind))};
}

std::optional<Expansion> member_macro(Builder& builder, const std::string& name, ExprPtr& target,
                                      MacroArguments& arguments) {
  const std::size_t count = arguments.size();
  if ((name == "all" || name == "exists") && (count == 2 || count == 3)) {
    return quantifier(builder, name == "all", target, arguments);
  }
  if ((name == "exists_one" || name == "existsOne") && (count == 2 || count == 3)) {
    return exists_one(builder, target, arguments);
  }
  if (name == "map" && (count == 2 || count == 3)) {
    return to_list(builder, 1, target, arguments);
  }
  if (name == "filter" && count == 2) {
    return filter(builder, target, arguments);
  }
  if (name == "transformList" && (count == 3 || count == 4)) {
    return to_list(builder, 2, target, arguments);
  }
  if ((name == "transformMap" || name == "transformMapEntry") && (count == 3 || count == 4)) {
    return to_map(builder, name == "transformMapEntry", target, arguments);
  }
  if ((name == "optMap" || name == "optFlatMap") && count == 2) {
    return optional_map(builder, name == "optFlatMap", target, arguments);
  }
  if (name == "sortBy" && count == 2) {
    return sort_by(builder, target, arguments);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Expansion> expand_macro(Builder& builder, const std::string& name, ExprPtr& target,
                                      std::vector<ExprPtr>& arguments) {
  if (target != nullptr) {
    return member_macro(builder, name, target, arguments);
  }
  if (name != "has" || arguments.size() != 1) {
    return std::nullopt;
  }
  ExprPtr& argument = arguments[0];
  if (argument->kind != ExprKind::Select || argument->test_only) {
    return refused_macro(*argument, "invalid argument to has() macro");
  }
  argument->test_only = true;
  return Expansion{.expr = std::move(argument)};
}

}  // namespace athanor::cel
