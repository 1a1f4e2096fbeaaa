// SPDX-License-Identifier: Apache-2.0
#include "extender/pending.hpp"

#include <algorithm>
#include <utility>

#include "api/builtin.hpp"
#include "runtime/view/select.hpp"

namespace athanor::extender {
namespace {

// Whether the caches are as far as this write.
bool shows(const Kind& kind, const Object& cached, const Object& written) {
  if (&kind == &api::kPod) {
    return cached.uid() != written.uid() || !cached.spec()["nodeName"].as_string().empty();
  }
  return !written.uid().empty() ? cached.uid() == written.uid() : cached.spec() == written.spec();
}

}  // namespace

Pending::Id Pending::id_of(const Kind& kind, const Key& key) {
  return {std::string(kind.group), std::string(kind.name), key};
}

void Pending::put(const Kind& kind, Object object) {
  Id id = id_of(kind, object.key());
  entries_.insert_or_assign(std::move(id),
                            Entry{.kind = &kind, .object = std::move(object), .until = kForever});
}

void Pending::erase(const Kind& kind, const Key& key) {
  entries_.erase(id_of(kind, key));
}

void Pending::until(const Kind& kind, const Key& key, Instant when) {
  if (const auto found = entries_.find(id_of(kind, key)); found != entries_.end()) {
    found->second.until = when;
  }
}

void Pending::settle(const View& base, Instant now) {
  std::erase_if(entries_, [&](const auto& one) {
    const Entry& entry = one.second;
    if (entry.until == kForever) {
      return false;  // its writer reports the result
    }
    const auto cached = base.get(*entry.kind, std::get<Key>(one.first));
    return entry.until <= now || (cached && shows(*entry.kind, *cached, entry.object));
  });
}

bool Pending::answered() const {
  return std::ranges::any_of(entries_,
                             [](const auto& one) { return one.second.until != kForever; });
}

const Pending::Entry* Pending::find(const Kind& kind, const Key& key) const {
  const auto found = entries_.find(id_of(kind, key));
  return found == entries_.end() ? nullptr : &found->second;
}

std::vector<const Pending::Entry*> Pending::of(const Kind& kind) const {
  std::vector<const Entry*> found;
  for (const auto& [id, entry] : entries_) {
    if (entry.kind == &kind) {
      found.push_back(&entry);
    }
  }
  return found;
}

std::optional<Object> Overlay::get(const Kind& kind, const Key& key) const {
  auto cached = base_.get(kind, key);
  const Pending::Entry* entry = pending_.find(kind, key);
  return entry == nullptr || (cached && shows(kind, *cached, entry->object))
             ? cached
             : std::optional(entry->object);
}

std::vector<Object> Overlay::list(const Kind& kind, const Select& select) const {
  std::vector<Object> objects = base_.list(kind, select);
  for (const Pending::Entry* entry : pending_.of(kind)) {
    const Key key = entry->object.key();
    const auto cached = base_.get(kind, key);
    if (cached && shows(kind, *cached, entry->object)) {
      continue;
    }
    std::erase_if(objects, [&](const Object& one) { return one.key() == key; });
    if (selects(kind, select, entry->object, indexes_)) {
      const auto place = std::ranges::lower_bound(objects, key, {}, &Object::key);
      objects.insert(place, entry->object);
    }
  }
  return objects;
}

std::shared_ptr<const void> Overlay::derived(const Derivation& derivation) const {
  const bool changed = std::ranges::any_of(
      derivation.kinds, [&](const Kind* kind) { return !pending_.of(*kind).empty(); });
  return changed ? Snapshot::derived(derivation) : base_.derived<void>(derivation);
}

Observed Overlay::observe(std::string_view query, Duration max_age) const {
  return base_.observe(query, max_age);
}

const Value& Overlay::config(std::string_view section) const {
  return base_.config(section);
}

}  // namespace athanor::extender
