// SPDX-License-Identifier: Apache-2.0
// Users that an authenticating proxy vouches for (spec/apiserver.md 16.1).
#pragma once

#include <optional>

#include "embedded/apiserver/http.hpp"
#include "embedded/apiserver/server.hpp"
#include "embedded/apiserver/user_info.hpp"

namespace athanor::apiserver {

// The user that the headers name; nullopt when the request does not come from a proxy that may say
// so, or names nobody.
std::optional<UserInfo> front_proxy_user(const FrontProxy& settings, const Request& request);

}  // namespace athanor::apiserver
