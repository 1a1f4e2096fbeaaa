// SPDX-License-Identifier: Apache-2.0
#include "views/job_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/ascii.hpp"
#include "views/job_view.hpp"

namespace athanor::views {
namespace {

// Commas and line ends would be columns and rows of their own; quotes are refused.
std::string plain_cell(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == ',' || c == '\n' || c == '\r' || c == '#' || c == '"'; }, ' ');
  return text;
}

}  // namespace

std::optional<TraceRow> requested_row(const Object& job) {
  const Value& hardware = job.spec()["hardware"];
  const auto created = job.creation_time();
  TraceRow row{.gpus = hardware["gpuCount"].as_int(),
               .priority = job.spec()["priority"].str(),
               .cluster = job.spec()["cluster"].str()};
  constexpr std::int64_t kMostGpus = 100'000;  // of a row of a trace
  if (!created || (row.gpus <= 0 && row.cluster.empty()) || row.gpus > kMostGpus) {
    return std::nullopt;
  }
  row.submit = *created;
  row.owner = std::string(trimmed(plain_cell(job.spec()["owner"].str())));
  if (row.owner.empty()) {
    row.owner = "unknown";
  }
  row.gpus = std::max<std::int64_t>(row.gpus, 0);
  row.gpu_type = row.gpus > 0 ? hardware["gpuType"].str() : "";
  row.exclusive = job.spec()["exclusive"].as_bool() && !row.cluster.empty();
  return row;
}

std::optional<TraceRow> trace_row(const Object& job) {
  const auto lasted = is_over(job) ? duration_of_job(job, Instant()) : std::nullopt;
  auto row = requested_row(job);
  if (!row || !lasted) {
    return std::nullopt;
  }
  row->duration = *lasted;
  return row;
}

std::string trace_text(const std::vector<TraceRow>& rows) {
  std::string csv = "submit,owner,gpu_type,gpus,duration,priority,cluster,exclusive\n";
  for (const TraceRow& row : rows) {
    // The least duration of a trace is a second.
    const auto seconds = std::max<std::int64_t>(
        1, std::chrono::duration_cast<std::chrono::seconds>(row.duration).count());
    csv += fmt::format("{},{},{},{},{},{},{},{}\n", format_time(row.submit), plain_cell(row.owner),
                       plain_cell(row.gpu_type), row.gpus, seconds, plain_cell(row.priority),
                       plain_cell(row.cluster), row.exclusive ? "true" : "");
  }
  return csv;
}

JobTrace trace_of(const std::vector<Object>& jobs) {
  JobTrace trace;
  std::vector<std::pair<std::string, TraceRow>> ordered;  // by name
  for (const Object& job : jobs) {
    if (auto row = trace_row(job)) {
      ordered.emplace_back(job.name(), *std::move(row));
    } else {
      ++trace.left_out;
    }
  }
  std::ranges::stable_sort(ordered, {}, [](const auto& one) {
    return std::pair(one.second.submit, std::string_view(one.first));
  });
  std::vector<TraceRow> rows;
  rows.reserve(ordered.size());
  for (auto& [name, row] : ordered) {
    rows.push_back(std::move(row));
  }
  trace.csv = trace_text(rows);
  return trace;
}

}  // namespace athanor::views
