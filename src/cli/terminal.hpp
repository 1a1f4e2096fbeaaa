// SPDX-License-Identifier: Apache-2.0
// What goes to the user: tables, colours (on a terminal alone, never with NO_COLOR), errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::cli {

// Colours of text.
enum class Colour : std::uint8_t { Plain, Red, Green, Yellow, Blue, Grey, Bold };

// One output stream and whether a person reads it.
class Terminal {
 public:
  explicit Terminal(int descriptor);
  [[nodiscard]] bool interactive() const { return interactive_; }
  [[nodiscard]] std::string paint(std::string_view text, Colour colour) const;
  // Columns of the terminal; 0: no terminal, nothing is cut.
  [[nodiscard]] std::size_t columns() const;
  // Writes all of it; a closed pipe is not an error.
  void print(std::string_view text) const;

 private:
  int descriptor_;
  bool interactive_;
  bool colours_;
};

// Columns as wide as their widest cell, three blanks between; no trailing blanks.
class Table {
 public:
  // `least`: columns are at least this wide, so that rows printed one by one line up.
  explicit Table(std::vector<std::string> header, std::vector<std::size_t> least = {})
      : rows_{std::move(header)}, least_(std::move(least)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::size_t rows() const { return rows_.size() - 1; }
  // Lines longer than `columns` end in "…"; 0: none is cut.
  [[nodiscard]] std::string text(std::size_t columns = 0) const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> least_;
};

// "athanor: MESSAGE" to stderr; returns the exit code for it (1).
int fail(const Error& error);

// The phase of a job, coloured by outcome.
Colour phase_colour(std::string_view phase);

}  // namespace athanor::cli
