// SPDX-License-Identifier: Apache-2.0
// WATCH: from where, and for how long (docs/spec/apiserver.md 8.6).
#include "embedded/apiserver/read/list_options.hpp"
#include "embedded/apiserver/read/watch_hub.hpp"
#include "embedded/apiserver/request/handlers.hpp"
#include "embedded/apiserver/request/revision_waits.hpp"
#include "embedded/apiserver/request/shape.hpp"
#include "embedded/apiserver/streaming/tunnels.hpp"
#include "embedded/apiserver/streaming/upgrade_request.hpp"

namespace athanor::apiserver {
namespace {

Duration timeout_of(Call& call, const ListOptions& options) {
  std::int64_t seconds = options.timeout_seconds.value_or(0);
  if (seconds <= 0) {
    // Drawn, so that clients that came together do not come again together.
    const std::int64_t shortest = call.core.options.min_request_timeout.count();
    const auto spread = static_cast<std::uint64_t>(shortest) + 1;
    seconds = shortest + static_cast<std::int64_t>(call.entropy().next() % spread);
  }
  return std::chrono::seconds(seconds);
}

// Fills what the stream starts with.
StatusResult<void> add_start(Call& call, const ListOptions& options, WatchSpec& spec) {
  const bool list_first =
      options.send_initial_events.value_or(options.resource_version.value_or(0) == 0);
  if (!list_first) {
    spec.after = options.resource_version.value_or(call.core.store.revision());
    return {};
  }
  if (auto reached = await_revision(call, options.resource_version.value_or(0)); !reached.ok()) {
    if (is_pending(reached.error())) {
      return reached;
    }
    spec.failure = reached.error();
    return {};
  }
  auto page = call.core.store.list(call.resource->storage, {.ns = spec.ns});
  if (!page.ok()) {
    return status::of(page.error());
  }
  spec.after = page->revision;
  spec.initial = std::move(page->items);
  spec.end_marker = options.send_initial_events.value_or(false) && options.bookmarks;
  return {};
}

}  // namespace

StatusResult<Response> handle_watch(Call& call) {
  ATHANOR_TRY(const ListOptions options, read_list_options(call.request, true));
  WatchSpec spec;
  ATHANOR_TRY(spec.selection, Selection::read(call.request, *call.resource));
  if (call.accepted.shape == Shape::Table) {
    ATHANOR_TRY(spec.include, read_include_object(call.request));
  }
  spec.table = call.table;
  spec.resource = call.resource;
  spec.store = &call.core.store;
  spec.exchanges = call.core.exchanges;
  spec.ns = call.path.ns;
  spec.accepted = call.accepted;
  spec.bookmarks = options.bookmarks;
  spec.timeout = timeout_of(call, options);
  if (call.path.legacy_watch && !call.path.name.empty()) {
    spec.name = call.path.name;
  }
  ATHANOR_TRY_VOID(add_start(call, options, spec));
  const bool over_websocket = asks_to_upgrade(call.request, "websocket") &&
                              !call.request.header("sec-websocket-key").empty();
  if (over_websocket) {
    spec.accepted.encoding = Encoding::Json;
    const std::vector<std::string> offered = offered_subprotocols(call.request);
    if (offered.size() > 1) {
      return status::bad_request("a watch speaks one WebSocket subprotocol, the client's only one");
    }
    return websocket_response(call.request, offered.empty() ? std::string() : offered.front(),
                              websocket_watch(call.core.watches->open(std::move(spec), call.now)));
  }
  Response response;
  if (call.accepted.encoding == Encoding::Protobuf) {
    response.content_type = "application/vnd.kubernetes.protobuf;stream=watch";
  }
  response.durable_after = spec.initial.empty() ? 0 : spec.after;
  response.stream = call.core.watches->open(std::move(spec), call.now);
  return response;
}

}  // namespace athanor::apiserver
