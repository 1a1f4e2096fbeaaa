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
#include "cel/values/meter.hpp"
#include "cel/values/type.hpp"
#include "cel/values/val.hpp"

namespace athanor {
class Regex;
}

namespace athanor::cel {

// What functions may use besides their arguments. Lives for one evaluation.
class Runtime {
 public:
  using RegexPtr = std::shared_ptr<const Regex>;
  using RegexMap = std::map<std::string, RegexPtr, std::less<>>;

  Runtime(const RegexMap& compiled, const Authority* authority, Meter::Limits limits)
      : compiled_(compiled), authority_(authority), meter_(limits) {}

  // Returns the expression, compiled once for each text; counts what that takes.
  Result<RegexPtr> regex(std::string_view expression);
  [[nodiscard]] const Authority* authority() const { return authority_; }
  // Returns the meter of what the evaluation has used so far. A function whose result is larger
  // than its arguments asks for room() as it goes; the evaluator counts the result itself.
  [[nodiscard]] Meter& meter() { return meter_; }

 private:
  const RegexMap& compiled_;
  const Authority* authority_;
  Meter meter_;
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
  // Returns the table of all libraries.
  static const FunctionTable& get();

  // Returns the overloads of a name; empty when there is no such function.
  [[nodiscard]] std::span<const Overload> find(std::string_view function) const;
  // Every function with its overloads.
  using Functions = std::map<std::string, std::vector<Overload>, std::less<>>;
  [[nodiscard]] const Functions& all() const { return functions_; }
  // Adds an overload; `signature`: "string, int -> bool", or "string.(int) -> bool" for a member.
  void add(std::string_view function, std::string_view id, std::string_view signature,
           Implementation run);

 private:
  Functions functions_{};
};

// Returns a type by its name in expressions ("int", "net.IP"); nullptr: there is no such type.
TypePtr named_type(std::string_view name);
// Checks whether the value fits the parameter's type as far as the evaluator tells types apart.
bool accepts(const Type& parameter, const Val& value);
// Returns the error "no such overload".
Val no_such_overload();
// Returns the `authorizer` variable; with a resource, the `authorizer.requestResource` one.
Val authorizer_value(AccessQuestion start = {});

// Adds the functions of one library. FunctionTable::get() calls each once.
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
