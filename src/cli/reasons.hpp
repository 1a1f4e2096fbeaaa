// SPDX-License-Identifier: Apache-2.0
// The queueing's words for people.
#pragma once

#include <string>
#include <string_view>

namespace athanor::cli {

// Returns what a job waits for in one short sentence, from a message that holds Kueue's text:
// "waits for a100: cluster-1 lacks 2", "99 a100 fit in no cluster (at most 8)". Any other text is
// returned as it is.
std::string clear_reason(std::string_view message);

// "fournos/gpu-a100" -> "a100", "fournos/cluster-slot" -> "slots".
std::string short_resource(std::string_view resource);

}  // namespace athanor::cli
