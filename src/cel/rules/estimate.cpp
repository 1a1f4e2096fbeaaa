// SPDX-License-Identifier: Apache-2.0
#include "cel/rules/estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace athanor::cel {
namespace {

using Amount = std::uint64_t;
constexpr Amount kMost = UINT64_MAX;
constexpr double kTraversal = 0.1;
constexpr double kRegex = 0.25;
constexpr Amount kListCost = 10;
constexpr Amount kMapCost = 30;
constexpr Amount kStructCost = 40;
constexpr Amount kAccessCheck = 350'000;

Amount scaled(Amount size, double factor) {
  const double result = std::ceil(static_cast<double>(size) * factor);
  return result >= 18446744073709551615.0 ? kMost : static_cast<Amount>(result);
}

bool is_scalar(const Type& type) {
  switch (type.kind) {
    case TypeKind::Bool:
    case TypeKind::Int:
    case TypeKind::Uint:
    case TypeKind::Double:
    case TypeKind::Timestamp:
    case TypeKind::Duration:
    case TypeKind::Type:
    case TypeKind::Null:
      return true;
    default:
      return false;
  }
}

// Only the upper bound of each estimate is of interest.
class Estimator {
 public:
  explicit Estimator(const Checked& checked) : checked_(checked) {}

  Amount cost(const Expr& expr) {
    switch (expr.kind) {
      case ExprKind::Literal:
        return 0;
      case ExprKind::Ident:
        return 1;
      case ExprKind::Select:
        return select(expr);
      case ExprKind::Call:
        return call(expr);
      case ExprKind::List:
      case ExprKind::Map:
      case ExprKind::Struct:
        return literal(expr);
      case ExprKind::Fold:
        return fold(expr);
    }
    return 0;
  }

 private:
  [[nodiscard]] const Type& type_of(const Expr& expr) const { return *checked_.types[expr.id]; }

  Amount select(const Expr& expr) {
    const Amount operand = cost(*expr.target);
    if (expr.test_only) {
      return operand;
    }
    const TypeKind kind = type_of(*expr.target).kind;
    return kind == TypeKind::Map || kind == TypeKind::Object ? saturating_sum(operand, 1) : operand;
  }

  Amount literal(const Expr& expr) {
    Amount sum = expr.kind == ExprKind::List  ? kListCost
                 : expr.kind == ExprKind::Map ? kMapCost
                                              : kStructCost;
    for (const ExprPtr& item : expr.arguments) {
      sum = saturating_sum(sum, cost(*item));
    }
    for (const MapEntry& entry : expr.entries) {
      sum = saturating_sum(sum, saturating_sum(cost(*entry.key), cost(*entry.value)));
    }
    return sum;
  }

  Amount fold(const Expr& expr) {
    const Fold& fold = *expr.fold;
    Amount sum = saturating_sum(cost(*fold.range), cost(*fold.initial));
    // The accumulator of a bind is as large as what it is bound to.
    bound_.emplace_back(fold.accumulator, size(*fold.initial));
    const Amount count = size(*fold.range);
    const Amount loop = saturating_sum(cost(*fold.condition), cost(*fold.step));
    sum = saturating_sum(sum, saturating_product(count, loop));
    sum = saturating_sum(sum, cost(*fold.result));
    if (fold.initial->kind == ExprKind::List || fold.initial->kind == ExprKind::Map) {
      sizes_[expr.id] = count;
    } else {
      sizes_[expr.id] = size(*fold.result);
    }
    bound_.pop_back();
    return sum;
  }

  // Characters, bytes, items or entries; kMost when nothing bounds them.
  Amount size(const Expr& expr) {
    if (const auto found = sizes_.find(expr.id); found != sizes_.end()) {
      return found->second;
    }
    if (expr.kind == ExprKind::Literal) {
      return size_of(expr.literal).value_or(1);
    }
    if (expr.kind == ExprKind::List) {
      return expr.arguments.size();
    }
    if (expr.kind == ExprKind::Map) {
      return expr.entries.size();
    }
    const Type& type = type_of(expr);
    if (is_scalar(type)) {
      return 1;
    }
    if (expr.kind == ExprKind::Ident) {
      for (auto bound = bound_.rbegin(); bound != bound_.rend(); ++bound) {
        if (bound->first == expr.name) {
          return bound->second;
        }
      }
    }
    if (type.kind == TypeKind::Object || (expr.kind == ExprKind::Ident && type.max_elements < 0)) {
      return 0;  // Kubernetes counts no fields, nor what loops over computed lists bring
    }
    if (type.kind == TypeKind::Opaque) {
      return 1;
    }
    if (type.kind == TypeKind::Optional) {
      return optional_size(expr);
    }
    return type.max_elements >= 0 ? static_cast<Amount>(type.max_elements) : kMost;
  }

  Amount call(const Expr& expr) {
    std::vector<const Expr*> arguments;
    if (expr.target != nullptr) {
      arguments.push_back(expr.target.get());
    }
    for (const ExprPtr& argument : expr.arguments) {
      arguments.push_back(argument.get());
    }
    std::vector<Amount> costs;
    Amount sum = 0;
    for (const Expr* argument : arguments) {
      costs.push_back(cost(*argument));
      sum = saturating_sum(sum, costs.back());
    }
    if (expr.name == op::kConditional) {
      sizes_[expr.id] = std::max(size(*arguments[1]), size(*arguments[2]));
      return saturating_sum(costs[0], std::max(costs[1], costs[2]));
    }
    if (expr.name == op::kAnd || expr.name == op::kOr) {
      return sum;
    }
    if (expr.name == "dyn") {
      sizes_[expr.id] = size(*arguments[0]);
      return saturating_sum(sum, 1);
    }
    Amount most = 0;
    for (const Overload* overload : checked_.overloads[expr.id]) {
      most = std::max(most, call_cost(expr, *overload, arguments));
    }
    if (checked_.overloads[expr.id].empty()) {
      most = 1;  // an optional field
    }
    return saturating_sum(sum, most);
  }

  // Of texts in a list, or of one text.
  [[nodiscard]] Amount item_cost(const Expr& list) const {
    const Type& type = type_of(list);
    if (type.kind != TypeKind::List || type.parameters.empty()) {
      return 1;
    }
    const Type& item = *type.parameters[0];
    if (item.kind != TypeKind::String && item.kind != TypeKind::Bytes) {
      return 1;
    }
    const Amount length = item.max_elements >= 0 ? static_cast<Amount>(item.max_elements) : kMost;
    return saturating_sum(1, scaled(length, kTraversal));
  }

  using Parts = std::vector<const Expr*>;

  static bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  }

  Amount regex(const Parts& arguments) {
    return saturating_product(scaled(saturating_sum(size(*arguments[0]), 1), kTraversal),
                              scaled(size(*arguments[1]), kRegex));
  }

  static Amount literal_int(const Expr& expr, Amount otherwise) {
    if (expr.kind != ExprKind::Literal || !expr.literal.is(Val::Kind::Int)) {
      return otherwise;
    }
    return static_cast<Amount>(std::max<std::int64_t>(expr.literal.as_int(), 0));
  }

  // Calls of the lists extension make a list of `size` and cost `factor` for each item.
  Amount new_list(const Expr& expr, double factor, Amount items) {
    constexpr Amount kCall = 1;
    sizes_[expr.id] = items;
    return saturating_sum(scaled(items, factor), kCall + kListCost);
  }

  // Returns the cost of a call of the lists extension; nullopt for any other.
  std::optional<Amount> list_cost(const Expr& expr, const Overload& overload,
                                  const Parts& arguments) {
    const std::string_view name = overload.function;
    if (name == "slice") {
      const Amount start = literal_int(*arguments[1], 0);
      const Amount end = literal_int(*arguments[2], size(*arguments[0]));
      return new_list(expr, 1, end > start ? end - start : 0);
    }
    if (name == "lists.range") {
      return new_list(expr, 1, literal_int(*arguments[0], kMost));
    }
    if (overload.id == "list_reverse") {
      return new_list(expr, 1, size(*arguments[0]));
    }
    if (name == "flatten") {
      const Amount depth = arguments.size() == 2 ? literal_int(*arguments[1], kMost) : 1;
      return new_list(expr, static_cast<double>(depth), size(*arguments[0]));
    }
    if (name == "distinct" || name == "sort" || name == op::kSortBy) {
      const Expr& keys = *arguments[name == op::kSortBy ? 1 : 0];
      const TypeKind kind = overload.parameters.back()->parameters[0]->kind;
      const bool texts =
          name != "distinct" && (kind == TypeKind::String || kind == TypeKind::Bytes);
      const Amount count = size(keys);
      return new_list(expr, texts ? 2 + kTraversal : 2, saturating_product(count, count));
    }
    return std::nullopt;
  }

  Amount call_cost(const Expr& expr, const Overload& overload, const Parts& arguments) {
    const std::string_view name = overload.function;
    if (const std::optional<Amount> cost = list_cost(expr, overload, arguments)) {
      return *cost;
    }
    if (one_of(name, {"isSorted", "sum", "max", "min"}) ||
        (one_of(name, {"indexOf", "lastIndexOf"}) &&
         type_of(*arguments[0]).kind == TypeKind::List)) {
      return saturating_product(size(*arguments[0]), item_cost(*arguments[0]));
    }
    if (one_of(name, {"indexOf", "lastIndexOf", "url", "isURL", "charAt", "cidr", "isCIDR", "isIP",
                      "quantity", "isQuantity", "semver", "isSemver"}) ||
        (name == "ip" && !overload.member)) {
      return scaled(size(*arguments[0]), kTraversal);
    }
    if (one_of(name, {"lowerAscii", "upperAscii", "substring", "trim"})) {
      sizes_[expr.id] = size(*arguments[0]);
      return scaled(size(*arguments[0]), kTraversal);
    }
    if (one_of(name, {"replace", "split", "join", "strings.quote", "ip.isCanonical"})) {
      return text_cost(expr, name, arguments);
    }
    if (one_of(name, {"find", "findAll", "matches"})) {
      if (name != "matches") {
        sizes_[expr.id] = size(*arguments[0]);
      }
      return regex(arguments);
    }
    if (name == "contains") {
      return saturating_product(scaled(size(*arguments[0]), kTraversal),
                                scaled(size(*arguments[1]), kTraversal));
    }
    if (one_of(name, {"startsWith", "endsWith"})) {
      return scaled(size(*arguments[1]), kTraversal);
    }
    if (name == "check") {
      return kAccessCheck;
    }
    return operator_cost(expr, overload, arguments);
  }

  Amount text_cost(const Expr& expr, std::string_view name, const Parts& arguments) {
    const Amount length = size(*arguments[0]);
    if (name == "replace") {
      // an empty text could be replaced around every character
      sizes_[expr.id] = saturating_sum(
          length, saturating_product(saturating_sum(length, 1), size(*arguments[2])));
    } else if (name == "join") {
      const Amount separator = arguments.size() > 1 ? size(*arguments[1]) : 0;
      const Type& type = type_of(*arguments[0]);
      const std::int64_t longest = type.parameters.empty() ? -1 : type.parameters[0]->max_elements;
      const Amount item = longest >= 0 ? static_cast<Amount>(longest) : kMost;
      const Amount total = saturating_product(length, saturating_sum(item, separator));
      sizes_[expr.id] = total;
      return scaled(total, kTraversal);
    } else if (name == "split") {
      sizes_[expr.id] = length;
    }
    return scaled(length, 2 * kTraversal);
  }

  Amount operator_cost(const Expr& expr, const Overload& overload, const Parts& arguments) {
    const std::string_view name = overload.function;
    if (overload.id == "in_list") {
      return size(*arguments[1]);
    }
    if (name == op::kAdd && one_of(overload.id, {"add_string", "add_bytes", "add_list"})) {
      const Amount total = saturating_sum(size(*arguments[0]), size(*arguments[1]));
      sizes_[expr.id] = total;
      return overload.id == "add_list" ? 1 : scaled(total, kTraversal);
    }
    if (one_of(name, {op::kEquals, op::kNotEquals}) ||
        (one_of(name, {"_<_", "_<=_", "_>_", "_>=_"}) &&
         overload.parameters[0]->kind != TypeKind::Int)) {
      return scaled(std::min(size(*arguments[0]), size(*arguments[1])), kTraversal);
    }
    if (one_of(overload.id, {"string_to_bytes", "bytes_to_string"}) || name == "format") {
      return scaled(size(*arguments[0]), kTraversal);
    }
    if (one_of(name, {"sets.contains", "sets.intersects", "sets.equivalent"})) {
      const Amount pairs = saturating_product(size(*arguments[0]), size(*arguments[1]));
      return saturating_sum(1, name == "sets.equivalent" ? saturating_product(2, pairs) : pairs);
    }
    if (name == "orValue") {
      sizes_[expr.id] = std::max(size(*arguments[1]), optional_size(*arguments[0]));
    }
    return 1;
  }

  [[nodiscard]] Amount optional_size(const Expr& expr) const {
    const Type& type = type_of(expr);
    if (type.kind != TypeKind::Optional || type.parameters.empty()) {
      return kMost;
    }
    const Type& inner = *type.parameters[0];
    if (is_scalar(inner) || inner.kind == TypeKind::Opaque) {
      return 1;
    }
    if (inner.kind == TypeKind::Object) {
      return 0;
    }
    return inner.max_elements >= 0 ? static_cast<Amount>(inner.max_elements) : kMost;
  }

  const Checked& checked_;
  std::map<std::uint32_t, Amount> sizes_{};
  std::vector<std::pair<std::string, Amount>> bound_{};
};

}  // namespace

std::uint64_t estimate_cost(const Program& program) {
  return Estimator(program.checked()).cost(program.root());
}

}  // namespace athanor::cel
