// SPDX-License-Identifier: Apache-2.0
// The nodes of an emulated target cluster, made on request: 100,000 of them cost
// as much as one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "embedded/targets/target.hpp"
#include "kube/value/value.hpp"

namespace athanor::targets {

// Immutable.
class Inventory {
 public:
  explicit Inventory(const Target& target);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::string name(std::size_t index) const;
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  // Labels as a map, for selectors.
  [[nodiscard]] Value labels(std::size_t index) const;
  // Appends one Node as JSON.
  void print(std::size_t index, std::string& out) const;
  // Appends a row of kubectl's table of nodes.
  void print_row(std::size_t index, Instant now, std::string& out) const;

 private:
  struct Group {
    std::string name{};
    std::size_t first = 0;
    std::size_t count = 0;
    Value labels{};
    std::vector<std::string> node{};  // the JSON between the places of the name
    std::vector<std::string> row{};
  };
  [[nodiscard]] const Group& group_of(std::size_t index) const;
  static void join(const std::vector<std::string>& pieces, std::string_view name, std::string& out);

  std::vector<Group> groups_{};
  std::size_t size_ = 0;
};

}  // namespace athanor::targets
