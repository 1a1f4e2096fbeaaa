// SPDX-License-Identifier: Apache-2.0
// Changes of schedules (docs/spec/dashboard.md A7). All refuse CronJobs that are not managed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "console/routes/exchange.hpp"
#include "console/routes/form_data.hpp"
#include "console/routes/schedule_form.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// Returns a managed CronJob. Error 404: there is none of that name.
Result<Object> find_schedule(Exchange& exchange, const std::string& name);

// Returns {filename, content} of a schedule's resolver; null: it has none. Errors: 404, and those
// of the API server.
Result<Value> schedule_resolver(Exchange& exchange, const std::string& name);
// Creates a schedule, or changes `edit_target` in one write: what the form lacks stays. Returns its
// name. Errors: as schedule_of_form(); 422: the account of the pods does not exist.
Result<std::string, FormError> save_schedule(Exchange& exchange, const FormFields& given);

enum class Suspend : std::uint8_t { Pause, Resume, Toggle };
// Returns a message. Errors: the API server's, 404.
Result<std::string> suspend_schedule(Exchange& exchange, const std::string& name, Suspend how);
Result<std::string> delete_schedule(Exchange& exchange, const std::string& name);
// Creates a Job from the schedule's template; returns its name.
Result<std::string> trigger_schedule(Exchange& exchange, const std::string& name);

// Answers 200 with the page of a form and a message about it.
net::Response answer_form_page(Exchange& exchange, const std::string& message);

}  // namespace athanor::console
