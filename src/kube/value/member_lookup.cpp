// SPDX-License-Identifier: Apache-2.0
#include "kube/value/member_lookup.hpp"

namespace athanor {
namespace {

constexpr std::size_t kWide = 64;   // members
constexpr std::size_t kOften = 16;  // searches: the table costs about as many

}  // namespace

const Value* MemberLookup::find(std::string_view key) {
  const auto members = object_.members();
  if (next_ < members.size() && members[next_].key() == key) {
    return &members[next_++].value;
  }
  if (places_.empty() && members.size() > kWide && ++searches_ > kOften) {
    places_.reserve(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      places_.emplace(members[i].key(), i);
    }
  }
  std::size_t place = members.size();
  if (!places_.empty()) {
    if (const auto found = places_.find(key); found != places_.end()) {
      place = found->second;
    }
  } else {
    for (place = 0; place < members.size() && members[place].key() != key; ++place) {
    }
  }
  if (place == members.size()) {
    return nullptr;
  }
  next_ = place + 1;
  return &members[place].value;
}

}  // namespace athanor
