// SPDX-License-Identifier: Apache-2.0
// Settings of the FournosCluster operators (docs/spec/hearth.md section 3): a pure reading of the
// environment.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "api/describe.hpp"
#include "base/result.hpp"
#include "base/time.hpp"

namespace athanor::hearth {

// What view.config("hearth") holds.
struct Settings {
  std::string ns = "hearth";
  std::string secrets_namespace = "psap-secrets";
  std::string execution_namespace = "psap-automation";
  double reconcile_interval_seconds = 30;
  double discovery_interval_seconds = 300;
  std::int64_t discovery_timeout_seconds = 10;
  std::string log_level = "INFO";
  std::string secret_pattern = "kubeconfig-{cluster}";
  std::string cluster_queue = "fournos-queue";
  std::string gpu_prefix = "fournos/gpu-";
  std::string lock_prefix = "cluster-lock-";
  std::string kubeconfig_check = "content";  // content, exists
  std::string offboarding = "auto";          // auto, manual
  std::int64_t discovery_concurrency = 8;
  std::string node_filter = "all";                 // all, ready
  std::map<std::string, std::string> model_map{};  // raw label to short name
  bool allow_exec_credentials = false;
  bool allow_plain_http = false;
  std::string metrics_address = ":8080";

  [[nodiscard]] Duration context() const;
  [[nodiscard]] Duration discovery_interval() const;
  [[nodiscard]] bool checks_content() const { return kubeconfig_check == "content"; }
  [[nodiscard]] bool offboards() const { return offboarding == "auto"; }
};

// Variables HEARTH_*, names in any case. The error's message names the variable and the bound: it
// is printed before a non-zero exit. An unknown log level is INFO.
Result<Settings> parse_settings(const std::map<std::string, std::string>& environment);

}  // namespace athanor::hearth

ATHANOR_DESCRIBED(athanor::hearth::Settings);
