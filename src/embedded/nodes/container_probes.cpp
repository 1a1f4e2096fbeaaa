// SPDX-License-Identifier: Apache-2.0
// The rules of kubernetes/pkg/kubelet/prober/worker.go.
#include "embedded/nodes/container_probes.hpp"

#include <algorithm>

namespace athanor::nodes {
namespace {

constexpr std::int64_t kUsualPeriod = 10;
constexpr std::int64_t kUsualFailures = 3;

Duration seconds_of(const Value& value, std::int64_t usual) {
  return std::chrono::seconds(std::max<std::int64_t>(0, value.as_int(usual)));
}

}  // namespace

std::string_view probe_member(ProbeKind kind) {
  static constexpr std::string_view kMembers[] = {"startup", "liveness", "readiness"};
  return kMembers[static_cast<std::size_t>(kind)];
}

std::string_view probe_title(ProbeKind kind) {
  static constexpr std::string_view kTitles[] = {"Startup", "Liveness", "Readiness"};
  return kTitles[static_cast<std::size_t>(kind)];
}

ContainerProbes::ContainerProbes(const Value& probes, Mode mode) : mode_(mode) {
  for (const ProbeKind kind : kProbeKinds) {
    const Value& spec = probes[probe_member(kind)];
    probes_[static_cast<std::size_t>(kind)] = {
        .present = spec.is_object(),
        .delay = seconds_of(spec["initialDelaySeconds"], 0),
        .period = std::max<Duration>(std::chrono::seconds(1),
                                     seconds_of(spec["periodSeconds"], kUsualPeriod)),
        .successes = std::max<std::int64_t>(1, spec["successThreshold"].as_int(1)),
        .failures = std::max<std::int64_t>(1, spec["failureThreshold"].as_int(kUsualFailures))};
  }
}

void ContainerProbes::begin(Instant now) {
  running_ = true;
  since_ = now;
  for (Probe& probe : probes_) {
    probe.last.reset();
    probe.in_row = 0;
    probe.passes = false;
    probe.over = false;
    probe.in_flight = false;
    probe.due = now + probe.delay;
  }
}

void ContainerProbes::end() {
  running_ = false;
}

void ContainerProbes::stop() {
  for (const ProbeKind kind : {ProbeKind::Startup, ProbeKind::Liveness}) {
    probes_[static_cast<std::size_t>(kind)].over = true;
  }
}

// The startup probe comes first, and holds the others back.
bool ContainerProbes::runs(ProbeKind kind) const {
  const Probe& probe = of(kind);
  if (!running_ || !probe.present || probe.over) {
    return false;
  }
  return kind == ProbeKind::Startup ? !probe.passes : started();
}

std::vector<ProbeKind> ContainerProbes::take_due(Instant now) {
  std::vector<ProbeKind> due;
  for (const ProbeKind kind : kProbeKinds) {
    Probe& probe = probes_[static_cast<std::size_t>(kind)];
    if (runs(kind) && !probe.in_flight && probe.due <= now) {
      probe.in_flight = true;
      probe.due = std::max(probe.due + probe.period, now);
      due.push_back(kind);
    }
  }
  return due;
}

bool ContainerProbes::answered(ProbeKind kind, bool success, Instant now) {
  Probe& probe = probes_[static_cast<std::size_t>(kind)];
  if (!running_ || !probe.in_flight) {
    return false;
  }
  probe.in_flight = false;
  probe.due = std::max(probe.due, now);
  probe.in_row = probe.last == success ? probe.in_row + 1 : 1;
  probe.last = success;
  if (probe.in_row < (success ? probe.successes : probe.failures)) {
    return false;
  }
  probe.passes = success;
  if (success) {
    probe.over = probe.over || mode_ == Mode::UntilSuccess;
    if (kind == ProbeKind::Startup) {
      for (Probe& other : probes_) {
        other.due = std::max(now, since_ + other.delay);
      }
    }
    return false;
  }
  if (kind == ProbeKind::Readiness || probe.over) {
    return false;
  }
  probe.over = true;  // until the next run
  return true;
}

std::optional<Instant> ContainerProbes::next_due() const {
  std::optional<Instant> due;
  for (const ProbeKind kind : kProbeKinds) {
    const Probe& probe = of(kind);
    if (runs(kind) && !probe.in_flight && (!due || probe.due < *due)) {
      due = probe.due;
    }
  }
  return due;
}

bool ContainerProbes::started() const {
  const Probe& startup = of(ProbeKind::Startup);
  return running_ && (!startup.present || startup.passes);
}

bool ContainerProbes::ready() const {
  const Probe& readiness = of(ProbeKind::Readiness);
  return started() && (!readiness.present || readiness.passes);
}

}  // namespace athanor::nodes
