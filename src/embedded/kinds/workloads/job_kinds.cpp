// SPDX-License-Identifier: Apache-2.0
// Defaults and table of Jobs and CronJobs (docs/spec/apiserver.md 14.2, Appendix T).
#include <fmt/format.h>

#include <array>

#include "embedded/kinds/cells.hpp"
#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/kind_table.hpp"
#include "embedded/kinds/pods/pod_spec.hpp"
#include "embedded/kinds/pods/pod_warnings.hpp"
#include "embedded/kinds/workloads/job_validation.hpp"
#include "kube/value/condition.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::int64_t kNoLimit = 2'147'483'647;

// The labels under which a job finds its pods, under their names of today and of old.
void prepare_job(Value& object, const KindContext& /*context*/) {
  const Value uid = object["metadata"]["uid"];
  const Value name = object["metadata"]["name"];
  // Labels that were taken from the template are the same map there: both get the new ones.
  const bool shared =
      object["metadata"]["labels"].empty() ||
      object["metadata"]["labels"].identical(object["spec"]["template"]["metadata"]["labels"]);
  if (!object["spec"]["manualSelector"].as_bool()) {
    Value& spec = object.member("spec");
    Value& labels = spec.member("template").member("metadata").member("labels");
    default_to(labels, kControllerUidLabel, uid);
    default_to(labels, "batch.kubernetes.io/job-name", name);
    default_to(labels, "controller-uid", uid);
    default_to(labels, "job-name", name);
    default_to(spec.member("selector").member("matchLabels"), kControllerUidLabel, uid);
  }
  const Value labels = object["spec"]["template"]["metadata"]["labels"];
  if (shared && !labels.empty()) {
    object.member("metadata").set("labels", labels);
  }
}

void default_failure_policy(Value& policy) {
  edit_items(policy, "rules", [](Value& rule) {
    edit_items(rule, "onPodConditions",
               [](Value& condition) { default_zero(condition, "status", "True"); });
  });
}

void default_job(Value& object, const KindContext& /*context*/) {
  const Value labels = object["spec"]["template"]["metadata"]["labels"];
  if (object["metadata"]["labels"].empty() && !labels.empty()) {
    object.member("metadata").set("labels", labels);
  }
  edit_member(object, "spec", [](Value& spec) {
    if (spec["completions"].is_null() && spec["parallelism"].is_null()) {
      spec.set("completions", 1);
    }
    default_to(spec, "parallelism", 1);
    default_to(spec, "backoffLimit", spec["backoffLimitPerIndex"].is_null() ? 6 : kNoLimit);
    default_to(spec, "completionMode", "NonIndexed");
    default_to(spec, "suspend", false);
    default_to(spec, "manualSelector", false);
    const bool failure_policy = !spec["podFailurePolicy"].is_null();
    default_to(spec, "podReplacementPolicy", failure_policy ? "Failed" : "TerminatingOrFailed");
    if (failure_policy) {
      edit_member(spec, "podFailurePolicy", default_failure_policy);
    }
    edit_member(spec, "template", default_pod_template);
  });
}

void default_cron_job(Value& object, const KindContext& /*context*/) {
  edit_member(object, "spec", [](Value& spec) {
    default_to(spec, "concurrencyPolicy", "Allow");
    default_to(spec, "suspend", false);
    default_to(spec, "successfulJobsHistoryLimit", 3);
    default_to(spec, "failedJobsHistoryLimit", 1);
    edit_member(spec, "jobTemplate", [](Value& job) {
      edit_member(job, "spec", [](Value& job_spec) {
        edit_member(job_spec, "template", default_pod_template);
        if (!job_spec["podFailurePolicy"].is_null()) {
          edit_member(job_spec, "podFailurePolicy", default_failure_policy);
        }
      });
    });
  });
}

std::string job_status(const Value& job) {
  const Value& conditions = job["status"]["conditions"];
  for (const std::string_view type : {"Complete", "Failed"}) {
    if (condition_is(conditions, type, "True")) {
      return std::string(type);
    }
  }
  if (job["metadata"].contains("deletionTimestamp")) {
    return "Terminating";
  }
  for (const std::string_view type : {"Suspended", "FailureTarget", "SuccessCriteriaMet"}) {
    if (condition_is(conditions, type, "True")) {
      return std::string(type);
    }
  }
  return "Running";
}

std::string job_completions(const Value& job) {
  const Value& spec = job["spec"];
  const std::int64_t succeeded = job["status"]["succeeded"].as_int();
  if (!spec["completions"].is_null()) {
    return fmt::format("{}/{}", succeeded, spec["completions"].as_int());
  }
  const std::int64_t parallelism = spec["parallelism"].as_int();
  return parallelism > 1 ? fmt::format("{}/1 of {}", succeeded, parallelism)
                         : fmt::format("{}/1", succeeded);
}

std::string job_duration(const Value& job, Instant now) {
  const auto start = parse_time(job["status"]["startTime"].as_string());
  if (!start) {
    return "";
  }
  const auto end = parse_time(job["status"]["completionTime"].as_string());
  return format_age(end.value_or(now) - *start);
}

Cells job_cells(const Value& job, Instant now) {
  const Value& pods = job["spec"]["template"]["spec"];
  return {name_cell(job),       job_status(job),
          job_completions(job), job_duration(job, now),
          age_cell(job, now),   containers_cell(pods),
          images_cell(pods),    selector_cell(job["spec"]["selector"])};
}

Cells cron_job_cells(const Value& object, Instant now) {
  const Value& spec = object["spec"];
  const Value& pods = spec["jobTemplate"]["spec"]["template"]["spec"];
  return {name_cell(object),
          spec["schedule"].str(),
          text_cell(spec["timeZone"]),
          spec["suspend"].as_bool() ? "True" : "False",
          static_cast<std::int64_t>(object["status"]["active"].size()),
          since_cell(object["status"]["lastScheduleTime"], now, kNone),
          age_cell(object, now),
          containers_cell(pods),
          images_cell(pods),
          selector_cell(spec["jobTemplate"]["spec"]["selector"])};
}

void warn_of_job(const Value& object, const Value& old_object, const KindContext& context) {
  if (object["metadata"]["generation"] != old_object["metadata"]["generation"]) {
    warn_of_pod_spec(object["spec"]["template"]["spec"], "spec.template.spec", *context.warnings);
  }
}

void warn_of_cron_job(const Value& object, const Value& old_object, const KindContext& context) {
  if (object["metadata"]["generation"] != old_object["metadata"]["generation"]) {
    warn_of_pod_spec(object["spec"]["jobTemplate"]["spec"]["template"]["spec"],
                     "spec.jobTemplate.spec.template.spec", *context.warnings);
  }
}

constexpr std::array kJobRows = {
    KindRow{.group = "batch",
            .plural = "jobs",
            .behaviour = {.apply_defaults = &default_job,
                          .prepare_create = &prepare_job,
                          .validate_create = &validate_job,
                          .validate_update = &validate_job_update,
                          .warn = &warn_of_job,
                          .cells = &job_cells}},
    KindRow{.group = "batch",
            .plural = "cronjobs",
            .behaviour = {.apply_defaults = &default_cron_job,
                          .validate_create = &validate_cron_job,
                          .validate_update = &validate_cron_job_update,
                          .warn = &warn_of_cron_job,
                          .cells = &cron_job_cells}},
};

}  // namespace

std::span<const KindRow> job_rows() {
  return kJobRows;
}

}  // namespace athanor::apiserver
