// SPDX-License-Identifier: Apache-2.0
// ContainerProbes: when a container's probes run, and what their answers mean, as a kubelet's
// workers decide it. No clock, no I/O.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/value.hpp"

namespace athanor::nodes {

// The probes of a container.
enum class ProbeKind : std::uint8_t { Startup, Liveness, Readiness };
inline constexpr ProbeKind kProbeKinds[] = {ProbeKind::Startup, ProbeKind::Liveness,
                                            ProbeKind::Readiness};
// Returns "startup", "liveness" or "readiness": the member of `probes` in sandbox_spec.hpp.
std::string_view probe_member(ProbeKind kind);
// Returns the name in events: "Startup", "Liveness" or "Readiness".
std::string_view probe_title(ProbeKind kind);

// The probes of one run of a container after the other. Not thread-safe.
class ContainerProbes {
 public:
  // How long a probe goes on that has found a container well.
  enum class Mode : std::uint8_t { Always, UntilSuccess };
  ContainerProbes() = default;
  ContainerProbes(const Value& probes, Mode mode);

  // Begins the probes: the container runs since `now`.
  void begin(Instant now);
  // Ends the probes: the container runs no more.
  void end();
  // Stops all probes but that of readiness: the container is being stopped.
  void stop();
  // Returns the probes that are due; each waits for its answer.
  std::vector<ProbeKind> take_due(Instant now);
  // Takes an answer; returns true if it ends the container (liveness, startup).
  bool answered(ProbeKind kind, bool success, Instant now);
  [[nodiscard]] std::optional<Instant> next_due() const;

  // Returns true once a running container has passed its startup probe, or has none.
  [[nodiscard]] bool started() const;
  // Returns true if it has started and passes its readiness probe, or has none.
  [[nodiscard]] bool ready() const;

 private:
  struct Probe {
    bool present = false;
    Duration delay{};
    Duration period{};
    std::int64_t successes = 1;  // thresholds
    std::int64_t failures = 3;
    // Of this run:
    std::optional<bool> last{};
    std::int64_t in_row = 0;
    bool passes = false;
    bool over = false;  // does not run any more
    bool in_flight = false;
    Instant due{};
  };

  [[nodiscard]] const Probe& of(ProbeKind kind) const {
    return probes_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] bool runs(ProbeKind kind) const;

  std::array<Probe, 3> probes_{};
  Mode mode_ = Mode::Always;
  bool running_ = false;
  Instant since_{};
};

}  // namespace athanor::nodes
