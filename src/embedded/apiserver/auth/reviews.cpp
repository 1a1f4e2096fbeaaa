// SPDX-License-Identifier: Apache-2.0
// Reviews of tokens and permissions (docs/spec/apiserver.md 16.4).
#include <fmt/format.h>

#include "embedded/apiserver/auth/handlers.hpp"
#include "embedded/apiserver/auth/token_checker.hpp"
#include "embedded/apiserver/request/subresource.hpp"
#include "kube/names/field_error.hpp"

namespace athanor::apiserver {
namespace {

std::vector<std::string> texts(const Value& list) {
  std::vector<std::string> result;
  for (const Value& item : list.items()) {
    result.push_back(item.str());
  }
  return result;
}

Value list_of(const std::vector<std::string>& values) {
  std::vector<Value> items(values.begin(), values.end());
  return Value::list(std::move(items));
}

StatusResult<Value> read_review(Call& call) {
  const ResourceInfo& resource = *call.resource;
  return read_body(call, {.group = resource.group,
                          .version = resource.version,
                          .kind = resource.kind,
                          .schema = resource.schema});
}

Attributes attributes_of(const Value& spec, const UserInfo& user) {
  Attributes attributes;
  attributes.user = &user;
  if (const Value& paths = spec["nonResourceAttributes"]; !paths.is_null()) {
    attributes.is_resource = false;
    attributes.path = paths["path"].str();
    attributes.verb = paths["verb"].str();
    return attributes;
  }
  const Value& resource = spec["resourceAttributes"];
  attributes.verb = resource["verb"].str();
  attributes.group = resource["group"].str();
  attributes.version = resource["version"].str();
  attributes.resource = resource["resource"].str();
  attributes.subresource = resource["subresource"].str();
  attributes.ns = resource["namespace"].str();
  attributes.name = resource["name"].str();
  return attributes;
}

void check_selector_requirement(std::vector<FieldError>& errors, const std::string& path,
                                const Value& requirement) {
  const std::string_view op = requirement["operator"].as_string();
  if (requirement["key"].as_string().empty()) {
    errors.push_back(FieldError::required(path + ".key", "must be specified"));
  }
  if ((op == "In" || op == "NotIn") && requirement["values"].empty()) {
    errors.push_back(FieldError::required(path + ".values",
                                          "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if ((op == "Exists" || op == "DoesNotExist") && !requirement["values"].empty()) {
    errors.push_back(FieldError::forbidden(
        path + ".values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
  }
}

// Operators that are not known may be those of newer clients.
void check_review_selector(std::vector<FieldError>& errors, const std::string& path,
                           const Value& selector) {
  if (selector.is_null()) {
    return;
  }
  const Value& raw = selector["rawSelector"];
  const Value& requirements = selector["requirements"];
  if (!raw.as_string().empty() && !requirements.empty()) {
    errors.push_back(FieldError::invalid(path + ".rawSelector", raw,
                                         "may not specified at the same time as requirements"));
  }
  if (raw.as_string().empty() && requirements.empty()) {
    errors.push_back(FieldError::required(
        path + ".requirements",
        fmt::format("when {} is specified, requirements or rawSelector is required", path)));
  }
  for (std::size_t i = 0; i < requirements.size(); ++i) {
    check_selector_requirement(errors, fmt::format("{}.requirements[{}]", path, i),
                               requirements[i]);
  }
}

// What every access review must say.
std::vector<FieldError> check_target(const Value& spec) {
  const bool resource = !spec["resourceAttributes"].is_null();
  const bool path = !spec["nonResourceAttributes"].is_null();
  std::vector<FieldError> errors;
  if (resource && path) {
    errors.push_back(
        FieldError::invalid("spec.nonResourceAttributes", spec["nonResourceAttributes"],
                            "cannot be specified in combination with resourceAttributes"));
  } else if (!resource && !path) {
    errors.push_back(FieldError::invalid(
        "spec.resourceAttributes", Value(),
        "exactly one of nonResourceAttributes or resourceAttributes must be specified"));
  }
  for (const std::string_view selector : {"fieldSelector", "labelSelector"}) {
    check_review_selector(errors, fmt::format("spec.resourceAttributes.{}", selector),
                          spec["resourceAttributes"][selector]);
  }
  return errors;
}

std::vector<FieldError> check_subject(const Value& spec) {
  std::vector<FieldError> errors = check_target(spec);
  if (spec["user"].as_string().empty() && spec["groups"].empty()) {
    errors.push_back(
        FieldError::invalid("spec.user", "", "at least one of user or group must be specified"));
  }
  return errors;
}

UserInfo subject_of(const Value& spec) {
  UserInfo user;
  user.name = spec["user"].str();
  user.uid = spec["uid"].str();
  user.groups = texts(spec["groups"]);
  for (const Member& member : spec["extra"].members()) {
    user.extra[std::string(member.key())] = texts(member.value);
  }
  return user;
}

StatusResult<Response> answer(Call& call, Value review, const UserInfo& user) {
  const Decision decision = call.core.authorizer->authorize(attributes_of(review["spec"], user));
  Value status = Value::object({{"allowed", decision.allowed}});
  if (!decision.reason.empty()) {
    status.set("reason", decision.reason);
  }
  review.set("status", std::move(status));
  return object_response(call, std::move(review), 201);
}

}  // namespace

StatusResult<Response> handle_token_review(Call& call) {
  ATHANOR_TRY(Value review, read_review(call));
  const std::string token = review["spec"]["token"].str();
  if (token.empty()) {
    return status::bad_request("token is required for TokenReview in authentication");
  }
  const TokenChecker checker(call.core.options, call.core.dependencies);
  const auto holder = checker.check(token, texts(review["spec"]["audiences"]), call.now);
  Value status = Value::object();
  if (holder) {
    status.set("authenticated", true);
    status.set("user", holder->user.to_value());
    status.set("audiences", list_of(holder->audiences));
  } else {
    status.set("user", Value::object());
    status.set("error", "invalid bearer token");
  }
  review.set("status", std::move(status));
  return object_response(call, std::move(review), 201);
}

StatusResult<Response> handle_subject_access_review(Call& call) {
  ATHANOR_TRY(Value review, read_review(call));
  if (const auto errors = check_subject(review["spec"]); !errors.empty()) {
    return status::invalid(call.qualified_kind(), "", errors);
  }
  const UserInfo user = subject_of(review["spec"]);
  return answer(call, std::move(review), user);
}

StatusResult<Response> handle_local_subject_access_review(Call& call) {
  ATHANOR_TRY(Value review, read_review(call));
  const Value& spec = review["spec"];
  std::vector<FieldError> errors = check_subject(spec);
  const Value& path = spec["nonResourceAttributes"];
  if (!path.is_null()) {
    errors.push_back(FieldError::invalid("spec.nonResourceAttributes", path,
                                         "disallowed on this kind of request"));
  }
  if (!errors.empty()) {
    return status::invalid(call.qualified_kind(), "", errors);
  }
  const std::string_view ns = review["metadata"]["namespace"].as_string();
  if (!ns.empty() && ns != call.path.ns) {
    return status::bad_request(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  if (spec["resourceAttributes"]["namespace"].as_string() != call.path.ns) {
    return status::bad_request(
        fmt::format("spec.resourceAttributes.namespace must match namespace: {}", call.path.ns));
  }
  review.member("metadata").set("namespace", call.path.ns);
  const UserInfo user = subject_of(review["spec"]);
  return answer(call, std::move(review), user);
}

StatusResult<Response> handle_self_subject_access_review(Call& call) {
  ATHANOR_TRY(Value review, read_review(call));
  if (const auto errors = check_target(review["spec"]); !errors.empty()) {
    return status::invalid(call.qualified_kind(), "", errors);
  }
  return answer(call, std::move(review), call.user);
}

StatusResult<Response> handle_self_subject_rules_review(Call& call) {
  ATHANOR_TRY(Value review, read_review(call));
  const std::string ns = review["spec"]["namespace"].str();
  if (ns.empty()) {
    return status::bad_request("no namespace on request");
  }
  Value resource_rules = Value::list();
  Value path_rules = Value::list();
  for (const Value& rule : call.core.authorizer->rules_for(call.user, ns)) {
    (rule.contains("nonResourceURLs") ? path_rules : resource_rules).push_back(rule);
  }
  review.set("status", Value::object({{"resourceRules", std::move(resource_rules)},
                                      {"nonResourceRules", std::move(path_rules)},
                                      {"incomplete", false}}));
  return object_response(call, std::move(review), 201);
}

StatusResult<Response> handle_self_subject_review(Call& call) {
  ATHANOR_TRY(Value review, read_review(call));
  review.member("metadata").set("creationTimestamp", format_time(call.now));
  review.set("status", Value::object({{"userInfo", call.user.to_value()}}));
  return object_response(call, std::move(review), 201);
}

}  // namespace athanor::apiserver
