// SPDX-License-Identifier: Apache-2.0
// Type parameters and what they are bound to, while an expression is checked.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cel/functions/functions.hpp"
#include "cel/values/type.hpp"

namespace athanor::cel {

// Substitutions of type parameters. Not thread-safe.
class Unifier {
 public:
  // Returns an unbound parameter.
  TypePtr fresh();
  // The signature with parameters of its own.
  struct Signature {
    std::vector<TypePtr> parameters{};
    TypePtr result{};
  };
  Signature instantiate(const Overload& overload);

  // Checks whether every `from` may be used where `to` is wanted. Remembers what that says about
  // parameters, unless the answer is no.
  bool assignable(std::span<const TypePtr> from, std::span<const TypePtr> to);
  bool assignable(const TypePtr& from, const TypePtr& to);
  // With parameters replaced; free ones become dyn where `free_to_dyn`.
  enum class Free : std::uint8_t { Keep, ToDyn };
  [[nodiscard]] TypePtr substitute(const TypePtr& type, Free free) const;
  // Returns the less specific of two.
  static TypePtr most_general(const TypePtr& a, const TypePtr& b);
  // Returns true once the types have taken too many steps; then no answer means anything.
  [[nodiscard]] bool exhausted() const;

 private:
  using Map = std::map<std::string, TypePtr, std::less<>>;
  bool fits(const TypePtr& from, const TypePtr& to);
  bool is_bound_to(const TypePtr& type, const TypePtr& param, bool& known);
  void bind(const std::string& param, TypePtr type);
  void take_back();
  bool step() const;
  TypePtr replace(const Map& map, const TypePtr& type, Free free) const;
  [[nodiscard]] bool occurs(const TypePtr& param, const TypePtr& within) const;

  Map map_{};
  std::vector<std::pair<std::string, TypePtr>> trail_{};  // what was bound before, newest last
  int next_ = 0;
  mutable std::size_t steps_ = 0;
};

}  // namespace athanor::cel
