// SPDX-License-Identifier: Apache-2.0
// Between quantities and counted amounts.
#include "embedded/kueue/model/amounts.hpp"

namespace athanor::kueue {
namespace {

bool is_binary(std::string_view resource) {
  return resource == "memory" || resource == "ephemeral-storage" ||
         resource.starts_with("hugepages-");
}

}  // namespace

Amount amount_of(std::string_view resource, const Value& quantity) {
  const auto parsed = Quantity::parse(quantity);
  if (!parsed) {
    return 0;
  }
  return resource == "cpu" ? parsed->milli_value() : parsed->value();
}

std::string amount_text(std::string_view resource, Amount amount) {
  if (resource == "cpu") {
    return Quantity::from_milli(amount).text();
  }
  return Quantity::from_int(
             amount, is_binary(resource) ? Quantity::Format::BinarySI : Quantity::Format::DecimalSI)
      .text();
}

}  // namespace athanor::kueue
