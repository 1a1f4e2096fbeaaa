// SPDX-License-Identifier: Apache-2.0
// Controllers as the page about the system shows them (docs/spec/dashboard.md B4.12), from what
// their process says of itself. Pure.
#pragma once

#include <string_view>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// Returns [{name, state, why, queue, active, errors, failing, lastError}] by name. `metrics` is the
// text of /metrics, `queue` the JSON of /debug/queue; Null: it cannot be read. States: healthy;
// failing: keys are tried again after an error; waiting: kinds are not listed yet; stuck: keys wait
// longer than 10 s for the caches.
Value controller_rows(std::string_view metrics, const Value& queue);
// Returns [{check, ok}] of the text of /readyz?verbose.
Value ready_checks(std::string_view text);
// Returns [{kind, group, ns, listed, watching, events, lists, lagSeconds, quietSeconds, error}] of
// the JSON of /debug/watches.
Value controller_watches(const Value& watches);
// Returns {name, holder, since, renewed, held} of a Lease; held: its holder renews it.
Value leader_of(const Object& lease, Instant now);
// Returns true if the process of these /metrics leads; Null: it takes part in no election.
Value leading_of(std::string_view metrics);

}  // namespace athanor::console
