// SPDX-License-Identifier: Apache-2.0
// The choice among the systems and their operators: what `athanor controllers` runs and `athanor
// rbac` grants for. The list itself is product/list.hpp.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "runtime/rights/rbac.hpp"
#include "runtime/view/admission.hpp"
#include "runtime/view/instruments.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/places.hpp"
#include "runtime/view/system.hpp"

namespace athanor::cli {

// Selects by "*" (the systems by default), a system, an operator, or "-" and one of these to leave
// out. Returns each once, in all_systems() order. Errors name unknown ones and all there are.
Result<std::vector<const Operator*>> select_operators(const std::string& list);

// Returns the webhooks of the systems that the list has a controller of, without those that yield
// to a namesake among them.
Result<std::vector<Webhook>> select_webhooks(const std::string& list);
// Lists the configuration objects that register webhooks: `own`, and the ones that webhooks name.
std::vector<std::string> webhook_configurations(const std::vector<Webhook>& webhooks,
                                                const std::string& own);
// Returns the systems to which any of these operators belongs.
std::vector<const System*> systems_of(const std::vector<const Operator*>& operators);
// Returns the metrics of these systems.
std::vector<const Instruments*> instruments_of(const std::vector<const Operator*>& operators);

// Returns the roles that these systems create.
std::vector<Value> granted_roles_of(const std::vector<const Operator*>& operators);

// Reads the settings of all systems from environment variables; `jobs` is the namespace of jobs
// where no variable names one, `documents` what was read from the cluster, `operators` what runs
// here (empty: all). Errors name the variable.
Result<SystemConfig> read_config(const std::map<std::string, std::string>& variables,
                                 const std::string& jobs, const SystemConfig& documents = {},
                                 const std::vector<const Operator*>& operators = {});

// Groups these operators by system, each with its places.
std::vector<runtime::RbacPart> parts_of(const std::vector<const Operator*>& operators,
                                        const SystemConfig& config);
// Returns all places of the parts together.
Places places_of(const std::vector<runtime::RbacPart>& parts);

// Returns the namespaces that these operators of a system watch, each once, in order. Empty: they
// watch at least one kind in all namespaces.
std::vector<std::string> namespaces_of(const System& system,
                                       const std::vector<const Operator*>& operators,
                                       const SystemConfig& config);

// Requires that a system with webhooks watches what they decide on wherever they do: an object that
// they let in and that no controller sees stays without status. `namespaces` is --namespace,
// `places` as DriverOptions has them. Errors name the system, the kind and the flag.
Result<void> check_scope(const std::vector<const Operator*>& operators,
                         const std::vector<std::string>& namespaces, const Places& places);

// Returns the kinds that a cluster may lack while these operators run: each system that touches
// such a kind lists it in System::optional_kinds.
std::vector<const Kind*> optional_kinds_of(const std::vector<const Operator*>& operators);

// The Lease of a process with these operators: a system that runs alone may have its own.
struct LeasePlace {
  std::string name{};
  std::string ns{};  // empty: the process's own
};
// Returns a system's own Lease where all operators are of that system, else "athanor".
LeasePlace lease_of(const std::vector<const Operator*>& operators, const SystemConfig& config);

}  // namespace athanor::cli
