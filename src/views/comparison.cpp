// SPDX-License-Identifier: Apache-2.0
#include "views/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>

#include "kube/text/json.hpp"
#include "views/job_labels.hpp"
#include "views/job_view.hpp"
#include "views/table.hpp"

namespace athanor::views {
namespace {

constexpr double kPercent = 100.0;
// Kubernetes' times are whole seconds: the length of a run may be off by nearly one.
constexpr double kSlackSeconds = 1.0;
// A percentage needs a base that is known to a tenth.
constexpr double kLeastOverSlack = 10.0;

std::string text_of(const Value& value) {
  return value.is_string() ? value.str() : json::print(value);
}

using Visit = std::function<void(const std::string& path, std::string text)>;

// Every scalar and every list below a value, with its path: "forge.configOverrides.batch_size".
void walk(const Value& value, const std::string& path, const Visit& visit) {
  if (!value.is_object()) {
    if (!path.empty()) {
      visit(path, text_of(value));
    }
    return;
  }
  for (const Member& member : value.members()) {
    walk(member.value,
         path.empty() ? std::string(member.key()) : fmt::format("{}.{}", path, member.key()),
         visit);
  }
}

std::string task_of(const Object& run) {
  const std::string_view task = run.label(kPipelineTaskLabel);
  return std::string(task.empty() ? run.name() : task);
}

void add_result(std::vector<JobResult>& results, const std::string& task, const Value& result) {
  const std::string name = result["name"].str();
  Value value = result["value"];
  if (value.is_string()) {
    if (auto parsed = json::parse(value.as_string()); parsed.ok() && parsed->is_object()) {
      value = *std::move(parsed);
    }
  }
  walk(Value::object({{name, value}}), "", [&](const std::string& path, std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
      text.pop_back();  // a script's `echo` ends its line
    }
    results.push_back({.task = task, .name = path, .value = std::move(text)});
  });
}

// Finds or adds the row of a name; rows stay in the order in which names came.
Comparison::Row& row_of(std::vector<Comparison::Row>& rows, const std::string& name,
                        std::size_t jobs) {
  auto found = std::ranges::find(rows, name, &Comparison::Row::name);
  if (found == rows.end()) {
    rows.push_back({.name = name, .cells = std::vector<Comparison::Cell>(jobs)});
    found = rows.end() - 1;
  }
  return *found;
}

void add_duration(std::vector<Comparison::Row>& rows, const std::string& name, std::size_t job,
                  std::size_t jobs, Duration lasted) {
  Comparison::Cell& cell = row_of(rows, name, jobs).cells[job];
  const double seconds = std::chrono::duration<double>(lasted).count();
  // The runs of a task that ran again count together.
  cell.number = cell.number.value_or(0) + seconds;
  cell.slack += kSlackSeconds;
  cell.text = *cell.number < kSlackSeconds ? "<1s"
                                           : format_age(std::chrono::duration_cast<Duration>(
                                                 std::chrono::duration<double>(*cell.number)));
}

// Adds the steps of a task that has several: a single one lasts as long as its task.
void add_steps(Comparison& comparison, const Object& run, std::size_t job, std::size_t jobs) {
  const Value& steps = run.status()["steps"];
  for (const Value& step : steps.items()) {
    const auto began = parse_time(step["terminated"]["startedAt"].as_string());
    const auto ended = parse_time(step["terminated"]["finishedAt"].as_string());
    if (steps.size() > 1 && began && ended && *ended >= *began) {
      add_duration(comparison.durations,
                   fmt::format("{}/{}", task_of(run), step["name"].as_string()), job, jobs,
                   *ended - *began);
    }
  }
}

void add_durations(Comparison& comparison, const JobRecord& record, std::size_t job,
                   std::size_t jobs, Instant now) {
  std::vector<Object> runs = record.task_runs;
  std::ranges::stable_sort(runs, {}, [](const Object& run) {
    return std::pair(run.status()["startTime"].str(), std::string(run.name()));
  });
  for (const Object& run : runs) {
    const auto began = parse_time(run.status()["startTime"].as_string());
    const auto ended = parse_time(run.status()["completionTime"].as_string());
    if (began && ended.value_or(now) >= *began) {
      add_duration(comparison.durations, task_of(run), job, jobs, ended.value_or(now) - *began);
      add_steps(comparison, run, job, jobs);
    }
  }
}

// Sets the difference from the first cell where the numbers are known well enough for one.
void set_percents(std::vector<Comparison::Row>& rows) {
  for (Comparison::Row& row : rows) {
    const Comparison::Cell& base = row.cells.front();
    for (std::size_t i = 1; i < row.cells.size(); ++i) {
      Comparison::Cell& cell = row.cells[i];
      if (!base.number || !cell.number) {
        continue;
      }
      const bool known = *base.number >= kLeastOverSlack * base.slack && *cell.number >= cell.slack;
      if ((base.slack > 0 || cell.slack > 0) && !known) {
        continue;
      }
      if (*base.number != 0) {
        cell.percent = (*cell.number - *base.number) / std::abs(*base.number) * kPercent;
      } else if (*cell.number == 0) {
        cell.percent = 0;
      }
    }
  }
}

// Returns true for numbers whose difference has no percentage.
bool lacks_percent(const Comparison::Row& row, const Comparison::Cell& cell) {
  return &cell != &row.cells.front() && row.cells.front().number && cell.number && !cell.percent;
}

std::string percent_text(double percent) {
  return fmt::format("{:+.1f}%", std::abs(percent) < 0.05 ? 0.0 : percent);
}

void add_table(std::string& text, const Comparison& comparison, const char* title,
               const std::vector<Comparison::Row>& rows, std::size_t columns) {
  if (rows.empty()) {
    return;
  }
  std::vector<std::string> header{title};
  header.insert(header.end(), comparison.jobs.begin(), comparison.jobs.end());
  Table table(std::move(header));
  for (const Comparison::Row& row : rows) {
    std::vector<std::string> cells{row.name};
    for (const Comparison::Cell& cell : row.cells) {
      std::string shown = cell.text.empty() ? "-" : cell.text;
      if (cell.percent) {
        shown += fmt::format(" ({})", percent_text(*cell.percent));
      } else if (lacks_percent(row, cell)) {
        shown += " (n/a)";
      }
      cells.push_back(std::move(shown));
    }
    table.add(std::move(cells));
  }
  text += (text.empty() ? "" : "\n") + table.text(columns);
}

Value rows_value(const std::vector<Comparison::Row>& rows) {
  Value list = Value::list();
  for (const Comparison::Row& row : rows) {
    Value cells = Value::list();
    for (const Comparison::Cell& cell : row.cells) {
      Value one = Value::object({{"text", cell.text}});
      if (cell.number) {
        one.set("number", *cell.number);
      }
      if (cell.percent) {
        one.set("percent", *cell.percent);
      }
      cells.push_back(std::move(one));
    }
    list.push_back(Value::object({{"name", row.name}, {"cells", std::move(cells)}}));
  }
  return list;
}

}  // namespace

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size() || !std::isfinite(number)) {
    return std::nullopt;
  }
  return number;
}

std::vector<JobResult> results_of(const JobRecord& record) {
  std::vector<JobResult> results;
  if (record.run) {
    for (const Value& result : record.run->status()["results"].items()) {
      add_result(results, "", result);
    }
  }
  std::vector<JobResult> of_tasks;
  for (const Object& run : record.task_runs) {
    for (const Value& result : run.status()["results"].items()) {
      add_result(of_tasks, task_of(run), result);
    }
  }
  for (JobResult& result : of_tasks) {
    const bool repeated = std::ranges::any_of(results, [&](const JobResult& one) {
      return one.task.empty() && one.value == result.value &&
             (one.name == result.name || one.name.ends_with(result.name));
    });
    if (!repeated) {
      results.push_back(std::move(result));
    }
  }
  return results;
}

Comparison compare_jobs(const std::vector<JobRecord>& records, Parameters parameters, Instant now) {
  Comparison comparison;
  const std::size_t jobs = records.size();
  for (std::size_t i = 0; i < jobs; ++i) {
    const JobRecord& record = records[i];
    comparison.jobs.emplace_back(record.job.name());
    comparison.phases.push_back(record.job.status()["phase"].str());
    walk(record.job.spec(), "", [&](const std::string& path, std::string text) {
      row_of(comparison.parameters, path, jobs).cells[i].text = std::move(text);
    });
    const std::string cluster = record.job.status()["cluster"].str();
    if (!cluster.empty()) {
      row_of(comparison.parameters, "status.cluster", jobs).cells[i].text = cluster;
    }
    add_durations(comparison, record, i, jobs, now);
    for (const JobResult& result : results_of(record)) {
      Comparison::Cell& cell =
          row_of(comparison.results,
                 result.task.empty() ? result.name : result.task + ": " + result.name, jobs)
              .cells[i];
      cell.text = result.value;
      cell.number = number_of(result.value);
    }
  }
  for (std::size_t i = 0; i < jobs; ++i) {
    if (const auto lasted = duration_of_job(records[i].job, now)) {
      add_duration(comparison.durations, "the whole run", i, jobs, *lasted);
    }
  }
  if (parameters == Parameters::Different) {
    std::erase_if(comparison.parameters, [](const Comparison::Row& row) {
      return std::ranges::all_of(row.cells, [&](const Comparison::Cell& cell) {
        return cell.text == row.cells.front().text;
      });
    });
  }
  set_percents(comparison.durations);
  set_percents(comparison.results);
  return comparison;
}

Value Comparison::to_value() const {
  Value names = Value::list();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    names.push_back(Value::object({{"name", jobs[i]}, {"phase", phases[i]}}));
  }
  return Value::object({{"jobs", std::move(names)},
                        {"parameters", rows_value(parameters)},
                        {"durations", rows_value(durations)},
                        {"results", rows_value(results)}});
}

std::string Comparison::text(std::size_t columns) const {
  std::string text;
  Row states{.name = "phase"};
  for (const std::string& phase : phases) {
    states.cells.push_back({.text = phase});
  }
  std::vector<Row> shown{std::move(states)};
  shown.insert(shown.end(), parameters.begin(), parameters.end());
  add_table(text, *this, "PARAMETER", shown, columns);
  add_table(text, *this, "DURATION", durations, columns);
  if (std::ranges::any_of(durations, [](const Row& row) {
        return std::ranges::any_of(row.cells,
                                   [&](const Cell& cell) { return lacks_percent(row, cell); });
      })) {
    text += "n/a: times are whole seconds, too coarse for a percentage of less than 10s\n";
  }
  add_table(text, *this, "RESULT", results, columns);
  return text;
}

}  // namespace athanor::views
