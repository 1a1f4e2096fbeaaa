// SPDX-License-Identifier: Apache-2.0
// Translations; nothing is decided here.
#include "cluster/write_call.hpp"

#include <utility>

#include "client/connection.hpp"

namespace athanor::cluster {

client::ApiRequest to_request(const runtime::SendWrite& send) {
  runtime::HttpForm form = runtime::http_form(send.request);
  client::ApiRequest request;
  request.method = std::move(form.method);
  request.path = std::move(form.path);
  char separator = '?';
  for (const auto& [name, value] : form.query) {
    request.path += separator;
    request.path += name + "=" + client::escape(value);
    separator = '&';
  }
  if (!form.content_type.empty()) {
    request.content_type = std::move(form.content_type);
  }
  request.body = send.request.body;
  request.lane = send.urgent ? client::Lane::Urgent : client::Lane::Normal;
  return request;
}

runtime::WriteResult to_result(std::uint64_t id, client::ApiResult result) {
  runtime::WriteResult out{.id = id,
                           .error = std::move(result.error),
                           .unknown = result.unknown,
                           .retry_after = result.retry_after};
  if (!out.error && result.body.is_object()) {
    out.object = Object(std::move(result.body));
  }
  return out;
}

client::ApiRequest to_request(const LiveQuery& query) {
  client::ApiRequest request;
  request.path = query.path();
  request.lane = client::Lane::Urgent;
  return request;
}

Result<Value> as_result(const LiveQuery& query, client::ApiResult result) {
  std::vector<Object> objects;
  if (result.error && (result.error->code != 404 || query.key.name.empty())) {
    return *std::move(result.error);
  }
  if (!result.error && !query.key.name.empty()) {
    objects.emplace_back(std::move(result.body));
  } else if (!result.error) {
    const std::string version =
        query.group.empty() ? query.version : query.group + "/" + query.version;
    const Value& items = result.body["items"];
    for (Value item : items.items()) {
      item.set("apiVersion", version);
      item.set("kind", query.kind);
      objects.emplace_back(std::move(item));
    }
  }
  return LiveQuery::answer(objects);
}

runtime::Input to_input(client::FeedItem item, const std::string& ns) {
  if (auto* list = std::get_if<client::KindList>(&item)) {
    return runtime::Relisted{.kind = list->kind,
                             .objects = std::move(list->objects),
                             .version = list->version,
                             .error = std::move(list->error),
                             .ns = ns,
                             .first = list->first,
                             .last = list->last,
                             .early = list->early};
  }
  auto& event = std::get<client::KindEvent>(item);
  using From = client::KindEvent::Type;
  using To = runtime::WatchEvent::Type;
  const To type = event.type == From::Deleted    ? To::Deleted
                  : event.type == From::Bookmark ? To::Bookmark
                                                 : To::Changed;
  return runtime::WatchEvent{
      .type = type, .kind = event.kind, .object = std::move(event.object), .ns = ns};
}

}  // namespace athanor::cluster
