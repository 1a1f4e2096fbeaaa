// SPDX-License-Identifier: Apache-2.0
// Writes on their way to the server, and what dies meanwhile.
#include <fmt/format.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "base/check.hpp"
#include "embedded/apiserver/crd/crd_schemas.hpp"
#include "embedded/apiserver/write/write.hpp"
#include "runtime/engine/model/write_request.hpp"
#include "simulation/world_impl.hpp"

namespace athanor::sim {

namespace {

constexpr Duration kLongestRestart = std::chrono::seconds(2);
constexpr Duration kLongestForward = std::chrono::seconds(60);
constexpr Duration kLongestBack = std::chrono::seconds(30);

Duration part(std::uint64_t amount, Duration most) {
  return Duration(static_cast<Duration::rep>(amount % static_cast<std::uint64_t>(most.count())));
}

// Of every server of this process: worlds have the same definitions again and again.
apiserver::CrdSchemaCache& shared_schemas() {
  static apiserver::CrdSchemaCache cache;
  return cache;
}

// Whether the `index`th thing on its way still arrives.
bool arrives(std::uint64_t amount, std::size_t index) {
  return ((amount >> (index % 24)) & 1) != 0;
}

}  // namespace

void World::Impl::make_server() {
  apiserver::Dependencies dependencies{.store = store.get(),
                                       .clock = &clock,
                                       .entropy = entropy.get(),
                                       .crd_schemas = &shared_schemas(),
                                       .admission = scene.admission};
  auto created = apiserver::Server::create({.always_allow = true,
                                            .default_roles = false,
                                            .trusts_controllers = scene.trusts_controllers},
                                           std::move(dependencies));
  ATHANOR_CHECK(created.ok(), "the server starts over the store");
  server = *std::move(created);
}

void World::Impl::crash(std::uint64_t amount) {
  ++crashes;
  std::vector<runtime::SendWrite> late;
  late.swap(sending);
  results.clear();
  answers.clear();
  engine.reset();
  feed.reset();
  loops.reset();
  clear_watches();
  if (leadership) {
    leadership->crash();
  }
  // What was on its way to the server may still arrive.
  for (std::size_t i = 0; i < late.size(); ++i) {
    if (arrives(amount, i)) {
      static_cast<void>(call(late[i]));
    }
  }
  restart_at = clock.steady() + part(amount, kLongestRestart);
}

// ---- leaders

// The leader steps down in peace, dies, or cannot renew its Lease and goes on until that runs out.
void World::Impl::hand_over(std::uint64_t amount) {
  if (leadership->unsettled()) {
    return;  // this one is on its way out
  }
  switch (amount % 3) {
    case 0: {
      // It waits for its last writes before it gives the Lease back.
      std::vector<runtime::SendWrite> last;
      last.swap(sending);
      for (const runtime::SendWrite& send : last) {
        static_cast<void>(call(send));
      }
      depose(amount);
      leadership->step_down(clock.steady(), clock.now());
      return;
    }
    case 1:
      depose(amount);
      leadership->replace(clock.steady());
      return;
    default:
      leadership->cut_off();
  }
}

// The leader's engine ends; what it sent arrives before another replica can lead.
void World::Impl::depose(std::uint64_t amount) {
  ++crashes;
  for (std::size_t i = 0; i < sending.size(); ++i) {
    if (arrives(amount, i)) {
      stragglers.push_back({.send = std::move(sending[i]),
                            .due = clock.steady() + part(amount * (i + 7), kLongestRestart)});
    }
  }
  sending.clear();
  results.clear();
  answers.clear();
  engine.reset();
  feed.reset();
  loops.reset();
  clear_watches();
}

void World::Impl::hear(Leadership::Change change) {
  if (change == Leadership::Change::Lost) {
    depose(entropy->next());
  } else if (change == Leadership::Change::Won) {
    ++invariant_checks["one leader at a time"];
    if (engine != nullptr || !stragglers.empty()) {
      failure = "invariant \"one leader at a time\": the former one is still at work";
    }
    begin_leading();
  }
}

void World::Impl::begin_leading() {
  start_engine();
  timer_at = clock.now();
}

// Whether the replicas still look at their Lease: as long as the leader may change.
bool World::Impl::leases_move() const {
  return leadership != nullptr && (faults.expects() || leadership->unsettled());
}

// Whether a dead engine comes back by itself.
bool World::Impl::restarts() const {
  return leadership == nullptr || leadership->crashed();
}

Result<Object> World::Impl::lease_call(std::string_view method, Value body) {
  if (clock.steady() < server_back_at) {
    return Error::internal("the server restarts");
  }
  const Key& key = Leadership::lease();
  net::Request request{.method = std::string(method),
                       .path = runtime::collection_path(api::kLease, key.ns)};
  if (method != "POST") {
    request.path += "/" + key.name;
  }
  request.headers.emplace("content-type", "application/json");
  request.body = std::move(body);
  return admin_call(std::move(request));
}

// Connections are cut: the outcome of what was sent stays unknown. Watches go on from where
// they were or, when the new server says so, with a list.
void World::Impl::restart_server(std::uint64_t amount) {
  const bool with_loops = loops != nullptr;
  loops.reset();
  server.reset();
  make_server();
  if (with_loops) {
    loop_inbox.clear();
    loops = std::make_unique<bridge::Loops>(*store, *server);
  }
  std::vector<runtime::SendWrite> late;
  late.swap(sending);
  for (std::size_t i = 0; i < late.size(); ++i) {
    if (arrives(amount, i)) {
      static_cast<void>(call(late[i]));
    }
    results.push_back({.id = late[i].id, .unknown = true});
  }
  server_back_at = clock.steady() + part(amount, kLongestRestart);
  if (engine != nullptr && arrives(amount, 23)) {
    for (const Kind* kind : engine->kinds()) {
      relist(*kind);
      if (scene.faults.ordered) {
        break;  // that was all kinds
      }
    }
    timer_at = clock.now();
  }
}

runtime::WriteResult World::Impl::call(const runtime::SendWrite& send) {
  net::Request request = bridge::to_request(send.request);
  const std::string line = scene.record ? fmt::format("{} {} {} {}", format_micro_time(clock.now()),
                                                      send.op, request.method, request.path)
                                        : std::string();
  const store::Revision before = store->revision();
  const net::Response response = server->handle(std::move(request), clock.now());
  if (scene.record) {
    trace.push_back(fmt::format("{} {}", line, response.status));
  }
  const auto& quiet = scene.periodic_writers;
  if (store->revision() != before) {
    ++writes;
    ++work.writes_of[send.op];
    if (std::find(quiet.begin(), quiet.end(), send.op) == quiet.end()) {
      ++loud_writes;
      if (scene.pace == Pace::Seeded) {
        last_write = fmt::format("{} {} {}", send.op, send.request.target.kind->name,
                                 send.request.target.key.text());
      }
    }
  }
  return bridge::to_result(send.id, response);
}

// Faults before the server has heard of the write; true: it never will.
bool World::Impl::refuse(const runtime::SendWrite& send) {
  if (leases_move() && !leadership->may_write(clock.steady())) {
    return true;  // its time is up: nothing leaves, no answer comes
  }
  const auto answer = [&](runtime::WriteResult result) {
    result.id = send.id;
    results.push_back(std::move(result));
    return true;
  };
  if (clock.steady() < server_back_at) {
    return answer({.unknown = true});
  }
  denied.erase(send.request.target);
  if (faults.strike(Fault::WriteConflict)) {
    denied.insert(send.request.target);
    return answer({.error = Error::conflict("the simulator says the object has been modified")});
  }
  if (faults.strike(Fault::WriteError)) {
    return answer({.error = Error::internal("the simulator says no")});
  }
  if (faults.strike(Fault::WriteOverload)) {
    return answer(
        {.error = Error{.code = 429, .reason = "TooManyRequests", .message = "try again later"},
         .retry_after = std::chrono::seconds(1)});
  }
  if (faults.strike(Fault::WriteLost)) {
    return answer({.unknown = true});
  }
  return false;
}

// Faults between the write and its answer; true: the answer is not heard.
bool World::Impl::disturb(const runtime::SendWrite& send) {
  if (const auto forward = faults.strike(Fault::ClockForward)) {
    clock.step(part(*forward, kLongestForward));
  }
  if (const auto back = faults.strike(Fault::ClockBack)) {
    clock.step(-part(*back, kLongestBack));
  }
  if (scene.kill_pod) {
    if (const auto pick = faults.strike(Fault::PodDeath)) {
      scene.kill_pod(world, *pick);
    }
  }
  if (scene.kill_node) {
    if (const auto pick = faults.strike(Fault::NodeDeath)) {
      scene.kill_node(world, *pick);
    }
  }
  if (const auto amount = faults.strike(Fault::EngineCrash)) {
    crash(*amount);
    return true;
  }
  if (const auto amount = faults.strike(Fault::Handover)) {
    hand_over(*amount);
    if (engine == nullptr) {
      return true;
    }
  }
  if (const auto amount = faults.strike(Fault::ServerRestart)) {
    restart_server(*amount);
    results.push_back({.id = send.id, .unknown = true});
    return true;
  }
  if (faults.strike(Fault::WriteLostApplied)) {
    results.push_back({.id = send.id, .unknown = true});
    return true;
  }
  return false;
}

// A patch without content is one for what is there already.
void World::Impl::check_changes_something(const runtime::WriteRequest& request) {
  if (request.verb != runtime::WriteVerb::MergePatch || request.subresource != "status") {
    return;
  }
  ++invariant_checks["nothing is written that is there"];
  const Value& status = request.body["status"];
  if ((status.is_null() || status.empty()) && !failure) {
    failure = fmt::format("invariant \"nothing is written that is there\": the status of {} {}",
                          request.target.kind->name, request.target.key.text());
  }
}

void World::Impl::perform(const runtime::SendWrite& send) {
  check_changes_something(send.request);
  if (refuse(send)) {
    return;
  }
  runtime::WriteResult result = call(send);
  if (!disturb(send)) {
    results.push_back(std::move(result));
  }
}

}  // namespace athanor::sim
