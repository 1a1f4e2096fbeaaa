// SPDX-License-Identifier: Apache-2.0
// Gathers members and items while a document is read and makes nodes of exact size; for the JSON
// parser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kube/value/issue_budget.hpp"
#include "kube/value/value.hpp"

namespace athanor {

// Open containers form a stack; their parts lie on two more stacks, innermost last. Repeated keys
// are found when an object closes (the last one wins), without a search while it is read.
class TreeBuilder {
 public:
  void open_object();
  // Sets the name of the next member; `offset` is its place in the document.
  void key(Value name, std::size_t offset);
  // Sets the value of the last key.
  void set(Value value) { members_.back().value = std::move(value); }
  Value close_object();

  void open_list();
  void add(Value item);
  Value close_list();

  // Paths of the keys that came more than once ("data.a"), each once, in document order; no more
  // than an IssueBudget allows.
  [[nodiscard]] std::vector<std::string> duplicates() const;

 private:
  struct Frame {
    bool object = false;
    std::size_t base = 0;   // of its parts
    std::size_t items = 0;  // of a list, so far
  };
  struct KeyMark {
    std::uint32_t hash = 0;
    std::uint32_t offset = 0;
  };
  struct Repeat {
    std::size_t offset = 0;
    std::string path{};
  };

  // Returns true if two of the innermost object's keys are equal.
  [[nodiscard]] bool any_repeat(std::size_t base) const;
  void drop_repeats(std::size_t base);
  void note_repeat(const Member& member, std::size_t offset);
  // Returns the path of a member of the innermost object.
  [[nodiscard]] std::string path_of(const Member& member) const;

  std::vector<Frame> frames_{};
  std::vector<Member> members_{};
  std::vector<KeyMark> marks_{};  // one a member
  std::vector<Value> items_{};
  std::vector<Repeat> repeats_{};
  IssueBudget budget_{};  // of repeats_
};

}  // namespace athanor
