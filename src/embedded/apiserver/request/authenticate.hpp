// SPDX-License-Identifier: Apache-2.0
// Stage 1 of a request: who asks (docs/spec/apiserver.md 16.1). Implemented in auth/.
#pragma once

#include <memory>

#include "base/time.hpp"
#include "embedded/apiserver/request/dependencies.hpp"
#include "embedded/apiserver/request/http.hpp"
#include "embedded/apiserver/request/options.hpp"
#include "embedded/kinds/status_error.hpp"
#include "embedded/kinds/user_info.hpp"

namespace athanor::apiserver {

// Thread-safe.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // Returns the user of the request, impersonation not yet applied. Error Unauthorized (401):
  // credentials were presented and none of them holds.
  [[nodiscard]] virtual StatusResult<UserInfo> authenticate(const Request& request,
                                                            Instant now) const = 0;
};

// Certificates, static tokens, service account tokens, in-process users, anonymous.
std::unique_ptr<Authenticator> make_authenticator(const Options& options,
                                                  const Dependencies& dependencies);

// Returns the user of an in-process caller, which gives its name only: adds a service account's
// groups and system:authenticated.
UserInfo internal_user(std::string_view name);

}  // namespace athanor::apiserver
