// SPDX-License-Identifier: Apache-2.0
// The functions of a C++ source with their shapes, found on its text: just enough of the grammar
// for this repository's style. Input is the text with comments and literals blanked (sources.hpp).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::layering {

struct Function {
  std::string name{};                          // as written: "View::ranked"
  std::size_t line = 0;                        // of its name
  std::vector<std::string_view> parameters{};  // "const Key& key"
  std::size_t body_lines = 0;                  // between its braces; 0 for a declaration
};

// Lists declarations and definitions of functions that return something; constructors and lambdas
// are left out. The views point into `code`.
std::vector<Function> functions_of(std::string_view code);

}  // namespace athanor::layering
