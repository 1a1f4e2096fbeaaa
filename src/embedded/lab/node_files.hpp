// SPDX-License-Identifier: Apache-2.0
// The file systems of emulated nodes: a folder for each below the lab's data, written by what
// systems do on nodes (runtime/view/node_hooks.hpp).
#pragma once

#include <string>

#include "embedded/lab/background_queue.hpp"
#include "runtime/engine/executors.hpp"

namespace athanor::lab {

// Carries out kWriteNodeFile and kRemoveNodeFile below `folder`/<node>, on the background thread.
// Files appear as a whole (written beside, then renamed), mode 0644; missing folders are made.
void add_node_files(runtime::Executors& executors, BackgroundQueue& background, std::string folder);

}  // namespace athanor::lab
