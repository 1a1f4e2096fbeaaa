// SPDX-License-Identifier: Apache-2.0
// Runs a credential plugin: one child process, one ExecCredential on its standard output. For the
// .cpp files of client/.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "client/cluster_config.hpp"

namespace athanor::client {

// Credentials that a plugin issued; without `expires` they last as long as the process.
struct ExecCredential {
  std::string token{};
  std::string certificate{};  // PEM
  std::string key{};
  std::optional<Instant> expires{};
};

// Returns the text of KUBERNETES_EXEC_INFO; `authority` is the CA's PEM text.
std::string exec_info(const ExecPlugin& plugin, const ClusterConfig& config,
                      const std::string& authority, bool interactive);
// Parses the plugin's output by client-go's rules. Errors never quote it.
Result<ExecCredential> parse_exec_credential(const ExecPlugin& plugin, std::string_view output);
// Runs it with that information, its standard error being ours. Blocks, at most `timeout` (ten
// times as long when the user may be asked). Errors: Unauthorized, with the install hint where the
// program is missing or fails.
Result<ExecCredential> run_exec_plugin(const ExecPlugin& plugin, const ClusterConfig& config,
                                       const std::string& authority, Duration timeout);

}  // namespace athanor::client
