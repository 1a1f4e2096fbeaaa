// SPDX-License-Identifier: Apache-2.0
// EngineTracer: observes the engine: one trace a reconcile, a span a write.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "runtime/engine/model/task.hpp"
#include "runtime/engine/model/write_request.hpp"

namespace athanor::runtime {

struct WriteResult;

// Called on the engine's thread; must not block. Nothing the engine does depends on it.
class EngineTracer {
 public:
  virtual ~EngineTracer() = default;
  // Begins a reconcile, which was ready for `queued` before.
  virtual void began(TaskId task, std::string_view controller, const Key& key, Cause cause,
                     Duration queued) = 0;
  // Reports a write that leaves. No key waits for an Event's answer; it may come after ended().
  virtual void sent(TaskId task, std::uint64_t write, const WriteRequest& request) = 0;
  virtual void answered(const WriteResult& result) = 0;
  // Ends the plan; `result` as in controller_runtime_reconcile_total; `error` empty: none.
  virtual void ended(TaskId task, std::string_view result, std::string_view error) = 0;
  // Returns the id of the reconcile under way: 32 hexadecimal digits; empty: none.
  [[nodiscard]] virtual std::string trace_id(TaskId task) const = 0;
};

}  // namespace athanor::runtime
