// SPDX-License-Identifier: Apache-2.0
#include "console/data/job_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "console/data/row_texts.hpp"
#include "kube/value/condition.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "views/job_labels.hpp"
#include "views/layout.hpp"
#include "views/reasons.hpp"

namespace athanor::console {
namespace {

constexpr std::string_view kScheduleLabel = "fournos-launcher/schedule-name";
constexpr std::string_view kTriggerLabel = "fournos-launcher/trigger-type";
constexpr std::string_view kTasksCompleted = "Tasks Completed: ";
constexpr std::size_t kMostMessage = 300;

std::int64_t number_after(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  std::int64_t number = 0;
  if (at != std::string_view::npos) {
    std::from_chars(text.data() + at + word.size(), text.data() + text.size(), number);
  }
  return number;
}

// The numbers in Tekton's message (docs/spec/dashboard.md A4, Progress).
void add_progress(Value& row, std::string_view message) {
  if (!message.starts_with(kTasksCompleted)) {
    return;
  }
  const std::int64_t done = number_after(message, kTasksCompleted);
  const std::int64_t total =
      done + number_after(message, "Incomplete: ") + number_after(message, "Skipped: ");
  row.set("progress", Value::object({{"done", done}, {"total", total}}));
}

std::string preset_of(const Value& forge) {
  std::string text;
  for (const Value& argument : forge["args"].items()) {
    text += (text.empty() ? "" : ", ") + argument.str();
  }
  return text.empty() && forge.is_object() ? "default" : text;
}

std::string trigger_of(const Object& job) {
  const std::string_view type = job.label(kTriggerLabel);
  return type.empty() ? "direct" : std::string(type);
}

void add_hardware(Value& row, const Value& hardware) {
  const std::int64_t count = hardware["gpuCount"].as_int();
  if (count <= 0) {
    return;
  }
  const std::string type = hardware["gpuType"].str();
  row.set("hardware", Value::object({{"gpuType", type},
                                     {"gpuCount", count},
                                     {"text", fmt::format("{}× {}", count, type)}}));
}

void add_links(Value& row, const Object& job) {
  Value links = Value::object();
  set_text(links, "mlflow",
           safe_link(job.status()
                         .at({"engineStatus", "forge", "exportArtifacts",
                              "caliper_artifacts_export", "backends", "mlflow", "run_url"})
                         .as_string()));
  set_text(links, "dashboard", safe_link(job.status()["dashboardURL"].as_string()));
  const Value& env = job.spec()["env"];
  const std::string_view pull = env["PULL_NUMBER"].as_string();
  if (!pull.empty()) {
    row.set("pullRequest", fmt::format("#{}", pull));
    if (!env["REPO_OWNER"].as_string().empty() && !env["REPO_NAME"].as_string().empty()) {
      set_text(
          links, "pullRequest",
          safe_link(fmt::format("https://github.com/{}/{}/pull/{}", env["REPO_OWNER"].as_string(),
                                env["REPO_NAME"].as_string(), pull)));
    }
  }
  if (!links.empty()) {
    row.set("links", std::move(links));
  }
}

// The task that runs now, or ran last.
void add_step(Value& row, const std::vector<const Object*>& runs) {
  const Object* running = nullptr;
  for (const Object* run : runs) {
    const bool over = run->status().contains("completionTime");
    const auto began = [](const Object* one) { return one->status()["startTime"].as_string(); };
    if (!over && !began(run).empty() && (running == nullptr || began(running) < began(run))) {
      running = run;
    }
  }
  if (running != nullptr) {
    const std::string_view task = running->label(views::kPipelineTaskLabel);
    row.set("step", task.empty() ? running->name() : task);
    row.set("stepSince", running->status()["startTime"]);
  }
}

std::string phase_of_job(const Object& job) {
  std::string phase = job.status()["phase"].str();
  return phase.empty() ? "Pending" : phase;
}

}  // namespace

const ListShape& job_shape() {
  using enum ColumnType;
  static const ListShape kShape{.name = "jobs",
                                .state = "phase",
                                .columns = {{"ns", Text},
                                            {"name", Text},
                                            {"uid", Text},
                                            {"resourceVersion", Text},
                                            {"archived", Flag},
                                            {"phase", Text},
                                            {"displayName", Text},
                                            {"project", Text},
                                            {"preset", Text},
                                            {"owner", Text},
                                            {"cluster", Text},
                                            {"requestedCluster", Text},
                                            {"hardware", Object},
                                            {"hardware.gpuType", Text},
                                            {"hardware.gpuCount", Number},
                                            {"hardware.text", Text},
                                            {"exclusive", Flag},
                                            {"lockOnly", Flag},
                                            {"priority", Text},
                                            {"pipeline", Text},
                                            {"queuePosition", Number},
                                            {"step", Text},
                                            {"stepSince", Time},
                                            {"progress", Object},
                                            {"progress.done", Number},
                                            {"progress.total", Number},
                                            {"message", Text},
                                            {"created", Time},
                                            {"started", Time},
                                            {"completed", Time},
                                            {"waitSeconds", Number},
                                            {"runSeconds", Number},
                                            {"trigger", Text},
                                            {"schedule", Text},
                                            {"labels", Object},
                                            {"links", Object},
                                            {"pullRequest", Text},
                                            {"shutdown", Text}},
                                .words = {{"gpu", "hardware.gpuType"},
                                          {"gpus", "hardware.gpuCount"},
                                          {"cluster", "requestedCluster"},
                                          {"namespace", "ns"}}};
  return kShape;
}

JobSurroundings job_surroundings(const Facts& facts) {
  JobSurroundings around;
  const std::vector<Object>& maps = facts.all(kQueueConfiguration);
  const views::Queues queues =
      views::queues_of(facts.all(api::kueue::kLocalQueue), facts.all(api::kueue::kClusterQueue),
                       maps.empty() ? Value() : maps.front().body());
  const std::vector<Object>& workloads = facts.all(api::kueue::kWorkload);
  around.queue = views::queue_entries(workloads, queues);
  for (const Object& workload : workloads) {
    if (condition_is(workload.status()["conditions"], "Finished", "True")) {
      around.finished.push_back(views::queue_entry(workload, queues));
    }
  }
  for (const views::QueueEntry& entry : around.queue) {
    const std::string ns(entry.workload.ns());
    if (const auto owner = entry.workload.controller(); owner && owner->kind == "FournosJob") {
      around.entries.emplace(Key{ns, owner->name}, &entry);
    } else if (const std::string_view job = entry.workload.label(views::kJobNameLabel);
               !job.empty()) {
      around.entries.emplace(Key{ns, std::string(job)}, &entry);
    }
  }
  const std::vector<Object>& runs = facts.all(api::kTaskRun);
  around.causes = views::failure_causes(runs);
  for (const Object& run : runs) {
    if (const std::string_view job = run.label(views::kJobNameLabel); !job.empty()) {
      around.task_runs[{std::string(run.ns()), std::string(job)}].push_back(&run);
    }
  }
  return around;
}

const Value& forge_of(const Object& job) {
  const Value& forge = job.spec()["executionEngine"]["forge"];
  return forge.is_object() ? forge : job.spec()["forge"];
}

Value job_row(const Object& job, const JobSurroundings& around) {
  Value row = row_of(job);
  const Value& spec = job.spec();
  const Value& status = job.status();
  const Value& forge = forge_of(job);
  const Key key = job.key();
  const std::string phase = phase_of_job(job);
  row.set("archived", false);
  row.set("phase", phase);
  set_text(row, "displayName", spec["displayName"].as_string());
  set_text(row, "project", forge["project"].as_string());
  set_text(row, "preset", preset_of(forge));
  set_text(row, "owner", spec["owner"].as_string());
  set_text(row, "cluster", status["cluster"].as_string());
  set_text(row, "requestedCluster", spec["cluster"].as_string());
  add_hardware(row, spec["hardware"]);
  row.set("exclusive", spec["exclusive"].as_bool());
  row.set("lockOnly", spec["lockOnly"].as_bool());
  set_text(row, "priority", spec["priority"].as_string());
  set_text(row, "pipeline", spec["pipeline"].as_string());
  std::string message = status["message"].str();
  if (const auto entry = around.entries.find(key);
      entry != around.entries.end() && !views::holds_quota(entry->second->state)) {
    if (entry->second->state == views::QueueState::Waiting) {
      row.set("queuePosition", entry->second->position);
    }
    message = entry->second->reason;
  } else if (const auto cause = around.causes.find(key);
             phase == "Failed" && cause != around.causes.end()) {
    message = cause->second;
  } else {
    add_progress(row, message);
    message = views::clear_reason(message);
  }
  set_text(row, "message", views::cut_text(message, kMostMessage));
  if (const auto runs = around.task_runs.find(key); runs != around.task_runs.end()) {
    add_step(row, runs->second);
  }
  const auto created = job.creation_time();
  const auto started = views::start_of_job(job);
  const auto ended = views::end_of_job(job);
  set_time(row, "started", started);
  set_time(row, "completed", ended);
  if (created && started) {
    row.set("waitSeconds", seconds_of(*started - *created));
  }
  if (started && ended && *ended >= *started) {
    row.set("runSeconds", seconds_of(*ended - *started));
  }
  row.set("trigger", trigger_of(job));
  set_text(row, "schedule", job.label(kScheduleLabel));
  if (!job.metadata()["labels"].empty()) {
    row.set("labels", job.metadata()["labels"]);
  }
  add_links(row, job);
  set_text(row, "shutdown", spec["shutdown"].as_string());
  return row;
}

void add_elapsed(Value& row, Instant now) {
  const auto created = parse_time(row["created"].as_string());
  const auto started = parse_time(row["started"].as_string());
  if (row.contains("completed") || row["archived"].as_bool() || !created) {
    return;
  }
  const auto since = [now](Instant from) { return seconds_of(std::max(now - from, Duration{})); };
  if (!started) {
    row.set("waitSeconds", since(*created));
  } else {
    row.set("runSeconds", since(*started));
  }
}

Value phase_list(const views::JobCourse& course, Instant now) {
  Value list = Value::list();
  for (const views::PhaseSpan& span : views::phase_spans(course)) {
    Value one = Value::object({{"phase", span.phase},
                               {"from", format_time(span.from)},
                               {"seconds", seconds_of(span.to.value_or(now) - span.from)}});
    set_time(one, "to", span.to);
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace athanor::console
