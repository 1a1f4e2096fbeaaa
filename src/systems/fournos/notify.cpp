// SPDX-License-Identifier: Apache-2.0
#include "systems/fournos/notify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/builtin.hpp"
#include "api/describe_ops.hpp"
#include "kube/text/json.hpp"
#include "systems/fournos/job.hpp"

namespace athanor::fournos {
namespace {

constexpr Duration kFirstPause = std::chrono::seconds(1);
constexpr Duration kMostPause = std::chrono::minutes(5);
// A receiver that was away for a day has other worries; jobs that ended before that are not
// announced when the setting is made.
constexpr Duration kPatience = std::chrono::hours(24);
constexpr Duration kOldAnswer = std::chrono::hours(24 * 365);
constexpr std::size_t kLongestFailure = 200;

Step annotate(const Object& job, std::string text) {
  return Patch{
      .target = {&api::kFournosJob, job.key()},
      .merge = Value::object(
          {{"metadata", Value::object({{"annotations", Value::object({{kNotified, text}})}})}}),
      .guard = {.uid = std::string(job.uid())}};
}

Plan give_up(const Object& job, const Error& error) {
  Plan plan;
  plan.then(annotate(job, "failed: " + error.message.substr(0, kLongestFailure)));
  plan.then(Emit{.about = {&api::kFournosJob, job.key()},
                 .about_uid = std::string(job.uid()),
                 .type = "Warning",
                 .reason = "NotificationFailed",
                 .note = fmt::format("the end of the job was not announced for {}: {}",
                                     format_age(kPatience), error.message)});
  return plan;
}

Plan reconcile_notification(const View& view, const Key& key, Instant now) {
  const auto settings = api::decode<Settings>(view.config("fournos"));
  const auto job = settings.notify_url.empty() ? std::nullopt : view.get(api::kFournosJob, key);
  if (!job || job->deleting() || key.ns != settings.workload_namespace ||
      !is_terminal(job->status()["phase"].as_string()) || !job->annotation(kNotified).empty()) {
    return Plan::done();
  }
  const Instant end = ended_at(*job);
  if (now - end > kPatience) {
    return Plan::done();
  }
  const Notification notification = notification_of(*job, end, settings.notify_format());
  const std::string query =
      fmt::format("{}:{}", kNotifyProbe,
                  json::print(Value::object({{"url", settings.notify_url},
                                             {"contentType", notification.content_type},
                                             {"body", json::print(notification.body)}})));
  Observed seen = view.observe(query, kOldAnswer);
  if (seen.value) {
    Plan plan;
    plan.then(annotate(*job, format_time(seen.at)));
    return plan;
  }
  if (!seen.error) {
    return Plan::done();  // asked; runs again with the answer
  }
  const Instant again = seen.at + notify_pause(seen.at - end);
  if (again - end > kPatience) {
    return give_up(*job, *seen.error);
  }
  Plan plan;
  if (again > now) {
    plan.wake_at(again);
  } else {
    static_cast<void>(view.observe(query, now - again));
  }
  return plan;
}

}  // namespace

Duration notify_pause(Duration since_end) {
  return std::clamp(since_end, kFirstPause, kMostPause);
}

Notification notification_of(const Object& job, Instant end, NotifyFormat format) {
  const Value& spec = job.spec();
  const Value& status = job.status();
  Value data = Value::object({{"name", job.name()},
                              {"namespace", job.ns()},
                              {"uid", job.uid()},
                              {"phase", status["phase"]},
                              {"message", status["message"].str()},
                              {"owner", spec["owner"].str()},
                              {"displayName", spec["displayName"].str()},
                              {"cluster", status["cluster"].str()},
                              {"pipeline", spec["pipeline"].str()},
                              {"completedAt", format_time(end)}});
  if (const auto created = job.creation_time()) {
    data.set("createdAt", format_time(*created));
  }
  if (!status["dashboardURL"].as_string().empty()) {
    data.set("dashboardURL", status["dashboardURL"]);
  }
  if (format == NotifyFormat::Json) {
    return {.content_type = "application/json", .body = std::move(data)};
  }
  const std::string phase = status["phase"].str();
  std::string type = "dev.fournos.job." + phase;
  std::ranges::transform(type, type.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return {.content_type = "application/cloudevents+json",
          .body = Value::object(
              {{"specversion", "1.0"},
               {"id", fmt::format("{}/{}", job.uid(), phase)},
               {"source", fmt::format("/apis/fournos.dev/v1/namespaces/{}/fournosjobs/{}", job.ns(),
                                      job.name())},
               {"type", type},
               {"subject", job.name()},
               {"time", format_time(end)},
               {"datacontenttype", "application/json"},
               {"data", std::move(data)}})};
}

const Operator& notify_operator() {
  static constexpr const Kind* kReads[] = {&api::kFournosJob};
  static constexpr const Kind* kWrites[] = {&api::kFournosJob};
  static constexpr Access kAccess[] = {{&api::kFournosJob, "patch"},
                                       {&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = "fournos-notify",
                                  .primary = &api::kFournosJob,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_notification,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::fournos
