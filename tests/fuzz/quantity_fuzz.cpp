// SPDX-License-Identifier: Apache-2.0
// Quantities: the canonical text is a quantity of the same amount.
#include "fuzz/fuzz.hpp"
#include "kube/text/quantity.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  if (const auto quantity = Quantity::parse(fuzz::text_of(data, size))) {
    const std::string text = quantity->text();
    const auto again = Quantity::parse(text);
    ATHANOR_CHECK(again && *again == *quantity, "the text says the same");
    (void)quantity->value();
    (void)quantity->milli_value();
    (void)(*quantity + *again);
  }
  return 0;
}
