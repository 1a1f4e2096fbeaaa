// SPDX-License-Identifier: Apache-2.0
// Leader election of a verb that runs controllers, as its flags ask for it.
#pragma once

#include <map>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "runtime/engine/elector.hpp"

namespace athanor::cli {

// Reads the length of time that a flag gave; the error names the flag, as wrong usage.
Result<Duration> duration_of(const std::string& flag, const std::string& text);

// Times of a Lease, as --lease-duration, --renew-deadline and --retry-period give them.
struct ElectionTimes {
  std::string lease_duration{};
  std::string renew_deadline{};
  std::string retry_period{};
};
// Returns the options of an election for this Lease. The identity begins with the variable
// POD_NAME, or the name of the host. Errors are wrong usage: a time that is none, or times that
// contradict each other. `entropy` outlives the result.
Result<runtime::ElectorOptions> election_of(Key lease, const ElectionTimes& times,
                                            const std::map<std::string, std::string>& variables,
                                            Entropy& entropy);

}  // namespace athanor::cli
