// SPDX-License-Identifier: Apache-2.0
#include "embedded/bridge/store_snapshot.hpp"

#include <utility>

#include "runtime/view/select.hpp"

namespace athanor::bridge {

std::optional<Object> StoreSnapshot::get(const Kind& kind, const Key& key) const {
  const store::StoredPtr stored = store_.get(KindFeed::resource_of(kind), key);
  return stored ? std::optional(as_kind(kind, stored->body, forms())) : std::nullopt;
}

std::vector<Object> StoreSnapshot::list(const Kind& kind, const Select& select) const {
  std::vector<Object> objects;
  const auto page = store_.list(KindFeed::resource_of(kind), {.ns = select.ns});
  if (!page.ok()) {
    return objects;  // only a list of the past fails
  }
  for (const store::StoredPtr& stored : page->items) {
    Object object = as_kind(kind, stored->body, forms());
    if (selects(kind, select, object, indexes_)) {
      objects.push_back(std::move(object));
    }
  }
  return objects;
}

const StoredForms& StoreSnapshot::forms() const {
  static const StoredForms kNone;
  return forms_ == nullptr ? kNone : *forms_;
}

Observed StoreSnapshot::observe(std::string_view query, Duration /*max_age*/) const {
  Observed observed{.at = now_};
  if (answer_) {
    auto answer = answer_(std::string(query));
    if (answer.ok()) {
      observed.value = *std::move(answer);
    } else {
      observed.error = answer.error();
    }
  }
  return observed;
}

const Value& StoreSnapshot::config(std::string_view section) const {
  static const Value kNone;
  const auto found = config_.find(section);
  return found == config_.end() ? kNone : found->second;
}

}  // namespace athanor::bridge
