// SPDX-License-Identifier: Apache-2.0
// What an API server's answers mean. For the .cpp files of client/.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/value.hpp"

namespace athanor::client {

// Returns an answer of 400 and above as an Error: the Status' reason and message, else the code's
// usual reason and the beginning of `text`. `body` is decoded (Null where it is not JSON).
Error answer_error(int status, const Value& body, std::string_view text);
// Reads the header's value (seconds), else Status.details.retryAfterSeconds; at most an hour.
std::optional<Duration> retry_after_of(std::string_view header, const Value& body);

}  // namespace athanor::client
