// SPDX-License-Identifier: Apache-2.0
// Flags as Kubernetes' programs take them, for the verbs that stand in for one: a table in, values
// out. "--x=y" and "--x y"; a switch takes its value only as "--x=false"; "_" counts as "-".
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

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

  [[nodiscard]] bool given(std::string_view name) const { return values_.contains(name); }
  [[nodiscard]] std::string text(std::string_view name) const;
  // Commas separate; a flag given again adds.
  [[nodiscard]] std::vector<std::string> list(std::string_view name) const;
  [[nodiscard]] bool on(std::string_view name) const;
  [[nodiscard]] std::int64_t number(std::string_view name) const;
  [[nodiscard]] Duration time(std::string_view name) const;
  [[nodiscard]] bool help_wanted() const { return help_wanted_; }

 private:
  friend class FlagParser;
  std::span<const FlagSpec> table_;
  std::map<std::string, std::string, std::less<>> values_{};  // as given, of the flag's type
  bool help_wanted_ = false;
};

// Parses flags. Errors are worded as Kubernetes' programs word them: "unknown flag: --x", "flag
// needs an argument: --x", "invalid argument "y" for "--x" flag: ...". The error for arguments
// other than flags names `program`.
Result<FlagValues> parse_flags(std::span<const FlagSpec> table, std::string_view program,
                               std::span<const std::string> arguments);

// Returns "string", "strings", "int", "duration"; of a switch nothing.
std::string_view type_name(FlagType type);

// Returns one line for each flag: "      --x string   help (default "y")".
std::string flag_help(std::span<const FlagSpec> table);

}  // namespace athanor::cli
