// SPDX-License-Identifier: Apache-2.0
// How deep and how large a Value is: the limits that keep recursion over Values within the stack.
#pragma once

#include <cstddef>

#include "kube/value/value.hpp"

namespace athanor {

// Levels of nesting that a document from outside may have: what every parser accepts.
inline constexpr std::size_t kMaxDocumentLevels = 200;
// Levels of a stored object, managedFields included. The rest of kMaxDocumentLevels is for the
// lists, watch events and reviews around it.
inline constexpr std::size_t kMaxObjectLevels = 190;
// Bytes of a stored object as JSON, managedFields and defaults included: four of the largest
// bodies.
inline constexpr std::size_t kMaxObjectBytes = std::size_t{12} << 20;
// Levels that a reader of the server's own rows accepts: more than any version has ever stored.
inline constexpr std::size_t kMaxRowLevels = 2'000;

struct Extent {
  std::size_t levels = 0;  // of nested lists and objects; 0 for a scalar
  std::size_t values = 0;  // shared nodes count once per reference
  std::size_t bytes = 0;   // of the compact JSON, without escapes
};

// Returns false as soon as `value` exceeds one of the limits; then `found` is incomplete.
bool measure(const Value& value, const Extent& limits, Extent& found);

// Returns true if lists and objects are nested in `value` more than `levels` deep.
bool is_deeper_than(const Value& value, std::size_t levels);

}  // namespace athanor
