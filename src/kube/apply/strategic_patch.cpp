// SPDX-License-Identifier: Apache-2.0
// Strategic merge patch.
#include "kube/apply/strategic_patch.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/apply/patch.hpp"
#include "kube/text/json.hpp"

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
  Value result = Value::object();
  for (const Member& member : patch.members()) {
    if (!instructs(member.value)) {
      result.set(member.key(), without_instructions(member.value));
    }
  }
  return result;
}

// Whether two list items are the same element. A key that a patch has as null is lost when the item
// is merged, and found again.
bool same_element(const Value& a, const Value& b, std::string_view merge_key) {
  return merge_key.empty()
             ? a == b
             : (a.contains(merge_key) || b.contains(merge_key)) && a[merge_key] == b[merge_key];
}

bool contains_element(const Value& list, const Value& item, std::string_view merge_key) {
  const auto items = list.items();
  return std::any_of(items.begin(), items.end(),
                     [&](const Value& other) { return same_element(item, other, merge_key); });
}

std::ptrdiff_t position_of(const Value& list, const Value& item, std::string_view merge_key) {
  const auto items = list.items();
  const auto place = std::find_if(items.begin(), items.end(), [&](const Value& other) {
    return same_element(item, other, merge_key);
  });
  return place == items.end() ? -1 : place - items.begin();
}

// The listed elements in the listed order; the others keep their place relative to the original
// list.
Value order_elements(const Value& merged, const Value& order, const Value& original,
                     std::string_view merge_key) {
  std::vector<Value> listed;
  std::vector<Value> others;
  for (const Value& item : merged.items()) {
    (contains_element(order, item, merge_key) ? listed : others).push_back(item);
  }
  std::ranges::stable_sort(listed, {},
                           [&](const Value& item) { return position_of(order, item, merge_key); });
  std::vector<Value> result;
  result.reserve(merged.size());
  auto next = others.begin();
  for (Value& item : listed) {
    const std::ptrdiff_t place = position_of(original, item, merge_key);
    while (place >= 0 && next != others.end()) {
      const std::ptrdiff_t other = position_of(original, *next, merge_key);
      if (other < 0 || other > place) {
        break;
      }
      result.push_back(std::move(*next++));
    }
    result.push_back(std::move(item));
  }
  result.insert(result.end(), std::make_move_iterator(next), std::make_move_iterator(others.end()));
  return Value::list(std::move(result));
}

Value merge_primitives(const Value& original, const Value& patch) {
  Value merged = original;
  for (const Value& item : patch.items()) {
    if (!contains_element(merged, item, {})) {
      merged.push_back(item);
    }
  }
  return merged;
}

// The elements to merge; deletions are done on `merged` at once. A replace element clears it.
Result<std::vector<Value>> take_special_elements(Value& merged, const Value& patch,
                                                 std::string_view merge_key) {
  std::vector<Value> plain;
  bool replace = false;
  for (const Value& item : patch.items()) {
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
      continue;
    }
    for (std::size_t i = merged.size(); i-- > 0;) {
      if (same_element(item, merged[i], merge_key)) {
        merged.erase_item(i);
      }
    }
  }
  if (replace) {
    merged = Value::list();
  }
  return plain;
}

Result<Value> merge_map(const Value& original, const Value& patch, SchemaPtr schema);

Result<Value> merge_elements(const Value& original, const Value& patch, const Use& use) {
  Value merged = original;
  const SchemaPtr items = use.schema == nullptr ? nullptr : use.schema->items;
  ATHANOR_TRY(const std::vector<Value> plain, take_special_elements(merged, patch, use.merge_key));
  for (const Value& item : plain) {
    const std::ptrdiff_t place = position_of(merged, item, use.merge_key);
    if (place < 0) {
      merged.push_back(without_nulls(item));
      continue;
    }
    const auto index = static_cast<std::size_t>(place);
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
  for (const Member& member : patch.members()) {
    if (!member.key().starts_with('$') && !member.value.is_null() &&
        !contains_element(*kept, member.name, {})) {
      return Error::bad_request("invalid patch format of retainKeys");
    }
  }
  std::vector<std::string> dropped;
  for (const Member& member : result.members()) {
    if (!contains_element(*kept, member.name, {})) {
      dropped.emplace_back(member.key());
    }
  }
  for (const std::string& name : dropped) {
    result.erase(name);
  }
  return {};
}

// "$deleteFromPrimitiveList/FIELD": before the lists merge.
Result<void> delete_from_lists(Value& result, const Value& patch) {
  for (const Member& member : patch.members()) {
    if (!member.key().starts_with(kDeleteFrom)) {
      continue;
    }
    if (!member.value.is_list()) {
      return Error::bad_request("invalid patch: " + std::string(member.key()) + " is not a list");
    }
    const std::string_view field = member.key().substr(kDeleteFrom.size());
    if (!result[field].is_list()) {
      continue;
    }
    Value list = result[field];
    for (std::size_t i = list.size(); i-- > 0;) {
      if (contains_element(member.value, list[i], {})) {
        list.erase_item(i);
      }
    }
    result.set(field, std::move(list));
  }
  return {};
}

// "$setElementOrder/FIELD": after the lists merged.
Result<void> set_element_order(Value& result, const Value& original, const Value& patch,
                               SchemaPtr schema) {
  for (const Member& member : patch.members()) {
    if (!member.key().starts_with(kElementOrder)) {
      continue;
    }
    if (!member.value.is_list()) {
      return Error::bad_request("invalid patch: " + std::string(member.key()) + " is not a list");
    }
    const std::string_view field = member.key().substr(kElementOrder.size());
    const Use use = use_of(schema, field);
    if (!result[field].is_list() || !use.merge_list) {
      continue;
    }
    Value ordered = order_elements(result[field], member.value, original[field], use.merge_key);
    if (ordered != result[field]) {
      result.set(field, std::move(ordered));
    }
  }
  return {};
}

// One plain member of a patch.
Result<void> merge_member(Value& result, const Member& member, SchemaPtr schema) {
  const std::string_view name = member.key();
  if (member.value.is_null()) {
    result.erase(name);
    return {};
  }
  const Use use = use_of(schema, name);
  const Value existing = result[name];
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
  ATHANOR_TRY_VOID(delete_from_lists(result, patch));
  for (const Member& member : patch.members()) {
    const std::string_view name = member.key();
    if (name == kPatch || name == kRetainKeys || name.starts_with(kDeleteFrom) ||
        name.starts_with(kElementOrder)) {
      continue;
    }
    ATHANOR_TRY_VOID(merge_member(result, member, schema));
  }
  ATHANOR_TRY_VOID(set_element_order(result, original, patch, schema));
  return result;
}

}  // namespace

Result<Value> apply_strategic_patch(const Value& document, const Value& patch, SchemaPtr schema) {
  if (!patch.is_object()) {
    return Error::bad_request("error decoding patch: not an object");
  }
  return merge_map(document.is_object() ? document : Value::object(), patch, schema);
}

}  // namespace athanor
