// SPDX-License-Identifier: Apache-2.0
// Building plans and their stable text.
#include "runtime/view/plan.hpp"

#include <iterator>

#include "runtime/view/step.hpp"

namespace athanor {

Plan Plan::retry(Error error) {
  Plan plan;
  plan.error_ = std::move(error);
  plan.retry_ = true;
  return plan;
}

Plan Plan::reject(Error error) {
  Plan plan;
  plan.error_ = std::move(error);
  return plan;
}

Plan& Plan::merge(Plan other) & {
  steps_.insert(steps_.end(), std::make_move_iterator(other.steps_.begin()),
                std::make_move_iterator(other.steps_.end()));
  if (other.wake_) {
    wake_at(*other.wake_);
  }
  if (!error_ && other.error_) {
    error_ = std::move(other.error_);
    retry_ = other.retry_;
  }
  return *this;
}

Plan& Plan::wake_at(Instant when) & {
  if (!wake_ || when < *wake_) {
    wake_ = when;
  }
  return *this;
}

Value Plan::to_value() const {
  Value out = Value::object();
  Value steps = Value::list();
  for (const Step& step : steps_) {
    steps.push_back(athanor::to_value(step));
  }
  out.set("steps", std::move(steps));
  if (wake_) {
    out.set("wake", format_micro_time(*wake_));
  }
  if (error_) {
    out.set("error", Value::object({{"code", error_->code},
                                    {"reason", error_->reason},
                                    {"message", error_->message},
                                    {"retry", retry_}}));
  }
  return out;
}

}  // namespace athanor
