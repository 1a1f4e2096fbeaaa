// SPDX-License-Identifier: Apache-2.0
// Users that an authenticating proxy vouches for (docs/spec/apiserver.md 16.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "embedded/apiserver/request/http.hpp"
#include "embedded/apiserver/request/options.hpp"
#include "embedded/kinds/user_info.hpp"

namespace athanor::apiserver {

// Returns the user that the headers name; nullopt when the request names none, or does not come
// from a proxy that may do so.
std::optional<UserInfo> front_proxy_user(const FrontProxy& settings, const Request& request);

// Decodes the key behind "x-remote-extra-" or "impersonate-extra-": "example.com%2fscope" as
// "example.com/scope". Returns a key with a broken escape as it is.
std::string extra_key(std::string_view encoded);

// Returns true for a header that says who the user is; a server behind this one believes it.
bool names_user(const FrontProxy& settings, std::string_view lower_case_name);

}  // namespace athanor::apiserver
