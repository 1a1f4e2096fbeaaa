// SPDX-License-Identifier: Apache-2.0
// Responses out of objects and refusals.
#pragma once

#include "embedded/apiserver/request/call.hpp"

namespace athanor::apiserver {

// Returns a response with that value, in the encoding that the client accepts.
Response value_response(const Call& call, Value value, int code);
// Makes the response of a refusal: a Status, or plain text where the error says so.
Response error_response(const StatusError& error);
// Makes a response of type text/plain.
Response text_response(int code, std::string text);

}  // namespace athanor::apiserver
