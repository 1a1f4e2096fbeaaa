// SPDX-License-Identifier: Apache-2.0
// JSON web tokens with OpenSSL: signatures are 64 bytes, r and s, where OpenSSL speaks DER.
#include "embedded/transport/token_signer.hpp"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/digest.hpp"
#include "embedded/transport/crypto.hpp"
#include "kube/json.hpp"

namespace athanor::transport {
namespace {

constexpr std::size_t kNumberBytes = 32;       // of r, s, x and y on P-256
constexpr std::size_t kRemembered = 4096;      // verified tokens
constexpr std::size_t kLongestToken = 65'536;  // bytes

struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
struct FreeSignature {
  void operator()(ECDSA_SIG* signature) const { ECDSA_SIG_free(signature); }
};
struct FreeNumber {
  void operator()(BIGNUM* number) const { BN_free(number); }
};
using DigestPtr = std::unique_ptr<EVP_MD_CTX, FreeDigest>;
using SignaturePtr = std::unique_ptr<ECDSA_SIG, FreeSignature>;
using NumberPtr = std::unique_ptr<BIGNUM, FreeNumber>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string fixed_bytes(const BIGNUM* number) {
  std::array<unsigned char, kNumberBytes> bytes{};
  BN_bn2binpad(number, bytes.data(), static_cast<int>(bytes.size()));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<std::string> raw_signature(std::string_view der) {
  const unsigned char* position = bytes_of(der);
  const SignaturePtr signature(d2i_ECDSA_SIG(nullptr, &position, static_cast<long>(der.size())));
  if (signature == nullptr) {
    return std::nullopt;
  }
  return fixed_bytes(ECDSA_SIG_get0_r(signature.get())) +
         fixed_bytes(ECDSA_SIG_get0_s(signature.get()));
}

std::optional<std::string> der_signature(std::string_view raw) {
  if (raw.size() != 2 * kNumberBytes) {
    return std::nullopt;
  }
  const SignaturePtr signature(ECDSA_SIG_new());
  BIGNUM* r = BN_bin2bn(bytes_of(raw), static_cast<int>(kNumberBytes), nullptr);
  BIGNUM* s =
      BN_bin2bn(bytes_of(raw.substr(kNumberBytes)), static_cast<int>(kNumberBytes), nullptr);
  if (signature == nullptr || ECDSA_SIG_set0(signature.get(), r, s) != 1) {
    BN_free(r);
    BN_free(s);
    return std::nullopt;
  }
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &der);
  if (size <= 0) {
    return std::nullopt;
  }
  std::string text(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return text;
}

Error unauthorized(std::string message) {
  return {.code = 401, .reason = "Unauthorized", .message = std::move(message)};
}

class JwtSigner final : public apiserver::TokenSigner {
 public:
  JwtSigner(KeyPtr key, std::string issuer, std::string id, Value keys)
      : key_(std::move(key)),
        issuer_(std::move(issuer)),
        id_(std::move(id)),
        keys_(std::move(keys)) {}

  Result<std::string> sign(const Value& claims) override;
  Result<Value> verify(std::string_view token) override;
  [[nodiscard]] std::string issuer() const override { return issuer_; }
  [[nodiscard]] Value jwks() const override { return keys_; }

 private:
  [[nodiscard]] bool signature_holds(std::string_view signed_part, std::string_view raw) const;

  const KeyPtr key_;
  const std::string issuer_;
  const std::string id_;
  const Value keys_;
  std::mutex mutex_{};
  std::map<std::string, Value, std::less<>> verified_{};  // claims by token
};

Result<std::string> JwtSigner::sign(const Value& claims) {
  const Value header = Value::object({{"alg", "ES256"}, {"kid", id_}});
  std::string token =
      base64url_encode(json::print(header)) + "." + base64url_encode(json::print(claims));
  const DigestPtr digest(EVP_MD_CTX_new());
  std::array<unsigned char, 128> der{};
  std::size_t size = der.size();
  if (EVP_DigestSignInit(digest.get(), nullptr, EVP_sha256(), nullptr, key_.get()) != 1 ||
      EVP_DigestSign(digest.get(), der.data(), &size, bytes_of(token), token.size()) != 1) {
    return openssl_error("cannot sign a token");
  }
  const auto raw = raw_signature({reinterpret_cast<const char*>(der.data()), size});
  if (!raw) {
    return openssl_error("cannot sign a token");
  }
  return token + "." + base64url_encode(*raw);
}

bool JwtSigner::signature_holds(std::string_view signed_part, std::string_view raw) const {
  const auto der = der_signature(raw);
  const DigestPtr digest(EVP_MD_CTX_new());
  const bool holds =
      der && EVP_DigestVerifyInit(digest.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
      EVP_DigestVerify(digest.get(), bytes_of(*der), der->size(), bytes_of(signed_part),
                       signed_part.size()) == 1;
  ERR_clear_error();
  return holds;
}

Result<Value> JwtSigner::verify(std::string_view token) {
  {
    const std::lock_guard lock(mutex_);
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
  if (!header.ok() || (*header)["alg"] != Value("ES256") ||
      (header->contains("kid") && (*header)["kid"] != Value(id_))) {
    return unauthorized("the token names another key or algorithm");
  }
  if (!signature_holds(token.substr(0, last), *signature)) {
    return unauthorized("the token's signature does not hold");
  }
  auto claims = json::parse(*claims_text);
  if (!claims.ok() || !claims->is_object()) {
    return unauthorized("the token's claims are not a JSON object");
  }
  const std::lock_guard lock(mutex_);
  if (verified_.size() >= kRemembered) {
    verified_.clear();
  }
  verified_.emplace(token, *claims);
  return claims;
}

Result<std::string> coordinate(evp_pkey_st* key, const char* name) {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &number) != 1) {
    return openssl_error("cannot read the public key");
  }
  return fixed_bytes(NumberPtr(number).get());
}

// base64url of the SHA-256 of the DER form of the public key.
Result<std::string> key_id(evp_pkey_st* key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  if (size <= 0) {
    return openssl_error("cannot print the public key");
  }
  const std::string text(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return base64url_encode(sha256(text));
}

bool is_p256(evp_pkey_st* key) {
  std::array<char, 64> group{};
  std::size_t size = 0;
  const bool named = EVP_PKEY_get_group_name(key, group.data(), group.size(), &size) == 1;
  ERR_clear_error();
  const std::string_view name(group.data(), size);
  return named && (name == "prime256v1" || name == "P-256");
}

}  // namespace

Result<std::unique_ptr<apiserver::TokenSigner>> make_token_signer(
    const TokenSignerOptions& options) {
  ATHANOR_TRY(auto key, parse_key(options.key_pem));
  if (!is_p256(key.get())) {
    return Error::invalid("service account signing key", "must be an EC key on P-256");
  }
  ATHANOR_TRY(auto id, key_id(key.get()));
  ATHANOR_TRY(const auto x, coordinate(key.get(), OSSL_PKEY_PARAM_EC_PUB_X));
  ATHANOR_TRY(const auto y, coordinate(key.get(), OSSL_PKEY_PARAM_EC_PUB_Y));
  Value keys =
      Value::object({{"keys", Value::list({Value::object({{"use", "sig"},
                                                          {"kty", "EC"},
                                                          {"kid", id},
                                                          {"alg", "ES256"},
                                                          {"crv", "P-256"},
                                                          {"x", base64url_encode(x)},
                                                          {"y", base64url_encode(y)}})})}});
  return std::unique_ptr<apiserver::TokenSigner>(
      std::make_unique<JwtSigner>(std::move(key), options.issuer, std::move(id), std::move(keys)));
}

}  // namespace athanor::transport
