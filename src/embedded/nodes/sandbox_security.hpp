// SPDX-License-Identifier: Apache-2.0
// Who a container runs as, and what it may do: the security contexts of pod and container as one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/object.hpp"
#include "runtime/view/view.hpp"

namespace athanor::nodes {

// The user that runs the lab.
struct LabUser {
  std::int64_t id = -1;         // unknown: nothing runs
  bool several_groups = false;  // an ordinary user with subordinate ids
  bool cpu_limits = false;      // cgroups hold containers to them
};

// Returns the user in the configuration of the kubelet.
LabUser lab_user(const View& view);

struct SandboxSecurity {
  // {user, group, groups: [..], add: [..], drop: [..], noNewPrivileges}, each where the pod says
  // so
  Value value{};
  // Why a kubelet would not start it; empty: nothing.
  std::string refusal{};
};

// Returns what a container of the pod asks for. `image`: what is known of its image
// (find_image()), or Null.
SandboxSecurity sandbox_security(const Object& pod, const Value& container, const Value& image,
                                 const LabUser& user);

// Returns what the pod asks for and does not get, as messages of events.
std::vector<std::string> unmet_security(const Object& pod, const LabUser& user);

// Returns true if a container may have the capability ("NET_RAW", "CAP_NET_RAW").
bool is_granted_capability(std::string_view name);

}  // namespace athanor::nodes
