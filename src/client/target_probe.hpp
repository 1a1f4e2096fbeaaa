// SPDX-License-Identifier: Apache-2.0
// TargetProbe: asks target clusters what they are made of (docs/spec/hearth.md 6.4): the answers to
// the observations that hearth/probe.hpp describes. Clusters that do not answer delay no other
// (transfers.hpp).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"

namespace athanor::client {

// The error's reason when the hub did not hand out the Secret: it says nothing about the cluster.
inline constexpr std::string_view kSecretUnreadable = "SecretUnreadable";

// Collaborators and limits of a TargetProbe.
struct TargetProbeOptions {
  // The Secret's body; called on the probe's threads, may block. Required.
  std::function<Result<Value>(const Key& secret)> read_secret{};
  const Clock* clock = nullptr;                      // must outlive it; required
  std::size_t concurrency = 8;                       // clusters that are answering at the same time
  std::size_t answer_limit = std::size_t{64} << 20;  // bytes of one answer
};

// The probe's name: its queries begin with it and a colon.
inline constexpr std::string_view kTargetProbe = "cluster";

// Thread-safe. Destroying it ends what is under way; what waits is never answered.
class TargetProbe {
 public:
  using Done = std::function<void(Result<Value>)>;

  explicit TargetProbe(TargetProbeOptions options);
  TargetProbe(const TargetProbe&) = delete;
  TargetProbe& operator=(const TargetProbe&) = delete;
  ~TargetProbe();

  // Asks the `query` of an observation. Calls `done` once, on one of its threads; the error's
  // message is one line without anything of the kubeconfig.
  void ask(const std::string& query, Done done);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Groups of like nodes: what is left of a large cluster is small. value(): {"nodeCount", "nodes"}.
class NodeSummary {
 public:
  void add(const Value& node);
  [[nodiscard]] Value value() const;

 private:
  struct Groups;
  std::shared_ptr<Groups> groups_{};
};

}  // namespace athanor::client
