// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate/fleet_question.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "cli/simulate/fleet_play.hpp"
#include "embedded/lab/file/lab_file.hpp"
#include "kube/text/json.hpp"
#include "simulation/whatif/report.hpp"

namespace athanor::cli {
namespace {

constexpr const char* kTraceName = "trace";
constexpr std::size_t kFirstLine = 2;  // of a trace, below its header

// One side as read: what the command line reads from two files.
struct ReadSide {
  std::string name{};
  whatif::Trace trace{};
  lab::Lab fleet{};
  std::size_t rows = 0;
};

Result<ReadSide> read_side(const console::SimulatorCall& call, const console::SimulatedSide& side) {
  std::vector<views::TraceRow> rows = call.jobs;
  std::ranges::copy(side.jobs, std::back_inserter(rows));
  ReadSide read{.name = side.name, .rows = rows.size()};
  if (!rows.empty()) {
    ATHANOR_TRY(read.trace, whatif::parse_trace(views::trace_text(rows), kTraceName));
  }
  // JSON is YAML.
  ATHANOR_TRY(read.fleet, lab::parse_lab(json::print(side.fleet), side.name));
  if (read.fleet.clusters.empty()) {
    return Error::bad_request("no queue of the jobs has quota of a cluster");
  }
  return read;
}

std::size_t row_of(const whatif::Submission& job) {
  return job.line - kFirstLine;
}

// Finds the jobs of all sides that cannot run on one of the fleets: why, by row.
Result<std::map<std::size_t, std::string>> misfits(const console::SimulatorCall& call,
                                                   const std::vector<ReadSide>& sides) {
  std::map<std::size_t, std::string> found;
  for (const ReadSide& side : sides) {
    for (const whatif::Submission& job : side.trace.jobs) {
      std::string why = whatif::misfit(job, side.fleet, "the fleet");
      if (!why.empty() && row_of(job) >= call.jobs.size()) {
        return Error::bad_request(std::move(why));
      }
      if (!why.empty()) {
        found.emplace(row_of(job), std::move(why));
      }
    }
  }
  return found;
}

console::SimulatedResult result_of(const ReadSide& side, const whatif::Played& played) {
  console::SimulatedResult result{
      .report = whatif::to_value(whatif::make_report(side.trace, side.fleet, played, side.name))};
  result.waits.resize(side.rows);
  for (const whatif::Run& run : played.runs) {
    const whatif::Submission& job = side.trace.jobs[run.job];
    if (!run.holds.empty()) {
      const Duration wait = run.holds.front().from - played.start - job.submit;
      result.waits[row_of(job)] = std::max(0.0, std::chrono::duration<double>(wait).count());
    }
  }
  return result;
}

}  // namespace

Result<console::Simulated> answer_question(const console::SimulatorCall& call) {
  const auto clock = wall_clock();
  const Instant end = clock->now() + call.patience;
  std::vector<ReadSide> sides;
  for (const console::SimulatedSide& side : call.sides) {
    ATHANOR_TRY(ReadSide read, read_side(call, side));
    sides.push_back(std::move(read));
  }
  ATHANOR_TRY(const auto left_out, misfits(call, sides));
  console::Simulated answer;
  for (const auto& [row, why] : left_out) {
    answer.left_out.push_back(why);
  }
  for (ReadSide& side : sides) {
    std::erase_if(side.trace.jobs,
                  [&](const whatif::Submission& job) { return left_out.contains(row_of(job)); });
    ATHANOR_TRY(
        const whatif::Played played,
        play_trace(side.trace, side.fleet, {.is_over_time = [&] { return clock->now() >= end; }}));
    answer.sides.push_back(result_of(side, played));
  }
  return answer;
}

}  // namespace athanor::cli
