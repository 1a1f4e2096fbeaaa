// SPDX-License-Identifier: Apache-2.0
// What a broken invariant does: abort with one line on stderr (a core dump shows the rest), or
// throw where it is contained.
#include "base/check.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "base/contain.hpp"
#include "base/log.hpp"

namespace athanor {
namespace {

std::atomic<bool> fatal{true};
// 1 in a Containment, -1 in an Indivisible, whichever is the inner one; 0 outside of both.
thread_local int scope = 0;
thread_local std::uint64_t caught = 0;

}  // namespace

void set_broken_invariants_fatal(bool on) {
  fatal = on;
}

bool broken_invariants_fatal() {
  return fatal.load(std::memory_order_relaxed);
}

std::uint64_t contained_failures() {
  return caught;
}

// Inside an Indivisible nothing is contained again: what surrounds it would stay half done.
Containment::Containment() : before_(scope) {
  scope = scope < 0 ? scope : 1;
}
Containment::~Containment() {
  scope = before_;
}

Indivisible::Indivisible() : before_(scope) {
  scope = -1;
}
Indivisible::~Indivisible() {
  scope = before_;
}

std::optional<std::string> detail::contain(void (*run)(void* work), void* work) {
  if (broken_invariants_fatal()) {
    run(work);
    return std::nullopt;
  }
  try {
    const Containment scope_of_work;
    run(work);
    return std::nullopt;
  } catch (const std::exception& failure) {
    ++caught;
    log::error("a broken invariant is contained", {{"what", failure.what()}});
    return failure.what();
  }
}

void check_failed(const char* condition, const char* why, const char* file, int line) {
  if (!broken_invariants_fatal() && scope > 0) {
    throw std::logic_error(std::string(file) + ":" + std::to_string(line) + ": " + why + " (" +
                           condition + ")");
  }
  std::fprintf(stderr, "athanor: broken invariant at %s:%d: %s (%s)\n", file, line, why, condition);
  std::abort();
}

}  // namespace athanor
