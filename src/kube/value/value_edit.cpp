// SPDX-License-Identifier: Apache-2.0
// Changing Values: a node with other owners is cloned first, alone (its children stay shared).
#include <algorithm>
#include <string>
#include <unordered_map>

#include "base/check.hpp"
#include "kube/value/value.hpp"
#include "kube/value/value_access.hpp"
#include "kube/value/value_node.hpp"

namespace athanor {
namespace {

// The node of `value`, owned by it alone, with space for `more` elements. Null turns into an empty
// container.
template <class N>
N* writable(Value& value, Tag tag, std::size_t more) {
  Raw raw(value);
  ATHANOR_CHECK(raw.tag() == tag || raw.tag() == Tag::Null,
                "members are set in objects, items in lists");
  N* node = raw.tag() == Tag::Null ? nullptr : raw.node<N>();
  const std::size_t size = node == nullptr ? 0 : node->size();
  const bool shared = node != nullptr && node->shared();
  if (node != nullptr && !shared && (more == 0 || !node->full())) {
    return node;
  }
  // An edited container usually grows further, hence doubling.
  const std::size_t capacity = more == 0 ? size : std::max<std::size_t>(size + more, size * 2);
  if (capacity == 0) {
    raw.set_node(tag, static_cast<N*>(nullptr));
    return nullptr;
  }
  N* fresh = nullptr;
  if (node == nullptr) {
    fresh = N::make({}, capacity);
  } else if (shared) {
    fresh = N::make_copy(std::as_const(*node).elements(), capacity);
  } else {
    fresh = N::make(node->elements(), capacity);
  }
  if (node != nullptr) {
    N::release(node);
  }
  raw.set_node(tag, fresh);
  return fresh;
}

std::size_t index_of(const Value& object, std::string_view key) noexcept {
  const auto members = object.members();
  const Value* found = object.find(key);
  if (found == nullptr) {
    return members.size();
  }
  // The value of which member it is, by its address.
  const auto offset =
      reinterpret_cast<const char*>(found) - reinterpret_cast<const char*>(&members.front().value);
  return static_cast<std::size_t>(offset) / sizeof(Member);
}

// Above this many members duplicates are found by a table.
constexpr std::size_t kManyEditedMembers = 32;

// Keeps one member a key: the place of the first, the value of the last.
void drop_duplicates(std::vector<Member>& members) {
  std::unordered_map<std::string_view, std::size_t> places;
  std::vector<Member> kept;
  kept.reserve(members.size());  // no reallocation: the table's keys point into it
  for (Member& member : members) {
    const auto [place, fresh] = places.try_emplace(member.key(), kept.size());
    if (!fresh) {
      kept[place->second].value = std::move(member.value);
      continue;
    }
    const std::size_t index = place->second;
    places.erase(place);
    kept.push_back(std::move(member));
    places.emplace(kept.back().key(), index);
  }
  members = std::move(kept);
}

bool has_duplicates(const std::vector<Member>& members) {
  if (members.size() > kManyEditedMembers) {
    return true;  // let the table decide
  }
  for (std::size_t i = 1; i < members.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (members[i].name == members[j].name) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

Value Value::object(std::initializer_list<Member> members) {
  return object(std::vector<Member>(members));
}

Value Value::object(std::vector<Member> members) {
  if (has_duplicates(members)) {
    drop_duplicates(members);
  }
  return ValueAccess::object_of_distinct(members);
}

Value& Value::member(std::string_view key) {
  const std::size_t index = index_of(*this, key);
  if (index < size()) {
    return writable<ObjectNode>(*this, Tag::Object, 0)->elements()[index].value;
  }
  Member fresh(key, Value());  // before the node moves: `key` may point into it
  ObjectNode* node = writable<ObjectNode>(*this, Tag::Object, 1);
  node->append(std::move(fresh));
  return node->elements().back().value;
}

Value& Value::set(std::string_view key, Value value) {
  member(key) = std::move(value);
  return *this;
}

Value& Value::set_path(Path path, Value value) {
  Value* target = this;
  for (const std::string_view key : path) {
    target = &target->member(key);
  }
  *target = std::move(value);
  return *this;
}

bool Value::erase(std::string_view key) {
  const std::size_t index = index_of(*this, key);
  if (index >= members().size()) {
    return false;
  }
  if (size() == 1) {
    *this = Value::object();
    return true;
  }
  writable<ObjectNode>(*this, Tag::Object, 0)->erase(index);
  return true;
}

bool Value::erase_path(Path path) {
  if (path.size() == 0) {
    return false;
  }
  // Look first: a miss must not clone anything.
  const Value* looked = this;
  for (const std::string_view key : path) {
    looked = looked->find(key);
    if (looked == nullptr) {
      return false;
    }
  }
  Value* parent = this;
  for (const auto* key = path.begin(); key != path.end() - 1; ++key) {
    parent = &parent->member(*key);
  }
  return parent->erase(*(path.end() - 1));
}

Value& Value::push_back(Value item) {
  writable<ListNode>(*this, Tag::List, 1)->append(std::move(item));
  return *this;
}

void Value::insert_item(std::size_t index, Value item) {
  ATHANOR_CHECK(index <= items().size(), "an item is inserted within the list or at its end");
  writable<ListNode>(*this, Tag::List, 1)->insert(index, std::move(item));
}

void Value::erase_item(std::size_t index) {
  ATHANOR_CHECK(index < items().size(), "only an item that exists is erased");
  if (size() == 1) {
    *this = Value::list();
    return;
  }
  writable<ListNode>(*this, Tag::List, 0)->erase(index);
}

Value& Value::item(std::size_t index) {
  ATHANOR_CHECK(index < items().size(), "only an item that exists is changed");
  return writable<ListNode>(*this, Tag::List, 0)->elements()[index];
}

}  // namespace athanor
