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

Result<int> drain(Session& session, const ClusterCordonOptions& options) {
  const Terminal out(STDOUT_FILENO);
  const Interrupt interrupt;
  const auto clock = wall_clock();
  const Instant end = clock->now() + std::chrono::seconds(options.timeout);
  std::set<Key> cancelled;
  std::size_t last = 0;
  while (true) {
    const auto jobs = jobs_on(session, options.name);
    if (!jobs.ok() && !is_passing(jobs.error())) {
      return jobs.error();
    }
    if (jobs.ok()) {
      if (jobs->empty()) {
        out.print(fmt::format("{} is drained\n", options.name));
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
                   .message = fmt::format("{} still has {} job{} after {} s{}", options.name, last,
                                          last == 1 ? "" : "s", options.timeout,
                                          options.cancel ? "" : "; --cancel stops them")};
    }
    std::this_thread::sleep_for(kDrainPause);
  }
}

Result<int> change_cordon(const ClusterCordonOptions& options) {
  ATHANOR_TRY(Session session, Session::open(options.target));
  const bool closes = options.verb != ClusterCordonVerb::Uncordon;
  ATHANOR_TRY(const Object cluster, set_cordoned(session, options.name, closes));
  const Terminal out(STDOUT_FILENO);
  out.print(fmt::format("{} is {}\n", cluster.name(), closes ? "cordoned" : "uncordoned"));
  return options.verb == ClusterCordonVerb::Drain ? drain(session, options) : Result<int>(0);
}

}  // namespace

int run(const ClusterCordonOptions& options) {
  const auto code = change_cordon(options);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
