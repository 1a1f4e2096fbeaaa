// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/model/cloud_events.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <string_view>
#include <utility>

#include "api/tekton.hpp"
#include "base/ascii.hpp"
#include "base/digest.hpp"
#include "embedded/tekton/model/conversion.hpp"
#include "kube/text/json.hpp"

namespace athanor::tekton {
namespace {

constexpr std::string_view kVerb = "cloudevent";  // of client/webhook_poster.hpp
constexpr std::string_view kPayloadVersion = "tekton.dev/v1beta1";
constexpr Duration kNeverStale = std::chrono::hours(24 * 365);
constexpr int kNotFound = 404;
constexpr std::size_t kDigest = 16;  // characters of an id's digest

// "PipelineRun" as "pipelineRun", the payload's only key.
std::string payload_key(std::string_view kind) {
  std::string key(kind);
  key[0] = static_cast<char>(key[0] - 'A' + 'a');
  return key;
}

// Returns an id that is the same for the same event.
std::string event_id(const Object& run, const Value& condition, std::string_view stage) {
  if (stage != "unknown") {
    return fmt::format("{}-{}", run.uid(), stage);
  }
  const std::string what = condition["reason"].str() + "\n" + condition["message"].str();
  return fmt::format("{}-{}-{}", run.uid(), stage, sha256_hex(what).substr(0, kDigest));
}

std::string event_source(const Object& run) {
  return fmt::format("/apis/{}/namespaces/{}/{}s/{}", kPayloadVersion, run.ns(), lower(run.kind()),
                     run.name());
}

Value headers_of(const Object& run, std::string_view id, std::string_view stage, Instant now) {
  const std::string kind = lower(run.kind());
  return Value::object({{"Ce-Id", id},
                        {"Ce-Source", event_source(run)},
                        {"Ce-Specversion", "1.0"},
                        {"Ce-Subject", run.name()},
                        {"Ce-Time", format_time(now)},
                        {"Ce-Type", fmt::format("dev.tekton.event.{}.{}.v1", kind, stage)},
                        {"Content-Type", "application/json"}});
}

const Kind& kind_of(const Object& run) {
  if (is_custom_run(run)) {
    return api::kCustomRun;
  }
  return run.kind() == api::kTaskRun.name ? api::kTaskRun : api::kPipelineRun;
}

// Plans CloudEventFailed for the event with this id, once.
void tell_failure(Plan& plan, const Object& run, std::string id, std::string why) {
  plan.then(Emit{.about = {&kind_of(run), run.key()},
                 .about_uid = std::string(run.uid()),
                 .type = "Warning",
                 .reason = "CloudEventFailed",
                 .note = std::move(why),
                 .id = std::move(id)});
}

// Returns true if the event is under way or was sent; tells of it if it failed, and of those before
// it that did. NotFound: this process has not sent it.
bool is_known(const View& view, Plan& plan, const Object& run, const std::string& id) {
  const Observed sent = view.observe(fmt::format("{}:{}", kVerb, id), kNeverStale);
  if (!sent.value) {
    return sent.error && sent.error->code != kNotFound;
  }
  for (const Value& failure : (*sent.value)["earlier"].items()) {
    tell_failure(plan, run, failure["id"].str(), failure["error"].str());
  }
  if (const Value& error = (*sent.value)["error"]; !error.is_null()) {
    tell_failure(plan, run, id, error.str());
  }
  return true;
}

// Returns {"taskRun": …}: the run as v1beta1 has it.
Value payload_of(const Object& run) {
  auto old = convert(run.body(), kPayloadVersion);
  return Value::object({{payload_key(run.kind()), old ? *std::move(old) : run.body()}});
}

}  // namespace

std::string event_stage(const Object& run, const Value& condition) {
  const std::string_view status = condition["status"].as_string();
  if (status == "True") {
    return "successful";
  }
  if (status == "False") {
    return "failed";
  }
  const std::string_view reason = condition["reason"].as_string();
  if (condition.is_null() || (!is_custom_run(run) && reason == "Started")) {
    return "started";
  }
  return is_custom_run(run) || reason == "Running" ? "running" : "unknown";
}

void announce(const View& view, Plan& plan, const Object& run, const Settings& settings,
              Instant now) {
  if (settings.event_sink.empty()) {
    return;
  }
  const Value& condition = succeeded(run);
  const std::string stage = event_stage(run, condition);
  const std::string id = event_id(run, condition, stage);
  if (is_known(view, plan, run, id)) {
    return;
  }
  plan.then(Act{.id = id,
                .verb = std::string(kVerb),
                .args = Value::object({{"url", settings.event_sink},
                                       {"headers", headers_of(run, id, stage, now)},
                                       {"body", json::print(payload_of(run))},
                                       {"line", event_source(run)},
                                       {"id", id}})});
}

void announce_status(const View& view, Plan& plan, const Object& run, const Value& status,
                     const Settings& settings, Instant now) {
  if (settings.event_sink.empty()) {
    return;
  }
  Value body = run.body();
  Value& whole = body.member("status");
  if (!whole.is_object()) {
    whole = Value::object();
  }
  for (const Member& member : status.members()) {
    if (member.value.is_null()) {
      whole.erase(member.key());
    } else {
      whole.set(member.key(), member.value);
    }
  }
  announce(view, plan, Object(std::move(body)), settings, now);
}

void announce_start(const View& view, Plan& plan, const Object& run, const Settings& settings,
                    Instant now) {
  const Outcome started{.status = "Unknown", .reason = "Started", .message = ""};
  announce_status(view, plan, run,
                  Value::object({{"conditions", conditions_with(run, started, now)}}), settings,
                  now);
}

void report_undelivered(const View& view, Plan& plan, const Object& run, const Settings& settings) {
  const Value& condition = succeeded(run);
  if (settings.event_sink.empty() || condition.is_null()) {
    return;
  }
  const std::string last = event_stage(run, condition);
  for (const std::string_view earlier : {"started", "running"}) {
    if (earlier != last) {
      static_cast<void>(is_known(view, plan, run, event_id(run, condition, earlier)));
    }
  }
  static_cast<void>(is_known(view, plan, run, event_id(run, condition, last)));
}

}  // namespace athanor::tekton
