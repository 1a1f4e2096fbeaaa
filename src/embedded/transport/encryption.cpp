// SPDX-License-Identifier: Apache-2.0
#include "embedded/transport/encryption.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sodium.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "base/digest.hpp"
#include "net/crypto.hpp"

namespace athanor::transport {
namespace {

constexpr std::size_t kIvSize = 16;     // of CBC
constexpr std::size_t kNonceSize = 12;  // of GCM
constexpr std::size_t kTagSize = 16;
constexpr std::string_view kPrefix = "k8s:enc:";

using ContextPtr = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

ContextPtr new_context() {
  return {EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free};
}

const EVP_CIPHER* cipher_of(bool gcm, std::size_t key_size) {
  constexpr std::size_t kSmall = 16;
  constexpr std::size_t kMiddle = 24;
  switch (key_size) {
    case kSmall:
      return gcm ? EVP_aes_128_gcm() : EVP_aes_128_cbc();
    case kMiddle:
      return gcm ? EVP_aes_192_gcm() : EVP_aes_192_cbc();
    default:
      return gcm ? EVP_aes_256_gcm() : EVP_aes_256_cbc();
  }
}

const unsigned char* bytes(std::string_view text) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): OpenSSL speaks unsigned bytes
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes(std::string& text) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as above
  return reinterpret_cast<unsigned char*>(text.data());
}

Result<std::string> random_bytes(std::size_t size) {
  std::string text(size, '\0');
  if (RAND_bytes(bytes(text), static_cast<int>(size)) != 1) {
    return net::openssl_error("no randomness");
  }
  return text;
}

// IV (or nonce), ciphertext and, with GCM, the tag.
Result<std::string> seal(bool gcm, const std::string& secret, std::string_view where,
                         std::string_view plain) {
  ATHANOR_TRY(std::string sealed, random_bytes(gcm ? kNonceSize : kIvSize));
  const ContextPtr context = new_context();
  std::string out(plain.size() + 2 * kIvSize, '\0');
  int size = 0;
  int last = 0;
  const auto length = static_cast<int>(plain.size());
  bool ok =
      plain.size() < std::size_t{std::numeric_limits<int>::max()} &&
      EVP_EncryptInit_ex(context.get(), cipher_of(gcm, secret.size()), nullptr,
                         bytes(std::string_view(secret)), bytes(std::string_view(sealed))) == 1;
  if (ok && gcm) {
    ok = EVP_EncryptUpdate(context.get(), nullptr, &size, bytes(where),
                           static_cast<int>(where.size())) == 1;
  }
  ok = ok && EVP_EncryptUpdate(context.get(), bytes(out), &size, bytes(plain), length) == 1 &&
       EVP_EncryptFinal_ex(context.get(), bytes(out) + size, &last) == 1;
  std::string tag(gcm ? kTagSize : 0, '\0');
  if (ok && gcm) {
    ok = EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTagSize, bytes(tag)) == 1;
  }
  if (!ok) {
    return net::openssl_error("cannot encrypt");
  }
  out.resize(static_cast<std::size_t>(size) + static_cast<std::size_t>(last));
  return sealed + out + tag;
}

Result<std::string> open(bool gcm, const std::string& secret, std::string_view where,
                         std::string_view sealed) {
  const std::size_t head = gcm ? kNonceSize : kIvSize;
  const std::size_t tail = gcm ? kTagSize : 0;
  if (sealed.size() < head + tail || sealed.size() > std::numeric_limits<int>::max()) {
    return Error::internal("the encrypted text is too short");
  }
  const std::string_view body = sealed.substr(head, sealed.size() - head - tail);
  std::string tag(sealed.substr(sealed.size() - tail));
  const ContextPtr context = new_context();
  std::string out(body.size() + kIvSize, '\0');
  int size = 0;
  int last = 0;
  bool ok = EVP_DecryptInit_ex(context.get(), cipher_of(gcm, secret.size()), nullptr,
                               bytes(std::string_view(secret)), bytes(sealed.substr(0, head))) == 1;
  if (ok && gcm) {
    ok = EVP_DecryptUpdate(context.get(), nullptr, &size, bytes(where),
                           static_cast<int>(where.size())) == 1 &&
         EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTagSize, bytes(tag)) == 1;
  }
  ok = ok &&
       EVP_DecryptUpdate(context.get(), bytes(out), &size, bytes(body),
                         static_cast<int>(body.size())) == 1 &&
       EVP_DecryptFinal_ex(context.get(), bytes(out) + size, &last) == 1;
  if (!ok) {
    return net::openssl_error("cannot decrypt");
  }
  out.resize(static_cast<std::size_t>(size) + static_cast<std::size_t>(last));
  return out;
}

// Nonce and sealed text of XSalsa20 with Poly1305, which OpenSSL does not have.
Result<std::string> seal_in_box(const std::string& secret, std::string_view plain) {
  ATHANOR_TRY(std::string nonce, random_bytes(crypto_secretbox_NONCEBYTES));
  std::string out(crypto_secretbox_MACBYTES + plain.size(), '\0');
  if (crypto_secretbox_easy(bytes(out), bytes(plain), plain.size(), bytes(std::string_view(nonce)),
                            bytes(std::string_view(secret))) != 0) {
    return Error::internal("cannot encrypt");
  }
  return nonce + out;
}

Result<std::string> open_box(const std::string& secret, std::string_view sealed) {
  if (sealed.size() < crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES) {
    return Error::internal("the encrypted text is too short");
  }
  const std::string_view body = sealed.substr(crypto_secretbox_NONCEBYTES);
  std::string out(body.size() - crypto_secretbox_MACBYTES, '\0');
  if (crypto_secretbox_open_easy(bytes(out), bytes(body), body.size(), bytes(sealed),
                                 bytes(std::string_view(secret))) != 0) {
    return Error::internal("cannot decrypt: the text was changed, or the key is another one");
  }
  return out;
}

// "secrets" and "*." mean the core group, "*.apps" a group, "*.*" everything.
bool matches(std::string_view pattern, std::string_view resource) {
  if (pattern == "*.*" || pattern == resource) {
    return true;
  }
  const std::size_t dot = resource.find('.');
  if (pattern == "*.") {
    return dot == std::string_view::npos;
  }
  return pattern.starts_with("*.") && dot != std::string_view::npos &&
         resource.substr(dot) == pattern.substr(1);
}

}  // namespace

std::string_view Encryption::name_of(Cipher cipher) {
  switch (cipher) {
    case Cipher::Cbc:
      return "aescbc";
    case Cipher::Gcm:
      return "aesgcm";
    case Cipher::SecretBox:
      return "secretbox";
    case Cipher::Identity:
      break;
  }
  return "identity";
}

std::optional<Encryption::Cipher> Encryption::cipher_named(std::string_view name) {
  for (const Cipher cipher : {Cipher::Cbc, Cipher::Gcm, Cipher::SecretBox}) {
    if (name == name_of(cipher)) {
      return cipher;
    }
  }
  return std::nullopt;
}

Result<void> Encryption::parse_provider(const Value& provider, Rule& rule) {
  if (provider.size() != 1) {
    return Error::bad_request("each element of providers has exactly one provider");
  }
  const Member& member = provider.members().front();
  const std::string_view name = member.key();
  if (name == "identity") {
    rule.keys.push_back({});
    return {};
  }
  const auto cipher = cipher_named(name);
  if (!cipher) {
    return Error::bad_request(fmt::format(
        "provider {} is not supported here: use aescbc, aesgcm or secretbox (kms needs a plugin)",
        name));
  }
  for (const Value& item : member.value["keys"].items()) {
    Key key{.cipher = *cipher,
            .name = item["name"].str(),
            .secret = base64_decode(item["secret"].as_string()).value_or(std::string())};
    const std::size_t size = key.secret.size();
    const bool box = *cipher == Cipher::SecretBox;
    if (size != 32 && (box || (size != 16 && size != 24))) {
      return Error::bad_request(fmt::format(
          "{}: secret of key \"{}\" is not of the expected length, got {}, expected one of {}",
          name, key.name, size, box ? "[32]" : "[16 24 32]"));
    }
    if (key.name.empty() || key.name.find(':') != std::string::npos) {
      return Error::bad_request(fmt::format("{}: a key needs a name without colons", name));
    }
    rule.keys.push_back(std::move(key));
  }
  if (member.value["keys"].empty()) {
    return Error::bad_request(fmt::format("{}: at least one key is required", name));
  }
  return {};
}

Result<Encryption> Encryption::parse(const Value& configuration) {
  if (configuration["kind"].as_string() != "EncryptionConfiguration" ||
      configuration["apiVersion"].as_string() != "apiserver.config.k8s.io/v1") {
    return Error::bad_request("no EncryptionConfiguration of apiserver.config.k8s.io/v1");
  }
  Encryption made;
  for (const Value& item : configuration["resources"].items()) {
    Rule rule;
    for (const Value& resource : item["resources"].items()) {
      rule.resources.push_back(resource.str());
    }
    for (const Value& provider : item["providers"].items()) {
      ATHANOR_TRY_VOID(parse_provider(provider, rule));
    }
    if (rule.resources.empty() || rule.keys.empty()) {
      return Error::bad_request("an entry of resources needs resources and providers");
    }
    made.rules_.push_back(std::move(rule));
  }
  if (made.rules_.empty()) {
    return Error::bad_request("at least one entry of resources is required");
  }
  return made;
}

const Encryption::Rule* Encryption::rule_for(std::string_view resource) const {
  for (const Rule& rule : rules_) {
    if (std::ranges::any_of(rule.resources, [&](const std::string& pattern) {
          return matches(pattern, resource);
        })) {
      return &rule;
    }
  }
  return nullptr;
}

bool Encryption::encrypts(std::string_view resource) const {
  const Rule* rule = rule_for(resource);
  return rule != nullptr && rule->keys.front().cipher != Cipher::Identity;
}

Result<std::optional<std::string>> Encryption::encrypt(std::string_view resource,
                                                       std::string_view where,
                                                       std::string_view plain) const {
  const Rule* rule = rule_for(resource);
  if (rule == nullptr || rule->keys.front().cipher == Cipher::Identity) {
    return std::optional<std::string>();
  }
  const Key& key = rule->keys.front();
  ATHANOR_TRY(const std::string sealed,
              key.cipher == Cipher::SecretBox
                  ? seal_in_box(key.secret, plain)
                  : seal(key.cipher == Cipher::Gcm, key.secret, where, plain));
  return std::optional(
      fmt::format("{}{}:v1:{}:{}", kPrefix, name_of(key.cipher), key.name, base64_encode(sealed)));
}

Result<std::string> Encryption::decrypt(std::string_view resource, std::string_view where,
                                        std::string_view text) const {
  const std::size_t end = text.rfind(':');
  const std::string_view label = text.substr(0, end == std::string_view::npos ? 0 : end);
  const Rule* rule = rule_for(resource);
  const auto sealed = base64_decode(text.substr(label.size() + (label.empty() ? 0 : 1)));
  for (const Key& key : rule == nullptr ? std::vector<Key>() : rule->keys) {
    if (key.cipher != Cipher::Identity && sealed &&
        label == fmt::format("{}{}:v1:{}", kPrefix, name_of(key.cipher), key.name)) {
      return key.cipher == Cipher::SecretBox
                 ? open_box(key.secret, *sealed)
                 : open(key.cipher == Cipher::Gcm, key.secret, where, *sealed);
    }
  }
  return Error::internal(fmt::format("no key of --encryption-provider-config fits {}", label));
}

}  // namespace athanor::transport
