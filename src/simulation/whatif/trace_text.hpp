// SPDX-License-Identifier: Apache-2.0
// The texts of traces: lines of CSV, numbers, lengths of time, and what is wrong with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"

namespace athanor::whatif {

// Collects problems of a file: "NAME:LINE: what is wrong; how to mend it". The first twenty are
// reported together. `name` outlives it.
class Problems {
 public:
  explicit Problems(std::string_view name) : name_(name) {}
  void add(std::size_t line, std::string_view what);
  [[nodiscard]] std::size_t count() const { return count_; }
  // Fails with all of them where there are some.
  [[nodiscard]] Result<void> check() const;

 private:
  std::string_view name_;
  std::size_t count_ = 0;
  std::string text_{};
};

// The values of one entry of a trace, by column.
using Fields = std::map<std::string, std::string, std::less<>>;
// Returns the text of a field; empty where it is absent.
std::string field_of(const Fields& fields, std::string_view name);

// Columns of a CSV file: all that are known, and those that may not be absent.
struct Columns {
  std::span<const std::string_view> known{};
  std::span<const std::string_view> needed{};
};
// Reads CSV whose first line names the columns; calls `entry` for each further line. Skips empty
// lines and those that start with '#'. Values are not quoted.
void read_csv(std::string_view text, const Columns& columns, Problems& problems,
              const std::function<void(const Fields& fields, std::size_t line)>& entry);

// Parses "3600", "90m", "1h30m", "2d", "1d12h"; at most 365 days.
std::optional<Duration> span_of(std::string_view text);

}  // namespace athanor::whatif
