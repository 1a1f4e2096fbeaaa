// SPDX-License-Identifier: Apache-2.0
// Responses out of objects and refusals.
#pragma once

#include "embedded/apiserver/core/call.hpp"
#include "embedded/apiserver/write/write.hpp"

namespace athanor::apiserver {

// A response with that value, of the encoding that the client accepts.
Response value_response(const Call& call, Value value, int code);
// What a write answers: 200, or 201 when it created.
Response written_response(Call& call, Written written);
// Makes the response of a refusal: a Status, or plain text where the error says so.
Response error_response(const StatusError& error);
// Makes a response of type text/plain.
Response text_response(int code, std::string text);

}  // namespace athanor::apiserver
