// SPDX-License-Identifier: Apache-2.0
#include "kube/schema/wrap_integers.hpp"

#include <cstdint>
#include <utility>

namespace athanor {
namespace {

// True when `out` replaces the value.
bool wrap(const Value& value, const Schema& schema, Value& out) {
  if (value.is_integer()) {
    const std::int64_t number = value.as_int();
    const auto wrapped = static_cast<std::int32_t>(static_cast<std::uint32_t>(number));
    if (schema.type != SchemaType::Integer || schema.format != "int32" || wrapped == number) {
      return false;
    }
    out = Value(static_cast<std::int64_t>(wrapped));
    return true;
  }
  bool changed = false;
  const auto keep = [&](Value& copy, auto key, const Value& member, const Schema* below) {
    Value inner;
    if (below != nullptr && wrap(member, *below, inner)) {
      key(copy) = std::move(inner);
      changed = true;
    }
  };
  if (value.is_list() && schema.items != nullptr) {
    Value copy = value;
    for (std::size_t i = 0; i < value.size(); ++i) {
      keep(
          copy, [i](Value& list) -> Value& { return list.item(i); }, value[i], schema.items);
    }
    out = std::move(copy);
  } else if (value.is_object()) {
    Value copy = value;
    for (const Member& member : value.members()) {
      const SchemaField* field = schema.field(member.key());
      keep(
          copy, [&](Value& object) -> Value& { return object.member(member.key()); }, member.value,
          field != nullptr ? field->schema : schema.additional);
    }
    out = std::move(copy);
  }
  return changed;
}

}  // namespace

Value wrap_integers(const Value& object, SchemaPtr schema) {
  Value out;
  return schema != nullptr && wrap(object, *schema, out) ? out : object;
}

}  // namespace athanor
