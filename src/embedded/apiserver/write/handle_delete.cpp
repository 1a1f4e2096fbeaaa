// SPDX-License-Identifier: Apache-2.0
// DELETE of one object and of a collection (docs/spec/apiserver.md 10).
#include <algorithm>
#include <set>

#include "base/cancellation.hpp"
#include "embedded/apiserver/read/read_list.hpp"
#include "embedded/apiserver/request/handlers.hpp"
#include "embedded/apiserver/request/respond.hpp"
#include "embedded/apiserver/request/shape.hpp"
#include "embedded/apiserver/write/delete.hpp"

namespace athanor::apiserver {
namespace {

// Objects that were deleted while others of the collection wait for their webhooks.
struct CollectionProgress final : Conversation::Progress {
  std::optional<ListPage> page{};
  std::set<Key> done{};
  store::Revision written = 0;
};

// Every object once, all webhooks at the same time.
StatusResult<void> delete_page(Call& call, const DeleteOptions& options,
                               CollectionProgress& progress) {
  bool pending = false;
  for (const store::StoredPtr& stored : progress.page->stored) {
    give_up_if_cancelled();
    const Key& key = stored->key;
    if (progress.done.contains(key)) {
      continue;
    }
    const auto deleted = delete_object(call, key, options);
    if (deleted.ok()) {
      progress.written = std::max(progress.written, deleted->revision);
    } else if (is_pending(deleted.error())) {
      pending = true;
      continue;
    } else if (deleted.error().code != 404) {  // 404: another client was faster
      return deleted.error();
    }
    progress.done.insert(key);
  }
  if (pending) {
    return status::pending();
  }
  return {};
}

}  // namespace

StatusResult<Response> handle_delete(Call& call) {
  ATHANOR_TRY(const DeleteOptions options, read_delete_options(call));
  warn_of_orphans(call, options);
  ATHANOR_TRY(Deleted deleted, delete_object(call, call.key(), options));
  return deleted_response(call, options, std::move(deleted));
}

StatusResult<Response> handle_delete_collection(Call& call) {
  ATHANOR_TRY(const ListOptions list, read_list_options(call.request, false));
  ATHANOR_TRY(const Selection selection, Selection::read(call.request, *call.resource));
  ATHANOR_TRY(const DeleteOptions options, read_delete_options(call));
  warn_of_orphans(call, options);
  auto& progress = call.conversation.progress<CollectionProgress>();
  if (!progress.page) {
    ATHANOR_TRY(progress.page, read_list(call, list, selection));
  }
  ATHANOR_TRY_VOID(delete_page(call, options, progress));
  const ListPage& page = *progress.page;
  const ListMetadata metadata{.revision = page.revision,
                              .continue_token = page.continue_token,
                              .remaining = page.remaining};
  Response response =
      value_response(call,
                     shape_list(*call.resource, call.accepted, IncludeObject::Metadata,
                                page.objects, metadata, call.now),
                     200);
  response.durable_after = std::max(progress.written, page.revision);
  return response;
}

}  // namespace athanor::apiserver
