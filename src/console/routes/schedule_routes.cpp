// SPDX-License-Identifier: Apache-2.0
// Routes of schedules (docs/spec/dashboard.md A7, B4.10).
#include <fmt/format.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "base/files/time_zone_files.hpp"
#include "console/data/job_rows.hpp"
#include "console/data/schedule_rows.hpp"
#include "console/routes/route_table.hpp"
#include "console/routes/schedule_changes.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "views/schedule_view.hpp"

namespace athanor::console {
namespace {

using net::Response;

Response list_schedules(Exchange& exchange) {
  const auto tables = exchange.services.board.tables();
  return answer_list(exchange, schedule_shape(), api::kCronJob, tables->list("schedules"));
}

// Fields of a JSON body or a form.
FormFields fields_of_body(const Exchange& exchange) {
  FormFields fields = exchange.form;
  for (const Member& member : exchange.body.members()) {
    fields.insert_or_assign(
        std::string(member.key()),
        member.value.is_bool() ? (member.value.as_bool() ? "true" : "false") : member.value.str());
  }
  return fields;
}

Response put_schedule(Exchange& exchange, std::string_view target, int status) {
  FormFields fields = fields_of_body(exchange);
  if (!target.empty()) {
    fields.insert_or_assign("edit_target", std::string(target));
    fields.try_emplace("name", std::string(target));
  }
  const auto saved = save_schedule(exchange, fields);
  if (!saved.ok()) {
    return answer_error(saved.error().error, saved.error().field);
  }
  return answer_value(Value::object({{"message", fmt::format("{} saved", *saved)}}), status);
}

Response create_schedule(Exchange& exchange) {
  return put_schedule(exchange, "", 201);
}

Response edit_schedule(Exchange& exchange) {
  return put_schedule(exchange, exchange.part("name"), 200);
}

Response answer_change(const Result<std::string>& changed) {
  return changed.ok() ? answer_value(Value::object({{"message", *changed}}))
                      : answer_error(changed.error());
}

Response delete_route(Exchange& exchange) {
  return answer_change(delete_schedule(exchange, exchange.part("name")));
}

Response pause_route(Exchange& exchange) {
  return answer_change(suspend_schedule(exchange, exchange.part("name"), Suspend::Pause));
}

Response resume_schedule_route(Exchange& exchange) {
  return answer_change(suspend_schedule(exchange, exchange.part("name"), Suspend::Resume));
}

Response trigger_route(Exchange& exchange) {
  const auto job = trigger_schedule(exchange, exchange.part("name"));
  return job.ok() ? answer_value(Value::object(
                        {{"job", *job}, {"message", fmt::format("{} created", *job)}}))
                  : answer_error(job.error());
}

Response list_runs(Exchange& exchange) {
  const auto tables = exchange.services.board.tables();
  Rows rows;
  for (const Value& row : tables->list("jobs")) {
    if (row["schedule"].as_string() == exchange.part("name")) {
      rows.push_back(row);
    }
  }
  return answer_list(exchange, job_shape(), api::kFournosJob, rows);
}

struct ListedBeside {
  const Kind& kind;
  std::string query{};
};

// Objects of a kind in the namespace of a schedule; a refusal is added to `unavailable`.
std::vector<Object> beside_schedule(Exchange& exchange, const Object& schedule,
                                    const ListedBeside& what, Value& unavailable) {
  auto listed = exchange.services.port.list(exchange.viewer(), what.kind,
                                            std::string(schedule.ns()), what.query);
  if (!listed.ok()) {
    unavailable.push_back(fmt::format("{}: {}", what.kind.plural, listed.error().message));
    return {};
  }
  return *std::move(listed);
}

// Starts that led to no job, with the reasons (docs/spec/dashboard.md B4.10).
Response list_absent_starts(Exchange& exchange) {
  const auto schedule = find_schedule(exchange, exchange.part("name"));
  if (!schedule.ok()) {
    return answer_error(schedule.error());
  }
  views::ScheduleRuns runs;
  for (const Value& row : exchange.services.board.tables()->list("jobs")) {
    const auto created = parse_time(row["created"].as_string());
    if (row["schedule"].as_string() == schedule->name() &&
        row["ns"].as_string() == schedule->ns() && row["trigger"].as_string() != "manual" &&
        created) {
      runs.created.push_back(*created);
    }
  }
  Value unavailable = Value::list();
  for (Object& job : beside_schedule(exchange, *schedule, {api::kJob}, unavailable)) {
    if (job.owned_by(schedule->uid())) {
      runs.jobs.push_back(std::move(job));
    }
  }
  const std::string about = fmt::format(
      "?fieldSelector=involvedObject.name%3D{},involvedObject.kind%3DCronJob", schedule->name());
  runs.events = beside_schedule(exchange, *schedule, {api::kEvent, about}, unavailable);
  const auto absent = views::absent_starts(*schedule, runs, exchange.now(), find_time_zone);
  if (!absent.ok()) {
    return answer_error(absent.error());
  }
  Value items = Value::list();
  for (const views::AbsentStart& start : absent->starts) {
    items.push_back(start.to_value());
  }
  return answer_value(Value::object({{"items", std::move(items)},
                                     {"total", absent->total},
                                     {"since", format_time(absent->since)},
                                     {"unavailable", std::move(unavailable)},
                                     {"now", format_time(exchange.now())}}));
}

Response preview(Exchange& exchange) {
  return answer_value(schedule_preview(exchange.parameter("cron").value_or(""),
                                       exchange.parameter("timeZone").value_or(""),
                                       exchange.now()));
}

// ---- the routes of fournos-ui

Response legacy_answer(const Result<std::string>& changed, int failed) {
  if (changed.ok()) {
    return answer_value(Value::object({{"status", "ok"}}));
  }
  const int code = changed.error().code;
  return answer_detail(code == 404 || code == 403 ? code : failed, changed.error().message);
}

Response legacy_toggle(Exchange& exchange) {
  return legacy_answer(suspend_schedule(exchange, exchange.part("name"), Suspend::Toggle), 500);
}

Response legacy_delete(Exchange& exchange) {
  return legacy_answer(delete_schedule(exchange, exchange.part("name")), 500);
}

Response legacy_trigger(Exchange& exchange) {
  const auto job = trigger_schedule(exchange, exchange.part("name"));
  if (!job.ok()) {
    return legacy_answer(job, 500);
  }
  return answer_value(Value::object({{"status", "ok"}, {"job_name", *job}}));
}

Response show_resolver(Exchange& exchange) {
  const auto file = schedule_resolver(exchange, exchange.part("name"));
  if (!file.ok()) {
    return answer_error(file.error());
  }
  return file->is_object() ? answer_value(*file)
                           : answer_error(Error::not_found("No resolver for this schedule"));
}

Response legacy_resolver(Exchange& exchange) {
  const auto file = schedule_resolver(exchange, exchange.part("name"));
  return file.ok() && file->is_object() ? answer_value(*file)
                                        : answer_detail(404, "No resolver for this schedule");
}

Response legacy_save(Exchange& exchange) {
  for (const char* required : {"name", "project", "cluster", "cron_expr"}) {
    const auto field = exchange.form.find(required);
    if (field == exchange.form.end() || field->second.empty()) {
      return answer_detail(422, fmt::format("{} is required", required));
    }
  }
  const auto saved = save_schedule(exchange, exchange.form);
  if (!saved.ok()) {
    return answer_form_page(exchange, saved.error().error.message);
  }
  Response response = answer_text("", "text/plain; charset=utf-8", 303);
  response.headers.emplace_back("Location", exchange.services.settings.base_path + "/schedules");
  return response;
}

}  // namespace

std::vector<Route> schedule_routes() {
  return {
      {.method = "GET",
       .path = "/api/v1/schedules",
       .summary = "List schedules",
       .handle = list_schedules,
       .shape = schedule_shape},
      {.method = "POST",
       .path = "/api/v1/schedules",
       .summary = "Create a schedule",
       .handle = create_schedule,
       .guard = Guard::Change,
       .body = {"name", "project", "cluster", "cron_expr", "pipeline", "preset", "owner",
                "timeZone", "overlap", "image_source", "service_account", "resolver_script",
                "resolver_image", "resolver_filename"}},
      {.method = "GET",
       .path = "/api/v1/schedules/preview",
       .summary = "Show a cron expression in words, and its next five runs",
       .handle = preview,
       .parameters = {"cron", "timeZone"}},
      {.method = "PUT",
       .path = "/api/v1/schedules/{name}",
       .summary = "Change a schedule",
       .handle = edit_schedule,
       .guard = Guard::Change,
       .body = {"name", "project", "cluster", "cron_expr", "pipeline", "preset", "owner",
                "timeZone", "overlap", "image_source", "service_account", "resolver_script",
                "resolver_image", "resolver_filename", "edit_target"}},
      {.method = "DELETE",
       .path = "/api/v1/schedules/{name}",
       .summary = "Delete a schedule",
       .handle = delete_route,
       .guard = Guard::Change},
      {.method = "POST",
       .path = "/api/v1/schedules/{name}/pause",
       .summary = "Pause a schedule",
       .handle = pause_route,
       .guard = Guard::Change,
       .body = {"until"}},
      {.method = "POST",
       .path = "/api/v1/schedules/{name}/resume",
       .summary = "Resume a schedule",
       .handle = resume_schedule_route,
       .guard = Guard::Change},
      {.method = "POST",
       .path = "/api/v1/schedules/{name}/trigger",
       .summary = "Run a schedule now",
       .handle = trigger_route,
       .guard = Guard::Change},
      {.method = "GET",
       .path = "/api/v1/schedules/{name}/runs",
       .summary = "List the jobs of a schedule",
       .handle = list_runs,
       .shape = job_shape},
      {.method = "GET",
       .path = "/api/v1/schedules/{name}/absent",
       .summary = "List starts of a schedule that were skipped or missed, with the reasons",
       .handle = list_absent_starts},
      {.method = "GET",
       .path = "/api/v1/schedules/{name}/resolver",
       .summary = "Show the script that computes values before each run of a schedule",
       .handle = show_resolver},
      {.method = "POST",
       .path = "/schedules",
       .summary = "Create or change a schedule by fournos-ui's form",
       .handle = legacy_save,
       .guard = Guard::Change},
      {.method = "POST",
       .path = "/api/schedules/{name}/toggle",
       .summary = "Pause or resume a schedule",
       .handle = legacy_toggle,
       .guard = Guard::Change},
      {.method = "POST",
       .path = "/api/schedules/{name}/trigger",
       .summary = "Run a schedule now",
       .handle = legacy_trigger,
       .guard = Guard::Change},
      {.method = "POST",
       .path = "/api/schedules/{name}/delete",
       .summary = "Delete a schedule",
       .handle = legacy_delete,
       .guard = Guard::Change},
      {.method = "GET",
       .path = "/api/schedules/{name}/resolver",
       .summary = "Show a schedule's resolver script",
       .handle = legacy_resolver},
  };
}

}  // namespace athanor::console
