// SPDX-License-Identifier: Apache-2.0
// eventually(): how tests wait for what another thread does.
#pragma once

#include <chrono>
#include <thread>

namespace athanor::test {

// Asks again and again, for at most a minute: a machine may be busy with others.
template <class Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

}  // namespace athanor::test
