// SPDX-License-Identifier: Apache-2.0
// The simulator's state: what is on its way, and when it arrives.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "embedded/bridge/calls.hpp"
#include "embedded/bridge/kind_feed.hpp"
#include "embedded/bridge/loops.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/view/step.hpp"
#include "simulation/leadership.hpp"
#include "simulation/world.hpp"

namespace athanor::sim {

// The user of the world's own requests.
inline constexpr std::string_view kAdministrator =
    "system:serviceaccount:kube-system:simulation-admin";

// Virtual time, and the wall clock that shows it, perhaps wrongly.
class VirtualClock final : public Clock {
 public:
  // Returns the time that the engine and the server read.
  [[nodiscard]] Instant now() const override { return steady_ + skew_; }
  // Returns the simulator's own time.
  [[nodiscard]] Instant steady() const { return steady_; }
  [[nodiscard]] Duration skew() const { return skew_; }
  void set(Instant steady) { steady_ = steady; }
  void step(Duration by) { skew_ += by; }

 private:
  Instant steady_ = *parse_time("2026-01-05T00:00:00Z");
  Duration skew_{};
};

// Effects of the engine on their way; one step delivers one of them.
struct World::Impl {
  struct Pending {
    runtime::WatchEvent event{};
    std::uint64_t version = 0;
    Instant due{};
  };
  struct Watch {
    const Kind* kind = nullptr;
    std::deque<Pending> pending{};
  };
  struct Answer {
    runtime::Observation observation{};
    Instant due{};
  };
  // What a former leader had sent: it arrives before the next one leads.
  struct Straggler {
    runtime::SendWrite send{};
    Instant due{};
  };
  enum class What : std::uint8_t {
    Act,
    Restart,
    Event,
    Send,
    Result,
    Answer,
    Run,
    Loops,
    Straggler,
    Lease
  };
  struct Choice {
    What what = What::Run;
    std::size_t index = 0;
  };

  Impl(World& owner, Scene given, std::uint64_t seed);

  // Runs the engine. The loop is in world.cpp.
  void run_engine();
  void carry_out_effects();
  void ask(const runtime::Probe& probe);
  void execute_act(const runtime::Execute& execute);
  void deliver_later(std::string query, Result<Value> answer, std::uint64_t asked);
  void find_choices();
  void step(const Choice& choice);
  bool step_in_order();
  [[nodiscard]] std::optional<Instant> next_due() const;
  void act();
  void run_loops();
  bool run_until(Instant end);
  bool advance(Instant end);
  void settle_step();
  void check_rest();
  void note(const Operator& op, const Key& key, std::size_t reads, const Plan& plan);
  [[nodiscard]] bool at_rest() const;
  [[nodiscard]] Outcome outcome() const;
  // Takes events. Watches are in watches.cpp.
  void take(std::span<const store::EventPtr> events);
  void push(std::size_t watch, Pending pending);
  Pending pop(std::size_t watch);
  void clear_watches();
  void start_engine();
  [[nodiscard]] std::optional<store::Revision> state_to_start_from();
  void replay(std::size_t watch, const std::vector<store::EventPtr>& events, Entropy& delays);
  void replay_in_order();
  void relist(const Kind& kind);
  void keep_first_event();
  void deliver(std::size_t watch);
  void check_wait(const runtime::ExpiredWait& wait);
  bool coalesce(std::size_t watch);
  // Makes the server. Writes are in writes.cpp.
  void make_server();
  void crash(std::uint64_t amount);
  void hand_over(std::uint64_t amount);
  void depose(std::uint64_t amount);
  void hear(Leadership::Change change);
  void begin_leading();
  [[nodiscard]] bool leases_move() const;
  [[nodiscard]] bool restarts() const;
  Result<Object> lease_call(std::string_view method, Value body);
  void restart_server(std::uint64_t amount);
  runtime::WriteResult call(const runtime::SendWrite& send);
  void check_changes_something(const runtime::WriteRequest& request);
  void perform(const runtime::SendWrite& send);
  bool refuse(const runtime::SendWrite& send);
  bool disturb(const runtime::SendWrite& send);
  // Sends a request as administrator. State is in state.cpp.
  Result<Object> admin_request(std::string_view method, const Object& object, Value body);
  Result<Object> admin_call(net::Request request);
  void mark_foreign(const store::Event& event);
  void check_foreign();

  World& world;
  Scene scene;
  VirtualClock clock{};
  std::unique_ptr<Entropy> entropy;
  FaultSource faults;
  std::unique_ptr<store::Store> store{};
  std::unique_ptr<apiserver::Server> server{};
  std::unique_ptr<runtime::Engine> engine{};
  std::unique_ptr<Leadership> leadership{};  // where leaders hand over
  std::unique_ptr<bridge::KindFeed> feed{};
  std::unique_ptr<bridge::Loops> loops{};
  std::vector<store::EventPtr> loop_inbox{};
  std::vector<Watch> watches{};                             // in the engine's order of kinds
  std::unordered_map<const Kind*, std::size_t> watch_of{};  // looked up, never walked
  std::vector<std::size_t> active{};                        // watches with something pending
  std::vector<runtime::WatchEvent> converted{};
  std::vector<runtime::Effect> effects{};
  std::vector<runtime::SendWrite> sending{};
  std::vector<runtime::WriteResult> results{};
  std::vector<Answer> answers{};
  std::vector<Straggler> stragglers{};
  std::vector<Choice> possible{};
  std::vector<store::EventPtr> news{};           // of this step, for the invariants
  std::set<std::string> operator_kinds{};        // resources that controllers write
  std::map<std::string, std::string> foreign{};  // uid of what carries foreign fields: its name
  std::set<Ref, RefOrder> denied{};   // targets whose last write met a conflict that nothing caused
  std::set<std::string> acts{};       // orders of this engine to the outside world
  std::optional<Instant> timer_at{};  // by the clock on the wall
  Instant start_time{};
  Instant restart_at{};
  Instant server_back_at{};
  Instant next_tick{};
  Instant common_due{};  // of events of all kinds
  std::multimap<Duration, std::function<void(World&)>> actors{};
  bool running = false;                 // effects of the engine are carried out
  std::optional<std::uint64_t> dies{};  // at the end of them
  std::uint64_t starts = 0;
  store::Revision first_revision = 0;  // what the scene started with
  std::uint64_t crashes = 0;
  std::uint64_t writes = 0;
  std::uint64_t loud_writes = 0;
  std::uint64_t steps = 0;
  Work work{};
  std::map<std::string, std::uint64_t> invariant_checks{};
  std::string last_write{};
  std::optional<std::string> failure{};
  std::vector<std::string> trace{};
  std::shared_ptr<void> listening{};  // last: ends before what it calls into
};

}  // namespace athanor::sim
