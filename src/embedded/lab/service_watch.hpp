// SPDX-License-Identifier: Apache-2.0
// ServiceWatch: the table of Services (nodes/network/service_table.hpp) as the store has it now.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "base/mutex.hpp"
#include "embedded/nodes/network/service_table.hpp"
#include "embedded/store/store.hpp"

namespace athanor::lab {

// Thread-safe. The store outlives it.
class ServiceWatch {
 public:
  explicit ServiceWatch(const store::Store& store) : store_(store) {}

  // Calls `changed`, which must be quick, after each commit that may change the table. Requires
  // that nothing writes to the store yet: pods are read before the calls begin.
  void listen(store::Store& store, std::function<void()> changed);
  // Ends the calls of `changed`.
  void stop() { listening_.reset(); }
  // Returns the table of the newest commit; made anew where that changed it.
  nodes::ServiceTablePtr table();

 private:
  // Returns true if an event may change the table; remembers pods with host ports.
  bool take(const store::Event& event);

  const store::Store& store_;
  Mutex mutex_{};
  std::map<Key, Value> pods_ ATHANOR_GUARDED_BY(mutex_){};  // with host ports
  bool stale_ ATHANOR_GUARDED_BY(mutex_) = true;
  nodes::ServiceTablePtr table_ ATHANOR_GUARDED_BY(mutex_){};
  std::shared_ptr<void> listening_{};
};

}  // namespace athanor::lab
