// SPDX-License-Identifier: Apache-2.0
// Names of things: kinds, keys and references.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/text_hash.hpp"

namespace athanor {

// One kind of one API version. One static object each; compared by address.
struct Kind {
  std::string_view group{};
  std::string_view version{};
  std::string_view name{};    // FournosJob
  std::string_view plural{};  // fournosjobs
  bool namespaced = true;

  // Returns "v1" or "fournos.dev/v1".
  [[nodiscard]] std::string api_version() const;
};

struct Key {
  std::string ns{};  // empty for cluster-scoped objects
  std::string name{};
  friend auto operator<=>(const Key&, const Key&) = default;
  // Returns "ns/name", or "name".
  [[nodiscard]] std::string text() const;
};

// Returns a hash for tables that are looked up by key and never walked.
inline std::size_t hash_of(const Key& key) noexcept {
  return hash_text(key.name) * 31 + hash_text(key.ns);
}

struct Ref {
  const Kind* kind = nullptr;
  Key key{};
  friend auto operator<=>(const Ref&, const Ref&) = default;
};

}  // namespace athanor
