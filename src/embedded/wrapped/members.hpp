// SPDX-License-Identifier: Apache-2.0
// The objects that a controller keeps below its own: named in advance, made when missing, deleted
// when not wanted any more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"

namespace athanor::wrapped {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

// An object to keep, by its name.
struct Member {
  std::string name{};
  Value object{};
};
// Returns an object of `kind` with a template's metadata and spec, `owner` as owner, labels added.
Member member_of(const Kind& kind, const Object& owner, std::string name, const Value& from,
                 const Labels& labels);

// Returns the existing objects of `kind` that `owner` controls.
std::vector<Object> present(const View& view, const Kind& kind, const Object& owner);
// Makes what is missing of `wanted` and deletes the rest of what is there. A name that another
// owner's object has is reported by an Event.
void keep(const View& view, const Kind& kind, const Object& owner,
          const std::vector<Member>& wanted, const std::vector<Object>& there, Plan& plan);

// Numbers of pods by phase; `active`: those not ended, `running` among them.
struct Tally {
  std::int64_t active = 0, running = 0, succeeded = 0, failed = 0;
};
// Counts the pods.
Tally tally(const std::vector<Object>& pods);

// A condition to set.
struct Mark {
  std::string type{}, reason{}, message{};
  bool truth = true;
};
// Adds a step that sets these conditions to True, or False where `truth` is false, and further
// members of status.
void write_status(const Kind& kind, const Object& object, const std::vector<Mark>& marks,
                  Value status, Instant now, Plan& plan);

// Returns an integer field such as replicas; `absent` where it is none.
std::int64_t count_of(const Value& value, std::int64_t absent = 1);

}  // namespace athanor::wrapped
