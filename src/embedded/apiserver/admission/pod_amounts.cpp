// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/admission/pod_amounts.hpp"

namespace athanor::apiserver {

Amounts pod_amounts(const Value& pod_spec, std::string_view list) {
  Amounts total = pod_level_amounts(pod_spec, list);
  for (const Member& overhead : pod_spec["overhead"].members()) {
    // A limit grows only where there is one.
    const auto quantity = Quantity::parse(overhead.value);
    const auto entry = total.find(overhead.key());
    if (quantity && entry != total.end()) {
      entry->second += *quantity;
    } else if (quantity && list == "requests") {
      total.emplace(overhead.key(), *quantity);
    }
  }
  return total;
}

}  // namespace athanor::apiserver
