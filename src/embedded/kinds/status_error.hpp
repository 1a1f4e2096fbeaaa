// SPDX-License-Identifier: Apache-2.0
// StatusError: a refusal of the API server, with everything a Status object says
// (docs/spec/apiserver.md 6).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor {
struct FieldError;  // kube/names/field_error.hpp
}

namespace athanor::apiserver {

// One of details.causes.
struct StatusCause {
  std::string reason{};
  std::string message{};
  std::string field{};
};

// The details of a Status; empty members are left out.
struct StatusDetails {
  std::string name{};
  std::string group{};
  std::string kind{};  // the plural for storage errors, the Kind for validation errors
  std::string uid{};
  std::vector<StatusCause> causes{};
  std::optional<int> retry_after_seconds{};
};

// The refusal. `code` is the HTTP status.
struct StatusError {
  int code = 500;
  std::string reason{};
  std::string message{};
  // Absent: the Status has no details at all; empty ones print as {}.
  std::optional<StatusDetails> details{};
  std::string continue_token{};     // metadata.continue of an expired page (410)
  bool plain_text = false;          // answered as text/plain, message is the whole body
  bool retriable_conflict = false;  // lost a race against another writer: a patch may try again

  // Returns the Status object.
  [[nodiscard]] Value to_value() const;
  // Returns the same without the details, for callers that speak Error.
  [[nodiscard]] Error to_error() const;
};

// A value or a refusal.
template <class T>
using StatusResult = Result<T, StatusError>;

// A resource as messages name it: "configmaps", "deployments.apps"; a Kind as well:
// "Deployment.apps".
struct Qualified {
  std::string_view name{};
  std::string_view group{};
  [[nodiscard]] std::string text() const;
};

// The rows of docs/spec/apiserver.md 6. `resource` is plural and group, `kind` Kind and group.
namespace status {
StatusError already_exists(Qualified resource, std::string_view name);
// Returns the error of a generateName that collided too often.
StatusError no_unique_name(Qualified resource, std::string_view name);
// Returns 404: RESOURCE "NAME" not found.
StatusError not_found(Qualified resource, std::string_view name);
// Returns: Operation cannot be fulfilled on RESOURCE "NAME": WHY.
StatusError conflict(Qualified resource, std::string_view name, std::string_view why);
// Returns the conflict of an object that has been modified.
StatusError modified(Qualified resource, std::string_view name);
// Returns 400 BadRequest with this message.
StatusError bad_request(std::string_view message);
// Returns 422 Invalid with a cause for each error.
StatusError invalid(Qualified kind, std::string_view name, const std::vector<FieldError>& errors);
// Returns: RESOURCE "NAME" is forbidden: TEXT (admission).
StatusError forbidden(Qualified resource, std::string_view name, std::string_view text);
// Returns 403 for a create in a namespace that is being deleted.
StatusError namespace_terminating(Qualified resource, std::string_view name, std::string_view ns);
// Returns 401 without details: no valid credentials.
StatusError unauthorized();
// Returns 404 for a known group with an unknown version, resource or subresource.
StatusError unknown_resource();
// Returns 405: the method does not exist on this resource or path.
StatusError method_not_allowed();
// Returns 405 for a custom resource.
StatusError method_not_supported(Qualified resource, std::string_view verb);
// Returns 404 page not found, in plain text.
StatusError page_not_found();
// Returns 406 of custom resources and discovery; `media_types` is the list of the message.
StatusError not_acceptable(std::string_view media_types);
// Returns 406 of built-in resources.
StatusError no_representation(std::string_view media_types);
// Returns 415 for a request body; `media_types` is the list of the message.
StatusError unsupported_media_type(std::string_view media_types);
// Returns 415 for a patch without a known content type.
StatusError unsupported_patch_type();
StatusError unprocessable();  // the server rejected our request due to an error in our request
// Returns 410: a list at a revision that is no longer kept.
StatusError expired_list();
// Returns 410: a page of such a list; `token` continues it at the present revision.
StatusError expired_continue(std::string_view token);
// Returns 410: a watch from a revision before `oldest`.
StatusError expired_watch(std::uint64_t requested, std::uint64_t oldest);
// Returns 504 with retry after 1 second: the revision is still to come.
StatusError future_revision(std::uint64_t requested, std::uint64_t current);
StatusError too_large(std::string_view what);  // Request entity too large: WHAT
// Returns 429 with Retry-After in seconds (0: at once).
StatusError too_many_requests(std::string_view message, int retry_after_seconds);
StatusError internal(std::string_view message);  // Internal error occurred: MESSAGE
// Returns 504: Timeout: MESSAGE.
StatusError timeout(std::string_view message);
// Converts any Error of the lower layers; code, reason and message stay.
StatusError of(const Error& error);
}  // namespace status

// Returns the Status of a success ({"status":"Success"}).
Value success_status(std::optional<StatusDetails> details = std::nullopt, int code = 0);

}  // namespace athanor::apiserver
