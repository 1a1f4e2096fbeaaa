// SPDX-License-Identifier: Apache-2.0
// The layers of the program as CMake declares them (athanor_library): folders, and what each may
// see.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::layering {

struct Layer {
  std::vector<std::string> folders{};            // below src/
  std::set<std::string, std::less<>> direct{};   // the layers it links
  std::set<std::string, std::less<>> visible{};  // these, and all that they are built on
  std::vector<std::string> libraries{};          // of others: "fmt::fmt"
};

// Every layer by its library's name without "athanor_".
const std::map<std::string, Layer, std::less<>>& layers();

// Returns the layer of a path below src/, or an empty text. The longest folder counts.
std::string_view layer_of(std::string_view path);

}  // namespace athanor::layering
