// SPDX-License-Identifier: Apache-2.0
#include "cel/evaluator.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>
#include <set>

namespace athanor::cel {
namespace {

constexpr std::uint64_t kListCost = 10;
constexpr std::uint64_t kMapCost = 30;
constexpr std::size_t kLongestError = std::size_t{8} << 10;

Val unsupported_key() {
  return Val::error("unsupported key type");
}

// An error's text goes into answers, conditions and events.
Val shortened(Val value) {
  if (!value.is_error() || value.text().size() <= kLongestError) {
    return value;
  }
  std::string_view text = value.text().substr(0, kLongestError);
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0U) == 0x80) {
    text.remove_suffix(1);  // not within a character
  }
  text.remove_suffix(text.empty() ? 0 : 1);
  return Val::error(std::string(text) + "...");
}

std::string key_text(const Val& key) {
  switch (key.kind()) {
    case Val::Kind::Int:
      return std::to_string(key.as_int());
    case Val::Kind::Uint:
      return std::to_string(key.as_uint());
    case Val::Kind::Bool:
      return key.as_bool() ? "true" : "false";
    case Val::Kind::Double:
      return fmt::format("{}", key.as_double());
    default:
      return std::string(key.text());
  }
}

// A position in a list: an integer of any type.
std::optional<std::int64_t> position_of(const Val& key) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  if (key.is(Val::Kind::Int)) {
    return key.as_int();
  }
  if (key.is(Val::Kind::Uint)) {
    return key.as_uint() <= static_cast<std::uint64_t>(kMost)
               ? static_cast<std::int64_t>(key.as_uint())
               : kMost;
  }
  if (key.is(Val::Kind::Double) && std::trunc(key.as_double()) == key.as_double() &&
      std::abs(key.as_double()) < 9e15) {
    return static_cast<std::int64_t>(key.as_double());
  }
  return std::nullopt;
}

// nullopt when absent; may be an error value.
std::optional<Val> find_value(const Val& operand, const Val& key) {
  if (const MapNode* map = operand.as_map()) {
    return map->find(key);
  }
  if (const ListNode* list = operand.as_list()) {
    const std::optional<std::int64_t> position = position_of(key);
    if (!position) {
      return Val::error(fmt::format("unsupported index type '{}' in list", type_name(key)));
    }
    if (*position < 0 || static_cast<std::uint64_t>(*position) >= list->size()) {
      return std::nullopt;
    }
    return list->at(static_cast<std::size_t>(*position));
  }
  return std::nullopt;
}

class Evaluator {
 public:
  Evaluator(const Checked& checked, const EvaluationInput& input)
      : checked_(checked), input_(input), meter_(input.runtime.meter()) {}

  Evaluation run(const Expr& root) {
    Val value = eval(root);
    if (meter_.over()) {
      value =
          Val::error(meter_.too_large() ? fmt::format("{}: its values are too large", kCostExceeded)
                                        : std::string(kCostExceeded));
    }
    return {.value = shortened(std::move(value)), .cost = meter_.cost(), .made = meter_.made()};
  }

 private:
  void charge(std::uint64_t cost) { meter_.charge(cost); }

  Val eval(const Expr& expr) {
    if (!meter_.tick(Meter::kNode)) {
      return Val::error(kCostExceeded);
    }
    switch (expr.kind) {
      case ExprKind::Literal:
        return expr.literal;
      case ExprKind::Ident:
        charge(1);
        return ident(expr);
      case ExprKind::Select:
        return select(expr);
      case ExprKind::Call:
        return call(expr);
      case ExprKind::List:
        return list(expr);
      case ExprKind::Map:
        return map(expr);
      case ExprKind::Fold:
        return fold(expr);
      case ExprKind::Struct:
        return Val::error("unknown type: " + expr.name);
    }
    return {};
  }

  Val ident(const Expr& expr) const {
    for (auto local = locals_.rbegin(); local != locals_.rend(); ++local) {
      if (*local->first == expr.name) {
        return local->second;
      }
    }
    for (const auto& [name, value] : input_.bindings) {
      if (name == expr.name) {
        return value;
      }
    }
    const TypePtr& type = checked_.types[expr.id];
    if (type->kind == TypeKind::Type && named_type(expr.name) != nullptr) {
      return Val::type(expr.name);
    }
    return Val::error(fmt::format("no such attribute(s): {}", expr.name));
  }

  // What find_value() finds; bytes are decoded by that, errors have a text.
  std::optional<Val> find(const Val& operand, const Val& key) {
    std::optional<Val> found = find_value(operand, key);
    if (found) {
      count_decoded(*found);
    }
    return found;
  }
  void count_decoded(const Val& value) {
    if (value.is(Val::Kind::Bytes) || value.is_error()) {
      meter_.make(value.text().size());
    }
  }

  // Field or index of a value; an error when it is absent ("no such key: x").
  Val index_value(const Val& operand, const Val& key) {
    if (std::optional<Val> found = find(operand, key)) {
      return *std::move(found);
    }
    return Val::error(operand.is(Val::Kind::List)
                          ? fmt::format("index out of bounds: {}", key_text(key))
                          : fmt::format("no such key: {}", key_text(key)));
  }

  Val select(const Expr& expr) {
    Val operand = eval(*expr.target);
    charge(expr.test_only ? 0 : 1);
    if (operand.is_error()) {
      return operand;
    }
    const Val key = Val::string(expr.name);
    if (operand.is(Val::Kind::Optional)) {
      const Val* inner = operand.optional_value();
      std::optional<Val> found = inner == nullptr ? std::nullopt : find(*inner, key);
      if (found && found->is_error()) {
        return *found;
      }
      if (expr.test_only) {
        return Val::boolean(found.has_value());
      }
      return found ? Val::optional_of(std::move(*found)) : Val::optional_none();
    }
    if (expr.test_only) {
      const std::optional<Val> found = find(operand, key);
      return found && found->is_error() ? *found : Val::boolean(found.has_value());
    }
    return index_value(operand, key);
  }

  Val call(const Expr& expr) {
    if (expr.name == op::kAnd || expr.name == op::kOr) {
      return logical(expr, expr.name == op::kOr);
    }
    if (expr.name == op::kConditional) {
      const Val condition = eval(*expr.arguments[0]);
      if (!condition.is(Val::Kind::Bool)) {
        return condition.is_error() ? condition : no_such_overload();
      }
      return eval(*expr.arguments[condition.as_bool() ? 1 : 2]);
    }
    if (expr.name == op::kNotStrictlyFalse) {
      const Val value = eval(*expr.arguments[0]);
      charge(1);
      return Val::boolean(!value.is_false());
    }
    if (expr.name == op::kOptionalSelect || expr.name == op::kOptionalIndex) {
      return optional_index(expr);
    }
    if (expr.name == op::kIndex) {
      return index(expr);
    }
    if (expr.target != nullptr && (expr.name == "or" || expr.name == "orValue")) {
      return optional_or(expr);
    }
    std::vector<Val> arguments;
    arguments.reserve(expr.arguments.size() + 1);
    if (expr.target != nullptr) {
      arguments.push_back(eval(*expr.target));
      if (arguments.back().is_error()) {
        return arguments.back();
      }
    }
    for (const ExprPtr& argument : expr.arguments) {
      arguments.push_back(eval(*argument));
      if (arguments.back().is_error()) {
        return arguments.back();
      }
    }
    return dispatch(expr, arguments);
  }

  Val dispatch(const Expr& expr, const std::vector<Val>& arguments) {
    for (const Overload* overload : checked_.overloads[expr.id]) {
      bool fits = true;
      for (std::size_t i = 0; i < arguments.size() && fits; ++i) {
        fits = accepts(*overload->parameters[i], arguments[i]);
      }
      if (fits) {
        // paid before it is done: what costs too much is not even begun
        charge(call_cost(*overload, arguments));
        if (!meter_.tick(read_ticks(*overload, arguments))) {
          return Val::error(kCostExceeded);
        }
        Val result = overload->run(arguments, input_.runtime);
        charge(result_cost(*overload, result));
        meter_.make(made_bytes(*overload, result));
        return result;
      }
    }
    if (expr.name.find('_') != std::string::npos || expr.name.front() == '@') {
      return no_such_overload();
    }
    std::string types;
    for (const Val& argument : arguments) {
      types += types.empty() ? "" : ", ";
      types += type_name(argument);
    }
    return Val::error(fmt::format("no such overload: {}({})", expr.name, types));
  }

  // && and ||: the deciding side wins over an error of the other.
  Val logical(const Expr& expr, bool decides) {
    const auto is_decided = [decides](const Val& value) {
      return decides ? value.is_true() : value.is_false();
    };
    Val left = eval(*expr.arguments[0]);
    if (is_decided(left)) {
      return left;
    }
    Val right = eval(*expr.arguments[1]);
    if (is_decided(right)) {
      return right;
    }
    if (left.is_error()) {
      return left;
    }
    if (right.is_error()) {
      return right;
    }
    return left.is(Val::Kind::Bool) && right.is(Val::Kind::Bool) ? Val::boolean(!decides)
                                                                 : no_such_overload();
  }

  Val index(const Expr& expr) {
    Val operand = eval(*expr.arguments[0]);
    if (operand.is_error()) {
      return operand;
    }
    Val key = eval(*expr.arguments[1]);
    charge(1);
    if (key.is_error()) {
      return key;
    }
    meter_.tick(key.text().size());
    if (operand.is(Val::Kind::Optional)) {
      return optional_find(operand, key);
    }
    return index_value(operand, key);
  }

  Val optional_find(const Val& operand, const Val& key) {
    const Val* inner = operand.is(Val::Kind::Optional) ? operand.optional_value() : &operand;
    std::optional<Val> found = inner == nullptr ? std::nullopt : find(*inner, key);
    if (!found) {
      return Val::optional_none();
    }
    return found->is_error() ? *found : Val::optional_of(std::move(*found));
  }

  Val optional_index(const Expr& expr) {
    Val operand = eval(*expr.arguments[0]);
    if (operand.is_error()) {
      return operand;
    }
    const Val key = eval(*expr.arguments[1]);
    charge(1);
    meter_.tick(key.text().size());
    return key.is_error() ? key : optional_find(operand, key);
  }

  // The alternative is evaluated only when it is needed.
  Val optional_or(const Expr& expr) {
    Val operand = eval(*expr.target);
    if (operand.is_error()) {
      return operand;
    }
    if (!operand.is(Val::Kind::Optional)) {
      return Val::error(fmt::format("no such overload: {}({})", expr.name, type_name(operand)));
    }
    const Val* inner = operand.optional_value();
    if (inner == nullptr) {
      return eval(*expr.arguments[0]);
    }
    return expr.name == "or" ? operand : *inner;
  }

  Val list(const Expr& expr) {
    std::vector<Val> items;
    items.reserve(expr.arguments.size());
    for (std::size_t i = 0; i < expr.arguments.size(); ++i) {
      Val item = eval(*expr.arguments[i]);
      if (item.is_error()) {
        return item;
      }
      if (expr.optional_items[i]) {
        if (!item.is(Val::Kind::Optional)) {
          return Val::error("cannot initialize optional list element from non-optional value");
        }
        const Val* inner = item.optional_value();
        if (inner == nullptr) {
          continue;
        }
        item = Val(*inner);
      }
      items.push_back(std::move(item));
    }
    charge(kListCost);
    meter_.make(items.size() * sizeof(Val));
    return Val::list(std::move(items));
  }

  Val map(const Expr& expr) {
    std::vector<std::pair<Val, Val>> entries;
    std::set<Val, KeyLess> known;
    for (const MapEntry& entry : expr.entries) {
      Val key = eval(*entry.key);
      if (!is_key(key)) {
        return key.is_error() ? key : unsupported_key();
      }
      Val value = eval(*entry.value);
      if (value.is_error()) {
        return value;
      }
      if (entry.optional) {
        const Val* inner = value.optional_value();
        if (inner == nullptr) {
          continue;
        }
        value = Val(*inner);
      }
      if (!known.insert(key).second) {
        return Val::error(fmt::format("Failed with repeated key: {}", key_text(key)));
      }
      entries.emplace_back(std::move(key), std::move(value));
    }
    charge(kMapCost);
    meter_.make(entries.size() * 2 * sizeof(Val));
    return Val::map(std::move(entries));
  }

  // A step that does nothing but add to a list or map adds in place: no copy for each item.
  struct Growing {
    const Expr* filter = nullptr;
    const Expr* item = nullptr;  // of a list
    const Expr* key = nullptr;   // of a map; null with value: the value is a map of entries
    const Expr* value = nullptr;
    std::vector<Val> items{};
    std::vector<std::pair<Val, Val>> entries{};
    std::set<Val, KeyLess> known{};  // keys of the entries
  };

  static std::optional<Growing> growing(const Fold& fold) {
    const Expr* step = fold.step.get();
    Growing result;
    if (step->kind == ExprKind::Call && step->name == op::kConditional &&
        fold.initial->kind != ExprKind::Literal) {
      result.filter = step->arguments[0].get();
      step = step->arguments[1].get();
    }
    if (step->kind != ExprKind::Call || step->arguments.empty() ||
        step->arguments[0]->kind != ExprKind::Ident ||
        step->arguments[0]->name != fold.accumulator || fold.accumulator != kAccumulator) {
      return std::nullopt;
    }
    if (step->name == op::kAdd && fold.initial->kind == ExprKind::List) {
      result.item = step->arguments[1]->arguments[0].get();
      return result;
    }
    if (step->name == op::kMapInsert) {
      result.key = step->arguments.size() == 3 ? step->arguments[1].get() : nullptr;
      result.value = step->arguments.back().get();
      return result;
    }
    return std::nullopt;
  }

  // An error value ends the loop.
  Val grow(Growing& parts) {
    if (parts.filter != nullptr) {
      const Val wanted = eval(*parts.filter);
      if (!wanted.is(Val::Kind::Bool)) {
        return wanted.is_error() ? wanted : no_such_overload();
      }
      charge(1);  // the accumulator
      if (!wanted.as_bool()) {
        return {};
      }
    }
    if (parts.item != nullptr) {
      Val item = eval(*parts.item);
      charge(kListCost + 2);
      if (item.is_error()) {
        return item;
      }
      meter_.make(sizeof(Val));
      parts.items.push_back(std::move(item));
      return {};
    }
    Val value = eval(*parts.value);
    charge(2);
    if (value.is_error()) {
      return value;
    }
    if (parts.key != nullptr) {
      return insert(parts, eval(*parts.key), value);
    }
    const MapNode* more = value.as_map();
    if (more == nullptr) {
      return no_such_overload();
    }
    for (const Val& key : more->keys()) {
      if (Val problem = insert(parts, key, *more->find(key)); problem.is_error()) {
        return problem;
      }
    }
    return {};
  }

  Val insert(Growing& parts, const Val& key, const Val& value) {
    if (!is_key(key)) {
      return key.is_error() ? key : unsupported_key();
    }
    meter_.tick(key.text().size());
    meter_.make(3 * sizeof(Val));
    if (!parts.known.insert(key).second) {
      return Val::error(fmt::format("insert failed: key {} already exists", key_text(key)));
    }
    parts.entries.emplace_back(key, value);
    return {};
  }

  // The n-th pair of a range, as locals.
  struct Range {
    const ListNode* list = nullptr;
    const MapNode* map = nullptr;
    std::vector<Val> keys{};  // of a map without numbered ones
    [[nodiscard]] std::size_t size() const {
      return list != nullptr ? list->size() : map->numbered() ? map->size() : keys.size();
    }
    [[nodiscard]] Val at(std::size_t index) const {
      return list != nullptr ? list->at(index) : map->numbered() ? map->key_at(index) : keys[index];
    }
  };

  void set_variables(const Fold& fold, const Range& range, std::size_t index) {
    Val& first = locals_[locals_.size() - (fold.variable2.empty() ? 1 : 2)].second;
    Val each = range.at(index);
    count_decoded(each);
    if (fold.variable2.empty()) {
      first = std::move(each);
    } else if (range.list != nullptr) {
      first = Val::integer(static_cast<std::int64_t>(index));
      locals_.back().second = std::move(each);
    } else {
      locals_.back().second = range.map->find(each).value_or(Val());
      count_decoded(locals_.back().second);
      first = std::move(each);
    }
  }

  Val fold(const Expr& expr) {
    const Fold& fold = *expr.fold;
    Val over = eval(*fold.range);
    if (over.is_error()) {
      return over;
    }
    Range range{.list = over.as_list(), .map = over.as_map()};
    if (range.list == nullptr && range.map == nullptr) {
      return Val::error(fmt::format("got '{}', expected iterable type", type_name(over)));
    }
    if (range.map != nullptr && !range.map->numbered()) {
      range.keys = range.map->keys();
      meter_.tick(range.keys.size() * Meter::kItem);
    }
    Val initial = eval(*fold.initial);
    const std::size_t bottom = locals_.size();
    locals_.emplace_back(&fold.accumulator, std::move(initial));
    locals_.emplace_back(&fold.variable, Val());
    if (!fold.variable2.empty()) {
      locals_.emplace_back(&fold.variable2, Val());
    }
    std::optional<Growing> parts = growing(fold);
    for (std::size_t i = 0; i < range.size() && meter_.tick(Meter::kItem); ++i) {
      set_variables(fold, range, i);
      if (parts) {
        if (Val problem = grow(*parts); problem.is_error()) {
          locals_[bottom].second = std::move(problem);
          parts.reset();
          break;
        }
        continue;
      }
      if (!eval(*fold.condition).is_true()) {
        break;
      }
      Val next = eval(*fold.step);
      locals_[bottom].second = std::move(next);
    }
    locals_.resize(bottom + 1);
    if (parts) {
      locals_[bottom].second = parts->value != nullptr ? Val::map(std::move(parts->entries))
                                                       : Val::list(std::move(parts->items));
    }
    Val result = eval(*fold.result);
    locals_.resize(bottom);
    return result;
  }

  const Checked& checked_;
  const EvaluationInput& input_;
  Meter& meter_;
  std::vector<std::pair<const std::string*, Val>> locals_{};
};

}  // namespace

Evaluation evaluate(const Expr& root, const Checked& checked, const EvaluationInput& input) {
  return Evaluator(checked, input).run(root);
}

}  // namespace athanor::cel
