// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/write/written_response.hpp"

#include <utility>

#include "embedded/apiserver/request/subresource.hpp"

namespace athanor::apiserver {

Response written_response(Call& call, Written written) {
  Response response = object_response(call, std::move(written.object), written.created ? 201 : 200);
  response.durable_after = written.revision;
  return response;
}

}  // namespace athanor::apiserver
