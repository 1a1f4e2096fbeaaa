// SPDX-License-Identifier: Apache-2.0
// DELETE of one object and of a collection (spec/apiserver.md 10).
#include <algorithm>

#include "embedded/apiserver/delete.hpp"
#include "embedded/apiserver/handlers.hpp"
#include "embedded/apiserver/read_list.hpp"
#include "embedded/apiserver/respond.hpp"
#include "embedded/apiserver/shape.hpp"

namespace athanor::apiserver {

StatusResult<Response> handle_delete(Call& call) {
  ATHANOR_TRY(const DeleteOptions options, read_delete_options(call));
  ATHANOR_TRY(Deleted deleted, delete_object(call, call.key(), options));
  return deleted_response(call, options, std::move(deleted));
}

StatusResult<Response> handle_delete_collection(Call& call) {
  ATHANOR_TRY(const ListOptions list, read_list_options(call.request, false));
  ATHANOR_TRY(const Selection selection, Selection::read(call.request, *call.resource));
  ATHANOR_TRY(const DeleteOptions options, read_delete_options(call));
  ATHANOR_TRY(const ListPage page, read_list(call, list, selection));
  store::Revision written = 0;
  for (const Key& key : page.keys) {
    const auto deleted = delete_object(call, key, options);
    if (!deleted.ok()) {
      if (deleted.error().code == 404) {
        continue;  // somebody was faster
      }
      return deleted.error();
    }
    written = std::max(written, deleted->revision);
  }
  const ListMetadata metadata{.revision = page.revision,
                              .continue_token = page.continue_token,
                              .remaining = page.remaining};
  Response response =
      value_response(call,
                     shape_list(*call.resource, call.accepted, IncludeObject::Metadata,
                                page.objects, metadata, call.now),
                     200);
  response.durable_after = std::max(written, page.revision);
  return response;
}

}  // namespace athanor::apiserver
