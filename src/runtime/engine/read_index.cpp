// SPDX-License-Identifier: Apache-2.0
// Indexing reads by object, by select and by observation.
#include "runtime/engine/read_index.hpp"

#include <algorithm>
#include <utility>

#include "runtime/view/select.hpp"

namespace athanor::runtime {

namespace {

bool same_lists(const Reads& a, const Reads& b) {
  return std::equal(a.lists.begin(), a.lists.end(), b.lists.begin(), b.lists.end(),
                    [](const Reads::ListRead& x, const Reads::ListRead& y) {
                      return x.kind == y.kind && x.select == y.select;
                    });
}

// Few of them, and mostly the same ones in the same order.
template <class Same>
bool holds(const std::vector<Ref>& all, const Ref& one, std::size_t likely, const Same& same) {
  return (likely < all.size() && same(all[likely], one)) ||
         std::any_of(all.begin(), all.end(), [&](const Ref& other) { return same(other, one); });
}

// True: that was its last reader.
template <class Map, class K>
bool drop_reader(Map& map, const K& key, TaskId id) {
  const auto at = map.find(key);
  if (at == map.end()) {
    return false;
  }
  at->second.erase(id);
  const bool last = at->second.empty();
  if (last) {
    map.erase(at);
  }
  return last;
}

}  // namespace

std::size_t ReadIndex::RefHash::operator()(const RefView& ref) const {
  return hash_of(ref.key) * 31 + hash_text(ref.kind->name);
}

bool ReadIndex::SameRef::operator()(const RefView& a, const RefView& b) const {
  return a.key == b.key &&
         (a.kind == b.kind || (a.kind->name == b.kind->name && a.kind->group == b.kind->group &&
                               a.kind->version == b.kind->version));
}

void ReadIndex::set(TaskId id, Reads reads) {
  const auto known = reads_.find(id);
  if (known == reads_.end()) {
    add(id, std::move(reads));
    return;
  }
  if (reads.objects.empty() && reads.lists.empty() && reads.observations.empty()) {
    remove(id);
    return;
  }
  constexpr std::size_t kFew = 32;
  Reads& old = known->second;
  if (old.objects.size() > kFew || reads.objects.size() > kFew || old.observations.size() > kFew ||
      reads.observations.size() > kFew) {
    remove(id);
    add(id, std::move(reads));
    return;
  }
  // A key reads what it read before, and a little more or less.
  for (std::size_t i = 0; i < old.objects.size(); ++i) {
    if (!holds(reads.objects, old.objects[i], i, SameRef())) {
      drop_reader(objects_, old.objects[i], id);
    }
  }
  for (std::size_t i = 0; i < reads.objects.size(); ++i) {
    if (!holds(old.objects, reads.objects[i], i, SameRef())) {
      objects_[reads.objects[i]].insert(id);
    }
  }
  old.objects = std::move(reads.objects);
  if (!same_lists(old, reads)) {
    for (const Reads::ListRead& read : old.lists) {
      drop_list(id, read);
    }
    for (const Reads::ListRead& read : reads.lists) {
      add_list(id, read);
    }
    old.lists = std::move(reads.lists);
  }
  if (old.observations != reads.observations) {
    for (const auto& [query, max_age] : reads.observations) {
      observations_[query].insert(id);
    }
    const auto observations = std::exchange(old.observations, reads.observations);
    for (const auto& [query, max_age] : observations) {
      const bool still = std::any_of(reads.observations.begin(), reads.observations.end(),
                                     [&](const auto& now) { return now.first == query; });
      if (!still && drop_reader(observations_, query, id)) {
        unread_.push_back(query);
      }
    }
  }
}

void ReadIndex::add(TaskId id, Reads reads) {
  if (reads.objects.empty() && reads.lists.empty() && reads.observations.empty()) {
    return;
  }
  for (const Ref& ref : reads.objects) {
    objects_[ref].insert(id);
  }
  for (const Reads::ListRead& read : reads.lists) {
    add_list(id, read);
  }
  for (const auto& [query, max_age] : reads.observations) {
    observations_[query].insert(id);
  }
  reads_[id] = std::move(reads);
}

void ReadIndex::remove(TaskId id) {
  const auto known = reads_.find(id);
  if (known == reads_.end()) {
    return;
  }
  for (const Ref& ref : known->second.objects) {
    drop_reader(objects_, ref, id);
  }
  for (const Reads::ListRead& read : known->second.lists) {
    drop_list(id, read);
  }
  for (const auto& [query, max_age] : known->second.observations) {
    if (drop_reader(observations_, query, id)) {
      unread_.push_back(query);
    }
  }
  reads_.erase(known);
}

void ReadIndex::add_list(TaskId id, const Reads::ListRead& read) {
  Lists& lists = lists_[read.kind];
  const Select& select = read.select;
  if (!select.index.empty()) {
    lists.by_index[select.index][select.index_value].emplace(id, select);
  } else if (!select.labels.empty()) {
    lists.by_label[select.labels[0]].emplace(id, select);
  } else if (!select.ns.empty()) {
    lists.by_namespace[select.ns].emplace(id, select);
  } else {
    lists.coarse.emplace(id, select);
  }
}

void ReadIndex::drop_list(TaskId id, const Reads::ListRead& read) {
  Lists& lists = lists_[read.kind];
  const Select& select = read.select;
  if (!select.index.empty()) {
    const auto index = lists.by_index.find(select.index);
    if (index != lists.by_index.end()) {
      drop_reader(index->second, select.index_value, id);
      if (index->second.empty()) {
        lists.by_index.erase(index);
      }
    }
  } else if (!select.labels.empty()) {
    drop_reader(lists.by_label, select.labels[0], id);
  } else if (!select.ns.empty()) {
    drop_reader(lists.by_namespace, select.ns, id);
  } else {
    lists.coarse.erase(id);
  }
}

void ReadIndex::match(const Lists& lists, const Kind& kind, const Object& object,
                      std::set<TaskId>& out) const {
  const auto take = [&](const Lists::Readers& readers) {
    for (const auto& [id, select] : readers) {
      if (!out.contains(id) && selects(kind, select, object, declared_)) {
        out.insert(id);
      }
    }
  };
  take(lists.coarse);
  if (const auto at = lists.by_namespace.find(object.ns()); at != lists.by_namespace.end()) {
    take(at->second);
  }
  if (!lists.by_label.empty()) {
    for (const Member& label : object.metadata()["labels"].members()) {
      const auto at = lists.by_label.find({std::string(label.key()), label.value.str()});
      if (at != lists.by_label.end()) {
        take(at->second);
      }
    }
  }
  for (const auto& [index, by_value] : lists.by_index) {
    for (const std::string& value :
         index_values(kind, object, index, declared_).value_or(std::vector<std::string>{})) {
      if (const auto at = by_value.find(value); at != by_value.end()) {
        take(at->second);
      }
    }
  }
}

bool ReadIndex::is_read(const Kind& kind, const Key& key) const {
  return lists_.contains(&kind) || objects_.contains(RefView(kind, key));
}

void ReadIndex::readers_of(const Kind& kind, const Cache::Change& change,
                           std::set<TaskId>& out) const {
  const Key key = change.newest().key();
  if (const auto at = objects_.find(RefView(kind, key)); at != objects_.end()) {
    out.insert(at->second.begin(), at->second.end());
  }
  const auto lists = lists_.find(&kind);
  if (lists == lists_.end()) {
    return;
  }
  if (change.before) {
    match(lists->second, kind, *change.before, out);
  }
  if (change.after) {
    match(lists->second, kind, *change.after, out);
  }
}

void ReadIndex::readers_of(std::string_view query, std::set<TaskId>& out) const {
  if (const auto at = observations_.find(query); at != observations_.end()) {
    out.insert(at->second.begin(), at->second.end());
  }
}

const Reads* ReadIndex::of(TaskId id) const {
  const auto at = reads_.find(id);
  return at == reads_.end() ? nullptr : &at->second;
}

void ReadIndex::take_unread(std::vector<std::string>& out) {
  out.insert(out.end(), std::make_move_iterator(unread_.begin()),
             std::make_move_iterator(unread_.end()));
  unread_.clear();
}

bool ReadIndex::is_observed(std::string_view query) const {
  return observations_.contains(query);
}

}  // namespace athanor::runtime
