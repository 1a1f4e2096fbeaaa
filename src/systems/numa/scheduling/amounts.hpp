// SPDX-License-Identifier: Apache-2.0
// Amounts of resources by name. A node has few resources and a cluster many zones: a sorted vector,
// so that a zone's amounts lie together in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::numa {

// Thousandths of the resource's unit by name, as of a map. Iterators end with any insertion.
class Amounts {
 public:
  using value_type = std::pair<std::string, std::int64_t>;
  using iterator = std::vector<value_type>::iterator;
  using const_iterator = std::vector<value_type>::const_iterator;

  Amounts() = default;
  Amounts(std::initializer_list<value_type> entries) {
    for (const value_type& entry : entries) {
      insert_or_assign(entry.first, entry.second);
    }
  }

  [[nodiscard]] iterator begin() { return entries_.begin(); }
  [[nodiscard]] iterator end() { return entries_.end(); }
  [[nodiscard]] const_iterator begin() const { return entries_.begin(); }
  [[nodiscard]] const_iterator end() const { return entries_.end(); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] bool empty() const { return entries_.empty(); }

  [[nodiscard]] iterator find(std::string_view name) { return begin() + place_of(name); }
  [[nodiscard]] const_iterator find(std::string_view name) const {
    return begin() + place_of(name);
  }
  [[nodiscard]] bool contains(std::string_view name) const { return find(name) != end(); }
  // Returns the amount of the name; inserts 0 where there is none.
  std::int64_t& operator[](std::string_view name);
  // Does nothing where there is no such name.
  void erase(std::string_view name) {
    if (const auto found = find(name); found != end()) {
      entries_.erase(found);
    }
  }
  void insert_or_assign(std::string_view name, std::int64_t amount) { (*this)[name] = amount; }

  friend bool operator==(const Amounts&, const Amounts&) = default;

 private:
  // Searches linearly: there are a handful, and most names differ in their length.
  [[nodiscard]] std::ptrdiff_t place_of(std::string_view name) const {
    std::ptrdiff_t place = 0;
    for (const value_type& entry : entries_) {
      if (entry.first == name) {
        break;
      }
      ++place;
    }
    return place;
  }

  std::vector<value_type> entries_{};  // by name
};
// One whole unit: a cpu, a byte, a device.
inline constexpr std::int64_t kUnit = 1000;

// Returns {"cpu": "100m", "memory": "1Gi"} as amounts; what is no quantity is left out.
Amounts amounts_of(const Value& resources);
// Returns the amount, 0 where the name is absent.
std::int64_t amount_of(const Amounts& amounts, std::string_view resource);

}  // namespace athanor::numa
