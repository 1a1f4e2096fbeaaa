// SPDX-License-Identifier: Apache-2.0
// Service account tokens: ES256 JSON web tokens over one P-256 key (spec/apiserver.md 4.7, 16.3).
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "embedded/apiserver/server.hpp"

namespace athanor::transport {

struct TokenSignerOptions {
  std::string key_pem{};
  std::string issuer = "https://kubernetes.default.svc.cluster.local";
};

// Thread-safe. verify() remembers tokens whose signature held, as clients send the same one with
// every request. Error: the key is not a P-256 key.
Result<std::unique_ptr<apiserver::TokenSigner>> make_token_signer(
    const TokenSignerOptions& options);

}  // namespace athanor::transport
