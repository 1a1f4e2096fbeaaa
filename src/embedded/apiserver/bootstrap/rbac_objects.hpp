// SPDX-License-Identifier: Apache-2.0
// The default roles and bindings, read from Appendix R (docs/spec/apiserver.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// An object to create, and the resource it is stored under.
struct BootstrapObject {
  std::string storage{};  // "roles.rbac.authorization.k8s.io"
  Value object{};
};

// Parses the table. Error Internal names the line that is not of the table's form.
Result<std::vector<BootstrapObject>> parse_rbac(std::string_view text);

}  // namespace athanor::apiserver
