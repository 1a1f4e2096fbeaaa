// SPDX-License-Identifier: Apache-2.0
// POST and PUT of objects (docs/spec/apiserver.md 9.2, 9.3).
#include <fmt/format.h>

#include "embedded/apiserver/request/handlers.hpp"
#include "embedded/apiserver/request/respond.hpp"
#include "embedded/apiserver/write/decode.hpp"
#include "embedded/apiserver/write/patching.hpp"
#include "embedded/apiserver/write/write.hpp"
#include "embedded/apiserver/write/written_response.hpp"

namespace athanor::apiserver {

StatusResult<Response> handle_create(Call& call) {
  if (std::holds_alternative<std::string>(call.request.body)) {
    ATHANOR_TRY_VOID(body_format(call.request, true));
  }
  ATHANOR_TRY(const WriteOptions options, read_write_options(call.request, "CreateOptions"));
  ATHANOR_TRY(Value object, decode_object(call, options));
  ATHANOR_TRY(Written written,
              create_object(call, options, {.object = std::move(object), .tracked = false}));
  return written_response(call, std::move(written));
}

StatusResult<Response> handle_update(Call& call) {
  ATHANOR_TRY(const WriteOptions options, read_write_options(call.request, "UpdateOptions"));
  ATHANOR_TRY(const Value object, decode_object(call, options));
  ATHANOR_TRY_VOID(check_place(call, object));
  UpdateInput input;
  input.subresource = call.path.subresource;
  input.normal = true;
  input.transform = [&object](const Value&) -> StatusResult<Value> { return object; };
  // The status of a service is written as the service is, as far as this goes.
  const bool status_of_service =
      call.resource->storage == "services" && call.path.subresource == "status";
  const bool may_create = call.resource->put_creates && call.path.subresource.empty();
  auto written = update_object(call, options, input);
  if (!written.ok() && written.error().code == 404 && (may_create || status_of_service)) {
    if (const std::string_view uid = object["metadata"]["uid"].as_string(); !uid.empty()) {
      return status::conflict(call.qualified_resource(), call.path.name,
                              fmt::format("Precondition failed: UID in precondition: {}, UID in "
                                          "object meta: ",
                                          uid));
    }
  }
  if (!written.ok() && written.error().code == 404 && may_create) {
    Value fresh = object;
    fresh.member("metadata").erase("resourceVersion");
    written = create_object(call, options, {.object = std::move(fresh), .tracked = false});
  }
  if (!written.ok()) {
    return std::move(written).error();
  }
  return written_response(call, *std::move(written));
}

}  // namespace athanor::apiserver
