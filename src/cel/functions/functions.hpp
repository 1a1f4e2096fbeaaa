// SPDX-License-Identifier: Apache-2.0
// The functions of CEL and of its Kubernetes libraries: one overload a row, with its signature and
// what it does. Immutable after the first use.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cel/functions/authority.hpp"
#include "cel/type.hpp"
#include "cel/val.hpp"

namespace athanor {
class Regex;
}

namespace athanor::cel {

// What functions may use besides their arguments. Lives for one evaluation.
class Runtime {
 public:
  using RegexPtr = std::shared_ptr<const Regex>;
  using RegexMap = std::map<std::string, RegexPtr, std::less<>>;

  Runtime(const RegexMap& compiled, const Authority* authority)
      : compiled_(compiled), authority_(authority) {}

  // Compiled once for each text.
  Result<RegexPtr> regex(std::string_view expression);
  [[nodiscard]] const Authority* authority() const { return authority_; }

 private:
  const RegexMap& compiled_;
  const Authority* authority_;
  RegexMap own_{};
};

using Arguments = std::span<const Val>;  // the target of a member call is the first
using Implementation = Val (*)(Arguments, Runtime&);

// One signature of a function and its implementation.
struct Overload {
  std::string function{};
  std::string id{};
  bool member = false;
  std::vector<TypePtr> parameters{};  // the target of a member function is the first
  TypePtr result{};
  Implementation run = nullptr;  // null: the evaluator itself (&&, ||, ?:)
};

// Overloads by function name.
class FunctionTable {
 public:
  // All libraries.
  static const FunctionTable& get();

  // The overloads of a name; empty when there is no such function.
  [[nodiscard]] std::span<const Overload> find(std::string_view function) const;
  // `signature`: "string, int -> bool", or "string.(int) -> bool" for a member function.
  void add(std::string_view function, std::string_view id, std::string_view signature,
           Implementation run);

 private:
  std::map<std::string, std::vector<Overload>, std::less<>> functions_{};
};

// By the name that expressions use ("int", "net.IP"); nullptr when there is no such type.
TypePtr named_type(std::string_view name);
// The value fits the parameter's type as far as the evaluator distinguishes types.
bool accepts(const Type& parameter, const Val& value);
// "no such overload".
Val no_such_overload();
// Bounds of what one call may make, far above any request: cost counts what goes in, not what comes
// out.
inline constexpr std::size_t kLongestText = 16U << 20U;  // bytes
inline constexpr std::size_t kLongestList = 1'000'000;   // items

// The `authorizer` variable; with a resource in it the `authorizer.requestResource` one.
Val authorizer_value(AccessQuestion start = {});

// Called once each, by FunctionTable::get().
void add_operators(FunctionTable& table);
void add_conversions(FunctionTable& table);
void add_time_functions(FunctionTable& table);
void add_text_functions(FunctionTable& table);
void add_list_functions(FunctionTable& table);
void add_optional_functions(FunctionTable& table);
void add_regex_functions(FunctionTable& table);
void add_url_functions(FunctionTable& table);
void add_quantity_functions(FunctionTable& table);
void add_network_functions(FunctionTable& table);
void add_format_functions(FunctionTable& table);
void add_semver_functions(FunctionTable& table);
void add_authorizer_functions(FunctionTable& table);

}  // namespace athanor::cel
