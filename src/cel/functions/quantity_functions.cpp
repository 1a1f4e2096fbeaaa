// SPDX-License-Identifier: Apache-2.0
// quantity() and its family.
#include <compare>
#include <limits>

#include "cel/functions/functions.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::cel {
namespace {

constexpr std::string_view kQuantityType = "kubernetes.Quantity";

struct QuantityNode final : OpaqueNode {
  explicit QuantityNode(Quantity amount) : quantity(amount) {}
  [[nodiscard]] std::string_view type_name() const override { return kQuantityType; }
  [[nodiscard]] bool equals(const OpaqueNode& other) const override {
    return quantity == static_cast<const QuantityNode&>(other).quantity;
  }

  Quantity quantity;
};

const Quantity& quantity_of(const Val& value) {
  return static_cast<const QuantityNode&>(*value.as_opaque()).quantity;
}

Val quantity_node(const Quantity& amount) {
  return Val::opaque(std::make_shared<QuantityNode>(amount));
}

Val quantity(Arguments a, Runtime&) {
  const std::optional<Quantity> parsed = Quantity::parse(a[0].text());
  return parsed ? quantity_node(*parsed)
                : Val::error(
                      "quantities must match the regular expression "
                      "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

Val is_quantity(Arguments a, Runtime&) {
  return Val::boolean(Quantity::parse(a[0].text()).has_value());
}

Val sign(Arguments a, Runtime&) {
  const Quantity& amount = quantity_of(a[0]);
  return Val::integer(amount.is_zero() ? 0 : amount.is_negative() ? -1 : 1);
}

// A whole number of int64.
std::optional<std::int64_t> whole(const Quantity& amount) {
  const std::int64_t value = amount.value();
  return Quantity::from_int(value) == amount ? std::optional<std::int64_t>(value) : std::nullopt;
}

Val is_integer(Arguments a, Runtime&) {
  return Val::boolean(whole(quantity_of(a[0])).has_value());
}

Val as_integer(Arguments a, Runtime&) {
  const auto value = whole(quantity_of(a[0]));
  return value ? Val::integer(*value) : Val::error("cannot convert value to integer");
}

Val as_approximate_float(Arguments a, Runtime&) {
  const Quantity& amount = quantity_of(a[0]);
  const std::int64_t milli = amount.milli_value();
  const bool saturated = milli == std::numeric_limits<std::int64_t>::max() ||
                         milli == std::numeric_limits<std::int64_t>::min();
  if (saturated) {
    return Val::real(static_cast<double>(amount.value()));
  }
  // below a milli unit the nano part decides
  const Quantity rest = amount - Quantity::from_milli(milli);
  return Val::real(static_cast<double>(milli) / 1e3 +
                   static_cast<double>(rest.times(1'000'000).milli_value()) / 1e9);
}

int order_of(const Val& a, const Val& b) {
  const auto order = quantity_of(a) <=> quantity_of(b);
  return std::is_lt(order) ? -1 : std::is_gt(order) ? 1 : 0;
}

Val is_greater_quantity(Arguments a, Runtime&) {
  return Val::boolean(order_of(a[0], a[1]) > 0);
}

Val is_less_quantity(Arguments a, Runtime&) {
  return Val::boolean(order_of(a[0], a[1]) < 0);
}

Val compare_quantities(Arguments a, Runtime&) {
  return Val::integer(order_of(a[0], a[1]));
}

Quantity operand(const Val& value) {
  return value.is(Val::Kind::Int) ? Quantity::from_int(value.as_int()) : quantity_of(value);
}

Val add(Arguments a, Runtime&) {
  return quantity_node(quantity_of(a[0]) + operand(a[1]));
}

Val sub(Arguments a, Runtime&) {
  return quantity_node(quantity_of(a[0]) - operand(a[1]));
}

}  // namespace

void add_quantity_functions(FunctionTable& table) {
  table.add("quantity", "string_to_quantity", "string -> kubernetes.Quantity", quantity);
  table.add("isQuantity", "is_quantity_string", "string -> bool", is_quantity);
  table.add("sign", "quantity_sign", "kubernetes.Quantity.() -> int", sign);
  table.add("isInteger", "quantity_is_integer", "kubernetes.Quantity.() -> bool", is_integer);
  table.add("asInteger", "quantity_get_int", "kubernetes.Quantity.() -> int", as_integer);
  table.add("asApproximateFloat", "quantity_get_float", "kubernetes.Quantity.() -> double",
            as_approximate_float);
  table.add("isGreaterThan", "quantity_is_greater_than",
            "kubernetes.Quantity.(kubernetes.Quantity) -> bool", is_greater_quantity);
  table.add("isLessThan", "quantity_is_less_than",
            "kubernetes.Quantity.(kubernetes.Quantity) -> bool", is_less_quantity);
  table.add("compareTo", "quantity_compare_to", "kubernetes.Quantity.(kubernetes.Quantity) -> int",
            compare_quantities);
  table.add("add", "quantity_add",
            "kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity", add);
  table.add("add", "quantity_add_int", "kubernetes.Quantity.(int) -> kubernetes.Quantity", add);
  table.add("sub", "quantity_sub",
            "kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity", sub);
  table.add("sub", "quantity_sub_int", "kubernetes.Quantity.(int) -> kubernetes.Quantity", sub);
}

}  // namespace athanor::cel
