// SPDX-License-Identifier: Apache-2.0
// Bytes that the server holds for each client: requests that are not answered, answers that are not
// read. For the event loop's thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

namespace athanor::transport {

// Counts the bytes. Shares must not outlive it.
class Ledger {
 public:
  struct Limits {
    std::size_t each = 0;  // bytes of one holder
    std::size_t all = 0;   // of all together
  };
  explicit Ledger(const Limits& limits) : limits_(limits) {}

  // Returns true if `holder` may hold `more` bytes besides what it holds. One that holds nothing
  // may always: a single answer is larger than any limit that protects from many.
  [[nodiscard]] bool admits(const std::string& holder, std::size_t more) const;
  // Returns true if `holder` holds more than it may.
  [[nodiscard]] bool exceeded(const std::string& holder) const;
  [[nodiscard]] std::size_t held(const std::string& holder) const;
  [[nodiscard]] std::size_t total() const { return total_; }

  // A part of what a holder holds; given back when it goes.
  class Share {
   public:
    explicit Share(Ledger& ledger) : ledger_(ledger) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { set({}, 0); }
    // Holds so much from now on, for that holder.
    void set(const std::string& holder, std::size_t bytes);
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

   private:
    Ledger& ledger_;
    std::string holder_{};
    std::size_t bytes_ = 0;
  };

 private:
  const Limits limits_;
  std::map<std::string, std::size_t, std::less<>> holders_{};
  std::size_t total_ = 0;
};

}  // namespace athanor::transport
