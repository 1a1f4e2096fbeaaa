// SPDX-License-Identifier: Apache-2.0
// What calls cost at run time, in the units of kube-apiserver (one is about 50 ns).
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "cel/evaluator.hpp"

namespace athanor::cel {
namespace {

constexpr double kTraversal = 0.1;  // of one character
constexpr double kRegex = 0.25;     // of one character of an expression
constexpr std::uint64_t kAccessCheck = 350'000;

std::uint64_t size_cost(const Val& value) {
  if (const OpaqueNode* opaque = value.as_opaque()) {
    return opaque->cost_size();
  }
  return size_of(value).value_or(1);
}

// What size_cost() says of the smaller of two, without a walk through the larger text.
std::uint64_t smaller_size(const Val& a, const Val& b) {
  constexpr std::size_t kLongestCharacter = 4;  // bytes
  for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (one->text().size() * kLongestCharacter < other->text().size()) {
      return size_cost(*one);
    }
  }
  return std::min(size_cost(a), size_cost(b));
}

std::uint64_t scaled(std::uint64_t size, double factor) {
  return static_cast<std::uint64_t>(std::ceil(static_cast<double>(size) * factor));
}

// Priced by the list that it makes.
bool has_list_price(const Overload& overload) {
  return overload.id == "list_slice" || overload.id == "list_reverse" ||
         overload.id == "lists_range";
}

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, name) != names.end();
}

// Every item once, texts by their length.
std::uint64_t traversal(const Val& value) {
  const ListNode* list = value.as_list();
  if (list == nullptr) {
    return scaled(size_cost(value), kTraversal);
  }
  std::uint64_t cost = 0;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Val item = list->at(i);
    const bool text = item.is(Val::Kind::String) || item.is(Val::Kind::Bytes);
    cost += text ? scaled(size_cost(item), kTraversal) : 1;
  }
  return cost;
}

std::uint64_t regex_cost(const Val& text, const Val& expression) {
  return scaled(1 + size_cost(text), kTraversal) * scaled(size_cost(expression), kRegex);
}

constexpr std::array<std::string_view, 6> kPerItem = {"isSorted", "sum",     "max",
                                                      "min",      "indexOf", "lastIndexOf"};
constexpr std::array<std::string_view, 14> kOneTraversal = {
    "url",    "isURL", "lowerAscii", "upperAscii", "substring", "trim",     "cidr",
    "isCIDR", "isIP",  "quantity",   "isQuantity", "semver",    "isSemver", "charAt"};
constexpr std::array<std::string_view, 4> kTwoTraversals = {"replace", "split", "strings.quote",
                                                            "ip.isCanonical"};
constexpr std::array<std::string_view, 3> kSets = {"sets.contains", "sets.intersects",
                                                   "sets.equivalent"};

constexpr std::uint64_t kNewList = 11;  // the call and the list that it makes

// Of the lists extension; those whose result decides cost nothing yet.
std::optional<std::uint64_t> list_cost(const Overload& overload, Arguments arguments) {
  const std::string_view name = overload.function;
  if (has_list_price(overload)) {
    return 0;
  }
  if (name == "flatten") {
    const std::int64_t depth = arguments.size() == 2 ? arguments[1].as_int() : 1;
    return kNewList +
           scaled(size_cost(arguments[0]), static_cast<double>(std::max<std::int64_t>(depth, 0)));
  }
  if (name != "distinct" && name != "sort" && name != op::kSortBy) {
    return std::nullopt;
  }
  const Val& keys = arguments[name == op::kSortBy ? 1 : 0];
  const std::uint64_t size = size_cost(keys);
  const bool texts = size > 0 && (keys.as_list()->at(0).is(Val::Kind::String) ||
                                  keys.as_list()->at(0).is(Val::Kind::Bytes));
  const double pairs = static_cast<double>(size) * static_cast<double>(size);
  return kNewList + static_cast<std::uint64_t>(pairs * (texts ? 2 + kTraversal : 2));
}

// Of the Kubernetes libraries; nullopt for the language itself.
std::optional<std::uint64_t> library_cost(const Overload& overload, Arguments arguments) {
  const std::string_view name = overload.function;
  if (arguments.empty()) {
    return std::nullopt;
  }
  if (name == "check") {
    return kAccessCheck;
  }
  if (is_one_of(name, kPerItem)) {
    return traversal(arguments[0]);
  }
  if (is_one_of(name, kOneTraversal) || (name == "ip" && !overload.member)) {
    return scaled(size_cost(arguments[0]), kTraversal);
  }
  if (is_one_of(name, kTwoTraversals)) {
    return scaled(size_cost(arguments[0]), 2 * kTraversal);
  }
  if (name == "join") {
    return 0;  // its result decides
  }
  if (name == "find" || name == "findAll") {
    return regex_cost(arguments[0], arguments[1]);
  }
  if (name == "validate") {
    return regex_cost(arguments[1], Val::string(std::string(64, 'x')));
  }
  if (is_one_of(name, kSets)) {
    const std::uint64_t product = size_cost(arguments[0]) * size_cost(arguments[1]);
    return 1 + (name == "sets.equivalent" ? 2 * product : product);
  }
  if (name == "containsIP" || name == "containsCIDR") {
    const std::uint64_t own = size_cost(arguments[0]);
    std::uint64_t cost = scaled(2 * own, kTraversal);
    cost += name == "containsCIDR" ? scaled(own, kTraversal) + 1 : 0;
    cost += arguments[1].is(Val::Kind::String) ? scaled(size_cost(arguments[1]), kTraversal) : 0;
    return cost;
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t call_cost(const Overload& overload, Arguments arguments) {
  if (const auto cost = library_cost(overload, arguments)) {
    return *cost;
  }
  if (const auto cost = list_cost(overload, arguments)) {
    return *cost;
  }
  const std::string_view name = overload.function;
  if (name == "startsWith" || name == "endsWith" || overload.id == "string_to_bytes" ||
      overload.id == "bytes_to_string") {
    return scaled(size_cost(arguments[0]), kTraversal);
  }
  if (overload.id == "in_list") {
    return size_cost(arguments[1]);
  }
  if (name == op::kEquals || name == op::kNotEquals || name == "_<_" || name == "_<=_" ||
      name == "_>_" || name == "_>=_") {
    return scaled(smaller_size(arguments[0], arguments[1]), kTraversal);
  }
  if (overload.id == "add_string" || overload.id == "add_bytes") {
    return scaled(size_cost(arguments[0]) + size_cost(arguments[1]), kTraversal);
  }
  if (name == "matches") {
    return regex_cost(arguments[0], arguments[1]);
  }
  if (name == "contains") {
    return scaled(size_cost(arguments[0]), kTraversal) *
           scaled(size_cost(arguments[1]), kTraversal);
  }
  if (name == "format") {
    return scaled(size_cost(arguments[0]), kTraversal);
  }
  return 1;
}

// Compare or look up: they count what they look at, which may be less than their arguments.
constexpr std::array<std::string_view, 7> kCounting = {op::kEquals, op::kNotEquals, op::kIn, "_<_",
                                                       "_<=_",      "_>_",          "_>=_"};
// Return one of their arguments, or what is in it.
constexpr std::array<std::string_view, 5> kSharing = {"dyn", "value", "min", "max", "optional.of"};
constexpr std::uint64_t kZoneTicks = 16'000;  // a file is read

std::uint64_t read_ticks(const Overload& overload, Arguments arguments) {
  if (is_one_of(overload.function, kCounting) || is_one_of(overload.function, kSharing)) {
    return 0;
  }
  std::uint64_t ticks = overload.id.ends_with("_with_tz") ? kZoneTicks : 0;
  for (const Val& argument : arguments) {
    const OpaqueNode* opaque = argument.as_opaque();
    ticks += opaque != nullptr ? opaque->weight() : argument.text().size();
  }
  return ticks;
}

std::size_t made_bytes(const Overload& overload, const Val& result) {
  return is_one_of(overload.function, kSharing) ? 0 : own_bytes(result);
}

std::uint64_t result_cost(const Overload& overload, const Val& result) {
  if (has_list_price(overload)) {
    return kNewList + size_cost(result);
  }
  return overload.function == "join" ? scaled(size_cost(result), 2 * kTraversal) : 0;
}

}  // namespace athanor::cel
