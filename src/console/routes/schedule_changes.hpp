// SPDX-License-Identifier: Apache-2.0
// Changes of schedules (docs/spec/dashboard.md A7). All refuse CronJobs that are not managed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "console/routes/exchange.hpp"
#include "console/routes/form_data.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// A refusal with the form's field that it is about.
struct FormError {
  Error error{};
  std::string field{};
};

// Returns a managed CronJob. Error 404: there is none of that name.
Result<Object> find_schedule(Exchange& exchange, const std::string& name);

// Returns the CronJob of the fields of A7. Errors: a field is missing or malformed.
Result<Value, FormError> schedule_of_form(const FormFields& form, const std::string& ns);
// Creates a schedule, or changes `edit_target` in one write. Returns its name.
Result<std::string, FormError> save_schedule(Exchange& exchange, const FormFields& form);

enum class Suspend : std::uint8_t { Pause, Resume, Toggle };
// Returns a message. Errors: the API server's, 404.
Result<std::string> suspend_schedule(Exchange& exchange, const std::string& name, Suspend how);
Result<std::string> delete_schedule(Exchange& exchange, const std::string& name);
// Creates a Job from the schedule's template; returns its name.
Result<std::string> trigger_schedule(Exchange& exchange, const std::string& name);

// Answers 200 with the page of a form and a message about it.
net::Response answer_form_page(Exchange& exchange, const std::string& message);

}  // namespace athanor::console
