// SPDX-License-Identifier: Apache-2.0
// What parses prints, and the print parses to the same. Packed and unpacked it still does.
#include "fuzz/fuzz.hpp"
#include "kube/text/json.hpp"
#include "kube/value/packer.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  std::vector<std::string> duplicates;
  const auto value = json::parse(fuzz::text_of(data, size), {.duplicates = &duplicates});
  if (value.ok()) {
    const std::string printed = json::print(*value);
    const auto again = json::parse(printed);
    ATHANOR_CHECK(again.ok(), "a printed value parses");
    // A large double prints as an integer and comes back as one; from then on nothing changes.
    const std::string settled = json::print(*again);
    ATHANOR_CHECK(json::print(json::parse(settled).value()) == settled, "printing is stable");
    ATHANOR_CHECK(json::parse(json::print(*value, json::Style::Pretty)).value() == *again,
                  "the pretty form says the same");
    Packer packer;
    const std::string packed(packer.pack(*value));
    const Value unpacked = packer.unpack(packed);
    ATHANOR_CHECK(unpacked == *value && json::print(unpacked) == printed,
                  "what was packed comes back");
  }
  return 0;
}
