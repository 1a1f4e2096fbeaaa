// SPDX-License-Identifier: Apache-2.0
// Whether a cluster's kubeconfig is of use (docs/spec/hearth.md section 6). Private to this folder.
#pragma once

#include <optional>
#include <string>

#include "kube/value/object.hpp"
#include "systems/hearth/cluster.hpp"

namespace athanor::hearth {

// Result of check_kubeconfig().
struct KubeconfigCheck {
  std::string state{};  // Valid, Missing, Invalid
  std::string cause{};  // the condition's message
  // What a probe would stumble over (6.2 rows 3 to 8); empty: nothing. With
  // HEARTH_KUBECONFIG_CHECK=exists the state is Valid nevertheless.
  std::string flaw{};
  bool insecure = false;           // TLS is not verified
  std::optional<Object> secret{};  // the Secret itself
  [[nodiscard]] bool usable() const { return state == "Valid"; }
};

// Checks the cluster's Secret and the kubeconfig in it, without a connection
// (docs/spec/hearth.md 6.2).
KubeconfigCheck check_kubeconfig(const Context& context);

}  // namespace athanor::hearth
