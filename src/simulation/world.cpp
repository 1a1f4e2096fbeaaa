// SPDX-License-Identifier: Apache-2.0
// The simulator's loop: at every step one of the things that could happen now happens, chosen by
// the seed.
#include "simulation/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "api/builtin.hpp"
#include "base/check.hpp"
#include "embedded/bridge/live_read.hpp"
#include "kube/text/json.hpp"
#include "simulation/invariants.hpp"
#include "simulation/world_impl.hpp"

namespace athanor::sim {

namespace {

constexpr std::uint64_t kMostSteps = 3'000'000;  // a livelock without virtual time passing
// No work is done in no time: a controller that its old view keeps busy sees the view move on.
constexpr std::uint64_t kStepsAtOnce = 1'000;
constexpr Duration kPassing = std::chrono::milliseconds(500);
constexpr Duration kQuietTime = std::chrono::hours(1);
// Of the server, while anything goes on. On long traces what it clears away may wait.
constexpr Duration kTick = std::chrono::seconds(30);
constexpr Duration kOrderlyTick = std::chrono::minutes(10);

template <class T>
T take_out(std::vector<T>& list, std::size_t index) {
  T one = std::move(list[index]);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(index));
  return one;
}

Duration up_to(Entropy& entropy, Duration most) {
  return most.count() <= 0 ? Duration::zero()
                           : Duration(static_cast<Duration::rep>(
                                 entropy.next() % (static_cast<std::uint64_t>(most.count()) + 1)));
}

// What a server installs into an empty store: the same for every world, made once.
const std::vector<store::StoredPtr>& installed_objects() {
  static const std::vector<store::StoredPtr> kObjects = [] {
    VirtualClock still;
    const std::unique_ptr<Entropy> entropy = seeded_entropy(0);
    auto store = store::Store::open(store::memory_journal(), {.intern = false, .hash = true});
    ATHANOR_CHECK(store.ok(), "a memory store opens");
    apiserver::Dependencies dependencies{
        .store = store->get(), .clock = &still, .entropy = entropy.get()};
    const auto server = apiserver::Server::create({.always_allow = true, .default_roles = false},
                                                  std::move(dependencies));
    ATHANOR_CHECK(server.ok(), "the server starts over an empty store");
    std::vector<store::StoredPtr> objects;
    for (const std::string& resource : (*store)->resources()) {
      const auto page = (*store)->list(resource, {});
      ATHANOR_CHECK(page.ok(), "a memory store can be listed");
      objects.insert(objects.end(), page->items.begin(), page->items.end());
    }
    std::sort(objects.begin(), objects.end(),
              [](const auto& a, const auto& b) { return a->revision < b->revision; });
    return objects;
  }();
  return kObjects;
}

void put_in(store::Store& store, const std::vector<store::StoredPtr>& objects, Instant now) {
  std::vector<store::Write> writes;
  writes.reserve(objects.size());
  for (const store::StoredPtr& object : objects) {
    writes.push_back({.resource = object->resource, .key = object->key, .body = object->body});
  }
  ATHANOR_CHECK(store.commit(writes, now).ok(), "an empty store takes anything");
}

}  // namespace

World::Impl::Impl(World& owner, Scene given, std::uint64_t seed)
    : world(owner),
      scene(std::move(given)),
      entropy(seeded_entropy(seed)),
      faults(scene.faults, scene.placed, seed) {
  // Where no event is missed, old ones are not asked for.
  constexpr std::size_t kFew = 16;
  constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max();
  const store::Options kept =
      scene.pace == Pace::Orderly
          ? store::Options{.event_window = kFew,
                           .event_minimum = kFew,
                           .window_bytes = kUnbounded,
                           .history = Duration::zero(),
                           .intern = false,
                           .hash = true}
          : store::Options{.window_bytes = kUnbounded, .intern = false, .hash = true};
  auto opened = store::Store::open(store::memory_journal(), kept);
  ATHANOR_CHECK(opened.ok(), "a memory store opens");
  store = *std::move(opened);
  start_time = clock.steady();
  put_in(*store, scene.snapshot.empty() ? installed_objects() : scene.snapshot, clock.now());
  make_server();
  for (const Operator* op : scene.operators) {
    for (const Kind* kind : op->writes) {
      operator_kinds.insert(bridge::KindFeed::resource_of(*kind));
    }
  }
  if (scene.pace == Pace::Seeded) {
    std::vector<Invariant> common = common_invariants();
    scene.invariants.insert(scene.invariants.end(), std::make_move_iterator(common.begin()),
                            std::make_move_iterator(common.end()));
  }
  for (Actor& actor : scene.actors) {
    actors.emplace(actor.at, std::move(actor.act));
  }
  if (scene.pace == Pace::Seeded && faults.includes(Fault::Handover)) {
    leadership = std::make_unique<Leadership>(seed, [this](std::string_view method, Value body) {
      return lease_call(method, std::move(body));
    });
  }
  listening = store->listen([this](std::span<const store::EventPtr> events) { take(events); });
}

// ---- the loop

void World::Impl::note(const Operator& op, const Key& /*key*/, std::size_t reads,
                       const Plan& plan) {
  ++work.reconciles;
  ++work.reconciles_of[op.name];
  work.reads += reads;
  work.plan_steps += plan.steps().size();
  work.most_steps = std::max(work.most_steps, plan.steps().size());
  work.most_reads = std::max(work.most_reads, reads);
}

void World::Impl::run_engine() {
  effects.clear();
  engine->run(clock.now(), effects);
  running = true;
  carry_out_effects();
  running = false;
  if (const auto amount = std::exchange(dies, std::nullopt)) {
    crash(*amount);
  }
}

void World::Impl::carry_out_effects() {
  bool listed_anew = false;
  std::optional<store::Revision> listed_all;  // at this revision, by a feed in order
  for (runtime::Effect& effect : effects) {
    if (auto* send = std::get_if<runtime::SendWrite>(&effect)) {
      if (scene.pace == Pace::Seeded && send->request.subresource == "status") {
        work.most_status = std::max(work.most_status, json::print(send->request.body).size());
      }
      sending.push_back(std::move(*send));
    } else if (const auto* listed = std::get_if<runtime::Relist>(&effect)) {
      if (!scene.faults.ordered || listed_all != store->revision()) {
        relist(*listed->kind);
        listed_all = store->revision();
      }
      listed_anew = true;
    } else if (const auto* probe = std::get_if<runtime::Probe>(&effect)) {
      ask(*probe);
    } else if (const auto* execute = std::get_if<runtime::Execute>(&effect)) {
      execute_act(*execute);
    } else if (const auto* timer = std::get_if<runtime::SetTimer>(&effect)) {
      timer_at = timer->when;
    }
  }
  if (listed_anew) {
    timer_at = clock.now();  // there may be keys to run, whatever the engine knew before
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
                    ? Result<Value>(Error::not_found("no probe answers " + query))
                    : at->second(world, query),
                probe.id);
}

void World::Impl::execute_act(const runtime::Execute& execute) {
  if (scene.pace == Pace::Seeded) {
    ++invariant_checks["no order is given twice"];
    if (!acts.insert(execute.verb + ":" + execute.id).second && !failure) {
      failure = "invariant \"no order is given twice\": " + execute.verb + ":" + execute.id;
    }
  }
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
  answers.push_back({.observation = std::move(observation),
                     .due = clock.steady() + up_to(*entropy, scene.answer_delay)});
}

// What could happen now, into `possible`.
void World::Impl::find_choices() {
  possible.clear();
  const Instant now = clock.steady();
  if (!actors.empty() && start_time + actors.begin()->first <= now) {
    possible.push_back({.what = What::Act});
  }
  for (std::size_t i = 0; i < stragglers.size(); ++i) {
    if (stragglers[i].due <= now) {
      possible.push_back({.what = What::Straggler, .index = i});
    }
  }
  if (leases_move() && leadership->next_due().value_or(Instant::max()) <= now) {
    possible.push_back({.what = What::Lease});
  }
  if (engine == nullptr) {
    if (restarts() && restart_at <= now) {
      possible.push_back({.what = What::Restart});
    }
    return;
  }
  for (const std::size_t watch : active) {
    if (watches[watch].pending.front().due <= now) {
      possible.push_back({.what = What::Event, .index = watch});
    }
  }
  if (scene.faults.ordered) {
    keep_first_event();
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
  if (timer_at && *timer_at <= clock.now()) {
    possible.push_back({.what = What::Run});
  }
  if (!loop_inbox.empty() || loops->due(clock.now())) {
    possible.push_back({.what = What::Loops});
  }
}

void World::Impl::act() {
  // Taken out first: it may add others.
  const auto act = actors.extract(actors.begin());
  act.mapped()(world);
}

void World::Impl::step(const Choice& choice) {
  switch (choice.what) {
    case What::Act:
      act();
      break;
    case What::Restart:
      if (leadership) {
        hear(leadership->restart(clock.steady(), clock.now()));
      } else {
        begin_leading();
      }
      break;
    case What::Lease:
      hear(leadership->tick(clock.steady(), clock.now()));
      break;
    case What::Event:
      deliver(choice.index);
      break;
    case What::Send:
      perform(take_out(sending, choice.index));
      break;
    case What::Straggler:
      if (engine != nullptr) {
        failure = "a write of a former leader arrives while another one leads";
      }
      static_cast<void>(call(take_out(stragglers, choice.index).send));
      break;
    case What::Result:
      engine->absorb(take_out(results, choice.index), clock.now());
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

// Everything that is due, oldest first; false: nothing was.
bool World::Impl::step_in_order() {
  const Instant now = clock.steady();
  const std::uint64_t before = steps;
  while (!actors.empty() && start_time + actors.begin()->first <= now) {
    ++steps;
    act();
  }
  while (!active.empty()) {
    ++steps;
    engine->absorb(pop(active.front()).event, clock.now());
  }
  for (const runtime::WriteResult& result : std::exchange(results, {})) {
    ++steps;
    engine->absorb(result, clock.now());
  }
  std::vector<Answer> waiting;
  for (Answer& answer : std::exchange(answers, {})) {
    if (answer.due > now) {
      waiting.push_back(std::move(answer));
      continue;
    }
    ++steps;
    engine->absorb(answer.observation, clock.now());
  }
  answers.insert(answers.begin(), std::make_move_iterator(waiting.begin()),
                 std::make_move_iterator(waiting.end()));
  if (!loop_inbox.empty() || loops->due(clock.now())) {
    ++steps;
    loops->feed(std::exchange(loop_inbox, {}));
    run_loops();
  }
  if (steps != before || (timer_at && *timer_at <= clock.now())) {
    ++steps;
    timer_at.reset();
    engine->absorb(runtime::Tick{}, clock.now());
    run_engine();
  }
  for (const runtime::SendWrite& send : std::exchange(sending, {})) {
    ++steps;
    results.push_back(call(send));
  }
  return steps != before;
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
  if (!actors.empty()) {
    at(start_time + actors.begin()->first);
  }
  for (const Straggler& straggler : stragglers) {
    at(straggler.due);
  }
  if (const auto lease = leases_move() ? leadership->next_due() : std::nullopt) {
    at(*lease);
  }
  if (engine == nullptr) {
    if (restarts()) {
      at(restart_at);
    }
    return due;
  }
  for (const std::size_t watch : active) {
    at(watches[watch].pending.front().due);
  }
  for (const Answer& answer : answers) {
    at(answer.due);
  }
  if (timer_at) {
    at(*timer_at - clock.skew());
  }
  if (const auto loop = loops->next_due()) {
    at(*loop - clock.skew());
  }
  return due;
}

// What is checked after a step that stored something.
void World::Impl::settle_step() {
  const std::vector<store::EventPtr> stored = std::exchange(news, {});
  if (scene.watch) {
    scene.watch(world, stored);
  }
  for (const Invariant& invariant : scene.invariants) {
    if (invariant.when != Invariant::When::EveryStep || failure) {
      continue;
    }
    ++invariant_checks[invariant.name];
    if (auto wrong = invariant.check(world, stored)) {
      failure = fmt::format("invariant \"{}\": {}", invariant.name, *wrong);
    }
  }
  if (scene.foreign_fields) {
    for (const store::EventPtr& event : stored) {
      mark_foreign(*event);
    }
  }
}

void World::Impl::check_rest() {
  for (const Invariant& invariant : scene.invariants) {
    if (invariant.when != Invariant::When::AtRest || failure) {
      continue;
    }
    ++invariant_checks[invariant.name];
    if (auto wrong = invariant.check(world, {})) {
      failure = fmt::format("invariant \"{}\": {}", invariant.name, *wrong);
    }
  }
  if (!failure) {
    check_foreign();
  }
}

// Lets time pass until something is due or `end` is reached; false: `end` is reached.
bool World::Impl::advance(Instant end) {
  const auto due = next_due();
  const Instant next = std::min(end, due.value_or(end));
  if (next >= next_tick) {
    clock.set(std::max(clock.steady(), next));
    next_tick = clock.steady() + (scene.pace == Pace::Orderly ? kOrderlyTick : kTick);
    server->tick(clock.now());
    return true;
  }
  if (!due || *due > end) {
    clock.set(end);
    return false;
  }
  clock.set(std::max(clock.steady(), *due));
  return true;
}

// Lets everything happen that is due before `end`; false: too many steps, or something is wrong.
bool World::Impl::run_until(Instant end) {
  const std::uint64_t most = steps + kMostSteps;
  Instant last = clock.steady();
  std::uint64_t at_once = 0;
  while (!failure) {
    if (clock.steady() - start_time >= scene.faults_end) {
      faults.stop();
    }
    bool moved = true;
    if (scene.pace == Pace::Orderly) {
      moved = step_in_order();
    } else if (find_choices(); possible.empty()) {
      moved = false;
    } else {
      if (++steps > most) {
        failure = "livelock: too many steps; the last write: " + last_write;
        return false;
      }
      at_once = clock.steady() == std::exchange(last, clock.steady()) ? at_once + 1 : 0;
      if (at_once == kStepsAtOnce) {
        clock.set(clock.steady() + kPassing);
      }
      step(possible[entropy->next() % possible.size()]);
    }
    if (!news.empty()) {
      settle_step();
    }
    if (!moved && !advance(end)) {
      return true;
    }
  }
  return false;
}

// True when nothing but time is left.
bool World::Impl::at_rest() const {
  return engine != nullptr && !(leadership && leadership->unsettled()) && actors.empty() &&
         stragglers.empty() && sending.empty() && results.empty() && answers.empty() &&
         loop_inbox.empty() && engine->idle() && !faults.expects() && active.empty();
}

Outcome World::Impl::outcome() const {
  return {.failure = failure,
          .writes = writes,
          .crashes = crashes,
          .took = clock.steady() - start_time,
          .steps = steps,
          .work = work,
          .injected = faults.injected(),
          .occasions = faults.occasions(),
          .invariants = invariant_checks};
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
  impl.news.clear();
  if (impl.leadership) {
    impl.hear(impl.leadership->start(impl.clock.steady(), now()));
  } else {
    impl.begin_leading();
  }
}

World::~World() = default;

Outcome World::run() {
  Impl& impl = *impl_;
  const auto steady = [&] { return impl.clock.steady(); };
  const Instant end = steady() + impl.scene.limit;
  const auto done = [&] { return !impl.scene.converged || impl.scene.converged(*this); };
  // Rest is judged in slices, so that a world that converged does not run until the limit.
  Duration slice = std::chrono::seconds(10);
  const auto given_up = [&] { return impl.scene.is_given_up && impl.scene.is_given_up(); };
  while (!impl.failure && steady() < end && !given_up()) {
    const std::uint64_t loud = impl.loud_writes;
    impl.run_until(std::min(end, steady() + slice));
    slice = std::min<Duration>(slice * 2, std::chrono::hours(1));
    if (!impl.failure && loud == impl.loud_writes && impl.at_rest() && done()) {
      break;
    }
  }
  if (!impl.failure && !done()) {
    std::string why = "did not converge; the last write: " + impl.last_write;
    for (const Invariant& invariant : impl.scene.invariants) {
      if (invariant.when == Invariant::When::AtRest) {
        if (const auto wrong = invariant.check(*this, {})) {
          why += "; " + *wrong;
        }
      }
    }
    impl.failure = std::move(why);
  }
  if (impl.failure) {
    return impl.outcome();
  }
  impl.check_rest();
  const Outcome result = impl.outcome();
  const std::uint64_t loud = impl.loud_writes;
  impl.run_until(steady() + kQuietTime);
  if (!impl.failure && loud != impl.loud_writes) {
    impl.failure = fmt::format("not at rest: {} writes in the hour after convergence; the last: {}",
                               impl.loud_writes - loud, impl.last_write);
  }
  return impl.failure ? impl.outcome() : result;
}

Instant World::now() const {
  return impl_->clock.now();
}

void World::observe(std::string query, Value answer) {
  impl_->answers.push_back({.observation = {.query = std::move(query), .value = std::move(answer)},
                            .due = impl_->clock.steady()});
}

void World::after(Duration delay, std::function<void(World&)> act) {
  impl_->actors.emplace(impl_->clock.steady() + delay - impl_->start_time, std::move(act));
}

void World::crash() {
  const std::uint64_t amount = impl_->entropy->next();
  if (impl_->running) {
    impl_->dies = amount;
  } else {
    impl_->crash(amount);
  }
}

std::optional<std::uint64_t> World::strike(Fault kind) {
  return impl_->faults.strike(kind);
}

const std::vector<std::string>& World::trace() const {
  return impl_->trace;
}

}  // namespace athanor::sim
