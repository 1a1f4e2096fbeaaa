// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/vault_flags.hpp"

#include <string>
#include <utility>

#include "cli/flags/target_flags.hpp"
#include "flags/verb.hpp"

namespace athanor::cli {
namespace {

constexpr EnvironmentDefault kSecretsNamespace{.variable = "FOURNOS_SECRETS_NAMESPACE",
                                               .otherwise = "psap-secrets"};

// The API server as everywhere; the Secrets are in a namespace of their own, not in the context's.
void add_secrets_target(flags::Verb& verb, Target& target) {
  add_file(verb, target);
  add_home(verb, target, kSecretsNamespace, "namespace of the Secrets");
}

}  // namespace

void add_vault(flags::Verb& app, VaultVerbs& parsed) {
  auto& vault = *app.add_subcommand("vault", "Secrets of jobs from a Vault or from files");
  vault.require_subcommand(1);
  add_secrets_target(vault, parsed.outer);
  add_identity(vault, parsed.outer);
  VaultSyncOptions& options = parsed.sync;
  auto& verb = *vault.add_subcommand(
      "sync", "Write each entry as a Secret that jobs may name in secretRefs");
  verb.footer(
      "  VAULT_TOKEN=... athanor vault sync --vault-addr https://vault.example:8200 --secret-path "
      "bench\n"
      "  athanor vault sync --from-files ./secrets --dry-run\n\n"
      "Entries of files: DIR/ENTRY/KEY, or DIR/ENTRY.yaml (or .json) with a map of keys.\n"
      "Secrets of entries that are gone are deleted; those of entries that could not be read "
      "stay.");
  add_secrets_target(verb, options.target);
  add_credentials(verb, options.target);
  verb.add_option("--vault-addr", options.address, "https://HOST:PORT of the Vault")
      ->envname("VAULT_ADDR");
  verb.add_option("--kv-mount", options.mount, "mount of its key-value engine (version 2)")
      ->envname("VAULT_KV_MOUNT")
      ->capture_default_str();
  verb.add_option("--secret-path", options.path, "folder of the entries below the mount")
      ->envname("VAULT_SECRET_PATH");
  verb.add_option("--from-files", options.files, "read entries from this folder, not from a Vault")
      ->type_name("DIR");
  verb.add_flag("--dry-run", options.dry_run, "print what would be written and deleted");
  // Upstream's switch, and the number of all verbs.
  verb.add_option("-v,--verbosity,--verbose", options.target.verbosity,
                  "say what is left out, and each request with its answer's code on stderr")
      ->check(flags::in_range(0, 10))
      ->expected(0, 1)
      ->default_str("1")
      ->option_text("[N]");
}

VaultSyncOptions chosen_of_vault(VaultVerbs& parsed) {
  inherit(parsed.sync.target, parsed.outer, kSecretsNamespace.value());
  return std::move(parsed.sync);
}

}  // namespace athanor::cli
