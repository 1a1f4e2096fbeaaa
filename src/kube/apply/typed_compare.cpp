// SPDX-License-Identifier: Apache-2.0
// The fields of a value and the fields in which two values differ.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cancellation.hpp"
#include "kube/apply/typed_fields.hpp"
#include "kube/apply/typed_node.hpp"
#include "kube/value/member_lookup.hpp"

namespace athanor {

namespace {

using typed::ElementIndex;
using typed::Node;
using typed::Shape;

// Wider maps and lists are visited in the order of their names: a FieldSet whose elements come in
// any order moves all behind the place of each.
constexpr std::size_t kManyMembers = 32;

template <class Visit>
void each_in_order(const Value& map, const Visit& visit) {
  const auto members = map.members();
  if (members.size() <= kManyMembers) {
    std::ranges::for_each(members, visit);
    return;
  }
  std::vector<const Member*> sorted;
  sorted.reserve(members.size());
  for (const Member& member : members) {
    sorted.push_back(&member);
  }
  std::ranges::sort(sorted, {}, &Member::key);
  for (const Member* member : sorted) {
    visit(*member);
  }
}

// The items of a keyed list with their elements, in the order of these.
struct Element {
  Value element{};
  const Value* item = nullptr;
};
std::vector<Element> elements_in_order(const Schema& list, const Value& items) {
  std::vector<Element> elements;
  elements.reserve(items.size());
  for (const Value& item : items.items()) {
    Value element = typed::element_of(list, item);
    if (!element.is_null()) {
      elements.push_back({.element = std::move(element), .item = &item});
    }
  }
  if (elements.size() > kManyMembers) {
    std::ranges::stable_sort(elements, [](const Element& a, const Element& b) {
      return path_element::compare(a.element.as_string(), b.element.as_string()) < 0;
    });
  }
  return elements;
}

void collect_leaves(const Value& value, const Node& node, FieldSet& out) {
  switch (node.shape(&value)) {
    case Shape::Leaf:
      return;
    case Shape::Map:
      each_in_order(value, [&](const Member& member) {
        const Node below = node.member(member.key());
        const bool system = node.is_system(member.key());
        if (system && below.level != Node::Level::Metadata) {
          return;
        }
        Value element = path_element::field(member.key());
        FieldSet inside;
        collect_leaves(member.value, below, inside);
        // An empty map is a field of its own, an empty keyed list is nothing.
        const bool leaf = member.value.is_null() ||
                          (member.value.is_object() && member.value.empty()) ||
                          below.shape(&member.value) == Shape::Leaf;
        if (!system && (leaf || !below.declared)) {
          out.insert(element);
        }
        out.add_below(std::move(element), std::move(inside));
      });
      return;
    case Shape::List:
      for (Element& each : elements_in_order(*node.schema, value)) {
        FieldSet inside;
        collect_leaves(*each.item, node.item(), inside);
        out.insert(each.element);
        out.add_below(std::move(each.element), std::move(inside));
      }
      return;
  }
}

// One pair of values at a place; either may be absent (nullptr), not both.
struct Pair {
  const Value* from = nullptr;
  const Value* to = nullptr;

  [[nodiscard]] bool same() const {
    return from != nullptr && to != nullptr && from->identical(*to);
  }
};

void compare_content(const Pair& pair, const Node& node, FieldChanges& out);

// Reports the place itself and what is below it. `make_element` is called only when something
// differs.
template <class MakeElement>
void compare_place(const Pair& pair, const Node& node, const MakeElement& make_element,
                   FieldChanges& out) {
  give_up_if_cancelled();
  if (pair.same()) {
    return;
  }
  const Shape shape = node.shape(pair.from, pair.to);
  const bool empties = typed::absent_or_empty(pair.from) && typed::absent_or_empty(pair.to);
  FieldChanges below;
  if (shape != Shape::Leaf && !empties) {
    compare_content(pair, node, below);
  } else if (pair.from != nullptr && pair.to != nullptr) {
    if (*pair.from == *pair.to) {
      return;
    }
    out.modified.insert(make_element());
    if (shape == Shape::Leaf) {  // a container may have given way to something else, or come
      collect_leaves(*pair.from, node, below.removed);
      collect_leaves(*pair.to, node, below.added);
    }
  }
  if (below.empty() && !below.keyless && pair.from != nullptr && pair.to != nullptr) {
    return;
  }
  out.keyless |= below.keyless;
  const Value element = make_element();
  if (pair.from == nullptr) {
    out.added.insert(element);
  }
  if (pair.to == nullptr) {
    out.removed.insert(element);
  }
  out.added.add_below(element, std::move(below.added));
  out.modified.add_below(element, std::move(below.modified));
  out.removed.add_below(element, std::move(below.removed));
}

void compare_member(std::string_view name, Pair pair, const Node& parent, bool parent_from,
                    bool parent_to, FieldChanges& out) {
  const Node node = parent.member(name);
  if (parent.is_system(name)) {
    if (node.level == Node::Level::Metadata) {
      static const Value kNothing = Value::object();
      FieldChanges below;
      compare_content(
          {pair.from == nullptr ? &kNothing : pair.from, pair.to == nullptr ? &kNothing : pair.to},
          node, below);
      const Value element = path_element::field(name);
      out.added.add_below(element, std::move(below.added));
      out.modified.add_below(element, std::move(below.modified));
      out.removed.add_below(element, std::move(below.removed));
    }
    return;
  }
  // A field that is always printed is there, empty, wherever its parent is.
  if (pair.from == nullptr && parent_from) {
    pair.from = node.stand_in();
  }
  if (pair.to == nullptr && parent_to) {
    pair.to = node.stand_in();
  }
  compare_place(
      pair, node, [name] { return path_element::field(name); }, out);
}

void compare_maps(const Pair& pair, const Node& node, FieldChanges& out) {
  static const Value kNone;
  MemberLookup from(pair.from == nullptr ? kNone : *pair.from);
  MemberLookup to(pair.to == nullptr ? kNone : *pair.to);
  const bool parent_from = pair.from != nullptr && pair.from->is_object();
  const bool parent_to = pair.to != nullptr && pair.to->is_object();
  std::size_t shared = 0;
  if (parent_to) {
    each_in_order(*pair.to, [&](const Member& member) {
      const Value* old = parent_from ? from.find(member.key()) : nullptr;
      shared += old != nullptr ? 1U : 0U;
      if (old == nullptr || !old->identical(member.value)) {
        compare_member(member.key(), {old, &member.value}, node, parent_from, parent_to, out);
      }
    });
  }
  if (!parent_from || shared == pair.from->size()) {
    return;
  }
  each_in_order(*pair.from, [&](const Member& member) {
    if (!parent_to || to.find(member.key()) == nullptr) {
      compare_member(member.key(), {&member.value, nullptr}, node, parent_from, parent_to, out);
    }
  });
}

// An element with the same key is elsewhere in the list too.
bool is_repeated(const Schema& list, const Value& items, std::size_t at) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i != at && typed::same_element(list, items[i], items[at])) {
      return true;
    }
  }
  return false;
}

// Lists whose elements are at the same places: the common case of an edit inside elements.
bool pair_keeps_places(const Pair& pair, const Schema& list) {
  if (pair.from == nullptr || pair.to == nullptr || pair.from->size() != pair.to->size()) {
    return false;
  }
  const auto from = pair.from->items();
  const auto to = pair.to->items();
  std::size_t changed = 0;  // each of them looks at all items: many are found by their index
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!from[i].identical(to[i]) &&
        (++changed > kManyMembers || !typed::same_element(list, from[i], to[i]) ||
         is_repeated(list, *pair.to, i))) {
      return false;
    }
  }
  return true;
}

// Elements that occur more than once are one thing, whose content has no owner; one that occurs
// once comes or goes field by field.
void compare_repeated(const Pair& pair, const Node& item, const Value& element,
                      const std::vector<std::size_t>& in_from,
                      const std::vector<std::size_t>& in_to, FieldChanges& out) {
  if (in_from.size() > 1 && in_to.size() > 1) {
    const bool equal = std::equal(
        in_from.begin(), in_from.end(), in_to.begin(), in_to.end(),
        [&pair](std::size_t a, std::size_t b) { return (*pair.from)[a] == (*pair.to)[b]; });
    if (!equal) {
      out.modified.insert(element);
    }
  } else if (in_from.size() > 1) {
    if (!in_to.empty()) {
      compare_place(
          {nullptr, &(*pair.to)[in_to.front()]}, item, [&] { return element; }, out);
    }
    out.removed.insert(element);
  } else {
    if (!in_from.empty()) {
      compare_place(
          {&(*pair.from)[in_from.front()], nullptr}, item, [&] { return element; }, out);
    }
    out.added.insert(element);
  }
}

// Those of a large list in the order of a FieldSet, each once.
std::vector<Value> in_order(std::vector<Value> elements) {
  if (elements.size() > kManyMembers) {
    std::ranges::stable_sort(elements, [](const Value& a, const Value& b) {
      return path_element::compare(a.as_string(), b.as_string()) < 0;
    });
    const auto repeated = std::ranges::unique(elements);
    elements.erase(repeated.begin(), repeated.end());
  }
  return elements;
}

void compare_lists(const Pair& pair, const Node& node, FieldChanges& out) {
  const Schema& list = *node.schema;
  const Node item = node.item();
  if (pair_keeps_places(pair, list)) {
    for (std::size_t i = 0; i < pair.to->size(); ++i) {
      const Value& to = (*pair.to)[i];
      const Pair items{&(*pair.from)[i], &to};
      out.keyless |= !items.same() && typed::element_of(list, to).is_null();
      compare_place(
          items, item, [&] { return typed::element_of(list, to); }, out);
    }
    return;
  }
  const ElementIndex from(list, pair.from);
  const ElementIndex to(list, pair.to);
  const auto visit = [&](const Value& element) {
    const std::vector<std::size_t> in_from = from.positions(element);
    const std::vector<std::size_t> in_to = to.positions(element);
    if (in_from.size() > 1 || in_to.size() > 1) {
      compare_repeated(pair, item, element, in_from, in_to, out);
      return;
    }
    compare_place(
        {in_from.empty() ? nullptr : &(*pair.from)[in_from.front()],
         in_to.empty() ? nullptr : &(*pair.to)[in_to.front()]},
        item, [&] { return element; }, out);
  };
  for (const Value& element : in_order(to.elements())) {
    if (!element.is_null()) {
      visit(element);
    } else {
      out.keyless = true;
    }
  }
  for (const Value& element : in_order(from.elements())) {
    if (!element.is_null() && !to.first(element)) {
      visit(element);
    }
  }
}

void compare_content(const Pair& pair, const Node& node, FieldChanges& out) {
  switch (node.shape(pair.from, pair.to)) {
    case Shape::Leaf:
      break;
    case Shape::Map:
      compare_maps(pair, node, out);
      break;
    case Shape::List:
      compare_lists(pair, node, out);
      break;
  }
}

}  // namespace

FieldSet leaves(const Value& value, SchemaPtr schema) {
  FieldSet out;
  collect_leaves(value, typed::root_node(schema), out);
  return out;
}

FieldChanges compare_fields(const Value& from, const Value& to, SchemaPtr schema) {
  FieldChanges out;
  if (!from.identical(to)) {
    const Value nothing = Value::object();
    compare_content({from.is_null() ? &nothing : &from, to.is_null() ? &nothing : &to},
                    typed::root_node(schema), out);
  }
  return out;
}

}  // namespace athanor
