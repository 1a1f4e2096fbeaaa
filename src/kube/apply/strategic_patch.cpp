// SPDX-License-Identifier: Apache-2.0
// Strategic merge patch.
#include "kube/apply/strategic_patch.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/cancellation.hpp"
#include "kube/apply/member_edit.hpp"
#include "kube/apply/patch.hpp"
#include "kube/text/json.hpp"
#include "kube/value/value_hash.hpp"

namespace athanor {

namespace {

constexpr std::string_view kPatch = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDeleteFrom = "$deleteFromPrimitiveList/";
constexpr std::string_view kElementOrder = "$setElementOrder/";

enum class Directive : std::uint8_t { Merge, Replace, Delete };

Error invalid_patch(std::string message) {
  return {.code = 422, .reason = "Invalid", .message = std::move(message)};
}

Result<Directive> directive_of(const Value& patch) {
  const Value* directive = patch.find(kPatch);
  if (directive == nullptr || directive->as_string() == "merge") {
    return Directive::Merge;
  }
  if (directive->as_string() == "replace") {
    return Directive::Replace;
  }
  if (directive->as_string() == "delete") {
    return Directive::Delete;
  }
  return invalid_patch("unknown patch type: " +
                       (directive->is_string() ? directive->str() : json::print(*directive)));
}

// What the schema says about one member of an object.
struct Use {
  SchemaPtr schema = nullptr;
  bool merge_list = false;
  bool replace_map = false;
  std::string_view merge_key{};  // empty: a list of primitives
};

bool has_strategy(std::string_view strategies, std::string_view wanted) {
  while (!strategies.empty()) {
    const std::size_t comma = std::min(strategies.find(','), strategies.size());
    if (strategies.substr(0, comma) == wanted) {
      return true;
    }
    strategies.remove_prefix(std::min(comma + 1, strategies.size()));
  }
  return false;
}

Use use_of(SchemaPtr parent, std::string_view name) {
  if (parent == nullptr) {
    return {};
  }
  const SchemaField* field = parent->field(name);
  if (field == nullptr) {
    return {.schema = parent->additional};
  }
  Use use{.schema = field->schema,
          .merge_list = has_strategy(field->patch_strategy, "merge"),
          .replace_map = has_strategy(field->patch_strategy, "replace"),
          .merge_key = field->patch_merge_key};
  if (use.merge_list && use.merge_key.empty() && use.schema != nullptr &&
      !use.schema->list_map_keys.empty()) {
    use.merge_key = use.schema->list_map_keys.front();
  }
  return use;
}

// A patch's value where the document has none: without what carries `$patch`, as an instruction
// about nothing says nothing. Other directives stay, and are refused as the unknown members that
// they are then, as in the reference.
Value without_instructions(const Value& patch) {
  const auto instructs = [](const Value& value) {
    return value.is_object() && value.contains(kPatch);
  };
  if (patch.is_list()) {
    Value result = Value::list();
    for (const Value& item : patch.items()) {
      if (!instructs(item)) {
        result.push_back(without_instructions(item));
      }
    }
    return result;
  }
  if (!patch.is_object()) {
    return patch;
  }
  std::vector<Member> result;
  for (const Member& member : patch.members()) {
    if (!instructs(member.value)) {
      result.emplace_back(member.name, without_instructions(member.value));
    }
  }
  return Value::object(std::move(result));
}

using ValueSet = std::unordered_set<Value, ValueHash>;

ValueSet set_of(const Value& list) {
  return {list.items().begin(), list.items().end()};
}

// Indexes the elements of a list. Items are the same element if their merge keys are equal (one
// that lacks it counts as null, as a key that a patch has as null is lost when the item is merged)
// and one of both has it; without a merge key, if they are equal.
class ElementPlaces {
 public:
  ElementPlaces(const Value& list, std::string_view merge_key) : merge_key_(merge_key) {
    const auto items = list.items();
    for (std::size_t i = 0; i < items.size(); ++i) {
      give_up_if_cancelled();
      Places& places = places_[name_of(items[i])];
      const auto place = static_cast<std::ptrdiff_t>(i);
      places.first = places.first < 0 ? place : places.first;
      if (places.first_with_key < 0 && has_key(items[i])) {
        places.first_with_key = place;
      }
    }
  }
  // The first place of the element; -1: it is not there.
  [[nodiscard]] std::ptrdiff_t of(const Value& item) const {
    const auto found = places_.find(name_of(item));
    if (found == places_.end()) {
      return -1;
    }
    return has_key(item) ? found->second.first : found->second.first_with_key;
  }

 private:
  struct Places {
    std::ptrdiff_t first = -1;
    std::ptrdiff_t first_with_key = -1;
  };
  [[nodiscard]] const Value& name_of(const Value& item) const {
    return merge_key_.empty() ? item : item[merge_key_];
  }
  [[nodiscard]] bool has_key(const Value& item) const {
    return merge_key_.empty() || item.contains(merge_key_);
  }

  std::string_view merge_key_;
  std::unordered_map<Value, Places, ValueHash> places_{};
};

// The listed elements in the listed order; the others keep their place relative to the original
// list.
Value order_elements(const Value& merged, const Value& order, const Value& original,
                     std::string_view merge_key) {
  struct Element {
    Value item{};
    std::ptrdiff_t listed = -1;
    std::ptrdiff_t before = -1;  // its place in the original
  };
  const ElementPlaces in_order(order, merge_key);
  const ElementPlaces in_original(original, merge_key);
  std::vector<Element> listed;
  std::vector<Element> others;
  for (const Value& item : merged.items()) {
    Element element{.item = item, .listed = in_order.of(item), .before = in_original.of(item)};
    (element.listed >= 0 ? listed : others).push_back(std::move(element));
  }
  std::ranges::stable_sort(listed, {}, &Element::listed);
  std::vector<Value> result;
  result.reserve(merged.size());
  auto next = others.begin();
  for (Element& element : listed) {
    while (element.before >= 0 && next != others.end() && next->before >= 0 &&
           next->before <= element.before) {
      result.push_back(std::move(next->item));
      ++next;
    }
    result.push_back(std::move(element.item));
  }
  for (; next != others.end(); ++next) {
    result.push_back(std::move(next->item));
  }
  return Value::list(std::move(result));
}

Value merge_primitives(const Value& original, const Value& patch) {
  Value merged = original;
  ValueSet known = set_of(original);
  for (const Value& item : patch.items()) {
    if (known.insert(item).second) {
      merged.push_back(item);
    }
  }
  return merged;
}

Value without_items(const Value& list, const std::function<bool(const Value&)>& leaves) {
  std::vector<Value> kept;
  for (const Value& item : list.items()) {
    if (!leaves(item)) {
      kept.push_back(item);
    }
  }
  return kept.size() == list.size() ? list : Value::list(std::move(kept));
}

// The elements to merge; deletions are done on `merged` at once. A replace element clears it.
Result<std::vector<Value>> take_special_elements(Value& merged, const Value& patch,
                                                 std::string_view merge_key) {
  std::vector<Value> plain;
  ValueSet deleted;
  bool replace = false;
  for (const Value& item : patch.items()) {
    give_up_if_cancelled();
    if (!item.is_object()) {
      return invalid_patch("map: " + json::print(item) +
                           " does not contain declared merge key: " + std::string(merge_key));
    }
    ATHANOR_TRY(const Directive directive, directive_of(item));
    if (directive == Directive::Replace) {
      replace = true;
      continue;
    }
    if (!item.contains(merge_key)) {
      return invalid_patch("map: " + json::print(item) +
                           " does not contain declared merge key: " + std::string(merge_key));
    }
    if (directive == Directive::Merge) {
      plain.push_back(item);
    } else {
      deleted.insert(item[merge_key]);
    }
  }
  if (replace) {
    merged = Value::list();
  } else if (!deleted.empty()) {
    merged =
        without_items(merged, [&](const Value& item) { return deleted.contains(item[merge_key]); });
  }
  return plain;
}

Result<Value> merge_map(const Value& original, const Value& patch, SchemaPtr schema);

Result<Value> merge_elements(const Value& original, const Value& patch, const Use& use) {
  Value merged = original;
  const SchemaPtr items = use.schema == nullptr ? nullptr : use.schema->items;
  ATHANOR_TRY(const std::vector<Value> plain, take_special_elements(merged, patch, use.merge_key));
  std::unordered_map<Value, std::size_t, ValueHash> places;  // of the first with each key
  for (std::size_t i = 0; i < merged.size(); ++i) {
    places.emplace(merged[i][use.merge_key], i);
  }
  for (const Value& item : plain) {
    give_up_if_cancelled();
    const auto [place, fresh] = places.emplace(item[use.merge_key], merged.size());
    if (fresh) {
      merged.push_back(without_nulls(item));
      continue;
    }
    const std::size_t index = place->second;
    ATHANOR_TRY(Value both, merge_map(merged[index], item, items));
    if (!both.identical(merged[index])) {
      merged.item(index) = std::move(both);
    }
  }
  return merged;
}

// The patch's elements keep their order among each other; the original's others go where they
// stood.
Result<Value> merge_list(const Value& original, const Value& patch, const Use& use) {
  if (!use.merge_list) {
    return patch;  // as it is, directives included
  }
  Result<Value> merged = use.merge_key.empty() ? Result<Value>(merge_primitives(original, patch))
                                               : merge_elements(original, patch, use);
  if (!merged.ok()) {
    return merged;
  }
  Value ordered = order_elements(*merged, patch, original, use.merge_key);
  return ordered == *merged ? *std::move(merged) : std::move(ordered);
}

// Clears what "$retainKeys" does not list.
Result<void> retain_keys(Value& result, const Value& patch) {
  const Value* kept = patch.find(kRetainKeys);
  if (kept == nullptr) {
    return {};
  }
  if (!kept->is_list()) {
    return Error::bad_request("invalid patch format of retainKeys");
  }
  const ValueSet names = set_of(*kept);
  for (const Member& member : patch.members()) {
    if (!member.key().starts_with('$') && !member.value.is_null() && !names.contains(member.name)) {
      return Error::bad_request("invalid patch format of retainKeys");
    }
  }
  const Value before = std::exchange(result, {});
  MemberEdit edit(before);
  for (const Member& member : before.members()) {
    if (!names.contains(member.name)) {
      edit.erase(member.key());
    }
  }
  result = edit.take();
  return {};
}

// "$deleteFromPrimitiveList/FIELD": before the lists merge.
Result<void> delete_from_lists(MemberEdit& result, const Value& patch) {
  for (const Member& member : patch.members()) {
    if (!member.key().starts_with(kDeleteFrom)) {
      continue;
    }
    if (!member.value.is_list()) {
      return Error::bad_request("invalid patch: " + std::string(member.key()) + " is not a list");
    }
    const std::string_view field = member.key().substr(kDeleteFrom.size());
    const Value* list = result.find(field);
    if (list == nullptr || !list->is_list()) {
      continue;
    }
    const ValueSet deleted = set_of(member.value);
    result.set(field,
               without_items(*list, [&](const Value& item) { return deleted.contains(item); }));
  }
  return {};
}

// "$setElementOrder/FIELD": after the lists merged.
Result<void> set_element_order(MemberEdit& result, const Value& original, const Value& patch,
                               SchemaPtr schema) {
  MemberEdit before(original);
  for (const Member& member : patch.members()) {
    if (!member.key().starts_with(kElementOrder)) {
      continue;
    }
    if (!member.value.is_list()) {
      return Error::bad_request("invalid patch: " + std::string(member.key()) + " is not a list");
    }
    const std::string_view field = member.key().substr(kElementOrder.size());
    const Use use = use_of(schema, field);
    const Value* list = result.find(field);
    if (list == nullptr || !list->is_list() || !use.merge_list) {
      continue;
    }
    const Value* old = before.find(field);
    Value ordered =
        order_elements(*list, member.value, old == nullptr ? Value() : *old, use.merge_key);
    if (ordered != *list) {
      result.set(field, std::move(ordered));
    }
  }
  return {};
}

// One plain member of a patch.
Result<void> merge_member(MemberEdit& result, const Member& member, SchemaPtr schema) {
  give_up_if_cancelled();
  const std::string_view name = member.key();
  if (member.value.is_null()) {
    result.erase(name);
    return {};
  }
  const Use use = use_of(schema, name);
  const Value* present = result.find(name);
  const Value existing = present == nullptr ? Value() : *present;
  Value merged = member.value;
  if (merged.type() != existing.type()) {
    if (merged.is_object() && merged.contains(kPatch)) {
      result.erase(name);  // an instruction about nothing says nothing
      return {};
    }
    merged = without_instructions(without_nulls(merged));
  } else if (merged.is_list()) {
    ATHANOR_TRY(merged, merge_list(existing, member.value, use));
  } else if (merged.is_object() && !use.replace_map) {  // else taken as it is, nulls included
    ATHANOR_TRY(const Directive directive, directive_of(member.value));
    if (directive == Directive::Delete) {
      result.erase(name);
      return {};
    }
    ATHANOR_TRY(merged, merge_map(existing, member.value, use.schema));
  }
  const Value* old = result.find(name);
  if (old == nullptr || (!merged.identical(*old) && merged != *old)) {
    result.set(name, std::move(merged));
  }
  return {};
}

Result<Value> merge_map(const Value& original, const Value& patch, SchemaPtr schema) {
  ATHANOR_TRY(const Directive directive, directive_of(patch));
  if (directive == Directive::Delete) {
    return Value::object();
  }
  Value result = original;
  if (directive == Directive::Replace) {
    result = patch;
    result.erase(kPatch);
    return result;
  }
  ATHANOR_TRY_VOID(retain_keys(result, patch));
  MemberEdit edit(std::move(result));
  ATHANOR_TRY_VOID(delete_from_lists(edit, patch));
  for (const Member& member : patch.members()) {
    const std::string_view name = member.key();
    if (name == kPatch || name == kRetainKeys || name.starts_with(kDeleteFrom) ||
        name.starts_with(kElementOrder)) {
      continue;
    }
    ATHANOR_TRY_VOID(merge_member(edit, member, schema));
  }
  ATHANOR_TRY_VOID(set_element_order(edit, original, patch, schema));
  return edit.take();
}

}  // namespace

Result<Value> apply_strategic_patch(const Value& document, const Value& patch, SchemaPtr schema) {
  if (!patch.is_object()) {
    return Error::bad_request("error decoding patch: not an object");
  }
  return merge_map(document.is_object() ? document : Value::object(), patch, schema);
}

}  // namespace athanor
