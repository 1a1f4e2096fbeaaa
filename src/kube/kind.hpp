// SPDX-License-Identifier: Apache-2.0
// Names of things: kinds, keys and references.
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace athanor {

// One kind of one API version. One static object each (api/kinds.hpp); compared by address.
struct Kind {
  std::string_view group{};
  std::string_view version{};
  std::string_view name{};    // FournosJob
  std::string_view plural{};  // fournosjobs
  bool namespaced = true;

  // "v1" or "fournos.dev/v1".
  [[nodiscard]] std::string api_version() const;
};

struct Key {
  std::string ns{};  // empty for cluster-scoped objects
  std::string name{};
  friend auto operator<=>(const Key&, const Key&) = default;
  // "ns/name", or "name".
  [[nodiscard]] std::string text() const;
};

struct Ref {
  const Kind* kind = nullptr;
  Key key{};
  friend auto operator<=>(const Ref&, const Ref&) = default;
};

}  // namespace athanor
