// SPDX-License-Identifier: Apache-2.0
// Brings objects into a lab's API server at its start: CRDs, the controllers' RBAC, what the lab
// file declares.
#pragma once

#include <span>
#include <string>

#include "api/describe.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "embedded/apiserver/core/server.hpp"
#include "embedded/kinds/resource_info.hpp"
#include "runtime/view/operator.hpp"

namespace athanor::lab {

// Both must outlive it. Errors carry the server's Status.
class Installer {
 public:
  Installer(apiserver::Server& server, const Clock& clock) : server_(server), clock_(clock) {}

  // Creates or updates the definition of every kind.
  Result<void> install_kinds(std::span<const api::CustomKind* const> kinds);
  // A ClusterRole and its binding per operator, made of its declared reads and writes.
  Result<void> install_rbac(std::span<const Operator* const> operators);
  // Applies one object as manager athanor-lab. Fields that others changed since stay theirs:
  // that is logged, not an error. An object without a namespace whose kind has one goes to `ns`.
  Result<void> apply(Value object, const std::string& ns);

 private:
  Result<Value> send(std::string method, std::string path, std::string content_type, Value body);
  // The collection path of a kind; asks the server's discovery.
  Result<std::string> collection_of(const Value& object, std::string& ns,
                                    const std::string& fallback);

  apiserver::Server& server_;
  const Clock& clock_;
};

// The rules an operator needs, from its declarations.
Value operator_role(const Operator& op);

}  // namespace athanor::lab
