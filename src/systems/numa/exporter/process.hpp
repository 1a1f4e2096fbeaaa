// SPDX-License-Identifier: Apache-2.0
// The exporter's loop without its input and output (docs/spec/numa.md 9.1, 9.8 to 9.11): a round
// over ports. The caller calls run_due() and waits until due().
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "systems/numa/exporter/config.hpp"
#include "systems/numa/exporter/events.hpp"
#include "systems/numa/exporter/hardware.hpp"
#include "systems/numa/exporter/metrics.hpp"
#include "systems/numa/exporter/pod_conditions.hpp"
#include "systems/numa/exporter/podresources.hpp"
#include "systems/numa/exporter/round.hpp"
#include "systems/numa/exporter/writing.hpp"

namespace athanor::numa {

// Services for the process.
class ExporterPorts {
 public:
  virtual ~ExporterPorts() = default;
  [[nodiscard]] virtual Instant now() = 0;

  virtual Result<std::vector<PodResources>> list() = 0;
  // Returns the identity of the kubelet: another text after its restart; empty: not known.
  virtual std::string kubelet() = 0;
  virtual Result<AllocatableResources> allocatable() = 0;
  virtual Result<Hardware> hardware() = 0;

  // Reads from the API server; the next four functions write to it.
  virtual Result<Object> get(const Kind& kind, const Key& key) = 0;
  virtual Result<void> create_topology(const Value& body) = 0;
  virtual Result<void> update_topology(const Value& body) = 0;
  virtual Result<void> patch_topology(const std::string& name, const Value& patch) = 0;
  virtual Result<void> write_pod_conditions(const Key& pod, const Value& conditions) = 0;
  // Returns pods of the node in phase Succeeded or Failed.
  virtual Result<std::set<Key>> ended_pods(const std::string& node) = 0;

  // Writes the status file of fingerprints; logs failures to write.
  virtual void write_status(const std::string& node, const std::vector<Key>& pods,
                            const std::string& fingerprint) = 0;
  virtual void log(std::string_view line) = 0;
};

// Not thread-safe; the metrics server copies metrics().
class ExporterProcess {
 public:
  // Requires as `own_pod` the pod of the conditions; an empty name: none are written.
  ExporterProcess(ExporterConfig config, ExporterPorts& ports, Key own_pod);

  // Reads hardware and allocatable resources; an error: they cannot be read, and the process ends.
  Result<void> start();
  void notified() { events_.notified(); }
  // Runs the round that is due, if any. Returns true if it ran one.
  bool run_due();
  [[nodiscard]] std::optional<Instant> due() { return events_.due(ports_.now()); }

  [[nodiscard]] const ExporterMetrics& metrics() const { return metrics_; }
  // Returns true if the last round succeeded, or none has run yet.
  [[nodiscard]] bool healthy() const { return healthy_; }

 private:
  void run_round(Trigger trigger);
  void tell_round(Trigger trigger, const std::vector<PodResources>& pods, const RoundOutput& round);
  bool publish(const Value& content, Trigger trigger);
  Result<const char*> replace(const Value& content);
  // Returns the outcome of a round that cannot go on; nullopt: it can. The former amounts stay, and
  // the next round asks again.
  std::optional<RoundOutcome> refresh_node();
  void keep_unlisted(std::vector<PodResources>& pods);
  void report(const RoundOutcome& outcome);

  ExporterConfig config_;
  ExporterPorts& ports_;
  Key own_pod_;
  EventSource events_;
  WritePlanner planner_;
  ExporterMetrics metrics_;
  Hardware hardware_{};
  AllocatableResources allocatable_{};
  Value node_resources_{};  // capacity and allocatable when allocatable_ was read
  std::string owner_uid_{};
  std::optional<Instant> last_{};
  std::string kubelet_{};               // of the last round
  std::vector<PodResources> listed_{};  // in the last round
  Instant kept_until_{};                // what a kubelet that started does not list yet
  bool healthy_ = true;
};

}  // namespace athanor::numa
