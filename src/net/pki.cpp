// SPDX-License-Identifier: Apache-2.0
// Files of the PKI: ca, apiserver, admin (.crt and .key each) and sa.key.
#include "net/pki.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include "base/digest.hpp"
#include "net/crypto.hpp"
#include "net/private_file.hpp"

namespace athanor::net {
namespace {

constexpr auto kAuthorityLife = std::chrono::days(3652);
constexpr auto kLeafLife = std::chrono::days(365);
constexpr auto kSkew = std::chrono::hours(1);  // clients' clocks may lag behind

// A certificate with its key, parsed and as text.
struct Pair {
  CertificatePtr certificate{};
  KeyPtr key{};
  std::string certificate_text{};
  std::string key_text{};
};

std::vector<std::string> served_hosts(const PkiOptions& options) {
  std::vector<std::string> hosts = {"localhost",
                                    "kubernetes",
                                    "kubernetes.default",
                                    "kubernetes.default.svc",
                                    "kubernetes.default.svc.cluster.local",
                                    "127.0.0.1",
                                    "::1",
                                    "10.96.0.1"};
  for (const std::string& host : options.hosts) {
    bool known = host.empty();
    for (const std::string& other : hosts) {
      known = known || other == host;
    }
    if (!known) {
      hosts.push_back(host);
    }
  }
  return hosts;
}

// nullopt when a file of the pair is missing.
Result<std::optional<Pair>> read_pair(const std::string& stem) {
  ATHANOR_TRY(auto certificate, read_file(stem + ".crt"));
  ATHANOR_TRY(auto key, read_file(stem + ".key"));
  if (!certificate || !key) {
    return std::optional<Pair>();
  }
  auto certificates = parse_certificates(*certificate);
  if (!certificates.ok()) {
    return certificates.error().with_context(stem + ".crt");
  }
  auto parsed_key = parse_key(*key);
  if (!parsed_key.ok()) {
    return parsed_key.error().with_context(stem + ".key");
  }
  return std::optional(Pair{.certificate = std::move(certificates->front()),
                            .key = *std::move(parsed_key),
                            .certificate_text = *std::move(certificate),
                            .key_text = *std::move(key)});
}

// `authority` nullptr: self-signed.
Result<Pair> new_pair(const CertificateSpec& spec, const Pair* authority) {
  Pair pair;
  ATHANOR_TRY(pair.key, generate_key());
  const Issuer issuer{.certificate = authority == nullptr ? nullptr : authority->certificate.get(),
                      .key = authority == nullptr ? pair.key.get() : authority->key.get()};
  ATHANOR_TRY(pair.certificate, issue(spec, pair.key.get(), issuer));
  ATHANOR_TRY(pair.key_text, key_pem(pair.key.get()));
  ATHANOR_TRY(pair.certificate_text, certificate_pem(pair.certificate.get()));
  return pair;
}

Result<Pair> make_pair(const std::string& stem, const CertificateSpec& spec,
                       const Pair* authority) {
  ATHANOR_TRY(Pair pair, new_pair(spec, authority));
  ATHANOR_TRY_VOID(write_private_file(stem + ".key", pair.key_text));
  ATHANOR_TRY_VOID(write_private_file(stem + ".crt", pair.certificate_text));
  return pair;
}

Result<Pair> ensure_authority(const PkiOptions& options, const std::string& file,
                              const std::string& name) {
  const std::string stem = options.directory + "/" + file;
  ATHANOR_TRY(auto pair, read_pair(stem));
  if (pair && belongs_to(pair->certificate.get(), pair->key.get(), pair->key.get()) &&
      !is_due(pair->certificate.get(), options.now)) {
    return *std::move(pair);
  }
  return make_pair(stem,
                   {.common_name = name,
                    .use = CertificateSpec::Use::Authority,
                    .not_before = options.now - kSkew,
                    .not_after = options.now + kAuthorityLife},
                   nullptr);
}

bool fits(const Pair& pair, const CertificateSpec& spec, const Pair& authority, Instant now) {
  bool fit = belongs_to(pair.certificate.get(), pair.key.get(), authority.key.get()) &&
             !is_due(pair.certificate.get(), now);
  for (const std::string& host : spec.hosts) {
    fit = fit && covers_host(pair.certificate.get(), host);
  }
  return fit;
}

Result<Pair> ensure_leaf(const PkiOptions& options, const std::string& name, CertificateSpec spec,
                         const Pair& authority) {
  spec.not_before = options.now - kSkew;
  spec.not_after = options.now + kLeafLife;
  const std::string stem = options.directory + "/" + name;
  // A damaged leaf is simply replaced: no client depends on the very same one.
  auto pair = read_pair(stem);
  if (pair.ok() && *pair && fits(**pair, spec, authority, options.now)) {
    return **std::move(pair);
  }
  return make_pair(stem, spec, &authority);
}

// Entries of a kubeconfig besides certificates.
struct ConfigNames {
  std::string user{};
  std::string server{};
  std::string jobs_ns{};
};

// The context names no namespace (clients take "default"); athanor's verbs find the jobs' by the
// extension (client/cluster_config.hpp).
std::string kubeconfig_text(const Pki& pki, const ServingPair& client, const ConfigNames& names) {
  return "apiVersion: v1\n"
         "kind: Config\n"
         "clusters:\n"
         "- name: athanor\n"
         "  cluster:\n"
         "    server: " +
         names.server +
         "\n"
         "    certificate-authority-data: " +
         base64_encode(pki.ca_certificate) +
         "\n"
         "users:\n"
         "- name: " +
         names.user +
         "\n"
         "  user:\n"
         "    client-certificate-data: " +
         base64_encode(client.certificate) +
         "\n"
         "    client-key-data: " +
         base64_encode(portable_key(client.key)) +
         "\n"
         "contexts:\n"
         "- name: athanor\n"
         "  context:\n"
         "    cluster: athanor\n"
         "    user: " +
         names.user +
         "\n"
         "    extensions:\n"
         "    - name: athanor.dev/lab\n"
         "      extension:\n"
         "        jobsNamespace: " +
         names.jobs_ns +
         "\n"
         "current-context: athanor\n";
}

}  // namespace

Result<Pki> ensure_pki(const PkiOptions& options) {
  using Use = CertificateSpec::Use;
  ATHANOR_TRY_VOID(make_private_directory(options.directory));
  ATHANOR_TRY(auto authority, ensure_authority(options, "ca", "athanor-ca"));
  ATHANOR_TRY(auto server, ensure_leaf(options, "apiserver",
                                       {.common_name = "kube-apiserver",
                                        .use = Use::Server,
                                        .hosts = served_hosts(options)},
                                       authority));
  ATHANOR_TRY(auto admin, ensure_leaf(options, "admin",
                                      {.common_name = "kubernetes-admin",
                                       .organizations = {"system:masters"},
                                       .use = Use::Client},
                                      authority));
  ATHANOR_TRY(auto front_proxy_authority,
              ensure_authority(options, "front-proxy-ca", "athanor-front-proxy-ca"));
  ATHANOR_TRY(auto front_proxy,
              ensure_leaf(options, "front-proxy-client",
                          {.common_name = "front-proxy-client", .use = Use::Client},
                          front_proxy_authority));
  ATHANOR_TRY(auto service_account_key, ensure_service_account_key(options.directory));
  return Pki{.ca_certificate = std::move(authority.certificate_text),
             .ca_key = std::move(authority.key_text),
             .server_certificate = std::move(server.certificate_text),
             .server_key = std::move(server.key_text),
             .admin_certificate = std::move(admin.certificate_text),
             .admin_key = std::move(admin.key_text),
             .service_account_key = std::move(service_account_key),
             .front_proxy_ca = std::move(front_proxy_authority.certificate_text),
             .front_proxy_certificate = std::move(front_proxy.certificate_text),
             .front_proxy_key = std::move(front_proxy.key_text)};
}

Result<ServingPair> ensure_serving_pair(const PkiOptions& options) {
  const CertificateSpec spec{.common_name = "kube-apiserver",
                             .use = CertificateSpec::Use::Server,
                             .hosts = served_hosts(options),
                             .not_before = options.now - kSkew,
                             .not_after = options.now + kLeafLife};
  const auto texts_of = [](Pair pair) {
    return ServingPair{.certificate = std::move(pair.certificate_text),
                       .key = std::move(pair.key_text)};
  };
  if (options.directory.empty()) {
    ATHANOR_TRY(Pair pair, new_pair(spec, nullptr));
    return texts_of(std::move(pair));
  }
  const std::string stem = options.directory + "/apiserver";
  ATHANOR_TRY(auto known, read_pair(stem));
  if (known) {
    return texts_of(*std::move(known));
  }
  ATHANOR_TRY_VOID(make_private_directory(options.directory));
  ATHANOR_TRY(Pair pair, make_pair(stem, spec, nullptr));
  return texts_of(std::move(pair));
}

Result<std::string> make_service_account_key() {
  ATHANOR_TRY(const auto key, generate_key());
  return key_pem(key.get());
}

Result<std::string> ensure_service_account_key(const std::string& directory) {
  ATHANOR_TRY_VOID(make_private_directory(directory));
  const std::string path = directory + "/sa.key";
  ATHANOR_TRY(auto text, read_file(path));
  if (text) {
    if (auto key = parse_key(*text); !key.ok()) {
      return key.error().with_context(path);
    }
    return *std::move(text);
  }
  ATHANOR_TRY(auto made, make_service_account_key());
  ATHANOR_TRY_VOID(write_private_file(path, made));
  return made;
}

std::string admin_kubeconfig(const Pki& pki, const std::string& server,
                             const std::string& jobs_ns) {
  return kubeconfig_text(pki, {.certificate = pki.admin_certificate, .key = pki.admin_key},
                         {.user = "kubernetes-admin", .server = server, .jobs_ns = jobs_ns});
}

Result<std::string> user_kubeconfig(const Pki& pki, const UserIdentity& user,
                                    const std::string& server, const std::string& jobs_ns,
                                    Instant now) {
  Pair authority{.certificate_text = pki.ca_certificate, .key_text = pki.ca_key};
  ATHANOR_TRY(auto certificates, parse_certificates(pki.ca_certificate));
  authority.certificate = std::move(certificates.front());
  ATHANOR_TRY(authority.key, parse_key(pki.ca_key));
  ATHANOR_TRY(const Pair pair, new_pair({.common_name = user.name,
                                         .organizations = user.groups,
                                         .use = CertificateSpec::Use::Client,
                                         .not_before = now - kSkew,
                                         .not_after = now + kLeafLife},
                                        &authority));
  return kubeconfig_text(pki, {.certificate = pair.certificate_text, .key = pair.key_text},
                         {.user = user.name, .server = server, .jobs_ns = jobs_ns});
}

Result<void> write_admin_kubeconfig(const std::string& path, const Pki& pki,
                                    const std::string& server, const std::string& jobs_ns) {
  return write_private_file(path, admin_kubeconfig(pki, server, jobs_ns));
}

}  // namespace athanor::net
