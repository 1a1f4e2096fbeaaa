// SPDX-License-Identifier: Apache-2.0
#include "kube/schema.hpp"

#include <algorithm>
#include <numeric>

namespace athanor {

const SchemaField* Schema::field(std::string_view field_name) const {
  const auto found = std::lower_bound(
      field_order.begin(), field_order.end(), field_name,
      [this](std::uint32_t index, std::string_view wanted) { return fields[index].name < wanted; });
  if (found == field_order.end() || fields[*found].name != field_name) {
    return nullptr;
  }
  return &fields[*found];
}

void Schema::index_fields() {
  field_order.resize(fields.size());
  std::iota(field_order.begin(), field_order.end(), 0U);
  std::sort(field_order.begin(), field_order.end(),
            [this](std::uint32_t a, std::uint32_t b) { return fields[a].name < fields[b].name; });
}

}  // namespace athanor
