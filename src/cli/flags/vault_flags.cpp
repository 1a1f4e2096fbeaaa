// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/vault_flags.hpp"

#include <CLI/CLI.hpp>

namespace athanor::cli {

void add_vault(CLI::App& app, VaultSyncOptions& options) {
  auto& vault = *app.add_subcommand("vault", "Secrets of jobs from a Vault or from files");
  vault.require_subcommand(1);
  auto& verb = *vault.add_subcommand(
      "sync", "Write each entry as a Secret that jobs may name in secretRefs");
  verb.footer(
      "  VAULT_TOKEN=... athanor vault sync --vault-addr https://vault.example:8200 --secret-path "
      "bench\n"
      "  athanor vault sync --from-files ./secrets --dry-run\n\n"
      "Entries of files: DIR/ENTRY/KEY, or DIR/ENTRY.yaml (or .json) with a map of keys.\n"
      "Secrets of entries that are gone are deleted; those of entries that could not be read "
      "stay.");
  verb.add_option("--kubeconfig", options.kubeconfig,
                  "kubeconfig file (default: $KUBECONFIG, then ~/.kube/config)");
  verb.add_option("--context", options.context,
                  "kubeconfig context (default: its current-context)");
  verb.add_option("-n,--namespace", options.ns, "namespace of the Secrets")
      ->envname("FOURNOS_SECRETS_NAMESPACE")
      ->capture_default_str();
  verb.add_option("--vault-addr", options.address, "https://HOST:PORT of the Vault")
      ->envname("VAULT_ADDR");
  verb.add_option("--kv-mount", options.mount, "mount of its key-value engine (version 2)")
      ->envname("VAULT_KV_MOUNT")
      ->capture_default_str();
  verb.add_option("--secret-path", options.path, "folder of the entries below the mount")
      ->envname("VAULT_SECRET_PATH");
  verb.add_option("--from-files", options.files, "read entries from this folder, not from a Vault")
      ->type_name("DIR");
  verb.add_flag("--dry-run", options.dry_run, "say what would be written and deleted");
  verb.add_flag("-v,--verbose", options.verbose, "say what is left out, too");
}

}  // namespace athanor::cli
