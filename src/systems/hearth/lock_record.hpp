// SPDX-License-Identifier: Apache-2.0
// What is stored of a lock, the annotation fournos.dev/lock: "<since> <owner>", or "expired
// <owner>". Private to this folder.
#pragma once

#include <optional>
#include <string>

#include "systems/hearth/cluster.hpp"

namespace athanor::hearth {

// A lock's owner and start; empty without the annotation.
struct LockRecord {
  std::optional<Instant> since{};
  bool expired = false;
  std::string owner{};
};
// Reads the annotation.
LockRecord lock_record(const Context& context);
// Returns the lock's end; nullopt: it has none.
std::optional<Instant> lock_end(const Context& context, const LockRecord& record);

}  // namespace athanor::hearth
