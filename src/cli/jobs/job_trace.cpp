// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/job_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "views/job_view.hpp"

namespace athanor::cli {
namespace {

// Commas and line ends would be columns and rows of their own.
std::string plain_cell(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == ',' || c == '\n' || c == '#'; }, ' ');
  return text;
}

}  // namespace

JobTrace trace_of(const std::vector<Object>& jobs) {
  JobTrace trace{.csv = "submit,owner,gpu_type,gpus,duration,priority,cluster\n"};
  std::vector<Object> ordered = jobs;
  std::ranges::stable_sort(ordered, {}, [](const Object& job) {
    return std::pair(job.metadata()["creationTimestamp"].str(), std::string(job.name()));
  });
  for (const Object& job : ordered) {
    const auto created = job.creation_time();
    const auto lasted = views::is_over(job) ? views::duration_of_job(job, Instant()) : std::nullopt;
    const Value& hardware = job.spec()["hardware"];
    const std::int64_t gpus = hardware["gpuCount"].as_int();
    const std::string cluster = job.spec()["cluster"].str();
    if (!created || !lasted || (gpus == 0 && cluster.empty())) {
      ++trace.left_out;
      continue;
    }
    // The least duration of a trace is a second.
    const auto seconds = std::max<std::int64_t>(
        1, std::chrono::duration_cast<std::chrono::seconds>(*lasted).count());
    const std::string owner = plain_cell(job.spec()["owner"].str());
    trace.csv +=
        fmt::format("{},{},{},{},{},{},{}\n", format_time(*created),
                    owner.empty() ? "unknown" : owner, gpus > 0 ? hardware["gpuType"].str() : "",
                    gpus, seconds, plain_cell(job.spec()["priority"].str()), cluster);
  }
  return trace;
}

}  // namespace athanor::cli
