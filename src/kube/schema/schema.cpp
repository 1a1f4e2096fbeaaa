// SPDX-License-Identifier: Apache-2.0
#include "kube/schema/schema.hpp"

#include <bit>

#include "base/text_hash.hpp"

namespace athanor {

const SchemaField* Schema::field(std::string_view field_name) const {
  if (field_places.empty()) {
    return nullptr;
  }
  const std::size_t mask = field_places.size() - 1;
  for (std::size_t at = hash_text(field_name) & mask; field_places[at] != 0; at = (at + 1) & mask) {
    const SchemaField& field = fields[field_places[at] - 1U];
    if (field.name == field_name) {
      return &field;
    }
  }
  return nullptr;
}

void Schema::index_fields() {
  field_places.assign(fields.empty() ? 0 : std::bit_ceil(fields.size() * 2), 0);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::size_t mask = field_places.size() - 1;
    std::size_t at = hash_text(fields[i].name) & mask;
    while (field_places[at] != 0 && fields[field_places[at] - 1U].name != fields[i].name) {
      at = (at + 1) & mask;
    }
    if (field_places[at] == 0) {  // of two with one name the first one counts
      field_places[at] = static_cast<std::uint32_t>(i + 1);
    }
  }
}

}  // namespace athanor
