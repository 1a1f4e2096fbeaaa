// SPDX-License-Identifier: Apache-2.0
// Live reads out of the store.
#include "embedded/bridge/live_read.hpp"

#include <algorithm>
#include <vector>

#include "embedded/bridge/kind_feed.hpp"
#include "kube/value/kind.hpp"
#include "runtime/view/live.hpp"

namespace athanor::bridge {

bool is_live_read(std::string_view query) {
  return LiveQuery::parse(query).has_value();
}

Result<Value> answer_live(const store::Store& store, std::string_view text) {
  const auto query = LiveQuery::parse(text);
  if (!query) {
    return Error::bad_request("not a live read: " + std::string(text));
  }
  const std::string resource = store::resource_name(query->plural, query->group);
  std::vector<Object> objects;
  // Stored in the kind's own storage version: what our kinds are read in (as KindFeed).
  const auto add = [&](const store::StoredPtr& stored) { objects.emplace_back(stored->body); };
  if (!query->key.name.empty()) {
    if (const store::StoredPtr stored = store.get(resource, query->key)) {
      add(stored);
    }
    return LiveQuery::answer(objects);
  }
  ATHANOR_TRY(const store::Page page, store.list(resource, {.ns = query->key.ns}));
  const std::size_t equals = std::min(query->label.find('='), query->label.size());
  const std::string_view key = std::string_view(query->label).substr(0, equals);
  for (const store::StoredPtr& stored : page.items) {
    if (key.empty() ||
        Object(stored->body).label(key) == std::string_view(query->label).substr(equals + 1)) {
      add(stored);
    }
  }
  return LiveQuery::answer(objects);
}

}  // namespace athanor::bridge
