// SPDX-License-Identifier: Apache-2.0
// The user that a request acts as, once authenticated.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Name, uid, groups and extra of the user; those it impersonates where it does.
struct UserInfo {
  std::string name{};
  std::string uid{};
  std::vector<std::string> groups{};
  std::map<std::string, std::vector<std::string>> extra{};

  [[nodiscard]] bool in_group(std::string_view group) const;
  // Returns {username, uid, groups, extra}, empty ones left out.
  [[nodiscard]] Value to_value() const;
};

}  // namespace athanor::apiserver
