// SPDX-License-Identifier: Apache-2.0
// Two passes: hashes of all parts, bottom up; then the largest known parts are taken, top down.
#include "kube/value/interner.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "kube/value/member_lookup.hpp"
#include "kube/value/value_access.hpp"

namespace athanor {
namespace {

constexpr std::size_t kWays = 4;  // slots that one hash may lie in
constexpr std::uint64_t kPrime = 0x9e3779b97f4a7c15ULL;

std::uint64_t mix(std::uint64_t sum, std::uint64_t word) {
  return std::rotl((sum ^ word) * kPrime, 29);
}

std::uint64_t mix_text(std::uint64_t sum, std::string_view text) {
  sum = mix(sum, text.size());
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t taken = std::min(text.size(), sizeof(word));
    std::memcpy(&word, text.data(), taken);
    sum = mix(sum, word);
    text.remove_prefix(taken);
  }
  return sum;
}

std::uint64_t scalar_hash(const Value& value) {
  const auto type = static_cast<std::uint64_t>(value.type());
  switch (value.type()) {
    case Value::Type::Bool:
      return mix(type, value.as_bool() ? 1 : 0);
    case Value::Type::Int:
      return mix(type, static_cast<std::uint64_t>(value.as_int()));
    case Value::Type::Uint:
      return mix(type, value.as_uint());
    case Value::Type::Double:
      return mix(type, std::bit_cast<std::uint64_t>(value.as_double()));
    case Value::Type::String:
      return mix_text(type, value.as_string());
    case Value::Type::Null:
    case Value::Type::List:
    case Value::Type::Object:
      break;
  }
  return mix(type, 0);
}

bool is_long(const Value& text) {
  return text.as_string().size() > ValueAccess::kInlineBytes;
}

// Equal to the byte when printed. operator== is more generous: it knows no order of members.
bool same(const Value& a, const Value& b) {
  if (a.identical(b)) {
    return true;
  }
  if (a.type() != b.type()) {
    return false;
  }
  if (a.is_string()) {
    return a.as_string() == b.as_string();
  }
  if (a.is_list()) {
    return std::ranges::equal(a.items(), b.items(), same);
  }
  if (a.is_object()) {
    return std::ranges::equal(a.members(), b.members(), [](const Member& x, const Member& y) {
      return same(x.name, y.name) && same(x.value, y.value);
    });
  }
  return false;  // scalars of one type are identical or differ
}

// Returns the member of that name, which mostly has the same place; null without one.
const Value& counterpart(MemberLookup& like, const Value& name) {
  static const Value kNone;
  const Value* value = like.find(name.as_string());
  return value == nullptr ? kNone : *value;
}

}  // namespace

Interner::Interner(std::size_t slots) : slots_(std::bit_ceil(std::max(slots, kWays))) {}

std::uint64_t Interner::mark(const Value& value) {
  const std::size_t own = marks_.size();
  marks_.emplace_back();
  std::uint64_t hash = 0;
  if (value.is_list()) {
    hash = mix(static_cast<std::uint64_t>(Value::Type::List), value.size());
    for (const Value& item : value.items()) {
      hash = mix(hash, mark(item));
    }
  } else if (value.is_object()) {
    hash = mix(static_cast<std::uint64_t>(Value::Type::Object), value.size());
    for (const Member& member : value.members()) {
      hash = mix(hash, scalar_hash(member.name));
      hash = mix(hash, mark(member.value));
    }
  } else {
    hash = scalar_hash(value);
  }
  hash += hash == 0 ? 1 : 0;
  marks_[own] = {.hash = hash, .next = marks_.size()};
  return hash;
}

Interner::Slot& Interner::slot_of(std::uint64_t hash) {
  // The upper bits are the better mixed ones.
  Slot* const set = &slots_[(hash >> 20) % (slots_.size() / kWays) * kWays];
  for (std::size_t way = 0; way < kWays; ++way) {
    if (set[way].hash == hash) {
      set[way].used = true;
      return set[way];
    }
  }
  Slot* victim = nullptr;
  for (std::size_t way = 0; way < kWays; ++way) {
    if (!set[way].used) {
      victim = &set[way];
      break;
    }
    set[way].used = false;
  }
  victim = victim == nullptr ? &set[hash % kWays] : victim;
  *victim = {.hash = hash, .part = {}, .used = true};
  return *victim;
}

Value Interner::share_list(const Value& list, const Value& like, std::size_t mark) {
  const auto items = list.items();
  std::vector<Value> parts;
  parts.reserve(items.size());
  for (std::size_t i = 0, at = mark + 1; i < items.size(); ++i) {
    parts.push_back(share(items[i], like[i], at));
    at = marks_[at].next;
  }
  return ValueAccess::list_of(parts);
}

Value Interner::share_object(const Value& object, const Value& like, std::size_t mark) {
  const auto members = object.members();
  std::vector<Member> parts;
  parts.reserve(members.size());
  MemberLookup lookup(like);
  for (std::size_t i = 0, at = mark + 1; i < members.size(); ++i) {
    const Value& before = counterpart(lookup, members[i].name);
    Value name = members[i].name;
    if (is_long(name)) {
      Slot& slot = slot_of(scalar_hash(name));
      if (same(slot.part, name)) {
        name = slot.part;
      } else {
        slot.part = name;  // names of fields repeat: no second time is waited for
      }
    }
    parts.emplace_back(std::move(name), share(members[i].value, before, at));
    at = marks_[at].next;
  }
  return ValueAccess::object_of_distinct(parts);
}

Value Interner::share(const Value& value, const Value& like, std::size_t mark) {
  const bool container = value.is_list() || value.is_object();
  if (container ? value.empty() : !is_long(value)) {
    return value;  // lives in its handle
  }
  if (same(value, like)) {
    return like;
  }
  const std::uint64_t hash = marks_[mark].hash;
  Slot& found = slot_of(hash);
  if (same(found.part, value)) {
    return found.part;
  }
  const bool second = found.seen;
  found.seen = true;
  Value shared = value.is_list()     ? share_list(value, like, mark)
                 : value.is_object() ? share_object(value, like, mark)
                                     : value;
  if (second) {
    slot_of(hash).part = shared;  // found again: its parts may have taken that slot
  }
  return shared;
}

Value Interner::intern(const Value& value, const Value& like) {
  if (same(value, like)) {
    return like;
  }
  marks_.clear();
  mark(value);
  // A whole document is like no other.
  if (value.is_object()) {
    return share_object(value, like, 0);
  }
  return value.is_list() ? share_list(value, like, 0) : value;
}

namespace {

Value list_shared_with(const Value& list, const Value& like) {
  const auto items = list.items();
  bool news = items.size() != like.size();
  std::vector<Value> parts;
  parts.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    parts.push_back(shared_with(items[i], like[i]));
    news = news || !parts.back().identical(like[i]);
  }
  return news ? ValueAccess::list_of(parts) : like;
}

Value object_shared_with(const Value& object, const Value& like) {
  const auto members = object.members();
  const auto before = like.members();
  bool news = members.size() != before.size();
  std::vector<Member> parts;
  parts.reserve(members.size());
  MemberLookup lookup(like);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool in_place = i < before.size() && same(before[i].name, members[i].name);
    const Value& there = in_place ? before[i].value : counterpart(lookup, members[i].name);
    parts.emplace_back(in_place ? before[i].name : members[i].name,
                       shared_with(members[i].value, there));
    news = news || !in_place || !parts.back().value.identical(there);
  }
  return news ? ValueAccess::object_of_distinct(parts) : like;
}

}  // namespace

Value shared_with(const Value& value, const Value& like) {
  if (value.identical(like)) {
    return like;
  }
  if (value.is_list() && like.is_list() && !value.empty()) {
    return list_shared_with(value, like);
  }
  if (value.is_object() && like.is_object() && !value.empty()) {
    return object_shared_with(value, like);
  }
  return value.is_string() && same(value, like) ? like : value;
}

void Interner::sweep() {
  for (Slot& slot : slots_) {
    if (!slot.part.is_null() && !ValueAccess::shared(slot.part)) {
      slot = {};
    }
  }
}

}  // namespace athanor
