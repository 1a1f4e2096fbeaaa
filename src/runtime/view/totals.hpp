// SPDX-License-Identifier: Apache-2.0
// Totals: sums by name, as a controller reads them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace athanor {

// In order of names. Copies share the sums until one of them changes: what a cache keeps is read
// without being copied. Copies belong to one thread.
class Totals {
 public:
  using Sums = std::map<std::string, std::int64_t, std::less<>>;

  Totals() = default;
  Totals(std::initializer_list<Sums::value_type> sums) : sums_(std::make_shared<Sums>(sums)) {}

  [[nodiscard]] Sums::const_iterator begin() const { return sums().begin(); }
  [[nodiscard]] Sums::const_iterator end() const { return sums().end(); }
  [[nodiscard]] bool empty() const { return sums().empty(); }

  std::int64_t& operator[](std::string_view name) {
    Sums& own = writable();
    const auto at = own.lower_bound(name);
    return at != own.end() && at->first == name ? at->second
                                                : own.emplace_hint(at, name, 0)->second;
  }
  // Adds to a sum; leaves out a sum that becomes 0.
  void add(std::string_view name, std::int64_t amount) {
    std::int64_t& sum = (*this)[name];
    sum += amount;
    if (sum == 0) {
      sums_->erase(sums_->find(name));
    }
  }
  void leave_out_zeros() {
    std::erase_if(writable(), [](const auto& entry) { return entry.second == 0; });
  }

  friend bool operator==(const Totals& a, const Totals& b) { return a.sums() == b.sums(); }

 private:
  [[nodiscard]] const Sums& sums() const {
    static const Sums kNone;
    return sums_ == nullptr ? kNone : *sums_;
  }
  Sums& writable() {
    if (sums_ == nullptr) {
      sums_ = std::make_shared<Sums>();
    } else if (sums_.use_count() > 1) {
      sums_ = std::make_shared<Sums>(*sums_);
    }
    return *sums_;
  }

  std::shared_ptr<Sums> sums_{};
};

}  // namespace athanor
