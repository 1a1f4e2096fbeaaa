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

// Returns why text for standard output was lost (a full disk); empty: none was, or its reader has
// closed the pipe.
std::string lost_output();

// Rows that are printed one by one: columns are `least` wide, so that they line up.
class LiveTable {
 public:
  LiveTable(std::vector<std::string> titles, std::vector<std::size_t> least)
      : titles_(std::move(titles)), least_(std::move(least)) {}
  [[nodiscard]] std::string header(std::size_t columns) const { return row(titles_, columns); }
  [[nodiscard]] std::string row(const std::vector<std::string>& cells, std::size_t columns) const;

 private:
  std::vector<std::string> titles_;
  std::vector<std::size_t> least_;
};

// Prints "athanor: MESSAGE" to stderr. Returns the exit code for it: 1, for wrong usage 2.
int fail(const Error& error);

// Returns the colour of a job's phase, by outcome.
Colour phase_colour(std::string_view phase);

}  // namespace athanor::cli
