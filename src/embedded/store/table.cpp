// SPDX-License-Identifier: Apache-2.0
// One resource: reads now, reads at an older revision by walking its events backwards, writes.
#include "embedded/store/table.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace athanor::store {
namespace {

// Where a list with these options starts: at the key, or behind it.
std::pair<Key, bool> start_of(const ListOptions& options) {
  Key first{options.ns, ""};
  return options.after && first <= *options.after ? std::pair(*options.after, true)
                                                  : std::pair(std::move(first), false);
}

// The entries of `map` that a list with these options may show.
template <class Map>
class Range {
 public:
  Range(const Map& map, const ListOptions& options) : end_(map.end()), ns_(options.ns) {
    const auto [key, behind] = start_of(options);
    at_ = behind ? map.upper_bound(key) : map.lower_bound(key);
  }
  [[nodiscard]] bool done() const { return at_ == end_ || (!ns_.empty() && at_->first.ns != ns_); }
  [[nodiscard]] KeyView key() const { return at_->first; }
  const auto& take() { return (at_++)->second; }

 private:
  typename Map::const_iterator at_{};
  typename Map::const_iterator end_;
  const std::string& ns_;
};

}  // namespace

// The objects there are now that a list with these options may show, packed ones among them.
class Current {
 public:
  Current(const Table& table, const ListOptions& options)
      : hot_(table.objects_), cold_(table.cold_), options_(options) {
    const auto [key, behind] = start_of(options);
    hot_at_ = behind ? hot_.upper_bound(key) : hot_.lower_bound(key);
    cold_at_ = cold_.skip_gone(behind ? cold_.upper_bound(key) : cold_.lower_bound(key));
    skip_newer();
  }
  [[nodiscard]] bool done() const { return hot_done() && cold_done(); }
  [[nodiscard]] KeyView key() const {
    return is_cold() ? cold_.key(cold_at_) : KeyView(hot_at_->object->key);
  }
  [[nodiscard]] StoredPtr object() const {
    return is_cold() ? cold_.unpack(cold_at_) : hot_at_->object;
  }
  void advance() {
    step();
    skip_newer();
  }

 private:
  [[nodiscard]] bool outside(std::string_view ns) const {
    return !options_.ns.empty() && ns != options_.ns;
  }
  [[nodiscard]] bool hot_done() const {
    return hot_at_ == hot_.end() || outside(hot_at_->object->key.ns);
  }
  [[nodiscard]] bool cold_done() const {
    return cold_at_ == cold_.end() || outside(cold_.key(cold_at_).ns);
  }
  [[nodiscard]] bool is_cold() const {
    return !cold_done() && (hot_done() || cold_.key(cold_at_) < KeyView(hot_at_->object->key));
  }
  void step() {
    if (is_cold()) {
      cold_at_ = cold_.skip_gone(cold_at_ + 1);
    } else {
      ++hot_at_;
    }
  }
  void skip_newer() {
    while (options_.written_until && !done() &&
           (is_cold() ? cold_.revision(cold_at_) : hot_at_->object->revision) >
               *options_.written_until) {
      step();
    }
  }

  const Table::Objects& hot_;
  const PackedObjects& cold_;
  const ListOptions& options_;
  Table::Objects::const_iterator hot_at_{};
  std::size_t cold_at_ = 0;
};

Table::Objects::const_iterator Table::find(const Key& key) const {
  if (!hashed_) {
    return objects_.find(key);
  }
  const auto known = by_name_.find(key);
  return known == by_name_.end() ? objects_.end() : *known;
}

StoredPtr Table::get(const Key& key) const {
  const auto it = find(key);
  return it != objects_.end() ? it->object : cold_.size() == 0 ? nullptr : cold_.get(key);
}

Table::Differences Table::differences(Revision revision, std::string_view ns,
                                      const std::vector<EventPtr>& past) const {
  Differences older;
  // Backwards, so the oldest event behind the revision has the last word.
  const auto undo = [&](const auto& events) {
    for (auto it = events.rbegin(); it != events.rend() && (*it)->revision > revision; ++it) {
      const Event& event = **it;
      if (ns.empty() || event.object->key.ns == ns) {
        older[event.object->key] = event.type == Event::Type::Added ? nullptr : event.previous;
      }
    }
  };
  undo(events_);
  undo(past);
  return older;
}

Page Table::list(const ListOptions& options, const std::vector<EventPtr>& past) const {
  const Differences older =
      options.exactly ? differences(*options.exactly, options.ns, past) : Differences();
  Page page;
  const std::size_t total = count(options.ns);
  page.items.reserve(options.limit == 0 ? total : std::min(options.limit, total));
  Current now(*this, options);
  Range then(older, options);
  while (!now.done() || !then.done()) {
    StoredPtr past_object;
    const bool from_then = !then.done() && (now.done() || then.key() <= now.key());
    if (from_then) {
      if (!now.done() && then.key() == now.key()) {
        now.advance();
      }
      past_object = then.take();
      if (past_object == nullptr) {
        continue;
      }
    }
    if (options.limit != 0 && page.items.size() == options.limit) {
      page.more = true;
      if (!options.after && !options.written_until && older.empty()) {
        page.remaining = total - page.items.size();  // without a walk to the end
        break;
      }
      ++page.remaining;
    } else {
      page.items.push_back(from_then ? std::move(past_object) : now.object());
    }
    if (!from_then) {
      now.advance();
    }
  }
  return page;
}

std::size_t Table::count(std::string_view ns) const {
  if (ns.empty()) {
    return objects_.size() + cold_.size();
  }
  const auto it = counts_.find(ns);
  return it == counts_.end() ? 0 : it->second;
}

std::vector<EventPtr> Table::events_after(Revision after, std::size_t limit) const {
  const auto first = std::upper_bound(
      events_.begin(), events_.end(), after,
      [](Revision revision, const EventPtr& event) { return revision < event->revision; });
  const auto available = static_cast<std::size_t>(events_.end() - first);
  const std::size_t size = limit == 0 ? available : std::min(limit, available);
  return {first, first + static_cast<std::ptrdiff_t>(size)};
}

void Table::load(const StoredPtr& object) {
  put(object);
}

void Table::apply(const EventPtr& event) {
  if (event->type == Event::Type::Deleted) {
    remove(event->object->key);
  } else {
    put(event->object);
  }
  events_.push_back(event);
}

void Table::put(const StoredPtr& object) {
  if (const auto known = find(object->key); known != objects_.end()) {
    known->object = object;
    return;
  }
  if (cold_.size() == 0 || !cold_.erase(object->key)) {
    ++counts_[object->key.ns];
  }
  const auto at = objects_.insert(Held{object}).first;
  if (hashed_) {
    by_name_.insert(at);
  }
}

void Table::remove(const Key& key) {
  if (const auto it = find(key); it != objects_.end()) {
    by_name_.erase(it);
    objects_.erase(it);
  } else if (cold_.size() != 0) {
    cold_.erase(key);
  }
  const auto it = counts_.find(key.ns);
  if (it != counts_.end() && --it->second == 0) {
    counts_.erase(it);
  }
}

std::vector<StoredPtr> Table::unpacked(Revision until) const {
  std::vector<StoredPtr> objects;
  for (const auto& [object] : objects_) {
    if (object->revision <= until) {
      objects.push_back(object);
    }
  }
  return objects;
}

void Table::freeze(const std::shared_ptr<const Pack>& pack, std::span<const StoredPtr> objects) {
  std::vector<std::uint32_t> current;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const auto it = find(objects[i]->key);
    if (it != objects_.end() && it->object == objects[i]) {
      by_name_.erase(it);
      objects_.erase(it);
      current.push_back(static_cast<std::uint32_t>(i));
    }
  }
  cold_.add(pack, current);
}

}  // namespace athanor::store
