// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/write/write_options.hpp"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "kube/apply/managed_fields.hpp"
#include "kube/names/field_error.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::size_t kManagerLimit = 128;

void check_manager(std::string_view manager, std::vector<FieldError>& errors) {
  if (manager.size() > kManagerLimit) {
    errors.push_back(FieldError::too_long("fieldManager", kManagerLimit));
  }
  for (std::size_t i = 0; i < manager.size(); ++i) {
    const auto c = static_cast<unsigned char>(manager[i]);
    if (c < 0x20 || c == 0x7f) {
      errors.push_back(
          FieldError::invalid("fieldManager", Value(manager),
                              fmt::format("invalid character U+{:04X} (at position {})", c, i)));
    }
  }
}

void read_dry_run(const Request& request, WriteOptions& options, std::vector<FieldError>& errors) {
  const auto values = request.parameters("dryRun");
  if (values.empty()) {
    return;
  }
  Value list = Value::list();
  bool known = true;
  for (const std::string_view value : values) {
    list.push_back(Value(value));
    known = known && value == "All";
  }
  if (!known) {
    errors.push_back(FieldError::not_supported("dryRun", list, {"All"}));
  }
  options.dry_run = true;
}

}  // namespace

Value WriteOptions::to_value(std::string_view kind) const {
  Value value = Value::object({{"kind", Value(kind)}, {"apiVersion", "meta.k8s.io/v1"}});
  if (dry_run) {
    value.set("dryRun", Value::list({"All"}));
  }
  if (force) {
    value.set("force", true);
  }
  if (manager_given) {
    value.set("fieldManager", manager);
  }
  if (validation == FieldValidation::Strict) {
    value.set("fieldValidation", "Strict");
  } else if (validation == FieldValidation::Ignore) {
    value.set("fieldValidation", "Ignore");
  }
  return value;
}

StatusResult<WriteOptions> read_write_options(const Request& request, std::string_view kind,
                                              bool apply) {
  WriteOptions options;
  std::vector<FieldError> errors;
  read_dry_run(request, options, errors);
  const std::string_view manager = request.parameter("fieldManager").value_or("");
  options.manager_given = !manager.empty();
  if (options.manager_given) {
    check_manager(manager, errors);
    options.manager = std::string(manager);
  } else if (const std::string_view agent = request.header("user-agent"); !agent.empty()) {
    options.manager = manager_of_user_agent(agent);
  } else if (request.credentials.internal_user) {
    const std::string& user = *request.credentials.internal_user;
    options.manager = user.substr(user.rfind(':') + 1);
  }
  if (const auto force = request.parameter("force")) {
    // Whatever does not say no.
    options.force = *force != "0" && *force != "false" && *force != "False" && *force != "FALSE";
    if (!apply) {
      errors.push_back(FieldError::forbidden("force", "may not be specified for non-apply patch"));
    }
  }
  if (apply && !options.manager_given) {
    errors.push_back(FieldError::required("fieldManager", "is required for apply patch"));
  }
  const std::string_view validation = request.parameter("fieldValidation").value_or("");
  if (validation == "Strict") {
    options.validation = FieldValidation::Strict;
  } else if (validation == "Ignore") {
    options.validation = FieldValidation::Ignore;
  } else if (!validation.empty() && validation != "Warn") {
    errors.push_back(FieldError::not_supported("fieldValidation", Value(validation),
                                               {"", "Ignore", "Strict", "Warn"}));
  }
  if (!errors.empty()) {
    return status::invalid({.name = kind, .group = "meta.k8s.io"}, "", errors);
  }
  return options;
}

}  // namespace athanor::apiserver
