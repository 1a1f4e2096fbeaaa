// SPDX-License-Identifier: Apache-2.0
// Merging an applied configuration into an object, cutting fields out of one.
//
// Invariants that callers rely on:
//   - a subtree that does not change is the same node as before (identical()), so the cost of a
//     merge is that of what it changes, and "nothing changed" is one comparison;
//   - the elements of `config` appear in its order; live elements that it lacks keep their places
//     between the elements that both lists share;
//   - cutting never removes what `fields` does not name: a container that becomes empty turns into
//     Null, and its owner decides whether it goes.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/cancellation.hpp"
#include "kube/apply/member_edit.hpp"
#include "kube/apply/typed_fields.hpp"
#include "kube/apply/typed_node.hpp"
#include "kube/text/quantity.hpp"

namespace athanor {

namespace {

using typed::ElementIndex;
using typed::Node;
using typed::Shape;

Value merge_place(const Value& live, const Value& config, const Node& node);

// "1000m" over "1" changes nothing: the server would print it as "1" again.
bool same_leaf(const Value& live, const Value& config, const Node& node) {
  if (live == config) {
    return true;
  }
  if (node.schema == nullptr || node.schema->type != SchemaType::Quantity) {
    return false;
  }
  const std::optional<Quantity> a = Quantity::parse(live);
  const std::optional<Quantity> b = Quantity::parse(config);
  return a && b && *a == *b;
}

// Whether Null is a value of its own there, as among the entries of a map, and in custom objects,
// whose schema judges it; elsewhere it is the same as nothing.
bool keeps_null(const Node& node) {
  return node.custom || node.schema == nullptr || node.schema->nullable || !node.declared;
}

Value merge_maps(const Value& live, const Value& config, const Node& node) {
  MemberEdit result(live);
  for (const Member& member : config.members()) {
    give_up_if_cancelled();
    const Value* existing = result.find(member.key());
    const Node below = node.member(member.key());
    if (existing == nullptr) {
      if (!member.value.is_null() || keeps_null(below)) {
        result.set(member.key(), member.value);
      }
      continue;
    }
    Value merged = merge_place(*existing, member.value, below);
    if (!merged.identical(*existing)) {
      result.set(member.key(), std::move(merged));
    }
  }
  return result.take();
}

// Lists whose elements stand at the same places, the usual re-apply: no index is needed.
bool same_places(const Value& live, const Value& config, const Schema& list) {
  if (live.size() != config.size()) {
    return false;
  }
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (!typed::same_element(list, live[i], config[i])) {
      return false;
    }
  }
  return true;
}

Value merge_in_place(const Value& live, const Value& config, const Node& item) {
  Value result = live;
  for (std::size_t i = 0; i < live.size(); ++i) {
    give_up_if_cancelled();
    Value merged = merge_place(live[i], config[i], item);
    if (!merged.identical(live[i])) {
      result.item(i) = std::move(merged);
    }
  }
  return result;
}

// The elements of both lists: those of `config` in its order, the live ones between them where they
// stood.
class ListMerge {
 public:
  ListMerge(const Value& live, const Value& config, const Node& node)
      : live_(live),
        config_(config),
        node_(node),
        in_live_(*node.schema, &live),
        in_config_(*node.schema, &config) {}

  Value run() {
    for (std::size_t i = 0; i < live_.size(); ++i) {
      take_live(i);
    }
    take_config_until(config_.size());
    return changed_ || items_.size() != live_.size() ? Value::list(std::move(items_)) : live_;
  }

 private:
  void take_live(std::size_t position) {
    give_up_if_cancelled();
    const Value& element = in_live_.elements()[position];
    const std::optional<std::size_t> wanted =
        element.is_null() ? std::nullopt : in_config_.first(element);
    if (!wanted) {
      add(live_[position]);
      return;
    }
    // A shared element waits for its turn in the order of `config`.
    if (*wanted == next_shared()) {
      take_config_until(*wanted + 1);
    }
  }

  // The position in `config` of the next element that the live list has, too.
  std::size_t next_shared() {
    // Elements that are passed over once need not be looked at again.
    shared_ = std::max(shared_, next_);
    while (shared_ < config_.size() && !in_live_.first(in_config_.elements()[shared_])) {
      ++shared_;
    }
    return shared_;
  }

  void take_config_until(std::size_t end) {
    for (; next_ < end; ++next_) {
      const std::optional<std::size_t> existing = in_live_.first(in_config_.elements()[next_]);
      add(existing ? merge_place(live_[*existing], config_[next_], node_.item()) : config_[next_]);
    }
  }

  void add(Value item) {
    const std::size_t place = items_.size();
    changed_ = changed_ || place >= live_.size() || !item.identical(live_[place]);
    items_.push_back(std::move(item));
  }

  const Value& live_;
  const Value& config_;
  const Node& node_;
  ElementIndex in_live_;
  ElementIndex in_config_;
  std::vector<Value> items_{};  // config[0..next_) is in it, merged with the live elements
  std::size_t next_ = 0;        // never decreases
  std::size_t shared_ = 0;      // next_ <= shared_ after next_shared(); never decreases
  bool changed_ = false;        // items_ differs from the beginning of live_
};

Value merge_place(const Value& live, const Value& config, const Node& node) {
  if (live.identical(config)) {
    return live;
  }
  const Shape shape = node.shape(&live, &config);
  if (shape == Shape::Leaf || live.empty()) {
    return same_leaf(live, config, node) ? live : config;
  }
  if (config.empty()) {
    return live;  // sets none of the fields inside
  }
  if (shape == Shape::Map) {
    return merge_maps(live, config, node);
  }
  return same_places(live, config, *node.schema) ? merge_in_place(live, config, node.item())
                                                 : ListMerge(live, config, node).run();
}

enum class Cut : std::uint8_t { Keep, Change, Remove };

Cut remove_place(Value& value, const FieldSet::Entry& entry, const Node& node);

bool remove_from_map(Value& value, const FieldSet& fields, const Node& node) {
  bool changed = false;
  MemberEdit edit(std::move(value));
  for (const FieldSet::Entry& entry : fields.entries()) {
    give_up_if_cancelled();
    const std::string_view element = entry.element.as_string();
    if (!path_element::is_field(element)) {
      continue;
    }
    const std::string_view name = path_element::field_name(element);
    const Value* existing = edit.find(name);
    if (existing == nullptr) {
      continue;
    }
    Value rest = *existing;
    switch (remove_place(rest, entry, node.member(name))) {
      case Cut::Keep:
        break;
      case Cut::Change:
        edit.set(name, std::move(rest));
        changed = true;
        break;
      case Cut::Remove:
        edit.erase(name);
        changed = true;
        break;
    }
  }
  value = edit.take();
  return changed;
}

bool remove_from_list(Value& value, const FieldSet& fields, const Node& node) {
  std::vector<Value> items;
  bool changed = false;
  for (const Value& item : value.items()) {
    const Value element = typed::element_of(*node.schema, item);
    const FieldSet::Entry* entry = element.is_null() ? nullptr : fields.find(element.as_string());
    Value rest = item;
    const Cut cut = entry == nullptr ? Cut::Keep : remove_place(rest, *entry, node.item());
    changed = changed || cut != Cut::Keep;
    if (cut != Cut::Remove) {
      items.push_back(std::move(rest));
    }
  }
  if (changed) {
    value = Value::list(std::move(items));
  }
  return changed;
}

Cut remove_place(Value& value, const FieldSet::Entry& entry, const Node& node) {
  if (entry.member) {
    return Cut::Remove;
  }
  bool changed = false;
  switch (node.shape(&value)) {
    case Shape::Leaf:
      break;
    case Shape::Map:
      changed = remove_from_map(value, entry.children, node);
      break;
    case Shape::List:
      changed = remove_from_list(value, entry.children, node);
      break;
  }
  if (!changed) {
    return Cut::Keep;
  }
  if (value.empty()) {
    value = Value();  // there, but of no type any more
  }
  return Cut::Change;
}

Value extract_place(const Value& value, const FieldSet& fields, const Node& node);

Value extract_from_map(const Value& value, const FieldSet& fields, const Node& node) {
  std::vector<Member> result;
  MemberEdit members(value);
  for (const FieldSet::Entry& entry : fields.entries()) {
    const std::string_view name = path_element::field_name(entry.element.as_string());
    const Value* existing = members.find(name);
    if (existing != nullptr && path_element::is_field(entry.element.as_string())) {
      result.emplace_back(name, extract_place(*existing, entry.children, node.member(name)));
    }
  }
  return Value::object(std::move(result));
}

Value extract_from_list(const Value& value, const FieldSet& fields, const Node& node) {
  Value result = Value::list();
  for (const Value& item : value.items()) {
    const Value element = typed::element_of(*node.schema, item);
    const FieldSet::Entry* entry = element.is_null() ? nullptr : fields.find(element.as_string());
    if (entry == nullptr) {
      continue;
    }
    Value part = extract_place(item, entry->children, node.item());
    if (part.is_object()) {
      for (const std::string& key : node.schema->list_map_keys) {
        if (const Value* own = item.find(key); own != nullptr && !part.contains(key)) {
          part.set(key, *own);
        }
      }
    }
    result.push_back(std::move(part));
  }
  return result;
}

Value extract_place(const Value& value, const FieldSet& fields, const Node& node) {
  switch (node.shape(&value)) {
    case Shape::Leaf:
      break;
    case Shape::Map:
      return value.is_null() ? value : extract_from_map(value, fields, node);
    case Shape::List:
      return value.is_null() ? value : extract_from_list(value, fields, node);
  }
  return value;
}

}  // namespace

Value merge_fields(const Value& live, const Value& config, SchemaPtr schema) {
  return live.is_null() ? config : merge_place(live, config, typed::root_node(schema));
}

Value remove_fields(const Value& value, const FieldSet& fields, SchemaPtr schema) {
  Value result = value;
  if (!fields.empty() && value.is_object()) {
    remove_from_map(result, fields, typed::root_node(schema));
  }
  return result;
}

Value extract_fields(const Value& value, const FieldSet& fields, SchemaPtr schema) {
  return extract_place(value, fields, typed::root_node(schema));
}

}  // namespace athanor
