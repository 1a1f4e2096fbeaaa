// SPDX-License-Identifier: Apache-2.0
// Keys of tokens by OpenSSL. An ES256 signature is 64 bytes, r and s, where OpenSSL speaks DER; an
// RS256 signature is the same in both.
#include "embedded/transport/token_key.hpp"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "base/digest.hpp"

namespace athanor::transport {
namespace {

constexpr std::size_t kNumberBytes = 32;  // of r, s, x and y on P-256

struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
struct FreeSignature {
  void operator()(ECDSA_SIG* signature) const { ECDSA_SIG_free(signature); }
};
struct FreeNumber {
  void operator()(BIGNUM* number) const { BN_free(number); }
};
struct FreeBytes {
  void operator()(void* bytes) const { OPENSSL_free(bytes); }
};
using DigestPtr = std::unique_ptr<EVP_MD_CTX, FreeDigest>;
using SignaturePtr = std::unique_ptr<ECDSA_SIG, FreeSignature>;
using NumberPtr = std::unique_ptr<BIGNUM, FreeNumber>;
template <typename T>
using BytesPtr = std::unique_ptr<T, FreeBytes>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string text_of_bytes(const unsigned char* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

std::string fixed_bytes(const BIGNUM* number) {
  std::array<unsigned char, kNumberBytes> bytes{};
  BN_bn2binpad(number, bytes.data(), static_cast<int>(bytes.size()));
  return text_of_bytes(bytes.data(), bytes.size());
}

std::string shortest_bytes(const BIGNUM* number) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(BN_num_bytes(number)));
  BN_bn2bin(number, bytes.data());
  return text_of_bytes(bytes.data(), bytes.size());
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
  const BytesPtr<unsigned char> owner(der);
  return size <= 0 ? std::nullopt
                   : std::optional(text_of_bytes(owner.get(), static_cast<std::size_t>(size)));
}

Result<NumberPtr> number_of(evp_pkey_st* key, const char* name) {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &number) != 1) {
    return net::openssl_error("cannot read the public key");
  }
  return NumberPtr(number);
}

// base64url of the SHA-256 of the DER form of the public key.
Result<std::string> key_id(evp_pkey_st* key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  const BytesPtr<unsigned char> owner(der);
  if (size <= 0) {
    return net::openssl_error("cannot print the public key");
  }
  return base64url_encode(sha256(text_of_bytes(owner.get(), static_cast<std::size_t>(size))));
}

bool is_p256(evp_pkey_st* key) {
  std::array<char, 64> group{};
  std::size_t size = 0;
  const bool named = EVP_PKEY_get_group_name(key, group.data(), group.size(), &size) == 1;
  ERR_clear_error();
  const std::string_view name(group.data(), size);
  return named && (name == "prime256v1" || name == "P-256");
}

// The key of one PEM block; null for a block that is none, or a broken one.
net::KeyPtr key_of_block(std::string_view name, const unsigned char* der, long size) {
  if (name == "CERTIFICATE") {
    const net::CertificatePtr certificate(d2i_X509(nullptr, &der, size));
    return net::KeyPtr(certificate == nullptr ? nullptr : X509_get_pubkey(certificate.get()));
  }
  if (name == "PUBLIC KEY") {
    return net::KeyPtr(d2i_PUBKEY(nullptr, &der, size));
  }
  if (name == "RSA PUBLIC KEY") {
    return net::KeyPtr(d2i_PublicKey(EVP_PKEY_RSA, nullptr, &der, size));
  }
  if (name == "PRIVATE KEY" || name == "RSA PRIVATE KEY" || name == "EC PRIVATE KEY") {
    return net::KeyPtr(d2i_AutoPrivateKey(nullptr, &der, size));
  }
  return nullptr;
}

}  // namespace

Result<TokenKey> TokenKey::of(net::KeyPtr key) {
  const bool rsa = EVP_PKEY_is_a(key.get(), "RSA") == 1;
  if (!rsa && !is_p256(key.get())) {
    return Error::invalid("service account key", "must be an RSA key or an EC key on P-256");
  }
  TokenKey made(std::move(key), rsa ? Algorithm::Rs256 : Algorithm::Es256);
  ATHANOR_TRY_VOID(made.describe());
  return made;
}

Result<void> TokenKey::describe() {
  ATHANOR_TRY(id_, key_id(key_.get()));
  jwk_ = Value::object({{"use", "sig"}, {"kid", id_}, {"alg", algorithm()}});
  if (algorithm_ == Algorithm::Rs256) {
    ATHANOR_TRY(const auto n, number_of(key_.get(), OSSL_PKEY_PARAM_RSA_N));
    ATHANOR_TRY(const auto e, number_of(key_.get(), OSSL_PKEY_PARAM_RSA_E));
    jwk_.set("kty", "RSA");
    jwk_.set("n", base64url_encode(shortest_bytes(n.get())));
    jwk_.set("e", base64url_encode(shortest_bytes(e.get())));
    return {};
  }
  ATHANOR_TRY(const auto x, number_of(key_.get(), OSSL_PKEY_PARAM_EC_PUB_X));
  ATHANOR_TRY(const auto y, number_of(key_.get(), OSSL_PKEY_PARAM_EC_PUB_Y));
  jwk_.set("kty", "EC");
  jwk_.set("crv", "P-256");
  jwk_.set("x", base64url_encode(fixed_bytes(x.get())));
  jwk_.set("y", base64url_encode(fixed_bytes(y.get())));
  return {};
}

Result<TokenKey> TokenKey::from_private_pem(const std::string& pem) {
  ATHANOR_TRY(auto key, net::parse_key(pem));
  return of(std::move(key));
}

Result<std::vector<TokenKey>> TokenKey::from_public_pem(const std::string& pem) {
  const net::BioPtr bio = net::reading_bio(pem);
  std::vector<TokenKey> keys;
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* der = nullptr;
  long size = 0;
  while (PEM_read_bio(bio.get(), &name, &header, &der, &size) == 1) {
    const BytesPtr<char> name_owner(name);
    const BytesPtr<char> header_owner(header);
    const BytesPtr<unsigned char> der_owner(der);
    if (net::KeyPtr key = key_of_block(name, der, size); key != nullptr) {
      ATHANOR_TRY(auto made, of(std::move(key)));
      keys.push_back(std::move(made));
    }
  }
  ERR_clear_error();  // the end of the text counts as an error
  if (keys.empty()) {
    return Error::invalid("service account key",
                          "data does not contain any valid RSA or ECDSA public keys");
  }
  return keys;
}

std::string_view TokenKey::algorithm() const {
  return algorithm_ == Algorithm::Rs256 ? "RS256" : "ES256";
}

Result<std::string> TokenKey::sign(std::string_view text) const {
  const DigestPtr digest(EVP_MD_CTX_new());
  std::size_t size = 0;
  std::vector<unsigned char> bytes;
  bool ok = EVP_DigestSignInit(digest.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
            EVP_DigestSign(digest.get(), nullptr, &size, bytes_of(text), text.size()) == 1;
  bytes.resize(size);
  ok = ok && EVP_DigestSign(digest.get(), bytes.data(), &size, bytes_of(text), text.size()) == 1;
  std::optional<std::string> signature;
  if (ok) {
    signature = text_of_bytes(bytes.data(), size);
  }
  if (signature && algorithm_ == Algorithm::Es256) {
    signature = raw_signature(*signature);
  }
  if (!signature) {
    return net::openssl_error("cannot sign a token");
  }
  return *std::move(signature);
}

bool TokenKey::verify(std::string_view text, std::string_view signature) const {
  const std::optional<std::string> form =
      algorithm_ == Algorithm::Es256 ? der_signature(signature) : std::string(signature);
  const DigestPtr digest(EVP_MD_CTX_new());
  const bool holds =
      form && EVP_DigestVerifyInit(digest.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
      EVP_DigestVerify(digest.get(), bytes_of(*form), form->size(), bytes_of(text), text.size()) ==
          1;
  ERR_clear_error();
  return holds;
}

}  // namespace athanor::transport
