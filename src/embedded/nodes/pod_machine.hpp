// SPDX-License-Identifier: Apache-2.0
// PodMachine: the life of one pod's containers on a node: order, probes, hooks, restarts, timeouts,
// stopping. Events in, orders out; no process, clock or file is touched here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "embedded/nodes/container_probes.hpp"
#include "kube/value/value.hpp"

namespace athanor::nodes {

enum class HookKind : std::uint8_t { PostStart, PreStop };
// Returns "postStart" or "preStop": the member of a container in sandbox_spec.hpp.
std::string_view hook_member(HookKind kind);

// One action on the container at an index.
struct Order {
  // Skip: a step ended with exit code 0 without having run. Probe, Hook: do what the container's
  // spec says, and answer with probed() or hooked().
  enum class Type : std::uint8_t { Run, Terminate, Kill, Skip, Probe, Hook };
  Type type = Type::Run;
  std::size_t container = 0;
  ProbeKind probe{};
  HookKind hook{};
  std::int64_t run = 0;  // which run of the container a probe or a hook is about
};

// The answer to a probe.
struct ProbeAnswer {
  bool success = false;
  bool errored = false;  // it could not be asked
  bool warned = false;   // a success with a message
  std::string message{};
};

// The state of one pod's containers. Not thread-safe.
class PodMachine {
 public:
  // Takes `spec` as in sandbox_spec.hpp.
  explicit PodMachine(Value spec);

  [[nodiscard]] const Value& spec() const { return spec_; }
  [[nodiscard]] std::size_t size() const { return containers_.size(); }
  [[nodiscard]] const Value& container(std::size_t index) const { return containers_[index].spec; }
  [[nodiscard]] bool running(std::size_t index) const {
    return containers_[index].state == State::Running;
  }
  // Returns true once no container runs and none will.
  [[nodiscard]] bool over() const;

  // Adds a container that joins a running pod (spec.ephemeralContainers): it starts at once, never
  // again, and does not keep the pod alive. Does nothing when one of that name is there.
  void add_ephemeral(const Value& container);
  // Adds one that cannot run here: it ends at once with exit code 128, this message and an event.
  void refuse_ephemeral(const Value& container, const std::string& message, Instant now);
  // Starts what can start and ends what is overdue; call after construction, after every event and
  // at next_due().
  void advance(Instant now, std::vector<Order>& orders);
  // Records that the container of an order cannot be made now: it waits, and is tried again after a
  // back-off.
  void not_made(std::size_t index, std::string message, Instant now);
  // Notes that a container's process ended; `message` is what it leaves for the status (results).
  void exited(std::size_t index, int code, std::string message, Instant now);
  // Takes the answer to a probe; ignores one about an earlier run of the container.
  void probed(const Order& order, const ProbeAnswer& answer, Instant now);
  // Records that a hook has ended.
  void hooked(const Order& order, bool success, Instant now);
  // Ends its containers: hooks and polite signals, sidecars last, and after `grace` deadly signals.
  void stop(Duration grace, Instant now);
  // Ends every container with exit code 128 and this message: none of the pod can run.
  void fail(const std::string& message, Instant now);
  [[nodiscard]] std::optional<Instant> next_due() const;
  // Returns what PodRuntime::state() does.
  [[nodiscard]] Value state() const;
  // Sets the contents of its volumes, and their digest.
  void update_volumes(const Value& volumes, const Value& digest);
  // Sets resources and limits (sandbox_spec.hpp), and restarts the containers that `change` names
  // (pod_runtime.hpp), under any policy and without a back-off.
  void resize(const Value& change, Instant now);
  // Returns true if the container is about to restart for a resize.
  [[nodiscard]] bool restarts_for_resize(std::size_t index) const {
    return containers_[index].resized;
  }
  // Records that the pod used more of its node than it may; state() says so. Its kubelet ends it.
  void evict(const std::string& message);
  // Records that a container used more memory than it may: it is being killed.
  void out_of_memory(std::size_t index);
  // Adds a warning to its events.
  void warn(const char* reason, std::string text);
  // Events up to this number are written; state() has them no more.
  void events_written(std::int64_t last);

 private:
  enum class State : std::uint8_t { Waiting, Running, Ended };
  // How far the end of a running container is: its hook runs, it waits for its turn, it has got a
  // polite signal, a deadly one.
  enum class Ending : std::uint8_t { None, Hook, Turn, Asked, Killed };
  struct Container {
    Value spec{};
    bool init = false;
    bool ephemeral = false;
    State state = State::Waiting;
    int code = 0;
    std::int64_t run = 0;  // so many times it was started
    std::int64_t restarts = 0;
    std::int64_t backoffs = 0;  // restarts since it ran for long
    std::int64_t not_made = 0;  // attempts since it ran last
    std::string reason{};
    std::string message{};
    std::optional<Instant> started{};
    std::optional<Instant> finished{};
    std::optional<Instant> restart_at{};
    std::optional<Instant> timeout_at{};
    bool timed_out = false;
    bool resized = false;  // it ends to start with other resources
    bool out_of_memory = false;
    bool starting = false;  // its postStart hook runs
    Ending ending = Ending::None;
    bool hook_asked = false;
    bool waited = false;  // for its hook or its turn: a short time is left to it in any case
    std::optional<Instant> kill_at{};
    std::optional<Instant> sleeps_until{};  // as its hook
    ContainerProbes probes{};
    Value last{};
  };
  struct Event {
    std::int64_t number = 0;
    const char* type = "Normal";
    const char* reason = "";
    std::string note{};
    std::string container{};
  };

  // Starts a container; pod_machine.cpp has the functions of starting.
  void start(std::size_t index, Instant now, std::vector<Order>& orders);
  void begin_hook(std::size_t index, HookKind kind, Instant now, std::vector<Order>& orders);
  void skip_from(std::size_t index, Instant now);
  // Fills in what a step takes from earlier ones. Ends one whose guards do not hold, or whose texts
  // would become too large.
  void prepare_step(std::size_t index, Instant now, std::vector<Order>& orders);
  void start_beside(Instant now, std::vector<Order>& orders);
  // Starts the next init container; false while one of them holds the others back.
  bool start_inits(Instant now, std::vector<Order>& orders);
  void start_mains(Instant now, std::vector<Order>& orders);
  void start_ready(Instant now, std::vector<Order>& orders);
  void probe(Instant now, std::vector<Order>& orders);
  void make_probes(Container& container) const;

  // Returns true if none of the pod's containers runs or will, but sidecars. The functions of
  // ending are in pod_machine_ends.cpp.
  [[nodiscard]] bool main_over() const;
  // Returns true once every step has ended: what runs beside them has to end, too.
  [[nodiscard]] bool steps_over() const;
  [[nodiscard]] static bool is_beside(const Container& container);
  [[nodiscard]] static bool is_native(const Container& container);
  [[nodiscard]] Duration grace() const;
  void begin_end(std::size_t index, Duration grace, const std::string& note, Instant now);
  void go_on_ending(std::size_t index, Instant now, std::vector<Order>& orders);
  [[nodiscard]] bool its_turn(std::size_t index) const;
  void end_beside_steps(Instant now);
  void end_natives(Instant now);
  void enforce_ends(Instant now, std::vector<Order>& orders);
  void wait_for_restart(Container& container, Instant now);
  [[nodiscard]] bool restarts_after(const Container& container) const;
  [[nodiscard]] bool failed(const Container& container) const;
  void note(const Container& container, const char* type, const char* reason, std::string text);
  // Notes a failed command that was not run by its own image.
  void note_unknown_image(const Container& container, int code);

  [[nodiscard]] static Value describe(const Container& container);
  [[nodiscard]] static Value outcome(const Container& container);

  Value spec_;
  std::vector<Container> containers_{};
  bool sequential_ = false;
  bool stopping_ = false;
  bool initialized_ = false;  // every init container has ended well, every native sidecar started
  bool ending_beside_ = false;
  std::optional<Instant> stop_at_{};  // the end of the grace
  Duration stop_grace_{};
  std::vector<Event> events_{};  // not written yet, at most kMostEvents
  std::int64_t last_event_ = 0;
  std::int64_t volumes_version_ = 0;
  std::int64_t resources_version_ = 0;
  std::string evicted_{};  // why
};

}  // namespace athanor::nodes
