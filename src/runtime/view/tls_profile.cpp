// SPDX-License-Identifier: Apache-2.0
#include "runtime/view/tls_profile.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/digest.hpp"

namespace athanor {
namespace {

// OpenSSL's names and Go's. The first three belong to every profile, the next six to Intermediate
// and Old, the rest to Old alone. Suites that Go does not have are left out.
struct Cipher {
  std::string_view openssl{};
  std::string_view go{};
};
constexpr std::size_t kModern = 3;
constexpr std::size_t kIntermediate = 9;
constexpr auto kCiphers = std::to_array<Cipher>({
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"},
    {"TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"},
    {"TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256"},
    {"ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"},
    {"ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"},
    {"ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"},
    {"ECDHE-RSA-AES256-GCM-SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"},
    {"ECDHE-ECDSA-CHACHA20-POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"},
    {"ECDHE-RSA-CHACHA20-POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"},
    {"ECDHE-ECDSA-AES128-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"},
    {"ECDHE-RSA-AES128-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256"},
    {"ECDHE-ECDSA-AES128-SHA", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"},
    {"ECDHE-RSA-AES128-SHA", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"},
    {"ECDHE-ECDSA-AES256-SHA", "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA"},
    {"ECDHE-RSA-AES256-SHA", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"},
    {"AES128-GCM-SHA256", "TLS_RSA_WITH_AES_128_GCM_SHA256"},
    {"AES256-GCM-SHA384", "TLS_RSA_WITH_AES_256_GCM_SHA384"},
    {"AES128-SHA256", "TLS_RSA_WITH_AES_128_CBC_SHA256"},
    {"AES128-SHA", "TLS_RSA_WITH_AES_128_CBC_SHA"},
    {"AES256-SHA", "TLS_RSA_WITH_AES_256_CBC_SHA"},
    {"DES-CBC3-SHA", "TLS_RSA_WITH_3DES_EDE_CBC_SHA"},
});

std::string first_ciphers(std::size_t count) {
  std::string names;
  for (std::size_t i = 0; i < count; ++i) {
    names += fmt::format("{}{}", names.empty() ? "" : ",", kCiphers[i].go);
  }
  return names;
}

}  // namespace

std::vector<std::string> TlsProfile::cipher_names() const {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < ciphers.size();) {
    const std::size_t end = std::min(ciphers.find(',', at), ciphers.size());
    names.push_back(ciphers.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

TlsProfile read_tls_profile(const Value& profile) {
  const std::string_view type = profile["type"].as_string();
  if (type == "Old") {
    return {.min_version = "VersionTLS10", .ciphers = first_ciphers(kCiphers.size())};
  }
  if (type == "Modern") {
    return {.min_version = "VersionTLS13", .ciphers = first_ciphers(kModern)};
  }
  if (type != "Custom") {
    return {.min_version = "VersionTLS12", .ciphers = first_ciphers(kIntermediate)};
  }
  if (profile["custom"]["minTLSVersion"].as_string().empty() &&
      profile["custom"]["ciphers"].empty()) {
    return read_tls_profile(Value());
  }
  TlsProfile custom{.min_version = profile["custom"]["minTLSVersion"].str()};
  for (const Value& name : profile["custom"]["ciphers"].items()) {
    const auto* const known = std::ranges::find(kCiphers, name.as_string(), &Cipher::openssl);
    const std::string_view go = known == kCiphers.end() ? name.as_string() : known->go;
    custom.ciphers += fmt::format("{}{}", custom.ciphers.empty() ? "" : ",", go);
  }
  return custom;
}

std::string tls_profile_hash(const Value& profile) {
  if (profile["type"].as_string().empty()) {
    return "default";
  }
  constexpr std::size_t kDigits = 16;
  const TlsProfile read = read_tls_profile(profile);
  const auto ciphers = read.ciphers.empty() ? 0 : std::ranges::count(read.ciphers, ',') + 1;
  return sha256_hex(fmt::format("{}:{}:{}", profile["type"].as_string(), read.min_version, ciphers))
      .substr(0, kDigits);
}

void add_tls_flags(const TlsProfile& profile, std::string_view prefix, Value& workload) {
  Value& args = workload.member("spec")
                    .member("template")
                    .member("spec")
                    .member("containers")
                    .item(0)
                    .member("args");
  if (!profile.min_version.empty()) {
    args.push_back(fmt::format("{}tls-min-version={}", prefix, profile.min_version));
  }
  if (!profile.ciphers.empty()) {
    args.push_back(fmt::format("{}tls-cipher-suites={}", prefix, profile.ciphers));
  }
}

}  // namespace athanor
