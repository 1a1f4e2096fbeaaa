// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/model/runs.hpp"

#include <charconv>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "kube/text/json.hpp"
#include "kube/value/condition.hpp"

namespace athanor::tekton {

std::string user_error_prefix() {
  return "[User error] ";
}

bool is_pipeline_run(const Object& run) {
  return run.kind() == "PipelineRun";
}

std::size_t attempt_of(const Object& run) {
  const std::string_view text = run.label(kAttemptLabel);
  std::size_t attempt = 0;
  std::from_chars(text.data(), text.data() + text.size(), attempt);
  return attempt;
}

bool is_custom_run(const Object& run) {
  return run.kind() == "CustomRun";
}

const Value& succeeded(const Object& run) {
  return find_condition(run.status()["conditions"], "Succeeded");
}

bool is_done(const Object& run) {
  const std::string_view status = succeeded(run)["status"].as_string();
  return status == "True" || status == "False";
}

bool is_foreign(const Object& run) {
  const std::string_view manager = run.spec()["managedBy"].as_string();
  return !manager.empty() && manager != "tekton.dev/pipeline";
}

std::optional<Duration> duration_of(const Value& text) {
  if (text.as_string().empty()) {
    return std::nullopt;
  }
  const auto duration = parse_go_duration(text.as_string());
  return duration ? std::optional(*duration) : std::nullopt;
}

std::optional<Instant> time_of(const Value& text) {
  return text.is_string() ? parse_time(text.as_string()) : std::nullopt;
}

bool outcome_changes(const Object& run, const Outcome& outcome) {
  const Value& current = succeeded(run);
  return current.is_null() || current["status"].as_string() != outcome.status ||
         current["reason"].as_string() != outcome.reason ||
         current["message"].as_string() != outcome.message;
}

Value conditions_with(const Object& run, const Outcome& outcome, Instant now) {
  if (!outcome_changes(run, outcome)) {
    return Value::list({succeeded(run)});
  }
  Value condition = Value::object({{"type", "Succeeded"},
                                   {"status", outcome.status},
                                   {"reason", outcome.reason},
                                   {"lastTransitionTime", format_time(now)}});
  if (!outcome.message.empty()) {
    condition.set("message", outcome.message);
  }
  return Value::list({std::move(condition)});
}

void emit_started(Plan& plan, const Ref& about, const Object& run) {
  plan.then(Emit{.about = about, .about_uid = std::string(run.uid()), .reason = "Started"});
}

void emit_outcome(Plan& plan, const Ref& about, const Object& run, const Outcome& outcome) {
  if (!outcome_changes(run, outcome)) {
    return;
  }
  Emit event{.about = about,
             .about_uid = std::string(run.uid()),
             .reason = outcome.reason,
             .note = outcome.message};
  if (outcome.status == "True") {
    event.reason = "Succeeded";
  } else if (outcome.status == "False") {
    event.type = "Warning";
    event.reason = "Failed";
  }
  plan.then(std::move(event));
}

Value merged_maps(const Value& base, const Value& over) {
  Value merged = base.is_object() ? base : Value::object();
  for (const Member& member : over.members()) {
    merged.set(member.key(), member.value);
  }
  return merged;
}

Value inherited_annotations(const Value& annotations) {
  Value inherited = annotations.is_object() ? annotations : Value::object();
  inherited.erase(kLastAppliedAnnotation);
  return inherited;
}

Value merged_named(const Value& base, const Value& over, std::string_view key) {
  if (over.empty()) {
    return base.is_list() ? base : Value::list();
  }
  std::vector<Value> merged(base.items().begin(), base.items().end());
  std::map<std::string, std::size_t> places;  // of the first item of each name
  for (std::size_t i = 0; i < merged.size(); ++i) {
    places.emplace(json::print(merged[i][key]), i);
  }
  for (const Value& item : over.items()) {
    const auto [place, fresh] = places.emplace(json::print(item[key]), merged.size());
    if (fresh) {
      merged.push_back(item);
    } else {
      merged[place->second] = item;
    }
  }
  return Value::list(std::move(merged));
}

Value merged_pod_templates(const Value& base, const Value& over) {
  if (!base.is_object() || base.empty()) {
    return over;
  }
  Value merged = base;
  for (const Member& member : over.members()) {
    const std::string_view key = member.key();
    if (key == "env" || key == "volumes" || key == "imagePullSecrets") {
      merged.set(key, merged_named(base[key], member.value));
    } else {
      merged.set(key, member.value);
    }
  }
  return merged;
}

}  // namespace athanor::tekton
