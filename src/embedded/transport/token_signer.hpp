// SPDX-License-Identifier: Apache-2.0
// Service account tokens: JSON web tokens, ES256 or RS256 (docs/spec/apiserver.md 4.7, 16.3).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "embedded/apiserver/request/token_signer.hpp"

namespace athanor::transport {

// Keys and issuers of tokens.
struct TokenSignerOptions {
  std::string key_pem{};  // private: RSA, or EC on P-256
  std::string issuer = "https://kubernetes.default.svc.cluster.local";
  // PEM texts with public keys or certificates; tokens of their owners are taken, too.
  std::vector<std::string> verification_pems{};
  std::vector<std::string> accepted_issuers{};  // beside `issuer`
};

// Makes a thread-safe signer. verify() caches tokens with a valid signature, as clients send the
// same one with every request. Error: a key is neither an RSA key nor one on P-256.
Result<std::unique_ptr<apiserver::TokenSigner>> make_token_signer(
    const TokenSignerOptions& options);

}  // namespace athanor::transport
