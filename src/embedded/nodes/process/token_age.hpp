// SPDX-License-Identifier: Apache-2.0
// The time at which a service account's token in a volume is replaced, by the rules of
// kubernetes/pkg/kubelet/token.
#pragma once

#include <optional>
#include <string_view>

#include "base/time.hpp"

namespace athanor::nodes {

// Returns when four fifths of the token's life are over, or a day of it; nullopt: it says nothing
// of its life.
std::optional<Instant> refresh_time(std::string_view token);

}  // namespace athanor::nodes
