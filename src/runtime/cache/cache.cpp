// SPDX-License-Identifier: Apache-2.0
// Keeping objects and their secondary indexes.
#include "runtime/cache/cache.hpp"

#include <algorithm>
#include <charconv>

#include "base/check.hpp"
#include "base/contain.hpp"
#include "runtime/view/select.hpp"

namespace athanor::runtime {

std::uint64_t version_number(std::string_view resource_version) {
  std::uint64_t number = 0;
  const char* end = resource_version.data() + resource_version.size();
  const auto parsed = std::from_chars(resource_version.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end ? number : 0;
}

std::uint64_t version_of(const Object* object) {
  return object == nullptr ? 0 : version_number(object->resource_version());
}

Cache::Cache(const Kind& kind, std::span<const Index> declared,
             std::span<const std::string> namespaces, std::size_t warm, Managers appliers)
    : kind_(&kind), appliers_(std::move(appliers)), objects_(warm) {
  if (namespaces.empty() || !kind.namespaced) {
    watches_.try_emplace("");
  } else {
    for (const std::string& ns : namespaces) {
      watches_.try_emplace(ns);
    }
  }
  unlisted_ = watches_.size();
  for (const Index& index : declared) {
    if (index.kind == &kind) {
      declared_.push_back(index);
    }
  }
}

Object Cache::slim(Object object) const {
  if (!object.metadata().contains("managedFields")) {
    return object;
  }
  Value body = object.body();
  keep_rival_fields(body, appliers_);
  return Object(std::move(body));
}

std::vector<std::string> Cache::values(const Secondary& index, const Object& object) const {
  if (index.is_label) {
    const Value* label = object.metadata()["labels"].find(index.name);
    return label == nullptr ? std::vector<std::string>{} : std::vector<std::string>{label->str()};
  }
  auto found = index_values(*kind_, object, index.name, declared_);
  ATHANOR_CHECK(found.has_value(), "an operator lists by built-in or declared indexes only");
  return *std::move(found);
}

Totals Cache::Sum::share_of(const Object& object) const {
  Totals share;
  // One that cannot be measured counts nothing: what was added is what is taken off again.
  const auto broken = contain([&] { measure(object, share); });
  return broken ? Totals() : share;
}

void Cache::Sum::add(const Object& object, std::int64_t sign) {
  add(share_of(object), sign);
}

void Cache::Sum::add(const Totals& share, std::int64_t sign) {
  for (const auto& [name, amount] : share) {
    totals.add(name, sign * amount);
  }
}

void Cache::Sum::replace(const Object& before, const Object& after) {
  const Totals old = share_of(before);
  const Totals now = share_of(after);
  if (old == now) {
    return;
  }
  add(old, -1);
  add(now, 1);
}

void Cache::Bucket::insert(const Object& object) {
  if (!keys.insert(object.key()).second) {
    return;
  }
  for (Sum& sum : sums) {
    sum.add(object, 1);
  }
  for (Ranks& order : ranks) {
    order.insert(object);
  }
}

void Cache::Bucket::erase(const Object& object) {
  if (keys.erase(object.key()) == 0) {
    return;
  }
  for (Sum& sum : sums) {
    sum.add(object, -1);
  }
  for (Ranks& order : ranks) {
    order.erase(object.key());
  }
}

void Cache::Bucket::replace(const Object& before, const Object& after) {
  for (Sum& sum : sums) {
    sum.replace(before, after);
  }
  for (Ranks& order : ranks) {
    order.erase(before.key());
    order.insert(after);
  }
}

Cache::Secondary& Cache::secondary(bool is_label, const std::string& name) const {
  for (Secondary& known : secondaries_) {
    if (known.is_label == is_label && known.name == name) {
      return known;
    }
  }
  Secondary made{.is_label = is_label, .name = name};
  objects_.each({}, [&](const Key& key, const Object& object) {
    for (std::string& value : values(made, object)) {
      made.buckets[std::move(value)].keys.insert(key);
    }
  });
  return secondaries_.emplace_back(std::move(made));
}

void Cache::file(const Object& object) {
  for (Secondary& index : secondaries_) {
    for (std::string& value : values(index, object)) {
      index.buckets[std::move(value)].insert(object);
    }
  }
}

void Cache::unfile(const Object& object) {
  for (Secondary& index : secondaries_) {
    unfile(index, values(index, object), object);
  }
}

void Cache::unfile(Secondary& index, const std::vector<std::string>& values, const Object& object) {
  for (const std::string& value : values) {
    const auto bucket = index.buckets.find(value);
    if (bucket == index.buckets.end()) {
      continue;
    }
    bucket->second.erase(object);
    if (bucket->second.keys.empty() && bucket->second.sums.empty() &&
        bucket->second.ranks.empty()) {
      index.buckets.erase(bucket);
    }
  }
}

// Most changes leave an object where it is.
void Cache::refile(const Object& before, const Object& after) {
  for (Secondary& index : secondaries_) {
    const std::vector<std::string> old = values(index, before);
    std::vector<std::string> now = values(index, after);
    if (old != now) {
      unfile(index, old, before);
      for (std::string& value : now) {
        index.buckets[std::move(value)].insert(after);
      }
      continue;
    }
    for (auto value = now.begin(); value != now.end(); ++value) {
      if (std::find(now.begin(), value, *value) == value) {
        index.buckets[*value].replace(before, after);
      }
    }
  }
}

void Cache::put(const Key& key, Object object, const Object* known) {
  if (known != nullptr) {
    refile(*known, object);
  } else {
    file(object);
  }
  objects_.put(key, std::move(object));
}

void Cache::drop(const Key& key) {
  if (const Object* known = secondaries_.empty() ? nullptr : objects_.find(key)) {
    unfile(*known);
  }
  objects_.erase(key);
}

Cache::Watch* Cache::find_watch(std::string_view ns) {
  const auto at = watches_.find(watch_of(ns));
  return at == watches_.end() ? nullptr : &at->second;
}

bool Cache::synced(std::string_view ns) const {
  const auto at = watches_.find(watch_of(ns));
  return at != watches_.end() && at->second.listed;
}

std::uint64_t Cache::version(std::string_view ns) const {
  const auto at = watches_.find(watch_of(ns));
  return at == watches_.end() ? 0 : at->second.version;
}

std::string Cache::watch_of(std::string_view ns) const {
  return watches_.contains("") ? std::string() : std::string(ns);
}

std::vector<std::string> Cache::watches() const {
  std::vector<std::string> names;
  names.reserve(watches_.size());
  for (const auto& [name, watch] : watches_) {
    names.push_back(name);
  }
  return names;
}

std::optional<Cache::Change> Cache::set(Object object) {
  const std::uint64_t version = version_number(object.resource_version());
  Watch* watch = find_watch(object.ns());
  if (watch == nullptr || version <= watch->version) {
    return std::nullopt;
  }
  watch->version = version;
  const Key key = object.key();
  Change change{.after = slim(std::move(object))};
  if (const Object* known = find(key)) {
    change.before = *known;
  }
  put(key, *change.after, change.before ? &*change.before : nullptr);
  ++changes_;
  return change;
}

std::optional<Cache::Change> Cache::remove(const Object& last) {
  const std::uint64_t version = version_number(last.resource_version());
  Watch* watch = find_watch(last.ns());
  if (watch == nullptr || version <= watch->version) {
    return std::nullopt;
  }
  watch->version = version;
  const Key key = last.key();
  const Object* known = find(key);
  if (known == nullptr) {
    return std::nullopt;
  }
  Change change{.before = *known};
  drop(key);
  ++changes_;
  return change;
}

void Cache::add(const std::vector<Object>& objects, bool first, const std::string& ns) {
  Watch* watch = find_watch(ns);
  if (watch == nullptr) {
    return;
  }
  if (first) {
    watch->list = ++lists_;
    objects_.begin_list(ns);
  }
  for (const Object& object : objects) {
    objects_.add(slim(object), watch->list);
  }
}

void Cache::replace(std::uint64_t version, const std::string& ns,
                    const std::function<void(const Difference& difference)>& visit) {
  Watch* watch = find_watch(ns);
  if (watch == nullptr) {
    return;
  }
  if (watch->listed && version < watch->version) {
    objects_.begin_list(ns);
    return;
  }
  watch->version = version;
  unlisted_ -= watch->listed ? 0 : 1;
  watch->listed = true;
  const std::vector<KeptObjects::Difference> differences = objects_.end_list(ns, watch->list);
  changes_ += differences.size();
  if (!secondaries_.empty()) {
    for (const KeptObjects::Difference& one : differences) {
      if (!one.is_new()) {
        unfile(objects_.before(one));
      }
      if (!one.is_gone()) {
        file(objects_.after(one));
      }
    }
  }
  for (const KeptObjects::Difference& one : differences) {
    visit({.key = one.key(), .gone = one.is_gone(), .change = [&] {
             Change change;
             if (!one.is_new()) {
               change.before = objects_.before(one);
             }
             if (!one.is_gone()) {
               change.after = objects_.after(one);
             }
             return change;
           }});
  }
}

std::vector<Cache::Change> Cache::replace(const std::vector<Object>& objects, std::uint64_t version,
                                          const std::string& ns) {
  std::vector<Change> changes;
  add(objects, true, ns);
  replace(version, ns,
          [&](const Difference& difference) { changes.push_back(difference.change()); });
  return changes;
}

void Cache::pass(std::uint64_t version, const std::string& ns) {
  if (Watch* watch = find_watch(ns)) {
    watch->version = std::max(watch->version, version);
  }
}

const Object* Cache::find(const Key& key) const {
  return objects_.find(key);
}

bool Cache::is_bucket(const Select& select) {
  return !select.index.empty() && select.ns.empty() && select.labels.empty();
}

Cache::Bucket& Cache::bucket(const Select& select) const {
  ATHANOR_CHECK(is_bucket(select), "sums and ranks hang on the bucket of an index");
  return secondary(false, select.index).buckets[select.index_value];
}

Totals Cache::totals(const Select& select, Measure measure) const {
  Bucket& of = bucket(select);
  for (const Sum& sum : of.sums) {
    if (sum.measure == measure) {
      return sum.totals;
    }
  }
  Sum& sum = of.sums.emplace_back(Sum{.measure = measure});
  for (const Key& key : of.keys) {
    sum.add(objects_.at(key), 1);
  }
  return sum.totals;
}

const Ranks& Cache::ranks(const Select& select, const Ranking& ranking) const {
  Bucket& of = bucket(select);
  for (const Ranks& known : of.ranks) {
    if (known.ranking() == ranking) {
      return known;
    }
  }
  Ranks& made = of.ranks.emplace_back(ranking);
  for (const Key& key : of.keys) {
    made.insert(objects_.at(key));
  }
  return made;
}

std::vector<Group> Cache::groups(const Select& select, const Ranking& ranking) const {
  return ranks(select, ranking).groups();
}

std::vector<Object> Cache::ranked(const Select& select, const Ranking& ranking,
                                  std::string_view group, const Object* after,
                                  std::size_t limit) const {
  std::vector<Object> found;
  for (const Key& key : ranks(select, ranking).keys(group, after, limit)) {
    found.push_back(objects_.at(key));
  }
  return found;
}

std::vector<Object> Cache::list(const Select& select) const {
  std::vector<Object> found;
  const bool whole_bucket = is_bucket(select);
  const auto from_bucket = [&](const Secondary& index, const std::string& value) {
    const auto bucket = index.buckets.find(value);
    if (bucket == index.buckets.end()) {
      return;
    }
    for (const Key& key : bucket->second.keys) {
      const Object& object = objects_.at(key);
      if (whole_bucket || selects(*kind_, select, object, declared_)) {
        found.push_back(object);
      }
    }
  };
  if (!select.index.empty()) {
    from_bucket(secondary(false, select.index), select.index_value);
    return found;
  }
  if (!select.labels.empty()) {
    from_bucket(secondary(true, select.labels[0].first), select.labels[0].second);
    return found;
  }
  objects_.each(select.ns,
                [&](const Key& /*key*/, const Object& object) { found.push_back(object); });
  return found;
}

}  // namespace athanor::runtime
