// SPDX-License-Identifier: Apache-2.0
// Indexing reads by object, by select and by observation.
#include "runtime/engine/model/read_index.hpp"

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
template <class Map, class K, class Reader>
bool drop_reader(Map& map, const K& key, const Reader& reader) {
  const auto at = map.find(key);
  if (at == map.end()) {
    return false;
  }
  at->second.erase(reader);
  const bool last = at->second.empty();
  if (last) {
    map.erase(at);
  }
  return last;
}

// Calls `take` with each element of a set or map by reader whose controller wants the change.
template <class Readers, class ReaderOf, class Take>
void for_wanted(const Readers& readers, const ReadIndex::Wants& wants, const ReaderOf& reader_of,
                const Take& take) {
  auto at = readers.begin();
  while (at != readers.end()) {
    auto reader = reader_of(*at);
    if (!wants(reader.controller)) {
      ++reader.controller;
      reader.id = 0;
      at = readers.lower_bound(reader);
      continue;
    }
    for (const std::size_t same = reader.controller;
         at != readers.end() && reader_of(*at).controller == same; ++at) {
      take(*at);
    }
  }
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

void ReadIndex::set(TaskId id, Reads reads, std::size_t controller) {
  const Reader reader{.controller = controller, .id = id};
  const auto known = reads_.find(id);
  if (known == reads_.end()) {
    add(reader, std::move(reads));
    return;
  }
  if (reads.objects.empty() && reads.lists.empty() && reads.observations.empty()) {
    remove(id);
    return;
  }
  constexpr std::size_t kFew = 32;
  Reads& old = known->second.reads;
  if (old.objects.size() > kFew || reads.objects.size() > kFew || old.observations.size() > kFew ||
      reads.observations.size() > kFew) {
    remove(id);
    add(reader, std::move(reads));
    return;
  }
  // A key reads what it read before, and a little more or less.
  for (std::size_t i = 0; i < old.objects.size(); ++i) {
    if (!holds(reads.objects, old.objects[i], i, SameRef())) {
      drop_reader(objects_, old.objects[i], reader);
    }
  }
  for (std::size_t i = 0; i < reads.objects.size(); ++i) {
    if (!holds(old.objects, reads.objects[i], i, SameRef())) {
      objects_[reads.objects[i]].insert(reader);
    }
  }
  old.objects = std::move(reads.objects);
  if (!same_lists(old, reads)) {
    for (const Reads::ListRead& read : old.lists) {
      drop_list(reader, read);
    }
    for (const Reads::ListRead& read : reads.lists) {
      add_list(reader, read);
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

void ReadIndex::add(const Reader& reader, Reads reads) {
  if (reads.objects.empty() && reads.lists.empty() && reads.observations.empty()) {
    return;
  }
  for (const Ref& ref : reads.objects) {
    objects_[ref].insert(reader);
  }
  for (const Reads::ListRead& read : reads.lists) {
    add_list(reader, read);
  }
  for (const auto& [query, max_age] : reads.observations) {
    observations_[query].insert(reader.id);
  }
  reads_[reader.id] = {.reads = std::move(reads), .controller = reader.controller};
}

void ReadIndex::remove(TaskId id) {
  const auto known = reads_.find(id);
  if (known == reads_.end()) {
    return;
  }
  const Reads& reads = known->second.reads;
  const Reader reader{.controller = known->second.controller, .id = id};
  for (const Ref& ref : reads.objects) {
    drop_reader(objects_, ref, reader);
  }
  for (const Reads::ListRead& read : reads.lists) {
    drop_list(reader, read);
  }
  for (const auto& [query, max_age] : reads.observations) {
    if (drop_reader(observations_, query, id)) {
      unread_.push_back(query);
    }
  }
  reads_.erase(known);
}

void ReadIndex::add_list(const Reader& reader, const Reads::ListRead& read) {
  Lists& lists = lists_[read.kind];
  const Select& select = read.select;
  const auto add_to = [&](Lists::Readers& readers) {
    std::vector<Select>& known = readers[reader];
    if (std::ranges::find(known, select) == known.end()) {
      known.push_back(select);
    }
  };
  if (!select.index.empty()) {
    add_to(lists.by_index[select.index][select.index_value]);
  } else if (!select.labels.empty()) {
    add_to(lists.by_label[select.labels[0]]);
  } else if (!select.ns.empty()) {
    add_to(lists.by_namespace[select.ns]);
  } else {
    add_to(lists.coarse);
  }
}

void ReadIndex::drop_list(const Reader& reader, const Reads::ListRead& read) {
  Lists& lists = lists_[read.kind];
  const Select& select = read.select;
  if (!select.index.empty()) {
    const auto index = lists.by_index.find(select.index);
    if (index != lists.by_index.end()) {
      drop_reader(index->second, select.index_value, reader);
      if (index->second.empty()) {
        lists.by_index.erase(index);
      }
    }
  } else if (!select.labels.empty()) {
    drop_reader(lists.by_label, select.labels[0], reader);
  } else if (!select.ns.empty()) {
    drop_reader(lists.by_namespace, select.ns, reader);
  } else {
    lists.coarse.erase(reader);
  }
}

void ReadIndex::match(const Lists& lists, const Kind& kind, const Object& object,
                      const Wants& wants, std::set<TaskId>& out) const {
  const auto take = [&](const Lists::Readers& readers) {
    for_wanted(
        readers, wants, [](const auto& entry) { return entry.first; },
        [&](const auto& entry) {
          const auto& [reader, known] = entry;
          if (!out.contains(reader.id) && std::ranges::any_of(known, [&](const Select& select) {
                return selects(kind, select, object, declared_);
              })) {
            out.insert(reader.id);
          }
        });
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

void ReadIndex::readers_of(const Kind& kind, const Cache::Change& change, const Wants& wants,
                           std::set<TaskId>& out) const {
  const Key key = change.newest().key();
  if (const auto at = objects_.find(RefView(kind, key)); at != objects_.end()) {
    for_wanted(
        at->second, wants, [](const Reader& reader) { return reader; },
        [&](const Reader& reader) { out.insert(reader.id); });
  }
  const auto lists = lists_.find(&kind);
  if (lists == lists_.end()) {
    return;
  }
  if (change.before) {
    match(lists->second, kind, *change.before, wants, out);
  }
  if (change.after) {
    match(lists->second, kind, *change.after, wants, out);
  }
}

void ReadIndex::readers_of(std::string_view query, std::set<TaskId>& out) const {
  if (const auto at = observations_.find(query); at != observations_.end()) {
    out.insert(at->second.begin(), at->second.end());
  }
}

const Reads* ReadIndex::of(TaskId id) const {
  const auto at = reads_.find(id);
  return at == reads_.end() ? nullptr : &at->second.reads;
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
