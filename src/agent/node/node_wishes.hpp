// SPDX-License-Identifier: Apache-2.0
// NodeWishes: what a node's annotations want of its GPUs, kept up to date by the driver that
// watches the node.
#pragma once

#include <span>
#include <string>

#include "base/mutex.hpp"
#include "runtime/engine/engine_host.hpp"

namespace athanor::agent {

// The driver's journal. text() may be called from any thread.
class NodeWishes final : public runtime::EngineJournal {
 public:
  explicit NodeWishes(std::string node) : node_(std::move(node)) {}

  // Returns the annotations as one text, which differs whenever they do; empty: the node was not
  // seen yet.
  [[nodiscard]] std::string text() const;

  void input(const runtime::Engine& engine, const runtime::Input& input, Instant now) override;
  void ran(std::span<const runtime::Effect> /*effects*/, Instant /*now*/) override {}

 private:
  void take(const Object& node);

  const std::string node_;
  mutable Mutex mutex_{};
  std::string text_ ATHANOR_GUARDED_BY(mutex_){};
};

}  // namespace athanor::agent
