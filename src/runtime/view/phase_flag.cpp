// SPDX-License-Identifier: Apache-2.0
#include "runtime/view/phase_flag.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "base/near_name.hpp"
#include "runtime/view/usage.hpp"

namespace athanor {

Result<std::vector<std::string>> asked_phases(const std::optional<std::string>& flag,
                                              const std::vector<std::string>& known) {
  const std::string text = flag.value_or("");
  std::vector<std::string> phases;
  for (const std::string_view word : words_of(text, ',')) {
    const auto found = std::ranges::find_if(
        known, [&](const std::string& one) { return lower(one) == lower(word); });
    if (found == known.end()) {
      return wrong_usage(fmt::format("--phase {}: unknown; known are {}{}", word,
                                     fmt::join(known, ", "), near_hint(word, known)));
    }
    phases.push_back(*found);
  }
  return phases;
}

bool takes_phase(const std::vector<std::string>& phases, std::string_view phase) {
  return phases.empty() || std::ranges::find(phases, phase) != phases.end();
}

}  // namespace athanor
