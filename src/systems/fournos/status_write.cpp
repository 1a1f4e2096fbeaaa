// SPDX-License-Identifier: Apache-2.0
// Status steps and transition events.
#include "systems/fournos/phase.hpp"

#include "kube/value/condition.hpp"
#include "systems/fournos/messages.hpp"

namespace athanor::fournos {
namespace {

std::string_view text_of(Truth truth) {
  switch (truth) {
    case Truth::True:
      return "True";
    case Truth::False:
      return "False";
    case Truth::Unknown:
      return "Unknown";
  }
  return "Unknown";
}

// The exact upstream schemas do not know the fields that came later.
bool knows_newer_fields(const Tick& tick) {
  return tick.settings.api() == api::FournosApi::Auto;
}

}  // namespace

StatusWrite::StatusWrite(const Tick& tick)
    : tick_(tick), conditions_(tick.job.object().status()["conditions"]) {}

StatusWrite& StatusWrite::enter(std::string_view phase, std::string_view text) {
  status_.set("phase", phase);
  if (phase != tick_.job.status().phase) {
    event_ = phase;
    if (is_terminal(phase) && knows_newer_fields(tick_)) {
      status_.set("completionTime", format_time(tick_.now));
    }
  }
  return message(text);
}

StatusWrite& StatusWrite::message(std::string_view text) {
  status_.set("message", text);
  return *this;
}

StatusWrite& StatusWrite::set(std::string_view key, Value value) {
  status_.set(key, std::move(value));
  return *this;
}

StatusWrite& StatusWrite::condition(std::string_view type, Truth status, std::string_view reason,
                                    std::string_view text) {
  Condition condition{.type = std::string(type),
                      .status = std::string(text_of(status)),
                      .reason = std::string(reason),
                      .message = std::string(text)};
  if (knows_newer_fields(tick_)) {
    condition.observed_generation = tick_.job.object().generation();
  }
  set_condition(conditions_, condition, tick_.now, ConditionOrder::MoveToEnd);
  status_.set("conditions", conditions_);
  return *this;
}

StatusWrite& StatusWrite::forget_conditions() {
  conditions_ = Value::list();
  return *this;
}

void StatusWrite::into(Plan& plan) const {
  plan.then(
      Status{.target = tick_.job.ref(), .status = status_, .guard = {.uid = tick_.job.uid()}});
  if (!event_.empty()) {
    plan.then(Emit{.about = tick_.job.ref(),
                   .about_uid = tick_.job.uid(),
                   .type = event_ == phase::kFailed ? "Warning" : "Normal",
                   .reason = event_,
                   .note = status_["message"].str()});
  }
}

Plan reject_job(const Tick& tick, std::string_view message) {
  Plan plan;
  StatusWrite(tick).enter(phase::kFailed, message).into(plan);
  return plan;
}

std::string_view http_reason(int code) {
  switch (code) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 413:
      return "Request Entity Too Large";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Internal Server Error";
  }
}

}  // namespace athanor::fournos
