// SPDX-License-Identifier: Apache-2.0
// ListOptions: what the lists of athanor have in common: which objects, in which order, printed
// how.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace athanor::cli {

// Formats of -o/--output. JsonPath, CustomColumns and GoTemplate print by a pattern; Trace and
// Fleet are files of athanor simulate, which single lists print.
enum class Output : std::uint8_t {
  Table,
  Json,
  Yaml,
  Name,
  Wide,
  JsonPath,
  CustomColumns,
  GoTemplate,
  Trace,
  Fleet
};

// A format with its pattern.
struct Format {
  Output output = Output::Table;
  std::string pattern{};  // of JsonPath, CustomColumns and GoTemplate
  [[nodiscard]] bool is_table() const { return output == Output::Table || output == Output::Wide; }
};

// Flags of a list; empty: not given.
struct ListOptions {
  std::vector<std::string> names{};
  std::string labels{};               // -l
  std::string fields{};               // --field-selector
  std::vector<std::string> phases{};  // any of them
  std::vector<std::string> owners{};  // any of them
  std::string since{};                // a duration or a time
  std::int64_t limit = 0;             // 0: all
  std::string sort_by{};              // a column, or a JSONPath
  bool no_headers = false;
  bool watch = false;
  Format format{};
};

}  // namespace athanor::cli
