// SPDX-License-Identifier: Apache-2.0
// Interner: lets documents that are kept share the parts in which they are alike.
//
// Objects of one kind repeat most of each other: managedFields, pod specs, owner references, the
// times of one second. Interning what is stored makes ten thousand of them several times smaller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor {

// Bounded: a fixed number of slots, which hold on to a part only once it came twice. Not
// thread-safe.
class Interner {
 public:
  // Slots are rounded up to a power of two.
  explicit Interner(std::size_t slots = std::size_t{1} << 15);

  // Returns a value of the same text (order of members and kinds of numbers, too) that shares all
  // it can with `like`, the state before, and with what was interned earlier. O(size).
  Value intern(const Value& value, const Value& like);
  // Removes parts without other owners. O(slots).
  void sweep();

 private:
  struct Slot {
    std::uint64_t hash = 0;  // 0: free
    Value part{};            // Null: came once so far
    bool seen = false;       // came before
    bool used = false;       // since the slot was last considered for another part
  };
  struct Mark {
    std::uint64_t hash = 0;
    std::size_t next = 0;  // index behind the part's last mark
  };

  std::uint64_t mark(const Value& value);
  Value share(const Value& value, const Value& like, std::size_t mark);
  Value share_list(const Value& list, const Value& like, std::size_t mark);
  Value share_object(const Value& object, const Value& like, std::size_t mark);
  // Returns the slot of that hash; a victim's when there is none.
  Slot& slot_of(std::uint64_t hash);

  std::vector<Slot> slots_;
  std::vector<Mark> marks_{};  // of the document at work, each part before its own parts
};

// Returns a value of the same text that shares with `like`, the state before, every part at the
// same place of both: comparing the two costs only what differs. O(size of what differs).
Value shared_with(const Value& value, const Value& like);

}  // namespace athanor
