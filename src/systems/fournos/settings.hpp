// SPDX-License-Identifier: Apache-2.0
// Settings of the FournosJob operator (docs/spec/fournos.md section 3): a pure reading of the
// environment.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "api/describe.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/value.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::fournos {

// What an evicted job does: waits again, fails, or goes on (docs/spec/fournos.md 8.4).
enum class EvictionPolicy : std::uint8_t { Requeue, Fail, Ignore };

// The form of a notification: the bare facts, or a CloudEvent around them.
enum class NotifyFormat : std::uint8_t { Json, CloudEvents };

// What view.config("fournos") holds. Durations keep their text where it goes into an object as it
// stands.
struct Settings {
  std::string workload_namespace{};
  std::string secrets_namespace = "psap-secrets";
  std::string dashboard_url{};
  std::string kubeconfig_secret_pattern{};  // empty: the dialect's own
  std::string vault_secret_pattern = "vault-{entry}";
  std::string local_queue = "fournos-queue";
  std::string gpu_prefix = "fournos/gpu-";
  std::string log_level = "INFO";
  double gc_interval_seconds = 300;
  double secret_grace_seconds = 300;
  std::int64_t resolve_deadline_seconds = 300;
  std::string resolve_template_path{};  // empty: the default file if it is there, else built in
  Value resolve_template{};             // what the caller read from there; Null: built in
  std::string artifact_size = "10Gi";
  std::string pipeline_timeout = "25h0m0s";
  std::string tasks_timeout = "24h0m0s";
  std::string finally_timeout = "1h0m0s";
  std::string api_name = "auto";
  std::string eviction_policy_name = "requeue";
  // How long a job stays in each phase at least; 0: phases pass as they come.
  double min_phase_seconds = 0;
  std::string results_claim{};  // PersistentVolumeClaim of result files; empty: none
  std::string notify_url{};     // webhook that the end of each job is posted to; empty: none
  std::string notify_format_name = "json";
  // Every live job is looked at again after this, whatever was missed (docs/spec/fournos.md R4.1).
  std::int64_t second_look_seconds = 600;

  [[nodiscard]] api::FournosApi api() const;
  [[nodiscard]] EvictionPolicy eviction_policy() const;
  [[nodiscard]] NotifyFormat notify_format() const;
  [[nodiscard]] Duration gc_interval() const;
  [[nodiscard]] Duration least_phase_time() const;
  // Returns how long copies of Secrets outlive the end of their job.
  [[nodiscard]] Duration secret_grace() const;
};

// Variables FOURNOS_*, names in any case. The error's message is the line to print before exit code
// 1 (R3.1-R3.3).
Result<Settings> parse_settings(const std::map<std::string, std::string>& environment);

}  // namespace athanor::fournos

ATHANOR_DESCRIBED(athanor::fournos::Settings);
