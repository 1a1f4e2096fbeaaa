// SPDX-License-Identifier: Apache-2.0
// Flags in the form of Go's programs: -name value, --name=value, booleans without a value.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

namespace athanor::numa {

// One flag that a tool knows.
struct ToolFlag {
  std::string_view name{};
  bool boolean = false;
  std::string_view initial{};
  std::string_view help{};
};

// Parsed flags of a tool. Refers to `known`, which must outlive it.
class ToolFlags {
 public:
  // Parses. Errors are Go's: "flag provided but not defined: -x".
  static Result<ToolFlags> parse(std::span<const std::string> arguments,
                                 std::span<const ToolFlag> known);

  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] bool is_set(std::string_view name) const { return text(name) == "true"; }
  [[nodiscard]] bool given(std::string_view name) const { return given_.contains(name); }
  [[nodiscard]] bool help() const { return help_; }
  [[nodiscard]] Result<Duration> duration(std::string_view name) const;
  // Returns all words that are no flags, in order.
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

 private:
  std::span<const ToolFlag> known_{};
  std::map<std::string, std::string, std::less<>> given_{};
  std::vector<std::string> words_{};
  bool help_ = false;
};

class ToolContext;

// Whether a tool takes arguments that are no flags.
enum class ToolWords : unsigned char { Refused, Taken };

// A tool's flags. `ended`: the exit code of a call that printed its help or a refusal.
struct ToolCall {
  ToolFlags flags{};
  std::optional<int> ended{};
};

// Parses a tool's arguments; prints help for -h and -help, and wrong arguments with the usage.
// `synopsis`, if any, is a line above the usage.
ToolCall open_tool(ToolContext& context, std::string_view tool,
                   std::span<const std::string> arguments, std::span<const ToolFlag> known,
                   ToolWords words = ToolWords::Refused, std::string_view synopsis = {});

// Returns the help text in Go's form.
std::string usage_of(std::string_view tool, std::span<const ToolFlag> known);

}  // namespace athanor::numa
