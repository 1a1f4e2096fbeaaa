// SPDX-License-Identifier: Apache-2.0
// Verb: a table of flags and arguments, the verbs below it, and the parser that reads them. Values
// follow a flag as "--x=y", "--x y", "-xy", "-x y" or, as Go's programs take them, "-x=y" and
// "-long=y"; "--" ends the flags. A verb that stands in for a program of Kubernetes reads and words
// its command line as that program does (Manner).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "flags/flag.hpp"

namespace athanor::flags {

class Verb;

// How a command line ended.
struct Ending {
  enum class Kind : std::uint8_t { Run, Help, Version };
  Kind kind = Kind::Run;
  std::string text{};  // of Help and Version
};

// Whose command line a verb takes.
enum class Manner : std::uint8_t {
  Own,
  Kubernetes,  // "_" counts as "-", a switch takes a value only as "--x=false", errors as pflag's
};

// One verb, or the program itself. Owns its flags and the verbs below it.
class Verb {
 public:
  explicit Verb(std::string help, std::string name = {});
  Verb(const Verb&) = delete;
  Verb& operator=(const Verb&) = delete;
  ~Verb() = default;

  // Adds a flag ("-o,--output") or an argument ("name"). The target outlives the verb and is
  // written by parse(); without a value it stays as it is.
  Flag* add_option(std::string_view names, std::string& target, std::string help);
  Flag* add_option(std::string_view names, std::vector<std::string>& target, std::string help);
  Flag* add_option(std::string_view names, bool& target, std::string help);
  Flag* add_option(std::string_view names, int& target, std::string help);
  Flag* add_option(std::string_view names, unsigned& target, std::string help);
  Flag* add_option(std::string_view names, std::int64_t& target, std::string help);
  Flag* add_option(std::string_view names, std::uint64_t& target, std::string help);
  Flag* add_option(std::string_view names, double& target, std::string help);
  Flag* add_option(std::string_view names, std::optional<std::string>& target, std::string help);
  Flag* add_option(std::string_view names, std::optional<std::int64_t>& target, std::string help);
  Flag* add_option(std::string_view names, std::optional<double>& target, std::string help);
  // Adds a flag whose value `take` judges: an error's message is shown behind the flag's name.
  Flag* add_option_function(std::string_view names,
                            std::function<Result<void>(const std::string& value)> take,
                            std::string help);
  // Adds a switch.
  Flag* add_flag(std::string_view names, bool& target, std::string help);
  Flag* add_flag_function(std::string_view names, std::function<void()> seen, std::string help);
  Verb* add_subcommand(std::string name, std::string help);
  // Requires between `least` and `most` verbs below it.
  Verb* require_subcommand(int least, int most);
  Verb* require_subcommand(int count) { return require_subcommand(count, count); }
  Verb* footer(std::string text);
  // Reads and helps in the manner of Kubernetes' programs; `opening` with the usage is shown above
  // the flags. Such a verb has no verbs below it and takes no arguments.
  Verb* as_kubernetes(std::string opening);
  // Prints `text` for the flag.
  void set_version_flag(std::string_view names, std::string text);
  // Calls `done` when the verb was chosen and its values are there.
  void callback(std::function<void()> done);
  // Checks the values together; an error refuses the command line.
  void verify(std::function<Result<void>()> check);

  // Reads the words behind the program's name. Errors of code 400: wrong usage, worded for a
  // terminal.
  Result<Ending> parse(std::span<const std::string> words);

  [[nodiscard]] const std::string& get_name() const { return name_; }
  [[nodiscard]] const std::string& get_description() const { return help_; }
  [[nodiscard]] const std::string& get_footer() const { return footer_; }
  // Returns all flags and arguments, in their order.
  [[nodiscard]] std::vector<const Flag*> get_options() const;
  // Returns the flag or argument of that name; requires that there is one.
  [[nodiscard]] Flag* get_option(std::string_view name) const;
  // Returns all verbs below it, in their order.
  [[nodiscard]] std::vector<const Verb*> verbs() const;
  // Returns the verb below it of that name; nullptr: none.
  [[nodiscard]] Verb* find(std::string_view name) const;
  // Returns true for a verb that the command line chose.
  [[nodiscard]] bool parsed() const { return parsed_; }
  [[nodiscard]] bool got_subcommand(std::string_view name) const;
  // Returns the verb below it that was chosen; nullptr: none.
  [[nodiscard]] const Verb* chosen() const { return chosen_; }
  // Returns usage, arguments, flags by group, verbs and footer.
  [[nodiscard]] std::string help() const;

 private:
  struct Reader;
  Flag* add(std::string_view names, std::string help, Takes takes, std::string type,
            Flag::Take take, std::function<std::string()> present);
  [[nodiscard]] Flag* find_long(std::string_view name) const;
  [[nodiscard]] Flag* find_short(char letter) const;
  [[nodiscard]] Result<void> check_flags() const;
  struct KubernetesReader;
  Result<Ending> parse_as_kubernetes(std::span<const std::string> words);
  [[nodiscard]] std::string kubernetes_help() const;
  [[nodiscard]] std::string path() const;

  std::string name_;
  std::string help_;
  std::string footer_{};
  Manner manner_ = Manner::Own;
  std::string opening_{};  // of Manner::Kubernetes
  const Verb* parent_ = nullptr;
  std::vector<std::unique_ptr<Flag>> flags_{};
  std::vector<std::unique_ptr<Verb>> below_{};
  std::string version_{};
  int least_ = 0;
  int most_ = 0;
  std::vector<std::function<void()>> done_{};
  std::vector<std::function<Result<void>()>> checks_{};
  bool parsed_ = false;
  Verb* chosen_ = nullptr;
};

}  // namespace athanor::flags
