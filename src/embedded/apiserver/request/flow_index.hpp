// SPDX-License-Identifier: Apache-2.0
// Which FlowSchema a request falls under (docs/spec/apiserver.md 2.4, 18). The limits themselves
// are the transport's; clients learn from headers how the objects would class their requests.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "embedded/apiserver/request/authorize.hpp"
#include "embedded/store/store.hpp"

namespace athanor::apiserver {

// The uids of headers X-Kubernetes-PF-FlowSchema-UID and X-Kubernetes-PF-PriorityLevel-UID, and
// the names that metrics have.
struct FlowClass {
  std::string schema{};
  std::string level{};
  std::string schema_uid{};
  std::string level_uid{};
};

// Thread-safe; a change is seen by the next request.
class FlowIndex {
 public:
  explicit FlowIndex(store::Store& store);
  // Returns the first schema in the order of precedence that matches; nullopt: none, or its level
  // is not there.
  [[nodiscard]] std::optional<FlowClass> classify(const Attributes& attributes) const;

 private:
  struct Schema;
  using Schemas = std::vector<Schema>;
  [[nodiscard]] std::shared_ptr<const Schemas> schemas() const;

  store::Store& store_;
  mutable std::atomic<bool> stale_{true};
  mutable Mutex mutex_{};
  mutable std::shared_ptr<const Schemas> schemas_ ATHANOR_GUARDED_BY(mutex_){};
  std::shared_ptr<void> listener_{};  // last: ends before the rest goes
};

}  // namespace athanor::apiserver
