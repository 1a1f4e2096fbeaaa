// SPDX-License-Identifier: Apache-2.0
// athanor simulate: a trace on a fleet in virtual time, or on two beside each other.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "base/mutex.hpp"
#include "cli/jobs/job_files.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/verbs.hpp"
#include "cli/simulate/fleet_play.hpp"
#include "cli/simulate/simulate_slices.hpp"
#include "console/pages/page_files.hpp"
#include "console/pages/report_page.hpp"
#include "kube/text/json.hpp"
#include "simulation/whatif/report.hpp"
#include "simulation/whatif/synthetic.hpp"
#include "views/table.hpp"

namespace athanor::cli {
namespace {

Result<std::string> read_input(const std::string& name) {
  auto text = read_manifest(name);
  if (!text.ok()) {
    return Error::not_found(
        fmt::format("{}: cannot be read; give the path of an existing file", name));
  }
  return text;
}

Result<lab::Lab> read_fleet(const std::string& name) {
  ATHANOR_TRY(const std::string text, read_input(name));
  ATHANOR_TRY(lab::Lab fleet, lab::parse_lab(text, name));
  if (fleet.clusters.empty()) {
    return Error::bad_request(fmt::format(
        "{}:1: no cluster; list under \"clusters:\" each cluster's name and quota", name));
  }
  return fleet;
}

struct Fleet {
  std::string name{};
  lab::Lab lab{};
};

// One line on the terminal of standard error: how far the play on each fleet is. Thread-safe.
class ProgressLine {
 public:
  explicit ProgressLine(std::size_t jobs) : jobs_(jobs) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() {
    const MutexLock lock(mutex_);
    if (!reached_.empty()) {
      terminal_.print("\r\x1b[K");
    }
  }

  [[nodiscard]] bool is_shown() const { return terminal_.interactive(); }

  void show(const std::string& fleet, Duration passed, std::size_t ended) {
    const MutexLock lock(mutex_);
    reached_.insert_or_assign(
        fleet, fmt::format("{}: {} of {} jobs, {} of virtual time", fleet, ended, jobs_,
                           whatif::short_time(std::chrono::duration<double>(passed).count())));
    std::string line;
    for (const auto& [name, text] : reached_) {
      line += (line.empty() ? "" : "; ") + text;
    }
    // A line that wraps could not be written over. The last column stays free.
    if (const std::size_t columns = terminal_.columns(); columns > 1 && line.size() >= columns) {
      line.resize(columns - 1);
    }
    terminal_.print("\r" + line + "\x1b[K");
  }

 private:
  const std::size_t jobs_;
  Mutex mutex_{};
  const Terminal terminal_{STDERR_FILENO};
  std::map<std::string, std::string> reached_ ATHANOR_GUARDED_BY(mutex_){};  // by fleet
};

// Plays on a fleet.
Result<whatif::Report> play_on(const whatif::Trace& trace, const Fleet& fleet,
                               const SimulateOptions& options, ProgressLine& line) {
  FleetPlay play{.seed = options.seed};
  if (line.is_shown()) {
    play.progress = [&](Duration passed, std::size_t ended) {
      line.show(fleet.name, passed, ended);
    };
  }
  ATHANOR_TRY(const whatif::Played played, play_trace(trace, fleet.lab, std::move(play)));
  return whatif::make_report(trace, fleet.lab, played, fleet.name);
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

using Groups = std::map<std::string, whatif::Waiting> whatif::Report::*;

void add_waiting(views::Table& table, const std::string& fleet, const std::string& name,
                 const whatif::Waiting& waiting) {
  table.add({name, fleet, std::to_string(waiting.jobs), whatif::short_time(waiting.mean),
             whatif::short_time(waiting.p50), whatif::short_time(waiting.p90),
             whatif::short_time(waiting.p95), whatif::short_time(waiting.p99),
             whatif::short_time(waiting.most)});
}

std::string waiting_table(const std::vector<whatif::Report>& reports, Groups groups,
                          const char* what) {
  views::Table table({what, "FLEET", "JOBS", "MEAN", "P50", "P90", "P95", "P99", "MAX"});
  std::set<std::string> names;
  for (const whatif::Report& report : reports) {
    for (const auto& [name, waiting] : report.*groups) {
      names.insert(name);
    }
  }
  for (const std::string& name : names) {
    for (const whatif::Report& report : reports) {
      const auto at = (report.*groups).find(name);
      if (at != (report.*groups).end()) {
        add_waiting(table, report.fleet, name, at->second);
      }
    }
  }
  for (const whatif::Report& report : reports) {
    add_waiting(table, report.fleet, "(all)", report.all);
  }
  return table.text();
}

std::string summary(const std::vector<whatif::Report>& reports) {
  views::Table jobs({"FLEET", "JOBS", "SUCCEEDED", "FAILED", "EVICTIONS", "TOOK"});
  views::Table usage({"GPU TYPE", "FLEET", "GPUS", "MEAN IN USE", "MOST IN USE"});
  for (const whatif::Report& report : reports) {
    jobs.add({report.fleet, std::to_string(report.jobs), std::to_string(report.succeeded),
              std::to_string(report.failed), std::to_string(report.evictions),
              whatif::short_time(report.hours * 3600)});
    for (const auto& [type, used] : report.usage) {
      usage.add({type, report.fleet, std::to_string(used.capacity), percent(used.mean),
                 percent(used.most)});
    }
  }
  views::Table queue({"QUEUE", "FLEET", "MEAN", "MOST"});
  for (const whatif::Report& report : reports) {
    double mean = 0;
    double most = 0;
    for (const whatif::Stretch& stretch : report.over_time) {
      mean += stretch.queued / static_cast<double>(report.over_time.size());
      most = std::max(most, stretch.queued);
    }
    queue.add(
        {"jobs waiting", report.fleet, fmt::format("{:.1f}", mean), fmt::format("{:.1f}", most)});
  }
  return jobs.text() + "\n" + waiting_table(reports, &whatif::Report::by_owner, "WAIT BY OWNER") +
         "\n" + waiting_table(reports, &whatif::Report::by_gpu, "WAIT BY GPU") + "\n" +
         usage.text() + "\n" + queue.text();
}

Result<void> write_file(const std::string& name, const std::string& text) {
  std::ofstream file(name, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file.good()) {
    return Error::internal(
        fmt::format("{}: cannot be written; give a path in a folder that you may write to", name));
  }
  return {};
}

Result<void> generate(const SimulateOptions& options) {
  whatif::Synthetic wanted{.jobs = options.jobs, .days = options.days, .seed = options.seed};
  if (!options.fleet.empty()) {
    ATHANOR_TRY(const lab::Lab fleet, read_fleet(options.fleet));
    for (const auto& [type, gpus] : whatif::gpus_of(fleet)) {
      if (gpus > 0) {
        wanted.gpu_types[type] = static_cast<double>(gpus);
      }
    }
    for (const lab::Cluster& cluster : fleet.clusters) {
      wanted.clusters.push_back(cluster.name);
    }
  }
  Terminal(STDOUT_FILENO).print(whatif::to_csv(whatif::synthetic_trace(wanted)));
  return {};
}

Result<void> simulate(const SimulateOptions& options) {
  ATHANOR_TRY(const std::string text, read_input(options.trace));
  ATHANOR_TRY(const whatif::Trace trace, whatif::parse_trace(text, options.trace));
  std::vector<Fleet> fleets;
  for (const std::string& name : {options.fleet, options.what_if}) {
    if (!name.empty()) {
      ATHANOR_TRY(lab::Lab fleet, read_fleet(name));
      ATHANOR_TRY_VOID(whatif::check_fit(trace, fleet, name));
      fleets.push_back({.name = name, .lab = std::move(fleet)});
    }
  }
  std::optional<ProgressLine> line(std::in_place, trace.jobs.size());
  // Two worlds share nothing: each has a thread.
  std::optional<Result<whatif::Report>> second;
  std::jthread other;
  if (fleets.size() > 1) {
    other = std::jthread([&] { second = play_on(trace, fleets[1], options, *line); });
  }
  auto first = play_on(trace, fleets[0], options, *line);
  if (other.joinable()) {
    other.join();
  }
  line.reset();
  std::vector<whatif::Report> reports;
  ATHANOR_TRY(whatif::Report report, std::move(first));
  reports.push_back(std::move(report));
  if (second) {
    ATHANOR_TRY(whatif::Report beside, *std::move(second));
    reports.push_back(std::move(beside));
  }
  Value all = Value::list();
  for (const whatif::Report& one : reports) {
    all.push_back(whatif::to_value(one));
  }
  const Value answer = Value::object({{"trace", options.trace}, {"fleets", std::move(all)}});
  if (!options.html.empty()) {
    ATHANOR_TRY(const std::string page, console::report_page(console::embedded_pages(), answer));
    ATHANOR_TRY_VOID(write_file(options.html, page));
  }
  if (options.output == Output::Json) {
    Terminal(STDOUT_FILENO).print(json::print(answer, json::Style::Pretty) + "\n");
    return {};
  }
  Terminal(STDOUT_FILENO).print(summary(reports));
  if (!options.html.empty()) {
    Terminal(STDOUT_FILENO).print(fmt::format("\ncharts are in {}\n", options.html));
  }
  return {};
}

int misused(const char* what) {
  Terminal(STDERR_FILENO)
      .print(
          fmt::format("athanor: {}\n  athanor simulate TRACE --fleet FLEET [--what-if FLEET2]\n"
                      "  athanor simulate --generate [--jobs N] [--days N] [--fleet FLEET]\n"
                      "  athanor simulate --slices MIX|FILE [--model M] [--nodes N] [--gpus N]\n",
                      what));
  return 2;
}

}  // namespace

int run(const SimulateOptions& options) {
  if (const std::string_view wrong = misuse_of_slices(options); !wrong.empty()) {
    return misused(wrong.data());
  }
  if (!options.slices.empty()) {
    const auto done = simulate_slices(options);
    return done.ok() ? 0 : fail(done.error());
  }
  if (options.generate) {
    const auto done = generate(options);
    return done.ok() ? 0 : fail(done.error());
  }
  if (options.trace.empty() || options.fleet.empty()) {
    return misused(options.trace.empty() ? "simulate needs a trace" : "simulate needs --fleet");
  }
  const auto done = simulate(options);
  return done.ok() ? 0 : fail(done.error());
}

}  // namespace athanor::cli
