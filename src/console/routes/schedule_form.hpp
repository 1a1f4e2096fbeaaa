// SPDX-License-Identifier: Apache-2.0
// The form of a schedule and the CronJob that it makes (docs/spec/dashboard.md A7). Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "console/routes/form_data.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// Annotation of a schedule with a resolver: the ConfigMap of the script.
inline constexpr std::string_view kResolverMap = "fournos-launcher/resolver-configmap";

// A refusal with the form's field that it is about.
struct FormError {
  Error error{};
  std::string field{};
};

// The pods that submit a schedule's jobs.
struct Submitter {
  std::string ns{};
  std::string image{};
  std::string account{};  // empty: the namespace's default
};

// Returns a field; `fallback` where the form lacks it or it is empty.
std::string form_field(const FormFields& form, std::string_view name,
                       std::string_view fallback = {});
// Returns true if the form has a resolver's script.
bool has_resolver(const FormFields& form);
// Returns the ConfigMap of a form's resolver.
Value resolver_map(const FormFields& form, const std::string& ns);

// Returns the CronJob of a form's fields. Errors: a field is missing or malformed.
Result<Value, FormError> schedule_of_form(const FormFields& form, const Submitter& submitter);
// Returns a CronJob with the fields that a form has; everything else stays, also of one that
// fournos-ui made. An empty field takes its default. Errors: a field is malformed.
Result<Value, FormError> edited_schedule(const FormFields& form, const Submitter& submitter,
                                         const Object& before);
// Sets the account of a CronJob's pods; empty: the namespace's default.
void set_account(Value& schedule, const std::string& account);

}  // namespace athanor::console
