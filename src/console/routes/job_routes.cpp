// SPDX-License-Identifier: Apache-2.0
// Routes of jobs (docs/spec/dashboard.md B5).
#include <fmt/format.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "base/saturate.hpp"
#include "client/connection.hpp"
#include "console/data/accelerator_rows.hpp"
#include "console/data/cluster_rows.hpp"
#include "console/data/job_pipeline.hpp"
#include "console/data/job_rows.hpp"
#include "console/data/owner_tree.hpp"
#include "console/data/row_texts.hpp"
#include "console/routes/explaining.hpp"
#include "console/routes/job_changes.hpp"
#include "console/routes/route_table.hpp"
#include "console/world/cached_context.hpp"
#include "embedded/kueue/verb.hpp"
#include "kube/text/quantity.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/messages.hpp"
#include "views/describe.hpp"
#include "views/job_labels.hpp"

namespace athanor::console {
namespace {

using net::Response;

constexpr std::size_t kTailLines = 20;

Response list_jobs(Exchange& exchange) {
  const auto tables = exchange.services.board.tables();
  return answer_list(exchange, job_shape(), api::kFournosJob, tables->list("jobs"));
}

std::vector<Object> labelled(const Facts& facts, const Kind& kind, const Object& job) {
  std::vector<Object> objects;
  for (const Object& object : facts.all(kind)) {
    if (object.ns() == job.ns() && object.label(views::kJobNameLabel) == job.name()) {
      objects.push_back(object);
    }
  }
  return objects;
}

// Returns Workload, runs and pods of a job, those that the viewer may list.
std::vector<Object> children_of(Exchange& exchange, const Facts& facts, const Object& job) {
  const auto may_see = [&](const Kind& kind) {
    return exchange.services.access.may(exchange.viewer(), "list", kind, job.ns()).value_or(false);
  };
  std::vector<Object> children;
  if (may_see(api::kueue::kWorkload)) {
    for (const Object& workload : facts.all(api::kueue::kWorkload)) {
      if (workload.owned_by(job.uid()) ||
          (workload.ns() == job.ns() && workload.label(views::kJobNameLabel) == job.name())) {
        children.push_back(workload);
      }
    }
  }
  for (const Kind* kind : {&api::kPipelineRun, &api::kTaskRun, &api::kPod}) {
    if (may_see(*kind)) {
      std::ranges::move(labelled(facts, *kind, job), std::back_inserter(children));
    }
  }
  return children;
}

// Actions allowed on a job, and the reasons against the others.
Value actions_of(Exchange& exchange, const FoundJob& job) {
  const std::string phase = job.object.status()["phase"].str();
  const bool over = views::is_over(job.object);
  const auto allowed = [&](std::string_view verb, std::string why) {
    if (exchange.services.settings.read_only) {
      why = "the console is read-only";
    } else if (why.empty() && !exchange.services.access
                                   .may(exchange.viewer(), verb, api::kFournosJob, job.object.ns(),
                                        verb == "create" ? "" : job.object.name())
                                   .value_or(false)) {
      why = fmt::format("you may not {} jobs of namespace {}", verb, job.object.ns());
    }
    Value action = Value::object({{"allowed", why.empty()}});
    set_text(action, "why", why);
    return action;
  };
  const std::string ended = job.archived ? "the job is archived" : over ? "it is " + phase : "";
  return Value::object({{"stop", allowed("patch", ended)},
                        {"terminate", allowed("patch", ended)},
                        {"rerun", allowed("create", "")},
                        {"delete", allowed("delete", job.archived ? "the job is archived" : "")}});
}

Value archive_value(Exchange& exchange, const Object& job) {
  Value entries = Value::list();
  for (const HistoryEntry& entry : exchange.services.history.find(job.ns(), job.name())) {
    entries.push_back(Value::object({{"uid", entry.uid},
                                     {"phase", entry.phase},
                                     {"created", entry.created},
                                     {"completed", entry.completed}}));
  }
  return Value::object({{"entries", std::move(entries)}});
}

// The job's events; none where they cannot be read.
std::vector<Object> events_of(Exchange& exchange, const std::string& ns) {
  return exchange.services.port.list(exchange.viewer(), api::kEvent, ns).value_or({});
}

// The course of a job with the phases that the history has seen.
views::JobCourse seen_course(Exchange& exchange, const Object& job) {
  views::JobCourse course = views::course_of_job(job);
  for (const HistoryEvent& event : exchange.services.history.events(std::string(job.uid()))) {
    if (const auto at = parse_time(event.at)) {
      course.seen.push_back({.phase = event.phase, .at = *at});
    }
  }
  return course;
}

// Slots of clusters that the Workload of a job asks for.
std::int64_t slots_of(const std::vector<Object>& children) {
  std::int64_t slots = 0;
  for (const Object& child : children) {
    if (child.kind() != api::kueue::kWorkload.name) {
      continue;
    }
    for (const Value& set : child.spec()["podSets"].items()) {
      for (const Value& container : set["template"]["spec"]["containers"].items()) {
        if (const auto slot =
                Quantity::parse(container["resources"]["requests"][fournos::name::kClusterSlot])) {
          slots = saturating_add(slots, saturating_multiply(slot->value(), set["count"].as_int(1)));
        }
      }
    }
  }
  return slots;
}

Value job_page(Exchange& exchange, const FoundJob& job) {
  const auto tables = exchange.services.board.tables();
  const Facts& facts = *tables->facts;
  const Instant now = exchange.now();
  const std::vector<Object> children =
      job.archived ? std::vector<Object>() : children_of(exchange, facts, job.object);
  Value row = job_row(job.object, job.archived ? JobSurroundings() : tables->surroundings);
  row.set("archived", job.archived);
  add_elapsed(row, now);
  if (const std::int64_t slots = slots_of(children); slots > 0) {
    row.set("slots", slots);
  }
  views::Description description = views::describe_job(job.object, children, now);
  views::add_events(description, events_of(exchange, std::string(job.object.ns())));
  CachedContext context(tables->facts, exchange.services.port, now);
  // An explanation reads all of the queue: of a job that runs or is over there is none.
  if (!job.archived && !views::is_over(job.object) && row["phase"].as_string() != "Running") {
    const auto waits = explain_for_viewer(exchange, context, job.object.key());
    if (waits.ok() && waits->state == "waits") {
      description.why = waits->text(now);
    }
  }
  Value pods = Value::list();
  Value related = Value::list();
  for (const Object& child : children) {
    related.push_back(related_value(child));
    if (child.kind() == "Pod" && !child.name().starts_with("affinity-assistant")) {
      Value pod = pod_value(child);
      const auto zones = zones_of_pods(facts, child.spec()["nodeName"].as_string());
      if (const auto zone = zones.find(child.key()); zone != zones.end()) {
        pod.set("zone", zone->second);
      }
      pods.push_back(std::move(pod));
    }
  }
  Value phases = phase_list(seen_course(exchange, job.object), now);
  Value page = Value::object({{"job", row},
                              {"object", shown_object(job.object)},
                              {"description", description.to_value()},
                              {"phases", std::move(phases)},
                              {"conditions", condition_list(job.object.status()["conditions"])},
                              {"pods", std::move(pods)},
                              {"related", std::move(related)},
                              {"archive", archive_value(exchange, job.object)},
                              {"actions", actions_of(exchange, job)},
                              {"now", format_time(now)}});
  Value states = Value::list();
  for (const HistoryEvent& event :
       exchange.services.history.events(std::string(job.object.uid()))) {
    states.push_back(
        Value::object({{"at", event.at}, {"phase", event.phase}, {"message", event.message}}));
  }
  page.set("states", std::move(states));
  const std::string cluster =
      row["cluster"].as_string().empty() ? row["requestedCluster"].str() : row["cluster"].str();
  if (Value lock = lock_of(facts, tables->surroundings, cluster);
      lock.is_object() && lock["job"].as_string() != job.object.name()) {
    page.set("lock", std::move(lock));
  }
  return page;
}

// Answers what `make` makes of the path's job.
template <class Make>
Response with_job(Exchange& exchange, const Make& make) {
  const std::string uid = exchange.text("uid");
  const auto job = find_job(exchange, path_key(exchange), uid);
  return job.ok() ? make(*job) : answer_error(job.error());
}

Response show_job(Exchange& exchange) {
  return with_job(exchange,
                  [&](const FoundJob& job) { return answer_value(job_page(exchange, job)); });
}

// Returns the run of a job; none where the viewer may not list runs.
JobPipeline pipeline_of(Exchange& exchange, const Facts& facts, const Object& job) {
  JobPipeline pipeline;
  for (const Kind* kind : {&api::kPipelineRun, &api::kTaskRun}) {
    if (!exchange.services.access.may(exchange.viewer(), "list", *kind, job.ns()).value_or(false)) {
      return pipeline;
    }
  }
  const std::string run = job.status()["pipelineRun"].str();
  for (const Object& one : facts.all(api::kPipelineRun)) {
    const bool named =
        one.ns() == job.ns() &&
        (one.name() == run || (!pipeline.run && one.label(views::kJobNameLabel) == job.name()));
    if (named) {
      pipeline.run = one;
    }
  }
  if (pipeline.run) {
    for (const Object& task : facts.all(api::kTaskRun)) {
      if (task.owned_by(pipeline.run->uid())) {
        pipeline.tasks.push_back(task);
      }
    }
  }
  return pipeline;
}

Response show_pipeline(Exchange& exchange) {
  return with_job(exchange, [&](const FoundJob& job) {
    const auto facts = exchange.services.world.facts();
    Value page = pipeline_value(pipeline_of(exchange, *facts, job.object));
    for (std::size_t i = 0; i < page["tasks"].size(); ++i) {
      const Value task = page["tasks"][i];
      const std::string container = failed_container(task);
      if (container.empty() || task["pod"].as_string().empty()) {
        continue;
      }
      const auto tail = exchange.services.port.text(
          exchange.viewer(),
          fmt::format("{}/log?container={}&tailLines={}",
                      api_path(api::kPod, std::string(job.object.ns()), task["pod"].str()),
                      client::escape(container), kTailLines));
      if (tail.ok()) {
        page.member("tasks").item(i).set("tail", lines_value(*tail));
      }
    }
    return answer_value(page);
  });
}

// Returns when a task or step ran, and for how long; one that runs, until now.
Value span_of(const Value& part, Instant now) {
  Value span = Value::object({{"name", part["name"]}, {"state", part["state"]}});
  set_text(span, "from", part["started"].as_string());
  set_text(span, "to", part["completed"].as_string());
  if (const auto from = parse_time(part["started"].as_string())) {
    const Instant to = parse_time(part["completed"].as_string()).value_or(now);
    span.set("seconds", seconds_of(std::max(to - *from, Duration{})));
  }
  return span;
}

Response show_timeline(Exchange& exchange) {
  return with_job(exchange, [&](const FoundJob& job) {
    const auto facts = exchange.services.world.facts();
    const Value pipeline = pipeline_value(pipeline_of(exchange, *facts, job.object));
    Value tasks = Value::list();
    for (const Value& task : pipeline["tasks"].items()) {
      Value one = span_of(task, exchange.now());
      Value steps = Value::list();
      for (const Value& step : task["steps"].items()) {
        steps.push_back(span_of(step, exchange.now()));
      }
      one.set("steps", std::move(steps));
      tasks.push_back(std::move(one));
    }
    return answer_value(
        Value::object({{"phases", phase_list(seen_course(exchange, job.object), exchange.now())},
                       {"tasks", std::move(tasks)}}));
  });
}

Response explain_job(Exchange& exchange) {
  return with_job(exchange, [&](const FoundJob& job) {
    const auto tables = exchange.services.board.tables();
    CachedContext context(tables->facts, exchange.services.port, exchange.now());
    const auto explained = explain_for_viewer(exchange, context, job.object.key());
    if (!explained.ok()) {
      return answer_value(
          Value::object({{"state", "not queued"}, {"text", explained.error().message}}));
    }
    return answer_value(explanation_value(exchange, *explained));
  });
}

Response submit_job(Exchange& exchange) {
  const bool dry_run = exchange.parameter("dryRun").has_value();
  Value job = exchange.body;
  if (job["form"].is_object()) {
    std::map<std::string, std::string, std::less<>> form;
    for (const Member& member : job["form"].members()) {
      form.emplace(member.key(), member.value.is_bool()
                                     ? (member.value.as_bool() ? "true" : "false")
                                     : member.value.str());
    }
    auto made = job_of_form(form, exchange.services.settings.jobs_ns, exchange.now());
    if (!made.ok()) {
      return answer_error(made.error(),
                          made.error().message.substr(0, made.error().message.find(':')));
    }
    job = *std::move(made);
  }
  if (!job.is_object() || job["kind"].as_string() != api::kFournosJob.name) {
    return answer_error(Error::bad_request("the body must be a FournosJob"), "kind");
  }
  if (!job["metadata"].is_null() && !job["metadata"].is_object()) {
    return answer_error(Error::bad_request("metadata must be an object"), "metadata");
  }
  if (job["metadata"]["namespace"].as_string().empty()) {
    job.set_path({"metadata", "namespace"}, exchange.services.settings.jobs_ns);
  }
  if (!exchange.services.settings.shows(job["metadata"]["namespace"].as_string())) {
    return answer_error(Error::bad_request("the console does not show this namespace"),
                        "metadata.namespace");
  }
  const auto created = create_job(exchange, std::move(job), dry_run);
  if (!created.ok()) {
    return answer_error(created.error(), field_of_message(created.error().message));
  }
  return answer_value(Value::object({{"job", job_row(*created, {})},
                                     {"object", shown_object(*created)},
                                     {"warnings", Value::list()}}),
                      dry_run ? 200 : 201);
}

Response shut_down(Exchange& exchange, std::string_view how) {
  const Key key = path_key(exchange);
  const auto stopped = stop_job(exchange, key, how);
  return stopped.ok() ? answer_value(Value::object(
                            {{"message", fmt::format("Shutdown requested for {}", key.name)}}))
                      : answer_error(stopped.error());
}

Response stop_route(Exchange& exchange) {
  return shut_down(exchange, "Stop");
}

Response terminate_route(Exchange& exchange) {
  return shut_down(exchange, "Terminate");
}

Response rerun_route(Exchange& exchange) {
  return with_job(exchange, [&](const FoundJob& job) {
    const auto created = rerun_job(exchange, job, exchange.body["spec"]);
    if (!created.ok()) {
      return answer_error(created.error(), field_of_message(created.error().message));
    }
    return answer_value(
        Value::object({{"job", Value::object({{"ns", created->ns()}, {"name", created->name()}})},
                       {"message", fmt::format("{} submitted", created->name())}}),
        201);
  });
}

Response delete_job(Exchange& exchange) {
  const Key key = path_key(exchange);
  Services& services = exchange.services;
  const auto uid = exchange.parameter("uid");
  if (exchange.parameter("archived")) {
    const auto entry = find_job(exchange, key, uid.value_or(""));
    if (!entry.ok() || !entry->archived) {
      return answer_error(Error::not_found("Job not found in history"));
    }
    const auto may = services.access.may(exchange.viewer(), "delete", api::kFournosJob, key.ns);
    if (!may.value_or(false)) {
      return answer_error(Error{.code = 403, .reason = "Forbidden", .message = "not allowed"});
    }
    const auto removed = services.history.remove(std::string(entry->object.uid()));
    note_change(exchange, "delete from history", "FournosJob/" + key.text(),
                removed.ok() ? nullptr : &removed.error());
    return removed.ok()
               ? answer_value(Value::object({{"message", key.name + " deleted from history"}}))
               : answer_error(removed.error());
  }
  const auto removed = services.port.remove(exchange.viewer(), api::kFournosJob, key);
  note_change(exchange, "delete", "FournosJob/" + key.text(),
              removed.ok() ? nullptr : &removed.error());
  return removed.ok() ? answer_value(Value::object({{"message", key.name + " deleted"}}))
                      : answer_error(removed.error());
}

Response compare_jobs(Exchange& exchange) {
  std::vector<JobPipeline> runs;
  std::vector<Object> jobs;
  Value rows = Value::list();
  const auto facts = exchange.services.world.facts();
  for (const std::string_view name : exchange.parameters("job")) {
    const std::size_t slash = name.find('/');
    if (slash == std::string_view::npos) {
      return answer_error(Error::bad_request("job must be NAMESPACE/NAME, or NAMESPACE/NAME@UID"),
                          "job");
    }
    const std::size_t at = std::min(name.find('@', slash), name.size());
    const auto job = find_job(
        exchange,
        {std::string(name.substr(0, slash)), std::string(name.substr(slash + 1, at - slash - 1))},
        name.substr(std::min(at + 1, name.size())));
    if (!job.ok()) {
      return answer_error(job.error(), "job");
    }
    jobs.push_back(job->object);
    runs.push_back(pipeline_of(exchange, *facts, job->object));
    rows.push_back(job_row(job->object, {}));
  }
  if (jobs.size() < 2) {
    return answer_error(Error::bad_request("needs two jobs or more"), "job");
  }
  Value page = comparison_of(jobs, runs, exchange.now());
  page.set("jobs", std::move(rows));
  return answer_value(page);
}

}  // namespace

std::vector<Route> job_routes() {
  return {
      {.method = "GET",
       .path = "/api/v1/jobs",
       .summary = "List live and archived jobs",
       .handle = list_jobs,
       .shape = job_shape},
      {.method = "POST",
       .path = "/api/v1/jobs",
       .summary = "Submit a job, or validate it",
       .handle = submit_job,
       .guard = Guard::Change,
       .parameters = {"dryRun"},
       .body = {"apiVersion", "kind", "metadata:object", "spec:object", "form:object"}},
      {.method = "GET",
       .path = "/api/v1/jobs/compare",
       .summary = "Compare jobs",
       .handle = compare_jobs,
       .parameters = {"job"}},
      {.method = "GET",
       .path = "/api/v1/jobs/{ns}/{name}",
       .summary = "Show one job",
       .handle = show_job,
       .parameters = {"uid"}},
      {.method = "DELETE",
       .path = "/api/v1/jobs/{ns}/{name}",
       .summary = "Delete a job, or its entry in the history",
       .handle = delete_job,
       .guard = Guard::Change,
       .parameters = {"archived", "uid"}},
      {.method = "GET",
       .path = "/api/v1/jobs/{ns}/{name}/timeline",
       .summary = "Show phases and tasks of a job with their times",
       .handle = show_timeline,
       .parameters = {"uid"}},
      {.method = "GET",
       .path = "/api/v1/jobs/{ns}/{name}/pipeline",
       .summary = "Show the tasks of a job as a graph",
       .handle = show_pipeline,
       .parameters = {"uid"}},
      {.method = "GET",
       .path = "/api/v1/jobs/{ns}/{name}/explain",
       .summary = "Explain why a job waits",
       .handle = explain_job,
       .parameters = {"uid"}},
      {.method = "POST",
       .path = "/api/v1/jobs/{ns}/{name}/stop",
       .summary = "Stop a job",
       .handle = stop_route,
       .guard = Guard::Change},
      {.method = "POST",
       .path = "/api/v1/jobs/{ns}/{name}/terminate",
       .summary = "Terminate a job",
       .handle = terminate_route,
       .guard = Guard::Change},
      {.method = "POST",
       .path = "/api/v1/jobs/{ns}/{name}/rerun",
       .summary = "Submit a job anew",
       .handle = rerun_route,
       .guard = Guard::Change,
       .parameters = {"uid"},
       .body = {"spec:object"}},
  };
}

}  // namespace athanor::console
