// SPDX-License-Identifier: Apache-2.0
// The flags of `athanor vault sync`.
#pragma once

#include <string>

// NOLINTNEXTLINE(readability-identifier-naming): CLI11 has named itself
namespace CLI {
class App;
}

namespace athanor::cli {

// Options of `athanor vault sync`.
struct VaultSyncOptions {
  std::string kubeconfig{};
  std::string context{};
  std::string ns = "psap-secrets";
  std::string address{};
  std::string mount = "kv";
  std::string path{};
  std::string files{};  // folder with entries instead of a Vault
  bool dry_run = false;
  bool verbose = false;
};

// Adds the verb with its flags.
void add_vault(CLI::App& app, VaultSyncOptions& options);

}  // namespace athanor::cli
