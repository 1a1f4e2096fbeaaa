// SPDX-License-Identifier: Apache-2.0
// athanor clusters cordon, uncordon and drain (docs/spec/hearth.md 8.6).
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/interrupt.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/chosen_names.hpp"
#include "cli/session/reconnection.hpp"
#include "cli/session/verbs.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "views/job_view.hpp"

namespace athanor::cli {
namespace {

constexpr std::chrono::milliseconds kDrainPause{300};

Result<Object> set_cordoned(Session& session, const std::string& name, bool cordoned) {
  auto patched = session.connection().call(
      {.method = "PATCH",
       .path = Session::path(api::kFournosCluster, session.ns(), name) +
               "?fieldManager=athanor-clusters",
       .body = Value::object({{"spec", Value::object({{"cordoned", cordoned}})}}),
       .content_type = "application/merge-patch+json"});
  if (!patched.ok()) {
    return explain_unmanaged(session, name, patched.error());
  }
  return Object(*std::move(patched));
}

// Jobs that hold the cluster, its own locks left out.
Result<std::vector<Object>> jobs_on(Session& session, const std::string& cluster) {
  ATHANOR_TRY(std::vector<Object> jobs, session.list(api::kFournosJob, ""));
  std::erase_if(jobs, [&](const Object& job) {
    return views::is_over(job) || job.status()["cluster"].as_string() != cluster ||
           job.spec()["lockOnly"].as_bool();
  });
  return jobs;
}

Result<void> cancel_job(Session& session, const Object& job) {
  const auto patched = session.connection().call(
      {.method = "PATCH",
       .path = Session::path(api::kFournosJob, std::string(job.ns()), std::string(job.name())) +
               "?fieldManager=athanor-cancel",
       .body = Value::object({{"spec", Value::object({{"shutdown", "Stop"}})}}),
       .content_type = "application/merge-patch+json"});
  return patched.ok() || patched.error().code == 404 ? Result<void>() : patched.error();
}

// Waits until no job runs on the cluster. `end`: when it gives up.
Result<int> wait_for_jobs(Session& session, const ClusterCordonOptions& options,
                          const std::string& cluster, Instant end) {
  const Terminal out(STDOUT_FILENO);
  const Interrupt interrupt;
  const auto clock = wall_clock();
  std::set<Key> cancelled;
  std::size_t last = 0;
  while (true) {
    const auto jobs = jobs_on(session, cluster);
    if (!jobs.ok() && !is_passing(jobs.error())) {
      return jobs.error();
    }
    if (jobs.ok()) {
      if (jobs->empty()) {
        out.print(fmt::format("{} is drained\n", cluster));
        return 0;
      }
      if (jobs->size() != last) {
        last = jobs->size();
        std::vector<std::string> names;
        for (const Object& job : *jobs) {
          names.push_back(job.key().text());
        }
        out.print(fmt::format("waiting for {}\n", fmt::join(names, ", ")));
      }
      for (const Object& job : *jobs) {
        if (options.cancel && cancelled.insert(job.key()).second) {
          ATHANOR_TRY_VOID(cancel_job(session, job));
        }
      }
    }
    if (interrupt.came()) {
      return kInterrupted;
    }
    if (clock->now() >= end) {
      return Error{.code = 504,
                   .reason = "Timeout",
                   .message = fmt::format("{} still has {} job{} after {} s{}", cluster, last,
                                          last == 1 ? "" : "s", options.timeout,
                                          options.cancel ? "" : "; --cancel stops them")};
    }
    std::this_thread::sleep_for(kDrainPause);
  }
}

// Marks all clusters before it waits for the jobs of the first.
Result<int> change_cordons(const ClusterCordonOptions& options) {
  ATHANOR_TRY(Session session, Session::open(options.target));
  ATHANOR_TRY(const std::vector<std::string> names,
              chosen_names(session, api::kFournosCluster, options.choice));
  const Instant end = wall_clock()->now() + std::chrono::seconds(options.timeout);
  const bool closes = options.verb != ClusterCordonVerb::Uncordon;
  const Terminal out(STDOUT_FILENO);
  std::vector<std::string> changed;
  const int refused = for_each_name(names, [&](const std::string& name) -> Result<int> {
    ATHANOR_TRY(const Object cluster, set_cordoned(session, name, closes));
    out.print(fmt::format("{} is {}\n", cluster.name(), closes ? "cordoned" : "uncordoned"));
    changed.push_back(name);
    return 0;
  });
  if (options.verb != ClusterCordonVerb::Drain) {
    return refused;
  }
  for (const std::string& name : changed) {
    ATHANOR_TRY(const int code, wait_for_jobs(session, options, name, end));
    if (code != 0) {
      return code;  // Ctrl-C
    }
  }
  return refused;
}

}  // namespace

int run(const ClusterCordonOptions& options) {
  const auto code = change_cordons(options);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
