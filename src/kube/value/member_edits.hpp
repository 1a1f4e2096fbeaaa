// SPDX-License-Identifier: Apache-2.0
// Changes members of an object while it is walked; removing them one by one would move all behind
// them each time.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor {

// Takes one decision for each member, in order; copies members from the first change on. `from`
// outlives it.
class MemberEdits {
 public:
  explicit MemberEdits(std::span<const Member> from) : from_(from) {}

  void keep() {
    if (changed_) {
      members_.push_back(from_[next_]);
    }
    ++next_;
  }
  void replace(Value value) {
    change();
    members_.emplace_back(from_[next_].name, std::move(value));
    ++next_;
  }
  void drop() {
    change();
    ++next_;
  }
  [[nodiscard]] bool changed() const { return changed_; }
  // Returns the object as decided; only where changed().
  [[nodiscard]] Value take() && { return Value::object(std::move(members_)); }

 private:
  void change() {
    if (!std::exchange(changed_, true)) {
      members_.reserve(from_.size());
      members_.assign(from_.begin(), from_.begin() + static_cast<std::ptrdiff_t>(next_));
    }
  }

  std::span<const Member> from_;
  std::vector<Member> members_{};
  std::size_t next_ = 0;
  bool changed_ = false;
};

}  // namespace athanor
