// SPDX-License-Identifier: Apache-2.0
// Target: which API server a verb calls, and as whom.
#pragma once

#include <string>
#include <vector>

namespace athanor::cli {

// Where to find the API server; the same rules and names as kubectl's.
struct Target {
  std::string kubeconfig{};
  std::string context{};
  std::string ns{};
  std::string server{};  // instead of the kubeconfig's
  std::string token{};   // instead of its credentials
  std::string authority{};
  bool insecure = false;
  std::string as{};
  std::vector<std::string> as_groups{};
  int verbosity = 0;
};

}  // namespace athanor::cli
