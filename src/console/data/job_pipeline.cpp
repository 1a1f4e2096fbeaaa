// SPDX-License-Identifier: Apache-2.0
#include "console/data/job_pipeline.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "console/data/row_texts.hpp"
#include "kube/text/json.hpp"
#include "kube/value/condition.hpp"
#include "views/comparison.hpp"
#include "views/job_labels.hpp"

namespace athanor::console {
namespace {

const Value& succeeded(const Object& run) {
  return find_condition(run.status()["conditions"], "Succeeded");
}

// The words of docs/spec/dashboard.md A5.
std::string state_of_run(const Object& run) {
  const Value& condition = succeeded(run);
  const std::string_view reason = condition["reason"].as_string();
  const std::string_view status = condition["status"].as_string();
  if (reason == "TaskRunCancelled" || reason == "Cancelled") {
    return "Cancelled";
  }
  if (status == "True") {
    return "Succeeded";
  }
  if (status == "False") {
    return "Failed";
  }
  return reason == "Running" || reason == "Started" ? "Running" : "Pending";
}

Value named_values(const Value& list) {
  Value out = Value::list();
  for (const Value& one : list.items()) {
    const Value& value = one["value"];
    out.push_back(Value::object(
        {{"name", one["name"]}, {"value", value.is_string() ? value : Value(json::print(value))}}));
  }
  return out;
}

Value step_value(const Value& step) {
  const Value& ended = step["terminated"];
  Value one = Value::object({{"name", step["name"]}, {"container", step["container"]}});
  if (ended.is_object()) {
    const std::int64_t code = ended["exitCode"].as_int();
    one.set("state", code == 0 ? "Succeeded" : "Failed");
    one.set("exitCode", code);
    set_text(one, "started", ended["startedAt"].as_string());
    set_text(one, "completed", ended["finishedAt"].as_string());
    set_text(one, "reason", ended["reason"].as_string());
  } else if (step["running"].is_object()) {
    one.set("state", "Running");
    set_text(one, "started", step["running"]["startedAt"].as_string());
  } else {
    one.set("state", "Pending");
    set_text(one, "reason", step["waiting"]["reason"].as_string());
  }
  return one;
}

// Tasks that a task's parameters read, and those of runAfter.
Value needs_of(const Value& task) {
  std::set<std::string> names;
  for (const Value& after : task["runAfter"].items()) {
    names.insert(after.str());
  }
  const std::string text = json::print(task);
  constexpr std::string_view kReference = "$(tasks.";
  for (std::size_t at = text.find(kReference); at != std::string::npos;
       at = text.find(kReference, at + 1)) {
    const std::size_t begin = at + kReference.size();
    names.insert(text.substr(begin, text.find('.', begin) - begin));
  }
  Value list = Value::list();
  for (const std::string& name : names) {
    list.push_back(name);
  }
  return list;
}

void fill_task(Value& one, const Object& run) {
  one.set("taskRun", run.name());
  one.set("state", state_of_run(run));
  set_text(one, "reason", succeeded(run)["reason"].as_string());
  set_text(one, "message", succeeded(run)["message"].as_string());
  set_text(one, "started", run.status()["startTime"].as_string());
  set_text(one, "completed", run.status()["completionTime"].as_string());
  set_text(one, "pod", run.status()["podName"].as_string());
  one.set("retries", run.status()["retriesStatus"].size());
  one.set("results", named_values(run.status()["results"]));
  Value steps = Value::list();
  for (const Value& step : run.status()["steps"].items()) {
    steps.push_back(step_value(step));
  }
  one.set("steps", std::move(steps));
}

// The texts of a row; null where a job has none.
Value cell_texts(const views::Comparison::Row& row) {
  Value texts = Value::list();
  for (const views::Comparison::Cell& cell : row.cells) {
    texts.push_back(cell.text.empty() ? Value() : Value(cell.text));
  }
  return texts;
}

}  // namespace

Value pipeline_value(const JobPipeline& pipeline) {
  Value page = Value::object({{"tasks", Value::list()}});
  if (!pipeline.run) {
    page.set("run", "");
    return page;
  }
  const Object& run = *pipeline.run;
  page.set("run", run.name());
  page.set("state", state_of_run(run));
  set_text(page, "started", run.status()["startTime"].as_string());
  set_text(page, "completed", run.status()["completionTime"].as_string());
  page.set("parameters", named_values(run.spec()["params"]));
  page.set("results", named_values(run.status()["results"]));
  std::map<std::string, const Object*, std::less<>> runs;
  for (const Object& task : pipeline.tasks) {
    runs.emplace(task.label(views::kPipelineTaskLabel), &task);
  }
  std::map<std::string, std::string, std::less<>> skipped;
  for (const Value& one : run.status()["skippedTasks"].items()) {
    skipped.emplace(one["name"].str(), one["reason"].str());
  }
  const Value& spec = run.status()["pipelineSpec"].is_object() ? run.status()["pipelineSpec"]
                                                               : run.spec()["pipelineSpec"];
  Value tasks = Value::list();
  for (const char* part : {"tasks", "finally"}) {
    for (const Value& task : spec[std::string_view(part)].items()) {
      const std::string name = task["name"].str();
      Value one = Value::object({{"name", name},
                                 {"state", "Pending"},
                                 {"after", needs_of(task)},
                                 {"finally", std::string_view(part) == "finally"},
                                 {"retries", 0},
                                 {"results", Value::list()},
                                 {"steps", Value::list()}});
      if (const auto found = runs.find(name); found != runs.end()) {
        fill_task(one, *found->second);
        runs.erase(found);
      } else if (const auto why = skipped.find(name); why != skipped.end()) {
        one.set("state", "Skipped");
        set_text(one, "reason", why->second);
      }
      tasks.push_back(std::move(one));
    }
  }
  for (const auto& [name, task] : runs) {  // of a pipeline whose specification is not known
    Value one = Value::object({{"name", name.empty() ? task->name() : std::string_view(name)},
                               {"after", Value::list()},
                               {"finally", false}});
    fill_task(one, *task);
    tasks.push_back(std::move(one));
  }
  page.set("tasks", std::move(tasks));
  return page;
}

std::string failed_container(const Value& task) {
  for (const Value& step : task["steps"].items()) {
    if (step["state"].as_string() == "Failed") {
      return step["container"].str();
    }
  }
  return {};
}

Value lines_value(std::string_view text) {
  Value lines = Value::list();
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

Value comparison_of(const std::vector<Object>& jobs, const std::vector<JobPipeline>& runs,
                    Instant now) {
  std::vector<views::JobRecord> records;
  records.reserve(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    records.push_back({.job = jobs[i], .run = runs[i].run, .task_runs = runs[i].tasks});
  }
  const views::Comparison compared =
      views::compare_jobs(records, views::Parameters::Different, now);
  Value spec = Value::list();
  for (const views::Comparison::Row& row : compared.parameters) {
    spec.push_back(Value::object({{"path", row.name}, {"values", cell_texts(row)}}));
  }
  Value tasks = Value::list();
  for (const views::Comparison::Row& row : compared.durations) {
    Value seconds = Value::list();
    for (const views::Comparison::Cell& cell : row.cells) {
      seconds.push_back(cell.number ? Value(*cell.number) : Value());
    }
    tasks.push_back(Value::object({{"name", row.name}, {"seconds", std::move(seconds)}}));
  }
  Value results = Value::list();
  for (const views::Comparison::Row& row : compared.results) {
    Value one = Value::object({{"name", row.name}, {"values", cell_texts(row)}});
    if (const auto& percent = row.cells.back().percent) {
      one.set("differencePercent", *percent);
    }
    results.push_back(std::move(one));
  }
  return Value::object(
      {{"spec", std::move(spec)}, {"tasks", std::move(tasks)}, {"results", std::move(results)}});
}

std::string field_of_message(std::string_view message) {
  for (const std::string_view root : {"spec.", "metadata."}) {
    const std::size_t at = message.find(root);
    if (at != std::string_view::npos) {
      const std::size_t end = message.find_first_of(": \",", at);
      return std::string(message.substr(at, end == std::string_view::npos ? end : end - at));
    }
  }
  return {};
}

}  // namespace athanor::console
