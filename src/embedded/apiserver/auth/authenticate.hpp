// SPDX-License-Identifier: Apache-2.0
// Stage 1 of a request: who asks (docs/spec/apiserver.md 16.1). Implemented in auth/.
#pragma once

#include <memory>

#include "base/time.hpp"
#include "embedded/apiserver/core/dependencies.hpp"
#include "embedded/apiserver/core/options.hpp"
#include "embedded/kinds/status_error.hpp"
#include "embedded/kinds/user_info.hpp"
#include "net/http.hpp"

namespace athanor::apiserver {

// Thread-safe.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // The user of the request, impersonation not yet applied; Unauthorized (401) when credentials
  // were presented and none of them holds.
  [[nodiscard]] virtual StatusResult<UserInfo> authenticate(const Request& request,
                                                            Instant now) const = 0;
};

// Certificates, static tokens, service account tokens, in-process users, anonymous.
std::unique_ptr<Authenticator> make_authenticator(const Options& options,
                                                  const Dependencies& dependencies);

// In-process callers name their user only; this adds a service account's groups and
// system:authenticated.
UserInfo internal_user(std::string_view name);

}  // namespace athanor::apiserver
