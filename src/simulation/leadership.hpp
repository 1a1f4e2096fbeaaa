// SPDX-License-Identifier: Apache-2.0
// Two replicas of the controllers and the Lease they share: who leads, decided by runtime::Elector
// in virtual time. What leads, and what becomes of its writes, is the world's business.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/engine/elector.hpp"

namespace athanor::sim {

// Not thread-safe. `steady` is virtual time, `wall` what the clock shows.
class Leadership {
 public:
  // A request for the Lease: GET, POST or PUT.
  using Call = std::function<Result<Object>(std::string_view method, Value body)>;
  enum class Change : std::uint8_t { None, Won, Lost };

  Leadership(std::uint64_t seed, Call call);

  // Starts both; the first one leads when the server answers.
  Change start(Instant steady, Instant wall);
  // Returns the time of the next look at the Lease.
  [[nodiscard]] std::optional<Instant> next_due() const;
  // Lets one due replica look at it.
  Change tick(Instant steady, Instant wall);

  // Gives the leader's Lease back. Requires that its last write has been answered.
  void step_down(Instant steady, Instant wall);
  // Ends the leader for good; another replica starts in its place.
  void replace(Instant steady);
  // Fails the leader's requests for the Lease from now on: it leads until its time runs out.
  void cut_off();
  // Ends the leader's process; restart() brings it back under its old identity.
  void crash();
  Change restart(Instant steady, Instant wall);

  [[nodiscard]] bool may_write(Instant steady) const;
  [[nodiscard]] bool crashed() const { return crashed_; }
  // Returns true while a hand-over is under way.
  [[nodiscard]] bool unsettled() const { return !leader_ || cut_; }
  static const Key& lease();

 private:
  struct Replica {
    std::string identity{};
    std::unique_ptr<runtime::Elector> elector{};
    std::optional<runtime::Steady> wake{};
  };
  template <class Feed>
  Change feed(std::size_t index, Instant steady, Instant wall, const Feed& step);
  Change begin(std::size_t index, std::string identity, Instant steady, Instant wall);
  std::string new_identity();

  Call call_;
  std::unique_ptr<Entropy> entropy_;
  std::array<Replica, 2> replicas_{};
  std::optional<std::size_t> leader_{};
  bool cut_ = false;
  bool crashed_ = false;
  std::uint64_t born_ = 0;
};

}  // namespace athanor::sim
