// SPDX-License-Identifier: Apache-2.0
// Tables of flags of the verbs that stand in for a program of Kubernetes: their rows in the verb's
// own table (flags/verb.hpp), and the values by name.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "flags/verb.hpp"

namespace athanor::cli {

// Types of values: List is comma-separated, Time a Go duration.
enum class FlagType : std::uint8_t { Text, List, Switch, Number, Time };

// One flag of a table.
struct FlagSpec {
  std::string_view name{};
  FlagType type = FlagType::Text;
  std::string_view fallback{};  // what it is without being given
  std::string_view help{};
  char letter = '\0';  // the short form "-v"; '\0': none
};

// What was given, and the fallbacks. Asking for a name that is not in the table, or as another type
// than the table's, is a programming error.
class FlagValues {
 public:
  explicit FlagValues(std::span<const FlagSpec> table) : table_(table) {}

  // Adds the table's rows to a verb, which hands what it reads to this object.
  void add_to(flags::Verb& verb);
  [[nodiscard]] bool given(std::string_view name) const { return values_.contains(name); }
  [[nodiscard]] std::string text(std::string_view name) const;
  // Commas separate; a flag given again adds.
  [[nodiscard]] std::vector<std::string> list(std::string_view name) const;
  [[nodiscard]] bool on(std::string_view name) const;
  [[nodiscard]] std::int64_t number(std::string_view name) const;
  [[nodiscard]] Duration time(std::string_view name) const;

 private:
  std::span<const FlagSpec> table_;
  std::map<std::string, std::string, std::less<>> values_{};  // as given, of the flag's type
};

}  // namespace athanor::cli
