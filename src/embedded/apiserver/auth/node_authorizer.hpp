// SPDX-License-Identifier: Apache-2.0
// What a kubelet may read: its own node, the pods bound to it, and what those pods refer to
// (docs/spec/apiserver.md 16.2). What it may write is narrowed further by NodeRestriction.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/mutex.hpp"
#include "embedded/apiserver/request/authorize.hpp"
#include "embedded/store/store.hpp"

namespace athanor::apiserver {

class RbacIndex;

// Thread-safe. Costs nothing until the first request of a node; from then on it keeps the keys of
// bound pods by node. A question about a Secret, ConfigMap, claim, volume or account then reads
// that node's pods of the namespace.
class NodeAuthorizer {
 public:
  NodeAuthorizer(store::Store& store, const RbacIndex& rbac);

  // Decides for a node; nullopt: the user is none. Where it does not allow, RBAC still may.
  [[nodiscard]] std::optional<Decision> authorize(const Attributes& attributes) const;

 private:
  using PodVisit = bool (*)(const store::Store& store, const Value& pod, std::string_view name);

  [[nodiscard]] Decision of_kind(const std::string& node, const Attributes& attributes) const;
  [[nodiscard]] Decision read_by_pods(const std::string& node, const Attributes& attributes,
                                      PodVisit refers) const;
  [[nodiscard]] Decision get_by_pods(const std::string& node, const Attributes& attributes) const;
  [[nodiscard]] Decision pods(const std::string& node, const Attributes& attributes) const;
  [[nodiscard]] Decision volume(const std::string& node, const Attributes& attributes) const;
  [[nodiscard]] Decision attachment(const std::string& node, const Attributes& attributes) const;
  [[nodiscard]] bool some_pod(const std::string& node, std::string_view ns, std::string_view name,
                              PodVisit refers) const;

  void watch_pods() const;
  void update(const store::Stored& pod, bool deleted) const;

  store::Store& store_;
  const RbacIndex& rbac_;
  mutable std::once_flag watched_{};
  mutable Mutex mutex_{};
  mutable std::map<Key, std::string> nodes_ ATHANOR_GUARDED_BY(mutex_){};  // of bound pods
  mutable std::map<std::string, std::set<Key>, std::less<>> pods_of_
      ATHANOR_GUARDED_BY(mutex_){};           // by node
  mutable std::shared_ptr<void> listener_{};  // last: ends before the rest goes
};

}  // namespace athanor::apiserver
