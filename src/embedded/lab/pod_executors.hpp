// SPDX-License-Identifier: Apache-2.0
// What the emulated kubelet asks of its runtime, as executors.
#pragma once

#include <memory>

#include "base/clock.hpp"
#include "embedded/lab/background_queue.hpp"
#include "embedded/nodes/pod_runtime.hpp"
#include "runtime/engine/executors.hpp"

namespace athanor::lab {

// Adds executors of the pod verbs and queries. They call the runtime on `background`'s thread, as
// it touches files and processes.
void add_pod_executors(runtime::Executors& executors, nodes::PodRuntime& runtime,
                       BackgroundQueue& background);

// A `timed` runtime with its executors: for emulated nodes where no lab is.
class PodExecutors {
 public:
  PodExecutors(const Clock& clock, runtime::Executors& executors);
  // Listens as PodRuntime::listen(); ends with this.
  void listen(nodes::PodRuntime::Listener listener) { runtime_->listen(std::move(listener)); }

 private:
  std::unique_ptr<nodes::PodRuntime> runtime_;
  std::unique_ptr<BackgroundQueue> background_;
};
// Makes such a runtime and adds its executors. The clock must outlive it.
std::unique_ptr<PodExecutors> timed_pods(const Clock& clock, runtime::Executors& executors);

}  // namespace athanor::lab
