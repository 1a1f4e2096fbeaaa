// SPDX-License-Identifier: Apache-2.0
// The agents of simulated GPU nodes. What an agent decides is the product's own (Allocate, ledger,
// start-up, publication); GPUs, files and the kubelet's notes are in memory. Between any two of its
// steps an agent may die (Fault::AgentCrash): its memory goes, what is on the node stays.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/world.hpp"
#include "systems/das/model/claim.hpp"

namespace athanor::sim {

struct SliceNode;

// Deliberate mistakes of an agent: each breaks one rule (tests/sim/accelerators_test.cpp).
enum class Mistake : std::uint8_t {
  None,
  NoRecord,         // records a slice after it is made, not before
  DestroysAll,      // destroys every slice at its start
  FalseReboot,      // takes every start for one after a reboot that cost all slices
  FailsPods,        // fails the pods of its node at its start
  Overstates,       // offers one device too many
  SkipsComparison,  // destroys a slice without asking the kubelet who has it
  TrustsNames,      // takes a slice without its compute instance for one that is gone
};

// Made anew for every world; shared by what a scene calls.
class SliceAgents : public std::enable_shared_from_this<SliceAgents> {
 public:
  // Queries of the controllers on a node: "node.gpus:NODE", "plugin.devices:NODE",
  // "agent.tidy:NODE", and "agent.allocate:NAMESPACE/NAME/UID" for a pod.
  static constexpr const char* kDevices = "plugin.devices";
  static constexpr const char* kTidy = "agent.tidy";
  static constexpr const char* kAllocate = "agent.allocate";

  // Puts agents of these nodes, each with one GPU, and their rules into a scene with TimedPods.
  static std::shared_ptr<SliceAgents> install(Scene& scene, const std::vector<std::string>& nodes,
                                              Mistake mistake);
  explicit SliceAgents(Mistake mistake);
  SliceAgents(const SliceAgents&) = delete;
  SliceAgents& operator=(const SliceAgents&) = delete;
  ~SliceAgents();

  // The GPU of a node fails, or works again; its agent sees it at once.
  void set_health(World& world, const std::string& node, bool healthy);
  // Starts the rules that hold after the last fault.
  void end_faults(Instant now) { faults_ended_ = now; }

 private:
  class Agent;

  [[nodiscard]] Agent& of(std::string_view node) const;
  void add_rules(Scene& scene);  // slice_agents_rules.cpp
  Result<Value> allocate(World& world, std::string_view pod);
  Result<Value> release(World& world, const std::string& id, const das::Claim& claim);
  void start_pod(World& world, const std::string& uid);
  void reboot(World& world, std::uint64_t pick);
  std::optional<std::string> unclaimed_slice(const World& world);
  std::optional<std::string> lost_slice(const World& world) const;
  std::optional<std::string> ended_pod(std::span<const store::EventPtr> news);
  std::optional<std::string> misnamed(const World& world) const;
  std::optional<std::string> wrong_capacity(const World& world) const;

  Mistake mistake_;
  std::map<std::string, std::shared_ptr<SliceNode>, std::less<>> nodes_{};
  std::map<std::string, std::shared_ptr<Agent>, std::less<>> agents_{};
  std::optional<Instant> faults_ended_{};
  std::optional<std::string> flaw_{};      // what an agent did to a running pod
  std::map<std::string, bool> running_{};  // pods that ran, by uid
  bool deaths_ = false;                    // of pods or nodes, by the scene
};

}  // namespace athanor::sim
