// SPDX-License-Identifier: Apache-2.0
// Encryption of what is stored, as kube-apiserver's EncryptionConfiguration asks for it
// (docs/spec/apiserver.md 19.10): aescbc, aesgcm, secretbox and
// identity.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::transport {

// The keys of a configuration. Thread-safe: immutable after parse().
class Encryption {
 public:
  // Parses a document. Errors: another kind of document, unknown providers (kms), malformed keys.
  static Result<Encryption> parse(const Value& configuration);
  // Encrypts nothing and decrypts nothing.
  Encryption() = default;

  // Returns true if objects of this resource are to be encrypted.
  [[nodiscard]] bool encrypts(std::string_view resource) const;
  // Returns "k8s:enc:aesgcm:v1:KEY:BASE64"; nullopt: objects of this resource ("secrets",
  // "deployments.apps") are kept as they are. `where` (the object's key) is bound to the text where
  // the cipher can do that.
  [[nodiscard]] Result<std::optional<std::string>> encrypt(std::string_view resource,
                                                           std::string_view where,
                                                           std::string_view plain) const;
  // Decrypts a text. Errors: a key that is not in the configuration, a text that was changed.
  [[nodiscard]] Result<std::string> decrypt(std::string_view resource, std::string_view where,
                                            std::string_view text) const;

 private:
  enum class Cipher : std::uint8_t { Identity, Cbc, Gcm, SecretBox };
  static std::string_view name_of(Cipher cipher);
  static std::optional<Cipher> cipher_named(std::string_view name);
  struct Key {
    Cipher cipher = Cipher::Identity;
    std::string name{};
    std::string secret{};
  };
  // One entry of the configuration; the first key encrypts.
  struct Rule {
    std::vector<std::string> resources{};
    std::vector<Key> keys{};
  };
  static Result<void> parse_provider(const Value& provider, Rule& rule);
  [[nodiscard]] const Rule* rule_for(std::string_view resource) const;

  std::vector<Rule> rules_{};
};

}  // namespace athanor::transport
