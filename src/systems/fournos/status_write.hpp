// SPDX-License-Identifier: Apache-2.0
// Writing a job's status: only the keys that change, conditions in the order they were set last
// (section 12).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kube/value/value.hpp"
#include "runtime/view/plan.hpp"
#include "systems/fournos/job.hpp"

namespace athanor::fournos {

// Status of a condition.
enum class Truth : std::uint8_t { True, False, Unknown };

// Collects changes of one job's status and adds them to a plan. Refers to the context.
class StatusWrite {
 public:
  explicit StatusWrite(const Context& context);

  // Sets phase and message; a phase other than the stored one also becomes an Event.
  StatusWrite& enter(std::string_view phase, std::string_view message);
  StatusWrite& message(std::string_view message);
  StatusWrite& set(std::string_view key, Value value);  // Null removes the key
  StatusWrite& condition(std::string_view type, Truth status, std::string_view reason,
                         std::string_view message);
  // Drops all conditions except those set here.
  StatusWrite& forget_conditions();
  // Appends the status step and the event.
  void into(Plan& plan) const;

 private:
  const Context& context_;
  Value status_ = Value::object();
  Value conditions_{};
  std::string event_{};
};

// Sets phase Failed with one text, nothing else: the answer of creation (section 5).
Plan reject_job(const Context& context, std::string_view message);

// Returns the reason phrase of an error (403: "Forbidden"); of other codes that of 500.
std::string_view http_reason(int code);

}  // namespace athanor::fournos
