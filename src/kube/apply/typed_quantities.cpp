// SPDX-License-Identifier: Apache-2.0
// Quantities that an applied configuration spells differently: the same amount, but a claim on the
// field all the same.
#include "kube/apply/typed_fields.hpp"
#include "kube/apply/typed_node.hpp"
#include "kube/value/member_lookup.hpp"

namespace athanor {
namespace {

using typed::Node;
using typed::Shape;

FieldSet respelled(const Value& live, const Value& config, const Node& node);

FieldSet respelled_members(const Value& live, const Value& config, const Node& node) {
  FieldSet out;
  MemberLookup lookup(live);
  for (const Member& member : config.members()) {
    const Value* const existing = lookup.find(member.key());
    if (existing == nullptr || existing->identical(member.value)) {
      continue;
    }
    const Node below = node.member(member.key());
    const bool quantity = below.schema != nullptr && below.schema->type == SchemaType::Quantity;
    if (quantity && *existing != member.value && !member.value.is_null()) {
      out.insert(path_element::field(member.key()));
    } else {
      out.add_below(path_element::field(member.key()), respelled(*existing, member.value, below));
    }
  }
  return out;
}

FieldSet respelled_items(const Value& live, const Value& config, const Node& node) {
  FieldSet out;
  const typed::ElementIndex index(*node.schema, &live);
  for (const Value& item : config.items()) {
    const Value element = typed::element_of(*node.schema, item);
    if (const auto position = index.first(element)) {
      out.add_below(element, respelled(live[*position], item, node.item()));
    }
  }
  return out;
}

FieldSet respelled(const Value& live, const Value& config, const Node& node) {
  FieldSet out;
  switch (node.shape(&live, &config)) {
    case Shape::Leaf:
      break;
    case Shape::Map:
      return respelled_members(live, config, node);
    case Shape::List:
      out = respelled_items(live, config, node);
      break;
  }
  return out;
}

}  // namespace

FieldSet respelled_quantities(const Value& live, const Value& config, SchemaPtr schema) {
  return respelled(live, config, typed::root_node(schema));
}

}  // namespace athanor
