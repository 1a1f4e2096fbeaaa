// SPDX-License-Identifier: Apache-2.0
// User, groups and capabilities of a container's process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kube/value/value.hpp"

namespace athanor::nodes {

// Leaves of the capabilities those that containers have, with `security` of sandbox_security.hpp;
// for root.
void limit_capabilities(const Value& security);
// Becomes the user with the groups that `security` names, where the process may. Returns false if
// it could not.
bool become_user(const Value& security);
// Returns the home folder of a user by the text of /etc/passwd; "/": it names none.
std::string home_of(std::string_view passwd, std::int64_t user);

}  // namespace athanor::nodes
