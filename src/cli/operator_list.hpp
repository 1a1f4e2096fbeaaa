// SPDX-License-Identifier: Apache-2.0
// The operators of the production world, by system: what `athanor controllers` runs and `athanor
// rbac` grants for. A system registers by one line in the table of operator_list.cpp.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "runtime/view/admission.hpp"
#include "runtime/view/operator.hpp"

namespace athanor::cli {

struct System {
  std::string name{};
  bool by_default = false;  // part of "*"
  std::vector<const Operator*> operators{};
  std::vector<Webhook> webhooks{};
};
// The systems first, then Athanor's own stand-ins for what a cluster usually brings (kueue, tekton,
// nodes).
std::vector<System> systems();

// "*": all systems; a system, an operator, or "-" and one of these to leave it out. Each operator
// once, in the order of systems(). Errors name what is unknown, and all there is.
Result<std::vector<const Operator*>> select_operators(const std::string& list);

// The webhooks of those systems that the list has a controller of.
Result<std::vector<Webhook>> select_webhooks(const std::string& list);
// The objects that register them: `own`, and those that webhooks name.
std::vector<std::string> webhook_configurations(const std::vector<Webhook>& webhooks,
                                                const std::string& own);

// The words of a list separated by commas.
std::vector<std::string> comma_words(const std::string& list);

}  // namespace athanor::cli
