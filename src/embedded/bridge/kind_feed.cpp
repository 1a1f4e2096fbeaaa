// SPDX-License-Identifier: Apache-2.0
// Store events and lists by kind.
#include "embedded/bridge/kind_feed.hpp"

#include <optional>
#include <utility>

#include "base/contain.hpp"

namespace athanor::bridge {

Object as_kind(const Kind& kind, const Value& body, const StoredForms& forms) {
  if (body["apiVersion"].as_string() == kind.api_version()) {
    return Object(body);
  }
  if (forms) {
    // Every list of a start comes through here: one object must not end it.
    std::optional<Value> formed;
    static_cast<void>(contain([&] {
      if (auto form = forms(kind, body); form.ok()) {
        formed = *std::move(form);
      }
    }));
    if (formed) {
      return Object(*std::move(formed));
    }
  }
  Value converted = body;
  converted.set("apiVersion", kind.api_version());
  return Object(std::move(converted));
}

std::string KindFeed::resource_of(const Kind& kind) {
  return store::resource_name(kind.plural, kind.group);
}

KindFeed::KindFeed(std::span<const Kind* const> kinds, StoredForms forms)
    : forms_(std::move(forms)) {
  for (const Kind* kind : kinds) {
    kinds_[resource_of(*kind)].push_back(kind);
  }
}

bool KindFeed::watches(std::string_view resource) const {
  return kinds_.contains(resource);
}

std::span<const Kind* const> KindFeed::kinds_of(std::string_view resource) const {
  const auto at = kinds_.find(resource);
  return at == kinds_.end() ? std::span<const Kind* const>{} : at->second;
}

void KindFeed::convert(const store::Event& event, std::vector<runtime::WatchEvent>& out) const {
  for (const Kind* kind : kinds_of(event.object->resource)) {
    out.push_back({.type = event.type == store::Event::Type::Deleted
                               ? runtime::WatchEvent::Type::Deleted
                               : runtime::WatchEvent::Type::Changed,
                   .kind = kind,
                   .object = as_kind(*kind, event.object->body, forms_)});
  }
}

Result<runtime::Relisted> KindFeed::list(const store::Store& store, const Kind& kind,
                                         std::optional<store::Revision> exactly) const {
  ATHANOR_TRY(const store::Page page, store.list(resource_of(kind), {.exactly = exactly}));
  runtime::Relisted listed{.kind = &kind, .version = page.revision};
  listed.objects.reserve(page.items.size());
  for (const store::StoredPtr& item : page.items) {
    listed.objects.push_back(as_kind(kind, item->body, forms_));
  }
  return listed;
}

}  // namespace athanor::bridge
