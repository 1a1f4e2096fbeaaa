// SPDX-License-Identifier: Apache-2.0
// LIST: selection, exact revisions and pages (spec/apiserver.md 8.2 to 8.5).
#include <algorithm>

#include "embedded/apiserver/handlers.hpp"
#include "embedded/apiserver/read_list.hpp"
#include "embedded/apiserver/respond.hpp"
#include "embedded/apiserver/shape.hpp"
#include "embedded/apiserver/versions.hpp"
#include "kube/json.hpp"

namespace athanor::apiserver {
namespace {

struct Window {
  std::size_t limit = 0;
  std::optional<std::uint64_t> exactly{};
  std::optional<Key> after{};
};

StatusResult<Window> window_of(const Call& call, const ListOptions& options) {
  Window window;
  window.limit = options.limit;
  const std::uint64_t current = call.core.store.revision();
  if (!options.continue_token.empty()) {
    ATHANOR_TRY(const ContinueToken token, parse_continue_token(options.continue_token));
    window.after = token.after;
    window.exactly = token.revision;
    return window;
  }
  const std::uint64_t wanted = options.resource_version.value_or(0);
  if (wanted > current) {
    return status::future_revision(wanted, current);
  }
  if (options.resource_version && wanted == 0) {
    window.limit = 0;  // anything cached: all of it
    return window;
  }
  const bool implied =
      options.resource_version && options.match == VersionMatch::Unset && options.limit > 0;
  if (options.match == VersionMatch::Exact || implied) {
    window.exactly = wanted;
  }
  return window;
}

StatusError expired(const ListOptions& options, const Window& window, std::uint64_t current) {
  if (options.continue_token.empty()) {
    return status::expired_list();
  }
  return status::expired_continue(
      print_continue_token({.revision = current, .after = *window.after}));
}

StatusResult<store::Page> read_page(const Call& call, const ListOptions& options,
                                    const Window& window, bool selects) {
  store::ListOptions query;
  query.ns = call.path.ns;
  query.after = window.after;
  query.limit = selects ? 0 : window.limit;
  if (window.exactly && *window.exactly != call.core.store.revision()) {
    query.exactly = window.exactly;
  }
  auto page = call.core.store.list(call.resource->storage, query);
  if (!page.ok()) {
    if (page.error().code == 410) {
      return expired(options, window, call.core.store.revision());
    }
    return status::of(page.error());
  }
  return *std::move(page);
}

constexpr std::size_t kReserveLimit = std::size_t{64} << 20;  // bytes

// The body without a Value for the list itself: what the outside asks for most.
std::string list_text(const ResourceInfo& resource, const ListPage& page) {
  std::string out = "{\"kind\":" + json::quote(resource.list_kind) +
                    ",\"apiVersion\":" + json::quote(resource.api_version()) +
                    ",\"metadata\":{\"resourceVersion\":\"" + std::to_string(page.revision) + "\"";
  if (resource.is_custom || !page.continue_token.empty()) {
    out += ",\"continue\":" + json::quote(page.continue_token);
  }
  if (page.remaining) {
    out += ",\"remainingItemCount\":" + std::to_string(*page.remaining);
  }
  out += "},\"items\":[";
  const std::size_t head = out.size();
  std::size_t count = 0;
  for (const Value& object : page.objects) {
    if (count == 1) {
      // Objects tend to be alike.
      out.reserve(std::min(head + (out.size() - head) * page.objects.size(), kReserveLimit));
    }
    out += count++ == 0 ? "" : ",";
    if (resource.is_custom) {
      json::append(object, out);
      continue;
    }
    char separator = '{';
    for (const Member& member : object.members()) {
      if (member.key() == "kind" || member.key() == "apiVersion") {
        continue;
      }
      out += separator;
      separator = ',';
      json::append(member.name, out);
      out += ':';
      json::append(member.value, out);
    }
    out += separator == '{' ? "{}" : "}";
  }
  out += "]}\n";
  return out;
}

}  // namespace

StatusResult<ListPage> read_list(Call& call, const ListOptions& options,
                                 const Selection& selection) {
  ATHANOR_TRY(const Window window, window_of(call, options));
  const bool selects = !selection.everything();
  ATHANOR_TRY(const store::Page page, read_page(call, options, window, selects));
  ListPage result;
  result.revision = window.exactly.value_or(page.revision);
  bool more = page.more;
  result.objects.reserve(page.items.size());
  // A conversion webhook is asked once for the whole page.
  std::vector<Value> converted;
  if (call.resource->conversion != nullptr) {
    ATHANOR_TRY(converted, to_served(*call.resource, page.items, call.versions()));
  }
  for (std::size_t i = 0; i < page.items.size(); ++i) {
    const store::StoredPtr& stored = page.items[i];
    if (selects && !selection.may_match(stored->key)) {
      continue;
    }
    Value object;
    if (converted.empty()) {
      ATHANOR_TRY(object, to_served(*call.resource, *stored, call.versions()));
    } else {
      object = std::move(converted[i]);
    }
    if (selects && !selection.matches(object)) {
      continue;
    }
    result.objects.push_back(std::move(object));
    result.keys.push_back(stored->key);
    if (selects && window.limit > 0 && result.objects.size() == window.limit) {
      // Whether they match is for the next page to say, unless one name was asked for.
      const bool single =
          selection.names_one() && (!call.resource->namespaced || !call.path.ns.empty());
      more = !single && i + 1 < page.items.size();
      break;
    }
  }
  if (more && !result.keys.empty()) {
    result.continue_token =
        print_continue_token({.revision = result.revision, .after = result.keys.back()});
    if (!selects) {
      result.remaining = page.remaining;
    }
  }
  return result;
}

StatusResult<Response> handle_list(Call& call) {
  ATHANOR_TRY_VOID(Selection::check_syntax(call.request));  // before the options are judged
  ATHANOR_TRY(const ListOptions options, read_list_options(call.request, false));
  ATHANOR_TRY(const Selection selection, Selection::read(call.request, *call.resource));
  IncludeObject include = IncludeObject::Metadata;
  if (call.accepted.shape == Shape::Table) {
    ATHANOR_TRY(include, read_include_object(call.request));
  }
  ATHANOR_TRY(const ListPage page, read_list(call, options, selection));
  ATHANOR_TRY_VOID(check_shape(*call.resource, call.accepted, true));
  Response response;
  const bool plain = !call.in_process && call.accepted.shape == Shape::Whole &&
                     call.accepted.encoding == Encoding::Json && !wants_pretty(call.request);
  if (plain) {
    response.body = list_text(*call.resource, page);
  } else {
    const ListMetadata metadata{.revision = page.revision,
                                .continue_token = page.continue_token,
                                .remaining = page.remaining};
    response = value_response(
        call, shape_list(*call.resource, call.accepted, include, page.objects, metadata, call.now),
        200);
  }
  response.durable_after = page.revision;
  return response;
}

}  // namespace athanor::apiserver
