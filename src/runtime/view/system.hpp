// SPDX-License-Identifier: Apache-2.0
// System: everything the rest of the program needs to know about one system, in one place. The
// lab, the production controllers, the command line, the generators of CRDs, roles and webhook
// configurations, and the tests read the list of systems (product/list.hpp) and nothing else.
//
// A system is a folder with its kinds, pure controllers and one function that returns its
// descriptor. Every member but the name is optional.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/describe.hpp"
#include "base/result.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/admission.hpp"
#include "runtime/view/instruments.hpp"
#include "runtime/view/node_hooks.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/places.hpp"
#include "runtime/view/process.hpp"
#include "runtime/view/scheduling.hpp"
#include "runtime/view/served_group.hpp"
#include "runtime/view/verb.hpp"

namespace athanor {

// The systems' settings by section, as View::config answers. A system's section has its name.
using SystemConfig = std::map<std::string, Value, std::less<>>;

// Where settings come from.
struct SettingsSource {
  // Environment variables; in a lab its file's `settings` lie below them.
  std::map<std::string, std::string> variables{};
  // Sections of the systems before this one in the list.
  SystemConfig config{};
  // Namespace of jobs where no variable names one; empty: a variable must.
  std::string jobs_namespace{};
  // Names of the systems with controllers in this process; empty: all.
  std::vector<std::string_view> systems{};
  // True in `athanor up`: what a system needs of hardware is emulated.
  bool in_lab = false;
  // Configuration that was read from the cluster, by system; wins over files.
  SystemConfig documents{};
  // Reads a file that a setting names.
  std::function<Result<std::string>(const std::string& path)> read_file{};
  // Takes warnings of settings without effect; empty: none are wanted.
  std::function<void(const std::string& warning)> warn{};
};

// A target cluster of a lab, as its onboarding needs it.
struct TargetCluster {
  std::string name{};
  std::string kubeconfig{};  // the text
  std::string owner{};       // empty: none
  std::string ttl{};         // empty: none
};

// A lab as a system sees it when it gives its objects.
struct LabFacts {
  const SystemConfig& config;
  // A node of the lab file has a member that the system brings.
  bool equipped = false;
};

// A member of a lab file's nodes that a system brings, and what it makes of it.
struct LabNodeExtra {
  std::map<std::string, std::string> labels{};
  std::map<std::string, std::string> annotations{};
};
struct LabNodeMember {
  std::string_view name{};  // "gpus"
  // Reads the member with the system's `settings`. Errors describe the fault below the member.
  Result<LabNodeExtra> (*read)(const Value& written, const Value& settings) = nullptr;
  // Returns the member of all nodes for a lab file that writes it at none; Null: none. nullptr:
  // always none.
  Value (*usual)(const Value& settings) = nullptr;
};

// A question about the outside world that a driver answers for the system ("cluster": a target
// cluster, see client/target_probe.hpp).
struct ProbeUse {
  std::string_view name{};
  // Questions asked at once, from the system's settings.
  std::size_t (*concurrency)(const Value& settings) = nullptr;
};

// The one descriptor of a system (docs/architecture.md). Every member but the name is optional.
struct System {
  std::string_view name{};     // "fournos"; also its section of the settings
  std::string_view summary{};  // one line for help texts
  // Replaces what a cluster brings itself (Kueue, Tekton, nodes).
  bool stand_in = false;
  // Runs in production without being named. Every system runs in every lab.
  bool by_default = false;

  // Returns its custom kinds; `settings` is Null for the default ones.
  std::vector<const api::CustomKind*> (*kinds)(const Value& settings) = nullptr;
  // Converts an object of one of its kinds to another served version ("kueue.x-k8s.io/v1beta1").
  // nullptr: served versions differ in their apiVersion alone.
  Result<Value> (*convert)(const Value& object, std::string_view to_version) = nullptr;
  std::vector<const Operator*> operators{};
  // Returns true if this one of them has anything to do; nullptr: all always have.
  bool (*runs)(const Operator& op, const Value& settings) = nullptr;
  // Roles and ClusterRoles that its operators create: the API server refuses a role from a user who
  // lacks one of its rights. nullptr: none.
  std::vector<Value> (*granted_roles)() = nullptr;
  // Custom kinds that its operators read and that a cluster may lack: the process is ready without.
  std::vector<const Kind*> optional_kinds{};
  // Answers of a lab besides objects; nullptr: none.
  const ServedGroup* served_group = nullptr;
  // Defaulting first, then validation; one list for the lab and for production.
  std::vector<Webhook> webhooks{};
  const Instruments* instruments = nullptr;

  // Reads its settings. Errors name the variable and the bound. nullptr: it has none.
  Result<Value> (*settings)(const SettingsSource& source) = nullptr;
  // Names of the variables that settings() reads.
  std::vector<std::string_view> variables{};
  // The variable with its log level; empty: none.
  std::string_view log_level_variable{};
  // The variable with the address of metrics where this system runs and no flag names one.
  std::string_view metrics_address_variable{};
  // Upstream's own executable, whose place `athanor controllers --systems=NAME` takes; nullptr:
  // none.
  const Process* process = nullptr;
  // Returns the places of its objects, kind by kind; nullptr: wherever the process works.
  Places (*places)(const SystemConfig& config) = nullptr;
  // The Lease of a process that runs this system alone, and its namespace; an empty name: the
  // process's own.
  std::string_view lease_name{};
  std::string (*lease_namespace)(const Value& settings) = nullptr;

  std::vector<ProbeUse> probes{};
  // Hooks of the scheduler and of the emulated nodes.
  std::vector<const SchedulingHooks*> scheduling{};
  std::vector<const NodeHooks*> node_hooks{};
  std::vector<LabNodeMember> lab_node_members{};
  std::vector<Verb> verbs{};

  // Returns namespaces made at a lab's start. The next ones: objects applied at its start, in every
  // lab and in the built-in one alone (`home` is its namespace of jobs); the namespace of the
  // ConfigMaps that describe emulated target clusters; the objects that make one known.
  std::vector<std::string> (*lab_namespaces)(const SystemConfig& config) = nullptr;
  std::vector<Value> (*lab_objects)(const LabFacts& lab) = nullptr;
  std::vector<Value> (*sample_objects)(std::string_view home) = nullptr;
  std::string (*targets_namespace)(const SystemConfig& config) = nullptr;
  std::vector<Value> (*onboard_target)(const TargetCluster& target,
                                       const SystemConfig& config) = nullptr;
};

using Systems = std::span<const System* const>;

// Reads the settings of all systems, in order.
Result<SystemConfig> read_settings(Systems systems, SettingsSource source);
// Returns their custom kinds in the dialects of the settings; an empty config: by default.
std::vector<const api::CustomKind*> kinds_of(Systems systems, const SystemConfig& config = {});
// Returns the system with a custom kind of this group and name; nullptr: none.
const System* system_of_kind(Systems systems, std::string_view group, std::string_view kind);
// Leaves out the operators that have nothing to do with these settings.
std::vector<const Operator*> those_that_run(Systems systems, std::vector<const Operator*> operators,
                                            const SystemConfig& config);
// Returns, at this place, every kind that these operators touch and that has namespaces.
Places places_of_all(std::span<const Operator* const> operators, const Place& place);

}  // namespace athanor
