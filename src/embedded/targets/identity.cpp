// SPDX-License-Identifier: Apache-2.0
#include "embedded/targets/identity.hpp"

#include <fmt/core.h>

#include <chrono>

#include "base/digest.hpp"
#include "kube/text/yaml.hpp"
#include "net/crypto.hpp"

namespace athanor::targets {
namespace {

using net::CertificateSpec;

constexpr auto kLife = std::chrono::days(3652);
constexpr auto kSkew = std::chrono::hours(1);

struct Signed {
  std::string certificate{};
  std::string key{};
};

Result<Signed> sign(CertificateSpec spec, Instant now, const net::Issuer& issuer) {
  spec.not_before = now - kSkew;
  spec.not_after = now + kLife;
  ATHANOR_TRY(const auto key, net::generate_key());
  ATHANOR_TRY(const auto certificate, net::issue(spec, key.get(), issuer));
  Signed made;
  ATHANOR_TRY(made.certificate, net::certificate_pem(certificate.get()));
  ATHANOR_TRY(made.key, net::key_pem(key.get()));
  return made;
}

}  // namespace

Result<Identity> make_identity(const std::string& name, Instant now) {
  using Use = CertificateSpec::Use;
  Identity identity;
  ATHANOR_TRY(const auto key, net::generate_key());
  ATHANOR_TRY(const auto authority, net::issue({.common_name = fmt::format("{}-ca", name),
                                                .use = Use::Authority,
                                                .not_before = now - kSkew,
                                                .not_after = now + kLife},
                                               key.get(), {.key = key.get()}));
  ATHANOR_TRY(identity.authority, net::certificate_pem(authority.get()));
  const net::Issuer issuer{.certificate = authority.get(), .key = key.get()};
  ATHANOR_TRY(Signed server, sign({.common_name = "kube-apiserver",
                                   .use = Use::Server,
                                   .hosts = {"127.0.0.1", "localhost"}},
                                  now, issuer));
  ATHANOR_TRY(Signed client, sign({.common_name = kUser, .use = Use::Client}, now, issuer));
  identity.certificate = std::move(server.certificate);
  identity.key = std::move(server.key);
  // A secret as good as the key that it is the digest of.
  identity.secret = sha256_hex(client.key);
  identity.client_certificate = std::move(client.certificate);
  identity.client_key = std::move(client.key);
  return identity;
}

bool is_due(const Identity& identity, Instant now) {
  const auto certificates = net::parse_certificates(identity.certificate);
  return !certificates.ok() || net::is_due(certificates->front().get(), now);
}

Value to_value(const Identity& identity) {
  return Value::object({{"port", identity.port},
                        {"authority", identity.authority},
                        {"certificate", identity.certificate},
                        {"key", identity.key},
                        {"clientCertificate", identity.client_certificate},
                        {"clientKey", identity.client_key},
                        {"secret", identity.secret}});
}

Identity identity_of(const Value& value) {
  return {.port = static_cast<int>(value["port"].as_int()),
          .authority = value["authority"].str(),
          .certificate = value["certificate"].str(),
          .key = value["key"].str(),
          .client_certificate = value["clientCertificate"].str(),
          .client_key = value["clientKey"].str(),
          .secret = value["secret"].str()};
}

std::string kubeconfig_text(const Target& target, const Identity& identity) {
  Value user = Value::object();
  switch (target.sign_in) {
    case SignIn::Certificate:
      user.set("client-certificate-data", base64_encode(identity.client_certificate));
      user.set("client-key-data", base64_encode(net::portable_key(identity.client_key)));
      break;
    case SignIn::Token:
      user.set("token", identity.secret);
      break;
    case SignIn::Password:
      user.set("username", kUser);
      user.set("password", identity.secret);
      break;
  }
  const auto named = [&](const char* what, Value value) {
    return Value::list({Value::object({{"name", target.name}, {what, std::move(value)}})});
  };
  return yaml::print(Value::object(
      {{"apiVersion", "v1"},
       {"kind", "Config"},
       {"clusters",
        named("cluster",
              Value::object({{"server", fmt::format("https://127.0.0.1:{}", identity.port)},
                             {"certificate-authority-data", base64_encode(identity.authority)}}))},
       {"users", named("user", std::move(user))},
       {"contexts",
        named("context", Value::object({{"cluster", target.name}, {"user", target.name}}))},
       {"current-context", target.name}}));
}

}  // namespace athanor::targets
