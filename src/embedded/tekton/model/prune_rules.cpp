// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/model/prune_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/ascii.hpp"
#include "embedded/tekton/model/text.hpp"

namespace athanor::tekton {
namespace {

constexpr std::string_view kPrefix = "operator.tekton.dev/prune.";
constexpr std::string_view kFields[] = {
    "skip", "schedule", "keep", "keep-since", "prune-per-resource", "resources", "strategy"};
// Defaults of Tekton's operator.
constexpr std::string_view kUsualSchedule = "0 8 * * *";
constexpr std::int64_t kUsualKeep = 100;
constexpr std::int64_t kMost = 100'000'000;

std::optional<std::int64_t> count_of(std::string_view text) {
  const auto number = whole_number(text);
  return number && *number > 0 && *number <= kMost ? number : std::nullopt;
}

std::vector<std::string_view> names_of(std::string_view list) {
  std::vector<std::string_view> names = athanor::words_of(list, ',');
  std::ranges::transform(names, names.begin(), [](std::string_view name) { return trimmed(name); });
  return names;
}

bool is_flag(std::string_view value) {
  return value == "true" || value == "false";
}

using Given = std::map<std::string, std::string, std::less<>>;

// Takes the fields that are well-formed; names the others.
Given well_formed(const Value& source, std::string_view prefix,
                  std::vector<std::string>& problems) {
  Given given;
  for (const std::string_view field : kFields) {
    const std::string key = std::string(prefix) + std::string(field);
    const Value* value = source.find(key);
    if (value == nullptr || value->as_string().empty()) {
      continue;
    }
    if (std::string problem = prune_field_problem(field, value->as_string()); !problem.empty()) {
      problems.push_back(fmt::format("{} {}", key, problem));
    } else {
      given.emplace(field, value->str());
    }
  }
  return given;
}

std::string_view text_in(const Given& given, std::string_view field) {
  const auto found = given.find(field);
  return found == given.end() ? std::string_view() : std::string_view(found->second);
}

// Sets `keep` or `keep_since`: the namespace's strategy, its own fields, the general ones.
void set_limit(PruneRules& rules, const Given& own, const Given& general) {
  const auto value = [&](std::string_view field) {
    return own.contains(field) ? text_in(own, field) : text_in(general, field);
  };
  std::string_view strategy = text_in(own, "strategy");
  if (strategy.empty()) {
    const Given& source = own.contains("keep") || own.contains("keep-since") ? own : general;
    strategy = !source.contains("keep") && source.contains("keep-since") ? "keep-since" : "keep";
  }
  const auto limit = count_of(value(strategy));
  if (strategy == "keep-since" && limit) {
    rules.keep_since = std::chrono::minutes(*limit);
  } else {
    rules.keep = strategy == "keep" && limit ? *limit : kUsualKeep;
  }
}

bool is_system_namespace(std::string_view name) {
  return name.starts_with("kube-") || name.starts_with("openshift-");
}

}  // namespace

std::string prune_field_problem(std::string_view field, std::string_view value) {
  constexpr std::size_t kShown = 64;  // bytes of a wrong value
  const std::string shown = quoted(value.substr(0, kShown));
  if (field == "schedule") {
    const auto schedule = CronSchedule::parse(value);
    return schedule ? "" : "is no schedule: " + schedule.error().message;
  }
  if (field == "keep" || field == "keep-since") {
    return count_of(value) ? "" : "must be a whole number above 0: " + shown;
  }
  if (field == "skip" || field == "prune-per-resource") {
    return is_flag(value) ? "" : "must be true or false: " + shown;
  }
  if (field == "strategy") {
    return value == "keep" || value == "keep-since" ? "" : "must be keep or keep-since: " + shown;
  }
  const auto words = names_of(value);
  const bool good = !words.empty() && std::ranges::all_of(words, [](std::string_view word) {
    return word == "taskrun" || word == "pipelinerun";
  });
  return good ? "" : "must be taskrun, pipelinerun or both: " + shown;
}

PruneReading prune_rules(const Object& ns, const Value& config) {
  PruneReading reading;
  std::vector<std::string> of_config;  // admission refused these
  const Given general = well_formed(config, "", of_config);
  const Given own = well_formed(ns.metadata()["annotations"], kPrefix, reading.problems);
  std::string_view schedule = text_in(own, "schedule");
  if (schedule.empty()) {
    schedule = text_in(general, "schedule");
  }
  constexpr std::string_view kAsking[] = {"keep", "keep-since", "resources", "prune-per-resource"};
  const bool asks =
      std::ranges::any_of(kAsking, [&](std::string_view field) { return own.contains(field); });
  const bool is_wrong = ns.metadata()["annotations"].contains(std::string(kPrefix) + "schedule");
  if (schedule.empty() && asks && !is_wrong) {
    schedule = kUsualSchedule;
  }
  if (schedule.empty() || text_in(own, "skip") == "true" || is_system_namespace(ns.name())) {
    return reading;
  }
  PruneRules rules;
  rules.schedule = CronSchedule::parse(schedule).value_or(CronSchedule());
  const std::string_view resources =
      own.contains("resources") ? text_in(own, "resources") : text_in(general, "resources");
  if (!resources.empty()) {
    const auto words = names_of(resources);
    rules.pipeline_runs = std::ranges::find(words, "pipelinerun") != words.end();
    rules.task_runs = std::ranges::find(words, "taskrun") != words.end();
  }
  rules.per_resource =
      (own.contains("prune-per-resource") ? text_in(own, "prune-per-resource")
                                          : text_in(general, "prune-per-resource")) == "true";
  set_limit(rules, own, general);
  reading.rules = rules;
  return reading;
}

}  // namespace athanor::tekton
