// SPDX-License-Identifier: Apache-2.0
// Label and field selectors; the canonical text of a selector selects the same.
#include "fuzz/fuzz.hpp"
#include "kube/names/selector.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  const auto text = fuzz::text_of(data, size);
  if (const auto selector = LabelSelector::parse(text); selector.ok()) {
    const auto again = LabelSelector::parse(selector->text());
    ATHANOR_CHECK(again.ok(), "the text of a selector is a selector");
    ATHANOR_CHECK(again->text() == selector->text(), "the text is canonical");
    const Value labels = Value::object({{"a", "b"}, {"app", "x"}, {"n", "7"}});
    ATHANOR_CHECK(again->matches(labels) == selector->matches(labels), "it selects the same");
  }
  (void)parse_field_selector(text);
  return 0;
}
