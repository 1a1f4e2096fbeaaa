// SPDX-License-Identifier: Apache-2.0
// The JSON and form routes of fournos-ui (docs/spec/dashboard.md A3), and what forms need.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "client/connection.hpp"
#include "console/data/cluster_rows.hpp"
#include "console/data/job_rows.hpp"
#include "console/data/projects.hpp"
#include "console/data/row_texts.hpp"
#include "console/routes/job_changes.hpp"
#include "console/routes/route_table.hpp"
#include "console/routes/schedule_changes.hpp"
#include "kube/text/json.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "views/layout.hpp"

namespace athanor::console {
namespace {

using net::Response;

constexpr std::string_view kTemplateLabel = "athanor.dev/job-template";

// An age as fournos-ui writes it (docs/spec/dashboard.md A4): "12s", "5m", "3h 4m", "2d 5h".
std::string legacy_age(std::string_view since, Instant now) {
  const auto at = parse_time(since);
  if (!at) {
    return "?";
  }
  const auto seconds = std::max<std::int64_t>(
      0, std::chrono::duration_cast<std::chrono::seconds>(now - *at).count());
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  if (seconds < kMinute) {
    return fmt::format("{}s", seconds);
  }
  if (seconds < kHour) {
    return fmt::format("{}m", seconds / kMinute);
  }
  return seconds < kDay ? fmt::format("{}h {}m", seconds / kHour, seconds % kHour / kMinute)
                        : fmt::format("{}d {}h", seconds / kDay, seconds % kDay / kHour);
}

// "forge-test" as "Forge Test".
std::string title_of(std::string_view name) {
  std::string title;
  bool begins = true;
  for (const char c : name) {
    const bool gap = c == '-' || c == '_';
    title += gap ? ' ' : begins ? static_cast<char>(std::toupper(c)) : c;
    begins = gap;
  }
  return title;
}

// The cell Progress: the running task with its time, else how many tasks are done, else the
// beginning of the message.
std::string progress_cell(const Value& row, Instant now) {
  constexpr std::size_t kMostMessage = 40;
  if (const std::string_view step = row["step"].as_string(); !step.empty()) {
    return html_text(title_of(step)) + " " + legacy_age(row["stepSince"].as_string(), now);
  }
  if (const std::int64_t total = row["progress"]["total"].as_int(); total > 0) {
    const std::int64_t done = row["progress"]["done"].as_int();
    return fmt::format("<progress max=\"{}\" value=\"{}\"></progress> {}/{}", total, done, done,
                       total);
  }
  return html_text(views::cut_text(row["message"].str(), kMostMessage));
}

// The rows that fournos-ui's live list shows: jobs that run, and those that ended 180 s ago or
// later.
Response jobs_table(Exchange& exchange) {
  constexpr Duration kShown = std::chrono::seconds(180);
  constexpr std::size_t kMostShown = 50;
  const auto tables = exchange.services.board.tables();
  const Visible visible = visible_namespaces(exchange, api::kFournosJob);
  std::vector<const Value*> rows;
  for (const Value& row : tables->list("jobs")) {
    const auto ended = parse_time(row["completed"].as_string());
    bool shown = !row["archived"].as_bool() && visible.shows(row["ns"].as_string()) &&
                 (!ended || exchange.now() - *ended <= kShown);
    for (const auto& [parameter, column] : {std::pair{"project", "project"},
                                            {"cluster", "requestedCluster"},
                                            {"status", "phase"},
                                            {"owner", "owner"}}) {
      const std::string_view wanted = exchange.parameter(parameter).value_or("");
      shown = shown && (wanted.empty() || row[std::string_view(column)].as_string() == wanted);
    }
    if (shown) {
      rows.push_back(&row);
    }
  }
  std::ranges::stable_sort(rows, std::greater(),
                           [](const Value* row) { return (*row)["created"].as_string(); });
  rows.resize(std::min(rows.size(), kMostShown));
  std::string text;
  for (const Value* row : rows) {
    text += fmt::format("<tr data-job=\"{}\">", html_text((*row)["name"].as_string()));
    for (const char* column : {"phase", "name", "project", "preset", "owner", "requestedCluster",
                               "step", "created", "pullRequest"}) {
      const std::string_view name = column;
      const std::string cell = html_text((*row)[name].as_string());
      text += name == "name"   ? fmt::format("<td><a href=\"{}/jobs/{}\">{}</a></td>",
                                             exchange.services.settings.base_path, cell, cell)
              : name == "step" ? fmt::format("<td>{}</td>", progress_cell(*row, exchange.now()))
              : name == "created"
                  ? fmt::format("<td title=\"{}\">{}</td>", cell,
                                legacy_age((*row)[name].as_string(), exchange.now()))
                  : fmt::format("<td>{}</td>", cell);
    }
    text += "</tr>\n";
  }
  return answer_text(text, "text/html; charset=utf-8");
}

Response detail_partial(Exchange& exchange) {
  const auto job = find_named_job(exchange, exchange.part("name"));
  if (!job.ok()) {
    return answer_text("", "text/html; charset=utf-8");
  }
  const Value& status = job->object.status();
  std::string text =
      fmt::format("<section><h2>{}</h2><p>{}</p><p>{}</p><ul>\n", html_text(job->object.name()),
                  html_text(status["phase"].as_string()), html_text(status["message"].as_string()));
  for (const Value& condition : status["conditions"].items()) {
    text += fmt::format("<li>{}: {} {} {}</li>\n", html_text(condition["type"].as_string()),
                        html_text(condition["reason"].as_string()),
                        html_text(condition["message"].as_string()),
                        legacy_age(condition["lastTransitionTime"].as_string(), exchange.now()));
  }
  return answer_text(text + "</ul></section>\n", "text/html; charset=utf-8");
}

Response legacy_cancel(Exchange& exchange) {
  const auto job = find_named_job(exchange, exchange.part("name"));
  const auto stopped = job.ok() ? stop_job(exchange, job->object.key(), "Stop") : job.error();
  if (!stopped.ok()) {
    return answer_detail(500, stopped.error().message);
  }
  return answer_value(Value::object(
      {{"status", "ok"},
       {"message", fmt::format("Shutdown requested for {}", exchange.part("name"))}}));
}

Response legacy_rerun(Exchange& exchange) {
  const auto job = find_named_job(exchange, exchange.part("name"));
  if (!job.ok()) {
    return answer_detail(404, "Job not found");
  }
  const auto created = rerun_job(exchange, *job, {});
  if (!created.ok()) {
    return answer_detail(500, created.error().message);
  }
  return answer_value(Value::object({{"status", "ok"},
                                     {"job_name", created->name()},
                                     {"redirect", fmt::format("/jobs/{}", created->name())}}));
}

Response legacy_delete_history(Exchange& exchange) {
  const auto entries = exchange.services.history.find("", exchange.part("name"));
  const auto may = exchange.services.access.may(exchange.viewer(), "delete", api::kFournosJob,
                                                entries.empty() ? "" : entries.front().ns);
  const auto removed = entries.empty() || !may.value_or(false)
                           ? Result<void>(Error::not_found(""))
                           : exchange.services.history.remove(entries.front().uid);
  return removed.ok() ? answer_value(Value::object({{"status", "ok"}}))
                      : answer_detail(404, "Job not found in history");
}

Response legacy_submit(Exchange& exchange) {
  auto job = job_of_form(exchange.form, exchange.services.settings.jobs_ns, exchange.now());
  if (!job.ok()) {
    return answer_detail(422, job.error().message);
  }
  const auto created = create_job(exchange, *std::move(job), false);
  if (!created.ok()) {
    return answer_form_page(exchange, created.error().message);
  }
  Response response = answer_text("", "text/plain; charset=utf-8", 303);
  response.headers.emplace_back(
      "Location", fmt::format("{}/jobs/{}", exchange.services.settings.base_path, created->name()));
  return response;
}

Response project_info(Exchange& exchange) {
  for (const Project& project : read_projects(exchange.services.settings)) {
    if (project.name == exchange.part("project")) {
      Value presets = Value::list();
      for (const std::string& preset : project.presets) {
        presets.push_back(preset);
      }
      return answer_value(
          Value::object({{"presets", std::move(presets)}, {"cluster", project.cluster}}));
    }
  }
  return answer_value(Value::object({{"presets", Value::list()}, {"cluster", ""}}));
}

Response open_pulls(Exchange& exchange) {
  const auto connection = client::Connection::open({.server = "https://api.github.com"});
  const auto text = connection.ok()
                        ? (*connection)
                              ->text({.path = fmt::format("/repos/{}/pulls?state=open&per_page=100",
                                                          exchange.services.settings.forge_github)})
                        : Result<std::string>(connection.error());
  const auto pulls = text.ok() ? json::parse(*text) : Result<Value>(text.error());
  if (!pulls.ok() || !pulls->is_list()) {
    return answer_detail(502,
                         "GitHub API error: " + (pulls.ok() ? "no list" : pulls.error().message));
  }
  Value list = Value::list();
  for (const Value& pull : pulls->items()) {
    list.push_back(Value::object({{"number", pull["number"]},
                                  {"title", pull["title"]},
                                  {"author", pull["user"]["login"]},
                                  {"head_sha", pull["head"]["sha"]},
                                  {"branch", pull["head"]["ref"]},
                                  {"draft", pull["draft"].as_bool()}}));
  }
  return answer_value(list);
}

Value named_list(const std::set<std::string>& names) {
  Value list = Value::list();
  for (const std::string& name : names) {
    list.push_back(name);
  }
  return list;
}

std::set<std::string> names_of(Exchange& exchange, const Kind& kind, const std::string& ns) {
  std::set<std::string> names;
  const auto listed = exchange.services.port.list(exchange.viewer(), kind, ns);
  for (const Object& object : listed.value_or({})) {
    names.emplace(object.name());
  }
  return names;
}

Value form_templates(Exchange& exchange) {
  Value list = Value::list();
  const auto listed = exchange.services.port.list(exchange.viewer(), api::kConfigMap,
                                                  exchange.services.settings.jobs_ns,
                                                  fmt::format("?labelSelector={}", kTemplateLabel));
  for (const Object& map : listed.value_or({})) {
    const auto object = json::parse(map.body()["data"]["job"].as_string());
    if (object.ok()) {
      list.push_back(Value::object({{"name", map.label(kTemplateLabel)}, {"object", *object}}));
    }
  }
  return list;
}

Response show_form(Exchange& exchange) {
  const auto tables = exchange.services.board.tables();
  const Settings& settings = exchange.services.settings;
  Value projects = Value::list();
  for (const Project& project : read_projects(settings)) {
    projects.push_back(to_value(project));
  }
  std::set<std::string> pipelines = names_of(exchange, api::kPipeline, settings.jobs_ns);
  for (const char* name : {"forge-full", "forge-prepare-test", "forge-test-only",
                           "forge-prepare-only", "forge-replot"}) {
    pipelines.insert(name);
  }
  // A cluster may be named in a job without the right to list clusters; its state is for others.
  const Visible visible = visible_namespaces(exchange, api::kFournosCluster);
  Value clusters = Value::list();
  for (const Value& cluster : tables->list("clusters")) {
    if (!visible.shows(cluster["ns"].as_string())) {
      clusters.push_back(Value::object({{"name", cluster["name"]}}));
      continue;
    }
    Value free = Value::object();
    for (const Value& gpu : cluster["gpus"].items()) {
      free.set(gpu["type"].as_string(), gpu["total"].as_int() - gpu["used"].as_int());
    }
    Value one = Value::object({{"name", cluster["name"]},
                               {"state", cluster["state"]},
                               {"freeGpus", std::move(free)},
                               {"locked", cluster["lock"]["state"].as_string() == "Held"},
                               {"waiting", cluster.contains("nextJob")}});
    if (cluster["lock"].is_object()) {
      one.set("lock", bare_lock(cluster["lock"]));
    }
    clusters.push_back(std::move(one));
  }
  std::set<std::string> priorities;
  for (const Object& one : tables->facts->all(api::kueue::kWorkloadPriorityClass)) {
    priorities.emplace(one.name());
  }
  const Value crd = api::crd_manifest(api::fournos_job_crd(api::FournosApi::Auto));
  const Value schema =
      crd["spec"]["versions"][0].at({"schema", "openAPIV3Schema", "properties", "spec"});
  const std::string& user = exchange.viewer().user;
  return answer_value(Value::object({{"schema", schema},
                                     {"projects", std::move(projects)},
                                     {"pipelines", named_list(pipelines)},
                                     {"clusters", std::move(clusters)},
                                     {"priorities", named_list(priorities)},
                                     {"owner", user.empty() ? "fournos-dashboard" : user},
                                     {"templates", form_templates(exchange)}}));
}

std::string template_object(std::string_view name) {
  return fmt::format("job-template-{}", name);
}

Response put_template(Exchange& exchange) {
  const std::string& name = exchange.part("name");
  if (exchange.body["kind"].as_string() != api::kFournosJob.name) {
    return answer_error(Error::bad_request("the body must be a FournosJob"), "kind");
  }
  Value labels = Value::object();
  labels.set(kTemplateLabel, name);
  const Value map =
      Value::object({{"apiVersion", "v1"},
                     {"kind", "ConfigMap"},
                     {"metadata", Value::object({{"name", template_object(name)},
                                                 {"namespace", exchange.services.settings.jobs_ns},
                                                 {"labels", std::move(labels)}})},
                     {"data", Value::object({{"job", json::print(exchange.body)}})}});
  auto written = exchange.services.port.create(exchange.viewer(), api::kConfigMap, map);
  if (!written.ok() && written.error().code == 409) {
    written =
        exchange.services.port.patch(exchange.viewer(), api::kConfigMap,
                                     {exchange.services.settings.jobs_ns, template_object(name)},
                                     Value::object({{"data", map["data"]}}));
  }
  note_change(exchange, "save template", "ConfigMap/" + template_object(name),
              written.ok() ? nullptr : &written.error());
  return written.ok() ? answer_value(Value::object({{"message", name + " saved"}}))
                      : answer_error(written.error());
}

Response delete_template(Exchange& exchange) {
  const std::string& name = exchange.part("name");
  const auto removed =
      exchange.services.port.remove(exchange.viewer(), api::kConfigMap,
                                    {exchange.services.settings.jobs_ns, template_object(name)});
  note_change(exchange, "delete template", "ConfigMap/" + template_object(name),
              removed.ok() ? nullptr : &removed.error());
  return removed.ok() ? answer_value(Value::object({{"message", name + " deleted"}}))
                      : answer_error(removed.error());
}

}  // namespace

std::vector<Route> legacy_routes() {
  return {
      {.method = "GET",
       .path = "/api/v1/form",
       .summary = "Show what the submit form offers",
       .handle = show_form},
      {.method = "PUT",
       .path = "/api/v1/templates/{name}",
       .summary = "Save a job as template",
       .handle = put_template,
       .guard = Guard::Change,
       .body = {"apiVersion", "kind", "metadata:object", "spec:object"}},
      {.method = "DELETE",
       .path = "/api/v1/templates/{name}",
       .summary = "Delete a template",
       .handle = delete_template,
       .guard = Guard::Change},
      {.method = "GET",
       .path = "/api/jobs-table",
       .summary = "Show the rows of the live list as HTML",
       .handle = jobs_table,
       .parameters = {"project", "cluster", "status", "owner"},
       .content_type = "text/html"},
      {.method = "GET",
       .path = "/api/jobs/{name}/detail-partial",
       .summary = "Show a job as an HTML fragment",
       .handle = detail_partial,
       .content_type = "text/html"},
      {.method = "POST",
       .path = "/api/jobs/{name}/cancel",
       .summary = "Stop a job",
       .handle = legacy_cancel,
       .guard = Guard::Change},
      {.method = "POST",
       .path = "/api/jobs/{name}/rerun",
       .summary = "Submit a job anew",
       .handle = legacy_rerun,
       .guard = Guard::Change},
      {.method = "DELETE",
       .path = "/api/history/{name}",
       .summary = "Delete the newest entry of a job in the history",
       .handle = legacy_delete_history,
       .guard = Guard::Change},
      {.method = "POST",
       .path = "/submit",
       .summary = "Submit a job by fournos-ui's form",
       .handle = legacy_submit,
       .guard = Guard::Change},
      {.method = "GET",
       .path = "/api/project-info/{project}",
       .summary = "Show presets and cluster of a project",
       .handle = project_info},
      {.method = "GET",
       .path = "/api/github/open-prs",
       .summary = "List open pull requests",
       .handle = open_pulls},
  };
}

}  // namespace athanor::console
