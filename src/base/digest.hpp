// SPDX-License-Identifier: Apache-2.0
// Hashes that names are made of (not for security) and base64.
// Own code: base and the pure controllers must not link OpenSSL (docs/decisions).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace athanor {

// Returns 16 digits that distinguish long texts where a collision gains an attacker nothing: much
// faster than the others, and the same within one build alone.
std::string fingerprint_hex(std::string_view data);
std::string md5_hex(std::string_view data);
std::string sha1_hex(std::string_view data);
std::string sha256_hex(std::string_view data);
// Returns the 32 raw bytes.
std::string sha256(std::string_view data);

// Encodes with the standard alphabet, padding and no line breaks.
std::string base64_encode(std::string_view data);
// Decodes the standard alphabet with padding; skips line breaks; nullopt for anything else.
std::optional<std::string> base64_decode(std::string_view text);
// Encodes with the URL alphabet without padding (JWT, continue tokens), and decodes it.
std::string base64url_encode(std::string_view data);
std::optional<std::string> base64url_decode(std::string_view text);

}  // namespace athanor
