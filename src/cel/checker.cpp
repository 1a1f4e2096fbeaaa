// SPDX-License-Identifier: Apache-2.0
#include "cel/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cel/names.hpp"
#include "cel/unifier.hpp"

namespace athanor::cel {
namespace {

using Free = Unifier::Free;

class Checker {
 public:
  Checker(std::uint32_t last_id, const Declarations& declarations) : declarations_(declarations) {
    result_.types.resize(last_id + 1);
    result_.overloads.resize(last_id + 1);
  }

  Checked run(Expr& root) {
    check(root);
    for (TypePtr& type : result_.types) {
      if (type != nullptr) {
        type = unifier_.substitute(type, Free::ToDyn);
      }
    }
    if (unifier_.exhausted()) {
      result_.issues.clear();
      fail(root, "the types of the expression are too large");
    }
    return std::move(result_);
  }

 private:
  void fail(const Expr& at, std::string message) {
    result_.issues.push_back({.position = at.position, .message = std::move(message)});
  }
  const TypePtr& set(const Expr& expr, TypePtr type) {
    return result_.types[expr.id] = std::move(type);
  }
  static TypePtr simple(TypeKind kind) { return simple_type(kind); }

  // By value: checking a sibling may move the table.
  TypePtr check(Expr& expr) {
    switch (expr.kind) {
      case ExprKind::Literal:
        return set(expr, literal_type(expr.literal));
      case ExprKind::Ident:
        return set(expr, ident(expr));
      case ExprKind::Select:
        return set(expr, select(expr));
      case ExprKind::Call:
        return set(expr, call(expr));
      case ExprKind::List:
        return set(expr, list(expr));
      case ExprKind::Map:
        return set(expr, map(expr));
      case ExprKind::Struct:
        for (const ExprPtr& value : expr.arguments) {
          check(*value);
        }
        return set(expr, undeclared(expr, expr.name));
      case ExprKind::Fold:
        return set(expr, fold(expr));
    }
    return simple(TypeKind::Error);
  }

  static TypePtr literal_type(const Val& value) {
    switch (value.kind()) {
      case Val::Kind::Bool:
        return simple(TypeKind::Bool);
      case Val::Kind::Int:
        return simple(TypeKind::Int);
      case Val::Kind::Uint:
        return simple(TypeKind::Uint);
      case Val::Kind::Double:
        return simple(TypeKind::Double);
      case Val::Kind::String:
        return simple(TypeKind::String);
      case Val::Kind::Bytes:
        return simple(TypeKind::Bytes);
      default:
        return simple(TypeKind::Null);
    }
  }

  TypePtr undeclared(const Expr& at, std::string_view name) {
    fail(at, fmt::format("undeclared reference to '{}' (in container '')", name));
    return simple(TypeKind::Error);
  }

  [[nodiscard]] TypePtr lookup(std::string_view name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (scope->first == name) {
        return scope->second;
      }
    }
    const auto found = declarations_.find(name);
    return found == declarations_.end() ? nullptr : found->second;
  }

  [[nodiscard]] bool is_local(std::string_view name) const {
    return std::ranges::any_of(scopes_, [&](const auto& scope) { return scope.first == name; });
  }

  TypePtr ident(const Expr& expr) {
    if (TypePtr type = lookup(expr.name)) {
      return type;
    }
    if (expr.name != "timestamp" && expr.name != "duration") {  // those are functions alone
      if (const TypePtr named = named_type(expr.name)) {
        return type_type(named);
      }
    }
    return undeclared(expr, expr.name);
  }

  // "a.b.c" when the expression is nothing but names; empty otherwise.
  static std::string qualified_name(const Expr& expr) {
    if (expr.kind == ExprKind::Ident) {
      return expr.name;
    }
    if (expr.kind != ExprKind::Select || expr.test_only) {
      return {};
    }
    const std::string front = qualified_name(*expr.target);
    return front.empty() ? std::string() : front + "." + expr.name;
  }

  // The first name of a chain is no variable, so that the chain may name a type or function.
  [[nodiscard]] bool is_namespace(const Expr& expr) const {
    const Expr* at = &expr;
    while (at->kind == ExprKind::Select) {
      at = at->target.get();
    }
    return at->kind == ExprKind::Ident && lookup(at->name) == nullptr;
  }

  TypePtr select(Expr& expr) {
    if (!expr.test_only && expr.target->kind == ExprKind::Ident && !is_local(expr.target->name)) {
      const auto whole = declarations_.find(expr.target->name + "." + expr.name);
      if (whole != declarations_.end()) {
        expr.kind = ExprKind::Ident;
        expr.name = whole->first;
        expr.target = nullptr;
        return whole->second;
      }
    }
    if (!expr.test_only && is_namespace(expr)) {
      const std::string name = qualified_name(expr);
      if (const TypePtr named = name.empty() ? nullptr : named_type(name)) {
        expr.kind = ExprKind::Ident;
        expr.name = name;
        expr.target = nullptr;
        return type_type(named);
      }
    }
    const TypePtr operand = check(*expr.target);
    const TypePtr field = field_type(expr, operand, expr.name);
    return expr.test_only ? simple(TypeKind::Bool) : field;
  }

  TypePtr field_type(const Expr& at, const TypePtr& operand, const std::string& field) {
    TypePtr target = unifier_.substitute(operand, Free::Keep);
    const bool optional = target->kind == TypeKind::Optional;
    if (optional) {
      target = target->parameters[0];
    }
    TypePtr result = simple(TypeKind::Dyn);
    if (target->kind == TypeKind::Map) {
      result = target->parameters[1];
    } else if (target->kind == TypeKind::Object) {
      const TypeField* found = find_field(*target, field);
      if (found == nullptr) {
        fail(at, fmt::format("undefined field '{}'", field));
        return simple(TypeKind::Error);
      }
      result = found->type;
    } else if (target->kind == TypeKind::Param) {
      unifier_.assignable(simple(TypeKind::Dyn), target);
    } else if (!is_dyn(*target)) {
      fail(at, fmt::format("type '{}' does not support field selection", type_text(*target)));
      return simple(TypeKind::Error);
    }
    return optional ? optional_type(result) : result;
  }

  TypePtr call(Expr& expr) {
    if (expr.name == op::kOptionalSelect) {
      const TypePtr operand = check(*expr.arguments[0]);
      set(*expr.arguments[1], simple(TypeKind::String));
      const TypePtr field =
          field_type(expr, operand, std::string(expr.arguments[1]->literal.text()));
      return field->kind == TypeKind::Optional ? field : optional_type(field);
    }
    if (expr.name == op::kAnd || expr.name == op::kOr) {
      return logical(expr);
    }
    const bool around = mixed_lists_;
    mixed_lists_ = around || (expr.name == "format" && expr.target != nullptr);
    std::vector<TypePtr> arguments;
    arguments.reserve(expr.arguments.size());
    for (const ExprPtr& argument : expr.arguments) {
      arguments.push_back(check(*argument));
    }
    mixed_lists_ = around;
    if (expr.target == nullptr) {
      if (FunctionTable::get().find(expr.name).empty()) {
        return undeclared(expr, expr.name);
      }
      return resolve(expr, arguments);
    }
    if (const std::string front = qualified_name(*expr.target);
        !front.empty() && is_namespace(*expr.target)) {
      const std::string name = front + "." + expr.name;
      if (!FunctionTable::get().find(name).empty()) {
        expr.name = name;
        expr.target = nullptr;
        return resolve(expr, arguments);
      }
    }
    arguments.insert(arguments.begin(), check(*expr.target));
    if (FunctionTable::get().find(expr.name).empty()) {
      return undeclared(expr, expr.name);
    }
    return resolve(expr, arguments);
  }

  // Each side is looked at by itself.
  TypePtr logical(const Expr& expr) {
    for (const ExprPtr& argument : expr.arguments) {
      expect(*argument, check(*argument), simple(TypeKind::Bool));
    }
    result_.overloads[expr.id].push_back(&FunctionTable::get().find(expr.name).front());
    return simple(TypeKind::Bool);
  }

  TypePtr resolve(const Expr& expr, const std::vector<TypePtr>& arguments) {
    TypePtr result;
    const bool member = expr.target != nullptr;
    for (const Overload& overload : FunctionTable::get().find(expr.name)) {
      if (overload.member != member || overload.parameters.size() != arguments.size()) {
        continue;
      }
      const Unifier::Signature signature = unifier_.instantiate(overload);
      if (!unifier_.assignable(arguments, signature.parameters)) {
        continue;
      }
      result_.overloads[expr.id].push_back(&overload);
      TypePtr type = unifier_.substitute(signature.result, Free::Keep);
      if (result == nullptr) {
        result = std::move(type);
      } else if (!is_dyn(*result) && !same_type(*result, *type)) {
        result = simple(TypeKind::Dyn);
      }
    }
    if (result != nullptr) {
      return result;
    }
    fail(expr, fmt::format("found no matching overload for '{}' applied to '{}'", expr.name,
                           arguments_text(arguments, member)));
    return simple(TypeKind::Error);
  }

  [[nodiscard]] std::string arguments_text(const std::vector<TypePtr>& arguments,
                                           bool member) const {
    std::string text;
    std::size_t first = 0;
    if (member) {
      text = type_text(*unifier_.substitute(arguments[0], Free::ToDyn)) + ".";
      first = 1;
    }
    text += '(';
    for (std::size_t i = first; i < arguments.size(); ++i) {
      text += i == first ? "" : ", ";
      text += type_text(*unifier_.substitute(arguments[i], Free::ToDyn));
    }
    return text + ")";
  }

  // Items of one literal have one type, except for what format() is given.
  TypePtr joined(const TypePtr& so_far, const TypePtr& type, const Expr& at) {
    if (so_far == nullptr) {
      return type;
    }
    if (unifier_.assignable(so_far, type)) {
      return Unifier::most_general(so_far, type);
    }
    if (mixed_lists_) {
      return simple(TypeKind::Dyn);
    }
    fail(at, fmt::format("expected type '{}' but found '{}'",
                         type_text(*unifier_.substitute(so_far, Free::ToDyn)),
                         type_text(*unifier_.substitute(type, Free::ToDyn))));
    return simple(TypeKind::Dyn);
  }

  // Of an entry written ?e.
  TypePtr unwrapped(const TypePtr& type, const Expr& at) {
    TypePtr known = unifier_.substitute(type, Free::Keep);
    if (known->kind == TypeKind::Optional) {
      return known->parameters[0];
    }
    if (is_dyn(*known)) {
      return known;
    }
    fail(at, fmt::format("expected type 'optional_type({0})' but found '{0}'", type_text(*known)));
    return simple(TypeKind::Dyn);
  }

  TypePtr list(Expr& expr) {
    TypePtr item;
    for (std::size_t i = 0; i < expr.arguments.size(); ++i) {
      TypePtr type = check(*expr.arguments[i]);
      if (expr.optional_items[i]) {
        type = unwrapped(type, *expr.arguments[i]);
      }
      item = joined(item, type, *expr.arguments[i]);
    }
    return list_type(item == nullptr ? unifier_.fresh() : item);
  }

  TypePtr map(Expr& expr) {
    TypePtr key;
    TypePtr value;
    for (const MapEntry& entry : expr.entries) {
      key = joined(key, check(*entry.key), *entry.key);
      TypePtr type = check(*entry.value);
      if (entry.optional) {
        type = unwrapped(type, *entry.value);
      }
      value = joined(value, type, *entry.value);
    }
    if (key == nullptr) {
      key = unifier_.fresh();
      value = unifier_.fresh();
    }
    return map_type(key, value);
  }

  TypePtr fold(Expr& expr) {
    Fold& fold = *expr.fold;
    const TypePtr initial = check(*fold.initial);
    const TypePtr range = unifier_.substitute(check(*fold.range), Free::Keep);
    TypePtr variable = simple(TypeKind::Dyn);
    TypePtr variable2 = simple(TypeKind::Dyn);
    if (range->kind == TypeKind::Map) {
      variable = range->parameters[0];
      variable2 = range->parameters[1];
    } else if (range->kind == TypeKind::List) {
      variable2 = range->parameters[0];
      variable = fold.variable2.empty() ? variable2 : simple(TypeKind::Int);
    } else if (range->kind == TypeKind::Param) {
      unifier_.assignable(simple(TypeKind::Dyn), range);
    } else if (!is_dyn(*range)) {
      fail(*fold.range, fmt::format("expression of type '{}' cannot be range of a comprehension "
                                    "(must be list, map, or dynamic)",
                                    type_text(*range)));
    }
    scopes_.emplace_back(fold.accumulator, initial);
    scopes_.emplace_back(fold.variable, variable);
    if (!fold.variable2.empty()) {
      scopes_.emplace_back(fold.variable2, variable2);
    }
    const std::size_t inner = fold.variable2.empty() ? 1 : 2;
    expect(*fold.condition, check(*fold.condition), simple(TypeKind::Bool));
    expect(*fold.step, check(*fold.step), initial);
    scopes_.resize(scopes_.size() - inner);
    const TypePtr result = check(*fold.result);
    scopes_.pop_back();
    return unifier_.substitute(result, Free::Keep);
  }

  void expect(const Expr& at, const TypePtr& found, const TypePtr& wanted) {
    if (!unifier_.assignable(wanted, found)) {
      fail(at, fmt::format("expected type '{}' but found '{}'",
                           type_text(*unifier_.substitute(wanted, Free::ToDyn)),
                           type_text(*unifier_.substitute(found, Free::ToDyn))));
    }
  }

  const Declarations& declarations_;
  Unifier unifier_{};
  std::vector<std::pair<std::string, TypePtr>> scopes_{};
  bool mixed_lists_ = false;  // inside the arguments of format()
  Checked result_{};
};

}  // namespace

Checked check(Expr& root, std::uint32_t last_id, const Declarations& declarations) {
  return Checker(last_id, declarations).run(root);
}

}  // namespace athanor::cel
