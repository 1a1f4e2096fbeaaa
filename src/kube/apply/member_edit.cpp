// SPDX-License-Identifier: Apache-2.0
#include "kube/apply/member_edit.hpp"

#include <utility>
#include <vector>

namespace athanor {
namespace {

constexpr std::size_t kWide = 64;   // members
constexpr std::size_t kOften = 16;  // looks: the table costs about as many

}  // namespace

void MemberEdit::count_lookup() {
  if (table_ == nullptr && object_.size() > kWide && ++looks_ > kOften) {
    make_table();
  }
}

void MemberEdit::make_table() {
  table_ = std::make_unique<Table>();
  table_->by_name.reserve(object_.size());
  for (const Member& member : object_.members()) {
    Entry& entry = table_->entries.emplace_back(Entry{.member = member});
    table_->by_name.emplace(entry.member.key(), &entry);
  }
}

const Value* MemberEdit::find(std::string_view key) {
  count_lookup();
  if (table_ == nullptr) {
    return object_.find(key);
  }
  const auto found = table_->by_name.find(key);
  return found == table_->by_name.end() ? nullptr : &found->second->member.value;
}

void MemberEdit::set(std::string_view key, Value value) {
  count_lookup();
  if (table_ == nullptr) {
    object_.set(key, std::move(value));
    return;
  }
  table_->changed = true;
  if (const auto found = table_->by_name.find(key); found != table_->by_name.end()) {
    found->second->member.value = std::move(value);
    return;
  }
  Entry& entry = table_->entries.emplace_back(Entry{.member = Member(key, std::move(value))});
  table_->by_name.emplace(entry.member.key(), &entry);
}

bool MemberEdit::erase(std::string_view key) {
  count_lookup();
  if (table_ == nullptr) {
    return object_.erase(key);
  }
  const auto found = table_->by_name.find(key);
  if (found == table_->by_name.end()) {
    return false;
  }
  Entry& entry = *found->second;
  table_->by_name.erase(found);
  entry.erased = true;
  entry.member.value = Value();
  table_->changed = true;
  return true;
}

Value MemberEdit::take() {
  if (table_ != nullptr && table_->changed) {
    std::vector<Member> members;
    members.reserve(table_->by_name.size());
    for (Entry& entry : table_->entries) {
      if (!entry.erased) {
        members.push_back(std::move(entry.member));
      }
    }
    object_ = Value::object(std::move(members));
  }
  table_.reset();
  return std::move(object_);
}

}  // namespace athanor
