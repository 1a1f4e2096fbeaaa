// SPDX-License-Identifier: Apache-2.0
// From runs to figures.
#include "simulation/whatif/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace athanor::whatif {

namespace {

double seconds_of(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// The nearest rank.
double percentile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) {
    return 0;
  }
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

Waiting waiting_of(std::vector<double> waits) {
  std::sort(waits.begin(), waits.end());
  Waiting waiting{.jobs = waits.size(),
                  .p50 = percentile(waits, 0.5),
                  .p90 = percentile(waits, 0.9),
                  .p95 = percentile(waits, 0.95),
                  .p99 = percentile(waits, 0.99),
                  .most = waits.empty() ? 0 : waits.back()};
  for (const double wait : waits) {
    waiting.mean += wait / static_cast<double>(waits.size());
  }
  return waiting;
}

// Something that goes up and down at instants, averaged over stretches.
class Level {
 public:
  void change(double at, double by) { changes_.emplace_back(at, by); }

  struct Averages {
    std::vector<double> stretches{};
    double mean = 0;
    double most = 0;
  };
  Averages over(double length, std::size_t count) {
    std::stable_sort(changes_.begin(), changes_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    Averages averages{.stretches = std::vector<double>(count, 0.0)};
    const double width = length / static_cast<double>(count);
    double level = 0;
    double from = 0;
    // What lasts no time at all (one job's end and another's start at one instant) is no level.
    const auto add = [&](double until) {
      if (until > from) {
        averages.most = std::max(averages.most, level);
      }
      averages.mean += level * (until - from) / length;
      while (from < until) {
        const auto index = std::min(count - 1, static_cast<std::size_t>(from / width));
        const double edge =
            index + 1 == count ? until : std::min(until, static_cast<double>(index + 1) * width);
        averages.stretches[index] += level * (edge - from) / width;
        from = edge > from ? edge : until;
      }
      from = until;
    };
    for (const auto& [at, by] : changes_) {
      add(std::clamp(at, from, length));
      level += by;
    }
    add(length);
    return averages;
  }

 private:
  std::vector<std::pair<double, double>> changes_{};
};

// The message without the job's own name, so that equal failures count together.
std::string without_name(std::string message) {
  constexpr std::size_t kLength = 11;  // "job-0000000"
  for (auto at = message.find("job-0"); at != std::string::npos; at = message.find("job-0")) {
    message.replace(at, kLength, "JOB");
  }
  return message;
}

// Returns the number of stretches that ended before the job did.
std::size_t evictions_of(const Run& run) {
  return static_cast<std::size_t>(std::ranges::count_if(
      run.holds, [&](const Hold& hold) { return hold.until && hold.until != run.ended; }));
}

Value waiting_value(const Waiting& waiting) {
  return Value::object({{"jobs", waiting.jobs},
                        {"meanSeconds", std::round(waiting.mean)},
                        {"p50Seconds", std::round(waiting.p50)},
                        {"p90Seconds", std::round(waiting.p90)},
                        {"p95Seconds", std::round(waiting.p95)},
                        {"p99Seconds", std::round(waiting.p99)},
                        {"maxSeconds", std::round(waiting.most)}});
}

Value waiting_values(const std::map<std::string, Waiting>& all) {
  Value out = Value::object();
  for (const auto& [name, waiting] : all) {
    out.set(name, waiting_value(waiting));
  }
  return out;
}

Value count_values(const std::map<std::string_view, std::uint64_t>& counts) {
  Value out = Value::object();
  for (const auto& [name, count] : counts) {
    out.set(name, count);
  }
  return out;
}

double rounded(double value) {
  constexpr double kPlaces = 1000;
  return std::round(value * kPlaces) / kPlaces;
}

// Fills the courses over time: of the queue, and of each type's GPUs.
void add_courses(const lab::Lab& fleet, Level& queue, std::map<std::string, Level>& busy,
                 double length, Report& report) {
  const std::size_t stretches = report.over_time.size();
  const Level::Averages queued = queue.over(length, stretches);
  for (std::size_t i = 0; i < stretches; ++i) {
    report.over_time[i].hours =
        (static_cast<double>(i) + 0.5) * report.hours / static_cast<double>(stretches);
    report.over_time[i].queued = queued.stretches[i];
  }
  for (const auto& [type, capacity] : gpus_of(fleet)) {
    if (capacity == 0) {
      continue;
    }
    const auto share = static_cast<double>(capacity);
    const Level::Averages used = busy[type].over(length, stretches);
    report.usage[type] = {
        .capacity = capacity, .mean = used.mean / share, .most = used.most / share};
    for (std::size_t i = 0; i < stretches; ++i) {
      report.over_time[i].busy[type] = used.stretches[i] / share;
    }
  }
}

}  // namespace

Report make_report(const Trace& trace, const lab::Lab& fleet, const Played& played,
                   std::string fleet_name, std::size_t stretches) {
  Report report{.fleet = std::move(fleet_name),
                .jobs = trace.jobs.size(),
                .reconciles = played.reconciles_of,
                .writes = played.writes_of};
  const double length = std::max(1.0, seconds_of(played.end - played.start));
  report.hours = length / 3600;
  std::vector<double> all;
  std::map<std::string, std::vector<double>> by_owner;
  std::map<std::string, std::vector<double>> by_gpu;
  Level queue;
  std::map<std::string, Level> busy;
  for (const Run& run : played.runs) {
    const Submission& job = trace.jobs[run.job];
    (run.succeeded ? report.succeeded : run.ended ? report.failed : report.unfinished) += 1;
    if (run.ended && !run.succeeded) {
      ++report.failures[without_name(run.message)];
    }
    const double ended = run.ended ? seconds_of(*run.ended - played.start) : length;
    double free = seconds_of(job.submit);  // since when the job waits
    double wait = 0;
    for (const Hold& hold : run.holds) {
      const double from = seconds_of(hold.from - played.start);
      const double until = hold.until ? seconds_of(*hold.until - played.start) : length;
      queue.change(free, 1);
      queue.change(from, -1);
      wait += std::max(0.0, from - free);
      if (!job.gpu_type.empty()) {
        busy[job.gpu_type].change(from, static_cast<double>(job.gpus));
        busy[job.gpu_type].change(until, -static_cast<double>(job.gpus));
      }
      free = until;
    }
    if (free < ended) {  // never admitted, or evicted for good
      queue.change(free, 1);
      queue.change(ended, -1);
      wait += ended - free;
    }
    if (run.holds.empty()) {
      continue;
    }
    report.evictions += evictions_of(run);
    all.push_back(wait);
    by_owner[job.owner].push_back(wait);
    by_gpu[job.gpu_type.empty() ? "none" : job.gpu_type].push_back(wait);
  }
  report.all = waiting_of(std::move(all));
  for (auto& [owner, waits] : by_owner) {
    report.by_owner[owner] = waiting_of(std::move(waits));
  }
  for (auto& [type, waits] : by_gpu) {
    report.by_gpu[type] = waiting_of(std::move(waits));
  }
  report.over_time.resize(stretches);
  add_courses(fleet, queue, busy, length, report);
  return report;
}

Value to_value(const Report& report) {
  Value usage = Value::object();
  for (const auto& [type, used] : report.usage) {
    usage.set(type, Value::object({{"gpus", used.capacity},
                                   {"mean", rounded(used.mean)},
                                   {"max", rounded(used.most)}}));
  }
  Value over_time = Value::list();
  for (const Stretch& stretch : report.over_time) {
    Value busy = Value::object();
    for (const auto& [type, share] : stretch.busy) {
      busy.set(type, rounded(share));
    }
    over_time.push_back(Value::object({{"hours", rounded(stretch.hours)},
                                       {"queued", rounded(stretch.queued)},
                                       {"utilisation", std::move(busy)}}));
  }
  Value failures = Value::object();
  for (const auto& [message, count] : report.failures) {
    failures.set(message, count);
  }
  return Value::object({{"fleet", report.fleet},
                        {"jobs", report.jobs},
                        {"succeeded", report.succeeded},
                        {"failed", report.failed},
                        {"unfinished", report.unfinished},
                        {"evictions", report.evictions},
                        {"failures", std::move(failures)},
                        {"hours", rounded(report.hours)},
                        {"waiting", Value::object({{"all", waiting_value(report.all)},
                                                   {"byOwner", waiting_values(report.by_owner)},
                                                   {"byGpuType", waiting_values(report.by_gpu)}})},
                        {"utilisation", std::move(usage)},
                        {"overTime", std::move(over_time)},
                        {"work", Value::object({{"reconciles", count_values(report.reconciles)},
                                                {"writes", count_values(report.writes)}})}});
}

std::string short_time(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) {
    return fmt::format("{}s", whole);
  }
  const std::int64_t minutes = (whole + 30) / 60;
  if (minutes < 60) {
    return fmt::format("{}m", minutes);
  }
  constexpr std::int64_t kDay = 1440;
  if (minutes < kDay) {
    return fmt::format("{}h{:02}m", minutes / 60, minutes % 60);
  }
  return fmt::format("{}d{}h", minutes / kDay, minutes / 60 % 24);
}

}  // namespace athanor::whatif
