// SPDX-License-Identifier: Apache-2.0
// Stage 2 of a request: may this user do that (docs/spec/apiserver.md 16.2). Implemented in auth/.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/apiserver/request/dependencies.hpp"
#include "embedded/apiserver/request/options.hpp"
#include "embedded/kinds/status_error.hpp"
#include "embedded/kinds/user_info.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// What an authorizer decides about: the user, the verb, and a resource or a path.
struct Attributes {
  const UserInfo* user = nullptr;
  std::string verb{};  // get, list, watch, create, ...; the lower-case HTTP method for plain paths
  bool is_resource = true;
  std::string group{}, version{}, resource{}, subresource{}, ns{}, name{};
  std::string path{};            // when not a resource
  std::string field_selector{};  // of list, watch and deletecollection
};

// The verdict; `reason` is that of SubjectAccessReview's status.
struct Decision {
  bool allowed = false;
  std::string reason{};  // "RBAC: allowed by ClusterRoleBinding ..."; empty when nothing is said
};

// Thread-safe; a change of a role is seen by the next call.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  [[nodiscard]] virtual Decision authorize(const Attributes& attributes) const = 0;
  // Returns the PolicyRules that hold for `user` in `ns` ({verbs, apiGroups, resources, ...}).
  [[nodiscard]] virtual std::vector<Value> rules_for(const UserInfo& user,
                                                     std::string_view ns) const = 0;
};

// Makes the RBAC authorizer, or one that allows everything (Options::always_allow).
std::unique_ptr<Authorizer> make_authorizer(const Options& options,
                                            const Dependencies& dependencies);

// Returns the 403 of a refused request, with the texts of docs/spec/apiserver.md 6.
StatusError access_denied(const Attributes& attributes, const Decision& decision);

}  // namespace athanor::apiserver
