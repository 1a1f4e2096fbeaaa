// SPDX-License-Identifier: Apache-2.0
// fieldsV1 JSON: to and from FieldSet, and set operations on the JSON itself.
#include <algorithm>
#include <utility>
#include <vector>

#include "kube/apply/field_set.hpp"
#include "kube/text/json.hpp"

namespace athanor {

namespace {

using Entry = FieldSet::Entry;

constexpr std::string_view kSelf = ".";

// In fieldsV1 a path without anything below it is {}, one with both carries ".".
bool is_member(const Value& node) {
  return node.empty() || node.contains(kSelf);
}

// The element in canonical spelling; Null for one of unknown prefix.
Result<Value> canonical(const Value& name) {
  const std::string_view element = name.as_string();
  if (path_element::is_field(element)) {
    return name;
  }
  if (element.starts_with("k:")) {
    ATHANOR_TRY(const Value keys, json::parse(element.substr(2)));
    if (!keys.is_object()) {
      return Error::bad_request("managed fields: key is not an object: " + std::string(element));
    }
    return path_element::key(keys);
  }
  if (element.starts_with("v:")) {
    ATHANOR_TRY(const Value scalar, json::parse(element.substr(2)));
    return path_element::value(scalar);
  }
  if (element.starts_with("i:")) {
    const std::string_view digits = element.substr(2);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
      return Error::bad_request("managed fields: bad index: " + std::string(element));
    }
    return name;
  }
  return Value();
}

Value node_minus(const Value& node, const Entry& taken) {
  Value left = node;
  for (const Entry& child : taken.children.entries()) {
    const Value* found = left.find(child.element.as_string());
    if (found == nullptr) {
      continue;
    }
    Value rest = node_minus(*found, child);
    if (rest.is_null()) {
      left.erase(child.element.as_string());
    } else if (!rest.identical(*found)) {
      left.set(child.element.as_string(), std::move(rest));
    }
  }
  const bool stays_member = is_member(node) && !taken.member;
  if (taken.member) {
    left.erase(kSelf);
  }
  if (left.size() == (left.contains(kSelf) ? 1U : 0U)) {
    if (!stays_member) {
      return {};
    }
    return node.empty() ? node : Value::object();
  }
  return left;
}

Value node_plus(const Value& node, const Entry& added);

// Members in canonical order with the entries of `set` in their places.
Value members_plus(const Value& fields, const FieldSet& set) {
  Value result = fields;
  std::vector<Member> fresh;
  for (const Entry& entry : set.entries()) {
    const Value* found = result.find(entry.element.as_string());
    if (found == nullptr) {
      fresh.emplace_back(entry.element, node_plus({}, entry));
      continue;
    }
    Value more = node_plus(*found, entry);
    if (!more.identical(*found)) {
      result.set(entry.element.as_string(), std::move(more));
    }
  }
  if (fresh.empty()) {
    return result;
  }
  const auto earlier = [](const Member& a, const Member& b) {
    if (a.key() == kSelf || b.key() == kSelf) {
      return a.key() == kSelf && b.key() != kSelf;
    }
    return path_element::compare(a.key(), b.key()) < 0;
  };
  std::vector<Member> merged;
  merged.reserve(result.size() + fresh.size());
  std::merge(result.members().begin(), result.members().end(), fresh.begin(), fresh.end(),
             std::back_inserter(merged), earlier);
  return Value::object(std::move(merged));
}

Value node_plus(const Value& node, const Entry& added) {
  const bool was_member = !node.is_null() && is_member(node);
  Value result = members_plus(node.is_null() ? Value::object() : node, added.children);
  const bool member = was_member || added.member;
  if (member && !result.empty() && !result.contains(kSelf)) {
    std::vector<Member> members;
    members.reserve(result.size() + 1);
    members.emplace_back(kSelf, Value::object());
    members.insert(members.end(), result.members().begin(), result.members().end());
    return Value::object(std::move(members));
  }
  return result;
}

}  // namespace

Result<FieldSet> FieldSet::from_fields_v1(const Value& fields) {
  if (!fields.is_object() && !fields.is_null()) {
    return Error::bad_request("managed fields: not an object");
  }
  // In order: an element that comes before others moves all of them.
  std::vector<Member> sorted;
  sorted.reserve(fields.size());
  for (const Member& member : fields.members()) {
    if (member.key() == kSelf) {
      continue;
    }
    ATHANOR_TRY(Value element, canonical(member.name));
    if (!element.is_null()) {
      sorted.emplace_back(std::move(element), member.value);
    }
  }
  const auto earlier = [](const Member& a, const Member& b) {
    return path_element::compare(a.key(), b.key()) < 0;
  };
  if (!std::ranges::is_sorted(sorted, earlier)) {
    std::ranges::stable_sort(sorted, earlier);
  }
  FieldSet result;
  for (Member& member : sorted) {
    ATHANOR_TRY(FieldSet children, from_fields_v1(member.value));
    Value element = std::move(member.name);
    Entry& entry = result.at(std::move(element));
    entry.member = entry.member || is_member(member.value);
    entry.children = entry.children.empty() ? std::move(children) : entry.children.united(children);
  }
  std::erase_if(result.entries_,
                [](const Entry& entry) { return !entry.member && entry.children.empty(); });
  return result;
}

Value FieldSet::to_fields_v1() const {
  std::vector<Member> members;
  members.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    Value node = entry.children.to_fields_v1();
    if (entry.member && !entry.children.empty()) {
      std::vector<Member> own;
      own.reserve(node.size() + 1);
      own.emplace_back(kSelf, Value::object());
      own.insert(own.end(), node.members().begin(), node.members().end());
      node = Value::object(std::move(own));
    }
    members.emplace_back(entry.element, std::move(node));
  }
  return Value::object(std::move(members));
}

namespace fields_v1 {

Value minus(const Value& fields, const FieldSet& set) {
  Value left = fields;
  for (const Entry& entry : set.entries()) {
    const Value* found = left.find(entry.element.as_string());
    if (found == nullptr) {
      continue;
    }
    Value rest = node_minus(*found, entry);
    if (rest.is_null()) {
      left.erase(entry.element.as_string());
    } else if (!rest.identical(*found)) {
      left.set(entry.element.as_string(), std::move(rest));
    }
  }
  return left.empty() ? Value() : left;
}

Value plus(const Value& fields, const FieldSet& set) {
  if (set.empty()) {
    return fields;
  }
  return fields.empty() ? set.to_fields_v1() : members_plus(fields, set);
}

FieldSet intersection(const Value& fields, const FieldSet& set) {
  FieldSet result;
  for (const Entry& entry : set.entries()) {
    const Value* found = fields.find(entry.element.as_string());
    if (found == nullptr) {
      continue;
    }
    if (entry.member && is_member(*found)) {
      result.insert(entry.element);
    }
    result.add_below(entry.element, intersection(*found, entry.children));
  }
  return result;
}

bool equal(const Value& fields, const FieldSet& set) {
  const std::size_t elements = fields.size() - (fields.contains(kSelf) ? 1U : 0U);
  if (elements != set.entries().size()) {
    return false;
  }
  const auto entries = set.entries();
  return std::all_of(entries.begin(), entries.end(), [&fields](const Entry& entry) {
    const Value* found = fields.find(entry.element.as_string());
    return found != nullptr && is_member(*found) == entry.member && equal(*found, entry.children);
  });
}

}  // namespace fields_v1

}  // namespace athanor
