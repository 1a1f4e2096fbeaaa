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

// `count` new pods of a job without indexes, in no order that matters.
std::vector<Value> new_pods(const JobFacts& facts, std::int64_t count);
// At most `count` new pods of an Indexed job: the lowest indexes that neither run nor are done.
std::vector<Value> new_indexed_pods(const JobFacts& facts, std::int64_t count,
                                    const Indexes& waiting = {});
// The `count` active pods whose loss costs least: those without a node first, then those that are
// not ready, then the youngest. Of an Indexed job, doubles and superfluous indexes go before all.
std::vector<Object> excess_pods(const JobFacts& facts, std::int64_t count);
// Active pods of an Indexed job that should not be: doubles and indexes beyond the completions.
std::vector<Object> superfluous_pods(const JobFacts& facts);

// Takes the tracking finalizer off a pod; others stay.
Step untracked(const Object& pod);

}  // namespace athanor::workloads
