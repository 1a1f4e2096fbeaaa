// SPDX-License-Identifier: Apache-2.0
// The simulator's loop: at every step one of the things that could happen now happens, chosen by
// the seed.
#include "embedded/simulation/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "embedded/bridge/live_read.hpp"
#include "embedded/simulation/world_impl.hpp"
#include "runtime/cache.hpp"

namespace athanor::sim {

namespace {

constexpr std::string_view kAdministrator = "system:serviceaccount:kube-system:simulation-admin";
constexpr std::uint64_t kMostSteps = 3'000'000;  // a livelock without virtual time passing
constexpr Duration kQuietTime = std::chrono::hours(1);
std::uint64_t version_of(const runtime::WatchEvent& event) {
  return runtime::version_number(event.object.resource_version());
}

constexpr Duration kTick = std::chrono::seconds(30);  // of the server, while anything goes on

}  // namespace

Faults stormy() {
  return {.conflict = 0.05,
          .error = 0.03,
          .overload = 0.02,
          .lost = 0.02,
          .lost_applied = 0.03,
          .crash = 0.02,
          .lag = 0.2,
          .gap = 0.02,
          .old_replica = true};
}

World::Impl::Impl(World& owner, Scene given, std::uint64_t seed)
    : world(owner), scene(std::move(given)), entropy(seeded_entropy(seed)) {
  auto opened = store::Store::open(store::memory_journal(), {});
  ATHANOR_CHECK(opened.ok(), "a memory store opens");
  store = *std::move(opened);
  start_time = clock.now();
  apiserver::Dependencies dependencies{.store = store.get(),
                                       .clock = &clock,
                                       .entropy = entropy.get(),
                                       .admission = scene.admission};
  auto created = apiserver::Server::create({.always_allow = true}, std::move(dependencies));
  ATHANOR_CHECK(created.ok(), "the server starts over an empty store");
  server = *std::move(created);
  listening = store->listen([this](std::span<const store::EventPtr> events) { take(events); });
  std::stable_sort(scene.actors.begin(), scene.actors.end(),
                   [](const Actor& a, const Actor& b) { return a.at < b.at; });
}

// ---- chance

bool World::Impl::happens(double probability) {
  constexpr double kSteps = 1'000'000;
  return probability > 0 && clock.now() - start_time < scene.faults_end &&
         static_cast<double>(entropy->next() % 1'000'000) < probability * kSteps;
}

Duration World::Impl::up_to(Duration most) {
  return most.count() <= 0 ? Duration::zero()
                           : Duration(static_cast<Duration::rep>(
                                 entropy->next() % (static_cast<std::uint64_t>(most.count()) + 1)));
}

// ---- watches

void World::Impl::take(std::span<const store::EventPtr> events) {
  if (loops) {
    loop_inbox.insert(loop_inbox.end(), events.begin(), events.end());
  }
  for (const store::EventPtr& event : events) {
    converted.clear();
    if (feed) {
      feed->convert(*event, converted);
    }
    for (runtime::WatchEvent& one : converted) {
      Watch& watch = watches[one.kind];
      Instant due = clock.now();
      if (happens(scene.faults.lag)) {
        due += up_to(scene.faults.max_lag);
      }
      if (!watch.pending.empty()) {
        due = std::max(due, watch.pending.back().due);
      }
      if (scene.faults.ordered) {
        due = std::max(due, latest_due);
        latest_due = due;
      }
      watch.pending.push_back({.event = std::move(one), .due = due});
    }
  }
}

void World::Impl::start_engine() {
  engine = std::make_unique<runtime::Engine>(scene.operators,
                                             runtime::EngineOptions{.entropy = entropy.get(),
                                                                    .config = scene.config,
                                                                    .verify = true,
                                                                    .shuffle = true,
                                                                    .keys_per_run = 1});
  feed = std::make_unique<bridge::KindFeed>(engine->kinds());
  watches.clear();
  loop_inbox.clear();
  loops = std::make_unique<bridge::Loops>(*store, *server);
  // A restart may meet a replica that lags behind: it lists an older state and then streams what
  // followed. Not older than what the scene started with, which stands for a world that has long
  // been there.
  std::optional<store::Revision> past;
  const store::Revision newest = store->revision();
  if (starts == 0) {
    first_revision = newest;
  }
  const store::Revision oldest =
      std::max({store->oldest_revision(), first_revision, newest > 40 ? newest - 40 : 1});
  if (starts > 0 && scene.faults.old_replica && newest > oldest && happens(0.5)) {
    past = oldest + entropy->next() % (newest - oldest);
  }
  ++starts;
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
      replay(*kind, *missed);
    }
  }
  if (scene.faults.ordered) {
    replay_in_order();
  }
}

// What is pending of all kinds gets due in the order in which it happened.
void World::Impl::replay_in_order() {
  std::map<std::uint64_t, std::vector<Pending*>> by_version;
  for (auto& [kind, watch] : watches) {
    for (Pending& pending : watch.pending) {
      by_version[version_of(pending.event)].push_back(&pending);
    }
  }
  for (const auto& [version, all] : by_version) {
    for (Pending* pending : all) {
      latest_due = std::max(latest_due, pending->due);
      pending->due = latest_due;
    }
  }
}

void World::Impl::keep_first_event(std::vector<Choice>& possible) const {
  const auto version = [this](const Choice& choice) {
    return version_of(watches.at(choice.kind).pending.front().event);
  };
  const Choice* first = nullptr;
  for (const Choice& choice : possible) {
    if (choice.what == What::Event && (first == nullptr || version(choice) < version(*first))) {
      first = &choice;
    }
  }
  if (first == nullptr) {
    return;
  }
  const Kind* kind = first->kind;
  std::erase_if(possible, [kind](const Choice& choice) {
    return choice.what == What::Event && choice.kind != kind;
  });
}

void World::Impl::replay(const Kind& kind, const std::vector<store::EventPtr>& events) {
  for (const store::EventPtr& event : events) {
    converted.clear();
    feed->convert(*event, converted);
    for (runtime::WatchEvent& one : converted) {
      if (one.kind == &kind) {
        watches[&kind].pending.push_back(
            {.event = std::move(one), .due = clock.now() + up_to(scene.faults.max_lag)});
      }
    }
  }
  Instant latest = clock.now();
  for (Pending& pending : watches[&kind].pending) {
    latest = std::max(latest, pending.due);
    pending.due = latest;
  }
}

// With a common past a live read of one kind is one of all of them.
void World::Impl::relist(const Kind& kind) {
  for (const Kind* other : engine->kinds()) {
    if (other == &kind || scene.faults.ordered) {
      watches[other].pending.clear();
      auto listed = feed->list(*store, *other);
      ATHANOR_CHECK(listed.ok(), "the present can be listed");
      engine->absorb(*std::move(listed), clock.now());
    }
  }
}

void World::Impl::crash() {
  ++crashes;
  // What was on its way to the server may still arrive.
  std::vector<runtime::SendWrite> late;
  late.swap(sending);
  results.clear();
  answers.clear();
  engine.reset();
  feed.reset();
  loops.reset();
  watches.clear();
  for (const runtime::SendWrite& send : late) {
    if (entropy->next() % 2 == 0) {
      static_cast<void>(call(send));
    }
  }
  restart_at = clock.now() + up_to(std::chrono::seconds(2));
}

// ---- writes

runtime::WriteResult World::Impl::call(const runtime::SendWrite& send) {
  apiserver::Request request = bridge::to_request(send.request);
  const std::string line = scene.record ? fmt::format("{} {} {} {}", format_micro_time(clock.now()),
                                                      send.op, request.method, request.path)
                                        : std::string();
  const store::Revision before = store->revision();
  const apiserver::Response response = server->handle(std::move(request), clock.now());
  if (scene.record) {
    trace.push_back(fmt::format("{} {}", line, response.status));
  }
  const auto& quiet = scene.periodic_writers;
  if (store->revision() != before) {
    ++writes;
    if (std::find(quiet.begin(), quiet.end(), send.op) == quiet.end()) {
      ++loud_writes;
      last_write = fmt::format("{} {} {}", send.op, send.request.target.kind->name,
                               send.request.target.key.text());
    }
    if (scene.invariant && !failure) {
      failure = scene.invariant(world);
    }
  }
  return bridge::to_result(send.id, response);
}

void World::Impl::perform(const runtime::SendWrite& send) {
  const auto answer = [&](runtime::WriteResult result) {
    results.push_back({.result = std::move(result), .due = clock.now()});
  };
  const Faults& faults = scene.faults;
  if (happens(faults.conflict)) {
    answer({.id = send.id,
            .error = Error::conflict("the simulator says the object has been modified")});
    return;
  }
  if (happens(faults.error)) {
    answer({.id = send.id, .error = Error::internal("the simulator says no")});
    return;
  }
  if (happens(faults.overload)) {
    answer({.id = send.id,
            .error = Error{.code = 429, .reason = "TooManyRequests", .message = "try again later"},
            .retry_after = std::chrono::seconds(1)});
    return;
  }
  if (happens(faults.lost)) {
    answer({.id = send.id, .unknown = true});
    return;
  }
  const std::uint64_t written = writes;
  runtime::WriteResult result = call(send);
  const auto& placed = faults.crash_after;
  const bool placed_here =
      writes != written && std::find(placed.begin(), placed.end(), writes) != placed.end();
  if (placed_here || happens(faults.crash)) {
    crash();
    return;
  }
  if (happens(faults.lost_applied)) {
    answer({.id = send.id, .unknown = true});
    return;
  }
  answer(std::move(result));
}

// ---- the loop

void World::Impl::run_engine() {
  std::vector<runtime::Effect> effects;
  engine->run(clock.now(), effects);
  for (runtime::Effect& effect : effects) {
    if (auto* send = std::get_if<runtime::SendWrite>(&effect)) {
      sending.push_back(std::move(*send));
    } else if (const auto* listed = std::get_if<runtime::Relist>(&effect)) {
      relist(*listed->kind);
    } else if (const auto* probe = std::get_if<runtime::Probe>(&effect)) {
      ask(*probe);
    } else if (const auto* execute = std::get_if<runtime::Execute>(&effect)) {
      execute_act(*execute);
    } else if (const auto* timer = std::get_if<runtime::SetTimer>(&effect)) {
      timer_at = timer->when;
    }
  }
}

void World::Impl::ask(const runtime::Probe& probe) {
  const std::string& query = probe.query;
  if (bridge::is_live_read(query)) {
    deliver_later(query, bridge::answer_live(*store, query), probe.id);
    return;
  }
  const auto at = scene.probes.find(query.substr(0, query.find(':')));
  deliver_later(query,
                at == scene.probes.end()
                    ? Result<Value>(Error::not_found("nobody answers " + query))
                    : at->second(world, query),
                probe.id);
}

void World::Impl::execute_act(const runtime::Execute& execute) {
  const auto at = scene.executors.find(execute.verb);
  deliver_later(execute.verb + ":" + execute.id,
                at == scene.executors.end()
                    ? Result<Value>(Error::not_found("no executor for " + execute.verb))
                    : at->second(world, execute.id, execute.args),
                0);
}

void World::Impl::deliver_later(std::string query, Result<Value> answer, std::uint64_t asked) {
  runtime::Observation observation{.query = std::move(query), .asked = asked};
  if (answer.ok()) {
    observation.value = *std::move(answer);
  } else {
    observation.error = std::move(answer).error();
  }
  answers.push_back(
      {.observation = std::move(observation), .due = clock.now() + up_to(scene.answer_delay)});
}

// What could happen now, as numbers of the switch in step().
std::vector<World::Impl::Choice> World::Impl::choices() const {
  std::vector<Choice> possible;
  const Instant now = clock.now();
  if (next_actor < scene.actors.size() && start_time + scene.actors[next_actor].at <= now) {
    possible.push_back({.what = What::Act});
  }
  if (engine == nullptr) {
    if (restart_at <= now) {
      possible.push_back({.what = What::Restart});
    }
    return possible;
  }
  for (const auto& [kind, watch] : watches) {
    if (!watch.pending.empty() && watch.pending.front().due <= now) {
      possible.push_back({.what = What::Event, .kind = kind});
    }
  }
  if (scene.faults.ordered) {
    keep_first_event(possible);
  }
  for (std::size_t i = 0; i < sending.size(); ++i) {
    possible.push_back({.what = What::Send, .index = i});
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    possible.push_back({.what = What::Result, .index = i});
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::string& query = answers[i].observation.query;
    // News of one thing come in order.
    const bool first =
        std::none_of(answers.begin(), answers.begin() + static_cast<std::ptrdiff_t>(i),
                     [&](const Answer& earlier) {
                       return earlier.observation.query == query && earlier.due <= now;
                     });
    if (first && answers[i].due <= now) {
      possible.push_back({.what = What::Answer, .index = i});
    }
  }
  if (timer_at && *timer_at <= now) {
    possible.push_back({.what = What::Run});
  }
  if (!loop_inbox.empty() || loops->due(now)) {
    possible.push_back({.what = What::Loops});
  }
  return possible;
}

void World::Impl::deliver(const Kind& kind) {
  Watch& watch = watches[&kind];
  if (happens(scene.faults.gap)) {
    relist(kind);
  } else {
    Pending pending = std::move(watch.pending.front());
    watch.pending.pop_front();
    engine->absorb(std::move(pending.event), clock.now());
  }
  timer_at = clock.now();
}

void World::Impl::step(const Choice& choice) {
  const auto take_out = [](auto& list, std::size_t index) {
    auto one = std::move(list[index]);
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(index));
    return one;
  };
  switch (choice.what) {
    case What::Act: {
      // Taken out first: it may add others.
      const std::function<void(World&)> act = std::move(scene.actors[next_actor++].act);
      act(world);
      break;
    }
    case What::Restart:
      start_engine();
      timer_at = clock.now();
      break;
    case What::Event:
      deliver(*choice.kind);
      break;
    case What::Send:
      perform(take_out(sending, choice.index));
      break;
    case What::Result:
      engine->absorb(take_out(results, choice.index).result, clock.now());
      timer_at = clock.now();
      break;
    case What::Answer:
      engine->absorb(take_out(answers, choice.index).observation, clock.now());
      timer_at = clock.now();
      break;
    case What::Run:
      timer_at.reset();
      engine->absorb(runtime::Tick{}, clock.now());
      run_engine();
      break;
    case What::Loops:
      loops->feed(std::exchange(loop_inbox, {}));
      run_loops();
      break;
  }
}

// The loops' writes count as those of controllers; they meet no faults (their requests do not pass
// the engine).
void World::Impl::run_loops() {
  const store::Revision before = store->revision();
  loops->run(clock.now());
  if (store->revision() != before) {
    ++loud_writes;
    last_write = "a control loop of the server";
  }
}

// The next instant at which something happens by itself; the server's ticks left out.
std::optional<Instant> World::Impl::next_due() const {
  std::optional<Instant> due;
  const auto at = [&](Instant when) {
    if (!due || when < *due) {
      due = when;
    }
  };
  if (next_actor < scene.actors.size()) {
    at(start_time + scene.actors[next_actor].at);
  }
  if (engine == nullptr) {
    at(restart_at);
    return due;
  }
  for (const auto& [kind, watch] : watches) {
    if (!watch.pending.empty()) {
      at(watch.pending.front().due);
    }
  }
  for (const Answer& answer : answers) {
    at(answer.due);
  }
  if (timer_at) {
    at(*timer_at);
  }
  if (const auto loop = loops->next_due()) {
    at(*loop);
  }
  return due;
}

// Lets everything happen that is due before `end`; false: too many steps.
bool World::Impl::run_until(Instant end) {
  while (!failure) {
    if (++steps > kMostSteps) {
      failure = "livelock: too many steps; the last write: " + last_write;
      return false;
    }
    const std::vector<Choice> possible = choices();
    if (!possible.empty()) {
      step(possible[entropy->next() % possible.size()]);
      continue;
    }
    const auto due = next_due();
    const Instant next = std::min(end, due.value_or(end));
    if (next >= next_tick) {
      clock.set(std::max(clock.now(), next_tick));
      next_tick = std::max(clock.now(), next) + kTick;
      clock.set(std::max(clock.now(), next));
      server->tick(clock.now());
      continue;
    }
    if (!due || *due > end) {
      clock.set(end);
      return true;
    }
    clock.set(std::max(clock.now(), *due));
  }
  return false;
}

// True when nothing but time is left.
bool World::Impl::at_rest() const {
  return engine != nullptr && next_actor == scene.actors.size() && sending.empty() &&
         results.empty() && answers.empty() && loop_inbox.empty() && engine->idle() &&
         clock.now() - start_time >= (faulty() ? scene.faults_end : Duration::zero()) &&
         std::all_of(watches.begin(), watches.end(),
                     [](const auto& entry) { return entry.second.pending.empty(); });
}

bool World::Impl::faulty() const {
  const Faults& f = scene.faults;
  return f.conflict + f.error + f.overload + f.lost + f.lost_applied + f.crash + f.lag + f.gap > 0;
}

// ---- World

World::World(Scene scene, std::uint64_t seed)
    : impl_(std::make_unique<Impl>(*this, std::move(scene), seed)) {
  Impl& impl = *impl_;
  for (const Value& object : impl.scene.objects) {
    const auto created = create(object);
    if (!created.ok()) {
      impl.failure = "cannot create " + std::string(Object(object).kind()) + " " +
                     Object(object).key().text() + ": " + created.error().message;
    }
  }
  impl.start_engine();
  impl.timer_at = now();
}

World::~World() = default;

Outcome World::run() {
  Impl& impl = *impl_;
  const Instant end = impl.start_time + impl.scene.limit;
  const auto outcome = [&] {
    return Outcome{.failure = impl.failure,
                   .writes = impl.writes,
                   .crashes = impl.crashes,
                   .took = now() - impl.start_time};
  };
  // Rest is judged in slices, so that a world that converged does not run until the limit.
  Duration slice = std::chrono::seconds(10);
  while (!impl.failure && now() < end) {
    const std::uint64_t loud = impl.loud_writes;
    impl.run_until(std::min(end, now() + slice));
    slice = std::min<Duration>(slice * 2, std::chrono::hours(1));
    const bool done = !impl.scene.converged || impl.scene.converged(*this);
    if (loud == impl.loud_writes && impl.at_rest() && done) {
      break;
    }
  }
  if (impl.failure) {
    return outcome();
  }
  if (impl.scene.converged && !impl.scene.converged(*this)) {
    impl.failure = "did not converge; the last write: " + impl.last_write;
    return outcome();
  }
  const Outcome result = outcome();
  const std::uint64_t loud = impl.loud_writes;
  impl.run_until(now() + kQuietTime);
  if (!impl.failure && loud != impl.loud_writes) {
    impl.failure = fmt::format("not at rest: {} writes in the hour after convergence; the last: {}",
                               impl.loud_writes - loud, impl.last_write);
  }
  return impl.failure ? outcome() : result;
}

Instant World::now() const {
  return impl_->clock.now();
}

void World::observe(std::string query, Value answer) {
  impl_->answers.push_back(
      {.observation = {.query = std::move(query), .value = std::move(answer)}, .due = now()});
}

void World::after(Duration delay, std::function<void(World&)> act) {
  auto& actors = impl_->scene.actors;
  const Actor actor{.at = now() + delay - impl_->start_time, .act = std::move(act)};
  const auto at = std::upper_bound(actors.begin() + static_cast<std::ptrdiff_t>(impl_->next_actor),
                                   actors.end(), actor,
                                   [](const Actor& a, const Actor& b) { return a.at < b.at; });
  actors.insert(at, actor);
}

void World::crash() {
  impl_->crash();
}

const std::vector<std::string>& World::trace() const {
  return impl_->trace;
}

Result<Object> World::create(Value object) {
  const Object view(object);
  return impl_->admin_request("POST", view, std::move(object));
}

Result<Object> World::replace(Value object) {
  const Object view(object);
  return impl_->admin_request("PUT", view, std::move(object));
}

Result<Object> World::patch(const Kind& kind, const Key& key, Value merge,
                            std::string_view subresource) {
  runtime::WriteRequest write{.verb = runtime::WriteVerb::MergePatch,
                              .target = {&kind, key},
                              .subresource = std::string(subresource),
                              .body = std::move(merge),
                              .manager = "simulation-admin",
                              .user = std::string(kAdministrator)};
  return impl_->admin_call(bridge::to_request(write));
}

Result<void> World::remove(const Kind& kind, const Key& key) {
  runtime::WriteRequest write = runtime::request_for(Delete{.target = {&kind, key}});
  write.user = kAdministrator;
  auto done = impl_->admin_call(bridge::to_request(write));
  if (!done.ok()) {
    return std::move(done).error();
  }
  return {};
}

std::optional<Object> World::get(const Kind& kind, const Key& key) const {
  const auto stored = impl_->store->get(bridge::KindFeed::resource_of(kind), key);
  if (stored == nullptr) {
    return std::nullopt;
  }
  return Object(stored->body);
}

std::vector<Object> World::list(const Kind& kind, std::string_view ns) const {
  std::vector<Object> objects;
  const auto page =
      impl_->store->list(bridge::KindFeed::resource_of(kind), {.ns = std::string(ns)});
  if (page.ok()) {
    for (const store::StoredPtr& item : page->items) {
      objects.emplace_back(item->body);
    }
  }
  return objects;
}

}  // namespace athanor::sim
