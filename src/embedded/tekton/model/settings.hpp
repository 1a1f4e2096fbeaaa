// SPDX-License-Identifier: Apache-2.0
// Settings of the run engine: section "tekton" of the configuration, and ConfigMaps
// config-defaults, feature-flags and config-events of namespace tekton-pipelines on top of it
// (docs/spec/tekton.md head, 14).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor::tekton {

// The settings and their defaults.
struct Settings {
  // run.profile sets all of these; without it they are as here.
  // Differences from the reference that clients see, by section of docs/spec/tekton.md.
  bool finally_after_tasks_timeout = true;  // 8.5: a timeout of the tasks leaves finally its time
  bool task_timeout_follows_tasks = true;   // 8.6: a task gets no more than the tasks have left
  bool results_of_failed_tasks = true;      // 7.3: finally may read what a failed task left
  bool result_validation_details = true;    // 7.5: texts behind "Failed Validation: <n>"
  bool precise_failure_reasons = false;     // 10.4: StepFailed, StepOOM, PodEvicted …

  Duration default_timeout = std::chrono::minutes(60);
  std::string default_service_account = "default";
  std::string managed_by = "tekton-pipelines";
  Value default_pod_template{};
  Value default_binding{};  // of workspaces that a TaskRun leaves unbound; Null: none
  std::set<std::string, std::less<>> forbidden_env{};  // variables that no pod template sets
  Duration startup_grace = std::chrono::seconds(60);   // 17; 0: a pod may wait until the timeout
  std::int64_t max_result_size = 4096;                 // bytes
  std::string default_resolver{};                      // empty: a reference must name something
  std::int64_t max_combinations = 256;                 // of a matrix
  std::string api_fields = "beta";                     // enable-api-fields: beta or alpha
  bool param_enum = false;                             // enable-param-enum
  bool provenance_in_status = true;                    // enable-provenance-in-status
  bool cel_when = false;                               // enable-cel-in-whenexpression
  bool credentials = true;                             // disable-creds-init is not set
  std::string event_sink{};                            // URL of CloudEvents; empty: none are sent
  std::string no_inline_spec{};                        // disable-inline-spec: kinds, with commas
  bool artifacts = false;                              // enable-artifacts
  bool custom_run_events = false;                      // send-cloudevents-for-runs

  friend bool operator==(const Settings&, const Settings&) = default;
};

// Returns true if flag disable-inline-spec names the kind: "pipeline", "pipelinerun", "taskrun".
bool forbids_inline_spec(const Settings& settings, std::string_view kind);

// Reads the settings that hold now.
Settings read_settings(const View& view);
// Reads them from the section and the ConfigMaps' data alone.
Settings settings_of(const Value& section, const Value& config_defaults,
                     const Value& feature_flags = {}, const Value& config_events = {});

// Returns what status.provenance.featureFlags shows.
Value feature_flags(const Settings& settings);
// Adds `provenance` to the status that a run shall get, where the flag is set and the run does not
// show it yet. `source`: of its definition, or Null.
void add_provenance(const Value& shown, const Value& source, const Settings& settings,
                    Value& status);

}  // namespace athanor::tekton
