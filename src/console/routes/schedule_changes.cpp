// SPDX-License-Identifier: Apache-2.0
#include "console/routes/schedule_changes.hpp"

#include <fmt/format.h>

#include <optional>

#include "api/builtin.hpp"
#include "console/data/schedule_rows.hpp"
#include "console/routes/schedule_form.hpp"
#include "kube/text/json.hpp"
#include "systems/fournos/schedules/resume.hpp"
#include "systems/fournos/schedules/scheduled_job.hpp"

namespace athanor::console {
namespace {

constexpr int kMissing = 404;

// Replaces an object that was read: a change since then is a conflict (409).
Result<Object> replace_object(Exchange& exchange, const Kind& kind, Value object) {
  const Value& metadata = object["metadata"];
  const std::string path = api_path(kind, metadata["namespace"].str(), metadata["name"].str());
  ATHANOR_TRY(Value written,
              exchange.services.port.call(
                  exchange.viewer(), {.method = "PUT", .path = path, .body = std::move(object)}));
  return Object(std::move(written));
}

// Creates the object, or replaces what is there.
Result<Object> put_object(Exchange& exchange, const Kind& kind, const Value& object) {
  constexpr int kConflictCode = 409;
  auto created = exchange.services.port.create(exchange.viewer(), kind, object);
  if (created.ok() || created.error().code != kConflictCode) {
    return created;
  }
  const Key key{object["metadata"]["namespace"].str(), object["metadata"]["name"].str()};
  ATHANOR_TRY(const Object known, exchange.services.port.get(exchange.viewer(), kind, key));
  if (known.label(kManagedBy) != kManager) {
    return created.error();
  }
  Value body = object;
  body.set_path({"metadata", "resourceVersion"}, known.resource_version());
  return replace_object(exchange, kind, std::move(body));
}

// Requires the account of the pods that submit. A viewer who may not read accounts saves unchecked.
Result<void> check_account(Exchange& exchange, const Value& schedule) {
  const Value& pod = schedule.at({"spec", "jobTemplate", "spec", "template", "spec"});
  const std::string account = pod["serviceAccountName"].str();
  const std::string ns = exchange.services.settings.jobs_ns;
  if (account.empty()) {
    return {};
  }
  const auto found =
      exchange.services.port.get(exchange.viewer(), api::kServiceAccount, {ns, account});
  return found.ok() || found.error().code != kMissing
             ? Result<void>()
             : Result<void>(fournos::missing_account(ns, account));
}

// Returns the file of a schedule's resolver and its content; null: it has none.
Result<Value> resolver_file(Exchange& exchange, const Object& schedule) {
  const std::string map(schedule.annotation(kResolverMap));
  if (map.empty()) {
    return Value();
  }
  auto object = exchange.services.port.get(exchange.viewer(), api::kConfigMap,
                                           {std::string(schedule.ns()), map});
  if (!object.ok()) {
    return object.error().code == kMissing ? Result<Value>(Value()) : object.error();
  }
  const Value& data = object->body()["data"];
  if (data.empty()) {
    return Value();
  }
  const Member& file = data.members().front();
  return Value::object({{"filename", file.key()}, {"content", file.value}});
}

// Copies an unchanged resolver into the form: a renamed schedule needs its own ConfigMap.
Result<void> keep_resolver(Exchange& exchange, const Object& before, FormFields& form) {
  if (form.contains("resolver_script")) {
    return {};
  }
  ATHANOR_TRY(const Value file, resolver_file(exchange, before));
  if (file.is_object()) {
    form.insert_or_assign("resolver_script", file["content"].str());
    form.try_emplace("resolver_filename", file["filename"].str());
    form.try_emplace("resolver_image",
                     std::string(before.annotation("fournos-launcher/resolver-image")));
  }
  return {};
}

}  // namespace

Result<Object> find_schedule(Exchange& exchange, const std::string& name) {
  const Settings& settings = exchange.services.settings;
  auto found =
      exchange.services.port.get(exchange.viewer(), api::kCronJob, {settings.jobs_ns, name});
  if (found.ok() && !is_managed(*found)) {
    return Error::not_found("Schedule not found");
  }
  if (!found.ok() && found.error().code == 404) {
    return Error::not_found("Schedule not found");
  }
  return found;
}

Result<Value> schedule_resolver(Exchange& exchange, const std::string& name) {
  ATHANOR_TRY(const Object schedule, find_schedule(exchange, name));
  return resolver_file(exchange, schedule);
}

Result<std::string, FormError> save_schedule(Exchange& exchange, const FormFields& given) {
  const Settings& settings = exchange.services.settings;
  const std::string& ns = settings.jobs_ns;
  FormFields form = given;
  const std::string target = form_field(form, "edit_target");
  const std::string name = form_field(form, "name", target);
  const auto failed = [&](const Error& error, std::string field = {}) {
    note_change(exchange, "save schedule", "CronJob/" + ns + "/" + name, &error);
    return FormError{.error = error, .field = std::move(field)};
  };
  const Submitter submitter{.ns = ns,
                            .image = settings.submit_image.empty()
                                         ? "athanor:" + exchange.services.version
                                         : settings.submit_image,
                            .account = settings.submit_account};
  std::optional<Object> before;
  Result<Value, FormError> schedule = Value();
  if (!target.empty()) {
    auto found = find_schedule(exchange, target);
    if (!found.ok()) {
      return failed(found.error());
    }
    before = *std::move(found);
    const auto kept = target == name ? Result<void>() : keep_resolver(exchange, *before, form);
    if (!kept.ok()) {
      return failed(kept.error());
    }
    schedule = edited_schedule(form, submitter, *before);
  } else {
    schedule = schedule_of_form(form, submitter);
  }
  if (!schedule.ok()) {
    return schedule.error();
  }
  if (!before && find_schedule(exchange, name).ok()) {
    return FormError{.error = Error::conflict(fmt::format("schedule {} exists", name)),
                     .field = "name"};
  }
  auto account = check_account(exchange, *schedule);
  if (!account.ok() && before && !form.contains("service_account")) {
    // fournos-ui names an account that nothing creates (A11 F8).
    set_account(*schedule, submitter.account);
    account = check_account(exchange, *schedule);
  }
  if (!account.ok()) {
    return failed(Error::invalid("service_account", account.error().message), "service_account");
  }
  if (has_resolver(form)) {
    const auto map = put_object(exchange, api::kConfigMap, resolver_map(form, ns));
    if (!map.ok()) {
      return failed(map.error());
    }
  }
  const auto written = before && target == name ? replace_object(exchange, api::kCronJob, *schedule)
                                                : put_object(exchange, api::kCronJob, *schedule);
  if (!written.ok()) {
    return failed(written.error());
  }
  note_change(exchange, "save schedule", "CronJob/" + ns + "/" + name, nullptr);
  if (!target.empty() && target != name) {
    const auto removed = delete_schedule(exchange, target);
    if (!removed.ok()) {
      return failed(removed.error());
    }
  }
  return name;
}

Result<std::string> suspend_schedule(Exchange& exchange, const std::string& name, Suspend how) {
  ATHANOR_TRY(const Object schedule, find_schedule(exchange, name));
  const bool suspend =
      how == Suspend::Toggle ? !schedule.spec()["suspend"].as_bool() : how == Suspend::Pause;
  Value patch = Value::object({{"spec", Value::object({{"suspend", suspend}})}});
  Value until;
  if (how == Suspend::Pause && !exchange.body["until"].is_null()) {
    const auto end = parse_time(exchange.body["until"].as_string());
    if (!end || *end <= exchange.now()) {
      return Error::bad_request("until must be a time to come, as 2026-01-31T08:00:00Z");
    }
    until = format_time(*end);
  }
  Value annotations = Value::object();
  annotations.set(fournos::kPausedUntil, until);
  patch.set("metadata", Value::object({{"annotations", std::move(annotations)}}));
  const auto patched =
      exchange.services.port.patch(exchange.viewer(), api::kCronJob, schedule.key(), patch);
  note_change(exchange, suspend ? "pause" : "resume", "CronJob/" + schedule.key().text(),
              patched.ok() ? nullptr : &patched.error());
  if (!patched.ok()) {
    return patched.error();
  }
  return fmt::format("{} is {}", name, suspend ? "paused" : "active");
}

Result<std::string> delete_schedule(Exchange& exchange, const std::string& name) {
  ATHANOR_TRY(const Object schedule, find_schedule(exchange, name));
  const Value options = Value::object(
      {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"propagationPolicy", "Foreground"}});
  const auto removed =
      exchange.services.port.remove(exchange.viewer(), api::kCronJob, schedule.key(), options);
  note_change(exchange, "delete", "CronJob/" + schedule.key().text(),
              removed.ok() ? nullptr : &removed.error());
  if (!removed.ok()) {
    return removed.error();
  }
  const std::string map(schedule.annotation(kResolverMap));
  if (!map.empty()) {
    const auto gone = exchange.services.port.remove(exchange.viewer(), api::kConfigMap,
                                                    {std::string(schedule.ns()), map});
    if (!gone.ok() && gone.error().code != 404) {
      return gone.error();
    }
  }
  return fmt::format("{} deleted", name);
}

Result<std::string> trigger_schedule(Exchange& exchange, const std::string& name) {
  ATHANOR_TRY(const Object schedule, find_schedule(exchange, name));
  const Value job = fournos::manual_start(schedule, exchange.now());
  const auto created = exchange.services.port.create(exchange.viewer(), api::kJob, job);
  note_change(exchange, "trigger", "CronJob/" + schedule.key().text(),
              created.ok() ? nullptr : &created.error());
  if (!created.ok()) {
    return created.error();
  }
  return job["metadata"]["name"].str();
}

net::Response answer_form_page(Exchange& exchange, const std::string& message) {
  const auto index = exchange.services.files("index.html");
  if (!index) {
    return answer_text(message + "\n", "text/plain; charset=utf-8");
  }
  Value fields = Value::object();
  for (const auto& [name, value] : exchange.form) {
    if (name != "csrf") {
      fields.set(name, value);
    }
  }
  return answer_text(
      page_with_head(index->bytes(), {.base = exchange.services.settings.base_path + "/",
                                      .message = message,
                                      .form = json::print(fields)}),
      index->content_type);
}

}  // namespace athanor::console
