// SPDX-License-Identifier: Apache-2.0
// The keys and certificates of the embedded control plane (docs/spec/apiserver.md 1.1), kept as
// files and made anew when missing or when two thirds of their life are over.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

namespace athanor::net {

// Folder, served names and time of a key set.
struct PkiOptions {
  std::string directory{};           // made when missing, mode 0700; every file in it 0600
  std::vector<std::string> hosts{};  // names and addresses to serve under, beside the usual ones
  Instant now{};
};

// PEM texts.
struct Pki {
  std::string ca_certificate{};  // signs servers and clients
  std::string ca_key{};
  std::string server_certificate{};
  std::string server_key{};
  std::string admin_certificate{};  // CN kubernetes-admin, O system:masters
  std::string admin_key{};
  std::string service_account_key{};
  // How aggregated API servers know that a request comes from this server.
  std::string front_proxy_ca{};
  std::string front_proxy_certificate{};  // CN front-proxy-client
  std::string front_proxy_key{};
};

// Reads what is there and makes what is missing, due, or does not fit (another CA, a host that the
// serving certificate lacks). A CA or service account key that cannot be read is an error, as
// clients depend on them.
Result<Pki> ensure_pki(const PkiOptions& options);

// A serving certificate with its key, as PEM texts.
struct ServingPair {
  std::string certificate{};
  std::string key{};
};

// Reads `directory`/apiserver.crt and .key; makes them, self-signed for `hosts`, when one of them
// is missing. An empty directory: makes them, and writes nothing. Error: a file that is not a
// certificate or key.
Result<ServingPair> ensure_serving_pair(const PkiOptions& options);

// Makes a key for service account tokens (SEC1); the next function keeps it as `directory`/sa.key
// and reads it when it is there.
Result<std::string> make_service_account_key();
Result<std::string> ensure_service_account_key(const std::string& directory);

// Another user of the control plane, by a client certificate of its own.
struct UserIdentity {
  std::string name{};
  std::vector<std::string> groups{};
};
// Makes a certificate of a user, signed by the authority of `pki`, and returns its kubeconfig with
// everything embedded. Errors: the authority's texts are damaged.
Result<std::string> user_kubeconfig(const Pki& pki, const UserIdentity& user,
                                    const std::string& server, const std::string& jobs_ns,
                                    Instant now);

// Returns a kubeconfig of the administrator with everything embedded; `server` is
// "https://127.0.0.1:6443", `jobs_ns` the namespace of the lab's jobs.
std::string admin_kubeconfig(const Pki& pki, const std::string& server,
                             const std::string& jobs_ns = "default");
// Writes it with mode 0600 by rename.
Result<void> write_admin_kubeconfig(const std::string& path, const Pki& pki,
                                    const std::string& server,
                                    const std::string& jobs_ns = "default");

}  // namespace athanor::net
