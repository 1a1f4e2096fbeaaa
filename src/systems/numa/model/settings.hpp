// SPDX-License-Identifier: Apache-2.0
// Settings of the NUMA operators: section "numa" of the configuration (docs/spec/numa.md 5.1).
#pragma once

#include <map>
#include <string>

#include "api/describe.hpp"
#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::numa {

// Section "numa" of the configuration.
struct Settings {
  std::string ns = "numaresources";  // of the operands
  std::string platform{};            // empty: detected
  std::string platform_version{};    // likewise
  std::string exporter_image = "numaresources-operator:latest";
  bool exporter_image_restriction = true;
  bool scheduler_image_validation = true;
  std::vector<std::string> scheduler_image_digests{};
  // True: pods of the operands run nothing, the lab does their work (docs/spec/numa.md 16.6).
  bool emulated = false;
  bool emulate_openshift = false;
  // Emulated exporters publish at their periods, as processes do; false: when something changed.
  bool exporter_periods = false;
  // Plain Kubernetes is refused, as upstream does.
  bool strict_platform = false;
  // Conditions of MachineConfigPools are copied into the status.
  bool pool_conditions = false;
  // How long an emulated pool updates after a change, as a Go duration.
  std::string machine_config_delay = "2s";
  // Nodes of an emulated pool are drained before they change; false: all change at once.
  bool machine_config_drain = false;
};

// Reads NAMESPACE-like variables with the prefix NUMA_. Errors name the variable. `lab` changes
// defaults: operands are emulated, images need no digest. Skips malformed digests besides in a lab,
// where they are errors: operator_process() warns of them.
Result<Settings> parse_settings(const std::map<std::string, std::string>& variables, bool lab);
// Reads the section; absent members keep their defaults.
Settings settings_of(const Value& section);
// Returns the section that settings_of() reads.
Value to_value(const Settings& settings);

}  // namespace athanor::numa

ATHANOR_DESCRIBED(athanor::numa::Settings);
