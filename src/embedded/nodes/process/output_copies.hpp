// SPDX-License-Identifier: Apache-2.0
// Copies of a step's output in files (Tekton's stdoutConfig and stderrConfig), beside its log.
#pragma once

#include <string>

namespace athanor::nodes {

// Where the copies of a step's output go.
struct OutputFiles {
  std::string output{};  // paths in the container's view; empty: no copy
  std::string error{};
};

// Forks: the child returns and goes on to become the container's command; this process copies what
// it writes, to the log and into the files, and ends as the child does. Returns what went wrong, or
// empty. To be called in the container's view.
std::string copy_output(const OutputFiles& files);

}  // namespace athanor::nodes
