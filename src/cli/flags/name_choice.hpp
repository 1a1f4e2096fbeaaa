// SPDX-License-Identifier: Apache-2.0
// NameChoice: the objects that a verb acts on.
#pragma once

#include <string>
#include <vector>

namespace athanor::cli {

// Names, or the labels of all that are meant: one of both is given.
struct NameChoice {
  std::vector<std::string> names{};
  std::string labels{};  // -l
};

}  // namespace athanor::cli
