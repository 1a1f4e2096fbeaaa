// SPDX-License-Identifier: Apache-2.0
// PodMachine: the life of one pod's containers on a node: order, restarts, timeouts, stopping.
// Events in, orders out; no process, clock or file is touched here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "kube/value/value.hpp"

namespace athanor::nodes {

// One action on the container at an index.
struct Order {
  // Skip: a step ended with exit code 0 without having run.
  enum class Type : std::uint8_t { Run, Terminate, Kill, Skip };
  Type type = Type::Run;
  std::size_t container = 0;
};

// The state of one pod's containers. Not thread-safe.
class PodMachine {
 public:
  // `spec` as in sandbox_spec.hpp.
  explicit PodMachine(Value spec);

  [[nodiscard]] const Value& spec() const { return spec_; }
  [[nodiscard]] std::size_t size() const { return containers_.size(); }
  [[nodiscard]] const Value& container(std::size_t index) const { return containers_[index].spec; }
  [[nodiscard]] bool running(std::size_t index) const {
    return containers_[index].state == State::Running;
  }
  // True once no container runs and none will.
  [[nodiscard]] bool over() const;

  // A container that joins a running pod (spec.ephemeralContainers): it starts at once, never
  // again, and does not keep the pod alive. Nothing happens when one of that name is there.
  void add_ephemeral(const Value& container);
  // Starts what can start and ends what is overdue; call after construction, after every event and
  // at next_due().
  void advance(Instant now, std::vector<Order>& orders);
  // The container that an order runs cannot be made now: it waits, and is tried again after a
  // back-off.
  void not_made(std::size_t index, std::string message, Instant now);
  // A container's process has ended; `message` is what it leaves for the pod's status (results).
  void exited(std::size_t index, int code, std::string message, Instant now);
  void stop(Duration grace, Instant now);
  // Nothing of it can run: every container ends with exit code 128 and this message.
  void fail(const std::string& message, Instant now);
  [[nodiscard]] std::optional<Instant> next_due() const;
  // As PodRuntime::state().
  [[nodiscard]] Value state() const;

 private:
  enum class State : std::uint8_t { Waiting, Running, Ended };
  struct Container {
    Value spec{};
    bool init = false;
    bool ephemeral = false;
    State state = State::Waiting;
    int code = 0;
    std::int64_t restarts = 0;
    std::int64_t not_made = 0;  // attempts since it ran last
    std::string reason{};
    std::string message{};
    std::optional<Instant> started{};
    std::optional<Instant> finished{};
    std::optional<Instant> restart_at{};
    std::optional<Instant> timeout_at{};
    bool timed_out = false;
    bool terminated_asked = false;
    bool kill_asked = false;
    Value last{};
  };

  void start(std::size_t index, Instant now, std::vector<Order>& orders);
  // Returns true if none of the pod's containers runs or will.
  [[nodiscard]] bool main_over() const;
  void skip_from(std::size_t index, Instant now);
  // Ends a step whose guards do not hold; false when they do.
  bool skip_guarded(std::size_t index, Instant now, std::vector<Order>& orders);
  // Every step has ended: what runs beside them has to, too.
  [[nodiscard]] bool steps_over() const;
  void end_sidecar(std::size_t index, Instant now, std::vector<Order>& orders);
  [[nodiscard]] static bool is_beside(const Container& container);
  void start_ready(Instant now, std::vector<Order>& orders);
  void enforce_ends(Instant now, std::vector<Order>& orders);
  [[nodiscard]] bool restarts_after(const Container& container) const;
  [[nodiscard]] bool failed(const Container& container) const;
  [[nodiscard]] static Value describe(const Container& container);
  [[nodiscard]] static Value outcome(const Container& container);

  Value spec_;
  std::vector<Container> containers_{};
  bool sequential_ = false;
  bool stopping_ = false;
  std::optional<Instant> kill_at_{};
  std::optional<Instant> sidecars_kill_at_{};
};

}  // namespace athanor::nodes
