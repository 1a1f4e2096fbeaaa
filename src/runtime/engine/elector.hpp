// SPDX-License-Identifier: Apache-2.0
// Elector: leadership by a coordination.k8s.io/v1 Lease, as client-go's leaderelection does it, so
// that peers in Go or Rust take part. A machine without I/O: it asks for reads and writes of the
// Lease requests; their results are fed back into it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::runtime {

// Time since an arbitrary beginning that never steps: what leases are measured with. The wall clock
// is only written down.
using Steady = Duration;

struct ElectorOptions {
  Key lease{};             // namespace and name
  std::string identity{};  // unique to this process
  Duration lease_duration = std::chrono::seconds(15);
  Duration renew_deadline = std::chrono::seconds(10);  // shorter than lease_duration
  Duration retry_period = std::chrono::seconds(2);     // shorter than renew_deadline / 1.2
  bool release_on_cancel = true;
  Entropy* entropy = nullptr;  // jitter; required
};
// Refuses the same options as client-go, with its texts.
Result<void> check(const ElectorOptions& options);

// ---- effects
struct ReadLease {
  std::uint64_t id = 0;
};
struct WriteLease {
  std::uint64_t id = 0;
  bool create = false;  // else an update, guarded by metadata.resourceVersion in `body`
  Value body{};
};
// Call tick() at `at` at the latest; replaces the former one.
struct WakeElector {
  Steady at{};
};
struct BecameLeader {};
// Never again: the process ends, or makes another Elector under another identity.
struct LostLeadership {
  std::string why{};
};
// The lease has another holder: its identity.
struct LeaderIs {
  std::string identity{};
};
using ElectorEffect =
    std::variant<ReadLease, WriteLease, WakeElector, BecameLeader, LostLeadership, LeaderIs>;
using ElectorEffects = std::vector<ElectorEffect>;

// One thread at a time. At most one request is under way.
class Elector {
 public:
  explicit Elector(ElectorOptions options);

  void start(Steady now, Instant wall, ElectorEffects& effects);
  // Takes the answer to a ReadLease or WriteLease: the Lease as the server has it, or an error
  // (404: there is none; a request without an answer is an error like any other).
  void answer(std::uint64_t id, const Result<Object>& lease, Steady now, Instant wall,
              ElectorEffects& effects);
  void tick(Steady now, Instant wall, ElectorEffects& effects);
  // Gives up. A leader that was asked to gives the lease back: a WriteLease without a holder
  // follows, after which released() holds. Call it when the last write has been answered.
  void stop(Steady now, Instant wall, ElectorEffects& effects);

  // Returns true if a write may leave now. Ends by itself `renew_deadline` after the last
  // successful renewal was sent: well before another replica can take the lease.
  [[nodiscard]] bool may_write(Steady now) const;
  // Returns the end of may_write() if nothing more comes.
  [[nodiscard]] Steady deadline() const { return deadline_; }
  [[nodiscard]] bool leading() const { return state_ == State::Leading; }
  [[nodiscard]] bool released() const { return state_ == State::Ended; }
  [[nodiscard]] const ElectorOptions& options() const { return options_; }

 private:
  enum class State : std::uint8_t { Idle, Waiting, Leading, Releasing, Ended };
  struct Request {
    std::uint64_t id = 0;
    bool write = false;
    Steady sent{};
  };

  void attempt(Steady now, Instant wall, ElectorEffects& effects);
  void read_back(const std::optional<Object>& lease, Steady now, Instant wall,
                 ElectorEffects& effects);
  void write(Steady now, Instant wall, ElectorEffects& effects);
  void failed(Steady now, ElectorEffects& effects);
  void lose(std::string why, ElectorEffects& effects);
  void observe(const Object& lease, Steady now, ElectorEffects& effects);
  void release(Steady now, Instant wall, ElectorEffects& effects);
  void wake(Steady at, ElectorEffects& effects);
  [[nodiscard]] Value body(Instant wall) const;
  [[nodiscard]] bool held_by_us() const;
  [[nodiscard]] Steady retry_at(Steady now);

  ElectorOptions options_;
  State state_ = State::Idle;
  std::optional<Request> request_{};
  std::uint64_t last_id_ = 0;
  std::optional<Object> observed_{};  // the Lease as last seen
  Steady observed_at_{};              // when its record was first seen so
  Steady deadline_{};
  std::optional<Steady> wake_{};
  std::string told_{};  // the identity of the last LeaderIs
  bool stopping_ = false;
};

}  // namespace athanor::runtime
