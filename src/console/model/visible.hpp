// SPDX-License-Identifier: Apache-2.0
// Visible: namespaces in which a viewer may list a kind (docs/spec/dashboard.md B9 X2).
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace athanor::console {

// Namespaces that a viewer may list a kind in.
struct Visible {
  bool all = false;
  std::set<std::string, std::less<>> namespaces{};
  [[nodiscard]] bool shows(std::string_view ns) const { return all || namespaces.contains(ns); }
};

}  // namespace athanor::console
