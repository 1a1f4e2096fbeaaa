// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/model/cached_world.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::runtime {

namespace {

const Value kNone{};

}  // namespace

std::vector<Index> declared_indexes(std::span<const Operator* const> operators) {
  std::vector<Index> indexes;
  for (const Operator* op : operators) {
    indexes.insert(indexes.end(), op->indexes.begin(), op->indexes.end());
  }
  return indexes;
}

CachedWorld::CachedWorld(std::span<const Operator* const> operators, std::vector<Index> indexes,
                         const EngineOptions& options, const Observations& observations)
    : options_(options), observations_(observations), indexes_(std::move(indexes)) {
  Managers appliers;
  for (const Operator* op : operators) {
    appliers.emplace(op->name);
  }
  const auto add = [&](const Kind* kind) {
    const auto place = options_.places.find(kind);
    caches_.try_emplace(
        kind, *kind, indexes_,
        place == options_.places.end() ? options_.namespaces : place->second.watched,
        options_.warm_objects, appliers);
  };
  for (const Operator* op : operators) {
    for (const Kind* kind : op->reads) {
      add(kind);
    }
    if (op->primary != nullptr) {
      add(op->primary);
    }
  }
  for (auto& [kind, cache] : caches_) {
    kinds_.push_back(kind);
    by_address_.emplace(kind, &cache);
  }
}

Cache& CachedWorld::cache(const Kind& kind) {
  const auto known = by_address_.find(&kind);
  if (known != by_address_.end()) {
    return *known->second;
  }
  const auto at = caches_.find(&kind);  // a kind of the same name
  ATHANOR_CHECK(at != caches_.end(), "events come for watched kinds only");
  return at->second;
}

const Cache* CachedWorld::find(const Kind& kind) const {
  const auto known = by_address_.find(&kind);
  if (known != by_address_.end()) {
    return known->second;
  }
  const auto at = caches_.find(&kind);
  return at == caches_.end() ? nullptr : &at->second;
}

const Cache* CachedWorld::watching(const Ref& ref) const {
  const Cache* held = find(*ref.kind);
  if (held == nullptr || !held->watches(ref.key.ns)) {
    return nullptr;
  }
  // The cache of a kind that may not be listed stays empty, and no event follows.
  const bool refused =
      held->version(ref.key.ns) == 0 && observations_.contains(unreadable_query(*ref.kind));
  return refused ? nullptr : held;
}

std::optional<Object> CachedWorld::get(const Kind& kind, const Key& key) const {
  const Cache* held = find(kind);
  ATHANOR_CHECK(held != nullptr, "an operator reads kinds that it declared");
  const Object* object = held->find(key);
  if (object == nullptr) {
    return std::nullopt;
  }
  return *object;
}

std::vector<Object> CachedWorld::list(const Kind& kind, const Select& select) const {
  const Cache* held = find(kind);
  ATHANOR_CHECK(held != nullptr, "an operator lists kinds that it declared");
  return held->list(select);
}

Totals CachedWorld::totals(const Kind& kind, const Select& select, Measure measure) const {
  const Cache* held = find(kind);
  return held != nullptr && Cache::is_bucket(select) && !derive_anew_
             ? held->totals(select, measure)
             : Snapshot::totals(kind, select, measure);
}

std::vector<Group> CachedWorld::groups(const Kind& kind, const Select& select,
                                       const Ranking& ranking) const {
  const Cache* held = find(kind);
  return held != nullptr && Cache::is_bucket(select) ? held->groups(select, ranking)
                                                     : Snapshot::groups(kind, select, ranking);
}

std::vector<Object> CachedWorld::ranked(const Kind& kind, const Select& select,
                                        const Ranking& ranking, std::string_view group,
                                        const Object* after, std::size_t limit) const {
  const Cache* held = find(kind);
  return held != nullptr && Cache::is_bucket(select)
             ? held->ranked(select, ranking, group, after, limit)
             : Snapshot::ranked(kind, select, ranking, group, after, limit);
}

bool CachedWorld::keep(Derived& kept, const Derivation& derivation,
                       const std::vector<std::uint64_t>& changes) const {
  if (kept.made == nullptr || (kept.changes != changes && derivation.overlooks == nullptr)) {
    return false;
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (kept.changes[i] == changes[i]) {
      continue;
    }
    const Kind& kind = *derivation.kinds[i];
    std::vector<Object> now = list(kind, {});
    const bool same = std::ranges::equal(kept.objects[i], now, [&](const auto& a, const auto& b) {
      return a.body().identical(b.body()) ||
             (a.key() == b.key() && a.uid() == b.uid() && derivation.overlooks(kind, a, b));
    });
    if (!same) {
      return false;
    }
    kept.objects[i] = std::move(now);
    kept.changes[i] = changes[i];
  }
  return true;
}

std::shared_ptr<const void> CachedWorld::derived(const Derivation& derivation) const {
  std::vector<std::uint64_t> changes;
  for (const Kind* kind : derivation.kinds) {
    const Cache* held = find(*kind);
    ATHANOR_CHECK(held != nullptr, "an operator derives from kinds that it declared");
    changes.push_back(held->changes());
  }
  Derived& kept = kept_derived_[derivation.make];
  if (derive_anew_ || !keep(kept, derivation, changes)) {
    Reads done;
    kept.made = derivation.make(View(*this, done));
    kept.changes = std::move(changes);
    kept.objects.clear();
    if (derivation.overlooks != nullptr) {
      for (const Kind* kind : derivation.kinds) {
        kept.objects.push_back(list(*kind, {}));
      }
    }
    const auto of_kinds = [&](const Reads::ListRead& read) {
      return std::find(derivation.kinds.begin(), derivation.kinds.end(), read.kind) !=
             derivation.kinds.end();
    };
    ATHANOR_CHECK(done.objects.empty() && done.observations.empty() &&
                      std::all_of(done.lists.begin(), done.lists.end(), of_kinds),
                  "a derivation reads the kinds that it names alone");
  }
  return kept.made;
}

Observed CachedWorld::observe(std::string_view query, Duration) const {
  const Observed* known = observations_.find(query);
  return known == nullptr ? Observed{} : *known;
}

const Value& CachedWorld::config(std::string_view section) const {
  const auto at = options_.config.find(section);
  return at == options_.config.end() ? kNone : at->second;
}

void CachedWorld::pack_unused(Instant now) {
  for (auto& [kind, cache] : caches_) {
    cache.rest(now);
  }
}

}  // namespace athanor::runtime
