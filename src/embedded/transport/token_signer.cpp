// SPDX-License-Identifier: Apache-2.0
// JSON web tokens over one signing key and any number of keys to check with.
#include "embedded/transport/token_signer.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/digest.hpp"
#include "base/mutex.hpp"
#include "embedded/transport/token_key.hpp"
#include "kube/text/json.hpp"

namespace athanor::transport {
namespace {

constexpr std::size_t kRemembered = 4096;      // verified tokens
constexpr std::size_t kLongestToken = 65'536;  // bytes

Error unauthorized(std::string message) {
  return {.code = 401, .reason = "Unauthorized", .message = std::move(message)};
}

class JwtSigner final : public apiserver::TokenSigner {
 public:
  // The first key signs.
  JwtSigner(std::vector<TokenKey> keys, std::vector<std::string> issuers)
      : keys_(std::move(keys)), issuers_(std::move(issuers)) {}

  Result<std::string> sign(const Value& claims) override;
  Result<Value> verify(std::string_view token) override;
  [[nodiscard]] std::string issuer() const override { return issuers_.front(); }
  [[nodiscard]] bool accepts_issuer(std::string_view issuer) const override {
    return std::ranges::find(issuers_, issuer) != issuers_.end();
  }
  [[nodiscard]] Value jwks() const override;

 private:
  [[nodiscard]] bool signature_holds(const Value& header, std::string_view signed_part,
                                     std::string_view signature) const;

  const std::vector<TokenKey> keys_;
  const std::vector<std::string> issuers_;
  Mutex mutex_{};
  std::map<std::string, Value, std::less<>> verified_
      ATHANOR_GUARDED_BY(mutex_){};  // claims by token
};

Value JwtSigner::jwks() const {
  Value keys = Value::list();
  for (const TokenKey& key : keys_) {
    keys.push_back(key.jwk());
  }
  return Value::object({{"keys", std::move(keys)}});
}

Result<std::string> JwtSigner::sign(const Value& claims) {
  const TokenKey& key = keys_.front();
  const Value header = Value::object({{"alg", key.algorithm()}, {"kid", key.id()}});
  const std::string token =
      base64url_encode(json::print(header)) + "." + base64url_encode(json::print(claims));
  ATHANOR_TRY(const std::string signature, key.sign(token));
  return token + "." + base64url_encode(signature);
}

// The key that the token names decides; an unknown name counts as none.
bool JwtSigner::signature_holds(const Value& header, std::string_view signed_part,
                                std::string_view signature) const {
  const std::string_view id = header["kid"].as_string();
  const bool known =
      std::ranges::any_of(keys_, [&](const TokenKey& key) { return key.id() == id; });
  return std::ranges::any_of(keys_, [&](const TokenKey& key) {
    return (!known || key.id() == id) && key.algorithm() == header["alg"].as_string() &&
           key.verify(signed_part, signature);
  });
}

Result<Value> JwtSigner::verify(std::string_view token) {
  {
    const MutexLock lock(mutex_);
    if (const auto known = verified_.find(token); known != verified_.end()) {
      return known->second;
    }
  }
  const std::size_t first = token.find('.');
  const std::size_t last = token.rfind('.');
  if (token.size() > kLongestToken || first == std::string_view::npos || first == last) {
    return unauthorized("not a token in three parts");
  }
  const auto header_text = base64url_decode(token.substr(0, first));
  const auto claims_text = base64url_decode(token.substr(first + 1, last - first - 1));
  const auto signature = base64url_decode(token.substr(last + 1));
  if (!header_text || !claims_text || !signature) {
    return unauthorized("the token is not base64url");
  }
  const auto header = json::parse(*header_text);
  if (!header.ok() || !header->is_object()) {
    return unauthorized("the token's header is not a JSON object");
  }
  if (!signature_holds(*header, token.substr(0, last), *signature)) {
    return unauthorized("the token's signature does not hold");
  }
  auto claims = json::parse(*claims_text);
  if (!claims.ok() || !claims->is_object()) {
    return unauthorized("the token's claims are not a JSON object");
  }
  const MutexLock lock(mutex_);
  if (verified_.size() >= kRemembered) {
    verified_.clear();
  }
  verified_.emplace(token, *claims);
  return claims;
}

}  // namespace

Result<std::unique_ptr<apiserver::TokenSigner>> make_token_signer(
    const TokenSignerOptions& options) {
  ATHANOR_TRY(auto signing_key, TokenKey::from_private_pem(options.key_pem));
  std::vector<TokenKey> keys;
  keys.push_back(std::move(signing_key));
  for (const std::string& pem : options.verification_pems) {
    ATHANOR_TRY(auto more, TokenKey::from_public_pem(pem));
    for (TokenKey& key : more) {
      if (std::ranges::none_of(keys, [&](const TokenKey& one) { return one.id() == key.id(); })) {
        keys.push_back(std::move(key));
      }
    }
  }
  std::vector<std::string> issuers = {options.issuer};
  issuers.insert(issuers.end(), options.accepted_issuers.begin(), options.accepted_issuers.end());
  return std::unique_ptr<apiserver::TokenSigner>(
      std::make_unique<JwtSigner>(std::move(keys), std::move(issuers)));
}

}  // namespace athanor::transport
