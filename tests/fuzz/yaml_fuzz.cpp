// SPDX-License-Identifier: Apache-2.0
// Documents of YAML, aliases and all, become values that JSON can carry.
#include "fuzz/fuzz.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  const auto documents = yaml::parse_all(fuzz::text_of(data, size));
  if (documents.ok()) {
    for (const Value& document : *documents) {
      const std::string printed = json::print(document);
      const auto again = json::parse(printed);
      ATHANOR_CHECK(again.ok() && json::print(*again) == printed, "YAML values are JSON values");
    }
  }
  return 0;
}
