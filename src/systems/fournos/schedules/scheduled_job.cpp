// SPDX-License-Identifier: Apache-2.0
#include "systems/fournos/schedules/scheduled_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/builtin.hpp"
#include "kube/text/cron.hpp"
#include "kube/text/json.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::fournos {
namespace {

constexpr std::size_t kLongestName = 52;  // a CronJob's, whose Jobs get a suffix
constexpr std::size_t kLongestJob = 63;
constexpr std::string_view kJobVariable = "FJOB_JSON";
constexpr std::string_view kJobNameLabel = "metadata.labels['batch.kubernetes.io/job-name']";

Value field_variable(std::string_view name, std::string_view path) {
  return Value::object(
      {{"name", name},
       {"valueFrom", Value::object({{"fieldRef", Value::object({{"fieldPath", path}})}})}});
}

// The job as its pods submit it, labelled with its schedule.
Value submitted_job(const ScheduleSpec& spec) {
  Value job = spec.job;
  Value& metadata = job.member("metadata");
  metadata.erase("name");
  metadata.erase("namespace");
  metadata.set("generateName", spec.name + "-");
  metadata.set_path({"labels", kScheduleName}, spec.name);
  metadata.set_path({"labels", kTriggerType}, "scheduled");
  return job;
}

std::string project_of(const Value& spec) {
  const std::string project = spec["forge"]["project"].str();
  return project.empty() ? spec.at({"executionEngine", "forge", "project"}).str() : project;
}

Value schedule_metadata(const ScheduleSpec& spec) {
  const Value& job = spec.job["spec"];
  const std::string project = project_of(job);
  Value labels = Value::object({{kScheduleManagedBy, kScheduleManager}});
  if (const std::string label = project_label(project); !label.empty()) {
    labels.set("fournos-launcher/project", label);
  }
  Value annotations = Value::object();
  for (const auto& [key, text] : {std::pair{"project", project},
                                  {"cluster", job["cluster"].str()},
                                  {"pipeline", job["pipeline"].str()},
                                  {"preset", spec.preset},
                                  {"owner", job["owner"].str()}}) {
    annotations.set(fmt::format("fournos-launcher/{}", key), text);
  }
  return Value::object({{"name", spec.name},
                        {"namespace", spec.ns},
                        {"labels", std::move(labels)},
                        {"annotations", std::move(annotations)}});
}

Value schedule_pod(const ScheduleSpec& spec) {
  Value arguments = Value::list();
  for (const std::string& word : submit_arguments()) {
    arguments.push_back(word);
  }
  const Value variables = Value::list(
      {Value::object({{"name", kJobVariable}, {"value", json::print(submitted_job(spec))}}),
       job_name_variable(), field_variable("FOURNOS_NAMESPACE", "metadata.namespace")});
  const Value container =
      Value::object({{"name", "submit"},
                     {"image", spec.image},
                     {"args", std::move(arguments)},
                     {"env", variables},
                     {"securityContext", Value::object({{"allowPrivilegeEscalation", false}})}});
  Value pod = Value::object({{"restartPolicy", "Never"}, {"containers", Value::list({container})}});
  if (!spec.service_account.empty()) {
    pod.set("serviceAccountName", spec.service_account);
  }
  return pod;
}

const Value* variable_of(const Value& container, std::string_view name) {
  for (const Value& variable : container["env"].items()) {
    if (variable["name"].as_string() == name) {
      return &variable["value"];
    }
  }
  return nullptr;
}

// Lines KEY=VALUE; those that start with # and those without = are ignored.
void add_resolved(Value& overrides, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = line.find('=');
    if (!line.starts_with('#') && equals != std::string_view::npos && equals > 0) {
      overrides.set(line.substr(0, equals), line.substr(equals + 1));
    }
  }
}

}  // namespace

std::string project_label(std::string text) {
  std::ranges::replace_if(
      text,
      [](char c) {
        return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '-' || c == '_' || c == '.');
      },
      '-');
  text = text.substr(0, kLongestJob);
  const auto is_edge = [](char c) { return c == '-' || c == '_' || c == '.'; };
  while (!text.empty() && is_edge(text.back())) {
    text.pop_back();
  }
  while (!text.empty() && is_edge(text.front())) {
    text.erase(0, 1);
  }
  return text;
}

std::vector<std::string> submit_arguments() {
  return {"submit", "--from-environment"};
}

Value job_name_variable() {
  return field_variable("FOURNOS_JOB_NAME", kJobNameLabel);
}

bool is_submit_image(std::string_view image) {
  image = image.substr(0, image.find('@'));
  image = image.substr(image.rfind('/') + 1);
  return image.substr(0, image.find(':')) == "athanor";
}

Error missing_account(std::string_view ns, std::string_view account) {
  return Error::not_found(
      fmt::format("service account \"{}\" not found in namespace {}", account, ns));
}

Result<Value> schedule_object(const ScheduleSpec& spec) {
  if (spec.name.empty() || spec.name.size() > kLongestName) {
    return Error::bad_request(
        fmt::format("schedule \"{}\": a name has 1 to {} bytes", spec.name, kLongestName));
  }
  if (const auto schedule = CronSchedule::parse(spec.cron); !schedule.ok()) {
    return Error::bad_request(
        fmt::format("schedule {}: \"{}\": {}", spec.name, spec.cron, schedule.error().message));
  }
  if (spec.image.empty()) {
    return Error::bad_request(
        fmt::format("schedule {}: the image that submits the job is missing", spec.name));
  }
  const Value job_template = Value::object(
      {{"metadata",
        Value::object({{"labels", Value::object({{kScheduleManagedBy, kScheduleManager}})}})},
       {"spec", Value::object({{"backoffLimit", 0},
                               {"template", Value::object({{"spec", schedule_pod(spec)}})}})}});
  Value cron_spec = Value::object({{"schedule", spec.cron},
                                   {"suspend", false},
                                   {"concurrencyPolicy", spec.overlap},
                                   {"successfulJobsHistoryLimit", 3},
                                   {"failedJobsHistoryLimit", 3},
                                   {"jobTemplate", job_template}});
  if (!spec.zone.empty()) {
    cron_spec.set("timeZone", spec.zone);
  }
  if (spec.deadline_seconds) {
    cron_spec.set("startingDeadlineSeconds", *spec.deadline_seconds);
  }
  return Value::object({{"apiVersion", api::kCronJob.api_version()},
                        {"kind", api::kCronJob.name},
                        {"metadata", schedule_metadata(spec)},
                        {"spec", std::move(cron_spec)}});
}

std::optional<Value> job_of_schedule(const Object& cron) {
  const Value& pod = cron.spec().at({"jobTemplate", "spec", "template", "spec"});
  for (const Value& container : pod["containers"].items()) {
    const Value* text = variable_of(container, kJobVariable);
    if (text == nullptr) {
      continue;
    }
    auto job = json::parse(text->as_string());
    if (job.ok() && job->is_object()) {
      return *std::move(job);
    }
  }
  return std::nullopt;
}

Value manual_start(const Object& cron, Instant now) {
  std::string stamp = format_time(now);  // 2026-01-31T08:00:05Z
  std::erase_if(stamp, [](char c) { return c == '-' || c == ':' || c == 'Z'; });
  std::ranges::replace(stamp, 'T', '-');
  const std::string name = fmt::format("{}-manual-{}", cron.name(), stamp).substr(0, kLongestJob);
  const Value& job_template = cron.spec()["jobTemplate"];
  Value metadata = job_template["metadata"];
  metadata.set("name", name);
  metadata.set("namespace", cron.ns());
  metadata.set_path({"labels", kScheduleManagedBy}, kScheduleManager);
  metadata.set_path({"labels", "fournos-launcher/triggered-by"}, "manual");
  metadata.set_path({"annotations", "cronjob.kubernetes.io/instantiate"}, "manual");
  metadata.set("ownerReferences",
               Value::list({Value::object({{"apiVersion", api::kCronJob.api_version()},
                                           {"kind", api::kCronJob.name},
                                           {"name", cron.name()},
                                           {"uid", cron.uid()}})}));
  Value spec = job_template["spec"];
  Value& pod = spec.member("template").member("spec");
  for (const char* list : {"initContainers", "containers"}) {
    if (!pod[list].is_list()) {
      continue;
    }
    Value& containers = pod.member(list);
    for (std::size_t i = 0; i < containers.size(); ++i) {
      Value& variables = containers.item(i).member("env");
      Value kept = Value::list();
      for (const Value& variable : variables.items()) {
        if (variable["name"].as_string() != "FOURNOS_TRIGGER_TYPE") {
          kept.push_back(variable);
        }
      }
      kept.push_back(Value::object({{"name", "FOURNOS_TRIGGER_TYPE"}, {"value", "manual"}}));
      variables = std::move(kept);
    }
  }
  return Value::object({{"apiVersion", api::kJob.api_version()},
                        {"kind", api::kJob.name},
                        {"metadata", std::move(metadata)},
                        {"spec", std::move(spec)}});
}

Result<Value> scheduled_job(const Variables& variables, std::string_view resolved) {
  const auto text = variables(kJobVariable);
  if (!text) {
    return Error::bad_request(fmt::format("{} is not set", kJobVariable));
  }
  auto job = json::parse(*text);
  if (!job.ok()) {
    return job.error().with_context(kJobVariable);
  }
  if ((*job)["kind"].as_string() != api::kFournosJob.name) {
    return Error::bad_request(
        fmt::format("{} is a {}, not a FournosJob", kJobVariable, json::print((*job)["kind"])));
  }
  Value& metadata = job->member("metadata");
  if (const auto trigger = variables("FOURNOS_TRIGGER_TYPE"); trigger && !trigger->empty()) {
    metadata.set_path({"labels", kTriggerType}, *trigger);
  }
  if (const auto name = variables("FOURNOS_JOB_NAME"); name && !name->empty()) {
    metadata.set("name", *name);
    metadata.erase("generateName");
  }
  if (!resolved.empty()) {
    Value& spec = job->member("spec");
    Value& forge = spec.contains("executionEngine") ? spec.member("executionEngine").member("forge")
                                                    : spec.member("forge");
    add_resolved(forge.member("configOverrides"), resolved);
  }
  return job;
}

}  // namespace athanor::fournos
