// SPDX-License-Identifier: Apache-2.0
// The roles and bindings of the store, ready to be asked. Kept by the store's events, so that the
// request after a change sees it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hpp"
#include "embedded/apiserver/auth/policy_rule.hpp"
#include "embedded/apiserver/request/authorize.hpp"
#include "embedded/store/store.hpp"

namespace athanor::apiserver {

// Thread-safe.
class RbacIndex {
 public:
  explicit RbacIndex(store::Store& store);

  [[nodiscard]] Decision authorize(const Attributes& attributes) const;
  // Returns every rule of the user's bindings at cluster scope and in `ns`.
  [[nodiscard]] std::vector<PolicyRule> rules_for(const UserInfo& user, std::string_view ns) const;
  // Returns true when ClusterRole `role` has a rule for it, for any user.
  [[nodiscard]] bool cluster_role_allows(std::string_view role, const Attributes& attributes) const;

 private:
  struct Subject {
    std::string kind{}, name{}, ns{};
  };
  struct Binding {
    bool cluster = false;  // a ClusterRoleBinding
    Key key{};
    std::string role_kind{}, role_name{};
    std::map<std::string, Subject, std::less<>> subjects{};  // by subject key: "User:bob"
  };
  // The bindings of one namespace, or of the cluster.
  struct Scope {
    std::map<std::string, Binding, std::less<>> bindings{};                  // by name
    std::map<std::string, std::set<std::string>, std::less<>> by_subject{};  // names of bindings
  };
  using Visit = std::function<bool(const Binding&, const Subject&, const std::vector<PolicyRule>*)>;

  void update(const store::Stored& object, bool deleted);
  void update_binding(const store::Stored& object, bool cluster, bool deleted);
  // Calls `visit` with every binding of the user (rules null: its role does not exist) until it
  // says true.
  void visit(const UserInfo& user, std::string_view ns, const Visit& visit) const
      ATHANOR_REQUIRES_SHARED(mutex_);
  void visit_scope(const UserInfo& user, const Scope& scope, const Visit& visit, bool& done) const
      ATHANOR_REQUIRES_SHARED(mutex_);
  static std::string describe(const Binding& binding, const Subject& subject);

  mutable SharedMutex mutex_{};
  std::map<Key, std::vector<PolicyRule>> roles_
      ATHANOR_GUARDED_BY(mutex_){};  // ClusterRoles without namespace
  std::map<std::string, Scope, std::less<>> scopes_ ATHANOR_GUARDED_BY(mutex_){};
  std::shared_ptr<void> listener_{};  // last: ends before the rest goes
};

}  // namespace athanor::apiserver
