// SPDX-License-Identifier: Apache-2.0
// TokenSigner: the port through which the API server signs and checks service account tokens.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Signs and checks service account tokens; implemented beside the keys (transport), faked in
// simulation.
class TokenSigner {
 public:
  virtual ~TokenSigner() = default;
  // Signs: returns a JWT over the claims (a JSON object).
  virtual Result<std::string> sign(const Value& claims) = 0;
  // Returns the claims of a token whose signature holds; Error Unauthorized otherwise. Expiry is
  // the caller's business.
  virtual Result<Value> verify(std::string_view token) = 0;
  [[nodiscard]] virtual std::string issuer() const = 0;  // of what sign() makes
  // Returns true if tokens that name this issuer are taken.
  [[nodiscard]] virtual bool accepts_issuer(std::string_view name) const {
    return name == issuer();
  }
  [[nodiscard]] virtual Value jwks() const = 0;
};

}  // namespace athanor::apiserver
