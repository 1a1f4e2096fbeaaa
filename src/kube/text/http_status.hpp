// SPDX-License-Identifier: Apache-2.0
// Reason phrases of HTTP status codes: one table for servers, clients and messages.
#pragma once

#include <string_view>

namespace athanor {

// Returns the phrase of a status code ("Not Found"); empty for codes without one (RFC 9110, as Go's
// net/http names them).
std::string_view reason_phrase(int status);

}  // namespace athanor
