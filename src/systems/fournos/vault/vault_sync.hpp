// SPDX-License-Identifier: Apache-2.0
// Vault entries as Secrets (docs/spec/fournos.md section 20): which to write and which to delete.
// Pure; cli/vault.cpp reads the entries and carries out the plan.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::fournos {

// One entry as its source gave it. A folder's name ends with '/'.
struct VaultEntry {
  std::string name{};
  std::map<std::string, std::string> data{};
  std::optional<std::string> problem{};  // why it could not be read
};

// Where the entries come from and where their Secrets go.
struct VaultPlace {
  std::string ns{};                       // of the Secrets
  std::string address{};                  // annotation fournos.dev/vault-addr
  std::string path{};                     // "<mount>/<path>", of annotation fournos.dev/vault-path
  std::string pattern = "vault-{entry}";  // name of a Secret
};

// Result of plan_vault_sync(): Secrets to write and delete, and lines to print.
struct VaultPlan {
  std::vector<Value> writes{};         // whole Secrets
  std::vector<std::string> deletes{};  // names
  std::vector<std::string> errors{};   // each counts: the exit code is 1
  std::vector<std::string> notes{};    // what was left out, and why
};

// Requires as `existing` the Secrets of the namespace. Keeps unreadable entries' Secrets, and every
// Secret that others manage.
VaultPlan plan_vault_sync(const std::vector<VaultEntry>& entries,
                          const std::vector<Object>& existing, const VaultPlace& place);

// Returns true if the Secret carries both labels of the sync.
bool is_vault_synced(const Object& secret);

}  // namespace athanor::fournos
