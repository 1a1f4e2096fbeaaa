// SPDX-License-Identifier: Apache-2.0
#include "console/world/world.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/condition_variable.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "client/feed.hpp"

namespace athanor::console {
namespace {

// How long a kind that the server lacks is taken for absent.
constexpr Duration kAbsentRetry = std::chrono::seconds(30);
// Tables of shared parts: 128 KiB of the feed that a lab keeps without viewers, 512 KiB of the
// other.
constexpr std::size_t kFewParts = std::size_t{1} << 12;
constexpr std::size_t kSharedParts = std::size_t{1} << 14;
constexpr int kForbiddenCode = 403;
constexpr int kAbsentCode = 404;

std::uint64_t number_of(std::string_view version) {
  std::uint64_t number = 0;
  std::from_chars(version.data(), version.data() + version.size(), number);
  return number;
}

}  // namespace

struct World::State {
  // State of one kind.
  struct Known {
    FollowedKind followed{};
    std::map<Key, Object> objects{};
    std::map<Key, Object> listing{};  // of a list that is not whole yet
    bool synced = false;
    std::optional<Error> error{};
    std::uint64_t changes = 1;
    mutable std::shared_ptr<const KindObjects> view{};  // null: to be made
  };

  State(std::shared_ptr<client::ApiClient> api, const Clock& time, Entropy& random)
      : client(std::move(api)), clock(time), entropy(random) {}

  std::shared_ptr<client::ApiClient> client;
  const Clock& clock;
  Entropy& entropy;
  std::vector<Listener> listeners{};  // unchanged after start()
  // Guards making and ending of feeds; never taken on the client's thread.
  Mutex feeds_mutex{};
  std::unique_ptr<client::Feed> always ATHANOR_GUARDED_BY(feeds_mutex){};
  std::unique_ptr<client::Feed> rest ATHANOR_GUARDED_BY(feeds_mutex){};

  mutable Mutex mutex{};
  mutable ConditionVariable news{};
  std::vector<Known> kinds ATHANOR_GUARDED_BY(mutex){};
  std::uint64_t version ATHANOR_GUARDED_BY(mutex) = 0;
  mutable std::shared_ptr<const Facts> facts ATHANOR_GUARDED_BY(mutex){};
  bool following_all ATHANOR_GUARDED_BY(mutex) = false;

  Known* find(const Kind* kind) ATHANOR_REQUIRES(mutex) {
    const auto found =
        std::ranges::find_if(kinds, [&](const Known& one) { return one.followed.kind == kind; });
    return found == kinds.end() ? nullptr : &*found;
  }
  void touch(Known& known) ATHANOR_REQUIRES(mutex) {
    ++known.changes;
    known.view.reset();
    facts.reset();
  }

  void take(client::KindEvent event, std::vector<WorldChange>& changes) ATHANOR_REQUIRES(mutex) {
    Known* known = find(event.kind);
    version = std::max(version, number_of(event.object.resource_version()));
    if (known == nullptr || event.type == client::KindEvent::Type::Bookmark) {
      return;
    }
    const Key key = event.object.key();
    const auto found = known->objects.find(key);
    WorldChange change{.kind = event.kind};
    if (found != known->objects.end()) {
      change.before = found->second;
    }
    if (event.type == client::KindEvent::Type::Deleted) {
      if (found == known->objects.end()) {
        return;
      }
      known->objects.erase(found);
    } else {
      change.after = event.object;
      known->objects.insert_or_assign(key, std::move(event.object));
    }
    touch(*known);
    changes.push_back(std::move(change));
  }

  void take(client::KindList list, std::vector<WorldChange>& changes) ATHANOR_REQUIRES(mutex) {
    Known* known = find(list.kind);
    if (known == nullptr) {
      return;
    }
    version = std::max(version, list.version);
    if (list.error) {
      for (auto& [key, object] : known->objects) {
        changes.push_back({.kind = list.kind, .before = std::move(object)});
      }
      known->objects.clear();
      known->synced = true;
      known->error = list.error;
      touch(*known);
      return;
    }
    if (list.first) {
      known->listing.clear();
    }
    for (Object& object : list.objects) {
      Key key = object.key();
      known->listing.insert_or_assign(std::move(key), std::move(object));
    }
    if (!list.last) {
      return;
    }
    std::map<Key, Object> before = std::exchange(known->objects, std::move(known->listing));
    known->listing.clear();
    for (const auto& [key, object] : known->objects) {
      const auto old = before.extract(key);
      if (old.empty()) {
        changes.push_back({.kind = list.kind, .after = object});
      } else if (old.mapped().resource_version() != object.resource_version()) {
        changes.push_back({.kind = list.kind, .before = old.mapped(), .after = object});
      }
    }
    for (auto& [key, object] : before) {
      changes.push_back({.kind = list.kind, .before = std::move(object)});
    }
    known->synced = true;
    known->error.reset();
    touch(*known);
  }

  void deliver(std::vector<client::FeedItem> batch) {
    std::vector<WorldChange> changes;
    {
      const MutexLock lock(mutex);
      for (client::FeedItem& item : batch) {
        if (auto* event = std::get_if<client::KindEvent>(&item)) {
          take(std::move(*event), changes);
        } else {
          take(std::get<client::KindList>(std::move(item)), changes);
        }
      }
    }
    news.notify_all();
    for (const Listener& listener : listeners) {
      listener(changes);
    }
  }

  std::unique_ptr<client::Feed> make_feed(bool wanted_always) {
    std::vector<client::FeedScope> scopes;
    {
      const MutexLock lock(mutex);
      for (const Known& known : kinds) {
        if (known.followed.always == wanted_always) {
          scopes.push_back(
              {.kind = known.followed.kind,
               .ns = known.followed.ns,
               .field_selector = known.followed.field_selector,
               .trim = known.followed.keep_managers ? client::Trim() : client::trim_fields(),
               .absent_retry = kAbsentRetry});
        }
      }
    }
    auto feed = std::make_unique<client::Feed>(
        client, std::move(scopes),
        [this](std::vector<client::FeedItem> batch) { deliver(std::move(batch)); }, clock, entropy,
        client::FeedOptions{.shared_parts = wanted_always ? kFewParts : kSharedParts});
    feed->start();
    return feed;
  }
};

World::World(std::shared_ptr<client::ApiClient> client, std::vector<FollowedKind> kinds,
             const Clock& clock, Entropy& entropy)
    : state_(std::make_shared<State>(std::move(client), clock, entropy)) {
  const MutexLock lock(state_->mutex);
  for (FollowedKind& kind : kinds) {
    state_->kinds.push_back({.followed = std::move(kind)});
  }
}

World::~World() {
  stop();
}

void World::on_change(Listener listener) {
  state_->listeners.push_back(std::move(listener));
}

void World::start() {
  const MutexLock lock(state_->feeds_mutex);
  if (!state_->always) {
    state_->always = state_->make_feed(true);
  }
}

void World::follow_all() {
  const MutexLock lock(state_->feeds_mutex);
  if (state_->rest) {
    return;
  }
  {
    const MutexLock inner(state_->mutex);
    state_->following_all = true;
  }
  state_->rest = state_->make_feed(false);
}

void World::rest() {
  const MutexLock lock(state_->feeds_mutex);
  if (!state_->rest) {
    return;
  }
  state_->rest->stop();
  state_->rest.reset();
  const MutexLock inner(state_->mutex);
  state_->following_all = false;
  for (State::Known& known : state_->kinds) {
    if (!known.followed.always) {
      known.objects.clear();
      known.listing.clear();
      known.synced = false;
      known.error.reset();
      state_->touch(known);
    }
  }
}

void World::stop() {
  const MutexLock lock(state_->feeds_mutex);
  for (auto* feed : {&state_->rest, &state_->always}) {
    if (*feed) {
      (*feed)->stop();
      feed->reset();
    }
  }
}

std::shared_ptr<const Facts> World::facts() const {
  const MutexLock lock(state_->mutex);
  if (!state_->facts) {
    Facts::Kinds kinds;
    for (const State::Known& known : state_->kinds) {
      if (!known.view) {
        auto view = std::make_shared<KindObjects>();
        view->synced = known.synced;
        view->error = known.error;
        view->changes = known.changes;
        view->objects.reserve(known.objects.size());
        for (const auto& [key, object] : known.objects) {
          view->objects.push_back(object);
        }
        known.view = std::move(view);
      }
      kinds.emplace(known.followed.kind, known.view);
    }
    state_->facts = std::make_shared<const Facts>(std::move(kinds), state_->version);
  }
  return state_->facts;
}

bool World::is_listed(const Kind& kind) const {
  const MutexLock lock(state_->mutex);
  const State::Known* known = state_->find(&kind);
  return known != nullptr && known->synced && !known->error;
}

bool World::synced() const {
  const MutexLock lock(state_->mutex);
  return std::ranges::all_of(state_->kinds, [&](const State::Known& known) {
    state_->mutex.assert_held();
    return known.synced || (!known.followed.always && !state_->following_all);
  });
}

bool World::wait_synced(Duration patience) const {
  MutexLock lock(state_->mutex);
  State& state = *state_;
  return state.news.wait_for(lock, patience, [&state]() ATHANOR_REQUIRES(state.mutex) {
    return std::ranges::all_of(state.kinds, [&](const State::Known& known) {
      state.mutex.assert_held();
      return known.synced || (!known.followed.always && !state.following_all);
    });
  });
}

std::vector<WatchState> World::watches() const {
  std::map<const Kind*, client::ReflectorStatus> statuses;
  {
    const MutexLock lock(state_->feeds_mutex);
    for (const auto* feed : {&state_->always, &state_->rest}) {
      if (*feed) {
        for (auto& [kind, status] : (*feed)->status()) {
          statuses.insert_or_assign(kind, std::move(status));
        }
      }
    }
  }
  std::vector<WatchState> all;
  const MutexLock lock(state_->mutex);
  for (const State::Known& known : state_->kinds) {
    WatchState watch{.kind = known.followed.kind,
                     .listed = known.synced && !known.error,
                     .objects = known.objects.size()};
    if (const auto found = statuses.find(known.followed.kind); found != statuses.end()) {
      watch.watching = found->second.watching;
      watch.events = found->second.events;
      watch.lists = found->second.lists;
      watch.lag = client::watch_lag(found->second);
      watch.quiet = found->second.quiet;
      if (found->second.last_error && !watch.watching) {
        watch.error = found->second.last_error->message;
      }
    }
    if (known.error) {
      watch.error = known.error->message;
    }
    all.push_back(std::move(watch));
  }
  return all;
}

Link World::link() const {
  std::vector<std::pair<const Kind*, client::ReflectorStatus>> statuses;
  {
    const MutexLock lock(state_->feeds_mutex);
    if (state_->always) {
      statuses = state_->always->status();
    }
  }
  Link link;
  for (const auto& [kind, status] : statuses) {
    const bool refused = status.last_error && (status.last_error->code == kForbiddenCode ||
                                               status.last_error->code == kAbsentCode);
    if (status.watching || refused) {
      link.connected = true;
    } else if (status.last_error) {
      link.error = status.last_error->message;
    }
  }
  if (link.connected) {
    link.error.clear();
  }
  return link;
}

}  // namespace athanor::console
