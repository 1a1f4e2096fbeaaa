// SPDX-License-Identifier: Apache-2.0
// --controllers: which controllers a lab runs.
#include <fmt/core.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "embedded/bridge/loops.hpp"
#include "embedded/lab/control_plane.hpp"
#include "embedded/lab/embedded_operators.hpp"
#include "runtime/view/usage.hpp"

namespace athanor::lab {
std::vector<std::string> controller_names(std::span<const Operator* const> operators) {
  std::vector<std::string> names(std::begin(bridge::kLoopNames), std::end(bridge::kLoopNames));
  for (const Operator* op : operators) {
    names.emplace_back(op->name);
  }
  std::ranges::sort(names);
  return names;
}

bool controller_enabled(const std::string& list, std::string_view name) {
  bool enabled = false;
  for (const std::string_view word : words_of(list, ',')) {
    if (word == name) {
      return true;
    }
    if (word.front() == '-' && word.substr(1) == name) {
      return false;
    }
    enabled = enabled || word == "*" || (word == "external" && !is_external(name));
  }
  return enabled;
}

std::vector<std::string> own_components(const std::string& list) {
  std::vector<std::string> parts;
  if (controller_enabled(list, "replicaset-controller")) {
    parts.emplace_back("controller-manager");
  }
  if (controller_enabled(list, "default-scheduler")) {
    parts.emplace_back("scheduler");
  }
  return parts;
}

Result<void> check_controllers(const std::string& list,
                               std::span<const Operator* const> operators) {
  const std::vector<std::string> known = controller_names(operators);
  for (const std::string_view word : words_of(list, ',')) {
    const std::string_view name = word.substr(word.front() == '-' ? 1 : 0);
    if (word != "*" && word != "external" && std::ranges::find(known, name) == known.end()) {
      std::string all;
      for (const std::string& one : known) {
        all += (all.empty() ? "" : ", ") + one;
      }
      return wrong_usage(
          fmt::format("--controllers: \"{}\" is no controller; known are: {}", name, all));
    }
  }
  return {};
}

}  // namespace athanor::lab
