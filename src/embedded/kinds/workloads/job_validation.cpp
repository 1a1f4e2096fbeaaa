// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/workloads/job_validation.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/files/time_zone_files.hpp"
#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/pods/pod_spec.hpp"
#include "embedded/kinds/workloads/job_status_rules.hpp"
#include "kube/names/selector.hpp"
#include "kube/text/cron.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::size_t kCronJobName = 52;  // the controller appends 11 characters

bool is_indexed(const Value& spec) {
  return spec["completionMode"].as_string() == "Indexed";
}

void check_restart_policy(FieldErrors& errors, const Value& spec, const std::string& path) {
  const Value& policy = spec["template"]["spec"]["restartPolicy"];
  const std::string field = path + ".template.spec.restartPolicy";
  if (policy.as_string() == "Always" || policy.as_string().empty()) {
    errors.push_back(FieldError::required(field, R"(valid values: "OnFailure", "Never")"));
  } else if (!is_one_of(policy.as_string(), {"OnFailure", "Never"})) {
    errors.push_back(FieldError::not_supported(field, policy, {"OnFailure", "Never"}));
  } else if (!spec["podFailurePolicy"].is_null() && policy.as_string() != "Never") {
    errors.push_back(FieldError::invalid(
        field, policy, R"(only "Never" is supported when podFailurePolicy is specified)"));
  }
}

void check_failure_policy(FieldErrors& errors, const Value& spec, const std::string& path) {
  const Value& rules = spec["podFailurePolicy"]["rules"];
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::string here = at(path + ".podFailurePolicy.rules", i);
    const Value& rule = rules[i];
    if (require(errors, here + ".action", rule["action"])) {
      check_choice(errors, here + ".action", rule["action"],
                   {"Count", "FailIndex", "FailJob", "Ignore"});
    }
    const bool codes = !rule["onExitCodes"].is_null();
    const bool conditions = !rule["onPodConditions"].empty();
    if (codes && conditions) {
      errors.push_back(FieldError::invalid(
          here, rule, "specifying both OnExitCodes and OnPodConditions is not supported"));
    } else if (!codes && !conditions) {
      errors.push_back(FieldError::invalid(
          here, rule, "specifying one of OnExitCodes and OnPodConditions is required"));
    }
    if (codes) {
      check_choice(errors, here + ".onExitCodes.operator", rule["onExitCodes"]["operator"],
                   {"In", "NotIn"});
      require(errors, here + ".onExitCodes.values", rule["onExitCodes"]["values"]);
    }
  }
}

void check_job_spec(FieldErrors& errors, const Value& spec, const std::string& path) {
  for (const std::string_view field :
       {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
        "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"}) {
    check_not_negative(errors, below(path, field), spec[field]);
  }
  if (!spec["completionMode"].is_null()) {
    check_choice_always(errors, path + ".completionMode", spec["completionMode"],
                        {"NonIndexed", "Indexed"});
  }
  if (is_indexed(spec) && spec["completions"].is_null()) {
    errors.push_back(
        FieldError::required(path + ".completions", "when completion mode is Indexed"));
  }
  if (!is_indexed(spec)) {
    for (const std::string_view field : {"backoffLimitPerIndex", "maxFailedIndexes"}) {
      if (!spec[field].is_null()) {
        errors.push_back(FieldError::invalid(below(path, field), spec[field],
                                             "requires indexed completion mode"));
      }
    }
  }
  check_choice(errors, path + ".podReplacementPolicy", spec["podReplacementPolicy"],
               {"Failed", "TerminatingOrFailed"});
  if (const std::string_view manager = spec["managedBy"].as_string();
      !manager.empty() && manager.find('/') == std::string_view::npos) {
    errors.push_back(FieldError::invalid(
        path + ".managedBy", manager, "must be a domain-prefixed path (such as \"acme.io/foo\")"));
  }
  check_failure_policy(errors, spec, path);
  append(errors, validate_pod_template(spec["template"], path + ".template"));
  check_restart_policy(errors, spec, path);
}

// A suspended job that never started may still get its place.
Value without_scheduling(Value pod_template, const Value& old_template) {
  const auto restore = [&](std::string_view part, std::initializer_list<std::string_view> fields) {
    edit_member(pod_template, part, [&](Value& value) {
      for (const std::string_view field : fields) {
        if (const Value* old = old_template[part].find(field)) {
          value.set(field, *old);
        } else if (value.contains(field)) {
          value.erase(field);
        }
      }
    });
  };
  restore("metadata", {"labels", "annotations"});
  restore("spec", {"nodeSelector", "tolerations", "schedulingGates"});
  // Of the affinity only what is said of nodes.
  const Value& old_affinity = old_template["spec"]["affinity"];
  Value affinity = pod_template["spec"]["affinity"];
  affinity = affinity.is_null() ? Value::object() : affinity;
  affinity.erase("nodeAffinity");
  if (const Value* nodes = old_affinity.find("nodeAffinity")) {
    affinity.set("nodeAffinity", *nodes);
  }
  Value& spec = pod_template.member("spec");
  if (!affinity.empty() || !old_affinity.is_null()) {
    spec.set("affinity", std::move(affinity));
  } else if (spec.contains("affinity")) {
    spec.erase("affinity");
  }
  return pod_template;
}

void check_spec_change(FieldErrors& errors, const Value& object, const Value& old_object) {
  const Value& spec = object["spec"];
  const Value& old_spec = old_object["spec"];
  if (!is_indexed(spec)) {
    check_unchanged(errors, "spec.completions", spec["completions"], old_spec["completions"]);
  } else if (!spec["completions"].is_null() && spec["completions"] != old_spec["completions"] &&
             spec["completions"] != spec["parallelism"]) {
    errors.push_back(FieldError::invalid("spec.completions", spec["completions"],
                                         "can only be modified in tandem with spec.parallelism"));
  }
  for (const std::string_view field : {"selector", "completionMode", "podFailurePolicy",
                                       "backoffLimitPerIndex", "managedBy", "successPolicy"}) {
    check_unchanged(errors, below("spec", field), spec[field], old_spec[field]);
  }
  Value pod_template = spec["template"];
  const Value& old_template = old_spec["template"];
  const bool waiting = old_spec["suspend"].as_bool() && old_object["status"]["startTime"].is_null();
  if (waiting && pod_template != old_template) {
    pod_template = without_scheduling(std::move(pod_template), old_template);
  }
  if (pod_template != old_template) {
    errors.push_back(FieldError::invalid("spec.template", spec["template"], kImmutable));
  }
}

constexpr std::string_view kJobNameLabel = "batch.kubernetes.io/job-name";

// What the server put into a job whose selector it made.
void check_generated(FieldErrors& errors, const Value& object) {
  const Value& spec = object["spec"];
  if (spec["manualSelector"].as_bool() || spec["selector"].is_null()) {
    return;
  }
  const Value& labels = spec["template"]["metadata"]["labels"];
  const Value& uid = object["metadata"]["uid"];
  const Value& name = object["metadata"]["name"];
  for (const auto& [label, wanted] :
       {std::pair<std::string_view, const Value*>{"controller-uid", &uid},
        {"job-name", &name},
        {kControllerUidLabel, &uid},
        {kJobNameLabel, &name}}) {
    const std::string here = at("spec.template.metadata.labels", label);
    const std::string text = fmt::format("must be '{}'", wanted->as_string());
    if (labels[label].is_null()) {
      errors.push_back(FieldError::required(here, text));
    } else if (labels[label].as_string() != wanted->as_string()) {
      errors.push_back(FieldError::invalid(here, shown_labels(labels), text));
    }
  }
  const Value expected = Value::object({{"controller-uid", uid},
                                        {"job-name", name},
                                        {kControllerUidLabel, uid},
                                        {kJobNameLabel, name}});
  const auto selector = LabelSelector::from_value(spec["selector"]);
  if (selector.ok() && !selector->matches(expected)) {
    errors.push_back(FieldError::invalid("spec.selector", shown_selector(spec["selector"]),
                                         "`selector` not auto-generated"));
  }
}

void check_selected(FieldErrors& errors, const Value& spec) {
  const auto selector = LabelSelector::from_value(spec["selector"]);
  const Value& labels = spec["template"]["metadata"]["labels"];
  // One that is not there selects nothing.
  if (spec["selector"].is_null() || (selector.ok() && !selector->matches(labels))) {
    errors.push_back(FieldError::invalid("spec.template.metadata.labels", shown_labels(labels),
                                         "`selector` does not match template `labels`"));
  }
}

void check_selector_of(FieldErrors& errors, const Value& spec) {
  if (spec["selector"].is_null()) {
    errors.push_back(FieldError::required("spec.selector"));
  } else {
    check_label_selector(errors, "spec.selector", spec["selector"]);
  }
}

}  // namespace

FieldErrors validate_job(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& spec = object["spec"];
  check_generated(errors, object);
  check_job_spec(errors, spec, "spec");
  check_selector_of(errors, spec);
  check_selected(errors, spec);
  if (is_indexed(spec) && spec["completions"].as_int() > 0) {
    // The last pod's host name is the longest.
    const std::string host = fmt::format("{}-{}", object["metadata"]["name"].as_string(),
                                         spec["completions"].as_int() - 1);
    if (validate_dns1123_label(host)) {
      errors.push_back(FieldError::invalid(
          "metadata.name", object["metadata"]["name"].as_string(),
          fmt::format("will not able to create pod with invalid DNS label: {}", host)));
    }
  }
  return errors;
}

FieldErrors validate_job_update(const Value& object, const Value& old_object,
                                const KindContext& context) {
  if (context.subresource == "status") {
    return validate_job_status(object, old_object);
  }
  if (object["spec"] == old_object["spec"] &&
      object["metadata"]["uid"] == old_object["metadata"]["uid"]) {
    return {};
  }
  FieldErrors errors = validate_job(object, context);
  check_spec_change(errors, object, old_object);
  return errors;
}

FieldErrors validate_cron_job(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& spec = object["spec"];
  const std::string name = object["metadata"]["name"].str();
  if (name.size() > kCronJobName) {
    errors.push_back(
        FieldError::invalid("metadata.name", name, "must be no more than 52 characters"));
  }
  const std::string schedule = spec["schedule"].str();
  if (schedule.empty()) {
    errors.push_back(FieldError::required("spec.schedule"));
  } else if (schedule.find("TZ") != std::string::npos) {
    errors.push_back(
        FieldError::invalid("spec.schedule", schedule,
                            "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"));
  } else if (const auto parsed = CronSchedule::parse(schedule); !parsed.ok()) {
    errors.push_back(FieldError::invalid("spec.schedule", schedule, parsed.error().message));
  }
  if (const Value* zone = spec.find("timeZone")) {
    const std::string_view text = zone->as_string();
    if (text.empty()) {
      errors.push_back(
          FieldError::invalid("spec.timeZone", text, "timeZone must be nil or non-empty string"));
    } else if (text == "Local" || text == "local") {
      errors.push_back(FieldError::invalid("spec.timeZone", text,
                                           "timeZone must be an explicit time zone as defined in "
                                           "https://www.iana.org/time-zones"));
    } else if (const auto found = find_time_zone(text); !found.ok()) {
      errors.push_back(FieldError::invalid("spec.timeZone", text, found.error().message));
    }
  }
  check_choice(errors, "spec.concurrencyPolicy", spec["concurrencyPolicy"],
               {"Allow", "Forbid", "Replace"});
  for (const std::string_view field :
       {"startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"}) {
    check_not_negative(errors, below("spec", field), spec[field]);
  }
  check_job_spec(errors, spec["jobTemplate"]["spec"], "spec.jobTemplate.spec");
  return errors;
}

FieldErrors validate_cron_job_update(const Value& object, const Value& old_object,
                                     const KindContext& context) {
  if (!context.subresource.empty() || object["spec"] == old_object["spec"]) {
    return {};
  }
  return validate_cron_job(object, context);
}

}  // namespace athanor::apiserver
