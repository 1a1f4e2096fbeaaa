// SPDX-License-Identifier: Apache-2.0
// The simulator's state: what is on its way, and when it arrives.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "embedded/bridge/calls.hpp"
#include "embedded/bridge/kind_feed.hpp"
#include "embedded/bridge/loops.hpp"
#include "embedded/simulation/world.hpp"
#include "runtime/engine.hpp"
#include "runtime/view/step.hpp"

namespace athanor::sim {

// Time that passes only when told to.
class VirtualClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  void set(Instant now) { now_ = now; }

 private:
  Instant now_ = *parse_time("2026-01-05T00:00:00Z");
};

struct World::Impl {
  struct Pending {
    runtime::WatchEvent event{};
    Instant due{};
  };
  struct Watch {
    std::deque<Pending> pending{};
  };
  struct Answer {
    runtime::Observation observation{};
    Instant due{};
  };
  struct LateResult {
    runtime::WriteResult result{};
    Instant due{};
  };
  enum class What : std::uint8_t { Act, Restart, Event, Send, Result, Answer, Run, Loops };
  struct Choice {
    What what = What::Run;
    const Kind* kind = nullptr;
    std::size_t index = 0;
  };

  Impl(World& owner, Scene given, std::uint64_t seed);

  // chance
  bool happens(double probability);
  Duration up_to(Duration most);
  // watches
  void take(std::span<const store::EventPtr> events);
  void start_engine();
  void replay(const Kind& kind, const std::vector<store::EventPtr>& events);
  void replay_in_order();
  void relist(const Kind& kind);
  void keep_first_event(std::vector<Choice>& possible) const;
  void crash();
  // writes
  runtime::WriteResult call(const runtime::SendWrite& send);
  void perform(const runtime::SendWrite& send);
  // the loop
  void run_engine();
  void ask(const runtime::Probe& probe);
  void execute_act(const runtime::Execute& execute);
  void deliver_later(std::string query, Result<Value> answer, std::uint64_t asked);
  [[nodiscard]] std::vector<Choice> choices() const;
  void deliver(const Kind& kind);
  void step(const Choice& choice);
  [[nodiscard]] std::optional<Instant> next_due() const;
  void run_loops();
  bool run_until(Instant end);
  [[nodiscard]] bool at_rest() const;
  [[nodiscard]] bool faulty() const;
  // state.cpp
  Result<Object> admin_request(std::string_view method, const Object& object, Value body);
  Result<Object> admin_call(apiserver::Request request);

  World& world;
  Scene scene;
  VirtualClock clock{};
  std::unique_ptr<Entropy> entropy;
  std::unique_ptr<store::Store> store{};
  std::unique_ptr<apiserver::Server> server{};
  std::unique_ptr<runtime::Engine> engine{};
  std::unique_ptr<bridge::KindFeed> feed{};
  std::unique_ptr<bridge::Loops> loops{};
  std::vector<store::EventPtr> loop_inbox{};
  std::map<const Kind*, Watch, KindOrder> watches{};
  std::vector<runtime::WatchEvent> converted{};
  std::vector<runtime::SendWrite> sending{};
  std::vector<LateResult> results{};
  std::vector<Answer> answers{};
  std::optional<Instant> timer_at{};
  Instant start_time{};
  Instant restart_at{};
  Instant next_tick{};
  Instant latest_due{};  // of events, when they keep a common order
  std::size_t next_actor = 0;
  std::uint64_t starts = 0;
  store::Revision first_revision = 0;  // what the scene started with
  std::uint64_t crashes = 0;
  std::uint64_t writes = 0;
  std::uint64_t loud_writes = 0;
  std::uint64_t steps = 0;
  std::string last_write{};
  std::optional<std::string> failure{};
  std::vector<std::string> trace{};
  std::shared_ptr<void> listening{};  // last: ends before what it calls into
};

}  // namespace athanor::sim
