// SPDX-License-Identifier: Apache-2.0
// One resource: reads now, reads at an older revision by walking its events backwards, writes.
#include "embedded/store/table.hpp"

#include <algorithm>

namespace athanor::store {
namespace {

const Key& key_of(const StoredPtr& object) {
  return object->key;
}
const Key& key_of(const std::pair<const Key, StoredPtr>& difference) {
  return difference.first;
}

// The entries of `objects` that a list with these options may show.
template <class Objects>
class Range {
 public:
  Range(const Objects& objects, const ListOptions& options)
      : at_(options.ns.empty() ? objects.begin() : objects.lower_bound(Key{options.ns, ""})),
        end_(objects.end()),
        ns_(options.ns) {
    if (options.after && at_ != end_ && key_of(*at_) <= *options.after) {
      at_ = objects.upper_bound(*options.after);
    }
  }
  [[nodiscard]] bool done() const {
    return at_ == end_ || (!ns_.empty() && key_of(*at_).ns != ns_);
  }
  [[nodiscard]] const Key& key() const { return key_of(*at_); }
  const auto& take() { return *at_++; }

 private:
  typename Objects::const_iterator at_;
  typename Objects::const_iterator end_;
  const std::string& ns_;
};

}  // namespace

StoredPtr Table::get(const Key& key) const {
  const auto it = objects_.find(key);
  return it == objects_.end() ? nullptr : *it;
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
  Range now(objects_, options);
  Range then(older, options);
  while (!now.done() || !then.done()) {
    StoredPtr object;
    if (!then.done() && (now.done() || then.key() <= now.key())) {
      if (!now.done() && then.key() == now.key()) {
        now.take();
      }
      object = then.take().second;
    } else {
      object = now.take();
    }
    if (object == nullptr) {
      continue;
    }
    if (options.limit != 0 && page.items.size() == options.limit) {
      page.more = true;
      if (!options.after && older.empty()) {
        page.remaining = total - page.items.size();  // without a walk to the end
        break;
      }
      ++page.remaining;
    } else {
      page.items.push_back(std::move(object));
    }
  }
  return page;
}

std::size_t Table::count(std::string_view ns) const {
  if (ns.empty()) {
    return objects_.size();
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
  auto next = objects_.lower_bound(object->key);
  if (next != objects_.end() && (*next)->key == object->key) {
    next = objects_.erase(next);
  } else {
    ++counts_[object->key.ns];
  }
  objects_.insert(next, object);
}

void Table::remove(const Key& key) {
  if (const auto it = objects_.find(key); it != objects_.end()) {
    objects_.erase(it);
  }
  const auto it = counts_.find(key.ns);
  if (it != counts_.end() && --it->second == 0) {
    counts_.erase(it);
  }
}

}  // namespace athanor::store
