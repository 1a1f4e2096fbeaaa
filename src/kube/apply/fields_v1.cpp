// SPDX-License-Identifier: Apache-2.0
// fieldsV1 JSON: to and from FieldSet, and set operations on the JSON itself.
#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/cancellation.hpp"
#include "kube/apply/field_set.hpp"
#include "kube/text/json.hpp"

namespace athanor {

namespace {

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

// Finds the members of a node: by a table where many are looked for among many.
class Places {
 public:
  Places(const Value& node, std::size_t looks) : node_(node) {
    constexpr std::size_t kMany = 32;
    const auto members = node.members();
    if (members.size() > kMany && looks > kMany) {
      table_.reserve(members.size());
      for (std::size_t i = 0; i < members.size(); ++i) {
        table_.emplace(members[i].key(), i);
      }
    }
  }
  // The size of the node when it is not there.
  [[nodiscard]] std::size_t of(std::string_view name) const {
    const auto members = node_.members();
    if (table_.empty()) {
      const auto same = [name](const Member& member) { return member.key() == name; };
      return static_cast<std::size_t>(std::ranges::find_if(members, same) - members.begin());
    }
    const auto found = table_.find(name);
    return found == table_.end() ? members.size() : found->second;
  }
  // nullptr when it is not there.
  [[nodiscard]] const Value* find(std::string_view name) const {
    const std::size_t place = of(name);
    return place == node_.size() ? nullptr : &node_.members()[place].value;
  }

 private:
  const Value& node_;
  std::unordered_map<std::string_view, std::size_t> table_{};
};

// The members of a node that is changed here and there: copied with the first change.
class ChangedMembers {
 public:
  explicit ChangedMembers(const Value& node) : node_(node) {}
  std::vector<Member>& all() {
    if (members_.empty()) {
      members_.assign(node_.members().begin(), node_.members().end());
    }
    return members_;
  }
  // The node itself if nothing was changed.
  Value take() { return members_.empty() ? node_ : Value::object(std::move(members_)); }
  [[nodiscard]] bool changed() const { return !members_.empty(); }

 private:
  const Value& node_;
  std::vector<Member> members_{};
};

Value node_minus(const Value& node, const FieldSet::Entry& taken);

// Without the members of `set`; the same node when it has none of them.
Value members_minus(const Value& fields, const FieldSet& set) {
  if (fields.empty()) {
    return fields;
  }
  const Places places(fields, set.entries().size());
  ChangedMembers left(fields);
  bool gone = false;
  for (const FieldSet::Entry& entry : set.entries()) {
    give_up_if_cancelled();
    const std::size_t place = places.of(entry.element.as_string());
    if (place == fields.size()) {
      continue;
    }
    const Value& old = fields.members()[place].value;
    Value rest = node_minus(old, entry);
    if (rest.is_null()) {
      left.all()[place].name = Value();  // goes below
      gone = true;
    } else if (!rest.identical(old)) {
      left.all()[place].value = std::move(rest);
    }
  }
  if (gone) {
    auto& members = left.all();
    std::erase_if(members, [](const Member& member) { return member.name.is_null(); });
    return Value::object(std::move(members));
  }
  return left.take();
}

Value node_minus(const Value& node, const FieldSet::Entry& taken) {
  Value left = members_minus(node, taken.children);
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

Value node_plus(const Value& node, const FieldSet::Entry& added);

// Members in canonical order with the entries of `set` in their places.
Value members_plus(const Value& fields, const FieldSet& set) {
  const Places places(fields, set.entries().size());
  ChangedMembers result(fields);
  std::vector<Member> fresh;
  for (const FieldSet::Entry& entry : set.entries()) {
    give_up_if_cancelled();
    const std::size_t place = places.of(entry.element.as_string());
    if (place == fields.size()) {
      fresh.emplace_back(entry.element, node_plus({}, entry));
      continue;
    }
    const Value& old = fields.members()[place].value;
    Value more = node_plus(old, entry);
    if (!more.identical(old)) {
      result.all()[place].value = std::move(more);
    }
  }
  if (fresh.empty()) {
    return result.take();
  }
  const auto earlier = [](const Member& a, const Member& b) {
    if (a.key() == kSelf || b.key() == kSelf) {
      return a.key() == kSelf && b.key() != kSelf;
    }
    return path_element::compare(a.key(), b.key()) < 0;
  };
  const auto known = result.changed() ? std::span<const Member>(result.all()) : fields.members();
  std::vector<Member> merged;
  merged.reserve(known.size() + fresh.size());
  std::merge(known.begin(), known.end(), fresh.begin(), fresh.end(), std::back_inserter(merged),
             earlier);
  return Value::object(std::move(merged));
}

Value node_plus(const Value& node, const FieldSet::Entry& added) {
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
    FieldSet::Entry& entry = result.at(std::move(element));
    entry.member = entry.member || is_member(member.value);
    entry.children = entry.children.empty() ? std::move(children) : entry.children.united(children);
  }
  std::erase_if(result.entries_, [](const FieldSet::Entry& entry) {
    return !entry.member && entry.children.empty();
  });
  return result;
}

Value FieldSet::to_fields_v1() const {
  std::vector<Member> members;
  members.reserve(entries_.size());
  for (const FieldSet::Entry& entry : entries_) {
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
  Value left = members_minus(fields, set);
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
  const Places places(fields, set.entries().size());
  for (const FieldSet::Entry& entry : set.entries()) {
    const Value* found = places.find(entry.element.as_string());
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
  const Places places(fields, entries.size());
  return std::all_of(entries.begin(), entries.end(), [&places](const FieldSet::Entry& entry) {
    const Value* found = places.find(entry.element.as_string());
    return found != nullptr && is_member(*found) == entry.member && equal(*found, entry.children);
  });
}

}  // namespace fields_v1

}  // namespace athanor
