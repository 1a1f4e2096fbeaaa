// SPDX-License-Identifier: Apache-2.0
// Flag: one row of the table of a verb: names, type, default, environment, help, checks. Help, man
// pages, completion and the parser read the same rows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "flags/checks.hpp"

namespace athanor::flags {

// Whether a flag takes a value.
enum class Takes : std::uint8_t {
  Nothing,   // a switch: "--x", "--x=false"
  Maybe,     // "--x" stands for a default value
  OneValue,  // the last one given counts
  Values,    // each one given counts
};

// One flag or argument of a verb. The functions that change it return it.
class Flag {
 public:
  // Hands the values over; returns what is wrong with them, empty: nothing.
  using Take = std::function<std::string(const std::vector<std::string>& values)>;

  // Makes a row. `names`: "-o,--output", or "name" of an argument. `type` is shown in help.
  Flag(std::string_view names, std::string help, Takes takes, std::string type, Take take);

  Flag* type_name(std::string name);
  Flag* required(bool is_required = true);
  // Checks each value before it is handed over.
  Flag* check(Check check);
  // Shows the variable's present value as the default.
  Flag* capture_default_str();
  Flag* default_str(std::string text);
  // Shows this default, which the flag's owner knows.
  Flag* shown_default(std::string text);
  // Hands this over where neither the command line nor the environment has a value.
  Flag* default_val(std::string value);
  // Reads this variable of the environment where the command line has no value.
  Flag* envname(std::string variable);
  // Lists the flag in help below this title.
  Flag* group(std::string title);
  // Splits each value.
  Flag* delimiter(char separator);
  // Adds what is given again to the value, behind this separator.
  Flag* joined(char separator);
  // Takes one value behind each "--x" (false), or the words that follow, too (true, the default).
  Flag* allow_extra_args(bool allow);
  // Allows the value to be missing: (0, 1).
  Flag* expected(int least, int most);
  Flag* option_text(std::string text);
  Flag* needs(const Flag* other);
  Flag* excludes(const Flag* other);
  // Refuses it beside the flag or argument of that name, which may be added later.
  Flag* excludes(std::string name);
  // Calls `seen` with each value.
  Flag* each(std::function<void(const std::string& value)> seen);

  [[nodiscard]] bool positional() const { return shorts_.empty() && longs_.empty(); }
  [[nodiscard]] bool named(std::string_view name) const;
  [[nodiscard]] char letter() const { return shorts_.empty() ? '\0' : shorts_.front(); }
  [[nodiscard]] const std::vector<std::string>& long_names() const { return longs_; }
  // Returns "-o,--output", or the argument's name.
  [[nodiscard]] const std::string& shown() const { return shown_; }
  // Returns "--output", or the argument's name: for messages.
  [[nodiscard]] std::string spoken() const;
  // Returns type or choices, and what follows: "FORMAT", "{disk,memory}=disk", "TEXT REQUIRED".
  [[nodiscard]] std::string value_text() const;
  [[nodiscard]] const std::string& help() const { return help_; }
  [[nodiscard]] const std::string& title() const { return group_; }
  [[nodiscard]] Takes takes() const { return takes_; }
  [[nodiscard]] bool greedy() const { return takes_ == Takes::Values && extra_args_; }
  [[nodiscard]] bool given() const { return !values_.empty(); }
  [[nodiscard]] bool takes_files() const;
  // Words that its values may be; empty: unknown.
  [[nodiscard]] std::vector<std::string> choices() const;

 private:
  friend class Verb;
  // Keeps one value of the command line; the last one stays where one counts.
  void keep(std::string value);
  // Splits, checks and hands over; returns the error's text, empty: none.
  [[nodiscard]] std::string finish();

  std::string shown_{};
  std::vector<char> shorts_{};
  std::vector<std::string> longs_{};  // without dashes
  std::string help_;
  Takes takes_;
  std::string type_;
  Take take_;
  std::function<std::string()> present_{};  // text of the variable
  std::vector<Check> checks_{};
  std::string default_{};      // as shown
  std::string otherwise_{};    // handed over
  std::string alone_{"true"};  // the value of a flag whose value is missing
  std::string variable_{};
  std::string group_{};
  char separator_ = '\0';
  char joint_ = '\0';
  bool required_ = false;
  bool extra_args_ = true;
  std::vector<const Flag*> needs_{};
  std::vector<std::string> excludes_{};
  std::vector<std::function<void(const std::string&)>> each_{};
  std::vector<std::string> values_{};
};

}  // namespace athanor::flags
