// SPDX-License-Identifier: Apache-2.0
// One resource: reads now, reads at an older revision by walking its events backwards, writes.
#include "embedded/store/table.hpp"

#include <algorithm>

namespace athanor::store {
namespace {

// The first entry of `objects` that a list with these options may show.
template <class Objects>
auto first_entry(const Objects& objects, const ListOptions& options) {
  auto it = options.ns.empty() ? objects.begin() : objects.lower_bound(Key{options.ns, ""});
  if (options.after && it != objects.end() && it->first <= *options.after) {
    it = objects.upper_bound(*options.after);
  }
  return it;
}

}  // namespace

StoredPtr Table::get(const Key& key) const {
  const auto it = objects_.find(key);
  return it == objects_.end() ? nullptr : it->second;
}

Table::Objects Table::differences(Revision revision, std::string_view ns) const {
  Objects older;
  for (auto it = events_.rbegin(); it != events_.rend() && (*it)->revision > revision; ++it) {
    const Event& event = **it;
    if (ns.empty() || event.object->key.ns == ns) {
      // Backwards, so the oldest event behind the revision has the last word.
      older[event.object->key] = event.type == Event::Type::Added ? nullptr : event.previous;
    }
  }
  return older;
}

Page Table::list(const ListOptions& options) const {
  const Objects older = options.exactly ? differences(*options.exactly, options.ns) : Objects();
  const auto in_range = [&](const Objects& objects, Objects::const_iterator it) {
    return it != objects.end() && (options.ns.empty() || it->first.ns == options.ns);
  };
  Page page;
  const std::size_t total = count(options.ns);
  page.items.reserve(options.limit == 0 ? total : std::min(options.limit, total));
  auto now = first_entry(objects_, options);
  auto then = first_entry(older, options);
  while (true) {
    const bool has_now = in_range(objects_, now);
    const bool has_then = in_range(older, then);
    if (!has_now && !has_then) {
      break;
    }
    const StoredPtr* object = nullptr;
    if (has_then && (!has_now || then->first <= now->first)) {
      if (has_now && then->first == now->first) {
        ++now;
      }
      object = &then->second;
      ++then;
    } else {
      object = &now->second;
      ++now;
    }
    if (*object == nullptr) {
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
      page.items.push_back(*object);
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
  const auto [it, added] = objects_.insert_or_assign(object->key, object);
  if (added) {
    ++counts_[object->key.ns];
  }
}

void Table::remove(const Key& key) {
  objects_.erase(key);
  const auto it = counts_.find(key.ns);
  if (it != counts_.end() && --it->second == 0) {
    counts_.erase(it);
  }
}

}  // namespace athanor::store
