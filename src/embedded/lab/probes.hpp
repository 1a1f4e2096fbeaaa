// SPDX-License-Identifier: Apache-2.0
// What workload controllers ask about the world outside, answered.
#pragma once

#include <string>

#include "base/result.hpp"
#include "embedded/apiserver/server.hpp"
#include "kube/value.hpp"

namespace athanor::lab {

// "timezone:Europe/Berlin": {"tzif": base64} of the machine's tz database, or an error.
Result<Value> read_time_zone(const std::string& query);
// "service-account-token:<namespace>/<account>/<account's uid>/<secret>": {"token": text}, a token
// without expiry (spec/apiserver.md 16.3).
Result<Value> sign_account_token(apiserver::TokenSigner& signer, const std::string& query);

}  // namespace athanor::lab
