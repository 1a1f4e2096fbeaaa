// SPDX-License-Identifier: Apache-2.0
// Type parameters and what they are bound to, while an expression is checked.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "cel/functions/functions.hpp"
#include "cel/type.hpp"

namespace athanor::cel {

// Substitutions of type parameters. Not thread-safe.
class Unifier {
 public:
  // An unbound parameter.
  TypePtr fresh();
  // The signature with parameters of its own.
  struct Signature {
    std::vector<TypePtr> parameters{};
    TypePtr result{};
  };
  Signature instantiate(const Overload& overload);

  // Every `from` may be used where `to` is wanted. Remembers what that says about parameters,
  // unless the answer is no.
  bool assignable(std::span<const TypePtr> from, std::span<const TypePtr> to);
  bool assignable(const TypePtr& from, const TypePtr& to);
  // With parameters replaced; free ones become dyn where `free_to_dyn`.
  enum class Free : std::uint8_t { Keep, ToDyn };
  [[nodiscard]] TypePtr substitute(const TypePtr& type, Free free) const;
  // The less specific of two.
  static TypePtr most_general(const TypePtr& a, const TypePtr& b);

 private:
  using Map = std::map<std::string, TypePtr, std::less<>>;
  bool fits(Map& map, const TypePtr& from, const TypePtr& to) const;
  bool is_bound_to(Map& map, const TypePtr& type, const TypePtr& param, bool& known) const;
  static TypePtr replace(const Map& map, const TypePtr& type, Free free);
  static bool occurs(const Map& map, const TypePtr& param, const TypePtr& within);

  Map map_{};
  int next_ = 0;
};

}  // namespace athanor::cel
