// SPDX-License-Identifier: Apache-2.0
// TokenKey: one key that service account tokens are signed or checked with (docs/spec/apiserver.md
// 4.7, 16.3). For the .cpp files of transport/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"
#include "net/crypto.hpp"

namespace athanor::transport {

// An RSA key (RS256) or an EC key on P-256 (ES256). Thread-safe.
class TokenKey {
 public:
  // Reads a private key: PEM in the form of PKCS#1, PKCS#8 or SEC1.
  static Result<TokenKey> from_private_pem(const std::string& pem);
  // Reads every public key, certificate and private key of a PEM text; at least one.
  static Result<std::vector<TokenKey>> from_public_pem(const std::string& pem);

  [[nodiscard]] const std::string& id() const { return id_; }  // "kid"
  [[nodiscard]] std::string_view algorithm() const;            // "RS256", "ES256"
  [[nodiscard]] Value jwk() const { return jwk_; }             // the public part

  // Returns the signature in the form that tokens carry. Error: the key is a public one.
  [[nodiscard]] Result<std::string> sign(std::string_view text) const;
  [[nodiscard]] bool verify(std::string_view text, std::string_view signature) const;

 private:
  enum class Algorithm : std::uint8_t { Rs256, Es256 };
  TokenKey(net::KeyPtr key, Algorithm algorithm) : key_(std::move(key)), algorithm_(algorithm) {}
  static Result<TokenKey> of(net::KeyPtr key);
  Result<void> describe();

  net::KeyPtr key_;
  Algorithm algorithm_;
  std::string id_{};
  Value jwk_{};
};

}  // namespace athanor::transport
