// SPDX-License-Identifier: Apache-2.0
// The operators of the production world, by system: what `athanor controllers` runs and `athanor
// rbac` grants for. A system registers by one line in the table of operator_list.cpp.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "runtime/rbac.hpp"
#include "runtime/view/admission.hpp"
#include "runtime/view/instruments.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/places.hpp"

namespace athanor::cli {

// The systems' settings by section, as View::config answers.
using SystemConfig = std::map<std::string, Value, std::less<>>;

struct System {
  std::string name{};
  bool by_default = false;  // part of "*"
  std::vector<const Operator*> operators{};
  std::vector<Webhook> webhooks{};
  const Instruments* instruments = nullptr;
  // Where its kinds are; nullptr: wherever it is told to work.
  Places (*places)(const SystemConfig& config) = nullptr;
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
// Of the systems that any of these operators belongs to.
std::vector<const Instruments*> instruments_of(const std::vector<const Operator*>& operators);

// The settings of all systems from environment variables; `jobs` is where jobs are when nothing
// says it. Errors name the variable.
Result<SystemConfig> read_config(const std::map<std::string, std::string>& variables,
                                 const std::string& jobs);

// These operators by system, each with its places.
std::vector<runtime::RbacPart> parts_of(const std::vector<const Operator*>& operators,
                                        const SystemConfig& config);
// All places of the parts together.
Places places_of(const std::vector<runtime::RbacPart>& parts);

// What the Lease of a process with these operators is called: Hearth alone has its own.
std::string lease_name_of(const std::vector<const Operator*>& operators);

}  // namespace athanor::cli
