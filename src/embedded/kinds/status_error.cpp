// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/status_error.hpp"

#include <fmt/format.h>

#include "kube/names/field_error.hpp"
#include "kube/text/json.hpp"
#include "kube/text/text.hpp"

namespace athanor::apiserver {
namespace {

Value details_value(const StatusDetails& details) {
  Value value = Value::object();
  if (!details.name.empty()) {
    value.set("name", details.name);
  }
  if (!details.group.empty()) {
    value.set("group", details.group);
  }
  if (!details.kind.empty()) {
    value.set("kind", details.kind);
  }
  if (!details.uid.empty()) {
    value.set("uid", details.uid);
  }
  if (!details.causes.empty()) {
    Value causes = Value::list();
    for (const StatusCause& cause : details.causes) {
      Value item = Value::object();
      if (!cause.reason.empty()) {
        item.set("reason", cause.reason);
      }
      if (!cause.message.empty()) {
        item.set("message", cause.message);
      }
      if (!cause.field.empty()) {
        item.set("field", cause.field);
      }
      causes.push_back(std::move(item));
    }
    value.set("causes", std::move(causes));
  }
  if (details.retry_after_seconds) {
    value.set("retryAfterSeconds", *details.retry_after_seconds);
  }
  return value;
}

StatusDetails of_resource(Qualified resource, std::string_view name) {
  StatusDetails details;
  details.name = std::string(name);
  details.group = std::string(resource.group);
  details.kind = std::string(resource.name);
  return details;
}

StatusError make(int code, std::string_view reason, std::string message,
                 std::optional<StatusDetails> details = std::nullopt) {
  StatusError error;
  error.code = code;
  error.reason = std::string(reason);
  error.message = std::move(message);
  error.details = std::move(details);
  return error;
}

}  // namespace

Value StatusError::to_value() const {
  Value metadata = Value::object();
  if (!continue_token.empty()) {
    metadata.set("continue", continue_token);
  }
  Value value = Value::object({{"kind", "Status"},
                               {"apiVersion", "v1"},
                               {"metadata", std::move(metadata)},
                               {"status", "Failure"},
                               {"message", message}});
  if (!reason.empty()) {
    value.set("reason", reason);
  }
  if (details) {
    value.set("details", details_value(*details));
  }
  value.set("code", code);
  return value;
}

Error StatusError::to_error() const {
  return {.code = code, .reason = reason, .message = message};
}

std::string Qualified::text() const {
  return group.empty() ? std::string(name) : fmt::format("{}.{}", name, group);
}

namespace status {

StatusError already_exists(Qualified resource, std::string_view name) {
  return make(409, "AlreadyExists",
              fmt::format("{} {} already exists", resource.text(), go_quote(name)),
              of_resource(resource, name));
}

StatusError no_unique_name(Qualified resource, std::string_view name) {
  return make(409, "AlreadyExists",
              fmt::format("{} {} already exists, the server was not able to generate a unique "
                          "name for the object",
                          resource.text(), go_quote(name)),
              of_resource(resource, name));
}

StatusError not_found(Qualified resource, std::string_view name) {
  return make(404, "NotFound", fmt::format("{} {} not found", resource.text(), go_quote(name)),
              of_resource(resource, name));
}

StatusError conflict(Qualified resource, std::string_view name, std::string_view why) {
  return make(409, "Conflict",
              fmt::format("Operation cannot be fulfilled on {} {}: {}", resource.text(),
                          go_quote(name), why),
              of_resource(resource, name));
}

StatusError modified(Qualified resource, std::string_view name) {
  return conflict(resource, name,
                  "the object has been modified; please apply your changes to the latest version "
                  "and try again");
}

StatusError bad_request(std::string_view message) {
  return make(400, "BadRequest", std::string(message));
}

StatusError invalid(Qualified kind, std::string_view name, const std::vector<FieldError>& errors) {
  StatusDetails details = of_resource(kind, name);
  for (const FieldError& error : errors) {
    details.causes.push_back(
        {.reason = error.reason, .message = error.detail, .field = error.field});
  }
  return make(422, "Invalid", invalid_message(kind.text(), name, errors), std::move(details));
}

StatusError forbidden(Qualified resource, std::string_view name, std::string_view text) {
  const std::string subject =
      name.empty() ? resource.text() : fmt::format("{} {}", resource.text(), go_quote(name));
  return make(403, "Forbidden", fmt::format("{} is forbidden: {}", subject, text),
              of_resource(resource, name));
}

StatusError namespace_terminating(Qualified resource, std::string_view name, std::string_view ns) {
  StatusError error = forbidden(resource, name,
                                fmt::format("unable to create new content in namespace {} because "
                                            "it is being terminated",
                                            ns));
  error.details->causes.push_back({.reason = "NamespaceTerminating",
                                   .message = fmt::format("namespace {} is being terminated", ns),
                                   .field = "metadata.namespace"});
  return error;
}

StatusError unauthorized() {
  return make(401, "Unauthorized", "Unauthorized");
}

StatusError unknown_resource() {
  return make(404, "NotFound", "the server could not find the requested resource", StatusDetails{});
}

StatusError method_not_allowed() {
  return make(405, "MethodNotAllowed",
              "the server does not allow this method on the requested resource", StatusDetails{});
}

StatusError page_not_found() {
  StatusError error = make(404, "NotFound", "404 page not found\n");
  error.plain_text = true;
  return error;
}

StatusError not_acceptable(std::string_view media_types) {
  return make(406, "NotAcceptable",
              fmt::format("only the following media types are accepted: {}", media_types));
}

StatusError no_representation(std::string_view media_types) {
  return make(406, "NotAcceptable",
              fmt::format("406: Not Acceptable\n\nAvailable representations: {}", media_types),
              StatusDetails{});
}

StatusError method_not_supported(Qualified resource, std::string_view verb) {
  return make(405, "MethodNotAllowed",
              fmt::format("{} is not supported on resources of kind \"{}\"", verb, resource.text()),
              of_resource(resource, ""));
}

StatusError unsupported_media_type(std::string_view media_types) {
  return make(415, "UnsupportedMediaType",
              fmt::format("the body of the request was in an unknown format - accepted media "
                          "types include: {}",
                          media_types));
}

StatusError unsupported_patch_type() {
  return make(415, "UnsupportedMediaType", "415: Unsupported Media Type", StatusDetails{});
}

StatusError unprocessable() {
  return make(422, "Invalid", "the server rejected our request due to an error in our request",
              StatusDetails{});
}

StatusError expired_list() {
  return make(410, "Expired", "The resourceVersion for the provided list is too old.");
}

StatusError expired_continue(std::string_view token) {
  StatusError error = make(
      410, "Expired",
      "The provided continue parameter is too old to display a consistent list result. You can "
      "start a new list without the continue parameter, or use the continue token in this response "
      "to retrieve the remainder of the results. Continuing with the provided token results in an "
      "inconsistent list - objects that were created, modified, or deleted between the time the "
      "first chunk was returned and now may show up in the list.");
  error.continue_token = std::string(token);
  return error;
}

StatusError expired_watch(std::uint64_t requested, std::uint64_t oldest) {
  return make(410, "Expired", fmt::format("too old resource version: {} ({})", requested, oldest));
}

StatusError future_revision(std::uint64_t requested, std::uint64_t current) {
  StatusDetails details;
  details.causes.push_back(
      {.reason = "ResourceVersionTooLarge", .message = "Too large resource version", .field = {}});
  details.retry_after_seconds = 1;
  return make(
      504, "Timeout",
      fmt::format("Timeout: Too large resource version: {}, current: {}", requested, current),
      std::move(details));
}

StatusError too_large(std::string_view what) {
  return make(413, "RequestEntityTooLarge", fmt::format("Request entity too large: {}", what));
}

StatusError too_many_requests(std::string_view message, int retry_after_seconds) {
  StatusDetails details;
  details.retry_after_seconds = retry_after_seconds;
  return make(429, "TooManyRequests", std::string(message), std::move(details));
}

StatusError internal(std::string_view message) {
  StatusDetails details;
  details.causes.push_back({.reason = {}, .message = std::string(message), .field = {}});
  return make(500, "InternalError", fmt::format("Internal error occurred: {}", message),
              std::move(details));
}

StatusError timeout(std::string_view message) {
  return make(504, "Timeout", fmt::format("Timeout: {}", message));
}

StatusError of(const Error& error) {
  return make(error.code, error.reason, error.message);
}

}  // namespace status

Value success_status(std::optional<StatusDetails> details, int code) {
  Value value = Value::object({{"kind", "Status"},
                               {"apiVersion", "v1"},
                               {"metadata", Value::object()},
                               {"status", "Success"}});
  if (details) {
    value.set("details", details_value(*details));
  }
  if (code != 0) {
    value.set("code", code);
  }
  return value;
}

}  // namespace athanor::apiserver
