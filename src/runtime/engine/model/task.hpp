// SPDX-License-Identifier: Apache-2.0
// Small vocabulary of the engine's parts.
#pragma once

#include <cstdint>
#include <string_view>

namespace athanor::runtime {

// One key of one operator; numbers are given in order of first use and never reused.
using TaskId = std::uint64_t;

enum class Priority : std::uint8_t { Interactive, Resync };

// Why a key runs; for traces and debugging, no decision depends on it.
enum class Cause : std::uint8_t {
  Synced,       // its kinds have been listed
  Changed,      // its object changed
  ReadChanged,  // something that it read changed
  Observed,     // an answer from the outside world
  Retry,        // a plan failed
  Wake,         // it asked to
  Resync,       // it is time to look again
  Continued,    // the plan was too long, or was refused and answers that
};
// Returns "object changed", "a read changed", ...
std::string_view name_of(Cause cause);

}  // namespace athanor::runtime
