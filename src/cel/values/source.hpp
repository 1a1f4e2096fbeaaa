// SPDX-License-Identifier: Apache-2.0
// The text of an expression and how a fault in it is shown:
//   ERROR: <input>:1:5: undefined field 'x'
//    | self.x
//    | ....^
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::cel {

// A fault at a position in code points.
struct Issue {
  std::uint32_t position = 0;
  std::string message{};
};

// Returns every issue, in the order of their positions, one below the other.
std::string issues_text(std::string_view source, std::vector<Issue> issues);

}  // namespace athanor::cel
