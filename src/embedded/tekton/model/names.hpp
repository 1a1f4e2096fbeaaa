// SPDX-License-Identifier: Apache-2.0
// Names of what a run makes (docs/spec/tekton.md 7.4, 9): stable over restarts, never longer than
// 63.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace athanor::tekton {

// Returns child(parent, suffix) of 7.4.
std::string child_name(std::string_view parent, std::string_view suffix);
// Returns the name of the TaskRun of a pipeline task.
std::string task_run_name(std::string_view run, std::string_view task);
// Returns the name of the TaskRun of one combination of a matrix task; `ordinal` is "-<i>".
std::string matrix_task_run_name(std::string_view run, std::string_view task,
                                 std::string_view ordinal);
// Returns the name of the pod of a TaskRun's attempt; attempt 0 is the first.
std::string pod_name(std::string_view task_run, std::size_t attempt);
// Returns the claim's name for a volumeClaimTemplate; `base` is the template's metadata.name.
std::string claim_name(std::string_view base, std::string_view workspace,
                       std::string_view owner_uid);
// Returns the name of the pod volume of a workspace: "ws-" and five hex digits.
std::string workspace_volume_name(std::string_view workspace);
// Returns the value of label tekton.dev/pipeline for an inline pipelineSpec (7.1).
std::string inline_pipeline_name(std::string_view generate_name, std::string_view run);

}  // namespace athanor::tekton
