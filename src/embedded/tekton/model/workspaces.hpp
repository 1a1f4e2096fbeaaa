// SPDX-License-Identifier: Apache-2.0
// Workspaces: what a run binds, what a TaskRun gets, what a pod mounts (docs/spec/tekton.md 9).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// Returns the claims to be made for a run's volumeClaimTemplates, owned by the run.
std::vector<Value> claims_of(const Object& run);
// Returns those of these bindings.
std::vector<Value> claims_of(const Object& run, const Value& bindings);
// Returns the bindings of a TaskRun and, unless it is Null, `default_binding` for each workspace
// that `declarations` require and the TaskRun leaves unbound.
Value with_defaults(const Object& task_run, const Value& declarations,
                    const Value& default_binding);
// Returns the bindings with the run's claims in place of volumeClaimTemplates.
Value with_claims(const Object& run, Value bindings);

// Returns the bindings of one pipeline task's TaskRun. `task_spec` is the inline spec or Null; a
// workspace that it uses or declares is bound by name if unbound.
Value task_run_workspaces(const Object& run, const Value& pipeline_task, const Value& task_spec);

// Returns the names in $(workspaces.<name>.…) below a value, sorted.
std::vector<std::string> used_workspaces(const Value& tree);

// Checks a TaskRun's bindings against the declarations; the error's message is that of 9.
Result<void> check_bindings(const Value& declarations, const Value& bindings);

// How the steps of a pod mount one workspace.
struct WorkspaceMount {
  std::string workspace{};
  Value mount{};  // a volumeMount
};
// The volumes of a pod's workspaces and their mounts.
struct WorkspaceVolumes {
  Value volumes = Value::list();
  std::vector<WorkspaceMount> mounts{};
};
// Returns those of the bindings; two bindings of one claim share a volume.
WorkspaceVolumes workspace_volumes(const Value& declarations, const Value& bindings);
// Returns the path of a declared workspace: its mountPath or /workspace/<name>.
std::string workspace_path(const Value& declaration);

}  // namespace athanor::tekton
