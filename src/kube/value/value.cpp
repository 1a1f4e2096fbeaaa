// SPDX-License-Identifier: Apache-2.0
// Value's layout and reading: tags, nodes, reference counts, comparison. Changing: value_edit.cpp.
#include "kube/value/value.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "kube/value/value_access.hpp"
#include "kube/value/value_node.hpp"

namespace athanor {
namespace {

// Never destroyed, made before anything runs: no look at whether it is there.
union Nothing {
  constexpr Nothing() : value() {}
  Nothing(const Nothing&) = delete;
  Nothing& operator=(const Nothing&) = delete;
  ~Nothing() {}  // NOLINT(modernize-use-equals-default): that of the member would be called

  Value value;
};
constinit const Nothing kNothing;

const Value& null_value() {
  return kNothing.value;
}

// The integer that a number represents, if it fits.
std::optional<std::int64_t> integral(double number) noexcept {
  // 2^63 as a double is exact; everything below it converts.
  constexpr double kLimit = 9223372036854775808.0;
  if (number >= -kLimit && number < kLimit && std::trunc(number) == number) {
    return static_cast<std::int64_t>(number);
  }
  return std::nullopt;
}

bool numbers_equal(const Value& a, const Value& b) noexcept {
  if (a.type() == b.type()) {
    return a.type() == Value::Type::Double ? a.as_double() == b.as_double()
                                           : Raw(a).word() == Raw(b).word();
  }
  if (a.type() == Value::Type::Uint || b.type() == Value::Type::Uint) {
    // A Uint is above every Int; only a Double can equal it.
    const Value& other = a.type() == Value::Type::Uint ? b : a;
    return other.type() == Value::Type::Double && a.as_double() == b.as_double() &&
           other.as_double() < 18446744073709551616.0;
  }
  const auto left = integral(a.as_double());
  const bool a_is_double = a.type() == Value::Type::Double;
  const auto as_integer = a_is_double ? left : integral(b.as_double());
  return as_integer.has_value() && *as_integer == (a_is_double ? b : a).as_int();
}

bool lists_equal(const Value& a, const Value& b) noexcept {
  return std::ranges::equal(a.items(), b.items());
}

// Above this many members a lookup table beats the linear search.
constexpr std::size_t kManyMembers = 32;

bool objects_equal(const Value& a, const Value& b) noexcept {
  const auto left = a.members();
  const auto right = b.members();
  if (left.size() != right.size()) {
    return false;
  }
  std::size_t same = 0;
  while (same < left.size() && left[same].name == right[same].name) {
    if (!(left[same].value == right[same].value)) {
      return false;
    }
    ++same;
  }
  const auto rest = right.subspan(same);
  std::unordered_map<std::string_view, const Value*> table;
  if (rest.size() > kManyMembers) {
    for (const Member& member : rest) {
      table.emplace(member.key(), &member.value);
    }
  }
  return std::ranges::all_of(left.subspan(same), [&](const Member& member) {
    const Value* other = nullptr;
    if (table.empty()) {
      const auto found = std::ranges::find(rest, member.name, &Member::name);
      other = found == rest.end() ? nullptr : &found->value;
    } else if (const auto found = table.find(member.key()); found != table.end()) {
      other = found->second;
    }
    return other != nullptr && member.value == *other;
  });
}

}  // namespace

void Value::retain() noexcept {
  Raw(*this).retain();
}

void Value::release() noexcept {
  Raw(*this).release();
}

Value::Value(bool flag) noexcept : storage_{} {
  Raw(*this).set(Tag::Bool, flag ? 1 : 0);
}

Value::Value(double number) noexcept : storage_{} {
  std::uint64_t word = 0;
  std::memcpy(&word, &number, sizeof(word));
  Raw(*this).set(Tag::Double, word);
}

Value::Value(std::string_view text) : storage_{} {
  if (text.size() <= kInlineBytes) {
    const ShortText words = ShortText::of(text);
    std::memcpy(storage_, &words.low, 8);
    std::memcpy(storage_ + 8, &words.high, 8);
  } else {
    Raw(*this).set_node(Tag::HeapString, StringNode::make(text));
  }
}

Value Value::from_int(std::int64_t number) noexcept {
  Value result;
  Raw(result).set(Tag::Int, static_cast<std::uint64_t>(number));
  return result;
}

Value Value::from_uint(std::uint64_t number) noexcept {
  Value result;
  constexpr std::uint64_t kMaxInt = 0x7fff'ffff'ffff'ffffULL;
  Raw(result).set(number <= kMaxInt ? Tag::Int : Tag::Uint, number);
  return result;
}

Value Value::list(std::initializer_list<Value> items) {
  return list(std::vector<Value>(items));
}

Value Value::list(std::vector<Value> items) {
  return ValueAccess::list_of(items);
}

Value ValueAccess::object_of_distinct(std::span<Member> members) {
  Value result;
  Raw(result).set_node(Tag::Object, ObjectNode::make(members, members.size()));
  return result;
}

Value ValueAccess::list_of(std::span<Value> items) {
  Value result;
  Raw(result).set_node(Tag::List, ListNode::make(items, items.size()));
  return result;
}

bool ValueAccess::shared(const Value& value) noexcept {
  const Raw raw(value);
  if (raw.tag() == Tag::HeapString) {
    return raw.node<StringNode>()->shared();
  }
  if (raw.tag() == Tag::List) {
    const ListNode* node = raw.node<ListNode>();
    return node != nullptr && node->shared();
  }
  const ObjectNode* node = raw.tag() == Tag::Object ? raw.node<ObjectNode>() : nullptr;
  return node != nullptr && node->shared();
}

bool Value::as_bool(bool fallback) const noexcept {
  return Raw(*this).tag() == Tag::Bool ? Raw(*this).word() != 0 : fallback;
}

std::int64_t Value::as_int(std::int64_t fallback) const noexcept {
  const Raw raw(*this);
  if (raw.tag() == Tag::Int) {
    return static_cast<std::int64_t>(raw.word());
  }
  if (raw.tag() == Tag::Double) {
    return integral(raw.number()).value_or(fallback);
  }
  return fallback;
}

std::uint64_t Value::as_uint(std::uint64_t fallback) const noexcept {
  if (type() == Type::Uint) {
    return Raw(*this).word();
  }
  const std::int64_t number = as_int(-1);
  return number < 0 ? fallback : static_cast<std::uint64_t>(number);
}

double Value::as_double(double fallback) const noexcept {
  const Raw raw(*this);
  switch (type()) {
    case Type::Int:
      return static_cast<double>(static_cast<std::int64_t>(raw.word()));
    case Type::Uint:
      return static_cast<double>(raw.word());
    case Type::Double:
      return raw.number();
    case Type::Null:
    case Type::Bool:
    case Type::String:
    case Type::List:
    case Type::Object:
      break;
  }
  return fallback;
}

std::string_view Value::heap_text() const noexcept {
  const Raw raw(*this);
  return raw.tag() == Tag::HeapString ? raw.node<StringNode>()->text() : std::string_view();
}

std::size_t Value::size() const noexcept {
  switch (Raw(*this).tag()) {
    case Tag::List:
      return items().size();
    case Tag::Object:
      return members().size();
    case Tag::Null:
    case Tag::Bool:
    case Tag::Int:
    case Tag::Uint:
    case Tag::Double:
    case Tag::InlineString:
    case Tag::HeapString:
      break;
  }
  return 0;
}

std::span<const Member> Value::members() const& noexcept {
  const Raw raw(*this);
  const ObjectNode* node = raw.tag() == Tag::Object ? raw.node<ObjectNode>() : nullptr;
  return node == nullptr ? std::span<const Member>() : node->elements();
}

std::span<const Value> Value::items() const& noexcept {
  const Raw raw(*this);
  const ListNode* node = raw.tag() == Tag::List ? raw.node<ListNode>() : nullptr;
  return node == nullptr ? std::span<const Value>() : node->elements();
}

const Value* Value::find(std::string_view key) const noexcept {
  const auto all = members();
  if (all.size() >= NameTable::kWide) {
    const std::size_t index = Raw(*this).node<ObjectNode>()->find(key);
    return index == all.size() ? nullptr : &all[index].value;
  }
  if (key.size() <= kInlineBytes) {
    return find_short(ShortText::of(key));
  }
  for (const Member& member : all) {
    if (Raw(member.name).text() == key) {
      return &member.value;
    }
  }
  return nullptr;
}

// A short name is its 16 bytes: no lengths, no pointers to follow.
const Value* Value::find_short(ShortText name) const noexcept {
  for (const Member& member : members()) {
    if (ShortText::in(member.name) == name) {
      return &member.value;
    }
  }
  return nullptr;
}

const Value& Value::with_name(ShortText name) const noexcept {
  const Value* found = find_short(name);
  return found == nullptr ? null_value() : *found;
}

const Value& Value::operator[](std::string_view key) const noexcept {
  const Value* found = find(key);
  return found == nullptr ? null_value() : *found;
}

const Value& Value::operator[](std::size_t index) const noexcept {
  const auto all = items();
  return index < all.size() ? all[index] : null_value();
}

const Value& Value::at(Path path) const noexcept {
  const Value* value = this;
  for (const std::string_view key : path) {
    value = &(*value)[key];
  }
  return *value;
}

const Value& Value::at(std::span<const std::string> path) const noexcept {
  const Value* value = this;
  for (const std::string& key : path) {
    value = &(*value)[key];
  }
  return *value;
}

bool Value::equal(const Value& a, const Value& b) noexcept {
  if (a.is_number() && b.is_number()) {
    return numbers_equal(a, b);
  }
  if (a.type() != b.type()) {
    return false;
  }
  switch (a.type()) {
    case Value::Type::String:
      return a.as_string() == b.as_string();
    case Value::Type::List:
      return lists_equal(a, b);
    case Value::Type::Object:
      return objects_equal(a, b);
    case Value::Type::Null:
    case Value::Type::Bool:
    case Value::Type::Int:
    case Value::Type::Uint:
    case Value::Type::Double:
      break;
  }
  return a.identical(b);
}

std::size_t Value::heap_bytes() const noexcept {
  const Raw raw(*this);
  std::size_t bytes = 0;
  if (raw.tag() == Tag::HeapString) {
    return raw.node<StringNode>()->bytes();
  }
  if (const auto all = items(); !all.empty()) {
    bytes = raw.node<ListNode>()->bytes();
    for (const Value& item : all) {
      bytes += item.heap_bytes();
    }
  }
  if (const auto all = members(); !all.empty()) {
    bytes = raw.node<ObjectNode>()->bytes();
    for (const Member& member : all) {
      bytes += member.name.heap_bytes() + member.value.heap_bytes();
    }
  }
  return bytes;
}

}  // namespace athanor
