// SPDX-License-Identifier: Apache-2.0
// The configuration of the stock kube-scheduler that asks the extender (docs/spec/das.md 7.1).
#pragma once

#include <string>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor {

// Path below which the extender serves its verbs.
inline constexpr const char* kExtenderPath = "/scheduler";

// Values of the scheduler's configuration.
struct SchedulerConfigurationOptions {
  std::string url{};      // "https://das-extender.das-operator.svc:9443", without a path
  std::string ca_file{};  // on the scheduler's machine; empty: the certificate is not verified
  // Profiles of the scheduler that have no plug-ins of their own.
  std::vector<std::string> profiles{};
  // Extended resources whose pods are sent; empty: every pod is.
  std::vector<std::string> resources{};
  // Under which Lease the scheduler's replicas elect.
  std::string lease = "das-scheduler";
  std::string lease_namespace = "das-operator";
};
// Returns a KubeSchedulerConfiguration.
Value scheduler_configuration(const SchedulerConfigurationOptions& options);

}  // namespace athanor
