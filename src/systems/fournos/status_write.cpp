// SPDX-License-Identifier: Apache-2.0
// Status steps and transition events.
#include "systems/fournos/status_write.hpp"

#include "kube/text/http_status.hpp"
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
bool knows_newer_fields(const Context& context) {
  return context.settings.api() == api::FournosApi::Auto;
}

}  // namespace

StatusWrite::StatusWrite(const Context& context)
    : context_(context), conditions_(context.job.object().status()["conditions"]) {}

StatusWrite& StatusWrite::enter(std::string_view phase, std::string_view text) {
  status_.set("phase", phase);
  if (phase != context_.job.status().phase) {
    event_ = phase;
    if (is_terminal(phase) && knows_newer_fields(context_)) {
      status_.set("completionTime", format_time(context_.now));
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
  if (knows_newer_fields(context_)) {
    condition.observed_generation = context_.job.object().generation();
  }
  set_condition(conditions_, condition, context_.now, ConditionOrder::MoveToEnd);
  status_.set("conditions", conditions_);
  return *this;
}

StatusWrite& StatusWrite::forget_conditions() {
  conditions_ = Value::list();
  return *this;
}

void StatusWrite::into(Plan& plan) const {
  plan.then(Status{
      .target = context_.job.ref(), .status = status_, .guard = {.uid = context_.job.uid()}});
  if (!event_.empty()) {
    plan.then(Emit{.about = context_.job.ref(),
                   .about_uid = context_.job.uid(),
                   .type = event_ == phase::kFailed ? "Warning" : "Normal",
                   .reason = event_,
                   .note = status_["message"].str()});
  }
}

Plan reject_job(const Context& context, std::string_view message) {
  Plan plan;
  StatusWrite(context).enter(phase::kFailed, message).into(plan);
  return plan;
}

std::string_view http_reason(int code) {
  const std::string_view phrase = reason_phrase(code);
  return code < 400 || phrase.empty() ? reason_phrase(500) : phrase;
}

}  // namespace athanor::fournos
