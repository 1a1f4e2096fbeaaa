// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/workloads/job_status_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.hpp"
#include "base/time.hpp"
#include "kube/text/text.hpp"
#include "kube/value/condition.hpp"

namespace athanor::apiserver {
namespace {

// An error about the conditions names none of them.
FieldError bad_conditions(std::string_view text) {
  return {.reason = "FieldValueInvalid",
          .field = "status.conditions",
          .detail = fmt::format("Invalid value: {}", text)};
}

struct Interval {
  std::int64_t first = 0;
  std::int64_t last = 0;
};
struct ParsedInterval {
  Interval interval{};
  std::string error{};  // empty: fine
};

std::vector<std::string_view> split_indexes(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0;; ++at) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    if (end == text.size()) {
      return parts;
    }
    at = end;
  }
}

// "3" or "3-5", below the number of completions.
ParsedInterval parse_interval(std::string_view text, std::int64_t completions) {
  const std::vector<std::string_view> parts = split_indexes(text, '-');
  if (parts.size() > 2) {
    return {.error = fmt::format("the fragment {} violates the requirement that an index interval "
                                 "can have at most two parts separated by '-'",
                                 go_quote(text))};
  }
  std::vector<std::int64_t> limits;
  for (const std::string_view part : parts) {
    const auto number = whole_number(part);
    if (!number) {
      return {.error =
                  fmt::format("cannot convert string to integer for index: {}", go_quote(part))};
    }
    if (*number >= completions) {
      return {.error = fmt::format("too large index: {}", go_quote(part))};
    }
    limits.push_back(*number);
  }
  if (limits.size() == 2 && limits.front() >= limits.back()) {
    return {.error = fmt::format("non-increasing order, previous: {}, current: {}", limits.front(),
                                 limits.back())};
  }
  return {.interval = {.first = limits.front(), .last = limits.back()}};
}

// What is wrong with a list of intervals; empty: nothing.
std::string indexes_error(std::string_view text, std::int64_t completions) {
  if (text.empty()) {
    return "";
  }
  std::optional<std::int64_t> last;
  for (const std::string_view part : split_indexes(text, ',')) {
    const ParsedInterval parsed = parse_interval(part, completions);
    if (!parsed.error.empty()) {
      return parsed.error;
    }
    if (last && *last >= parsed.interval.first) {
      return fmt::format("non-increasing order, previous: {}, current: {}", *last,
                         parsed.interval.first);
    }
    last = parsed.interval.last;
  }
  return "";
}

// The intervals of a list, sorted; what does not parse is reported elsewhere.
std::vector<Interval> intervals_of(std::string_view list, std::int64_t completions) {
  std::vector<Interval> intervals;
  for (const std::string_view part : split_indexes(list, ',')) {
    if (const ParsedInterval parsed = parse_interval(part, completions); parsed.error.empty()) {
      intervals.push_back(parsed.interval);
    }
  }
  std::ranges::sort(intervals, {}, &Interval::first);
  return intervals;
}

// The first index that is in both lists.
std::optional<std::int64_t> common_index(std::string_view completed, std::string_view failed,
                                         std::int64_t completions) {
  const std::vector<Interval> ours = intervals_of(completed, completions);
  const std::vector<Interval> theirs = intervals_of(failed, completions);
  // Passes the interval that starts first; `reached` of each list is the last index it covers so
  // far, since intervals of a wrong list may overlap.
  std::optional<std::int64_t> ours_reached;
  std::optional<std::int64_t> theirs_reached;
  for (std::size_t i = 0, k = 0; i < ours.size() || k < theirs.size();) {
    const bool is_ours =
        k == theirs.size() || (i < ours.size() && ours[i].first <= theirs[k].first);
    const Interval next = is_ours ? ours[i++] : theirs[k++];
    const auto& other = is_ours ? theirs_reached : ours_reached;
    if (other && *other >= next.first) {
      return next.first;
    }
    auto& reached = is_ours ? ours_reached : theirs_reached;
    reached = std::max(reached.value_or(next.last), next.last);
  }
  return std::nullopt;
}

// One write of a status. Lives for one call.
class StatusRules {
 public:
  StatusRules(const Value& job, const Value& old_job)
      : spec_(job["spec"]), now_(job["status"]), before_(old_job["status"]) {}

  FieldErrors run() {
    check_counters();
    check_uncounted();
    check_outcomes();
    check_times();
    check_finished();
    check_indexes();
    if ((changed("ready") || changed("active")) &&
        now_["ready"].as_int() > now_["active"].as_int()) {
      invalid("ready", now_["ready"], "cannot set more ready pods than active");
    }
    check_success();
    check_transitions();
    return std::move(errors_);
  }

 private:
  [[nodiscard]] bool is(std::string_view type) const {
    return condition_is(now_["conditions"], type, "True");
  }
  [[nodiscard]] bool was(std::string_view type) const {
    return condition_is(before_["conditions"], type, "True");
  }
  [[nodiscard]] bool turned(std::string_view type) const { return is(type) != was(type); }
  [[nodiscard]] bool finished() const { return is("Complete") || is("Failed"); }
  [[nodiscard]] bool finish_changed() const {
    return finished() != (was("Complete") || was("Failed"));
  }
  [[nodiscard]] bool changed(std::string_view field) const { return now_[field] != before_[field]; }
  [[nodiscard]] bool number_changed(std::string_view field) const {
    return now_[field].as_int() != before_[field].as_int();
  }
  [[nodiscard]] bool is_indexed() const { return spec_["completionMode"].as_string() == "Indexed"; }

  void invalid(std::string_view field, const Value& value, std::string_view text) {
    errors_.push_back(FieldError::invalid(below("status", field), value, text));
  }

  void check_counters() {
    for (const std::string_view counter :
         {"active", "succeeded", "failed", "ready", "terminating"}) {
      check_not_negative(errors_, below("status", counter), now_[counter]);
    }
  }

  void check_uncounted() {
    std::set<std::string_view> seen;
    for (const std::string_view list : {"succeeded", "failed"}) {
      const Value& uids = now_["uncountedTerminatedPods"][list];
      for (std::size_t i = 0; i < uids.size(); ++i) {
        const std::string here = at(below("status.uncountedTerminatedPods", list), i);
        const std::string_view uid = uids[i].as_string();
        if (uid.empty()) {
          errors_.push_back(FieldError::invalid(here, uid, "must not be empty"));
        } else if (!seen.insert(uid).second) {
          errors_.push_back(FieldError::duplicate(here, uid));
        }
      }
    }
  }

  // A Job ends in one way.
  void check_outcomes() {
    if (is("Complete") && is("Failed") && (turned("Complete") || turned("Failed"))) {
      errors_.push_back(bad_conditions("cannot set Complete=True and Failed=true conditions"));
    }
    if (is("Complete") && is("FailureTarget") && (turned("Complete") || turned("FailureTarget"))) {
      errors_.push_back(
          bad_conditions("cannot set Complete=True and FailureTarget=true conditions"));
    }
    if (is("Failed") && !is("FailureTarget") && (turned("Failed") || changed("failedIndexes"))) {
      errors_.push_back(bad_conditions(
          "cannot set Failed=True condition without the FailureTarget=true condition"));
    }
    if (is("Complete") && !is("SuccessCriteriaMet") &&
        (turned("Complete") || turned("SuccessCriteriaMet"))) {
      errors_.push_back(bad_conditions(
          "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"));
    }
  }

  void check_times() {
    const Value& completion = now_["completionTime"];
    if (turned("Complete") || changed("completionTime")) {
      if (!completion.is_null() && !is("Complete")) {
        invalid("completionTime", completion,
                "cannot set completionTime when there is no Complete=True condition");
      }
      if (completion.is_null() && is("Complete")) {
        errors_.push_back(FieldError::required("status.completionTime",
                                               "completionTime is required for Complete jobs"));
      }
    }
    const auto start = parse_time(now_["startTime"].as_string());
    const auto end = parse_time(completion.as_string());
    if ((changed("startTime") || changed("completionTime")) && start && end && *end < *start) {
      invalid("completionTime", completion, "must be equal to or after `startTime`");
    }
  }

  void check_finished() {
    if (!finished()) {
      return;
    }
    if ((finish_changed() || number_changed("active")) && now_["active"].as_int() > 0) {
      invalid("active", now_["active"], "active>0 is invalid for finished job");
    }
    const bool never_started =
        spec_["suspend"].as_bool() && spec_["completions"] == Value(0);  // nor will it ever
    if ((finish_changed() || changed("startTime")) && !never_started &&
        now_["startTime"].is_null()) {
      errors_.push_back(
          FieldError::required("status.startTime", "startTime is required for finished job"));
    }
    const Value& uncounted = now_["uncountedTerminatedPods"];
    if ((finish_changed() || changed("uncountedTerminatedPods")) &&
        uncounted["succeeded"].size() + uncounted["failed"].size() > 0) {
      invalid("uncountedTerminatedPods", uncounted, "must be empty for finished job");
    }
    if ((finish_changed() || changed("terminating")) && now_["terminating"].as_int() > 0) {
      invalid("terminating", now_["terminating"], "terminating>0 is invalid for finished job");
    }
  }

  void check_indexes() {
    const std::string_view completed = now_["completedIndexes"].as_string();
    const Value& failed = now_["failedIndexes"];
    const bool completed_changed = completed != before_["completedIndexes"].as_string();
    const bool failed_changed = changed("failedIndexes");
    const bool counted = !spec_["completions"].is_null();
    const std::int64_t completions = spec_["completions"].as_int();
    const bool by_index = !spec_["backoffLimitPerIndex"].is_null();
    const auto check_format = [&](std::string_view field, std::string_view text) {
      if (const std::string error = indexes_error(text, completions); !error.empty()) {
        invalid(field, text, fmt::format("error parsing {}: {}", field, error));
      }
    };
    if (completed_changed && counted) {
      check_format("completedIndexes", completed);
    }
    if (failed_changed && counted && by_index && !failed.is_null()) {
      check_format("failedIndexes", failed.as_string());
    }
    if (completed_changed && !completed.empty() && !is_indexed()) {
      invalid("completedIndexes", completed,
              "cannot set non-empty completedIndexes when non-indexed completion mode");
    }
    if (failed_changed && !by_index && !failed.is_null()) {
      invalid("failedIndexes", failed,
              "cannot set non-null failedIndexes when backoffLimitPerIndex is null");
    }
    if ((failed_changed || completed_changed) && counted && !completed.empty() &&
        !failed.as_string().empty()) {
      if (const auto both = common_index(completed, failed.as_string(), completions)) {
        invalid("failedIndexes", failed,
                fmt::format("failedIndexes and completedIndexes overlap at index: {}", *both));
      }
    }
  }

  void check_success() {
    for (const std::string_view other : {"Failed", "FailureTarget"}) {
      if (is("SuccessCriteriaMet") && is(other)) {
        errors_.push_back(bad_conditions(
            fmt::format("cannot set SuccessCriteriaMet=True and {}=true conditions", other)));
      }
    }
  }

  // What may not be taken back.
  void check_transitions() {
    for (const std::string_view type : {"Failed", "Complete", "FailureTarget"}) {
      if (was(type) && !is(type)) {
        errors_.push_back(
            bad_conditions(fmt::format("cannot disable the terminal {}=True condition", type)));
      }
    }
    // All of an indexed Job may be scaled down.
    const bool scalable = is_indexed() && spec_["completions"] == spec_["parallelism"];
    for (const std::string_view counter : {"failed", "succeeded"}) {
      if ((counter == "failed" || !scalable) &&
          now_[counter].as_int() < before_[counter].as_int()) {
        invalid(counter, now_[counter].as_int(),
                fmt::format("cannot decrease the {} counter", counter));
      }
    }
    if (!now_["completionTime"].is_null() && !before_["completionTime"].is_null() &&
        changed("completionTime")) {
      invalid("completionTime", now_["completionTime"], kImmutable);
    }
    const bool resumes = was("Suspended") && condition_is(now_["conditions"], "Suspended", "False");
    if (!before_["startTime"].is_null() && changed("startTime") && !resumes &&
        !spec_["suspend"].as_bool()) {
      errors_.push_back(FieldError::required("status.startTime",
                                             "startTime cannot be removed for unsuspended job"));
    }
    if (was("SuccessCriteriaMet") && !is("SuccessCriteriaMet")) {
      errors_.push_back(bad_conditions("cannot disable the SuccessCriteriaMet=True condition"));
    }
    if (was("Complete") && !was("SuccessCriteriaMet") && is("SuccessCriteriaMet")) {
      errors_.push_back(bad_conditions(
          "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"));
    }
  }

  const Value& spec_;
  const Value& now_;
  const Value& before_;
  FieldErrors errors_{};
};

}  // namespace

FieldErrors validate_job_status(const Value& job, const Value& old_job) {
  return StatusRules(job, old_job).run();
}

}  // namespace athanor::apiserver
