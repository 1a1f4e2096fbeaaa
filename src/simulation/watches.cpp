// SPDX-License-Identifier: Apache-2.0
// Watches on their way to the engine: late, out of step with each other, thinned out, broken; and
// the engine's start from a list.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "runtime/cache/cache.hpp"
#include "simulation/world_impl.hpp"

namespace athanor::sim {

namespace {

Duration up_to_amount(std::uint64_t amount, Duration most) {
  return most.count() <= 0 ? Duration::zero()
                           : Duration(static_cast<Duration::rep>(
                                 amount % (static_cast<std::uint64_t>(most.count()) + 1)));
}

}  // namespace

void World::Impl::take(std::span<const store::EventPtr> events) {
  if (leadership && events.size() == 1 && events[0]->object->key == Leadership::lease() &&
      events[0]->object->resource == "leases.coordination.k8s.io") {
    return;  // the replicas' own affair
  }
  if (!scene.invariants.empty() || scene.watch) {
    news.insert(news.end(), events.begin(), events.end());
  }
  if (loops) {
    loop_inbox.insert(loop_inbox.end(), events.begin(), events.end());
  }
  if (!feed) {
    return;
  }
  for (const store::EventPtr& event : events) {
    converted.clear();
    feed->convert(*event, converted);
    for (runtime::WatchEvent& one : converted) {
      const std::size_t watch = watch_of.at(one.kind);
      if (const auto late = faults.strike(Fault::WatchDelay)) {
        common_due =
            std::max(common_due, clock.steady() + up_to_amount(*late, scene.faults.max_lag));
      }
      Instant due = std::max(clock.steady(), common_due);
      if (const auto late = faults.strike(Fault::WatchReorder)) {
        due += up_to_amount(*late, scene.faults.max_lag);
      }
      if (!watches[watch].pending.empty()) {
        due = std::max(due, watches[watch].pending.back().due);
      }
      const std::uint64_t version = runtime::version_number(one.object.resource_version());
      push(watch, {.event = std::move(one), .version = version, .due = due});
    }
  }
}

void World::Impl::push(std::size_t watch, Pending pending) {
  if (watches[watch].pending.empty()) {
    active.insert(std::lower_bound(active.begin(), active.end(), watch), watch);
  }
  watches[watch].pending.push_back(std::move(pending));
}

World::Impl::Pending World::Impl::pop(std::size_t watch) {
  auto& pending = watches[watch].pending;
  Pending first = std::move(pending.front());
  pending.pop_front();
  if (pending.empty()) {
    active.erase(std::lower_bound(active.begin(), active.end(), watch));
  }
  return first;
}

void World::Impl::clear_watches() {
  for (Watch& watch : watches) {
    watch.pending.clear();
  }
  active.clear();
  common_due = {};
}

// A restart may meet a replica that lags behind: it lists an older state and then streams what
// followed. Not older than what the scene started with, which represents a world that has long
// been there.
std::optional<store::Revision> World::Impl::state_to_start_from() {
  const store::Revision newest = store->revision();
  if (starts == 0) {
    first_revision = newest;
    return std::nullopt;
  }
  const store::Revision oldest =
      std::max({store->oldest_revision(), first_revision, newest > 40 ? newest - 40 : 1});
  const auto amount = faults.strike(Fault::OldCache);
  if (!amount || newest <= oldest) {
    return std::nullopt;
  }
  return oldest + *amount % (newest - oldest);
}

void World::Impl::start_engine() {
  const bool seeded = scene.pace == Pace::Seeded;
  // Where nothing is ever missed, nothing needs a second look.
  constexpr Duration kNever = std::chrono::hours(24 * 365 * 10);
  engine = std::make_unique<runtime::Engine>(
      scene.operators,
      runtime::EngineOptions{
          .entropy = entropy.get(),
          .config = scene.config,
          .events = scene.events,
          .verify = seeded,
          .shuffle = seeded,
          .keys_per_run = seeded ? std::size_t{1} : std::size_t{256},
          .resync = seeded ? runtime::EngineOptions{}.resync : kNever,
          .on_reconcile = [this](const Operator& op, const Key& key, std::size_t reads,
                                 const Plan& plan) { note(op, key, reads, plan); },
          .on_expired_wait = [this](const runtime::ExpiredWait& wait) { check_wait(wait); }});
  feed = std::make_unique<bridge::KindFeed>(engine->kinds());
  if (watches.empty()) {
    for (const Kind* kind : engine->kinds()) {
      watch_of.emplace(kind, watches.size());
      watches.push_back({.kind = kind});
    }
  }
  clear_watches();
  loop_inbox.clear();
  acts.clear();
  loops = std::make_unique<bridge::Loops>(*store, *server);
  std::optional<store::Revision> past = state_to_start_from();
  ++starts;
  const std::unique_ptr<Entropy> delays = seeded_entropy(past.value_or(0));
  for (const Kind* kind : engine->kinds()) {
    auto listed = feed->list(*store, *kind, past);
    if (!listed.ok()) {
      past.reset();
      listed = feed->list(*store, *kind);
    }
    ATHANOR_CHECK(listed.ok(), "the present can be listed");
    const store::Revision from = listed->version;
    engine->absorb(*std::move(listed), clock.now());
    if (past) {
      const auto missed =
          store->events_after(bridge::KindFeed::resource_of(*kind), from, 1'000'000);
      ATHANOR_CHECK(missed.ok(), "what followed a listed state is in the log");
      replay(watch_of.at(kind), *missed, *delays);
    }
  }
  if (scene.faults.ordered) {
    replay_in_order();
  }
}

void World::Impl::replay(std::size_t watch, const std::vector<store::EventPtr>& events,
                         Entropy& delays) {
  Instant latest = clock.steady();
  for (const store::EventPtr& event : events) {
    converted.clear();
    feed->convert(*event, converted);
    for (runtime::WatchEvent& one : converted) {
      if (one.kind == watches[watch].kind) {
        latest =
            std::max(latest, clock.steady() + up_to_amount(delays.next(), scene.faults.max_lag));
        const std::uint64_t version = runtime::version_number(one.object.resource_version());
        push(watch, {.event = std::move(one), .version = version, .due = latest});
      }
    }
  }
}

// What is pending of all kinds gets due in the order in which it happened.
void World::Impl::replay_in_order() {
  std::map<std::uint64_t, std::vector<Pending*>> by_version;
  for (const std::size_t watch : active) {
    for (Pending& pending : watches[watch].pending) {
      by_version[pending.version].push_back(&pending);
    }
  }
  for (const auto& [version, all] : by_version) {
    for (Pending* pending : all) {
      common_due = std::max(common_due, pending->due);
      pending->due = common_due;
    }
  }
}

// Where all watches show one common past only the oldest event can come next.
void World::Impl::keep_first_event() {
  const Choice* first = nullptr;
  const auto version = [this](const Choice& choice) {
    return watches[choice.index].pending.front().version;
  };
  for (const Choice& choice : possible) {
    if (choice.what == What::Event && (first == nullptr || version(choice) < version(*first))) {
      first = &choice;
    }
  }
  if (first == nullptr) {
    return;
  }
  const std::size_t watch = first->index;
  std::erase_if(possible, [watch](const Choice& choice) {
    return choice.what == What::Event && choice.index != watch;
  });
}

// With a common past a live read of one kind is one of all of them.
void World::Impl::relist(const Kind& kind) {
  for (std::size_t i = 0; i < watches.size(); ++i) {
    const Kind* other = watches[i].kind;
    if (other != &kind && !scene.faults.ordered) {
      continue;
    }
    watches[i].pending.clear();
    std::erase(active, i);
    auto listed = feed->list(*store, *other);
    ATHANOR_CHECK(listed.ok(), "the present can be listed");
    engine->absorb(*std::move(listed), clock.now());
  }
}

// Drops what comes before the last pending event of the first one's object; false: nothing follows.
bool World::Impl::coalesce(std::size_t watch) {
  auto& pending = watches[watch].pending;
  const Key key = pending.front().event.object.key();
  const auto same = [&](const Pending& one) { return one.event.object.key() == key; };
  const auto last = std::find_if(pending.rbegin(), pending.rend(), same).base() - 1;
  if (last == pending.begin()) {
    return false;
  }
  pending.erase(std::remove_if(pending.begin(), last, same), last);
  return true;
}

// A key may wait long for an event that is late. It must not wait for one that never comes, which
// its time-out alone ends: one that had come before, that a filter hides, or that nothing causes.
void World::Impl::check_wait(const runtime::ExpiredWait& wait) {
  ++invariant_checks["no key waits for an event that does not come"];
  const auto pending = [&](const Kind* kind) -> const std::deque<Pending>& {
    const KindOrder order;
    const auto at = std::ranges::find_if(watches, [&](const Watch& watch) {
      return !order(watch.kind, kind) && !order(kind, watch.kind);
    });
    ATHANOR_CHECK(at != watches.end(), "a key waits for kinds that are watched");
    return at->pending;
  };
  for (const auto& one : wait.versions) {
    const auto& events = pending(one.kind);
    if (!events.empty() && events.back().version >= one.version) {
      return;
    }
  }
  for (const Ref& ref : wait.objects) {
    if (denied.contains(ref)) {
      return;  // a fault says that it has changed
    }
    if (std::ranges::any_of(pending(ref.kind), [&](const Pending& event) {
          return event.event.object.key() == ref.key;
        })) {
      return;
    }
  }
  if (failure) {
    return;
  }
  std::string what;
  for (const auto& one : wait.versions) {
    what += fmt::format(" {} to pass {};", one.kind->plural, one.version);
  }
  for (const Ref& ref : wait.objects) {
    what += fmt::format(" {} {} to change;", ref.kind->name, ref.key.text());
  }
  failure =
      fmt::format("invariant \"no key waits for an event that does not come\": {} {} waited for{}",
                  wait.op.name, wait.key.text(), what);
}

void World::Impl::deliver(std::size_t watch) {
  if (faults.strike(Fault::WatchGap)) {
    relist(*watches[watch].kind);
  } else if (watches[watch].pending.size() > 1 && faults.strike(Fault::WatchCoalesce) &&
             coalesce(watch)) {
    // What is left comes in its own time.
  } else {
    engine->absorb(pop(watch).event, clock.now());
  }
  timer_at = clock.now();
}

}  // namespace athanor::sim
