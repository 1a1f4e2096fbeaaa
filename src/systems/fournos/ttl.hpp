// SPDX-License-Identifier: Apache-2.0
// spec.ttl: how long a finished job is kept (docs/spec/fournos.md section 19).
#pragma once

#include <optional>
#include <string_view>

#include "base/time.hpp"

namespace athanor::fournos {

// Parses "[Nd][Nh][Nm][Ns]" with at least one part: "12h", "7d", "1h30m". nullopt for anything
// else, and beyond 100 years.
std::optional<Duration> parse_ttl(std::string_view text);

}  // namespace athanor::fournos
