// SPDX-License-Identifier: Apache-2.0
// Makes nodes of a syntax tree: ids in order, one position for everything that a macro makes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cel/values/ast.hpp"

namespace athanor::cel {

// Makes nodes with consecutive ids. Not thread-safe.
class Builder {
 public:
  void set_position(std::uint32_t position) { position_ = position; }
  [[nodiscard]] std::uint32_t last_id() const { return last_id_; }

  ExprPtr make(ExprKind kind, std::string name = {});
  ExprPtr literal(Val value);
  ExprPtr ident(std::string name) { return make(ExprKind::Ident, std::move(name)); }
  template <class... Arguments>
  ExprPtr call(std::string function, Arguments... arguments) {
    ExprPtr expr = make(ExprKind::Call, std::move(function));
    (expr->arguments.push_back(std::move(arguments)), ...);
    return expr;
  }
  ExprPtr select(ExprPtr operand, std::string field);
  ExprPtr member_call(ExprPtr target, std::string function);
  ExprPtr list(ExprPtr item = nullptr);
  ExprPtr fold(Fold parts);
  // Returns the same tree with new ids.
  ExprPtr clone(const Expr& expr);

 private:
  std::uint32_t last_id_ = 0;
  std::uint32_t position_ = 0;
};

}  // namespace athanor::cel
