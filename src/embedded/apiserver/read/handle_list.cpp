// SPDX-License-Identifier: Apache-2.0
// LIST: selection, exact revisions and pages (docs/spec/apiserver.md 8.2 to 8.5).
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "base/cancellation.hpp"
#include "embedded/apiserver/read/list_body.hpp"
#include "embedded/apiserver/read/read_list.hpp"
#include "embedded/apiserver/request/handlers.hpp"
#include "embedded/apiserver/request/respond.hpp"
#include "embedded/apiserver/request/revision_waits.hpp"
#include "embedded/apiserver/request/shape.hpp"
#include "embedded/apiserver/resources/versions.hpp"

namespace athanor::apiserver {
namespace {

struct Window {
  std::size_t limit = 0;
  std::optional<std::uint64_t> exactly{};
  std::optional<Key> after{};
};

// What the first page has to look at.
struct Extent {
  std::string_view ns{};  // "": all of them
  bool single = false;    // one object at most; such a list has neither pages nor a past
};

// A selector of fields may say less than the path does.
Extent extent_of(const Call& call, const ListOptions& options, const Selection& selection) {
  Extent extent{.ns = call.path.ns};
  if (!options.continue_token.empty()) {
    return extent;
  }
  const bool namespaced = call.resource->namespaced;
  if (const std::string* ns = selection.only_namespace();
      namespaced && extent.ns.empty() && ns != nullptr) {
    extent.ns = *ns;
  }
  extent.single = selection.only_name() != nullptr && (!namespaced || !extent.ns.empty());
  return extent;
}

ListScope scope_of(const Call& call) {
  return {.ns = call.path.ns, .namespaced = call.resource->namespaced};
}

StatusResult<Window> window_of(Call& call, const ListOptions& options, bool single) {
  Window window;
  window.limit = options.limit;
  if (!options.continue_token.empty()) {
    ATHANOR_TRY(const ContinueToken token,
                parse_continue_token(options.continue_token, scope_of(call)));
    window.after = token.after;
    window.exactly = token.revision;
    return window;
  }
  const std::uint64_t wanted = options.resource_version.value_or(0);
  ATHANOR_TRY_VOID(await_revision(call, wanted));
  if (options.resource_version && wanted == 0) {
    window.limit = 0;  // anything cached: all of it
    return window;
  }
  const bool implied = !single && options.resource_version &&
                       options.match == VersionMatch::Unset && options.limit > 0;
  if (options.match == VersionMatch::Exact || implied) {
    window.exactly = wanted;
  }
  return window;
}

StatusError expired(const Call& call, const ListOptions& options, const Window& window) {
  if (options.continue_token.empty()) {
    return status::expired_list();
  }
  return status::expired_continue(print_continue_token(
      {.revision = call.core.store.revision(), .after = *window.after}, scope_of(call)));
}

StatusResult<store::Page> read_page(const Call& call, const ListOptions& options,
                                    const Window& window, std::string_view ns, bool selects) {
  store::ListOptions query;
  query.ns = ns;
  query.after = window.after;
  query.limit = selects ? 0 : window.limit;
  if (window.exactly && *window.exactly != call.core.store.revision()) {
    query.exactly = window.exactly;
  }
  auto page = call.core.store.list(call.resource->storage, query);
  if (!page.ok()) {
    if (page.error().code == 410) {
      return expired(call, options, window);
    }
    return status::of(page.error());
  }
  return *std::move(page);
}

constexpr std::size_t kWholeItems = 64;  // lists up to this length have a Content-Length

// The body without a Value for the list itself: what the outside asks for most.
void write_list(const Call& call, ListPage page, Response& response) {
  // What is to be compressed is needed whole.
  const bool whole = page.objects.size() <= kWholeItems || accepts_gzip(call.request);
  ListText text(*call.resource, std::move(page));
  if (whole) {
    text.append(response.body, std::numeric_limits<std::size_t>::max() / 2);
  } else {
    response.stream = stream_list(std::move(text));
  }
}

// Finds in what is stored, a block at a time, which objects are not selected.
class Sieve {
 public:
  Sieve(const Call& call, const Selection& selection, std::span<const store::StoredPtr> stored)
      : resource_(*call.resource), selection_(selection), stored_(stored) {}

  // `index` grows by one from call to call.
  bool drops(std::size_t index) {
    constexpr std::size_t kBlock = Selection::kBlock;
    const store::Stored& object = *stored_[index];
    if (index % kBlock == 0) {
      matched_ =
          selection_.matches(stored_.subspan(index, std::min(kBlock, stored_.size() - index)));
    }
    return !selection_.may_match(object.key) ||
           ((matched_ >> index % kBlock & 1U) == 0 &&
            served_as_stored(resource_, object.body, object.revision));
  }

 private:
  const ResourceInfo& resource_;
  const Selection& selection_;
  std::span<const store::StoredPtr> stored_;
  std::uint32_t matched_ = 0;
};

}  // namespace

StatusResult<ListPage> read_list(Call& call, const ListOptions& options,
                                 const Selection& selection) {
  const Extent extent = extent_of(call, options, selection);
  ATHANOR_TRY(const Window window, window_of(call, options, extent.single));
  const bool selects = !selection.everything();
  ATHANOR_TRY(const store::Page page, read_page(call, options, window, extent.ns, selects));
  ListPage result;
  result.revision = window.exactly.value_or(page.revision);
  bool more = page.more;
  if (!selects) {
    result.objects.reserve(page.items.size());
    result.stored.reserve(page.items.size());
  }
  // A conversion webhook is asked once for the whole page.
  std::vector<Value> converted;
  if (call.resource->conversion != nullptr) {
    ATHANOR_TRY(converted, to_served(*call.resource, page.items, call.versions()));
  }
  Sieve sieve(call, selection, page.items);
  for (std::size_t i = 0; i < page.items.size(); ++i) {
    give_up_if_cancelled();
    const store::StoredPtr& stored = page.items[i];
    if (selects && sieve.drops(i)) {
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
    result.stored.push_back(stored);
    if (selects && window.limit > 0 && result.objects.size() == window.limit) {
      // Whether they match is for the next page to say, unless one name was asked for.
      more = !extent.single && i + 1 < page.items.size();
      break;
    }
  }
  if (more && !result.stored.empty()) {
    result.continue_token = print_continue_token(
        {.revision = result.revision, .after = result.stored.back()->key}, scope_of(call));
    if (!selects) {
      result.remaining = page.remaining;
    }
  }
  return result;
}

StatusResult<Response> handle_list(Call& call) {
  ATHANOR_TRY_VOID(Selection::check_syntax(call.request));  // before the options are judged
  auto read = read_list_options(call.request, false);
  if (!read.ok() && !is_for_storage(read.error())) {
    return std::move(read).error();
  }
  ATHANOR_TRY(const Selection selection, Selection::read(call.request, *call.resource));
  if (!read.ok()) {
    return std::move(read).error();
  }
  const ListOptions& options = *read;
  IncludeObject include = IncludeObject::Metadata;
  if (call.accepted.shape == Shape::Table) {
    ATHANOR_TRY(include, read_include_object(call.request));
  }
  ATHANOR_TRY(ListPage page, read_list(call, options, selection));
  const std::uint64_t revision = page.revision;
  ATHANOR_TRY_VOID(check_shape(*call.resource, call.accepted, true));
  Response response;
  const bool plain = !call.in_process && call.accepted.shape == Shape::Whole &&
                     call.accepted.encoding == Encoding::Json && !wants_pretty(call.request);
  if (plain) {
    write_list(call, std::move(page), response);
  } else {
    const ListMetadata metadata{.revision = page.revision,
                                .continue_token = page.continue_token,
                                .remaining = page.remaining};
    response = value_response(
        call, shape_list(*call.resource, call.accepted, include, page.objects, metadata, call.now),
        200);
  }
  response.durable_after = revision;
  return response;
}

}  // namespace athanor::apiserver
