// SPDX-License-Identifier: Apache-2.0
// Reading what belongs to one object and making its Description.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "runtime/view/verb.hpp"
#include "views/description.hpp"
#include "views/schedule_view.hpp"
#include "views/subjects.hpp"

namespace athanor::views {

// Source of a description, and where it looks.
struct DescribeSource {
  VerbContext& context;
  std::string jobs_ns{};      // of jobs, AppWrappers and Workloads
  std::string clusters_ns{};  // of FournosClusters
  Instant now{};
  FindZone find_zone{};  // of schedules
};

// Describes an object. Errors: it does not exist, or cannot be read. Parts that only add to it and
// cannot be read are left out.
Result<Description> describe(DescribeSource& source, const SubjectName& subject);

// Describes a job with its tasks in the timeline. Pure; `children` are Workload, runs and pods.
Description describe_job(const Object& job, const std::vector<Object>& children, Instant now);
// Describes a FournosCluster with the jobs on it. Pure.
Description describe_cluster(const Object& cluster, const std::vector<Object>& jobs,
                             const std::vector<Object>& cluster_queues);
// Describes a cluster that the queue alone has, with the jobs on it. Pure.
Description describe_bare_cluster(const Object& flavor, const std::vector<Object>& jobs,
                                  const std::vector<Object>& cluster_queues,
                                  std::string_view clusters_ns);
// Describes a schedule with the runs that it started, and starts that led to none. Pure; `runs` are
// Jobs and FournosJobs.
Description describe_schedule(const Object& schedule, const std::vector<Object>& runs, Instant now,
                              const FindZone& find);

}  // namespace athanor::views
