// SPDX-License-Identifier: Apache-2.0
// Brings objects into a lab's API server: CRDs, the controllers' RBAC, what the lab file declares.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

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

  // An object that the server has.
  struct Applied {
    Value object{};                  // as it is now
    std::string conflict{};          // why fields that others changed stay theirs; empty: none do
    std::optional<Error> refusal{};  // why it stays as it was before
  };
  // Applies one object as manager athanor-lab. An object without a namespace whose kind has one
  // goes to `ns`. Errors: the server does not have the object and refuses it.
  Result<Applied> apply(Value object, const std::string& ns);

 private:
  Result<Value> send(std::string method, std::string path, std::string content_type, Value body);
  // Returns the collection path of a kind; asks the server's discovery.
  Result<std::string> collection_of(const Value& object, std::string& ns,
                                    const std::string& fallback);

  apiserver::Server& server_;
  const Clock& clock_;
};

// Returns a ClusterRole and its binding for each operator, made of its declared reads and writes.
std::vector<Value> rbac_objects(std::span<const Operator* const> operators);
// Returns the rules that an operator needs, from its declarations.
Value operator_role(const Operator& op);

}  // namespace athanor::lab
