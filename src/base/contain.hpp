// SPDX-License-Identifier: Apache-2.0
// Containment: a broken invariant found while one key or one request is handled costs that key or
// that request, not the process.
//
// At first every broken invariant ends the program (tests, simulation). The program itself switches
// that off: then ATHANOR_CHECK throws inside contain() or under a Containment, and still aborts
// everywhere else and under Indivisible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

namespace athanor {

// Sets for the whole process whether every broken invariant aborts. Thread-safe.
void set_broken_invariants_fatal(bool fatal);
[[nodiscard]] bool broken_invariants_fatal();
// Returns how many failures contain() has caught on this thread.
[[nodiscard]] std::uint64_t contained_failures();

// While one lives, broken invariants of its thread throw a std::logic_error that names the place,
// the reason and the condition, unless they are fatal. Its maker catches it.
class Containment {
 public:
  Containment();
  ~Containment();
  Containment(const Containment&) = delete;
  Containment& operator=(const Containment&) = delete;

 private:
  int before_;
};

// While one lives, broken invariants of its thread abort: for changes that must not stay half done.
class Indivisible {
 public:
  Indivisible();
  ~Indivisible();
  Indivisible(const Indivisible&) = delete;
  Indivisible& operator=(const Indivisible&) = delete;

 private:
  int before_;
};

namespace detail {
std::optional<std::string> contain(void (*run)(void* work), void* work);
}  // namespace detail

// Runs `work`. Returns what went wrong if a broken invariant or another exception ended it; nullopt
// after success. Where broken invariants are fatal, nothing is caught.
template <class Work>
std::optional<std::string> contain(Work&& work) {
  using Plain = std::remove_reference_t<Work>;
  return detail::contain([](void* at) { (*static_cast<Plain*>(at))(); },
                         const_cast<void*>(static_cast<const void*>(std::addressof(work))));
}

}  // namespace athanor
