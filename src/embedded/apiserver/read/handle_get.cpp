// SPDX-License-Identifier: Apache-2.0
// GET of one object (docs/spec/apiserver.md 8.1).
#include "embedded/apiserver/read/list_options.hpp"
#include "embedded/apiserver/request/handlers.hpp"
#include "embedded/apiserver/request/respond.hpp"
#include "embedded/apiserver/request/revision_waits.hpp"
#include "embedded/apiserver/request/shape.hpp"
#include "embedded/apiserver/request/subresource.hpp"
#include "embedded/apiserver/resources/versions.hpp"

namespace athanor::apiserver {

StatusResult<Response> handle_get(Call& call) {
  if (const auto text = call.request.parameter("resourceVersion"); text && !text->empty()) {
    ATHANOR_TRY(const std::uint64_t revision, parse_revision(*text));
    ATHANOR_TRY_VOID(await_revision(call, revision));
  }
  const Key key = call.key();
  const store::StoredPtr stored = call.core.store.get(call.resource->storage, key);
  if (stored == nullptr) {
    return status::not_found(call.qualified_resource(), key.name);
  }
  ATHANOR_TRY_VOID(check_shape(*call.resource, call.accepted, false));
  ATHANOR_TRY(Value object, to_served(*call.resource, *stored, call.versions()));
  Response response = object_response(call, std::move(object), 200);
  response.durable_after = stored->revision;
  return response;
}

}  // namespace athanor::apiserver
