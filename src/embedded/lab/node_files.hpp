// SPDX-License-Identifier: Apache-2.0
// The file systems of emulated nodes: a folder for each below the lab's data, written by what
// systems do on nodes (runtime/view/node_hooks.hpp).
#pragma once

#include <string>

#include "base/result.hpp"
#include "embedded/lab/background_queue.hpp"
#include "runtime/engine/executors.hpp"

namespace athanor::lab {

// Writes one file of a node below `folder`. Errors: no path of a node, or it cannot be written.
Result<void> write_node_file(const std::string& folder, const std::string& node,
                             const std::string& path, const std::string& content);

// Carries out kWriteNodeFile and kRemoveNodeFile below `folder`/<node>, on the background thread.
// Files appear as a whole (written beside, then renamed), mode 0644; missing folders are made.
void add_node_files(runtime::Executors& executors, BackgroundQueue& background, std::string folder);

}  // namespace athanor::lab
