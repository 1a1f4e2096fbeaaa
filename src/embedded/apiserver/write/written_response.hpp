// SPDX-License-Identifier: Apache-2.0
// The response of a write.
#pragma once

#include "embedded/apiserver/request/call.hpp"
#include "embedded/apiserver/write/write.hpp"

namespace athanor::apiserver {

// Makes the response of a write: 200, or 201 when it created the object. It is held until the
// commit is durable.
Response written_response(Call& call, Written written);

}  // namespace athanor::apiserver
