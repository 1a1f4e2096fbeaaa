// SPDX-License-Identifier: Apache-2.0
// One CronJob: its finished jobs, its history, its next start.
#include "embedded/workloads/jobs/cron_job.hpp"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "embedded/workloads/closing.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "kube/text/cron.hpp"
#include "kube/text/text.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::workloads {
namespace {

constexpr const char* kScheduledAnnotation = "batch.kubernetes.io/cronjob-scheduled-timestamp";
constexpr std::int64_t kManyMissed = 100;
constexpr Duration kZoneAge = std::chrono::hours(24);

// "Complete", "Failed", or empty while the job runs.
std::string end_of(const Object& job) {
  for (const char* type : {"Complete", "Failed"}) {
    if (condition_is(job.status()["conditions"], type, "True")) {
      return type;
    }
  }
  return {};
}

struct Missed {
  std::optional<Instant> latest{};  // the start that is due
  bool many = false;
};

Missed missed_starts(const CronSchedule& schedule, const TimeZone& zone, Instant since,
                     Instant now) {
  const auto first = schedule.next(since, zone);
  if (!first || now < *first) {
    return {};
  }
  const auto second = schedule.next(*first, zone);
  if (!second || now < *second) {
    return {.latest = first};
  }
  const Duration step = *second - *first;
  const std::int64_t count = (now - *first) / step + 1;
  Missed missed{.latest = first, .many = count > kManyMissed};
  // From one step before the estimate on, by the schedule itself.
  for (auto at = schedule.next(*first + (count - 2) * step, zone); at && *at <= now;
       at = schedule.next(*at, zone)) {
    missed.latest = at;
  }
  return missed;
}

class CronJobRun {
 public:
  CronJobRun(const View& view, const Object& cron, Instant now)
      : view_(view), cron_(cron), now_(now) {
    jobs_ = view.list(
        api::kJob,
        {.ns = std::string(cron.ns()), .index = "owner", .index_value = std::string(cron.uid())});
    last_ = parse_time(cron.status()["lastScheduleTime"].as_string());
    succeeded_ = parse_time(cron.status()["lastSuccessfulTime"].as_string());
  }

  Plan run() {
    check_jobs();
    forget_history();
    if (!cron_.deleting() && zone_and_schedule() && !cron_.spec()["suspend"].as_bool()) {
      start_when_due();
    }
    write_status();
    closing_.finish(plan_);
    return std::move(plan_);
  }

 private:
  [[nodiscard]] bool was_active(std::string_view uid) const {
    return std::ranges::any_of(cron_.status()["active"].items(), [&](const Value& reference) {
      return reference["uid"].as_string() == uid;
    });
  }

  void check_jobs() {
    for (const Object& job : jobs_) {
      const std::string end = end_of(job);
      if (end.empty()) {
        // Jobs made by hand (kubectl create job --from) are none of the schedule's business.
        if (!job.annotation(kScheduledAnnotation).empty() || was_active(job.uid())) {
          active_.push_back(job);
        } else {
          closing_.emit("Warning", "UnexpectedJob",
                        fmt::format("Saw a job that the controller did not create or forgot: {}",
                                    job.name()));
        }
        continue;
      }
      if (was_active(job.uid())) {
        closing_.emit("Normal", "SawCompletedJob",
                      fmt::format("Saw completed job: {}, condition: {}", job.name(), end));
      }
      const auto completed = parse_time(job.status()["completionTime"].as_string());
      if (end == "Complete" && completed && (!succeeded_ || *completed > *succeeded_)) {
        succeeded_ = completed;
      }
    }
    for (const Value& reference : cron_.status()["active"].items()) {
      const bool known = std::ranges::any_of(
          jobs_, [&](const Object& job) { return job.uid() == reference["uid"].as_string(); });
      if (!known) {
        closing_.emit("Normal", "MissingJob",
                      fmt::format("Active job went missing: {}", reference["name"].as_string()));
      }
    }
  }

  void forget_history() {
    for (const auto& [end, field, fallback] :
         {std::tuple{"Complete", "successfulJobsHistoryLimit", std::int64_t{3}},
          {"Failed", "failedJobsHistoryLimit", std::int64_t{1}}}) {
      std::vector<Object> ended;
      for (const Object& job : jobs_) {
        if (end_of(job) == end && !job.deleting()) {
          ended.push_back(job);
        }
      }
      std::ranges::stable_sort(ended, {}, [](const Object& job) {
        return std::pair(job.status()["startTime"].str(), std::string(job.name()));
      });
      const std::int64_t many =
          static_cast<std::int64_t>(ended.size()) - cron_.spec()[field].as_int(fallback);
      for (std::int64_t i = 0; i < many; ++i) {
        remove(ended[static_cast<std::size_t>(i)]);
      }
    }
  }

  void remove(const Object& job) {
    plan_.then(Delete{.target = {&api::kJob, job.key()}, .guard = {.uid = std::string(job.uid())}});
    closing_.emit("Normal", "SuccessfulDelete", fmt::format("Deleted job {}", job.name()));
  }

  // False while the zone is unknown, or for good.
  bool zone_and_schedule() {
    const std::string text = cron_.spec()["schedule"].str();
    auto schedule = CronSchedule::parse(text);
    if (!schedule.ok()) {
      closing_.emit(
          "Warning", "UnparseableSchedule",
          fmt::format("unparseable schedule: {} : {}", go_quote(text), schedule.error().message));
      return false;
    }
    schedule_ = *std::move(schedule);
    const std::string name = cron_.spec()["timeZone"].str();
    if (name.empty()) {
      return true;
    }
    const Observed observed = view_.observe("timezone:" + name, kZoneAge);
    if (observed.error) {
      closing_.emit(
          "Warning", "UnknownTimeZone",
          fmt::format("invalid timeZone: {}: unknown time zone {}", go_quote(name), name));
      return false;
    }
    if (!observed.value) {
      return false;  // asked; runs again with the answer
    }
    const auto bytes = base64_decode((*observed.value)["tzif"].as_string());
    const auto zone = bytes ? TimeZone::parse(*bytes) : std::nullopt;
    zone_ = zone.value_or(TimeZone{});
    return zone.has_value();
  }

  void start_when_due() {
    if (const auto next = schedule_.next(now_, zone_)) {
      plan_.wake_at(*next);
    }
    Instant since = last_.value_or(cron_.creation_time().value_or(now_));
    const Value& deadline = cron_.spec()["startingDeadlineSeconds"];
    if (deadline.is_integer()) {
      since = std::max(since, now_ - std::chrono::seconds(deadline.as_int()));
    }
    const Missed missed = missed_starts(schedule_, zone_, since, now_);
    if (missed.many) {
      closing_.emit(
          "Warning", "TooManyMissedTimes",
          "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check "
          "clock skew");
    }
    if (!missed.latest || last_ == missed.latest) {
      return;
    }
    if (deadline.is_integer() && *missed.latest + std::chrono::seconds(deadline.as_int()) < now_) {
      closing_.emit(
          "Warning", "MissSchedule",
          fmt::format("Missed scheduled time to start a job: {:%a, %d %b %Y %H:%M:%S} +0000",
                      std::chrono::floor<std::chrono::seconds>(*missed.latest)));
      return;
    }
    const std::string_view policy = cron_.spec()["concurrencyPolicy"].as_string();
    if (policy == "Forbid" && !active_.empty()) {
      closing_.emit(
          "Normal", "JobAlreadyActive",
          "Not starting job because prior execution is running and concurrency policy is Forbid");
      return;
    }
    if (policy == "Replace") {
      for (const Object& job : active_) {
        remove(job);
      }
      active_.clear();
    }
    start(*missed.latest);
  }

  void start(Instant scheduled) {
    const Value& job_template = cron_.spec()["jobTemplate"];
    const std::string name =
        fmt::format("{}-{}", cron_.name(),
                    std::chrono::floor<std::chrono::minutes>(scheduled).time_since_epoch().count());
    // Names count minutes: a start in the minute of another one has its Job already.
    const auto present = view_.get(api::kJob, {std::string(cron_.ns()), name});
    if (present && !present->deleting() && present->controller() &&
        present->controller()->uid == cron_.uid()) {
      last_ = scheduled;
      return;
    }
    Value metadata = Value::object({{"name", name}, {"namespace", cron_.ns()}});
    for (const char* part : {"labels", "annotations"}) {
      if (job_template["metadata"].contains(part)) {
        metadata.set(part, job_template["metadata"][part]);
      }
    }
    metadata.set_path({"annotations", kScheduledAnnotation}, local_time(scheduled));
    metadata.set("ownerReferences", Value::list({controller_reference(cron_, api::kCronJob)}));
    Step step = Create{.target = {&api::kJob, {std::string(cron_.ns()), name}},
                       .object = Value::object({{"apiVersion", "batch/v1"},
                                                {"kind", "Job"},
                                                {"metadata", metadata},
                                                {"spec", job_template["spec"]}})};
    if (const auto error = refused(view_, step)) {
      closing_.emit("Warning", "FailedCreate",
                    fmt::format("Error creating job: {}", error->message));
      closing_.retry_last(std::move(step));
      return;
    }
    plan_.then(std::move(step));
    closing_.emit("Normal", "SuccessfulCreate", fmt::format("Created job {}", name));
    last_ = scheduled;
  }

  // RFC 3339 in the job's own zone.
  [[nodiscard]] std::string local_time(Instant instant) const {
    const std::int64_t offset = zone_.offset(instant);
    if (offset == 0) {
      return format_time(instant);
    }
    std::string text = format_time(instant + std::chrono::seconds(offset));
    text.pop_back();
    const std::int64_t minutes = std::abs(offset) / 60;
    return fmt::format("{}{}{:02}:{:02}", text, offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
  }

  void write_status() {
    Value active = Value::list();
    for (const Object& job : active_) {
      active.push_back(Value::object({{"kind", "Job"},
                                      {"namespace", job.ns()},
                                      {"name", job.name()},
                                      {"uid", job.uid()},
                                      {"apiVersion", "batch/v1"},
                                      {"resourceVersion", resource_version_of(job)}}));
    }
    const auto time = [](const std::optional<Instant>& instant) {
      return instant ? Value(format_time(*instant)) : Value();
    };
    plan_.then(Status{.target = {&api::kCronJob, cron_.key()},
                      .status = Value::object({{"active", active.empty() ? Value() : active},
                                               {"lastScheduleTime", time(last_)},
                                               {"lastSuccessfulTime", time(succeeded_)}}),
                      .guard = {.uid = std::string(cron_.uid())}});
  }

  // The one a reference was made with: it does not follow the job's changes.
  [[nodiscard]] std::string resource_version_of(const Object& job) const {
    for (const Value& reference : cron_.status()["active"].items()) {
      if (reference["uid"].as_string() == job.uid()) {
        return reference["resourceVersion"].str();
      }
    }
    return std::string(job.resource_version());
  }

  const View& view_;
  const Object& cron_;
  Instant now_;
  std::vector<Object> jobs_{};
  std::vector<Object> active_{};
  std::optional<Instant> last_{};
  std::optional<Instant> succeeded_{};
  CronSchedule schedule_{};
  TimeZone zone_{};
  Closing closing_{api::kCronJob, cron_};
  Plan plan_{};
};

Plan reconcile_cron_job(const View& view, const Key& key, Instant now) {
  const auto cron = view.get(api::kCronJob, key);
  return cron ? CronJobRun(view, *cron, now).run() : Plan::done();
}

}  // namespace

const Operator& cron_job_operator() {
  static const Kind* const kReads[] = {&api::kCronJob, &api::kJob};
  static const Kind* const kWrites[] = {&api::kCronJob, &api::kJob, &api::kEvent};
  static const Operator kOperator{.name = "cronjob-controller",
                                  .primary = &api::kCronJob,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_cron_job};
  return kOperator;
}

}  // namespace athanor::workloads
