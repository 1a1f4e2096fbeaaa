// SPDX-License-Identifier: Apache-2.0
// The text of a refusal by authorization.
#include <fmt/format.h>

#include "embedded/apiserver/request/authorize.hpp"
#include "kube/text/json.hpp"
#include "kube/text/text.hpp"

namespace athanor::apiserver {

StatusError access_denied(const Attributes& attributes, const Decision& decision) {
  const std::string user = go_quote(attributes.user != nullptr ? attributes.user->name : "");
  const std::string reason = decision.reason.empty() ? std::string() : ": " + decision.reason;
  if (!attributes.is_resource) {
    StatusError error = status::forbidden({}, "", "");
    error.message = fmt::format("forbidden: User {} cannot {} path {}{}", user, attributes.verb,
                                go_quote(attributes.path), reason);
    error.details.emplace();
    return error;
  }
  std::string resource = attributes.resource;
  if (!attributes.subresource.empty()) {
    resource += "/" + attributes.subresource;
  }
  const std::string scope = attributes.ns.empty() ? "at the cluster scope"
                                                  : "in the namespace " + go_quote(attributes.ns);
  return status::forbidden(
      {.name = attributes.resource, .group = attributes.group}, attributes.name,
      fmt::format("User {} cannot {} resource {} in API group {} {}{}", user, attributes.verb,
                  go_quote(resource), go_quote(attributes.group), scope, reason));
}

}  // namespace athanor::apiserver
