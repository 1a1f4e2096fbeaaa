// SPDX-License-Identifier: Apache-2.0
// The syntax tree of a CEL expression. Macros are expanded; every node has an id and a position.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cel/values/val.hpp"

namespace athanor::cel {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

// A loop over a list's items or a map's keys: what all the comprehension macros become.
struct Fold {
  std::string variable{};   // item, key, or index with `variable2`
  std::string variable2{};  // value; empty: one variable
  ExprPtr range{};
  std::string accumulator{};
  ExprPtr initial{};
  ExprPtr condition{};  // of the next step
  ExprPtr step{};       // the accumulator's next value
  ExprPtr result{};
};

// One entry of a map or struct literal.
struct MapEntry {
  ExprPtr key{};
  ExprPtr value{};
  bool optional = false;
};

// Kinds of nodes; each uses the members that Expr names it for.
enum class ExprKind : std::uint8_t { Literal, Ident, Select, Call, List, Map, Struct, Fold };

// A node of the syntax tree.
struct Expr {
  ExprKind kind = ExprKind::Literal;
  std::uint32_t id = 0;        // 1, 2, ...
  std::uint32_t position = 0;  // in code points
  Val literal{};
  std::string name{};                  // Ident, Call (function), Select (field), Struct (type)
  bool test_only = false;              // Select: has(e.field)
  ExprPtr target{};                    // Select, member Call
  std::vector<ExprPtr> arguments{};    // Call; items of a List
  std::vector<bool> optional_items{};  // List: written ?e
  std::vector<MapEntry> entries{};     // Map
  std::unique_ptr<Fold> fold{};
};

// The names of operators as functions.
namespace op {
inline constexpr const char* kAnd = "_&&_";
inline constexpr const char* kOr = "_||_";
inline constexpr const char* kNot = "!_";
inline constexpr const char* kConditional = "_?_:_";
inline constexpr const char* kEquals = "_==_";
inline constexpr const char* kNotEquals = "_!=_";
inline constexpr const char* kIn = "@in";
inline constexpr const char* kAdd = "_+_";
inline constexpr const char* kNegate = "-_";
inline constexpr const char* kIndex = "_[_]";
inline constexpr const char* kOptionalIndex = "_[?_]";
inline constexpr const char* kOptionalSelect = "_?._";
inline constexpr const char* kNotStrictlyFalse = "@not_strictly_false";
inline constexpr const char* kMapInsert = "cel.@mapInsert";
inline constexpr const char* kSortBy = "@sortByAssociatedKeys";
}  // namespace op

// What macros call the accumulator.
inline constexpr const char* kAccumulator = "@result";

}  // namespace athanor::cel
