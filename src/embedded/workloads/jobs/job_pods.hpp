// SPDX-License-Identifier: Apache-2.0
// The pods a job makes, with names that follow from what the view holds: making one twice makes it
// once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "embedded/workloads/jobs/job_facts.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/plan.hpp"

namespace athanor::workloads {

// Returns `count` new pods of a job without indexes, in unspecified order.
std::vector<Value> new_pods(const JobFacts& facts, std::int64_t count);
// Returns at most `count` new pods of an Indexed job, for its lowest idle and unfinished indexes.
std::vector<Value> new_indexed_pods(const JobFacts& facts, std::int64_t count,
                                    const Indexes& waiting = {});
// Returns the `count` active pods whose loss costs least: first those without a node, then not
// ready, then the youngest. Of an Indexed job, doubles and superfluous indexes precede all others.
std::vector<Object> excess_pods(const JobFacts& facts, std::int64_t count);
// Returns active pods of an Indexed job to be removed: doubles and indexes beyond the completions.
std::vector<Object> superfluous_pods(const JobFacts& facts);

// Takes the tracking finalizer off a pod; others stay.
Step untracked(const Object& pod);

}  // namespace athanor::workloads
